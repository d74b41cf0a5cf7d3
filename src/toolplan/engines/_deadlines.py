"""Deadlines of calls, all on one timer.

A timer object for each call would cost more than the call's own bookkeeping. One timer is enough:
it stands at the earliest deadline that was known when it was set, and looks through the open calls
when it fires, of which there are never more than may run at once.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable
from math import inf
from typing import Generic, Protocol, TypeVar


class Timed(Protocol):
    """What has a deadline, in seconds on the loop's monotonic clock; `inf` for none."""

    deadline: float


T = TypeVar("T", bound=Timed)


class Deadlines(Generic[T]):
    """The open calls and their deadlines; `on_late` is called for each that misses its own."""

    __slots__ = ("_at", "_loop", "_on_late", "_timer", "open")

    def __init__(self, loop: AbstractEventLoop, on_late: Callable[[T], None]) -> None:
        self.open: dict[T, None] = {}  # a set that keeps its order
        self._loop = loop
        self._on_late = on_late
        self._timer: TimerHandle | None = None
        self._at = inf

    def start(self, call: T, seconds: float) -> None:
        """Open `call`, and let it have `seconds` from now."""
        self.open[call] = None
        deadline = call.deadline = self._loop.time() + seconds
        if deadline < self._at:
            self._set(deadline)

    def hold(self, call: T) -> None:
        """Open `call` without a deadline, until it is started."""
        self.open[call] = None

    def close(self) -> None:
        """Stop the timer; no call is late any more."""
        self._set(inf)

    def _set(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._at = at
        self._timer = None if at == inf else self._loop.call_at(at, self._fire)

    def _fire(self) -> None:
        now = self._loop.time()
        late = [call for call in self.open if call.deadline <= now]
        for call in late:
            del self.open[call]
        self._set(min((call.deadline for call in self.open), default=inf))
        for call in late:
            self._on_late(call)
