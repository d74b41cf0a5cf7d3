"""The context of a run besides its plan, and the request to leave its runs."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from toolplan.engine._calls import Clock, RunOptions
from toolplan.engine._recorder import EventRecorder
from toolplan.events import Event
from toolplan.plan.model import Limits
from toolplan.policy.approval import Approval, Approver
from toolplan.policy.consent import ValueApproval
from toolplan.schema.tool import Tool

if TYPE_CHECKING:
    from toolplan.engine._steps import Scheduler


class Leaving:
    """Asks runs to leave: no new call starts, and the open ones have `grace_s` seconds to end.

    A run that was left is returned as `running`, and any process can resume it.
    """

    def __init__(self, grace_s: float = 20.0) -> None:
        self.grace_s = grace_s
        self.is_asked = False
        self._runs: weakref.WeakSet[Scheduler] = weakref.WeakSet()
        self._on_ask: list[Callable[[], None]] = []

    def ask(self) -> None:
        """Ask the runs of this event loop to leave, and those that start later."""
        self.is_asked = True
        for run in list(self._runs):
            run.leave(self.grace_s)
        for each in self._on_ask:
            each()

    def on_ask(self, act: Callable[[], None]) -> None:
        """Call `act` when the runs are asked to leave, now if they were."""
        self._on_ask.append(act)
        if self.is_asked:
            act()

    def add(self, run: Scheduler) -> None:
        """Add a run that leaves when it is asked."""
        self._runs.add(run)
        if self.is_asked:
            run.leave(self.grace_s)


class Execution(Struct, frozen=True):
    """The name, tools, limits and recorder of one run."""

    name: str
    tools: Mapping[str, Tool]
    recorder: EventRecorder
    approval: Approval | Approver | ValueApproval | None
    limits: Limits
    options: RunOptions
    clock: Clock
    leaving: Leaving | None = None

    @property
    def emit(self) -> Callable[[Event], None]:
        """The function that records an event."""
        return self.recorder.sink

    @property
    def log(self) -> EventRecorder | None:
        """The recorder, if calls wait for a journal."""
        return self.recorder if self.recorder.is_journaled else None
