"""Runs inside nodes, which LangGraph may run again from their beginning."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

from langgraph.config import get_config, get_stream_writer

from toolplan.base.threads import in_thread
from toolplan.events import Event
from toolplan.storage.journal import JournalError, Store, record_fields


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
    if journal is None:
        return False
    try:
        await in_thread(journal.record, run_id)
    except JournalError as error:
        if error.code != "unknown-run":
            raise
        return False
    return True
