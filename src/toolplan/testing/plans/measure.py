"""How good the plans of a model are: each question is asked, and its plan compared with gold."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Literal as Choice
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from toolplan.app.app import App
from toolplan.base.errors import ToolplanError
from toolplan.compiler.rules.invented_literal import invented_literal
from toolplan.plan.model import Literal, Plan, Step
from toolplan.planners import Draft
from toolplan.providers import Usage
from toolplan.schema.tool import Toolbox
from toolplan.testing.plans.cases import Case
from toolplan.testing.plans.recorded import Recorded
from toolplan.testing.plans.runner import differences

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
        drafts: how many plans were written for it.
        invented: how many values of its plan are in neither the question nor the tools.
        seconds: how long it took.
        usage: what models used for it.
    """

    case: Case
    outcome: Outcome
    problems: tuple[str, ...]
    drafts: int
    invented: int
    seconds: float
    usage: Usage


async def measured(app: App, case: Case, recorded: Recorded) -> Measured:
    """Ask one question, and call no tool."""
    before, started = app.tracker.usage, perf_counter()
    drafts = invented = 0
    outcome: Outcome = "failed"
    try:
        asked = await app.plan(case.question, today=case.today)
    except ToolplanError as error:
        problems: Sequence[str] = (f"[{error.code}] {error.with_help}",)
    else:
        plan = None if asked.plan is None else asked.plan.plan
        bare = None if plan is None else without_defaults(plan, app.tools)
        problems = differences(_bare(case, app.tools), bare, asked.reason, recorded)
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
    return Measured(case, outcome, tuple(problems), drafts, invented, took, used)


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
