"""A listener that keeps events."""

from __future__ import annotations

from typing import TypeVar

from toolplan.events import Event, Run, fold

E = TypeVar("E", bound=Event)


class RecordingSink:
    """Keeps all events: `run(plan, tools, on_event=sink)`."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        """Keep `event`."""
        self.events.append(event)

    @property
    def run(self) -> Run:
        """The run of the events so far."""
        return fold(self.events)

    def of(self, kind: type[E]) -> list[E]:
        """Return the events of one kind, in order: `sink.of(StepStarted)`."""
        return [event for event in self.events if isinstance(event, kind)]
