"""All rules, in the order in which their problems are reported, and the pages of other codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
from toolplan.plan.diagnostics import Diagnostic

SYNTAX_PAGES: Final[Mapping[str, str]] = {
    "syntax": """The text is not a plan of its dialect.

It cannot be parsed, is cut off, contains two plans, or contains none. A plan that is cut off is
refused, never completed: the missing end could have said anything.

How to fix: write one complete plan.""",
    "noise": """The text contains more than the plan, or loose syntax.

Prose, code fences and think blocks are skipped if the plan itself is complete. Trailing and missing
commas, comments, single quotes and bare keys are repaired, since every value stays what was
written; anything else that is not JSON is an error.

How to fix: nothing, or write only the plan; `--fix` leaves the rest of the file as it is.""",
    "empty-plan": """The plan has no steps.

There would be nothing to run.""",
    "unknown-field": """The plan or a step has a field that does not exist.

An ignored field would change what runs without notice: a misspelt `on_error`, for example.

How to fix: use a name that the message offers, or remove the field.""",
    "missing-field": """The plan or a step lacks a required field.

A plan must have `steps`; a step must have `id` and `tool`.""",
    "field-type": """A field has a value of the wrong type or out of range.

The message says what is expected: `timeout_s` is a number above 0, `retries` a whole number, …""",
    "duplicate-key": """An object has one key twice.

JSON readers differ in which of the two they use, so what is shown and what is run could differ.

How to fix: remove one of the two.""",
    "duplicate-id": """Two steps have the same id.

A reference could mean either of them.

How to fix: rename one of them.""",
    "bad-id": """The id of a step is not valid.

An id matches `[A-Za-z0-9_][A-Za-z0-9_-]{0,63}`; `item` and `index` are reserved for `for_each`.""",
    "confusable-id": """The ids of two steps look the same, or nearly so.

They differ only in letter case or in the encoding of their characters, so a reader may mistake one
for the other.

How to fix: rename one of them.""",
    "bad-number": """A number cannot be stored exactly.

NaN and Infinity are not JSON; whole numbers must lie between -2^63 and 2^63.""",
    "bad-encoding": """The text is not clean UTF-8.

It has a byte order mark, a NUL, half of a surrogate pair, or bytes that are not UTF-8.""",
    "too-large": """The text is larger than the limit and was not read.

The limit is `Limits.text_bytes`, by default 2,000,000 bytes.""",
    "too-deep": """Lists and objects are nested deeper than the limit.

The limit is `Limits.depth`, by default 64.""",
    "too-many-steps": """The plan has more steps than the limit.

The limit is `Limits.steps`, by default 10,000.

How to fix: use `for_each`, which makes many calls with one step.""",
    "plan-version": """The plan uses an unknown version of the format.

This release reads version 1: `{"toolplan": 1, …}`.""",
    "reference-syntax": """A reference is not valid.

A reference is `${` id, then any of `.key`, `["any key"]`, `[n]`, `[*]`, then `}`. For the literal
characters `${` write `$${`.""",
    "cannot-express": """A dialect has no way to write a plan.

Each dialect was made for certain plans; what it cannot express is reported, never dropped.

How to fix: write the plan in another dialect; `toolplan` can express every plan.""",
    "needs-tools": """Arguments are given by position, so the tools are needed to read the plan.

How to fix: load the tools with `--tools`.""",
    "contradiction": """The plan says two different things about the same order or owner.

Some dialects list links or owners beside the steps; here the list and the references differ, and
either could be meant.

How to fix: say it once.""",
    "one-based-reference": """Steps are counted from 1, where the dialect counts from 0.

The plan's own links prove it, so every number is lowered by one.

How to fix: count from 0.""",
    "undeclared-dependency": """A step does not list all the steps that it refers to.

Some dialects list the dependencies of a step besides its references. The order comes from the
references, so the missing entry does no harm; it is added when the plan is printed.""",
}
"""The text that `toolplan explain` prints for each code that no rule has."""


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
