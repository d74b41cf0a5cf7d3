"""Calls of tools that are under way: made, timed, tried again, given up, and told truthfully."""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop, Task
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from typing import Final, Protocol

from toolplan.engines._calls import MAX_BACKOFF_S, Clock, InFlightCall, Late, RunOptions
from toolplan.engines._deadlines import Deadlines
from toolplan.engines._eager import begun
from toolplan.engines._effects import ABORTED, EffectCalls, idempotency_key, lost
from toolplan.engines._failures import accepted, tool_failure
from toolplan.events import (
    AttemptFailed,
    CallAnsweredLate,
    CallInDoubt,
    CallIntended,
    Event,
    Failure,
    StepProgressed,
)
from toolplan.path import Json
from toolplan.plan import Limits
from toolplan.storage.journal import KEPT_DURATIONS
from toolplan.tools import ATTENDED, Arguments, ToolCall

_PROGRESS_S: Final = 0.1
_SHORT_S: Final = 0.001
"""About a turn of a busy loop: after a call that took less, there is no turn worth saving."""


class EventLog(Protocol):
    """Where events are kept, as far as calls have to wait for it."""

    @property
    def full(self) -> bool:
        """Whether so much waits for the disk that no call should be started."""
        ...

    async def synced(self) -> None:
        """Wait until all events so far are safe."""
        ...


class Steps(Protocol):
    """Whose calls they are: told of each outcome, once."""

    def call_ended(self, call: InFlightCall, outcome: Json | Failure) -> None:
        """Take what a call gave, or why it failed."""
        ...

    def call_doubted(self, call: InFlightCall) -> None:
        """Know that the outcome of a call will not be known without a person."""
        ...

    def reserve(self, calls: int) -> bool:
        """Say whether so many calls more may be made, and count them."""
        ...

    def args_again(self, call: InFlightCall) -> Arguments | Failure:
        """Fill the arguments of a call anew."""
        ...

    def abandon(self, error: BaseException) -> None:
        """End the run with an error of the engine's own, or raise it where it is over."""
        ...


class InFlightCalls:
    """The calls of one run that are under way."""

    def __init__(
        self,
        run: str,
        steps: Steps,
        *,
        emit: Callable[[Event], None],
        clock: Clock,
        limits: Limits,
        options: RunOptions,
        effects: EffectCalls,
        log: EventLog | None,
    ) -> None:
        self._run = run
        self._steps = steps
        self._emit = emit
        self._clock = clock
        self._limits = limits
        self._options = options
        self._effects = effects
        self._log = log
        self._loop: AbstractEventLoop = asyncio.get_running_loop()
        self._deadlines = Deadlines[InFlightCall](self._loop, self._miss_deadline)
        self._leaving: dict[Task[None], InFlightCall] = {}
        self._closed = False
        self._context = copy_context()  # what one tool sets there, no other one sees
        self.at_once = False
        """Whether calls begin in this turn of the loop, until one of them ends in it too."""
        self._told: dict[InFlightCall, float] = {}  # when progress of a call was last shown
        self.durations: dict[str, deque[float]] = {}

    def make(self, call: InFlightCall) -> None:
        """Make a call; what becomes of it, `steps` is told."""
        if not call.tool.has_effects:
            seconds = call.step.timeout_s
            self._deadlines.start(call, self._options.timeout_s if seconds is None else seconds)
            self._begin(call)
        elif self._may_have_effects(call):
            self._open(call)

    def identity(self, call: InFlightCall) -> ToolCall:
        """Say which call it is."""
        step, index = call.step.id, call.index
        key = idempotency_key(self._run, step, index)
        return ToolCall(self._run, step, index, call.attempt, key)

    def progress(self, call: InFlightCall, done: float, total: float | None, message: str) -> None:
        """Tell how far a call is; of many tellings in a short time the first is passed on."""
        self._loop.call_soon_threadsafe(self._progress, call, done, total, message)

    async def close(self) -> None:
        """Cancel the calls that are still open, and wait for all that are leaving, for a while."""
        self._closed = True
        self._deadlines.close()
        for call in self._deadlines.open:
            self._cancel(call)
        self._deadlines.open.clear()
        tasks = [task for task in self._leaving if not task.done()]
        if tasks:
            await asyncio.wait(tasks, timeout=self._options.grace_s)

    def outcomes(self) -> list[tuple[InFlightCall, Json | Failure]]:
        """Tell truthfully of calls with effects that closing met, and give those that ended.

        One that was not made is told to have failed, and one of which nothing is known to be in
        doubt, if it may not be repeated.
        """
        ended: list[tuple[InFlightCall, Json | Failure]] = []
        for call in self._leaving.values():
            slot = (call.step.id, call.index)
            if not call.tool.has_effects or slot in self._effects.in_doubt:
                continue
            if not call.made:
                failure = Failure("cancelled", "The call was not made.")
                at = self._clock()
                self._emit(AttemptFailed(call.step.id, call.index, call.attempt, failure, at))
            elif call.late is not None:
                ended.append((call, self._outcome(call, call.late)))
            elif not call.tool.may_repeat:
                self._tell_doubt(call, Failure("cancelled", "The run was cancelled meanwhile."))
        return ended

    # Opening

    def _open(self, call: InFlightCall) -> None:
        if call.tool.has_effects:
            step, index = call.step.id, call.index
            key = idempotency_key(self._run, step, index)
            self._emit(CallIntended(step, index, call.attempt, key, self._clock()))
            self._deadlines.hold(call)
        else:
            self._deadlines.start(call, self._timeout(call))
        self._begin(call)

    def _begin(self, call: InFlightCall) -> None:
        """Return the call its task; at once where a call that took its time made way for it.

        Calls with effects wait for the disk anyway, and the intents of one turn share a sync.
        """
        loop, name, context = self._loop, call.step.id, self._context.copy()
        if not self.at_once or call.tool.has_effects:
            call.task = Task(self._attend(call), loop=loop, name=name, context=context)
            return
        task = begun(self._attend(call), loop, name, context)
        if call in self._deadlines.open:
            call.task = task

    def _may_have_effects(self, call: InFlightCall) -> bool:
        """Take the call's slot, and say whether the call is to be made; else settle it."""
        slot = (call.step.id, call.index)
        # no try has the number of an earlier one: what became of that says nothing about this
        call.attempt = call.first = self._effects.tried(slot) + 1
        begun = self._effects.begun(slot)
        if begun and not call.tool.may_repeat and not self._decided_to_retry(call):
            return False
        refusal = self._effects.take(slot)
        if refusal is not None:
            self._steps.call_ended(call, refusal)
            return False
        return True

    def _decided_to_retry(self, call: InFlightCall) -> bool:
        """Do what a person decided about a call in doubt; without a decision it stays so."""
        slot = (call.step.id, call.index)
        decided = self._effects.decision(slot)
        if decided is not None and decided.decision == "retry":
            return True
        call.attempt = self._effects.begun(slot)
        match None if decided is None else decided.decision:
            case None | "retry":
                self._doubt(call, lost(slot))
            case "resolve":
                output = None if decided is None else decided.output
                self._steps.call_ended(call, self._outcome(call, Late(output, None)))
            case "abort":
                self._steps.call_ended(call, ABORTED)
        return False

    def _open_again(self, call: InFlightCall) -> None:
        if self._closed:
            return
        # filled anew, because the tool may have changed what it was given
        args = self._steps.args_again(call)
        if isinstance(args, Failure):
            raise RuntimeError(f"Arguments that were good are not: {args.message}")
        again = InFlightCall(self, call.position, call.index, call.step, call.tool, args)
        again.attempt = call.attempt + 1
        again.first = call.first
        self._open(again)

    # Attending

    async def _attend(self, call: InFlightCall) -> None:
        """Make the call, whatever comes of it, and tell."""
        failure: Failure | None = None
        answer: object = None
        if call.tool.has_effects and not await self._may_go(call):
            return
        call.made = True
        call.began = self._loop.time()
        ATTENDED.set(call)
        try:
            answer = await call.function(call.args)
        except BaseException as error:  # a tool may raise anything; other steps go on
            if isinstance(error, GeneratorExit) and not self._loop.is_running():
                raise  # the loop is gone, and this coroutine is being closed
            failure = tool_failure(error)
            if call not in self._deadlines.open and isinstance(error, asyncio.CancelledError):
                return  # it was given up, and it obeyed
        try:
            del self._deadlines.open[call]
        except KeyError:  # too late: it was given up, and the step goes on without it
            self._note_late(call, Late(answer, failure))
            return
        call.task = None  # the task's context has the call: a ring that only the collector undoes
        now = self._loop.time()
        took = now - call.began
        self.at_once = took > _SHORT_S and failure is None and now < call.deadline
        if self._log is not None:
            self._keep_duration(call.tool.name, took)
        if call.deadline <= now:
            # a tool that blocks the loop keeps the timer from firing
            self._safely(self._give_up, call, Late(answer, failure))
        elif failure is None:
            try:  # `_safely`, written out for nearly every call
                self._take(call, answer)
            except BaseException as error:
                self._steps.abandon(error)
            finally:  # of steps that were over as soon as they began, those behind wait their turn
                self.at_once = False
        else:
            self._safely(self._end, call, failure)

    def _keep_duration(self, name: str, seconds: float) -> None:
        kept = self.durations.get(name)
        if kept is None:
            kept = self.durations[name] = deque(maxlen=KEPT_DURATIONS)
        kept.append(seconds)

    async def _may_go(self, call: InFlightCall) -> bool:
        """Wait until the intent is on disk, and say whether the call is to be made then."""
        if self._log is not None:
            try:
                await self._log.synced()
            except Exception:  # the log has told the scheduler already
                return False
        if call not in self._deadlines.open or self._closed:
            return False
        self._deadlines.start(call, self._timeout(call))
        return True

    def _take(self, call: InFlightCall, answer: object) -> None:
        depth, size = self._limits.depth, self._options.result_size
        self._end(call, accepted(call.tool, answer, depth=depth, size=size))

    def _outcome(self, call: InFlightCall, late: Late) -> Json | Failure:
        if late.failure is not None:
            return late.failure
        depth, size = self._limits.depth, self._options.result_size
        return accepted(call.tool, late.answer, depth=depth, size=size)

    def _end(self, call: InFlightCall, outcome: Json | Failure) -> None:
        if isinstance(outcome, Failure):
            final = call.tool.has_effects and not call.tool.may_repeat
            if final and outcome.code == "outcome-unknown":
                return self._doubt(call, outcome)
            if self._may_try_again(call, outcome):
                return None
        return self._steps.call_ended(call, outcome)

    def _may_try_again(self, call: InFlightCall, failure: Failure) -> bool:
        """Set the next try going, if there is one. It keeps its place among the calls at once."""
        tries = call.attempt - call.first + 1
        if tries > call.step.retries or not call.tool.may_repeat or not self._steps.reserve(1):
            return False
        at = self._clock()
        self._emit(AttemptFailed(call.step.id, call.index, call.attempt, failure, at))
        pause = min(self._options.backoff_s * 2.0 ** (tries - 1), MAX_BACKOFF_S)
        self._loop.call_later(pause, self._safely, self._open_again, call)
        return True

    # Giving up

    def _miss_deadline(self, call: InFlightCall) -> None:
        self._cancel(call)
        self._safely(self._give_up, call, None)

    def _give_up(self, call: InFlightCall, late: Late | None) -> None:
        """Settle a call whose time is over; with effects that may not be repeated it is in doubt.

        What came too late is discarded.
        """
        failure = Failure("timeout", f"No answer came within {self._timeout(call):g} s.")
        if call.tool.has_effects and not call.tool.may_repeat:
            self._doubt(call, failure)
        else:
            self._end(call, failure)
        if late is not None:
            self._note_late(call, late)

    def _note_late(self, call: InFlightCall, late: Late) -> None:
        call.late = late
        if not self._closed:
            at = self._clock()
            self._emit(CallAnsweredLate(call.step.id, call.index, call.attempt, late.failure, at))

    def _doubt(self, call: InFlightCall, failure: Failure) -> None:
        """Leave a call with effects to a person: nobody knows what became of it."""
        self._tell_doubt(call, failure)
        self._steps.call_doubted(call)

    def _tell_doubt(self, call: InFlightCall, failure: Failure) -> None:
        self._effects.in_doubt.add((call.step.id, call.index))
        at = self._clock()
        self._emit(CallInDoubt(call.step.id, call.index, call.attempt, failure, at))

    def _cancel(self, call: InFlightCall) -> None:
        task = call.task
        if task is not None and not task.done():
            task.cancel()
            self._leaving[task] = call
            task.add_done_callback(self._left)

    def _left(self, task: Task[None]) -> None:
        if not self._closed:  # else it is still to be told what became of it
            self._leaving.pop(task, None)

    def _progress(self, call: InFlightCall, done: float, total: float | None, message: str) -> None:
        now = self._loop.time()
        if call not in self._deadlines.open or now - self._told.get(call, -1.0) < _PROGRESS_S:
            return
        self._told[call] = now
        self._emit(StepProgressed(call.step.id, done, total, message, self._clock()))

    def _timeout(self, call: InFlightCall) -> float:
        stated = call.step.timeout_s
        return self._options.timeout_s if stated is None else stated

    def _safely(self, act: Callable[..., None], *args: object) -> None:
        """Do what a task or a timer brings about; an error in it ends the run, not the loop."""
        try:
            act(*args)
        except BaseException as error:  # it is passed on: `run` waits for it
            self._steps.abandon(error)
