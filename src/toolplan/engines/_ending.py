"""How this process ends its work on a run: finished, parked, left to another, or cancelled."""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections.abc import Callable

from toolplan.engines._calls import Clock
from toolplan.engines._effects import EffectCalls
from toolplan.engines._outcomes import Outcomes
from toolplan.events import Event, RunParked, RunState
from toolplan.plan import Value


class RunEnding:
    """The end of this process's work on a run.

    Attributes:
        done: set, or failed, when the work ends.
        has_ended: whether the end of the run, or that it waits, was emitted.
        leaving: whether no more calls are started, so that another process can take the run over.
    """

    __slots__ = ("_clock", "_effects", "_emit", "_outcomes", "done", "has_ended", "leaving")

    def __init__(
        self, outcomes: Outcomes, effects: EffectCalls, emit: Callable[[Event], None], clock: Clock
    ) -> None:
        self._outcomes = outcomes
        self._effects = effects
        self._emit = emit
        self._clock = clock
        self.done: Future[None] = asyncio.get_running_loop().create_future()
        self.has_ended = self.leaving = False

    def leave_within(self, grace_s: float) -> bool:
        """Start no more calls, and stop after `grace_s`; return False if the work is ending."""
        if self.leaving or self.has_ended:
            return False
        self.leaving = True
        asyncio.get_running_loop().call_later(grace_s, self.stop)
        return True

    def stop(self) -> None:
        """Stop without an end of the run."""
        if not self.done.done():
            self.done.set_result(None)

    def abandon(self, error: BaseException) -> None:
        """End the work with `error`; raise it if it is over."""
        if self.done.done():
            raise error
        self.done.set_exception(error)

    def park(self) -> None:
        """End the work: the run waits for a person."""
        if not self.done.done():
            self.has_ended = True
            status = RunState.IN_DOUBT if self._effects.in_doubt else RunState.WAITING
            self._emit(RunParked(status, self._clock()))
            self.done.set_result(None)

    def finish(self, output: Value | None, most: int) -> None:
        """End the run, with the output that the plan states; it takes at most `most` bytes."""
        self.has_ended = True
        self._outcomes.end(output, most)
        self.done.set_result(None)
