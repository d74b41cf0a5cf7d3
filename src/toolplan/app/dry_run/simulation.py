"""The dry run: a plan simulated on the real engine without calling a tool.

Stand-ins return sample values made from the output schemas, and in scenarios of their own recorded
results. What fails whatever the tools return is a fault. What fails with a recorded result may fail
again, or not: the arguments may have been others. What fails with a sample value alone says nothing
about the plan, and is reported as unchecked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from toolplan.app.dry_run.certainty import Certainty
from toolplan.app.dry_run.report import (
    CallBounds,
    DryRun,
    EffectBounds,
    Fault,
    MayFail,
    Scenario,
    Unchecked,
)
from toolplan.app.dry_run.sample_values import Reading, SampleValues, list_behind
from toolplan.engine._calls import CannotRun, callees
from toolplan.engine.local import run
from toolplan.events import Failure, Run, RunState, StepRun, StepState
from toolplan.plan.model import Array, Limits, Literal, Ref, Step, When, located_refs, step_refs
from toolplan.plan.path import Json, NotThere, select
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema import Absent, Schema
from toolplan.schema.tool import Arguments, Call, Effects, Tool, Toolbox
from toolplan.schema.tool_call import current_call

MAX_SCENARIOS: Final = 32
MAX_SIMULATED_STEPS: Final = 100_000
"""The most steps of all scenarios together; at least two scenarios and one with recordings run."""

_LIMITS: Final = Limits()


async def simulate(
    plan: ExecutionPlan,
    tools: Mapping[str, Tool] | Sequence[Tool],
    *,
    limits: Limits = _LIMITS,
    recordings: Mapping[str, Sequence[Json]] | None = None,
) -> DryRun:
    """Simulate `plan` with each condition true and false; return what is known before a run.

    No tool is called, so tools without a function are enough, and no approval is needed.

    Args:
        plan: a compiled plan.
        tools: at least the tools that the plan calls.
        limits: the limits of the later run.
        recordings: by tool name, results of earlier calls; used where a tool's schema does not
            declare what the plan reads.

    Raises:
        CannotRun: a tool of the plan is missing or has an unusable schema, or the plan has more
            steps than `limits` allow.
    """
    known = Toolbox(tools if isinstance(tools, Sequence) else tools.values())
    described = {name: replace(tool, call=_refuse) for name, tool in known.items()}
    callees(plan.plan.steps, described, limits)  # raises CannotRun
    return await _Simulation(plan, known, recordings or {}, limits).run()


async def _refuse(args: Arguments) -> Json:
    raise CannotRun("A dry run calls no tool.")


class _Case(Struct, frozen=True):
    """What a scenario assumes: the conditions of the steps in `closed` are false.

    `turn` selects recordings; None uses sample values.
    """

    description: str
    closed: frozenset[str] = frozenset()
    turn: int | None = None


class _Simulation:
    """The scenarios of one plan, and what they have shown so far."""

    def __init__(
        self,
        plan: ExecutionPlan,
        tools: Toolbox,
        recordings: Mapping[str, Sequence[Json]],
        limits: Limits,
    ) -> None:
        self._plan = plan
        self._tools = tools
        self._samples = SampleValues(plan.plan, tools, recordings)
        self._limits = limits
        self._calls = call_bounds(plan, tools, self._samples, limits)
        bounds = self._calls.values()
        self._total = CallBounds(sum(c.least for c in bounds), sum(c.most for c in bounds))
        self._certainty = Certainty(self._samples, limits, self._total.least)
        self._steps = {step.id: step for step in plan.plan.steps}
        self._excluded = self._unreadable()
        self._scenarios: list[Scenario] = []
        self._unsure: dict[str, str] = {}
        self._succeeded: set[str] = set()
        self._faults: dict[tuple[str, str, str], Fault] = {}
        self._may_fail: dict[tuple[str, str, str], MayFail] = {}

    async def run(self) -> DryRun:
        """Simulate all scenarios, and return what they have shown."""
        included = self._included()
        for case in self._cases(included):
            await self._simulate(included, case)
        acting = {n: s for n, s in self._steps.items() if self._tools[s.tool].has_effects}
        return DryRun(
            faults=tuple(self._faults.values()),
            may_fail=tuple(self._may_fail.values()),
            scenarios=tuple(self._scenarios),
            calls=self._calls,
            total=self._total,
            limit=self._limits.calls,
            effects=tuple(
                EffectBounds(name, step.tool, self._tools[step.tool].effects, self._calls[name])
                for name, step in acting.items()
            ),
            unchecked=self._unchecked(),
        )

    def _unchecked(self) -> tuple[Unchecked, ...]:
        """Return the steps without known results, with the reasons."""
        reached = {
            name
            for scenario in self._scenarios
            for name, state in scenario.states.items()
            if state in (StepState.SUCCEEDED, StepState.FAILED)
        }
        faulty = {step for step, _, _ in (*self._faults, *self._may_fail)}
        unsure = {n: why for n, why in self._unsure.items() if n not in self._succeeded}
        found = {**unsure, **self._excluded}
        for name in self._plan.order:
            if name not in reached and name not in found:
                lost = [n for n in self._plan.needs[name] if n in faulty or n in found]
                if lost:
                    found[name] = f"It needs step {lost[0]!r}."
        return tuple(Unchecked(name, found[name]) for name in self._steps if name in found)

    def _unreadable(self) -> dict[str, str]:
        """Return the steps that read undeclared values, and those that need them."""
        found: dict[str, str] = {}
        for name in self._plan.order:
            step = self._steps[name]
            lost = next((ref.step for _, ref in step_refs(step) if ref.step in found), None)
            reason = self._samples.unreadable(step) if lost is None else f"It needs step {lost!r}."
            if reason is not None:
                found[name] = reason
        return found

    def _included(self) -> ExecutionPlan:
        """Return the plan without the steps that cannot be simulated, and without effects."""

        def kept(names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(name for name in names if name not in self._excluded)

        # stand-ins need neither timeouts nor retries, and make no pages
        steps = tuple(
            replace(step, after=kept(step.after), timeout_s=None, retries=0, pages=None)
            for step in self._plan.plan.steps
            if step.id not in self._excluded
        )
        needs = {step.id: kept(self._plan.needs[step.id]) for step in steps}
        plan = replace(self._plan.plan, steps=steps)
        return replace(self._plan, plan=plan, order=kept(self._plan.order), needs=needs, effects=())

    def _cases(self, included: ExecutionPlan) -> list[_Case]:
        conditional = [step.id for step in included.plan.steps if step.when is not None]
        all_hold = "every condition holds" if conditional else "every step runs"
        turns = self._samples.most_recordings
        found = [_Case(all_hold)]
        if conditional:
            found.append(_Case("no condition holds", frozenset(conditional)))
        most = max(2, min(MAX_SCENARIOS, MAX_SIMULATED_STEPS // max(1, len(included.plan.steps))))
        groups = _groups(conditional, max(0, most - len(found) - turns))
        found += [_Case(_all_but(group), frozenset(group)) for group in groups]
        for turn in range(turns):
            if turn == 0 or len(found) < most:
                found.append(_Case(f"{all_hold}, recordings from {turn + 1}", turn=turn))
        return found

    async def _simulate(self, included: ExecutionPlan, case: _Case) -> None:
        steps = tuple(_decided(step, step.id not in case.closed) for step in included.plan.steps)
        ended = await run(
            replace(included, plan=replace(included.plan, steps=steps)),
            self._stand_ins(case.turn),
            limits=self._limits,
        )
        states = {name: step.state for name, step in ended.steps.items()}
        self._scenarios.append(Scenario(case.description, states))
        for name, step in ended.steps.items():
            # a skipped step has a reason too, but no fault
            if step.error is not None and step.state is not StepState.SKIPPED:
                self._note(self._steps[name], step.error, case, ended)
        for failure, tool in self._missing_output(ended, case.turn):
            self._report("", failure, case, () if tool is None else (tool,))
        self._succeeded |= {n for n, step in ended.steps.items() if _succeeded(step)}

    def _stand_ins(self, turn: int | None) -> dict[str, Tool]:
        async def call(args: Arguments) -> Json:
            asked = current_call()
            return None if asked is None else self._samples.value(asked.step, turn, asked.item or 0)

        names = {step.tool for step in self._steps.values()}
        return {name: _stand_in(self._tools[name], call, self._samples) for name in names}

    def _note(self, step: Step, failure: Failure, case: _Case, ended: Run) -> None:
        """Report the failure of `step` as what it shows of the plan."""
        if self._certainty.is_sure(step, failure):
            self._report(step.id, failure, case, ())
            return

        def recorded(name: str) -> bool:
            # a step that failed with `on_error: continue` gives null, not its recording
            gave = name == step.id or _succeeded(ended.steps[name])
            return gave and self._samples.is_recorded(name, case.turn)

        tools, alone = self._certainty.given_by(step, failure, recorded)
        # with sample values alone it has succeeded before
        if tools and (alone or step.id in self._succeeded):
            self._report(step.id, failure, case, tools)
        else:
            reason = f"With sample values: {failure.message} Real values may work."
            self._unsure.setdefault(step.id, reason)

    def _report(self, name: str, failure: Failure, case: _Case, tools: tuple[str, ...]) -> None:
        """Add a fault, or a possible failure with recorded results of `tools`."""
        code, message, pointer = failure.code, failure.message, failure.pointer
        key = (name, code, pointer)
        found = (name, code, message, pointer, case.description)
        if tools:
            self._may_fail.setdefault(key, MayFail(*found, tools))
        else:
            self._faults.setdefault(key, Fault(*found))

    def _missing_output(self, ended: Run, turn: int | None) -> Iterator[tuple[Failure, str | None]]:
        """Yield the parts of the plan's output that steps which succeeded do not have.

        With each goes the tool, where the reason is a recorded result.
        """
        output = self._plan.plan.output
        if output is None or ended.status is RunState.SUCCEEDED:
            return
        for pointer, ref in located_refs(output, "/output"):
            step = ended.steps.get(ref.step)
            reading = self._samples.reading(ref, None)
            if step is None or not _succeeded(step):
                continue
            nowhere = isinstance(reading, Absent)
            if not nowhere and not self._samples.is_recorded(ref.step, turn):
                continue
            try:
                select(step.output, ref.path)
            except NotThere as error:
                tool = None if nowhere else self._steps[ref.step].tool
                yield Failure("reference-missing", f"{error}.", pointer), tool


def _groups(names: Sequence[str], most: int) -> list[Sequence[str]]:
    """Return `names` in at most `most` groups of neighbours; none for a single name."""
    if len(names) < 2 or not most:
        return []
    size = -(-len(names) // most)
    return [names[at : at + size] for at in range(0, len(names), size)]


def _all_but(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"every condition but that of {names[0]!r} holds"
    return f"every condition but those from {names[0]!r} to {names[-1]!r} holds"


def _succeeded(step: StepRun) -> bool:
    return step.state is StepState.SUCCEEDED and step.error is None


def _stand_in(tool: Tool, call: Call, samples: SampleValues) -> Tool:
    """Return `tool` with `call`, which changes nothing, as its function."""
    # sample values were already checked against the narrower schema of their step
    output = tool.raw_output if samples.has_recording(tool.name) else None
    return replace(
        tool, call=call, raw_output=output, effects=Effects.READ, compute_output=None, source=""
    )


def _decided(step: Step, holds: bool) -> Step:
    """Return `step` with its condition decided; its value is still read."""
    return step if step.when is None else replace(step, when=When(step.when.value, holds))


def call_bounds(
    plan: ExecutionPlan, tools: Mapping[str, Tool], samples: SampleValues, limits: Limits
) -> dict[str, CallBounds]:
    """Return the fewest and most calls of each step, by its id, in the written order."""
    skippable = plan.skippable
    found: dict[str, CallBounds] = {}
    for step in plan.plan.steps:
        least, most = _items(step, samples, limits)
        tries = 1 + step.retries if tools[step.tool].may_repeat else 1
        pages = 1 if step.pages is None else step.max_pages
        most = min(most * pages, limits.calls) * tries
        found[step.id] = CallBounds(0 if step.id in skippable else least, most)
    return found


def _items(step: Step, samples: SampleValues, limits: Limits) -> tuple[int, int]:
    """Return the fewest and the most items of a step: 1 and 1 where it has no `for_each`."""
    most = min(step.max_items, limits.items)
    match step.for_each:
        case None:
            return 1, 1
        case Literal(list(items)) | Array(items):
            return min(len(items), most), min(len(items), most)
        case Ref() as ref:
            least, longest = _lengths(samples.reading(list_behind(ref), None))
            most = most if longest is None else min(most, longest)
            return min(least, most), most
        case _:
            return 0, most


def _lengths(reading: Reading) -> tuple[int, int | None]:
    """Return the fewest and the most elements that a schema gives to a list."""
    node = reading.node if isinstance(reading, Schema) else None
    if not isinstance(node, dict) or node.get("type") != "array":
        return 0, None
    least, most = node.get("minItems"), node.get("maxItems")
    return least if isinstance(least, int) else 0, most if isinstance(most, int) else None
