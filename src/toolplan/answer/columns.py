"""Columns of rows, and their kinds: constant, categories, numbers, dates, identities.

The kind depends on the values. The hints of the schema add what values do not show: a unit, the
order of an enum, that a text is an identity.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final, TypeAlias

from msgspec import Struct

from toolplan.answer.shape import Hints, Row
from toolplan.path import Json

_MOST_CATEGORIES: Final = 12
_LONGEST_CATEGORY: Final = 40
_LARGEST: Final = 1e150  # squares of anything greater are not finite
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ].{0,35})?")
_MONTH = re.compile(r"\d{4}-\d{2}")
_IDENTITY = re.compile(r"(?i:(?:.*[_-])?(?:ids?|uuid))|.*[a-z]Ids?")


class Empty(Struct, frozen=True):
    """No row has a value."""


class Constant(Struct, frozen=True):
    """Every row has this value."""

    value: bool | int | float | str


class Categories(Struct, frozen=True):
    """Few values in many rows, with their counts, most frequent first."""

    counts: tuple[tuple[bool | str, int], ...]
    missing: int


class Numbers(Struct, frozen=True):
    """Finite numbers; `at` are the indexes of their rows."""

    numbers: tuple[float, ...]
    at: tuple[int, ...]


class Dates(Struct, frozen=True):
    """Calendar days, in the order of the rows."""

    days: tuple[date, ...]


class Identities(Struct, frozen=True):
    """Identities, which are not counted."""

    unique: bool


class Free(Struct, frozen=True):
    """Texts, nested values, mixtures."""

    nested: bool


Reading: TypeAlias = Empty | Constant | Categories | Numbers | Dates | Identities | Free


class Column(Struct, frozen=True):
    """A field over all rows."""

    name: str
    reading: Reading
    unit: str = ""


def columns_of(rows: Sequence[Row], hints: Hints) -> tuple[Column, ...]:
    """Return the columns of `rows`, in the order of their first occurrence."""
    names = dict.fromkeys(name for row in rows for name in row)
    return tuple(
        _column(name, [row.get(name) for row in rows], hints.inner(name)) for name in names
    )


def is_identity(name: str, hints: Hints) -> bool:
    """Return whether a field of this name has identities."""
    return hints.refers or _IDENTITY.fullmatch(name) is not None


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


def counts_of(values: Sequence[Json], order: Sequence[str] = ()) -> Mapping[bool | str, int]:
    """Count texts and booleans, most frequent first; equal counts in `order`."""
    counted = Counter(value for value in values if isinstance(value, bool | str))
    places = {value: at for at, value in enumerate(order)}
    ranked = sorted(counted, key=lambda v: (-counted[v], places.get(str(v), len(places)), str(v)))
    return {value: counted[value] for value in ranked}


def _column(name: str, values: list[Json], hints: Hints) -> Column:
    return Column(name, _read(name, values, hints), hints.unit)


def _read(name: str, values: list[Json], hints: Hints) -> Reading:
    given = [value for value in values if value is not None]
    if not given:
        return Empty()
    kinds = {type(value) for value in given}
    if kinds & {list, dict}:
        return Free(nested=True)
    if len(given) == len(values) and (constant := _constant(given, kinds)) is not None:
        return constant
    if kinds == {bool}:
        return Categories(tuple(counts_of(given).items()), len(values) - len(given))
    if kinds <= {int, float}:
        return _read_numbers(name, values, hints)
    return _read_texts(name, values, given, hints) if kinds == {str} else Free(nested=False)


def _constant(given: Sequence[Json], kinds: set[type]) -> Constant | None:
    first = given[0]
    if len(given) < 2 or len(kinds) != 1 or not isinstance(first, bool | int | float | str):
        return None
    if isinstance(first, float) and not math.isfinite(first):
        return None
    return Constant(first) if all(value == first for value in given) else None


def _read_numbers(name: str, values: list[Json], hints: Hints) -> Reading:
    if is_identity(name, hints):
        numbered = [value for value in values if value is not None]
        return Identities(unique=len(set(map(repr, numbered))) == len(values))
    at: list[int] = []
    numbers: list[float] = []
    for row, value in enumerate(values):
        if isinstance(value, int | float) and abs(value) <= _LARGEST:  # false for NaN, too
            at.append(row)
            numbers.append(value)
    return Numbers(tuple(numbers), tuple(at)) if numbers else Free(nested=False)


def _read_texts(name: str, values: Sequence[Json], given: Sequence[Json], hints: Hints) -> Reading:
    days = [day_of(value) for value in given] if day_of(given[0]) else []
    if days and all(days):
        return Dates(tuple(day for day in days if day is not None))
    distinct = {value for value in given if isinstance(value, str)}
    if is_identity(name, hints):
        return Identities(unique=len(distinct) == len(values))
    few = len(distinct) <= min(_MOST_CATEGORIES, len(given) // 2)
    short = all(0 < len(value) <= _LONGEST_CATEGORY for value in distinct)
    if short and (few or (hints.values and len(given) > 2)):
        counted = counts_of(given, hints.values)
        return Categories(tuple(counted.items()), len(values) - len(given))
    if len(distinct) == len(values) and short:
        return Identities(unique=True)
    return Free(nested=False)
