"""Plan tests as they are run and measured, and their results as JUnit XML."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Literal as Choice
from typing import TypeAlias, cast
from xml.etree import ElementTree

from msgspec import Struct
from msgspec.structs import replace

from toolplan.app._open import open
from toolplan.app.app import App
from toolplan.app.settings import home, read_settings
from toolplan.base.errors import ToolplanError
from toolplan.compiler.rules.invented_literal import invented_literal
from toolplan.plan.canonical import dump
from toolplan.plan.comparison import ABSENT, compare_plans
from toolplan.plan.model import Literal, Plan, Step
from toolplan.plan.path import Json
from toolplan.planners import Draft
from toolplan.policy.approval import most_calls
from toolplan.providers import Usage
from toolplan.schema.tool import Toolbox
from toolplan.show.document import Screen, plain
from toolplan.show.plan_tree import ComparisonView
from toolplan.show.printable import visible
from toolplan.testing.plans.cases import Case, CaseFile, Expectation, Recorded


class CaseResult(Struct, frozen=True):
    """The results of one question that was asked once or more.

    Attributes:
        case: the question.
        problems: for each time it was asked, the differences from the expectation.
        plan: the last plan; None where there was none.
        seconds: how long all of it took.
    """

    case: Case
    problems: tuple[tuple[str, ...], ...]
    plan: Plan | None
    seconds: float

    @property
    def passed(self) -> int:
        """How many times the plan was as expected."""
        return sum(not each for each in self.problems)

    @property
    def succeeded(self) -> bool:
        """Whether the plan was as expected each time."""
        return self.passed == len(self.problems)


async def run_case(app: App, case: Case, recorded: Recorded, times: int = 1) -> CaseResult:
    """Ask the question of a case; call no tool. Its plan is compared as it is written."""
    asked = [await measured(app, case, recorded, as_written=True) for _ in range(times)]
    problems = tuple(each.problems for each in asked)
    return CaseResult(case, problems, asked[-1].plan, sum(each.seconds for each in asked))


def differences(case: Case, plan: Plan | None, reason: str, recorded: Recorded) -> tuple[str, ...]:
    """Return the differences of a plan, or of the reason without one, from the expectation."""
    expected = case.expect
    if expected is None:
        if case not in recorded:
            return ("Nothing is expected or recorded: `toolplan test --record` records its plan.",)
        kept = recorded[case]
        expected = Expectation(no_plan=True) if kept is None else Expectation(plan=kept)
    if plan is None:
        return () if expected.no_plan else (f"There is no plan: {reason}",)
    if expected.no_plan:
        called = ", ".join(step.tool for step in plan.steps)
        return (f"A plan was made where none is expected: {called}.",)
    return tuple(_differences(expected, plan))


def _differences(expected: Expectation, plan: Plan) -> Iterable[str]:
    called = frozenset(step.tool for step in plan.steps)
    if expected.plan is not None:
        found = compare_plans(expected.plan, plan)
        if expected.accept:
            yield from _not_accepted(expected.plan, expected.accept, plan, found.matched)
        elif not found.same:
            yield plain(ComparisonView(found).lines(Screen()))
    if expected.includes is not None:
        yield from _missing(expected.includes, plan)
    if expected.tools is not None and called != expected.tools:
        yield f"It calls {_names(called)}, not {_names(expected.tools)}."
    if wrong := called & expected.forbidden:
        yield f"It calls {_names(wrong)}, which is forbidden."
    if expected.max_calls is not None:
        calls = sum(map(most_calls, plan.steps))
        if calls > expected.max_calls:
            yield f"It may make {calls:,} calls; at most {expected.max_calls:,} are expected."


def _missing(includes: Plan, plan: Plan) -> Iterable[str]:
    found = compare_plans(includes, plan)
    for step in found.steps:
        if step.kind == "removed":
            yield f"It does not call {step.tool} as step {step.before!r} does."
        for change in step.changes if step.kind == "changed" else ():
            if change.before is not ABSENT:
                yield (
                    f"Step {step.after!r} ({step.tool}) differs at {change.pointer}: "
                    f"expected {change.before!r}, found {change.after!r}."
                )


def _not_accepted(
    gold: Plan, accepted: Sequence[Json], plan: Plan, matched: Mapping[str, str]
) -> Iterable[str]:
    values = dict(zip((step.id for step in gold.steps), accepted, strict=False))
    if missing := values.keys() - set(matched.values()):
        yield f"It does not make the calls {_names(missing)}."
    document = cast("list[dict[str, Json]]", dump(plan)["steps"])
    for step, written in zip(plan.steps, document, strict=True):
        if (partner := matched.get(step.id)) is None or step.for_each is not None:
            yield f"Step {step.id!r} ({step.tool}) is none of the expected calls."
        elif not _is_accepted(values.get(partner), written.get("args", {})):
            yield f"Step {step.id!r} ({step.tool}) has other arguments than {values[partner]}."


def _is_accepted(values: Json, given: Json) -> bool:
    """Return whether each argument of `given` has one of its `values`; texts without case."""
    if not isinstance(values, dict) or not isinstance(given, dict):
        return False
    if given.keys() - values.keys():
        return False
    for name, allowed in values.items():
        choices = allowed if isinstance(allowed, list) else [allowed]
        if name not in given:
            if "" not in choices:
                return False
        elif not any(_is_like(each, given[name]) for each in choices):
            return False
    return True


def _is_like(choice: Json, value: Json) -> bool:
    if isinstance(choice, str) and isinstance(value, str):
        return choice.casefold() == value.casefold()
    if isinstance(choice, dict):
        return _is_accepted(choice, value)
    if isinstance(choice, bool) or isinstance(value, bool):
        return choice is value
    return choice == value


def _names(tools: Iterable[str]) -> str:
    return ", ".join(sorted(tools)) or "no tool"


_NOT_REMEMBERED: Mapping[str, str] = {"PLANNER_ENABLE_CACHING": "false"}


def open_for(
    file: CaseFile,
    *,
    tools: Sequence[str] = (),
    planner: str | None = None,
    model: Sequence[str] = (),
    contracts: Sequence[str] = (),
    instructions: str = "",
    on_note: Callable[[str], None] | None = None,
) -> App:
    """Open the tools and the planner of a file of plan tests; arguments win.

    The planner is asked each time: a plan that it remembers would hide what has changed.

    Raises:
        ToolplanError: the tools or the planner cannot be opened.
    """
    named = tuple(model) or ((file.model,) if file.model else ())
    told = {"PLANNER_INSTRUCTIONS": instructions} if instructions else {}
    return open(
        tools or file.tools,
        planner=planner or file.planner or "auto",
        model=named or None,
        contracts=contracts,
        settings=read_settings(home(), {**os.environ, **_NOT_REMEMBERED, **told}),
        on_note=on_note,
    )


def junit(results: Sequence[tuple[Path, CaseResult]]) -> str:
    """Return the results, each with its file, as JUnit XML."""
    root = ElementTree.Element("testsuites", _counts([result for _, result in results]))
    for path in dict.fromkeys(path for path, _ in results):
        own = [result for each, result in results if each == path]
        suite = ElementTree.SubElement(
            root, "testsuite", {"name": visible(str(path)), **_counts(own)}
        )
        for result in own:
            case = ElementTree.SubElement(
                suite,
                "testcase",
                classname=visible(path.stem),
                name=visible(result.case.question),
                time=f"{result.seconds:.3f}",
            )
            if not result.succeeded:
                said = next(each for each in result.problems if each)
                failure = ElementTree.SubElement(
                    case,
                    "failure",
                    message=f"{result.passed} of {len(result.problems)} plans as expected",
                )
                failure.text = "\n".join(visible(line) for line in "\n".join(said).splitlines())
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _counts(results: Sequence[CaseResult]) -> dict[str, str]:
    return {
        "tests": str(len(results)),
        "failures": str(sum(not each.succeeded for each in results)),
        "errors": "0",
        "time": f"{sum(each.seconds for each in results):.3f}",
    }


Outcome: TypeAlias = Choice["right", "wrong", "asked", "failed"]
"""`right`: as expected. `wrong`: a plan that passes its check and is another one. `asked`: a
question back or a refusal where a plan is expected. `failed`: no plan passes its check, or no
reply."""


class Measured(Struct, frozen=True):
    """One question asked once.

    Attributes:
        case: the question.
        outcome: whether the plan is right.
        problems: differences from the expectation, or why there is no plan.
        plan: the plan, if there is one.
        drafts: how many plans were written for it.
        invented: how many values of its plan are in neither the question nor the tools.
        seconds: how long it took.
        usage: what models used for it.
    """

    case: Case
    outcome: Outcome
    problems: tuple[str, ...]
    plan: Plan | None
    drafts: int
    invented: int
    seconds: float
    usage: Usage


async def measured(
    app: App, case: Case, recorded: Recorded, *, as_written: bool = False
) -> Measured:
    """Ask one question, and call no tool.

    The plans are compared without arguments that are defaults of their tools, or `as_written`.
    """
    before, started = app.tracker.usage, perf_counter()
    drafts, invented, plan, outcome = 0, 0, None, cast("Outcome", "failed")
    try:
        asked = await app.plan(case.question, today=case.today)
    except ToolplanError as error:
        problems: Sequence[str] = (f"[{error.code}] {error.with_help}",)
    else:
        plan = None if asked.plan is None else asked.plan.plan
        bare, gold = plan, case
        if not as_written:
            bare = None if plan is None else without_defaults(plan, app.tools)
            gold = _bare(case, app.tools)
        problems = differences(gold, bare, asked.reason, recorded)
        drafts = len(asked.attempts)
        if plan is not None:
            outcome = "wrong" if problems else "right"
        elif not isinstance(asked.proposal, Draft):
            outcome = "asked" if problems else "right"
        found = () if asked.compiled is None else asked.compiled.diagnostics
        invented = sum(each.code == invented_literal.code for each in found)
    took, after = perf_counter() - started, app.tracker.usage
    used = Usage(
        after.calls - before.calls,
        after.input_tokens - before.input_tokens,
        after.output_tokens - before.output_tokens,
        None if after.cost_usd is None else after.cost_usd - (before.cost_usd or 0.0),
        after.cached_tokens - before.cached_tokens,
    )
    return Measured(case, outcome, tuple(problems), plan, drafts, invented, took, used)


def without_defaults(plan: Plan, tools: Toolbox) -> Plan:
    """Return `plan` without the arguments whose value is the default that their tool declares."""
    steps: list[Step] = []
    for step in plan.steps:
        schema = tools[step.tool].raw_input if step.tool in tools else None
        named = schema.get("properties") if isinstance(schema, dict) else None
        defaults = {
            name: Literal(about["default"])
            for name, about in (named.items() if isinstance(named, dict) else ())
            if isinstance(about, dict) and "default" in about
        }
        args = {name: each for name, each in step.args.items() if each != defaults.get(name)}
        steps.append(replace(step, args=args))
    return replace(plan, steps=tuple(steps))


def _bare(case: Case, tools: Toolbox) -> Case:
    expect = case.expect
    if expect is None or expect.plan is None or expect.accept:
        return case
    return replace(case, expect=replace(expect, plan=without_defaults(expect.plan, tools)))


def figures(results: Sequence[Measured]) -> dict[str, int]:
    """Count the outcomes of `results`, by name.

    `first_draft` counts plans without a repair, `repaired` those that were right after one.
    """
    outcomes = [each.outcome for each in results]
    planned = [each for each in results if each.drafts and each.outcome != "failed"]
    return {
        "asked": len(results),
        "right": outcomes.count("right"),
        "wrong": outcomes.count("wrong"),
        "asked_back": outcomes.count("asked"),
        "failed": outcomes.count("failed"),
        "first_draft": sum(each.drafts == 1 for each in planned),
        "repaired": sum(each.drafts > 1 and each.outcome == "right" for each in planned),
        "invented": sum(each.invented > 0 for each in results),
    }
