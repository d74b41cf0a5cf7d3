"""The dry run: a plan driven on the real engine, and no tool is called.

Stand-ins give recorded values where there are any, and values made up from the output schemas
otherwise. What fails with them, and must fail with real values too, is a fault. What fails with a
made-up value alone says nothing of the plan, and is told as not driven.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final, NamedTuple

from toolplan.drives import CallBounds, Drive, DryRun, EffectBounds, Fault, NotDriven
from toolplan.engines._call_bounds import call_bounds
from toolplan.engines._calls import CannotRun, callees
from toolplan.engines._certainty import Certainty
from toolplan.engines._made_up import (
    MadeUp,
    Recorded,
    places,
)
from toolplan.engines.local import run
from toolplan.events import Failure, Run, RunState, StepState
from toolplan.execution_plan import ExecutionPlan
from toolplan.path import Json, NotThere, select
from toolplan.plan import Limits, Step, When, step_refs
from toolplan.schema import Absent
from toolplan.tools import Arguments, Call, Effects, Tool, Toolbox, current_call

MOST_DRIVES: Final = 32
MOST_STEPS_DRIVEN: Final = 100_000
"""Over all drives; a plan of more steps is driven fewer times, twice at the least."""

_LIMITS: Final = Limits()
_NOTHING: Final[Mapping[str, Json]] = MappingProxyType({})
_NO_RECORDINGS: Final[Mapping[str, Sequence[Json]]] = MappingProxyType({})


async def dry_run(
    plan: ExecutionPlan,
    tools: Mapping[str, Tool] | Sequence[Tool],
    *,
    limits: Limits = _LIMITS,
    recordings: Mapping[str, Sequence[Json]] | None = None,
    schemas: Mapping[str, Json] = _NOTHING,
) -> DryRun:
    """Drive `plan` through its conditions both ways, and give what is known of a run before it.

    No function of a tool is called, so tools without any will do, and no approval is needed.

    Args:
        plan: what the compiler gave.
        tools: at least the tools that the plan calls.
        limits: those that the run will have.
        recordings: by tool name, results that its calls gave; they stand in for its schema.
        schemas: by step id, what steps give (`toolplan.compiler.output_schemas`): looked at where a
            tool computes its output schema for each call.

    Raises:
        CannotRun: a tool of the plan is not there or has an unusable schema, or the plan has more
            steps than `limits` allow.
    """
    known = Toolbox(tools) if isinstance(tools, Sequence) else tools
    # also says whether all are there, before anything is made up
    callees(plan.plan.steps, {name: _describing(tool) for name, tool in known.items()}, limits)
    made_up = MadeUp(plan.plan, known, schemas, recordings or _NO_RECORDINGS)
    calls = call_bounds(plan, known, made_up, limits)
    total = CallBounds(sum(c.least for c in calls.values()), sum(c.most for c in calls.values()))
    driving = _Driving(plan, known, made_up, limits, total)
    await driving.drive_all()
    return DryRun(
        faults=driving.faults,
        drives=tuple(driving.drives),
        calls=calls,
        total=total,
        limit=limits.calls,
        effects=tuple(
            EffectBounds(step.id, step.tool, known[step.tool].effects, calls[step.id])
            for step in plan.plan.steps
            if known[step.tool].has_effects
        ),
        not_driven=driving.not_driven(),
    )


class _Way(NamedTuple):
    """A way through the plan: the steps whose conditions do not hold, and which recordings."""

    description: str
    closed: frozenset[str]
    turn: int


class _Driving:
    """The drives of one plan, and what they have shown so far."""

    def __init__(
        self,
        plan: ExecutionPlan,
        tools: Mapping[str, Tool],
        made_up: MadeUp,
        limits: Limits,
        total: CallBounds,
    ) -> None:
        self._plan = plan
        self._tools = tools
        self._made_up = made_up
        self._limits = limits
        self._certainty = Certainty(made_up, limits, total.least)
        self._steps = {step.id: step for step in plan.plan.steps}
        self._undriven = self._unreadable()
        self.drives: list[Drive] = []
        self._faults: dict[tuple[str, str, str], Fault] = {}

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What is wrong, each fault once."""
        return tuple(self._faults.values())

    async def drive_all(self) -> None:
        """Drive all ways."""
        driven = self._driven()
        for way in self._ways(driven):
            await self._drive(driven, way)

    def not_driven(self) -> tuple[NotDriven, ...]:
        """Give the steps about which nothing is known, with the reasons."""
        reached = {
            name
            for drive in self.drives
            for name, state in drive.states.items()
            if state in (StepState.SUCCEEDED, StepState.FAILED)
        }
        faulty = {fault.step for fault in self.faults}
        found = dict(self._undriven)
        for name in self._plan.order:
            if name not in reached and name not in found:
                lost = [n for n in self._plan.needs[name] if n in faulty or n in found]
                if lost:
                    found[name] = f"It needs step {lost[0]!r}."
        return tuple(NotDriven(name, found[name]) for name in self._steps if name in found)

    # What is driven

    def _unreadable(self) -> dict[str, str]:
        """Give the steps that read what nobody declares, and those behind them."""
        found: dict[str, str] = {}
        for name in self._plan.order:
            step = self._steps[name]
            lost = next((ref.step for _, ref in step_refs(step) if ref.step in found), None)
            reason = self._made_up.unreadable(step) if lost is None else f"It needs step {lost!r}."
            if reason is not None:
                found[name] = reason
        return found

    def _driven(self) -> ExecutionPlan:
        """Give the plan without the steps that cannot be driven, and without effects."""
        # a stand-in is never late, and never fails so that another try would help
        steps = tuple(
            replace(
                step,
                after=tuple(name for name in step.after if name not in self._undriven),
                timeout_s=None,
                retries=0,
            )
            for step in self._plan.plan.steps
            if step.id not in self._undriven
        )
        needs = {
            step.id: tuple(n for n in self._plan.needs[step.id] if n not in self._undriven)
            for step in steps
        }
        order = tuple(name for name in self._plan.order if name not in self._undriven)
        plan = replace(self._plan.plan, steps=steps)
        return replace(self._plan, plan=plan, order=order, needs=needs, effects=())

    def _ways(self, driven: ExecutionPlan) -> list[_Way]:
        conditional = [step.id for step in driven.plan.steps if step.when is not None]
        all_hold = "every condition holds" if conditional else "every step runs"
        found = [_Way(all_hold, frozenset(), 0)]
        if conditional:
            found.append(_Way("no condition holds", frozenset(conditional), 0))
        most = max(2, min(MOST_DRIVES, MOST_STEPS_DRIVEN // max(1, len(driven.plan.steps))))
        groups = _groups(conditional, most - len(found))
        found += [_Way(_all_but(group), frozenset(group), 0) for group in groups]
        for turn in range(1, self._made_up.most_recordings):
            if len(found) < most:
                found.append(_Way(f"{all_hold}, recordings from {turn + 1}", frozenset(), turn))
        return found

    async def _drive(self, driven: ExecutionPlan, way: _Way) -> None:
        steps = tuple(_decided(step, step.id not in way.closed) for step in driven.plan.steps)
        ended = await run(
            replace(driven, plan=replace(driven.plan, steps=steps)),
            self._stand_ins(way.turn),
            limits=self._limits,
        )
        states = {name: step.state for name, step in ended.steps.items()}
        self.drives.append(Drive(way.description, states))
        for name, step in ended.steps.items():
            # a skipped step has a reason too, which is no fault
            if step.error is not None and step.state is not StepState.SKIPPED:
                self._note(name, step.error, way)
        for failure in self._missing_output(ended):
            self._note("", failure, way)

    def _stand_ins(self, turn: int) -> dict[str, Tool]:
        def give(position: int, step: str) -> Json:
            return self._made_up.value(step, turn + position)

        async def call(args: Arguments) -> Json:
            asked = current_call()
            return None if asked is None else give(asked.item or 0, asked.step)

        return {
            name: _stand_in(self._tools[name], call, self._made_up)
            for name in {step.tool for step in self._steps.values()}
        }

    # What went wrong

    def _note(self, name: str, failure: Failure, way: _Way) -> None:
        step = self._steps.get(name)
        if step is None or self._certainty.is_sure(step, failure):
            fault = Fault(name, failure.code, failure.message, failure.pointer, way.description)
            self._faults.setdefault((name, failure.code, failure.pointer), fault)
        else:
            told = f"With made-up values: {failure.message} Real ones may do."
            self._undriven.setdefault(name, told)

    def _missing_output(self, ended: Run) -> Iterator[Failure]:
        """Yield what the plan's output has of steps that succeeded and do not give it."""
        output = self._plan.plan.output
        if output is None or ended.status is RunState.SUCCEEDED:
            return
        for place in places(output, ("output",)):
            step = ended.steps.get(place.ref.step)
            reading = self._made_up.reading(place.ref, None)
            if step is None or step.state is not StepState.SUCCEEDED or step.error is not None:
                continue
            if not isinstance(reading, Absent | Recorded):
                continue
            try:
                select(step.output, place.ref.path)
            except NotThere as error:
                yield Failure("reference-missing", f"{error}.", place.pointer)


def _groups(names: Sequence[str], most: int) -> list[Sequence[str]]:
    """Give each of `names` alone, or with its neighbours where there would be more than `most`."""
    if len(names) < 2 or not most:
        return []
    size = -(-len(names) // most)
    return [names[at : at + size] for at in range(0, len(names), size)]


def _all_but(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"every condition but that of {names[0]!r} holds"
    return f"every condition but those from {names[0]!r} to {names[-1]!r} holds"


def _describing(tool: Tool) -> Tool:
    """Give `tool` as one that could be called, to be looked at and not called."""

    async def refuse(args: Arguments) -> Json:
        raise CannotRun(f"A dry run calls no tool: {tool.name!r}.")

    return replace(tool, call=refuse)


def _stand_in(tool: Tool, call: Call, made_up: MadeUp) -> Tool:
    """Give what is called in place of `tool`: `call`, which changes nothing."""
    # what was made up has been held against the schema of its step, which is the narrower one
    output = tool.raw_output if made_up.has_recording(tool.name) else None
    return replace(
        tool, call=call, raw_output=output, effects=Effects.READ, compute_output=None, source=""
    )


def _decided(step: Step, holds: bool) -> Step:
    """Give `step` with its condition decided; its value is still looked up."""
    return step if step.when is None else replace(step, when=When(step.when.value, holds))
