"""The scheduler: starts each step when its inputs are there, and records its outcome.

Each step counts the steps that it still waits for. The call that ends the last of them makes it
ready in the same turn of the event loop; nothing polls.

Outputs, skips and failures do not depend on which call was faster: a run has the results of the
sequential interpreter in `toolplan.testing`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from toolplan.engine._attempt import InFlightCall
from toolplan.engine._calls import Fan, callees, too_many_calls
from toolplan.engine._effects import EffectCalls
from toolplan.engine._execution import Execution
from toolplan.engine._graph import Graph
from toolplan.engine._in_flight import CANCELLED, LEFT, InFlightCalls
from toolplan.engine._inputs import FlowChecks, filled, holds, items_of
from toolplan.engine._outcomes import Outcomes, RunEnding, of_items, own_part
from toolplan.engine._pages import PagedCalls
from toolplan.engine._ready_queue import ReadyQueue
from toolplan.engine._values import Budget
from toolplan.events import Failure, ItemEnded, Partial
from toolplan.plan.model import Step, Value
from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Tool
from toolplan.storage.journal import Recovered

if TYPE_CHECKING:
    from toolplan.engine._staged import Stage


class Scheduler:
    """Runs one plan, or its remaining steps."""

    # reading an object with more than 30 attributes takes several times as long
    __slots__ = (
        "__weakref__", "_budget", "_calls_left", "_clock", "_closed", "_complete", "_concurrency",
        "_effects", "_emit", "_fans", "_free", "_graph", "_held", "_limits", "_list_bytes_left",
        "_log", "_open", "_options", "_output", "_outputs", "_paged", "_ready", "_recovered",
        "_starting", "_steps", "_tools", "_tools_of", "ending", "flow_checks", "in_flight",
        "outcomes", "stage",
    )  # fmt: skip

    def __init__(self, execution: Execution, recovered: Recovered) -> None:
        """Prepare a run without steps; steps with effects start only after `allow`."""
        self._tools = execution.tools
        self._emit = execution.emit
        self._clock = execution.clock
        self._limits = execution.limits
        self._log = execution.log
        self._options = options = execution.options
        self._recovered = recovered
        self._closed = self._starting = False
        self._steps: list[Step] = []
        self._tools_of: list[Tool] = []
        self._graph = Graph()
        self._ready = ReadyQueue(self._tools_of, self._ranks, options, self.start_waiting)
        self._output: Value | None = None
        self._complete = False
        self._open = 0
        self.outcomes = Outcomes(self._graph, self._emit, self._clock)
        self._outputs = self.outcomes.outputs
        self._fans: dict[int, Fan] = {}
        self._paged = PagedCalls(execution, self, self._ready, recovered.pages)
        self._concurrency = self._free = options.concurrency
        self._calls_left = self._limits.calls
        self._budget = Budget(options.value_size)  # of one call's arguments at a time
        self._held = 0  # about the bytes of the arguments of calls in flight
        self._list_bytes_left = options.run_size  # of lists of `for_each` made of several parts
        self.flow_checks = FlowChecks(self._tools)
        self.stage: Stage | None = None
        self._effects = EffectCalls(recovered)
        self.ending = RunEnding(self.outcomes, self._effects)
        self.in_flight = InFlightCalls(execution, self, self._effects)

    def admit(
        self,
        steps: Sequence[Step],
        needs: Callable[[Step], tuple[str, ...]],
        *,
        hold_effects: bool = False,
    ) -> None:
        """Add steps, each with the ids that `needs` returns; none starts before `start`.

        With `hold_effects`, steps with effects wait until `allow`.

        Raises:
            CannotRun: one of them cannot be run, or there are too many; none was added.
        """
        found = callees(steps, self._tools, self._limits, len(self._steps))
        self._steps += steps
        self._tools_of += found
        self._open += len(steps)
        pairs = zip(steps, found, strict=True)
        self.outcomes.acting += (s for s, tool in pairs if tool.has_effects or s.when is not None)
        effects = {tool.name for tool in found if tool.has_effects} if hold_effects else None
        self._graph.add(steps, needs, None if not effects else lambda step: step.tool in effects)

    def allow(self, slots: Mapping[str, int]) -> None:
        """Release the steps with effects, with the slots of their approval."""
        self._effects.slots = slots
        self._graph.release()

    def hold(self, stage: Stage) -> None:
        """Let `stage` hold the calls that are approved with their values."""
        self.stage = self.in_flight.stage = stage

    def complete(self, output: Value | None) -> None:
        """Mark the plan complete and set its output."""
        self._complete = True
        self._output = output

    def start(self) -> None:
        """Start the steps that can start."""
        self._release(self._graph.newly_free())
        self.in_flight.eager = True
        try:
            self._start_ready()
        finally:
            self.in_flight.eager = False

    async def run(self) -> None:
        """Run until no step can start.

        Cancelling it cancels every call, waits for them for the grace period, emits the events of
        the cancelled steps, and raises.
        """
        try:
            over = self._recovered.over
            for position in self._graph.in_order() if over else ():
                ended = over.get(self._steps[position].id)
                if ended is not None:
                    self.outcomes.restore(position, ended)
                    self._settle(position)
            self.start()
            if self.ending.done.done():  # at the start, but a run takes at least one turn
                await asyncio.sleep(0)
            await self.ending.done
        except GeneratorExit:  # the loop is closed, and nothing can be awaited
            raise
        except BaseException:  # cancelled, or an error of this module
            self._closed = True
            try:
                await self.in_flight.close()
            finally:
                self._ready.close()
                self.report_cancelled()
            raise
        self._closed = True
        await self.in_flight.close()
        self._ready.close()
        if not self.ending.has_ended:
            self.outcomes.take(self.in_flight.outcomes(LEFT))

    def leave(self, grace_s: float) -> None:
        """Start no more calls; stop, without an end, when the open ones are over or time is."""
        if self.ending.leave_within(grace_s):
            self.in_flight.leaving = True
            self.start_waiting()

    def start_waiting(self) -> None:
        """Start the calls that waited while the log was full."""
        try:
            self._start_ready()
        except BaseException as error:  # `run` raises it
            self.ending.abandon(error)

    def _start_ready(self) -> None:
        if self._starting:  # the outer call starts what became ready
            return
        self._starting = True
        try:
            self._start_up_to_limits()
        finally:
            self._starting = False
        if not self._open:
            if self._complete and not self.ending.done.done():
                self.ending.finish(self._output, self._options.value_size)
        elif self._free < self._concurrency or self._closed:
            pass
        elif self.ending.leaving:
            self.ending.stop()
        elif not self._ready.more() and not self._ready.waits:
            self._park()

    def _start_up_to_limits(self) -> None:
        ready, log, most, ending = self._ready, self._log, self._options.run_size, self.ending
        while ready.entries or ready.is_limited:  # asked here: nearly always there is one or none
            if not self._free or self._closed or ending.leaving or (log is not None and log.full):
                return
            if self._held > most and self._free < self._concurrency:
                return
            entry = ready.pop(self._free)
            if entry is None:
                return
            position, turn = entry
            if turn and self._paged.queued and self._paged.start_next(position):
                continue
            fan = self._fans.get(position) if self._fans else None
            if fan is not None:
                self._start_item(position, turn, fan)
            elif not turn:
                self._start_step(position)

    def _park(self) -> None:
        """Wait for a person, or for more steps: nothing runs and nothing can start."""
        stage, in_doubt = self.stage, bool(self._effects.in_doubt)
        if self._complete and not in_doubt and (stage is None or not stage.waits):
            raise RuntimeError("Nothing runs and steps are left: the plan has a cycle.")
        if self._complete and (in_doubt or stage is None or not stage.ask()):
            self.ending.park()

    def _start_step(self, position: int) -> None:
        step = self._steps[position]
        if step.when is not None:
            verdict = holds(step.when, self._outputs, self._options.value_size)
            if isinstance(verdict, Failure):
                return self._fail(position, verdict, 0)
            if not verdict:
                reason = Failure("when-false", "Its condition does not hold.", "/when")
                self.outcomes.skip(step.id, reason, behind_failure=False)
                return self._settle(position)
        if step.for_each is not None:
            budget = Budget(min(self._options.value_size, self._list_bytes_left))
            items = items_of(step, step.for_each, self._outputs, self._limits, budget)
            self._list_bytes_left -= budget.used
            if isinstance(items, Failure):
                return self._fail(position, items, 0)
            over = self._recovered.items.get(step.id, {})
            if not self.reserve(len(items) - len(over)):
                return self._fail(position, too_many_calls(self._limits), 0)
            self.outcomes.started(step.id, len(items))
            fan = Fan(items, step.on_error == "fail", over, self._effects.begun_items(step.id))
            if fan.complete:
                return self._end_fan(position, fan)
            self._fans[position] = fan
            return self._ready.push(position, 1)
        args = self._filled(position)
        if isinstance(args, Failure):
            return self._fail(position, args, 0)
        if not self.reserve(1):
            return self._fail(position, too_many_calls(self._limits), 0)
        self.outcomes.started(step.id, None)
        return self._call(position, None, args)

    def _start_item(self, position: int, turn: int, fan: Fan) -> None:
        if fan.exhausted:  # an item failed while the next one waited for its turn
            return
        index = fan.take_next()
        args = self._filled(position, fan.items[index], index)
        if isinstance(args, Failure):
            self._end_item(position, fan, index, args, 0)
        else:
            fan.running += 1
            self._call(position, index, args)
        if not fan.exhausted:
            self._ready.push(position, turn + 1)

    def _call(self, position: int, index: int | None, args: Arguments) -> None:
        """Make a call with what `_filled` has just returned, or the calls for its pages."""
        step, tool, size = self._steps[position], self._tools_of[position], self._budget.used
        if step.pages is not None:
            return self._paged.begin(position, step, index, tool, args)
        return self.make(InFlightCall(self.in_flight, position, index, step, tool, args, size))

    def make(self, call: InFlightCall) -> None:
        """Make a call, which counts towards the concurrency."""
        self._free -= 1
        self._held += call.size
        if self._ready.is_limited:
            self._ready.take(call.position)
        self.in_flight.make(call)

    def call_ended(self, call: InFlightCall, outcome: Json | Failure) -> None:
        """Take the result of a call, or why it failed."""
        self._free += 1
        self._held -= call.size
        if self._ready.is_limited:
            self._ready.release(call.position)
        if call.page is not None:
            self._paged.ended(call, call.page, outcome)
        else:
            parts: tuple[Partial, ...] = ()
            if (call.tool.may_give_pages or call.said) and not isinstance(outcome, Failure):
                parts = own_part(call.step.id, call.tool, call.args, outcome, call.said)
            self.ended(call.position, call.index, outcome, call.attempt, parts)
        self._start_ready()

    def ended(
        self, position: int, index: int | None, outcome: Json | Failure, attempts: int,
        parts: tuple[Partial, ...] = (),
    ) -> None:  # fmt: skip
        """Take the outcome of a call with all its pages; `parts` are those of its own lists."""
        if index is not None:
            fan = self._fans[position]
            fan.running -= 1
            self._end_item(position, fan, index, outcome, attempts, parts)
        elif isinstance(outcome, Failure):
            self._fail(position, outcome, attempts)
        else:
            self._succeed(position, outcome, attempts, partial=parts)

    def call_left_open(self, call: InFlightCall) -> None:
        """Leave a step open: its call is in doubt, or another process makes it."""
        self._free += 1
        self._held -= call.size
        if self._ready.is_limited:
            self._ready.release(call.position)
        if call.index is not None:
            fan = self._fans[call.position]
            fan.running -= 1
            fan.left += 1
        self._start_ready()

    def retake(self, position: int, items: Sequence[int]) -> None:
        """Queue calls of a step again that were left: those of `items`, or its only one."""
        if not items:
            self._calls_left += 1  # it is reserved again
            return self._ready.push(position)
        fan = self._fans[position]
        fan.retake(items)
        self.outcomes.started(self._steps[position].id, len(fan.items))
        return self._ready.push(position, 1)

    def fill_again(self, call: InFlightCall) -> Arguments | Failure:
        """Fill the arguments of a call again."""
        if call.page is not None:
            return self._paged.arguments(call, call.page)
        item = None if call.index is None else self._fans[call.position].items[call.index]
        return self._filled(call.position, item, call.index)

    def _end_item(
        self, position: int, fan: Fan, index: int, outcome: Json | Failure, attempts: int,
        parts: tuple[Partial, ...] = (),
    ) -> None:  # fmt: skip
        output, failure = (None, outcome) if isinstance(outcome, Failure) else (outcome, None)
        fan.note(index, output, failure, attempts, parts)
        step = self._steps[position].id
        self._emit(ItemEnded(step, index, output, attempts, failure, self._clock(), parts))
        if fan.complete:
            del self._fans[position]
            self._end_fan(position, fan)

    def _end_fan(self, position: int, fan: Fan) -> None:
        if fan.failure is not None and fan.stops:
            return self._fail(position, fan.failure, fan.attempts)
        parts = of_items(self._steps[position].id, fan.partial.values()) if fan.partial else ()
        return self._succeed(position, fan.outputs, fan.attempts, fan.failure, parts)

    def _succeed(
        self, position: int, output: Json, attempts: int, failure: Failure | None = None,
        partial: tuple[Partial, ...] = (),
    ) -> None:  # fmt: skip
        self.outcomes.succeed(self._steps[position], output, attempts, failure, partial)
        self._settle(position)

    def _fail(self, position: int, failure: Failure, attempts: int) -> None:
        step = self._steps[position]
        if step.on_error == "continue":
            return self._succeed(position, None, attempts, failure)
        self.outcomes.fail(step.id, failure, attempts)
        return self._settle(position)

    def _settle(self, position: int) -> None:
        """Count a step as over, and release those that waited only for it."""
        self._open -= 1
        self._release(self._graph.freed_by(position))

    def _release(self, positions: list[int]) -> None:
        """Queue steps whose needs are over, or skip them and their dependents."""
        restored = self._recovered.over
        for position in positions:
            if restored and self._steps[position].id in restored:
                continue
            skip = self.outcomes.reason_to_skip(position)
            if skip is None:
                self._ready.push(position)
            else:
                self.outcomes.skip(self._steps[position].id, *skip)
                self._open -= 1
                positions += self._graph.freed_by(position)  # the loop takes them too

    def report_cancelled(self) -> None:
        """Emit the cancelled steps and the end of the run, unless it has ended."""
        if not self.ending.has_ended:  # before the cancellation
            self.outcomes.take(self.in_flight.outcomes(CANCELLED))
            self.outcomes.cancel(self._steps, (step for step, _ in self._effects.in_doubt))

    def _ranks(self) -> list[int]:
        return self._graph.ranks() if self._complete else []  # else no path is critical yet

    def _filled(
        self, position: int, item: Json = None, index: int | None = None
    ) -> Arguments | Failure:
        """Return the arguments of a call; the budget then says about their bytes."""
        step, budget, guards = self._steps[position], self._budget, self.flow_checks.guards
        budget.used = 0
        mine = guards.get(step.id) if guards else None
        return filled(step, self._tools_of[position], self._outputs, budget, item, index, mine)

    def reserve(self, calls: int) -> bool:
        """Reserve `calls` of the calls that the limit allows; return False if there are too few."""
        if calls > self._calls_left:
            return False
        self._calls_left -= calls
        return True
