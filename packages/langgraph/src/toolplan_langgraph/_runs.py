"""Runs inside nodes, which LangGraph may run again from their beginning."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from langgraph.config import get_config, get_stream_writer

from toolplan.base.threads import in_thread
from toolplan.engine import resume, run
from toolplan.events import Event, Run
from toolplan.plan.model import Limits
from toolplan.policy.approval import Approval
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Toolbox
from toolplan.storage.journal import JournalError, Store, record_fields

_UNKNOWN_RUN: Final = "unknown-run"


class Running(NamedTuple):
    """Options of runs.

    `journal` keeps the runs, so that no call with effects is repeated after a crash; None keeps
    them in memory.
    """

    journal: Store | None
    limits: Limits
    timeout_s: float


async def run_once(
    plan: ExecutionPlan,
    tools: Toolbox,
    approval: Approval | None,
    run_id: str,
    running: Running,
) -> Run:
    """Run `plan`, or resume the run with that name, and send its events to the graph's stream."""
    journal, limits, timeout_s = running
    start = partial(run, plan, tools, journal=journal, run_id=run_id)
    if journal is not None and await is_known(journal, run_id):  # a process died in this node
        start = partial(resume, plan, tools, run_id, journal=journal)
    return await start(
        approval=approval, limits=limits, on_event=reporter(run_id), timeout_s=timeout_s
    )


def run_name(*parts: str) -> str:
    """Return the name of a run: the same for the same place of a conversation, in any process.

    LangGraph uses the same namespace when it runs a node again, and another one for the next node.
    """
    configurable = get_config().get("configurable", {})
    place = [str(configurable.get(name, "")) for name in ("thread_id", "checkpoint_ns")]
    return hashlib.sha256(json.dumps([*place, *parts]).encode()).hexdigest()[:32]


def reporter(run_id: str) -> Callable[[Event], None]:
    """Return a function that sends events to the graph's stream, for `stream_mode="custom"`."""
    write = get_stream_writer()

    def report(event: Event) -> None:
        kind, fields = record_fields(event)
        write({"toolplan": {"run": run_id, "event": {"kind": kind, **fields}}})

    return report


async def is_known(journal: Store | None, run_id: str) -> bool:
    try:
        if journal is None:
            return False
        await in_thread(journal.record, run_id)
    except JournalError as error:
        if error.code != _UNKNOWN_RUN:
            raise
        return False
    return True
