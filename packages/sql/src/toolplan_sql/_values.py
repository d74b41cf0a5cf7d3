"""Values against column types: the types that rows may be read as, and whether they fit.

Types are read from the values alone, because a call of the tool gets no schemas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from decimal import Context, Decimal
from typing import Final, NamedTuple

from toolplan.plan.path import Json
from toolplan_sql._times import leaves, moment
from toolplan_sql._types import (
    MAX_COLUMNS,
    MAX_NESTING,
    MISSING,
    ColumnType,
    DecimalOf,
    ListOf,
    MapOf,
    Misfit,
    Scalar,
    StructOf,
    clash,
    converter,
    is_partial,
    parts_of,
    refined,
)

_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
MOST_IN_DOUBLE: Final = 2**53
"""Largest integer up to which a double represents every integer."""

_BIGINT: Final = range(-(2**63), 2**63)
_HUGEINT: Final = range(-(2**127) + 1, 2**127)
_DIGITS: Final = 38
_AS_WRITTEN: Final = Context(prec=400)


class Use(NamedTuple):
    """How a statement uses objects.

    Attributes:
        fields: it names fields of objects.
        keys: it calls functions that look at all the keys of an object.
        entries: it calls functions that take an object as pairs of key and value.
    """

    fields: bool = False
    keys: bool = False
    entries: bool = False


UNSEEN: Final[tuple[ColumnType, ...]] = (
    Scalar.UNKNOWN,
    Scalar.DATE,
    Scalar.DATE_TIME,
    Scalar.NUMBER,
    Scalar.STRING,
    ListOf(Scalar.STRING),
    MapOf(Scalar.JSON),
)
"""How a column without any value may be read: as the first of these that the statement takes."""


AS_ENTRIES: Final[tuple[ColumnType, ...]] = tuple(
    MapOf(each) for each in (Scalar.JSON, Scalar.NUMBER, Scalar.STRING)
)
"""How a column of any JSON may be read by a statement that takes its objects as entries."""


def table_rows(value: Json) -> list[dict[str, Json]] | None:
    """Return the rows of a table, None where `value` is none.

    A text is one row, and a list of texts one each, with the columns `text` and `index`. Rows that
    are null are omitted: a call of a step with `on_error: continue` failed.
    """
    if isinstance(value, str):
        value = [value]
    rows: list[dict[str, Json]] = []
    for index, row in enumerate(value if isinstance(value, list) else (0,)):
        match row:
            case dict():
                rows.append(row)
            case str():
                rows.append({"text": row, "index": index})
            case None:
                pass
            case _:
                return None
    return rows


def skipped(tables: Mapping[str, Json]) -> dict[str, Json]:
    """Return the number of null rows of each table that has any."""
    lists = {name: rows for name, rows in tables.items() if isinstance(rows, list)}
    return {name: rows.count(None) for name, rows in lists.items() if None in rows}


def readings(values: Sequence[Json], use: Use) -> tuple[ColumnType, ...]:
    """Return the types that a column with `values` may have, the most specific first.

    The statement decides: the first type that it can be bound with is taken. Text that looks like
    dates in every row is read as dates; where the statement treats it as text, as text. None fits
    where a statement reads both fields and all keys of objects that have different keys.
    """
    first = value_type(values)
    match first:
        case Scalar.UNKNOWN:
            return UNSEEN
        case Scalar.JSON:
            return (first, *maps_of(values, use))
        case Scalar.DATE | Scalar.DATE_TIME:
            return first, Scalar.STRING, Scalar.JSON
        case _ if not is_partial(first):
            return (first, *maps_of(values, use), Scalar.JSON)
        case _:
            return _readings_of_partial(first, values, use)


def maps_of(values: Sequence[Json], use: Use) -> tuple[ColumnType, ...]:
    """Return the reading of objects as maps, where the statement takes their entries."""
    if not use.entries:
        return ()
    found = value_type(values, maps=True)
    return (found,) if any(isinstance(part, MapOf) for part in parts_of(found)) else ()


def _readings_of_partial(
    first: ColumnType, values: Sequence[Json], use: Use
) -> tuple[ColumnType, ...]:
    """Return the readings of objects that have different keys: each keeps its own."""
    maps = value_type(values, maps=True)
    keeps_types = Scalar.JSON not in parts_of(maps)
    if use.fields:  # of text that is JSON, `o.name` would be text in quotes
        if use.keys or use.entries:
            return (maps,) if keeps_types or use.entries else ()
        return (first,)
    whole = (maps, Scalar.JSON) if keeps_types else (Scalar.JSON, maps)
    return whole if use.keys else (*whole, first)


def value_type(values: Iterable[Json], depth: int = 0, *, maps: bool = False) -> ColumnType:
    """Return the narrowest type that holds all of `values`; nulls do not count.

    With `maps`, all objects are read as maps.
    """
    seen = [value for value in values if value is not None]
    kinds = set(map(type, seen))
    if not kinds:
        return Scalar.UNKNOWN
    if kinds == {bool}:
        return Scalar.BOOLEAN
    if kinds <= {int, float}:
        return number_type(v for v in seen if isinstance(v, int | float)) or Scalar.JSON
    if kinds == {str}:
        texts = [value for value in seen if isinstance(value, str)]
        if all(map(_is_date, texts)):
            return Scalar.DATE
        return Scalar.DATE_TIME if all(map(moment, texts)) else Scalar.STRING
    if depth >= MAX_NESTING:
        return Scalar.JSON
    if kinds == {list}:
        lists = [value for value in seen if isinstance(value, list)]
        item = value_type((inner for each in lists for inner in each), depth + 1, maps=maps)
        return ListOf(Scalar.JSON if item is Scalar.UNKNOWN else item)
    if kinds == {dict}:
        objects = [value for value in seen if isinstance(value, dict)]
        if not maps:
            return _struct_reading(objects, depth)
        inner = [value for each in objects for value in each.values()]
        found = value_type(inner, depth + 1, maps=True)
        return MapOf(Scalar.JSON if found is Scalar.UNKNOWN else found)
    return Scalar.JSON


def number_type(values: Iterable[float]) -> ColumnType | None:
    """Return the type that holds all of `values` exactly, or None."""
    held = list(values)
    whole = [value for value in held if isinstance(value, int)]
    fractions = {value for value in held if isinstance(value, float)}
    least, most = min(whole, default=0), max(whole, default=0)
    if not fractions:
        if least in _BIGINT and most in _BIGINT:
            return Scalar.INTEGER
        return Scalar.HUGE if least in _HUGEINT and most in _HUGEINT else None
    if max(-least, most) <= MOST_IN_DOUBLE:
        return Scalar.NUMBER
    return decimal_type({*whole, *fractions})


def decimal_type(values: Iterable[float]) -> DecimalOf | None:
    """Return the decimals that hold all of `values` as they are written, or None."""
    before = after = 0
    for value in values:
        _, digits, exponent = Decimal(repr(value)).normalize(_AS_WRITTEN).as_tuple()
        if not isinstance(exponent, int):
            return None
        after = max(after, -exponent)
        before = max(before, len(digits) + exponent)
    return DecimalOf(after) if before + after <= _DIGITS else None


def numbers(values: Sequence[Json]) -> Iterator[tuple[int, float]]:
    """Yield the numbers in `values`, at any depth, each with the index of its row."""
    for row, part in leaves(values):
        if isinstance(part, int | float) and not isinstance(part, bool):
            yield row, part


def _struct_reading(values: Sequence[dict[str, Json]], depth: int) -> ColumnType:
    names = dict.fromkeys(key for value in values for key in value)
    if not names or len(names) > MAX_COLUMNS or clash(names, ""):
        return Scalar.JSON
    if MISSING in names or "" in names:  # SQL has no such names
        return Scalar.JSON
    fields = ((n, value_type([value.get(n) for value in values], depth + 1)) for n in names)
    partial = any(len(value) < len(names) for value in values)
    return StructOf(
        tuple((n, Scalar.JSON if t is Scalar.UNKNOWN else t) for n, t in fields), partial
    )


def marked(column: ColumnType, values: Iterable[Json]) -> ColumnType:
    """Return `column` as it holds `values`, which fit it.

    Structs are partial of which some values lack fields, and numbers have the type that holds them.
    """

    def held(part: Scalar | DecimalOf, seen: list[Json]) -> ColumnType:
        if part not in (Scalar.INTEGER, Scalar.NUMBER) or not seen:
            return part
        numeric = [value for value in seen if isinstance(value, int | float)]
        whole = part is Scalar.INTEGER
        return number_type(map(int, numeric) if whole else numeric) or Scalar.JSON

    return refined(column, values, held)


def _is_date(text: str) -> bool:
    """Return whether `text` is a day as YYYY-MM-DD; Python reads other forms, too."""
    with suppress(ValueError):
        return _DATE.fullmatch(text) is not None and bool(date.fromisoformat(text))
    return False


def misfit(values: Sequence[Json], column: ColumnType) -> int | None:
    """Return the index of the first of `values` that `column` cannot hold, or None."""
    stored = converter(column, _stored, all_fields=True)
    for row, value in enumerate(values):
        try:
            stored(value)
        except Misfit:
            return row
    return None


def storable(values: Sequence[Json], column: ColumnType) -> list[Json]:
    """Return `values` with every field that `column` has, so that a strict reader takes them."""
    return list(map(converter(column, _stored, all_fields=True), values))


def _stored(part: Scalar | DecimalOf) -> Callable[[Json], Json]:
    """Return the conversion of values to the stored form of type `part`; it may raise `Misfit`."""

    def stored(value: Json) -> Json:
        match part, value:
            case (Scalar.JSON | Scalar.UNKNOWN, _) | (Scalar.BOOLEAN, bool()):
                return value
            case _, bool():
                raise Misfit
            case Scalar.INTEGER | Scalar.HUGE, int() | float() if value % 1 == 0:
                if int(value) in _HUGEINT:
                    return int(value)
            case (Scalar.NUMBER, int() | float()) | (Scalar.STRING, str()):
                return value
            case DecimalOf(), int() | float():  # as text: a float may be written with an exponent
                return format(Decimal(repr(value)), "f")
            case Scalar.DATE, str() if _is_date(value):
                return value
            case Scalar.DATE_TIME, str() if found := moment(value):
                return found.clock.isoformat()
            case _:
                pass
        raise Misfit

    return stored


def shown(value: Json) -> str:
    """Return `value` as a message quotes it: short, on one line."""
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
