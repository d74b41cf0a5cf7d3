"""Runs inside of nodes, which LangGraph may begin again from their start."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from typing import Final, NamedTuple, cast

from langgraph.config import get_config, get_stream_writer

from toolplan.approval import Approval
from toolplan.engines import resume, run
from toolplan.events import Event, Run
from toolplan.execution_plan import ExecutionPlan
from toolplan.path import Json
from toolplan.plan import Limits
from toolplan.storage.journal import Journal, JournalError, to_record
from toolplan.tools import Toolbox

_UNKNOWN_RUN: Final = "unknown-run"


class Running(NamedTuple):
    """How plans are run.

    `journal` keeps the runs, so that a call with effects is made once even where the process dies
    in it; None keeps them in memory.
    """

    journal: Journal | None
    limits: Limits
    timeout_s: float


async def run_once(
    plan: ExecutionPlan,
    tools: Toolbox,
    approval: Approval | None,
    run_id: str,
    running: Running,
) -> Run:
    """Run `plan`, or go on with the run of that name, its events told to the graph's stream.

    Raises:
        CannotRun: the tools are not those of the plan. No call was made.
        JournalError: the journal cannot be written, or another process works on the run.
    """
    journal, limits, timeout_s = running
    on_event = teller(run_id)
    if journal is not None and await asyncio.to_thread(_is_known, journal, run_id):
        # a process died in this node: what is done is not done again
        return await resume(
            plan,
            tools,
            run_id,
            journal=journal,
            approval=approval,
            limits=limits,
            on_event=on_event,
            timeout_s=timeout_s,
        )
    return await run(
        plan,
        tools,
        journal=journal,
        approval=approval,
        limits=limits,
        on_event=on_event,
        run_id=run_id,
        timeout_s=timeout_s,
    )


def run_name(*parts: str) -> str:
    """Return the name of a run: the same for the same place of a conversation, in any process.

    LangGraph gives a node that it begins again the same namespace, and another one later on.
    """
    configurable = get_config().get("configurable", {})
    place = [str(configurable.get(name, "")) for name in ("thread_id", "checkpoint_ns")]
    return hashlib.sha256(json.dumps([*place, *parts]).encode()).hexdigest()[:32]


def teller(run_id: str) -> Callable[[Event], None]:
    """Return what tells events to the graph's stream, where `stream_mode="custom"` shows them."""
    write = get_stream_writer()

    def tell(event: Event) -> None:
        kind, *values = cast("list[Json]", json.loads(to_record(event)))
        told = dict(zip(type(event)._fields, values, strict=True))
        write({"toolplan": {"run": run_id, "event": {"kind": kind, **told}}})

    return tell


def _is_known(journal: Journal, run_id: str) -> bool:
    try:
        journal.record(run_id)
    except JournalError as error:
        if error.code != _UNKNOWN_RUN:
            raise
        return False
    return True
