"""The dry run: a plan driven on the real engine, and no tool is called.

Stand-ins give values made up from the output schemas, and in drives of their own what was recorded.
What fails with them, and must fail whatever the tools give, is a fault. What fails with a recorded
value may fail again, and need not: the arguments may have been others, and so may the world. What
fails with a made-up value alone says nothing of the plan, and is told as not driven.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final, NamedTuple

from toolplan.dry_run.call_bounds import call_bounds
from toolplan.dry_run.certainty import Certainty
from toolplan.dry_run.sample_values import SampleValues, places
from toolplan.dry_run.scenarios import (
    CallBounds,
    DryRun,
    EffectBounds,
    Fault,
    MayFail,
    Scenario,
    Unchecked,
)
from toolplan.engines._calls import CannotRun, callees
from toolplan.engines.local import run
from toolplan.events import Failure, Run, RunState, StepRun, StepState
from toolplan.execution_plan import ExecutionPlan
from toolplan.path import Json, NotThere, select
from toolplan.plan import Limits, Literal, Step, When, step_refs
from toolplan.schema import Absent
from toolplan.tools import Arguments, Call, Effects, Tool, Toolbox, current_call

MOST_DRIVES: Final = 32
MOST_STEPS_DRIVEN: Final = 100_000
"""Over all drives; a plan of more steps is driven fewer times, twice at the least, and once with
recordings."""
MOST_BEYOND: Final = 4
"""So often is it tried to get beyond the steps that fail with recordings alone."""

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
    """Scenario `plan` through its conditions both ways, and give what is known of a run before it.

    No function of a tool is called, so tools without any will do, and no approval is needed.

    Args:
        plan: what the compiler gave.
        tools: at least the tools that the plan calls.
        limits: those that the run will have.
        recordings: by tool name, results that its calls gave; where its schema does not say what is
            read of them, they stand in for it.
        schemas: by step id, what steps give (`toolplan.compiler.output_schemas`): looked at where a
            tool computes its output schema for each call.

    Raises:
        CannotRun: a tool of the plan is not there or has an unusable schema, or the plan has more
            steps than `limits` allow.
    """
    known = Toolbox(tools) if isinstance(tools, Sequence) else tools
    # also says whether all are there, before anything is made up
    callees(plan.plan.steps, {name: _describing(tool) for name, tool in known.items()}, limits)
    made_up = SampleValues(plan.plan, known, schemas, recordings or _NO_RECORDINGS)
    calls = call_bounds(plan, known, made_up, limits)
    total = CallBounds(sum(c.least for c in calls.values()), sum(c.most for c in calls.values()))
    driving = _Driving(plan, known, made_up, limits, total)
    await driving.simulate_all()
    return DryRun(
        faults=driving.faults,
        may_fail=driving.may_fail,
        drives=tuple(driving.drives),
        calls=calls,
        total=total,
        limit=limits.calls,
        effects=tuple(
            EffectBounds(step.id, step.tool, known[step.tool].effects, calls[step.id])
            for step in plan.plan.steps
            if known[step.tool].has_effects
        ),
        unchecked=driving.unchecked(),
    )


class _Way(NamedTuple):
    """A way through the plan.

    `closed` are the steps whose conditions do not hold, `beyond` those that are taken to succeed
    whatever they read. `turn` says which recordings there are; without it values are made up.
    """

    description: str
    closed: frozenset[str] = frozenset()
    turn: int | None = None
    beyond: frozenset[str] = frozenset()


class _Driving:
    """The drives of one plan, and what they have shown so far."""

    def __init__(
        self,
        plan: ExecutionPlan,
        tools: Mapping[str, Tool],
        made_up: SampleValues,
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
        self.drives: list[Scenario] = []
        self._unsure: dict[str, str] = {}
        self._succeeded: set[str] = set()
        self._faults: dict[tuple[str, str, str], Fault] = {}
        self._may_fail: dict[tuple[str, str, str], MayFail] = {}

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What is wrong, each fault once."""
        return tuple(self._faults.values())

    @property
    def may_fail(self) -> tuple[MayFail, ...]:
        """What fails with recordings alone, each once."""
        return tuple(self._may_fail.values())

    async def simulate_all(self) -> None:
        """Simulate all scenarios, then the steps that recordings kept all of them from reaching."""
        driven = self._driven()
        ways = self._ways(driven)
        for way in ways:
            await self._drive(driven, way)
        read = {name for needs in driven.needs.values() for name in needs}
        if driven.plan.output is not None:
            read |= {place.ref.step for place in places(driven.plan.output, ())}
        beyond: frozenset[str] = frozenset()
        for _ in range(MOST_BEYOND):
            stuck = {each.step for each in self.may_fail} & read - self._succeeded - beyond
            if not stuck:
                return
            beyond |= stuck
            await self._drive(driven, _beyond(ways[0], [n for n in driven.order if n in beyond]))

    def unchecked(self) -> tuple[Unchecked, ...]:
        """Return the steps about which nothing is known, with the reasons."""
        reached = {
            name
            for drive in self.drives
            for name, state in drive.states.items()
            if state in (StepState.SUCCEEDED, StepState.FAILED)
        }
        faulty = {each.step for each in (*self.faults, *self.may_fail)}
        unsure = {n: told for n, told in self._unsure.items() if n not in self._succeeded}
        found = {**unsure, **self._undriven}
        for name in self._plan.order:
            if name not in reached and name not in found:
                lost = [n for n in self._plan.needs[name] if n in faulty or n in found]
                if lost:
                    found[name] = f"It needs step {lost[0]!r}."
        return tuple(Unchecked(name, found[name]) for name in self._steps if name in found)

    # What is driven

    def _unreadable(self) -> dict[str, str]:
        """Return the steps that read what nobody declares, and those behind them."""
        found: dict[str, str] = {}
        for name in self._plan.order:
            step = self._steps[name]
            lost = next((ref.step for _, ref in step_refs(step) if ref.step in found), None)
            reason = self._made_up.unreadable(step) if lost is None else f"It needs step {lost!r}."
            if reason is not None:
                found[name] = reason
        return found

    def _driven(self) -> ExecutionPlan:
        """Return the plan without the steps that cannot be driven, and without effects."""
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
        turns = self._made_up.most_recordings
        found = [_Way(all_hold)]
        if conditional:
            found.append(_Way("no condition holds", frozenset(conditional)))
        most = max(2, min(MOST_DRIVES, MOST_STEPS_DRIVEN // max(1, len(driven.plan.steps))))
        groups = _groups(conditional, max(0, most - len(found) - turns))
        found += [_Way(_all_but(group), frozenset(group)) for group in groups]
        for turn in range(turns):
            if turn == 0 or len(found) < most:
                found.append(_Way(f"{all_hold}, recordings from {turn + 1}", turn=turn))
        return found

    async def _drive(self, driven: ExecutionPlan, way: _Way) -> None:
        steps = tuple(
            _taken_to_succeed(step)
            if step.id in way.beyond
            else _decided(step, step.id not in way.closed)
            for step in driven.plan.steps
        )
        ended = await run(
            replace(driven, plan=replace(driven.plan, steps=steps)),
            self._stand_ins(way.turn),
            limits=self._limits,
        )
        states = {name: step.state for name, step in ended.steps.items()}
        self.drives.append(Scenario(way.description, states))
        for name, step in ended.steps.items():
            # a skipped step has a reason too, which is no fault
            if step.error is not None and step.state is not StepState.SKIPPED:
                self._note(self._steps[name], step.error, way, ended)
        for failure, tool in self._missing_output(ended, way.turn):
            self._report("", failure, way, () if tool is None else (tool,))
        self._succeeded |= {
            n for n, step in ended.steps.items() if _came_through(step)
        } - way.beyond

    def _stand_ins(self, turn: int | None) -> dict[str, Tool]:
        async def call(args: Arguments) -> Json:
            asked = current_call()
            return None if asked is None else self._made_up.value(asked.step, turn, asked.item or 0)

        found: dict[str, Tool] = {}
        for name in {step.tool for step in self._steps.values()}:
            found[name] = _stand_in(self._tools[name], call, self._made_up)
            found[_taking_anything(name)] = replace(found[name], raw_input={"type": "object"})
        return found

    # What went wrong

    def _note(self, step: Step, failure: Failure, way: _Way, ended: Run) -> None:
        """Tell that `step` failed, as what that shows of the plan."""
        if self._certainty.is_sure(step, failure):
            self._report(step.id, failure, way, ())
            return

        def recorded(name: str) -> bool:
            # one that failed and lets the plan go on gives null, and not what was recorded
            gave = name == step.id or _came_through(ended.steps[name])
            return gave and self._made_up.is_recorded(name, way.turn)

        given = self._certainty.given_by(step, failure, recorded)
        # with values that were all made up it has done before
        if given.tools and (given.alone or step.id in self._succeeded):
            self._report(step.id, failure, way, given.tools)
        else:
            told = f"With made-up values: {failure.message} Real ones may do."
            self._unsure.setdefault(step.id, told)

    def _report(self, name: str, failure: Failure, way: _Way, tools: tuple[str, ...]) -> None:
        """Keep a fault, or what may fail with results that `tools` gave."""
        code, message, pointer = failure
        key = (name, code, pointer)
        if tools:
            may_fail = MayFail(name, code, message, pointer, way.description, tools)
            self._may_fail.setdefault(key, may_fail)
        else:
            self._faults.setdefault(key, Fault(name, code, message, pointer, way.description))

    def _missing_output(self, ended: Run, turn: int | None) -> Iterator[tuple[Failure, str | None]]:
        """Yield what the plan's output has of steps that succeeded and do not give it.

        With it goes the tool where it is for what that gave before.
        """
        output = self._plan.plan.output
        if output is None or ended.status is RunState.SUCCEEDED:
            return
        for place in places(output, ("output",)):
            step = ended.steps.get(place.ref.step)
            reading = self._made_up.reading(place.ref, None)
            if step is None or not _came_through(step):
                continue
            nowhere = isinstance(reading, Absent)
            if not nowhere and not self._made_up.is_recorded(place.ref.step, turn):
                continue
            try:
                select(step.output, place.ref.path)
            except NotThere as error:
                tool = None if nowhere else self._steps[place.ref.step].tool
                yield Failure("reference-missing", f"{error}.", place.pointer), tool


def _groups(names: Sequence[str], most: int) -> list[Sequence[str]]:
    """Return each of `names` alone, or grouped with neighbours so that there are at most `most`."""
    if len(names) < 2 or not most:
        return []
    size = -(-len(names) // most)
    return [names[at : at + size] for at in range(0, len(names), size)]


def _all_but(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"every condition but that of {names[0]!r} holds"
    return f"every condition but those from {names[0]!r} to {names[-1]!r} holds"


def _beyond(way: _Way, names: Sequence[str]) -> _Way:
    """Return `way` with the steps of these names taken to succeed."""
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return way._replace(
        description=f"{way.description}, beyond step {names[0]!r}{more}", beyond=frozenset(names)
    )


def _came_through(step: StepRun) -> bool:
    return step.state is StepState.SUCCEEDED and step.error is None


def _describing(tool: Tool) -> Tool:
    """Return `tool` as one that could be called, to be looked at and not called."""

    async def refuse(args: Arguments) -> Json:
        raise CannotRun(f"A dry run calls no tool: {tool.name!r}.")

    return replace(tool, call=refuse)


def _stand_in(tool: Tool, call: Call, made_up: SampleValues) -> Tool:
    """Return what is called in place of `tool`: `call`, which changes nothing."""
    # what was made up has been held against the schema of its step, which is the narrower one
    output = tool.raw_output if made_up.has_recording(tool.name) else None
    return replace(
        tool, call=call, raw_output=output, effects=Effects.READ, compute_output=None, source=""
    )


def _taken_to_succeed(step: Step) -> Step:
    """Return `step` as one that reads nothing, and that nothing can be wrong with."""
    once = None if step.for_each is None else Literal([None])
    return replace(
        step, tool=_taking_anything(step.tool), args={}, when=None, for_each=once, max_items=1
    )


def _taking_anything(tool: str) -> str:
    return f"{tool} with any arguments"


def _decided(step: Step, holds: bool) -> Step:
    """Return `step` with its condition decided; its value is still looked up."""
    return step if step.when is None else replace(step, when=When(step.when.value, holds))
