"""The outcomes of the steps of a run, each emitted as it comes, and how the run ends."""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections.abc import Callable, Iterable, Mapping, Sequence

from toolplan.engine._attempt import InFlightCall
from toolplan.engine._calls import Clock
from toolplan.engine._effects import EffectCalls
from toolplan.engine._graph import Graph
from toolplan.engine._values import run_output
from toolplan.events import (
    Event,
    Failure,
    ItemEnded,
    Partial,
    RunEnded,
    RunParked,
    RunState,
    StepCancelled,
    StepFailed,
    StepRun,
    StepSkipped,
    StepStarted,
    StepSucceeded,
)
from toolplan.plan.model import Ref, Step, Value, located_refs, refs
from toolplan.plan.path import Json
from toolplan.schema.paging import part_of
from toolplan.schema.tool import Arguments, Tool

NO_PARTS: tuple[Partial, ...] = ()


def own_part(
    step: str, tool: Tool, args: Arguments, output: Json, said: Mapping[str, Json]
) -> tuple[Partial, ...]:
    """Return the part of its list that `output`, the result of one call of `tool`, has.

    `said` is what the tool reported beside it.
    """
    if not said and not tool.may_give_pages:
        return NO_PARTS
    part = part_of(output, tool.paging, tool.flat_input, args, said)
    if part is None:
        return NO_PARTS
    return (Partial(step, part.rows, part.total, part.reason, part.total_path),)


def of_items(step: str, parts: Iterable[tuple[Partial, ...]]) -> tuple[Partial, ...]:
    """Return the parts of a step with `for_each` from those of its calls: one for its own lists."""
    found: dict[str, Partial] = {}
    for each in (part for parts_of_item in parts for part in parts_of_item):
        known = found.get(each.step)
        if known is None:
            found[each.step] = each if each.step != step else _without_total(each, each.rows)
        elif each.step == step:
            found[step] = _without_total(known, known.rows + each.rows)
    return tuple(found.values())


def _without_total(part: Partial, rows: int) -> Partial:
    return Partial(part.step, rows, None, part.reason)


def read_parts(step: Step, known: Mapping[str, tuple[Partial, ...]]) -> tuple[Partial, ...]:
    """Return the parts of lists that `step` reads with its arguments, `for_each` and `when`."""
    values = [*step.args.values(), *(() if step.for_each is None else (step.for_each,))]
    values += () if step.when is None else (step.when.value,)
    found = (ref for value in values for _, ref in located_refs(value, ""))
    return _parts_of(found, known)


def _parts_of(
    found: Iterable[Ref], known: Mapping[str, tuple[Partial, ...]]
) -> tuple[Partial, ...]:
    parts: dict[str, Partial] = {}
    for ref in found:
        for part in known.get(ref.step, NO_PARTS):
            # of its own list, the total counts all rows, and one row is that row
            is_total = bool(part.total_path) and ref.path == part.total_path
            needs_no_other = is_total or any(type(each) is int for each in ref.path)
            if part.step != ref.step or not needs_no_other:
                parts.setdefault(part.step, part)
    return tuple(parts.values())


class Outcomes:
    """The results of finished steps: outputs, failures and skips.

    Attributes:
        outputs: the outputs, by step.
        failed: the steps that failed.
        skipped: the steps that were skipped; True where a failure is behind it.
        partial: of the outputs that are over parts of lists, those parts, by step.
        acting: the steps that may change something, or have a condition.
    """

    __slots__ = (
        "_asked", "_clock", "_emit", "_graph", "acting", "failed", "outputs", "partial", "skipped"
    )  # fmt: skip

    def __init__(self, graph: Graph, emit: Callable[[Event], None], clock: Clock) -> None:
        self._graph = graph
        self._emit = emit
        self._clock = clock
        self._asked: dict[str, int | None] = {}
        self.outputs: dict[str, Json] = {}
        self.failed: set[str] = set()
        self.skipped: dict[str, bool] = {}
        self.partial: dict[str, tuple[Partial, ...]] = {}
        self.acting: list[Step] = []

    def restore(self, position: int, ended: StepSucceeded | StepFailed | StepSkipped) -> None:
        """Take the outcome of the step at `position` that an earlier process recorded."""
        match ended:
            case StepSucceeded(step=name, output=output):
                self.outputs[name] = output
                if ended.partial:
                    self.partial[name] = ended.partial
            case StepFailed(step=name):
                self.failed.add(name)
            case StepSkipped(step=name):
                needed = self._graph.needed(position)
                self.skipped[name] = any(
                    each in self.failed or self.skipped.get(each, False) for each in needed
                )

    def go_on(self, steps: Mapping[str, StepRun]) -> None:
        """Take `steps` of a resumed run as started where a person was asked about their calls."""
        waits = {name: step.items for name, step in steps.items() if step.doubts or step.waiting}
        self._asked = waits

    def started(self, step: str, items: int | None) -> None:
        """Record that a step starts, unless it goes on waiting for a person."""
        if step not in self._asked or self._asked[step] != items:
            self._emit(StepStarted(step, items, self._clock()))

    def succeed(
        self,
        step: Step,
        output: Json,
        attempts: int,
        failure: Failure | None = None,
        partial: tuple[Partial, ...] = (),
    ) -> None:
        """Record the output of a step; `failure` is why it is null where the plan continues.

        `partial` are its own lists of which it has a part; those that it read are added.
        """
        name = step.id
        self.outputs[name] = output
        if self.partial and output is not None:
            partial = (*partial, *read_parts(step, self.partial))
        if partial:
            self.partial[name] = partial
        self._emit(StepSucceeded(name, output, attempts, failure, self._clock(), partial))

    def fail(self, step: str, failure: Failure, attempts: int) -> None:
        """Record that a step failed."""
        self.failed.add(step)
        self._emit(StepFailed(step, failure, attempts, self._clock()))

    def skip(self, step: str, reason: Failure, behind_failure: bool) -> None:
        """Record that a step is skipped."""
        self.skipped[step] = behind_failure
        self._emit(StepSkipped(step, reason, self._clock()))

    def reason_to_skip(self, position: int) -> tuple[Failure, bool] | None:
        """Return the reason to skip the step at `position`, and whether a failure caused it.

        A false condition skips the steps that refer to the skipped step, but not those that only
        come `after` it. A failure skips both. The steps that it needs are over.
        """
        failed, skipped = self.failed, self.skipped
        if not failed and not skipped:
            return None
        needed = self._graph.needed(position)
        for each in needed:
            if each in failed:
                return Failure("upstream-failed", f"Step {each!r} failed."), True
        passed_over = [each for each in needed if each in skipped]
        if not passed_over:
            return None
        behind_failure = any(skipped[each] for each in passed_over)
        refers = self._graph.referenced(position)
        for each in passed_over:
            if skipped[each] or each in refers:
                return Failure("upstream-skipped", f"Step {each!r} was skipped."), behind_failure
        return None

    def end(self, stated: Value | None, most: int) -> None:
        """Emit the end of the run, with the output that the plan states; at most `most` bytes."""
        output, wrong = run_output(stated, self.outputs, self._graph.sinks, most)
        status = RunState.FAILED if wrong or self.failed else RunState.SUCCEEDED
        parts: list[Partial] = []
        if self.partial:  # read by the output, by effects and by conditions
            found = map(Ref, self._graph.sinks()) if stated is None else refs(stated)
            parts += _parts_of(found, self.partial)
            parts += (part for step in self.acting for part in read_parts(step, self.partial))
        first = tuple({each.step: each for each in reversed(parts)}.values())[::-1]
        self._emit(RunEnded(status, output, self._clock(), wrong, first))

    def take(self, ended: Iterable[tuple[InFlightCall, Json | Failure]]) -> None:
        """Record the outcomes of calls with effects that ended while they were cancelled."""
        for call, outcome in ended:
            failure = outcome if isinstance(outcome, Failure) else None
            output = None if isinstance(outcome, Failure) else outcome
            step, index, attempt = call.step, call.index, call.attempt
            if index is not None:
                self._emit(ItemEnded(step.id, index, output, attempt, failure, self._clock()))
            elif failure is None:
                self.succeed(step, output, attempt)
            else:
                self.fail(step.id, failure, attempt)

    def cancel(self, steps: Sequence[Step], in_doubt: Iterable[str]) -> None:
        """Emit that the steps without an outcome are cancelled, and the end of the run."""
        over = {*self.failed, *self.skipped, *self.outputs, *in_doubt}
        for step in steps:
            if step.id not in over:
                self._emit(StepCancelled(step.id, self._clock()))
        self._emit(RunEnded(RunState.CANCELLED, None, self._clock()))

    def park(self, status: RunState) -> None:
        """Emit that the run waits for a person."""
        self._emit(RunParked(status, self._clock()))


class RunEnding:
    """How this process ends its work on a run: finished, parked, left to another, or cancelled.

    Attributes:
        done: set, or failed, when the work ends.
        has_ended: whether the end of the run, or that it waits, was emitted.
        leaving: whether no more calls are started, so that another process can take the run over.
    """

    __slots__ = ("_effects", "_outcomes", "done", "has_ended", "leaving")

    def __init__(self, outcomes: Outcomes, effects: EffectCalls) -> None:
        self._outcomes = outcomes
        self._effects = effects
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
            self._outcomes.park(status)
            self.done.set_result(None)

    def finish(self, output: Value | None, most: int) -> None:
        """End the run, with the output that the plan states; it takes at most `most` bytes."""
        self.has_ended = True
        self._outcomes.end(output, most)
        self.done.set_result(None)
