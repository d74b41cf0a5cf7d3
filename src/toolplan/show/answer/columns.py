"""Columns of rows, and their kinds: constant, categories, numbers, dates, identities.

The kind depends on the values. The hints of the schema add facts that values do not show: a unit,
the order of an enum, that a text is an identity.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import date
from enum import Enum, auto
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from toolplan.plan.path import Json
from toolplan.show.answer.shape import Hints, Row

_MOST_CATEGORIES: Final = 12
_LONGEST_CATEGORY: Final = 40
_LARGEST: Final = 1e150  # squares of anything greater are not finite
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ].{0,35})?")
_MONTH = re.compile(r"\d{4}-\d{2}")
_IDENTITY = re.compile(r"(?i:(?:.*[_-])?(?:ids?|uuid))|.*[a-z]Ids?")


class Kind(Enum):
    """The kind of the values of a column."""

    IDENTITIES = auto()  # which are not counted
    NUMBERS = auto()
    DATES = auto()
    CATEGORIES = auto()  # few values in many rows
    OTHER = auto()  # texts, mixtures
    NESTED = auto()
    CONSTANT = auto()
    EMPTY = auto()


class Column(Struct, frozen=True):
    """A field over all rows; `at` are the indexes of the rows that have a value.

    `numbers` and `days` are the values of columns of these kinds, `counts` how often each category
    occurs, most frequent first; `value` is set for a constant column. `is_unique`: each row has an
    identity of its own.
    """

    name: str
    kind: Kind
    unit: str = ""
    numbers: tuple[float, ...] = ()
    days: tuple[date, ...] = ()
    at: tuple[int, ...] = ()
    counts: tuple[tuple[bool | str, int], ...] = ()
    value: Json = None
    is_unique: bool = False


def columns_of(rows: Sequence[Row], hints: Hints) -> tuple[Column, ...]:
    """Return the columns of `rows`, in the order of their first occurrence."""
    names = dict.fromkeys(name for row in rows for name in row)
    return tuple(
        _column(name, [row.get(name) for row in rows], hints.inner(name)) for name in names
    )


def day_of(text: Json) -> date | None:
    """Return the day of an ISO 8601 date or date-time, or the first of a month `2025-10`."""
    if not isinstance(text, str):
        return None
    if _MONTH.fullmatch(text):
        text += "-01"
    elif not _DATE.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None


def _column(name: str, values: Sequence[Json], hints: Hints) -> Column:
    at = tuple(row for row, value in enumerate(values) if value is not None)
    given = [values[row] for row in at]
    column = Column(name, Kind.OTHER, hints.unit, at=at)
    kinds = {type(value) for value in given}
    numbers = tuple(value for value in given if isinstance(value, int | float))
    if not given or kinds & {list, dict}:
        return replace(column, kind=Kind.NESTED if given else Kind.EMPTY)
    is_finite = all(abs(number) <= _LARGEST for number in numbers)  # false for NaN, too
    is_same = len(kinds) == 1 and all(value == given[0] for value in given)
    if is_same and len(given) == len(values) > 1 and (is_finite or kinds == {int}):
        return replace(column, kind=Kind.CONSTANT, value=given[0])
    if kinds == {bool}:
        return replace(column, kind=Kind.CATEGORIES, counts=_counts(given, ()))
    is_identity = hints.refers or _IDENTITY.fullmatch(name) is not None
    if kinds <= {int, float} and not is_identity:
        return replace(column, kind=Kind.NUMBERS, numbers=numbers) if is_finite else column
    days = tuple(day for value in given if (day := day_of(value)) is not None)
    if len(days) == len(given):
        return replace(column, kind=Kind.DATES, days=days)
    if not kinds <= {int, float} and kinds != {str}:
        return column
    distinct = {str(value) for value in given}
    is_short = kinds == {str} and all(0 < len(text) <= _LONGEST_CATEGORY for text in distinct)
    is_unique = len(distinct) == len(values)
    is_few = len(distinct) <= min(_MOST_CATEGORIES, len(given) // 2)
    if not is_identity and is_short and (is_few or (hints.values and len(given) > 2)):
        return replace(column, kind=Kind.CATEGORIES, counts=_counts(given, hints.values))
    if is_identity or (is_short and is_unique):
        return replace(column, kind=Kind.IDENTITIES, is_unique=is_unique)
    return column


def _counts(values: Sequence[Json], order: Sequence[str]) -> tuple[tuple[bool | str, int], ...]:
    """Count texts and booleans, most frequent first; equal counts in `order`."""
    counted = Counter(value for value in values if isinstance(value, bool | str))
    places = {value: at for at, value in enumerate(order)}
    ranked = sorted(counted, key=lambda v: (-counted[v], places.get(str(v), len(places)), str(v)))
    return tuple((value, counted[value]) for value in ranked)
