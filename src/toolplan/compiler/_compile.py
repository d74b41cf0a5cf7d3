"""From text to a plan that may run: read it, check it, apply safe fixes, check again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple, NoReturn, TypeAlias

from msgspec.structs import replace

from toolplan.base.errors import ToolplanError
from toolplan.base.shown import counted, shown_html, shown_text
from toolplan.compiler.rules import PlanContext, Rule, diagnose
from toolplan.compiler.rules.grounding import grounded
from toolplan.compiler.rules.invented_literal import invented_literal
from toolplan.dates import Times
from toolplan.dialects import known_dialect
from toolplan.plan.canonical import Parsed, dump, load
from toolplan.plan.diagnostics import ABOUT_KEYS, REMOVED, Diagnostic, Edit, Fix, Removed, Severity
from toolplan.plan.model import Limits, Plan, json_at, split_pointer
from toolplan.plan.path import Json
from toolplan.policy import Flow, Policy, Verdict
from toolplan.policy.approval import digest_of
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Effects, Tool, Toolbox

MAX_ROUNDS: Final = 8
"""Maximum number of rounds of fixes for one plan; the problems that remain are reported."""

Tools: TypeAlias = Toolbox | Iterable[Tool]
PlanText: TypeAlias = str | Mapping[str, object] | Sequence[object]
"""The text of a plan, or its JSON already read."""

_HELP: Final = "Pass the text of the plan, or its JSON as a dict; to_text(plan) is that of a Plan."


class Compiled(NamedTuple):
    """The result of `compile_plan`.

    `plan` is None exactly when a diagnostic still blocks it. `diagnostics` describe the text as it
    was written, fixed ones among them. `draft` is the plan for showing: as far as it could be read,
    with every safe fix.
    """

    plan: ExecutionPlan | None
    diagnostics: tuple[Diagnostic, ...]
    draft: Plan | None
    unchecked_references: int

    def __str__(self) -> str:
        parts = [] if self.plan is None else [str(self.plan)]
        return "\n\n".join([*parts, shown_text(self.diagnostics)])

    def __repr__(self) -> str:
        plan = "None" if self.plan is None else self.plan.digest[:8]
        return f"Compiled(plan={plan}, {counted(len(self.diagnostics), 'diagnostic')})"

    def _repr_html_(self) -> str:
        return shown_html(self)


def parse(
    plan: PlanText,
    dialect: str = "toolplan",
    tools: Tools | None = None,
    *,
    limits: Limits = Limits(),
) -> Parsed:
    """Read a plan, without a look at what the tools accept.

    `plan` is its text, or its JSON already read: a dict, or a list. `tools` are needed only by
    dialects that give arguments by position. The result has as much of the plan as could be read,
    None where nothing could, and all diagnostics.

    Raises:
        ToolplanError: `plan` is something else, or there is no such dialect.
    """
    signatures = None if tools is None else toolbox(tools).signatures
    return known_dialect(dialect).parse(text_of(plan), signatures, limits)


def check(
    plan: Plan,
    tools: Tools | None,
    *,
    policy: Policy = Policy(),
    rules: Sequence[Rule] | None = None,
) -> list[Diagnostic]:
    """Return all problems of `plan`; with `tools` None, only those of its structure.

    Raises:
        ToolplanError: `plan` is not a Plan.
    """
    return diagnose(_context(_plan_of(plan), tools, policy), rules)


def to_text(
    plan: Plan | ExecutionPlan, dialect: str = "toolplan", tools: Tools | None = None
) -> str:
    """Write `plan` in `dialect`.

    `tools` are needed only by dialects that name outputs by what tools declare, and only for a plan
    that does not carry their signatures itself.

    Raises:
        CannotExpress: the dialect cannot express the plan; its diagnostics name the parts.
        ToolplanError: `plan` is not a plan, or there is no such dialect.
    """
    if isinstance(plan, ExecutionPlan):
        return known_dialect(dialect).print(plan.plan, plan.signatures)
    signatures = None if tools is None else toolbox(tools).signatures
    return known_dialect(dialect).print(_plan_of(plan), signatures)


def examine(
    plan: PlanText,
    dialect: str = "toolplan",
    tools: Tools | None = None,
    *,
    limits: Limits = Limits(),
    policy: Policy = Policy(),
    rules: Sequence[Rule] | None = None,
) -> Compiled:
    """Read a plan, apply its safe fixes, and return all its problems; `plan` of the result is None.

    `tools` None checks structure only.

    Raises:
        ToolplanError: `plan` is neither text nor JSON, or there is no such dialect.
    """
    return _examine(plan, dialect, tools, limits, policy, rules)[0]


def compile_plan(
    plan: PlanText,
    dialect: str = "toolplan",
    *,
    tools: Tools,
    limits: Limits = Limits(),
    policy: Policy = Policy(),
    rules: Sequence[Rule] | None = None,
    times: Times | None = None,
) -> Compiled:
    """Read and check a plan, apply its safe fixes, and make it ready to run.

    `plan` is its text, or its JSON already read: a dict, or a list. `times` are those of the
    question: a date that is given in their words (`"date_from": "last week"`) becomes its day.

    Raises:
        ToolplanError: `plan` is something else, or there is no such dialect.
    """
    known = toolbox(tools)
    examined, context = _examine(plan, dialect, known, limits, policy, rules, times)
    if context is None or any(each.blocks for each in examined.diagnostics):
        return examined
    checked = context.plan
    used = {step.tool: known[step.tool] for step in checked.steps}
    # steps into which something flows that a person is asked about
    asked_for = {each.step for each in context.flows if each.verdict is Verdict.ASK}
    return examined._replace(
        plan=ExecutionPlan(
            plan=checked,
            order=context.order,
            needs=context.needs,
            signatures={name: tool.signature for name, tool in used.items()},
            effects=tuple(
                s.id for s in checked.steps if used[s.tool].has_effects or s.id in asked_for
            ),
            digest=digest_of(checked, used, policy.to_json()),
            policy=policy.to_json(),
            unchecked_references=context.unchecked,
            flows=context.flows,
        )
    )


def _examine(
    plan: PlanText,
    dialect: str,
    tools: Tools | None,
    limits: Limits,
    policy: Policy,
    rules: Sequence[Rule] | None,
    times: Times | None = None,
) -> tuple[Compiled, PlanContext | None]:
    """Return the result of the reading and the check, and the context of the fixed plan, if any."""
    known = None if tools is None else toolbox(tools)
    parsed = parse(plan, dialect, known, limits=limits)
    if parsed.plan is None:
        return Compiled(None, parsed.diagnostics, None, 0), None
    context, found = _fixed(_context(parsed.plan, known, policy, times), rules)
    # problems of unreadable parts have been reported already
    unread = {each.pointer for each in parsed.diagnostics if each.blocks}
    reported = (each for each in found if each.pointer not in unread or each.code in ABOUT_KEYS)
    diagnostics = (*parsed.diagnostics, *reported)
    return Compiled(None, diagnostics, context.plan, context.unchecked), context


def flows_of(plan: Plan, tools: Tools, policy: Policy = Policy()) -> tuple[Flow, ...]:
    """Return the values of `plan` that reach places where they can do harm, with the verdicts.

    A plan that has passed the check has them already (`ExecutionPlan.flows`).
    """
    return _context(plan, tools, policy).flows


def about_question(
    plan: Plan, tools: Tools, rules: Sequence[Rule] | None = None, *, strict: bool = False
) -> tuple[Diagnostic, ...]:
    """Return the values of a model's plan that the question in its metadata does not contain.

    One that a tool with effects would get is an error: nothing is sent to an invented address.
    With `strict`, for small models, each one is, and so is all else that differs from the question.
    """
    if rules is not None and invented_literal not in rules:
        return ()
    context = PlanContext(plan, toolbox(tools))
    acting = {
        call.step.id
        for call in context.calls
        if call.tool is not None and call.tool.effects is not Effects.READ
    }
    return tuple(
        replace(each, severity=Severity.ERROR) if strict or each.step in acting else each
        for each in diagnose(context, (grounded if strict else invented_literal,))
    )


class Fixed(NamedTuple):
    """A plan with every safe fix applied, and the problems of the plan as it was written."""

    plan: Plan
    diagnostics: tuple[Diagnostic, ...]


def fix(
    plan: Plan,
    tools: Tools | None,
    *,
    policy: Policy = Policy(),
    rules: Sequence[Rule] | None = None,
) -> Fixed:
    """Apply all safe fixes that do not overlap, and check again, until no safe fix remains.

    A problem that another one hid in an earlier round is reported too. One that is gone in the end
    is reported as fixed.
    """
    context, diagnostics = _fixed(_context(plan, tools, policy), rules)
    return Fixed(context.plan, diagnostics)


def _fixed(
    context: PlanContext, rules: Sequence[Rule] | None
) -> tuple[PlanContext, tuple[Diagnostic, ...]]:
    """Return the context of the fixed plan, and the problems found in all rounds of fixes."""
    reported: dict[tuple[str, str, str], Diagnostic] = {}
    found: dict[tuple[str, str, str], Diagnostic] = {}
    for rounds_left in range(MAX_ROUNDS, -1, -1):
        found = {(each.code, each.pointer, each.message): each for each in diagnose(context, rules)}
        fixes = _apart([each.fix for each in found.values() if each.fix and each.fix.safe])
        document: Json = dump(context.plan) if fixes else None
        for key, each in found.items():
            reported.setdefault(key, _with_old_values(each, document))
        plan = _apply(context.plan, fixes, document) if fixes and rounds_left else None
        if plan is None:
            break
        context = PlanContext(plan, context.tools, context.policy, context.times)
    diagnostics = (
        each if key in found else replace(each, fixed=True) for key, each in reported.items()
    )
    return context, tuple(diagnostics)


def _with_old_values(found: Diagnostic, document: Json) -> Diagnostic:
    """Return `found`; each edit of a safe fix with the value that it replaces in `document`."""
    fix = found.fix
    if fix is None or not fix.safe:
        return found
    edits: list[Edit] = []
    for edit in fix.edits:
        old: Json | Removed = REMOVED
        with suppress(LookupError):
            old = json_at(document, edit.pointer)
        edits.append(Edit(edit.pointer, edit.value, old))
    return replace(found, fix=replace(fix, edits=tuple(edits)))


def output_schemas(plan: Plan, tools: Tools) -> dict[str, Json]:
    """Return the JSON Schema of each step's output, by step id, where the tools declare it."""
    context = PlanContext(plan, toolbox(tools))
    known = ((step.id, context.output(step.id)) for step in plan.steps)
    return {name: schema.document for name, schema in known if schema is not None}


def toolbox(tools: Tools) -> Toolbox:
    """Return `tools` as a toolbox.

    Raises:
        ToolplanError: they are not tools.
    """
    if isinstance(tools, Toolbox):
        return tools
    if not hasattr(tools, "__iter__"):
        raise ToolplanError(
            "no-tools",
            f"Tools are a Toolbox or a list of Tool, not {_kind(tools)}.",
            "toolplan.toolbox_of(module) returns the tools of a module.",
        )
    return Toolbox(tools)


def text_of(plan: object) -> str:
    """Return the text of a plan that is given as text or as JSON already read."""
    if isinstance(plan, str):
        return plan
    if isinstance(plan, Mapping | list | tuple):
        try:
            return json.dumps(plan, default=_no_json)
        except (ValueError, RecursionError) as error:
            raise ToolplanError("no-plan", f"The plan is not JSON: {error}.", _HELP) from None
    raise ToolplanError("no-plan", f"A plan is text or a dict, not {_kind(plan)}.", _HELP)


def _plan_of(plan: object) -> Plan:
    if isinstance(plan, Plan):
        return plan
    raise ToolplanError(
        "no-plan",
        f"This takes a Plan, not {_kind(plan)}.",
        "toolplan.parse(text).plan is one, or None where the text holds no plan.",
    )


def _no_json(value: object) -> NoReturn:
    raise ValueError(f"it holds {_kind(value)}")


def _kind(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _context(
    plan: Plan, tools: Tools | None, policy: Policy, times: Times | None = None
) -> PlanContext:
    return PlanContext(plan, None if tools is None else toolbox(tools), policy, times)


def _apart(fixes: Iterable[Fix]) -> list[Fix]:
    """Return the `fixes` that touch nothing that an earlier one touches."""
    taken: set[tuple[str, ...]] = set()
    above: set[tuple[str, ...]] = set()  # every place around a taken one
    kept: list[Fix] = []
    for fix in fixes:
        places = [split_pointer(edit.pointer) for edit in fix.edits]
        # a removal from a list would move the elements behind it, so it takes the whole list
        places = [p[:-1] if p and p[-1].isdigit() else p for p in places]
        ways = {place[:length] for place in places for length in range(len(place) + 1)}
        if taken.isdisjoint(ways) and above.isdisjoint(places):
            taken.update(places)
            above.update(ways)
            kept.append(fix)
    return kept


def _apply(plan: Plan, fixes: Iterable[Fix], document: Json) -> Plan | None:
    """Return `plan`, written as `document`, after `fixes`; None where they give no plan."""
    for fix in fixes:
        for edit in fix.edits:
            _edit(document, edit)
    parsed = load(document)
    if any(each.severity is Severity.ERROR for each in parsed.diagnostics):
        return parsed.plan if load(dump(plan)).diagnostics else None  # it was broken before
    return parsed.plan


def _edit(document: Json, edit: Edit) -> None:
    *way, last = split_pointer(edit.pointer)
    place = document
    for token in way:
        if isinstance(place, list):
            place = place[int(token)]
        elif isinstance(place, dict):
            place = place.setdefault(token, {})
    match place, edit.value:
        case dict(), Removed():
            place.pop(last, None)
        case dict(), value:
            place[last] = value
        case list(), Removed():
            del place[int(last)]
        case list(), value:
            place[int(last)] = value
        case _:
            return
