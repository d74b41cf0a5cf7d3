"""The dry run: a plan simulated on the real engine without calling a tool.

Stand-ins return sample values made from the output schemas, and in scenarios of their own recorded
results. What fails whatever the tools return is a fault. What fails with a recorded result may fail
again, or not: the arguments may have been others. What fails with a sample value alone says nothing
about the plan, and is reported as unchecked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from toolplan.app.dry_run import report
from toolplan.app.dry_run.sample_values import WRITTEN, SampleValues, list_behind, pointer_of
from toolplan.compiler.rules import Use
from toolplan.engine._calls import CannotRun, callees
from toolplan.engine.local import run
from toolplan.events import Failure, Run, RunState, StepRun, StepState
from toolplan.plan.model import Array, Limits, Literal, Ref, Step, When, located_refs, step_refs
from toolplan.plan.path import Json, NotThere, select
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema import Absent, Schema, Verdict, assignable, types_of
from toolplan.schema.tool import Arguments, Effects, Tool, Toolbox
from toolplan.schema.tool_call import current_call

MAX_SCENARIOS: Final = 32
MAX_SIMULATED_STEPS: Final = 100_000
"""Maximum number of steps in all scenarios; at least two and one with recordings run."""

_LIMITS: Final = Limits()


async def simulate(
    plan: ExecutionPlan,
    tools: Mapping[str, Tool] | Sequence[Tool],
    *,
    limits: Limits = _LIMITS,
    recordings: Mapping[str, Sequence[Json]] | None = None,
) -> report.DryRun:
    """Simulate `plan` with each condition true and false.

    No tool is called, so tools without a function are enough, and no approval is needed.
    `recordings` are results of earlier calls by tool; they are used where a tool's schema does not
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
    """The assumptions of a scenario: the conditions of the steps in `closed` are false.

    `turn` selects recordings; None uses sample values.
    """

    description: str
    closed: frozenset[str] = frozenset()
    turn: int | None = None


class _Simulation:
    """The scenarios of one plan, and their results so far."""

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
        self._calls: dict[str, report.CallBounds] = {}
        for step in plan.plan.steps:
            least, most = _items(step, self._samples, limits)
            tries = 1 + step.retries if tools[step.tool].may_repeat else 1
            pages = 1 if step.pages is None else step.max_pages
            most = min(most * pages, limits.calls) * tries
            self._calls[step.id] = report.CallBounds(
                0 if step.id in plan.skippable else least, most
            )
        bounds = self._calls.values()
        self._total = report.CallBounds(sum(c.least for c in bounds), sum(c.most for c in bounds))
        self._steps = self._samples.steps
        # the steps that read undeclared values, and those that need them
        self._excluded: dict[str, str] = {}
        for name in plan.order:
            step, found = self._steps[name], self._excluded
            lost = next((ref.step for _, ref in step_refs(step) if ref.step in found), None)
            reason = self._samples.unreadable(step) if lost is None else f"It needs step {lost!r}."
            if reason is not None:
                found[name] = reason
        self._scenarios: list[report.Scenario] = []
        self._unsure: dict[str, str] = {}
        self._succeeded: set[str] = set()
        self._faults: dict[tuple[str, str, str], report.Fault] = {}
        self._may_fail: dict[tuple[str, str, str], report.MayFail] = {}

    async def run(self) -> report.DryRun:
        """Simulate all scenarios, and return their results."""
        included = self._included()
        for case in self._cases(included):
            steps = tuple(  # a condition is decided, and its value still read
                replace(s, when=s.when and When(s.when.value, s.id not in case.closed))
                for s in included.plan.steps
            )
            simulated = replace(included, plan=replace(included.plan, steps=steps))
            ended = await run(simulated, self._stand_ins(case.turn), limits=self._limits)
            self._take(ended, case)
        acting = tuple(
            report.EffectBounds(name, step.tool, self._tools[step.tool].effects, self._calls[name])
            for name, step in self._steps.items()
            if self._tools[step.tool].has_effects
        )
        return report.DryRun(
            tuple(self._faults.values()), tuple(self._may_fail.values()), tuple(self._scenarios),
            self._calls, self._total, self._limits.calls, acting, self._unchecked(),
        )  # fmt: skip

    def _unchecked(self) -> tuple[report.Unchecked, ...]:
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
        return tuple(report.Unchecked(name, found[name]) for name in self._steps if name in found)

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
        if (room := most - len(found) - turns) > 0 and len(conditional) > 1:
            size = -(-len(conditional) // room)
            for group in (conditional[at : at + size] for at in range(0, len(conditional), size)):
                names = f"those from {group[0]!r} to {group[-1]!r}"
                but = names if len(group) > 1 else f"that of {group[0]!r}"
                found.append(_Case(f"every condition but {but} holds", frozenset(group)))
        for turn in range(turns):
            if turn == 0 or len(found) < most:
                found.append(_Case(f"{all_hold}, recordings from {turn + 1}", turn=turn))
        return found

    def _take(self, ended: Run, case: _Case) -> None:
        """Add the run of a scenario."""
        states = {name: step.state for name, step in ended.steps.items()}
        self._scenarios.append(report.Scenario(case.description, states))
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

        found: dict[str, Tool] = {}
        for tool in (self._tools[name] for name in {step.tool for step in self._steps.values()}):
            # sample values were already checked against the narrower schema of their step
            output = tool.raw_output if tool.name in self._samples.recorded_tools else None
            found[tool.name] = replace(
                tool, call=call, raw_output=output, effects=Effects.READ, compute_output=None,
                source="",
            )  # fmt: skip
        return found

    def _note(self, step: Step, failure: Failure, case: _Case, ended: Run) -> None:
        """Report the failure of `step` as a fault, or a possible failure, of the plan."""
        if self._is_sure(step, failure):
            self._report(step.id, failure, case, ())
            return

        def recorded(name: str) -> bool:
            # a step that failed with `on_error: continue` gives null, not its recording
            gave = name == step.id or _succeeded(ended.steps[name])
            return gave and self._samples.is_recorded(name, case.turn)

        tools, alone = self._given_by(step, failure, recorded)
        # with sample values alone it has succeeded before
        if tools and (alone or step.id in self._succeeded):
            self._report(step.id, failure, case, tools)
        else:
            reason = f"With sample values: {failure.message} Real values may work."
            self._unsure.setdefault(step.id, reason)

    def _report(self, name: str, failure: Failure, case: _Case, tools: tuple[str, ...]) -> None:
        """Add a fault, or a possible failure with recorded results of `tools`."""
        key = (name, failure.code, failure.pointer)
        found = (name, failure.code, failure.message, failure.pointer, case.description)
        if tools:
            self._may_fail.setdefault(key, report.MayFail(*found, tools))
        else:
            self._faults.setdefault(key, report.Fault(*found))

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

    def _is_sure(self, step: Step, failure: Failure) -> bool:
        """Return whether `step` fails whatever the tools return."""
        match failure.code:
            case "reference-missing":
                there = self._read_by(step, failure)
                readings = [self._samples.reading(use.ref, step) for use in there]
                nowhere = any(isinstance(each, Absent) for each in readings)
                return nowhere or self._all_written(step, there)
            case "not-a-list" | "too-many-items":
                if not isinstance(step.for_each, Ref):
                    return True
                listed = self._samples.reading(list_behind(step.for_each), None)
                if not isinstance(listed, Schema):
                    return isinstance(listed, Absent)
                most = min(step.max_items, self._limits.items)
                fitting = Schema.load({"type": "array", "maxItems": most})
                return assignable(listed, fitting) is Verdict.NO
            case "argument-type" | "argument-value" | "missing-argument" | "unknown-argument":
                return self._never_fits(step, failure)
            case "too-many-calls":
                return self._total.least > self._limits.calls
            case "result-schema" | "result-type" | "result-too-large" | "value-too-large":
                return False
            case _:
                return True

    def _given_by(
        self, step: Step, failure: Failure, recorded: Callable[[str], bool]
    ) -> tuple[tuple[str, ...], bool]:
        """Return the tools whose recordings `step` failed with, and whether it read only these.

        `recorded` says which steps returned one.
        """
        if failure.code.startswith("result-"):
            return ((step.tool,), True) if recorded(step.id) else ((), False)
        read = [
            name
            for use in self._read_by(step, failure)
            if self._samples.reading(use.ref, step) is not WRITTEN
            for name in self._samples.sources(use.ref, step)
        ]
        given = [name for name in read if recorded(name)]
        tools = dict.fromkeys(self._steps[name].tool for name in given)
        return tuple(tools), len(given) == len(read)

    def _all_written(self, step: Step, there: list[Use]) -> bool:
        return all(self._samples.reading(use.ref, step) is WRITTEN for use in there)

    def _never_fits(self, step: Step, failure: Failure) -> bool:
        if given := self._at_or_above(step, failure.pointer):
            impossible = any(self._cannot_fit(step, use) for use in given)
            return impossible or self._all_written(step, given)
        # the names of all arguments stand in the plan
        names_are_wrong = failure.code in ("missing-argument", "unknown-argument")
        takes_each_alone = self._tools[step.tool].input.of_parts is not None
        if failure.pointer == "/args" and names_are_wrong and takes_each_alone:
            return True
        return self._all_written(step, self._read_by(step, failure))

    def _cannot_fit(self, step: Step, use: Use) -> bool:
        reading = self._samples.reading(use.ref, step)
        if not isinstance(use.taken, Schema) or not isinstance(reading, Schema):
            return False
        if use.whole:
            return assignable(reading, use.taken) is Verdict.NO
        return "string" not in types_of(use.taken)

    def _read_by(self, step: Step, failure: Failure) -> list[Use]:
        """Return the references of `step` that may have led to `failure`."""
        given = self._at_or_above(step, failure.pointer)
        if given and failure.code != "reference-missing":
            return given
        # with alternatives in the schema, an error at a fixed value may be due to another value
        inside = "/".join(failure.pointer.split("/")[:3])
        uses = self._samples.uses[step.id]
        return [*given, *(use for use in uses if pointer_of(use).startswith(f"{inside}/"))]

    def _at_or_above(self, step: Step, pointer: str) -> list[Use]:
        """Return the references of `step` that give the value at `pointer` or one around it."""
        uses = self._samples.uses[step.id]
        return [use for use in uses if f"{pointer}/".startswith(f"{pointer_of(use)}/")]


def _succeeded(step: StepRun) -> bool:
    return step.state is StepState.SUCCEEDED and step.error is None


def _items(step: Step, samples: SampleValues, limits: Limits) -> tuple[int, int]:
    """Return the minimum and maximum number of items of a step: 1 without `for_each`."""
    most = min(step.max_items, limits.items)
    match step.for_each:
        case None:
            return 1, 1
        case Literal(list(items)) | Array(items):
            return min(len(items), most), min(len(items), most)
        case Ref() as ref:
            reading = samples.reading(list_behind(ref), None)
            node = reading.node if isinstance(reading, Schema) else None
            if not isinstance(node, dict) or node.get("type") != "array":
                return 0, most
            least, longest = node.get("minItems"), node.get("maxItems")
            most = min(most, longest) if isinstance(longest, int) else most
            return min(least, most) if isinstance(least, int) else 0, most
        case _:
            return 0, most
