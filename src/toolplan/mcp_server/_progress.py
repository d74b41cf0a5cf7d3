"""The progress of a run, from its events: a number that only grows, and a message."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from toolplan.events import (
    Event,
    Folding,
    ItemEnded,
    Run,
    RunApproved,
    RunStarted,
    RunWaiting,
    StepCancelled,
    StepFailed,
    StepProgressed,
    StepSkipped,
    StepStarted,
    StepSucceeded,
)
from toolplan.plan.model import Plan

_BEGUN: Final = 0.1
_NEARLY: Final = 0.9
_MOST_WORDS: Final = 200
_ENDS: Final[dict[type, str]] = {
    StepSucceeded: "succeeded", StepSkipped: "skipped", StepCancelled: "cancelled",
}  # fmt: skip


class Progress:
    """The progress of a run: `done` of `total` steps, with fractions for unfinished steps.

    `message` is the last event. `stored` is set when the run is on disk, or over.
    """

    def __init__(self, plan: Plan) -> None:
        self.done = 0.0
        self.total = float(len(plan.steps))
        self.message = ""
        self.stored = asyncio.Event()
        self._folding = Folding()
        self._tools = {step.id: step.tool for step in plan.steps}
        self._shares: dict[str, float] = {}  # the part of each step that is done
        self._items: dict[str, int] = {}

    def add(self, event: Event) -> None:
        """Add the next event of the run."""
        self._folding.add(event)
        if not isinstance(event, RunStarted | RunWaiting | RunApproved):
            self.stored.set()  # nothing else happens before that
        match event:
            case StepStarted(step=step, items=items):
                self._items[step] = max(items or 0, 1)
                self._grow(step, _BEGUN, "started")
            case ItemEnded(step=step):
                known = self._shares.get(step, _BEGUN)
                share = known + (_NEARLY - _BEGUN) / self._items.get(step, 1)
                self._grow(step, min(share, _NEARLY), "next item")
            case StepProgressed(step=step, done=done, total=total, message=message):
                part = min(max(done / total, 0.0), 1.0) if total else 0.0
                self._grow(step, _BEGUN + (_NEARLY - _BEGUN) * part, message or "running")
            case StepFailed(step=step, failure=failure):
                self._grow(step, 1.0, f"failed: {failure.message}")
            case StepSucceeded() | StepSkipped() | StepCancelled():
                self._grow(event.step, 1.0, _ENDS[type(event)])
            case _:
                pass

    def catch_up(self, events: Iterable[Event]) -> None:
        """Add the events from before the run was resumed."""
        for event in events:
            self.add(event)
        self.stored.clear()

    def run(self) -> Run:
        """Return the run."""
        return self._folding.run()

    def _grow(self, step: str, share: float, words: str) -> None:
        if step in self._tools and share > self._shares.get(step, 0.0):
            self._shares[step] = share
            self.done = max(self.done, sum(self._shares.values()))
            self.message = f"{step} ({self._tools[step]}): {words}"[:_MOST_WORDS]
