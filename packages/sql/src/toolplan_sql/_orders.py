"""The order of texts that are numbers or dates: `'10'` comes before `'9'` among texts.

Which columns a statement orders is read from its syntax tree; whether texts have another order
than what they say, from the values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from datetime import datetime
from decimal import Decimal
from functools import partial
from itertools import pairwise, product
from typing import Final, NamedTuple, TypeAlias

from toolplan_sql._statement import (
    Node,
    arguments_of,
    node_at,
    nodes_at,
    nodes_of,
    operands_of,
    string_of,
    text_of,
)

_COMPARES: Final = re.compile(r"COMPARE_(LESS|GREATER|BETWEEN)\w*")
_RANKS: Final = re.compile(
    r"((list|array)_)?(min|max|median|mad|\w*sort)|greatest|least|quantile(_cont|_disc)?"
)
_RANKS_BY: Final = re.compile(r"arg_?(min|max)\w*|(min|max)_by")
_PASSES_ON: Final = re.compile(
    r"((list|array)_)?(min|max|first|last|mode|any_value|sort|reverse_sort|distinct|agg|value)|list"
    r"|arg_?(min|max)\w*|(min|max)_by|(first|last|nth)_value|lag|lead|coalesce|ifnull|nullif|if"
    r"|greatest|least|unnest|struct_pack|row|(list|array|struct)_extract|[lr]?trim|upper|lower"
)
_NUMBER: Final = re.compile(
    r"([$€£¥]?)\s?([-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\s?(%|[a-z°µ]{1,4})?",
    re.ASCII | re.IGNORECASE,
)
_DAYS: Final = (
    "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d",
    "%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y",
    "%d. %B %Y", "%d-%b-%Y"
)  # fmt: skip
_FORMS: Final = (
    *(f"{day}{time}" for day, time in product(_DAYS, ("", " %H:%M", " %H:%M:%S"))),
    "%m/%Y", "%m.%Y", "%m-%Y", "%b %Y", "%B %Y", "%I:%M %p"
)  # fmt: skip

_Pair: TypeAlias = tuple[tuple[Decimal, str], tuple[Decimal, str]]
Bounds: TypeAlias = frozenset[str] | None
"""The literals that values are compared with; None where they are compared with each other."""


class Order(NamedTuple):
    """Two texts, the first of which comes first among texts only, and how they are read."""

    first: str
    second: str
    reading: str


def orderings(tree: Node) -> Iterator[tuple[Node, Bounds]]:
    """Yield the expressions that a statement puts in an order, each with its bounds."""
    for expression, bounds in _ordered(tree):
        yield from ((each, bounds) for each in passed_on(expression))


def _ordered(tree: Node) -> Iterator[tuple[Node, Bounds]]:
    for node in nodes_of(tree):
        name = text_of(node, "function_name").casefold()
        for key in ("orders", "arg_orders"):
            yield from ((node_at(each, "expression"), None) for each in nodes_at(node, key))
        if _RANKS.fullmatch(name):
            yield from ((each, None) for each in arguments_of(node))
        elif _RANKS_BY.fullmatch(name):
            yield from ((each, None) for each in arguments_of(node)[1:])
        elif _COMPARES.fullmatch(text_of(node, "type")):
            operands = operands_of(node)
            columns = [each for each in operands if each.get("class") == "COLUMN_REF"]
            texts = [text for each in operands if (text := string_of(each)) is not None]
            is_bound = len(columns) == 1 and len(texts) == len(operands) - 1
            yield from ((each, frozenset(texts) if is_bound else None) for each in columns)


def passed_on(expression: Node) -> Iterator[Node]:
    """Yield `expression`, and those within it whose values it gives as they are."""
    yield expression
    if _PASSES_ON.fullmatch(text_of(expression, "function_name").casefold()):
        for each in arguments_of(expression):
            yield from passed_on(each)


def misordered(texts: Collection[str], bounds: Bounds) -> Order | None:
    """Return two texts whose order is not that of the numbers or dates that all of them are."""
    listed = sorted({*texts, *(bounds or ())})
    for read, reading in _READINGS:
        keys: list[tuple[Decimal, str]] = []
        kinds: set[str] = set()
        for text in listed:
            if (found := read(text)) is None:
                break
            keys.append((found[0], text))
            kinds.add(found[1])
        if len(keys) < len(listed) or len(kinds) > 1:
            continue
        keys.sort()
        pairs = pairwise(keys) if bounds is None else _with(keys, bounds)
        for (least, first), (most, second) in pairs:
            if least < most and first > second:
                return Order(second, first, reading)
    return None


def _with(keys: list[tuple[Decimal, str]], bounds: frozenset[str]) -> Iterator[_Pair]:
    """Yield each of `keys` with each of those of `bounds`, in their order."""
    limits = [each for each in keys if each[1] in bounds]
    yield from ((min(pair), max(pair)) for pair in product(keys, limits))


def _as_number(text: str) -> tuple[Decimal, str] | None:
    """Return a number, and the currency and unit that stand with it."""
    if (found := _NUMBER.fullmatch(text.strip())) is None:
        return None
    currency, digits, unit = found.groups()
    return Decimal(digits.replace(",", "")), f"{currency}{unit}"


def _as_time(text: str, form: str) -> tuple[Decimal, str] | None:
    try:
        passed = datetime.strptime(text.strip(), form) - datetime.min
    except ValueError:
        return None
    return Decimal(passed.total_seconds()), ""


_READINGS: Final[list[tuple[Callable[[str], tuple[Decimal, str] | None], str]]] = [
    (_as_number, "a number, as by CAST(… AS DECIMAL(38, 4)) of its digits"),
    *((partial(_as_time, form=form), f"a time, as by strptime(…, {form!r})") for form in _FORMS),
]
