"""Calls in flight: started, timed, retried, given up."""

from __future__ import annotations

import asyncio
import logging
from asyncio import AbstractEventLoop, CancelledError, Task
from collections import defaultdict, deque
from collections.abc import Callable
from contextvars import copy_context
from typing import TYPE_CHECKING, Final

from toolplan.base.event_loop import leave_behind, note_given_up
from toolplan.engine._attempt import Deadlines, InFlightCall, LateResult
from toolplan.engine._calls import MAX_BACKOFF_S
from toolplan.engine._eager import eager_task
from toolplan.engine._effects import ABORTED, CHANGED, Doubtful, EffectCalls, idempotency_key
from toolplan.engine._execution import Execution
from toolplan.engine._failures import accepted, kept_result, returned_with, tool_failure
from toolplan.engine._values import Budget
from toolplan.events import (
    AttemptFailed,
    CallAnsweredLate,
    CallInDoubt,
    CallIntended,
    Failure,
    StepProgressed,
    traces,
)
from toolplan.plan.path import Json
from toolplan.schema.tool import ToolError
from toolplan.schema.tool_call import ATTENDED, ToolCall
from toolplan.storage.journal import KEPT_DURATIONS

if TYPE_CHECKING:
    from toolplan.engine._staged import Stage
    from toolplan.engine._steps import Scheduler

_LOG: Final = logging.getLogger(__name__)
_TOOLS_LOG: Final = logging.getLogger("toolplan.tools")
CANCELLED: Final = Failure("cancelled", "The run was cancelled meanwhile.")
LEFT: Final = Failure("left", "The process that made the call has left the run meanwhile.")
"""Why calls are cancelled with their run."""

_PROGRESS_S: Final = 0.1
_SHORT_S: Final = 0.001
"""About one turn of a busy loop; eager tasks save that turn after longer calls only."""


class InFlightCalls:
    """The calls of one run that are in flight."""

    def __init__(self, execution: Execution, steps: Scheduler, effects: EffectCalls) -> None:
        self._run = execution.name
        self._steps = steps
        self._emit = execution.emit
        self._clock = execution.clock
        self._depth = execution.limits.depth
        self._options = execution.options
        self._results = Budget(self._options.run_size)
        self._effects = effects
        self._log = execution.log
        self._loop: AbstractEventLoop = asyncio.get_running_loop()
        self._deadlines = Deadlines(self._loop, self._miss_deadline)
        self._cancelled: dict[Task[None], InFlightCall] = {}
        self._closed = False
        self.leaving = False
        """Whether calls that failed are left to another process."""
        self._context = copy_context()  # each call gets a copy of its own
        self.eager = False
        """Whether calls start in this turn of the loop, until one of them also ends in it."""
        self._reported: dict[InFlightCall, float] = {}  # when progress was last emitted
        self._durations = defaultdict[str, deque[float]](lambda: deque(maxlen=KEPT_DURATIONS))
        self.stage: Stage | None = None
        self.traced = traces.is_on()
        """Whether each call is a span; looked up once, since most programs trace nothing."""

    def make(self, call: InFlightCall) -> None:
        """Start a call; `steps` gets its outcome."""
        if self.stage is not None and not self.stage.lets(call):
            return
        if not call.tool.has_effects:
            self._deadlines.start(call, self._timeout(call))
            self._start_task(call)
            return
        slot = (call.step.id, call.index)
        # attempts are numbered, so that a late outcome of an earlier attempt does not count
        call.attempt = call.first = self._effects.tries.get(slot, 0) + 1
        is_begun = self._effects.begun.get(slot) and not call.tool.may_repeat
        if is_begun and not self._decided_to_retry(call):
            return
        refusal = self._effects.take(slot)
        if refusal is not None:
            self._steps.call_ended(call, refusal)
        else:
            self._open(call)

    def identity(self, call: InFlightCall) -> ToolCall:
        """Return which call it is."""
        key = idempotency_key(self._run, call.step.id, call.index, call.page)
        return ToolCall(self._run, call.step.id, call.index, call.attempt, key)

    def progress(self, call: InFlightCall, done: float, total: float | None, message: str) -> None:
        """Report the progress of a call; of many reports in a short time one is emitted."""
        self._loop.call_soon_threadsafe(self._progress, call, done, total, message)

    async def close(self) -> None:
        """Cancel the open calls, and wait for them for the grace period."""
        self._closed = True
        self._deadlines.close()
        for call in self._deadlines.open:
            self._cancel(call)
        self._deadlines.open.clear()
        tasks = [task for task in self._cancelled if not task.done()]
        if not tasks:
            return
        _, deaf = await asyncio.wait(tasks, timeout=self._options.grace_s)
        if deaf:
            steps = ", ".join(sorted({self._cancelled[task].step.id for task in deaf}))
            _LOG.warning(
                "Calls that ignore that they were cancelled, and still run: %d (%s).",
                len(deaf),
                steps,
            )
            leave_behind(deaf)

    @property
    def latest_durations(self) -> list[tuple[str, float]]:
        """The names of tools and the seconds of their latest calls."""
        return [(name, each) for name, kept in self._durations.items() for each in kept]

    def outcomes(self, reason: Failure) -> list[tuple[InFlightCall, Json | Failure]]:
        """Return the outcomes of the calls with effects that ended while they were cancelled.

        For the others, emit that a call that was not made failed, and that one with an unknown
        outcome is in doubt for `reason` if it may not be repeated.
        """
        ended: list[tuple[InFlightCall, Json | Failure]] = []
        for call in self._cancelled.values():
            slot = (call.step.id, call.index)
            if not call.tool.has_effects or slot in self._effects.in_doubt:
                continue
            if not call.made:
                failure = Failure(reason.code, "The call was not made.")
                at = self._clock()
                self._emit(AttemptFailed(call.step.id, call.index, call.attempt, failure, at))
            elif call.late is not None:
                outcome = self._outcome(call, call.late)
                if isinstance(outcome, Doubtful):
                    self._emit_doubt(call, outcome)
                else:
                    ended.append((call, outcome))
            elif not call.tool.may_repeat:
                self._emit_doubt(call, Doubtful(reason))
        return ended

    # Opening

    def _open(self, call: InFlightCall) -> None:
        if self.stage is not None and not self.stage.agrees(call):
            return self._steps.call_ended(call, CHANGED)
        if call.tool.has_effects:
            step, index = call.step.id, call.index
            key = idempotency_key(self._run, step, index)
            self._emit(CallIntended(step, index, call.attempt, key, self._clock()))
            self._deadlines.open[call] = None  # its time starts once the intent is on disk
        else:
            self._deadlines.start(call, self._timeout(call))
        return self._start_task(call)

    def _start_task(self, call: InFlightCall) -> None:
        """Start the task of a call; eagerly if a longer call made it ready.

        Calls with effects wait for the disk anyway, and the intents of one turn share a sync.
        """
        loop, name, context = self._loop, call.step.id, self._context.copy()
        if not self.eager or call.tool.has_effects:
            call.task = Task(self._run_call(call), loop=loop, name=name, context=context)
            return
        task = eager_task(self._run_call(call), loop, name, context)
        if call in self._deadlines.open:
            call.task = task

    def _decided_to_retry(self, call: InFlightCall) -> bool:
        """Apply the decision about a call in doubt; return True to retry."""
        slot = (call.step.id, call.index)
        decided = self._effects.decisions.get(slot)
        if decided is not None and decided.decision == "retry":
            return True
        call.attempt = self._effects.begun[slot]
        if decided is not None:  # the output was checked when the person decided
            is_resolved = decided.decision == "resolve"
            self._steps.call_ended(call, decided.output if is_resolved else ABORTED)
            return False
        doubt = self._effects.earlier_doubt(slot)
        if self._effects.is_noted(slot, doubt):
            self._effects.in_doubt.add(slot)
            self._steps.call_left_open(call)
        else:
            self._doubt(call, doubt)
        return False

    def _retry(self, call: InFlightCall) -> None:
        if self._closed:
            return
        if self.leaving:
            self._steps.call_left_open(call)
            return
        # filled again, because the tool may have changed its arguments
        args = self._steps.fill_again(call)
        if isinstance(args, Failure):
            raise RuntimeError(f"Valid arguments have become invalid: {args.message}")
        again = InFlightCall(self, call.position, call.index, call.step, call.tool, args)
        again.attempt = call.attempt + 1
        again.first = call.first
        again.page = call.page
        self._open(again)

    # Running

    async def _run_call(self, call: InFlightCall) -> None:
        """Call the tool and pass on the outcome."""
        failure: Failure | None = None
        answer: object = None
        returned: Json = None
        if call.tool.has_effects and not await self._may_start(call):
            return
        call.made = True
        call.began = self._loop.time()
        ATTENDED.set(call)
        try:
            # most programs trace nothing: then no turn is taken for it
            answer = await (call.traced_result() if self.traced else call.function(call.args))
        except BaseException as error:  # a tool may raise anything; other steps continue
            if isinstance(error, GeneratorExit) and not self._loop.is_running():
                raise  # the loop is closed, and so is this coroutine
            failure = tool_failure(error, repeatable=call.tool.may_repeat)
            # a ToolError is the tool's own message, and who cancels a call knows it
            if not isinstance(error, ToolError | CancelledError):
                _TOOLS_LOG.debug("The tool %s raised an exception.", call.tool.name, exc_info=error)
            if failure.code == "outcome-unknown":
                returned = returned_with(error)
            if call not in self._deadlines.open and isinstance(error, asyncio.CancelledError):
                return  # it was given up and cancelled
        late = LateResult(answer, failure, returned)
        try:
            del self._deadlines.open[call]
        except KeyError:  # too late: it was given up
            self._note_late(call, late)
            return
        call.task = None  # avoids a reference cycle: the task's context has the call
        now = self._loop.time()
        took = now - call.began
        is_late = call.deadline <= now  # a tool that blocks the loop keeps the timer from firing
        self.eager = took > _SHORT_S and failure is None and not is_late
        if self._log is not None:
            self._durations[call.tool.name].append(took)
        try:  # `_safely`, inlined for every call
            if is_late:
                self._give_up(call, late)
            else:
                self._end(call, self._outcome(call, late))
        except BaseException as error:
            self._steps.ending.abandon(error)
        self.eager = False  # the dependents of steps that ended at once wait a turn

    async def _may_start(self, call: InFlightCall) -> bool:
        """Wait until the intent is on disk; return whether the call may still be made."""
        if self._log is not None:
            try:
                await self._log.synced()
                while not self._log.is_current:  # the process, or the disk, stood still
                    await self._log.synced()
            except Exception:  # the log reports it to the scheduler
                return False
        if call not in self._deadlines.open or self._closed:
            return False
        self._deadlines.start(call, self._timeout(call))
        return True

    def _outcome(self, call: InFlightCall, late: LateResult) -> Json | Failure | Doubtful:
        """Return the outcome of a call: of one that may not be repeated it may be in doubt."""
        failure = late.failure
        if failure is not None:
            unknown = failure.code == "outcome-unknown" and not call.tool.may_repeat
            return Doubtful(failure, late.returned) if unknown else failure
        taken: Json | Failure = None
        if call.stated is not None:
            taken = self._steps.flow_checks.failure(call.tool.name, call.stated)
        if taken is None:  # a copy, which counts as kept
            size = self._options.result_size
            taken = accepted(call.tool, late.answer, self._depth, size, self._results)
        if isinstance(taken, Failure) and not call.tool.may_repeat:
            return Doubtful(taken, kept_result(late.answer))
        return taken

    def _end(self, call: InFlightCall, outcome: Json | Failure | Doubtful) -> None:
        if isinstance(outcome, Doubtful):
            return self._doubt(call, outcome)
        tries = call.attempt - call.first + 1
        is_last = tries > call.step.retries or not call.tool.may_repeat
        if not isinstance(outcome, Failure) or is_last or not self._steps.reserve(1):
            return self._steps.call_ended(call, outcome)
        at = self._clock()
        self._emit(AttemptFailed(call.step.id, call.index, call.attempt, outcome, at))
        pause = min(self._options.backoff_s * 2.0 ** (tries - 1), MAX_BACKOFF_S)
        # meanwhile the call counts as running
        self._loop.call_later(pause, self._safely, self._retry, call)
        return None

    # Giving up

    def _miss_deadline(self, call: InFlightCall) -> None:
        self._cancel(call)
        self._safely(self._give_up, call, None)

    def _give_up(self, call: InFlightCall, late: LateResult | None) -> None:
        """End a call at its deadline; with effects that may not be repeated it is in doubt."""
        failure = Failure("timeout", f"No answer came within {self._timeout(call):g} s.")
        if call.tool.has_effects and not call.tool.may_repeat:
            # a tool that blocked the loop may have answered all the same
            returned = None if late is None else late.returned
            if late is not None and late.failure is None:
                returned = kept_result(late.answer)
            self._doubt(call, Doubtful(failure, returned))
        else:
            self._end(call, failure)
        if late is not None:
            self._note_late(call, late)

    def _note_late(self, call: InFlightCall, late: LateResult) -> None:
        call.late = late
        if not self._closed:
            at = self._clock()
            self._emit(CallAnsweredLate(call.step.id, call.index, call.attempt, late.failure, at))

    def _doubt(self, call: InFlightCall, doubt: Doubtful) -> None:
        """Leave a call with an unknown outcome in doubt until a person decides."""
        self._emit_doubt(call, doubt)
        self._steps.call_left_open(call)

    def _emit_doubt(self, call: InFlightCall, doubt: Doubtful) -> None:
        step, index = call.step.id, call.index
        self._effects.in_doubt.add((step, index))
        args = self._steps.fill_again(call)  # the tool may have changed its arguments
        shown = None if isinstance(args, Failure) else args
        failure, result = doubt.failure, doubt.result
        at, tool = self._clock(), call.tool.name
        self._emit(CallInDoubt(step, index, call.attempt, failure, at, tool, shown, result))

    def _cancel(self, call: InFlightCall) -> None:
        task = call.task
        if task is not None and not task.done():
            task.cancel()
            note_given_up()
            self._cancelled[task] = call
            task.add_done_callback(self._on_cancelled)

    def _on_cancelled(self, task: Task[None]) -> None:
        if not self._closed:  # else `outcomes` needs it
            self._cancelled.pop(task, None)

    def _progress(self, call: InFlightCall, done: float, total: float | None, message: str) -> None:
        now = self._loop.time()
        if call not in self._deadlines.open or now - self._reported.get(call, -1.0) < _PROGRESS_S:
            return
        self._reported[call] = now
        self._emit(StepProgressed(call.step.id, done, total, message, self._clock()))

    def _timeout(self, call: InFlightCall) -> float:
        stated = call.step.timeout_s
        return self._options.timeout_s if stated is None else stated

    def _safely(self, act: Callable[..., None], *args: object) -> None:
        """Call `act` from a task or timer; an error in it ends the run, not the loop."""
        try:
            act(*args)
        except BaseException as error:  # `run` raises it
            self._steps.ending.abandon(error)
