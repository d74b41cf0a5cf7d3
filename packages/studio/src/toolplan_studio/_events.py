"""Events of a run as server-sent events: from the journal, and then as they are written.

The journal is the only source, so nothing is lost and nothing comes twice, whichever process runs
the plan and however often this server is started again.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Final

from fastapi.sse import ServerSentEvent

from toolplan.events import Event, Failure
from toolplan.storage.journal import Store, record_fields
from toolplan.threads import in_thread
from toolplan_studio._active import ActiveRuns
from toolplan_studio._run_wire import EventOut

_WAIT_S: Final = 0.5


def _text(seq: int, event: Event) -> str:
    """Return one event as JSON, without its outputs."""
    kind, recorded = record_fields(event)
    fields: dict[str, Any] = {**recorded, "seq": seq, "kind": kind}
    if fields.get("failure") is not None:
        fields["failure"] = dict(zip(Failure.__struct_fields__, fields["failure"], strict=True))
    shown = EventOut.model_validate(fields)
    return shown.model_dump_json(exclude_none=True)


async def run_events(
    run: str, start: int, journal: Store, active: ActiveRuns
) -> AsyncGenerator[ServerSentEvent]:
    """Yield the events of `run` from position `start` on, for as long as somebody listens.

    Progress that tools report is not in the journal: it comes without an id while it is new.
    """
    at, seen = start, 0
    while True:
        for event in await in_thread(journal.tail, run, at):
            yield ServerSentEvent(raw_data=_text(at, event), event="event", id=str(at))
            at += 1
        running = active.get(run)
        if running is not None:
            news, seen = running.progress_since(seen)
            for event in news:
                yield ServerSentEvent(raw_data=_text(at, event), event="progress")
        # not for longer: the server cannot end a thread that waits
        await in_thread(journal.wait, run, at, _WAIT_S)
