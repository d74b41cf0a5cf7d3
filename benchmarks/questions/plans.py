"""Whether two plans are the same: steps in any order, whatever their names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any, Final, NamedTuple, TypeAlias

from toolplan.plan.path import Json
from toolplan.schema.tool import Effects, Toolbox

SQL: Final = "sql"
_UNLIMITED: Final = (50, 100)
"""Limits that the author of the blind questions took for none."""
_MOST_STEPS: Final = 7

Fields: TypeAlias = Mapping[str, Any]


class Call(NamedTuple):
    """A step as it is compared: its tool, literal arguments, and references by argument.

    A reference is the number of the step it reads and the path in that step's output.
    """

    tool: str
    args: dict[str, Any]
    refs: dict[str, tuple[int, str]]


def calls(plan: Fields) -> tuple[Call, ...]:
    """Return the steps of a canonical plan as calls."""
    steps = plan["steps"]
    at = {step["id"]: number for number, step in enumerate(steps)}
    return tuple(_call(step, at) for step in steps)


def _call(step: Fields, at: Mapping[str, int]) -> Call:
    args: dict[str, Any] = {}
    refs: dict[str, tuple[int, str]] = {}
    for name, value in step.get("args", {}).items():
        text: Json = step["for_each"] if value == "${item}" else value
        match text:
            case [str(only)] if only.startswith("${"):
                text = only  # a list of the one identity
            case _:
                pass
        if isinstance(text, str) and text.startswith("${"):
            source = re.split(r"[.\[]", text[2:-1], maxsplit=1)[0]
            refs[name] = (at[source], text[2 + len(source) : -1].removeprefix("."))
        else:
            args[name] = value
    return Call(step["tool"], args, refs)


def is_right(plan: Sequence[Call], expect: Fields) -> bool:
    """Return whether `plan` is one of those that `expect` allows."""
    wanted = [*expect.get("plans", ()), *([expect["plan"]] if "plan" in expect else ())]
    if any(is_same(plan, [gold_call(step) for step in each]) for each in wanted):
        return True
    if not expect.get("sql") or not any(call.tool == SQL for call in plan):
        return False
    reads = [call for call in plan if call.tool != SQL]
    alternatives = [expect["reads"], *expect.get("reads_alternatives", ())]
    return any(_reads(reads, [gold_call(step) for step in each]) for each in alternatives)


def gold_call(step: Fields) -> Call:
    """Return a step in the form of `QUESTIONS.md` as a call."""
    refs: dict[str, tuple[int, str]] = {}
    for name, text in step.get("refs", {}).items():
        number, _, path = text.partition(".")
        refs[name] = (int(number), path)
    return Call(step["tool"], step["args"], refs)


def _orders(count: int) -> Iterator[tuple[int, ...]]:
    return permutations(range(count)) if count <= _MOST_STEPS else iter([tuple(range(count))])


def is_same(plan: Sequence[Call], gold: Sequence[Call]) -> bool:
    """Return whether both have the same steps, in any order."""
    if len(plan) != len(gold):
        return False
    return any(
        all(_same(plan[order[n]], each, order) for n, each in enumerate(gold))
        for order in _orders(len(gold))
    )


def _same(one: Call, gold: Call, order: Sequence[int]) -> bool:
    """Compare two steps; `order` gives for each step of the gold that of the plan."""
    refs = {name: (order[number], path) for name, (number, path) in gold.refs.items()}
    return one.tool == gold.tool and one.refs == refs and _plain(one.args) == _plain(gold.args)


def _reads(reads: Sequence[Call], gold: Sequence[Call]) -> bool:
    """Return whether each read of `gold` is there, or one that asks for more rows."""
    if len(reads) != len(gold):
        return False
    return any(
        all(
            reads[order[n]].tool == each.tool
            and _plain(reads[order[n]].args).items() <= _plain(each.args).items()
            for n, each in enumerate(gold)
        )
        for order in _orders(len(gold))
    )


def _plain(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as they are compared: free text without case, lists as sets."""
    return {
        name: _comparable(value)
        for name, value in args.items()
        if not (name == "limit" and value in _UNLIMITED)
    }


def _comparable(value: Json) -> object:
    if isinstance(value, list):
        return frozenset(str(each).casefold() for each in value)
    return value.casefold() if isinstance(value, str) else value


def changes(plan: Sequence[Call], tools: Toolbox) -> bool:
    """Return whether a step of the plan may change something."""
    return any(
        call.tool != SQL and call.tool in tools and tools[call.tool].effects is not Effects.READ
        for call in plan
    )


def is_flip(plan: Sequence[Call], golds: Sequence[Sequence[Call]], tools: Toolbox) -> bool:
    """Return whether a wrong plan changes what is only to be read, or turns a truth round."""
    if golds and changes(plan, tools) and not any(changes(gold, tools) for gold in golds):
        return True
    return any(
        call.tool == wanted.tool
        and isinstance(value, bool)
        and wanted.args.get(name) is (not value)
        for call in plan
        for name, value in call.args.items()
        for gold in golds
        for wanted in gold
    )
