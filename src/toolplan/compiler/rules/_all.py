"""All rules, in the order in which their problems are reported."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, partial
from typing import Final, cast

from msgspec.structs import replace

from toolplan.base.errors import ToolplanError
from toolplan.base.extensions import EntryPoint, Extensions, described
from toolplan.compiler.rules import (
    arguments,
    calls,
    invented_literal,
    lists,
    order,
    pages,
    policies,
    references,
    texts,
    when_schema,
)
from toolplan.compiler.rules._context import PlanContext, Problem
from toolplan.compiler.rules._rule import Rule
from toolplan.compiler.rules._syntax import SYNTAX_PAGES
from toolplan.plan.diagnostics import Diagnostic

# The called tool first, then its arguments, then the references between steps: a writer who
# corrects a plan from the top seldom corrects the same place twice.
RULES: Final[tuple[Rule, ...]] = (
    calls.unknown_tool,
    calls.tool_alias,
    policies.tool_not_allowed,
    calls.tool_schema,
    calls.output_schema,
    arguments.missing_argument,
    arguments.unknown_argument,
    arguments.argument_type,
    pages.cannot_page,
    arguments.argument_value,
    arguments.pattern_not_checked,
    arguments.retry_unsafe,
    texts.secret_literal,
    invented_literal.invented_literal,
    texts.ellipsis,
    texts.unread_reference,
    references.unknown_step,
    order.self_reference,
    order.cycle,
    lists.item_outside_for_each,
    references.unknown_output,
    references.not_a_list,
    lists.list_into_scalar,
    references.reference_type,
    references.maybe_null,
    references.learned_output,
    when_schema.when_schema,
    order.maybe_skipped,
    order.unused_step,
    calls.duplicate_call,
    order.redundant_after,
    pages.part_of_list,
    calls.ratio_over_filtered,
    policies.policy_tool,
    policies.policy_output,
    policies.policy_argument,
    policies.flow_refused,
    policies.untrusted_argument,
    policies.untrusted_condition,
    policies.untrusted_count,
    lists.fan_out_large,
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
    """Return the page of every code, by code: the text that `toolplan explain` prints."""
    return {**SYNTAX_PAGES, **{rule.code: rule.text for rule in all_rules()}}


def diagnose(context: PlanContext, rules: Iterable[Rule] | None = None) -> list[Diagnostic]:
    """Return every problem that `rules` find, in the order of the steps.

    `rules` are those of all installed packages by default.
    """
    rules = all_rules() if rules is None else rules
    found = [rule.diagnostic(problem) for rule in rules for problem in rule.find(context)]
    positions = context.positions
    return sorted(found, key=lambda each: positions.get(each.step or "", len(positions)))
