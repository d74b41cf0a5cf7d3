"""How far a run is, from its events: a number that only grows, and a few words."""

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
from toolplan.plan import Plan

_BEGUN: Final = 0.1
_NEARLY: Final = 0.9
_MOST_WORDS: Final = 200


class Progress:
    """How far the run of a plan is: `done` of `total` steps, parts of steps included.

    `message` says what happened last. `kept` is set when the run is on disk, or over. Whoever
    watches holds an `asyncio.Event` from `watch`, which is set on every change.
    """

    def __init__(self, plan: Plan) -> None:
        """Begin with nothing done."""
        self.done = 0.0
        self.total = float(len(plan.steps))
        self.message = ""
        self.kept = asyncio.Event()
        self._folding = Folding()
        self._tools = {step.id: step.tool for step in plan.steps}
        self._over: set[str] = set()
        self._under_way: dict[str, float] = {}  # how much of a step is done
        self._items: dict[str, int] = {}
        self._watchers: set[asyncio.Event] = set()

    def add(self, event: Event) -> None:
        """Take the next event of the run."""
        self._folding.add(event)
        if not isinstance(event, RunStarted | RunWaiting | RunApproved):
            self.kept.set()  # only then does anything else happen
        match event:
            case StepStarted(step=step, items=items):
                self._items[step] = items or 0
                self._grow(step, _BEGUN, "started")
            case ItemEnded(step=step):
                count = max(self._items.get(step, 0), 1)
                share = self._under_way.get(step, _BEGUN) + (_NEARLY - _BEGUN) / count
                self._grow(step, min(share, _NEARLY), "an item more")
            case StepProgressed(step=step, done=done, total=total, message=message):
                part = min(max(done / total, 0.0), 1.0) if total else 0.0
                self._grow(step, _BEGUN + (_NEARLY - _BEGUN) * part, message or "under way")
            case StepSucceeded(step=step):
                self._grow(step, 1.0, "succeeded")
            case StepFailed(step=step, failure=failure):
                self._grow(step, 1.0, f"failed: {failure.message}")
            case StepSkipped(step=step):
                self._grow(step, 1.0, "skipped")
            case StepCancelled(step=step):
                self._grow(step, 1.0, "cancelled")
            case _:
                return

    def catch_up(self, events: Iterable[Event]) -> None:
        """Take what happened before the run was gone on with; nothing of that has been since."""
        for event in events:
            self.add(event)
        self.kept.clear()

    def run(self) -> Run:
        """Return the run as it stands."""
        return self._folding.run()

    def watch(self) -> asyncio.Event:
        """Return an event that is set on every change from now on."""
        changed = asyncio.Event()
        self._watchers.add(changed)
        return changed

    def leave(self, changed: asyncio.Event) -> None:
        """Set `changed`, from `watch`, no more."""
        self._watchers.discard(changed)

    def end(self) -> None:
        """Take note that nothing more comes."""
        self.kept.set()
        self._stir()

    def _stir(self) -> None:
        for changed in self._watchers:
            changed.set()

    def _grow(self, step: str, share: float, words: str) -> None:
        known = step in self._tools and step not in self._over
        if not known or share <= self._under_way.get(step, 0.0):
            return
        if share < 1.0:
            self._under_way[step] = share
        else:
            self._over.add(step)
            self._under_way.pop(step, None)
        self.done = max(self.done, len(self._over) + sum(self._under_way.values()))
        self.message = f"{step} ({self._tools[step]}): {words}"[:_MOST_WORDS]
        self._stir()
