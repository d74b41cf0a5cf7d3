"""Events of a run as server-sent events: from the journal, and then as they are written.

The journal is the only source, so nothing is lost and nothing comes twice, whichever process runs
the plan and however often this server is started again.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from typing import Final

from fastapi.sse import ServerSentEvent

from toolplan.events import Event
from toolplan.storage.journal import Store, record_fields
from toolplan.threads import in_thread
from toolplan_studio._active import ActiveRuns
from toolplan_studio._run_wire import EventOut

_WAIT_S: Final = 0.5
_LEFT_OUT: Final = frozenset(("output", "result", "key", "run", "approval"))
"""Fields that a page does not need, or gets elsewhere since they are large."""


def event_view(seq: int, event: Event) -> EventOut:
    """Return one event without its outputs."""
    kind, recorded = record_fields(event)
    fields: dict[str, object] = {}
    for name, value in recorded.items():
        if name == "failure" and isinstance(value, list):
            code, message, pointer = value
            fields[name] = {"code": code, "message": message, "pointer": pointer}
        elif name not in _LEFT_OUT:
            fields[name] = value
    return EventOut.model_validate({**fields, "seq": seq, "kind": kind})


async def run_events(
    run: str, start: int, journal: Store, active: ActiveRuns
) -> AsyncGenerator[ServerSentEvent]:
    """Yield the events of `run` from position `start` on, for as long as somebody listens.

    Progress that tools report is not in the journal: it comes without an id while it is new.
    """
    at, seen = start, 0
    while True:
        events = await in_thread(journal.tail, run, at)
        for place, event in enumerate(events, at):
            shown = event_view(place, event)
            yield ServerSentEvent(raw_data=_text(shown), event="event", id=str(place))
        at += len(events)
        running = active.get(run)
        if running is not None:
            news, seen = running.progress_since(seen)
            for each in _views(news, at):
                yield ServerSentEvent(raw_data=_text(each), event="progress")
        # not for longer: the server cannot end a thread that waits
        await in_thread(journal.wait, run, at, _WAIT_S)


def _views(events: list[Event], at: int) -> Iterator[EventOut]:
    yield from (event_view(at, event) for event in events)


def _text(event: EventOut) -> str:
    return event.model_dump_json(exclude_none=True)
