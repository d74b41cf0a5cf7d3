"""Leaving: a process that is about to end hands its runs to others, without ending them."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Protocol


class _Leaves(Protocol):
    def leave(self, grace_s: float) -> None: ...


class Leaving:
    """Asks runs to leave: no new call starts, and the open ones have `grace_s` seconds to end.

    A run that was left is returned as `running`, and any process can resume it.
    """

    def __init__(self, grace_s: float = 20.0) -> None:
        self.grace_s = grace_s
        self.is_asked = False
        self._runs: weakref.WeakSet[_Leaves] = weakref.WeakSet()
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

    def add(self, run: _Leaves) -> None:
        """Add a run that leaves when it is asked."""
        self._runs.add(run)
        if self.is_asked:
            run.leave(self.grace_s)
