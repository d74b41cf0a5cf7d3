"""All rules, in the order in which their problems are reported."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, partial
from typing import Final, cast

from msgspec.structs import replace

from toolplan.base.errors import ToolplanError
from toolplan.base.extensions import EntryPoint, Extensions, described
from toolplan.compiler.rules._context import PlanContext
from toolplan.compiler.rules._rule import Problem, Rule
from toolplan.compiler.rules._syntax import SYNTAX_PAGES
from toolplan.compiler.rules.arguments import (
    argument_type,
    argument_value,
    missing_argument,
    pattern_not_checked,
    retry_unsafe,
    unknown_argument,
)
from toolplan.compiler.rules.calls import duplicate_call, ratio_over_filtered
from toolplan.compiler.rules.invented_literal import invented_literal
from toolplan.compiler.rules.lists import fan_out_large, item_outside_for_each, list_into_scalar
from toolplan.compiler.rules.order import (
    cycle,
    maybe_skipped,
    redundant_after,
    self_reference,
    unused_step,
)
from toolplan.compiler.rules.pages import cannot_page, part_of_list
from toolplan.compiler.rules.policies import (
    flow_refused,
    policy_argument,
    policy_output,
    policy_tool,
    tool_not_allowed,
    untrusted_argument,
    untrusted_condition,
    untrusted_count,
)
from toolplan.compiler.rules.references import (
    learned_output,
    maybe_null,
    not_a_list,
    reference_type,
    unknown_output,
    unknown_step,
)
from toolplan.compiler.rules.texts import ellipsis, secret_literal, unread_reference
from toolplan.compiler.rules.tool_names import output_schema, tool_alias, tool_schema, unknown_tool
from toolplan.compiler.rules.when_schema import when_schema
from toolplan.plan.diagnostics import Diagnostic

# The called tool first, then its arguments, then the references between steps: whoever corrects a
# plan from the top seldom corrects the same place twice.
RULES: Final[tuple[Rule, ...]] = (
    unknown_tool,
    tool_alias,
    tool_not_allowed,
    tool_schema,
    output_schema,
    missing_argument,
    unknown_argument,
    argument_type,
    cannot_page,
    argument_value,
    pattern_not_checked,
    retry_unsafe,
    secret_literal,
    invented_literal,
    ellipsis,
    unread_reference,
    unknown_step,
    self_reference,
    cycle,
    item_outside_for_each,
    unknown_output,
    not_a_list,
    list_into_scalar,
    reference_type,
    maybe_null,
    learned_output,
    when_schema,
    maybe_skipped,
    unused_step,
    duplicate_call,
    redundant_after,
    part_of_list,
    ratio_over_filtered,
    policy_tool,
    policy_output,
    policy_argument,
    flow_refused,
    untrusted_argument,
    untrusted_condition,
    untrusted_count,
    fan_out_large,
)


@cache
def all_rules() -> tuple[Rule, ...]:
    """Return the rules of all installed packages, the built-in ones first.

    Each entry point of the group `toolplan.rules` is a `Rule` or a tuple of them.

    Raises:
        ToolplanError: an entry point cannot be loaded (`bad-extension`), is not a rule, or has the
            code of another rule.
    """
    found: dict[str, Rule] = {}
    for name, offered in Extensions[object]("toolplan.rules", guarded_rules).items():
        for each in _listed(offered):
            if not isinstance(each, Rule):
                raise ToolplanError(
                    "bad-extension",
                    f"The toolplan.rules entry point {name!r} is not a Rule or a tuple of Rules.",
                    "Decorate its function with `@toolplan.compiler.rules.rule()`.",
                )
            if each.code in SYNTAX_PAGES or each.code in found:
                raise ToolplanError(
                    "bad-extension",
                    f"The toolplan.rules entry point {name!r} has a second rule {each.code!r}.",
                    "Rename its function; the code is made of the function's name.",
                )
            found[each.code] = each
    return tuple(found.values())


def guarded_rules(entry: EntryPoint, offered: object) -> object:
    """Return the rules of a package, guarded: a fault of one names the package.

    Other objects pass through.
    """
    guarded = tuple(
        replace(each, find=partial(_problems, entry, each)) if isinstance(each, Rule) else each
        for each in _listed(offered)
    )
    return guarded if isinstance(offered, tuple) else guarded[0]


def _listed(offered: object) -> tuple[object, ...]:
    return cast("tuple[object, ...]", offered) if isinstance(offered, tuple) else (offered,)


def _problems(entry: EntryPoint, rule: Rule, context: PlanContext) -> Iterable[Problem]:
    problems = cast("object", entry.call(rule.find, context))
    if not isinstance(problems, Iterable) or isinstance(problems, str):
        raise entry.wrong(
            f"returned {described(problems)}, where problems are needed",
            "Make the function of the rule yield each problem.",
        )
    listed = entry.call(lambda: [*cast("Iterable[object]", problems)])
    return [entry.returned(each, Problem, by=rule.code) for each in listed]


def rule_pages() -> dict[str, str]:
    """Return the page of every code, by code: what `toolplan explain` prints."""
    return {**SYNTAX_PAGES, **{rule.code: rule.text for rule in all_rules()}}


def diagnose(context: PlanContext, rules: Iterable[Rule] | None = None) -> list[Diagnostic]:
    """Return every problem that `rules` find, in the order of the steps.

    `rules` are those of all installed packages by default.
    """
    rules = all_rules() if rules is None else rules
    found = [rule.diagnostic(problem) for rule in rules for problem in rule.find(context)]
    positions = context.positions
    return sorted(found, key=lambda each: positions.get(each.step or "", len(positions)))
