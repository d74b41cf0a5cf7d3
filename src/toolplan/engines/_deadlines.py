"""Deadlines of calls, all on one timer.

A timer for each call would cost more than the rest of its bookkeeping. The one timer is set to the
earliest deadline; when it fires, all open calls are checked.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable
from math import inf
from typing import Generic, Protocol, TypeVar


class Timed(Protocol):
    """Anything with a deadline, in seconds on the loop's monotonic clock; `inf` for none."""

    deadline: float


T = TypeVar("T", bound=Timed)


class Deadlines(Generic[T]):
    """The open calls; `on_late` is called for each that misses its deadline."""

    __slots__ = ("_at", "_loop", "_on_late", "_timer", "open")

    def __init__(self, loop: AbstractEventLoop, on_late: Callable[[T], None]) -> None:
        self.open: dict[T, None] = {}  # a set that keeps its order
        self._loop = loop
        self._on_late = on_late
        self._timer: TimerHandle | None = None
        self._at = inf

    def start(self, call: T, seconds: float) -> None:
        """Open `call` with a deadline in `seconds`."""
        self.open[call] = None
        deadline = call.deadline = self._loop.time() + seconds
        if deadline < self._at:
            self._set(deadline)

    def hold(self, call: T) -> None:
        """Open `call` without a deadline, until `start`."""
        self.open[call] = None

    def close(self) -> None:
        """Stop the timer."""
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
