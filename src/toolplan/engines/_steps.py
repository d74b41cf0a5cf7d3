"""The scheduler: which step starts when, and what becomes of it.

It is driven by events alone. Each step counts the steps that it still waits for; the call that
ends the last of them readies it, in the same turn of the loop. Nothing polls, and there are no
waves. Tasks are made and ended here and nowhere else, one for each try of a call.

What decides about results (outputs, skips, failures) never depends on which call was faster, so a
run gives what the sequential interpreter in `toolplan.testing` gives.
"""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop, Future, Task
from collections.abc import Callable, Mapping
from heapq import heappop, heappush

from toolplan.engines._calls import MAX_BACKOFF_S, Bounds, Clock, Fan, OpenCall, callees
from toolplan.engines._deadlines import Deadlines
from toolplan.engines._failures import accepted, tool_failure
from toolplan.engines._inputs import filled, holds, items_of
from toolplan.engines._values import filled_output
from toolplan.events import (
    AttemptFailed,
    Event,
    Failure,
    ItemEnded,
    RunEnded,
    RunStarted,
    RunState,
    StepCancelled,
    StepFailed,
    StepSkipped,
    StepStarted,
    StepSucceeded,
)
from toolplan.execution_plan import ExecutionPlan
from toolplan.path import Json
from toolplan.plan import Limits, Step, Value, step_refs
from toolplan.tools import Arguments, Tool


class Scheduler:
    """Runs one plan once."""

    def __init__(
        self,
        plan: ExecutionPlan,
        tools: Mapping[str, Tool],
        *,
        emit: Callable[[Event], None],
        clock: Clock,
        limits: Limits,
        bounds: Bounds,
    ) -> None:
        """Prepare the run.

        Raises:
            CannotRun: a tool is not there or has no function, or the plan exceeds the limits.
        """
        self._plan = plan
        self._steps = plan.plan.steps
        self._callees = callees(plan, tools, limits)
        self._emit = emit
        self._clock = clock
        self._limits = limits
        self._bounds = bounds
        self._loop: AbstractEventLoop = asyncio.get_running_loop()
        self._over: Future[None] = self._loop.create_future()
        self._deadlines = Deadlines[OpenCall](self._loop, self._miss_deadline)
        self._leaving: set[Task[None]] = set()
        self._closed = False

        self._outputs: dict[str, Json] = {}
        self._failed: set[str] = set()
        self._skipped: dict[str, bool] = {}  # True where a failure is behind it
        self._fans: dict[int, Fan] = {}
        self._left = len(self._steps)
        self._free = bounds.concurrency
        self._calls_left = limits.calls

        self._waiting: list[int] = []
        self._dependents: list[list[int]] = [[] for _ in self._steps]
        # A heap of n * calls already started + position, n being the number of steps: steps that
        # have not started come first, in plan order; then the next items of `for_each`, so that a
        # step with thousands of items does not hold up the steps beside it.
        self._ready: list[int] = []
        positions = {step.id: position for position, step in enumerate(self._steps)}
        for position, step in enumerate(self._steps):
            needed = plan.needs[step.id]
            self._waiting.append(len(needed))
            for each in needed:
                self._dependents[positions[each]].append(position)
            if not needed:
                self._ready.append(position)

    async def run(self, run_id: str) -> None:
        """Run the plan to its end, which the events tell.

        Cancelling it cancels every call, waits for them as long as the grace is, tells so by
        events, and then goes on.
        """
        try:
            ids = tuple(step.id for step in self._steps)
            self._emit(RunStarted(run_id, self._plan.digest, ids, self._clock()))
            if self._steps:
                self._start_ready()
            else:
                self._finish()
            await self._over
        except GeneratorExit:  # the loop is gone, and nothing can be awaited any more
            raise
        except BaseException:  # cancelled, or an error of this module: it is passed on
            self._closed = True
            try:
                await self._part()
            finally:
                self._tell_cancelled()
            raise
        self._closed = True
        await self._part()

    # Starting

    def _start_ready(self) -> None:
        count = len(self._steps)
        ready = self._ready
        while ready and self._free and not self._closed:
            key = heappop(ready)
            fan = self._fans.get(key % count) if self._fans else None
            if fan is not None:
                self._start_item(key, fan)
            elif key < count:
                self._start_step(key)
        if self._left and self._free == self._bounds.concurrency:
            raise RuntimeError("Nothing runs and steps are left: the plan has a cycle.")

    def _start_step(self, position: int) -> None:
        step = self._steps[position]
        if step.when is not None:
            verdict = holds(step.when, self._outputs)
            if isinstance(verdict, Failure):
                return self._fail(position, verdict, 0)
            if not verdict:
                reason = Failure("when-false", "Its condition does not hold.", "/when")
                return self._skip(position, reason, behind_failure=False)
        if step.for_each is not None:
            return self._start_fan(position, step, step.for_each)
        args = self._filled(position)
        if isinstance(args, Failure):
            return self._fail(position, args, 0)
        if not self._reserve(1):
            return self._fail(position, self._too_many_calls(), 0)
        self._emit(StepStarted(step.id, None, self._clock()))
        self._free -= 1
        return self._call(position, None, args, 1)

    def _start_fan(self, position: int, step: Step, for_each: Value) -> None:
        items = items_of(step, for_each, self._outputs, self._limits)
        if isinstance(items, Failure):
            return self._fail(position, items, 0)
        if not self._reserve(len(items)):
            return self._fail(position, self._too_many_calls(), 0)
        self._emit(StepStarted(step.id, len(items), self._clock()))
        if not items:
            return self._succeed(position, [], 0)
        self._fans[position] = Fan(items, stops=step.on_error == "fail")
        return heappush(self._ready, position)

    def _start_item(self, key: int, fan: Fan) -> None:
        if fan.exhausted:  # an item failed while the next one waited for its turn
            return
        position = key % len(self._steps)
        index = fan.next
        fan.next += 1
        args = self._filled(position, fan.items[index], index)
        if isinstance(args, Failure):
            self._end_item(position, fan, index, args, 0)
        else:
            fan.running += 1
            self._free -= 1
            self._call(position, index, args, 1)
        if not fan.exhausted:
            heappush(self._ready, key + len(self._steps))

    def _call(self, position: int, index: int | None, args: Arguments, attempt: int) -> None:
        tool, function = self._callees[position]
        call = OpenCall(position, index, tool, function, args, attempt)
        self._deadlines.start(call, self._timeout(position))
        call.task = self._loop.create_task(self._attend(call))

    def _call_again(self, position: int, index: int | None, attempt: int) -> None:
        if self._closed:
            return
        # filled anew, because the tool may have changed what it was given
        item = None if index is None else self._fans[position].items[index]
        args = self._filled(position, item, index)
        if isinstance(args, Failure):
            raise RuntimeError(f"Arguments that were good are not: {args.message}")
        self._call(position, index, args, attempt)

    async def _attend(self, call: OpenCall) -> None:
        """Make the call, whatever comes of it, and tell."""
        failure: Failure | None = None
        answer: object = None
        try:
            answer = await call.function(call.args)
        except BaseException as error:  # a tool may raise anything; other steps go on
            if isinstance(error, GeneratorExit) and not self._loop.is_running():
                raise  # the loop is gone, and this coroutine is being closed
            failure = tool_failure(error)
        if call not in self._deadlines.open:
            return  # too late: it was given up, and the step goes on without it
        del self._deadlines.open[call]
        if failure is None and call.deadline <= self._loop.time():
            failure = self._late(call)  # a tool that blocks the loop keeps the timer from firing
        if failure is None:
            self._safely(self._take, call, answer)
        else:
            self._safely(self._end_call, call, failure)

    # Ending

    def _take(self, call: OpenCall, answer: object) -> None:
        depth, size = self._limits.depth, self._bounds.result_size
        self._end_call(call, accepted(call.tool, answer, depth=depth, size=size))

    def _end_call(self, call: OpenCall, outcome: Json | Failure) -> None:
        if isinstance(outcome, Failure) and self._may_try_again(call, outcome):
            return
        self._free += 1
        if call.index is not None:
            fan = self._fans[call.position]
            fan.running -= 1
            self._end_item(call.position, fan, call.index, outcome, call.attempt)
        elif isinstance(outcome, Failure):
            self._fail(call.position, outcome, call.attempt)
        else:
            self._succeed(call.position, outcome, call.attempt)
        self._start_ready()

    def _may_try_again(self, call: OpenCall, failure: Failure) -> bool:
        """Set the next try going, if there is one. It keeps its place among the calls at once."""
        step = self._steps[call.position]
        if call.attempt > step.retries or not call.tool.may_repeat or not self._reserve(1):
            return False
        attempt = call.attempt
        self._emit(AttemptFailed(step.id, call.index, attempt, failure, self._clock()))
        pause = min(self._bounds.backoff_s * 2.0 ** (attempt - 1), MAX_BACKOFF_S)
        self._loop.call_later(
            pause, self._safely, self._call_again, call.position, call.index, attempt + 1
        )
        return True

    def _miss_deadline(self, call: OpenCall) -> None:
        self._cancel(call)
        self._safely(self._end_call, call, self._late(call))

    def _late(self, call: OpenCall) -> Failure:
        return Failure("timeout", f"No answer came within {self._timeout(call.position):g} s.")

    def _end_item(
        self, position: int, fan: Fan, index: int, outcome: Json | Failure, attempts: int
    ) -> None:
        failure: Failure | None = None
        if not isinstance(outcome, Failure):
            fan.outputs[index] = outcome
        else:
            failure = outcome
            if index < fan.failed_at:
                # first in order, not in time: items before it have started and are waited for
                fan.failed_at = index
                fan.failure = failure._replace(message=f"Item {index}: {failure.message}")
        fan.attempts = max(fan.attempts, attempts)
        step = self._steps[position]
        self._emit(ItemEnded(step.id, index, failure, self._clock()))
        if fan.running or not fan.exhausted:
            return
        del self._fans[position]
        if fan.failure is not None and fan.stops:
            self._fail(position, fan.failure, fan.attempts)
        else:
            self._succeed(position, fan.outputs, fan.attempts, fan.failure)

    def _succeed(
        self, position: int, output: Json, attempts: int, failure: Failure | None = None
    ) -> None:
        name = self._steps[position].id
        self._outputs[name] = output
        self._emit(StepSucceeded(name, output, attempts, failure, self._clock()))
        self._settle(position)

    def _fail(self, position: int, failure: Failure, attempts: int) -> None:
        step = self._steps[position]
        if step.on_error == "continue":
            return self._succeed(position, None, attempts, failure)
        self._failed.add(step.id)
        self._emit(StepFailed(step.id, failure, attempts, self._clock()))
        return self._settle(position)

    def _skip(self, position: int, reason: Failure, *, behind_failure: bool) -> None:
        self._note_skip(position, reason, behind_failure)
        self._settle(position)

    def _note_skip(self, position: int, reason: Failure, behind_failure: bool) -> None:
        name = self._steps[position].id
        self._skipped[name] = behind_failure
        self._emit(StepSkipped(name, reason, self._clock()))

    def _settle(self, position: int) -> None:
        """Ready the steps that waited for this one, or skip them, and those behind them."""
        over = [position]
        while over:
            at = over.pop()
            self._left -= 1
            for dependent in self._dependents[at]:
                self._waiting[dependent] -= 1
                if self._waiting[dependent]:
                    continue
                skip = self._upstream(dependent) if self._failed or self._skipped else None
                if skip is None:
                    heappush(self._ready, dependent)
                else:
                    self._note_skip(dependent, *skip)
                    over.append(dependent)
        if not self._left:
            self._finish()

    def _upstream(self, position: int) -> tuple[Failure, bool] | None:
        """Give the reason to skip a step whose needs are over, and whether a failure is behind it.

        A condition that did not hold skips the steps that refer to what it skipped; order alone
        counts as satisfied. A failure skips whatever comes behind it, order alone too.
        """
        step = self._steps[position]
        needed = self._plan.needs[step.id]
        for each in needed:
            if each in self._failed:
                return Failure("upstream-failed", f"Step {each!r} failed."), True
        skipped = [each for each in needed if each in self._skipped]
        if not skipped:
            return None
        behind_failure = any(self._skipped[each] for each in skipped)
        referenced = {ref.step for _, ref in step_refs(step)}
        for each in skipped:
            if self._skipped[each] or each in referenced:
                return Failure("upstream-skipped", f"Step {each!r} was skipped."), behind_failure
        return None

    def _finish(self) -> None:
        output = self._plan.plan.output
        complete = True
        if output is not None:
            given, complete = filled_output(output, self._outputs)
        else:
            given = {name: self._outputs[name] for name in self._sinks() if name in self._outputs}
        well = complete and not self._failed
        status = RunState.SUCCEEDED if well else RunState.FAILED
        self._emit(RunEnded(status, given, self._clock()))
        self._over.set_result(None)

    def _sinks(self) -> list[str]:
        """Give what `toolplan.plan.sinks` gives, from the dependents that are known here."""
        return [
            step.id
            for step, dependents in zip(self._steps, self._dependents, strict=True)
            if not dependents or not self._referred_to(step.id, dependents)
        ]

    def _referred_to(self, name: str, dependents: list[int]) -> bool:
        for each in dependents:
            step = self._steps[each]
            # what needs it and does not have it in `after` can only have a reference to it
            if name not in step.after or any(ref.step == name for _, ref in step_refs(step)):
                return True
        return False

    # Leaving

    def _cancel(self, call: OpenCall) -> None:
        task = call.task
        if task is not None and not task.done():
            task.cancel()
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    async def _part(self) -> None:
        """Cancel the calls that are still open, and wait for all that are leaving, for a while."""
        self._deadlines.close()
        for call in self._deadlines.open:
            self._cancel(call)
        self._deadlines.open.clear()
        if self._leaving:
            await asyncio.wait(self._leaving, timeout=self._bounds.grace_s)

    def _tell_cancelled(self) -> None:
        if not self._left:
            return  # it was over before the cancellation came
        over = self._failed | self._skipped.keys() | self._outputs.keys()
        for step in self._steps:
            if step.id not in over:
                self._emit(StepCancelled(step.id, self._clock()))
        self._emit(RunEnded(RunState.CANCELLED, None, self._clock()))

    def _safely(self, act: Callable[..., None], *args: object) -> None:
        """Do what a task or a timer brings about; an error in it ends the run, not the loop."""
        try:
            act(*args)
        except BaseException as error:  # it is passed on: `run` waits for it
            if self._over.done():
                raise
            self._over.set_exception(error)

    # Bounds

    def _filled(
        self, position: int, item: Json = None, index: int | None = None
    ) -> Arguments | Failure:
        tool = self._callees[position][0]
        return filled(self._steps[position], tool, self._outputs, item, index)

    def _timeout(self, position: int) -> float:
        stated = self._steps[position].timeout_s
        return self._bounds.timeout_s if stated is None else stated

    def _reserve(self, calls: int) -> bool:
        if calls > self._calls_left:
            return False
        self._calls_left -= calls
        return True

    def _too_many_calls(self) -> Failure:
        message = f"The run would make more than {self._limits.calls} calls."
        return Failure("too-many-calls", message)
