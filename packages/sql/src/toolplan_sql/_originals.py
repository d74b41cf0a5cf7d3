"""What goes into a statement comes out as it was written: numbers and times of the tables.

A column that a statement only passes on is stored as JSON where its type could change the text of
a value. A column that it compares or computes with gets a type that holds each value exactly, or
the call fails and names the value. Results are then written as the tables wrote these values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Final, NamedTuple, TypeAlias

from toolplan.plan.path import Json
from toolplan_sql._faults import SqlFault
from toolplan_sql._functions import Call
from toolplan_sql._times import (
    Moment,
    disordered,
    looks_like_times,
    moments,
    needs_moments,
    zone_of,
    zoned_literals,
)
from toolplan_sql._types import (
    ColumnType,
    DecimalOf,
    Scalar,
    Table,
    converter,
    parts_of,
    refined,
)
from toolplan_sql._values import MOST_IN_DOUBLE, decimal_type, numbers, shown

Name: TypeAlias = tuple[str, str]
"""A table and a column, as they are written."""

_TIMES: Final[frozenset[ColumnType]] = frozenset({Scalar.DATE_TIME, Scalar.INSTANT})
_ROUNDING: Final = frozenset({"DOUBLE", "FLOAT"})
_EXACT: Final = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL\b.*")
_INTEGERS: Final[frozenset[ColumnType]] = frozenset({Scalar.INTEGER, Scalar.HUGE})
_ROUNDED: Final[frozenset[ColumnType | type[DecimalOf]]] = frozenset(
    {Scalar.INTEGER, Scalar.HUGE, DecimalOf}
)
_REWRITTEN: Final[frozenset[ColumnType | type[DecimalOf]]] = frozenset(
    {*_TIMES, *_ROUNDED, Scalar.NUMBER}
)
_AS_TEXT: Final = "Declare it as 'string' in 'columns' to read it as text."


class Column(NamedTuple):
    """A column of a table: the types that it may be read as, and its values, one for each row."""

    name: Name
    readings: tuple[ColumnType, ...]
    values: Sequence[Json]
    is_declared: bool = False
    is_computed: bool = True
    is_met: bool = True

    @property
    def words(self) -> str:
        return f"column {self.name[1]!r} of {self.name[0]!r}"


def passed_on(column: Column) -> tuple[ColumnType, ...]:
    """Return the readings of a column that a statement only passes on: its values stay as text."""
    parts = {part for each in column.readings[:1] for part in parts_of(each)}
    changes = _TIMES & parts or any(isinstance(part, DecimalOf) for part in parts)
    return (Scalar.JSON,) if changes or _odd_numbers([column]) else column.readings


class Originals:
    """The numbers and times of the columns that a statement compares or computes with."""

    def __init__(
        self, columns: Iterable[Column], meeting: Callable[[Name], frozenset[Name]]
    ) -> None:
        """Take `columns`; `meeting` returns those that stand in one expression with a column.

        Raises:
            SqlFault: a value cannot be held exactly, or compared with another.
        """
        self._columns = {each.name: each for each in columns}
        self._meeting = meeting
        self._times: dict[Name, list[Moment]] = {}
        for name, column in self._columns.items():
            _require_numbers(column)
            if column.readings and Scalar.DATE_TIME in parts_of(column.readings[0]):
                self._times[name] = list(moments(column.values))
            else:
                _require_times(column)
        self.mixed = frozenset(name for name in self._times if self._has_zones(name))
        """The columns whose times meet others of another zone."""

    def _group(self, name: Name) -> list[Name]:
        met = self._meeting(name)
        return [
            each
            for each in self._times
            if self._columns[each].is_met and (each == name or each in met)
        ]

    def _has_zones(self, name: Name) -> bool:
        """Return whether the times that meet in this column state different zones.

        Raises:
            SqlFault: some state one, and others none.
        """
        listed = [(each, time) for each in self._group(name) for time in self._times[each]]
        zoned = next((each for each in listed if each[1].offset is not None), None)
        naive = next((each for each in listed if each[1].offset is None), None)
        if zoned and naive:
            raise SqlFault(
                f"Times with a zone and times without one cannot be compared:"
                f" {self._place(*zoned)}, {self._place(*naive)}. {_AS_TEXT}"
            )
        return len({time.offset for _, time in listed}) > 1

    def _place(self, name: Name, time: Moment) -> str:
        return f"the {self._columns[name].words} holds {shown(time.text)} in row {time.row}"

    def readings(self, as_moments: frozenset[Name]) -> dict[Name, tuple[ColumnType, ...]]:
        """Return the readings of each column, the times of `as_moments` as moments."""
        found: dict[Name, tuple[ColumnType, ...]] = {}
        for name, column in self._columns.items():
            readings = column.readings
            if name in as_moments:
                readings = (_with(readings[0], {Scalar.DATE_TIME}, Scalar.INSTANT), *readings[1:])
            elif readings and readings[0] is Scalar.NUMBER and (large := self._large(name)):
                decimal = decimal_type(value for _, value in numbers(column.values))
                if decimal is None:
                    raise SqlFault(
                        f"The {column.words} holds numbers with fractions that cannot be"
                        f" compared exactly with {large}."
                    )
                readings = (decimal, *readings[1:])
            found[name] = readings
        return found

    def _large(self, name: Name) -> str | None:
        """Return an integer that a double would round, in a column that meets the one of `name`."""
        for each in self._meeting(name) - {name}:
            column = self._columns.get(each)
            if column is not None and (found := _large_of(column)) is not None:
                return f"{found[1]}, which the {column.words} holds in row {found[0]}"
        return None

    @property
    def zoned(self) -> frozenset[Name]:
        """The columns whose times all state a zone."""
        return frozenset(
            name
            for name, times in self._times.items()
            if all(time.offset is not None for time in times)
        )

    def as_doubles(self, tables: Mapping[str, Mapping[str, ColumnType]]) -> dict[str, Table] | None:
        """Return `tables` with doubles for the columns of integers that doubles round, if any."""
        large = {name for name, each in self._columns.items() if _large_of(each) is not None}
        if not large:
            return None

        def reading(name: Name, each: ColumnType) -> tuple[ColumnType, ...]:
            return (_with(each, _ROUNDED, Scalar.NUMBER) if name in large else each,)

        return {
            table: Table({key: reading((table, key), each) for key, each in columns.items()})
            for table, columns in tables.items()
        }

    def require_exact(self, calls: Iterable[Call], others: Iterable[Call]) -> None:
        """Raise where a statement computes a double from integers that a double rounds.

        `calls` are those of the statement as it runs, `others` those where such columns are
        doubles. What makes doubles only in the first does so from these columns.

        Raises:
            SqlFault: it does; it names the column and the value.
        """
        if not roundings(calls) - roundings(others):
            return
        for column in self._columns.values():
            if (large := _large_of(column)) is not None:
                raise SqlFault(
                    f"The {column.words} holds {large[1]} in row {large[0]}, which a number"
                    " with a fraction would round: compute with whole numbers (sum, //), or pass it"
                    " as CAST(… AS DECIMAL(38, 4))."
                )

    def require_clocks(self, calls: Sequence[Call]) -> None:
        """Raise where a statement, bound with times as clocks show them, would misread them.

        Raises:
            SqlFault: it compares them with a literal of another zone; or zones differ, and clocks
                order the times otherwise than the moments that they say.
        """
        for text in zoned_literals(calls):
            zones = {time.offset for times in self._times.values() for time in times}
            literal = next(moments([text]), None)
            if zones and (literal is None or zones != {literal.offset}):
                raise SqlFault(
                    f"The literal {text!r} states the zone {zone_of(text)!r}, which not all of the"
                    " times do that the statement reads; write it as they are written."
                )
        between = needs_moments(calls)
        for name in self.mixed:
            group = self._group(name)
            listed = [time for each in group for time in self._times[each]]
            owners = {id(time): each for each in group for time in self._times[each]}
            found = disordered(listed)
            if found is None and between:
                first = listed[0]
                found = first, next(time for time in listed if time.offset != first.offset)
            if found:
                places = " and ".join(self._place(owners[id(time)], time) for time in found)
                raise SqlFault(
                    f"Times of different zones are compared both by moment and by day or hour:"
                    f" {places}. Ask for one of them only."
                )

    def writer(
        self, column: ColumnType | None, sources: frozenset[Name] | None
    ) -> Callable[[Json], Json] | None:
        """Return what writes a value of a column of the result, None where it is as it is.

        `sources` are the columns that it is made of, None where that is not known.
        """
        if column is None or not _REWRITTEN & set(map(_kind, parts_of(column))):
            return None
        of = [name for name in self._columns if sources is None or name in sources]
        times = [time for name in of for time in self._times.get(name, ())]
        return _writer(column, _odd_numbers(self._columns[name] for name in of), times)

    @property
    def are_plain(self) -> bool:
        """Whether no time and no number of a result can differ from how the tables write it."""
        return not self._times and not _odd_numbers(self._columns.values())


def roundings(calls: Iterable[Call]) -> Counter[Call]:
    """Return those of `calls` that make doubles of integers or decimals, each with its count."""
    made = (call for call in calls if call.result in _ROUNDING)
    return Counter(call for call in made if any(map(_EXACT.fullmatch, call.types)))


def _large_of(column: Column, most: int = MOST_IN_DOUBLE) -> tuple[int, float] | None:
    """Return the row and value of an integer in `column` beyond `most`, or None."""
    found = (each for each in numbers(column.values) if isinstance(each[1], int))
    return next((each for each in found if abs(each[1]) > most), None)


def _odd_numbers(columns: Iterable[Column]) -> dict[tuple[bool, float], float]:
    """Return the numbers that the type of their column spells differently: 1 as 1.0, or 1.0 as 1.

    The key is whether that type is one of integers, and the number as it comes from there.
    """
    odd: dict[tuple[bool, float], float] = {}

    def take(part: Scalar | DecimalOf, values: list[Json]) -> ColumnType:
        whole = {v for v in values if type(v) is int}
        floats = {v for v in values if isinstance(v, float)}
        if part in _INTEGERS:
            odd.update(((True, v), v) for v in floats - whole)
        elif part is Scalar.NUMBER or isinstance(part, DecimalOf):
            odd.update(((False, v), v) for v in whole)
        if isinstance(part, DecimalOf):  # large ones come as integers
            large = (v for v in floats if abs(v) > MOST_IN_DOUBLE)
            odd.update(((False, int(Decimal(repr(v)))), v) for v in large)
        return part

    for column in columns:
        for each in column.readings[:1]:
            refined(each, column.values, take)
    return odd


def _kind(column: ColumnType) -> ColumnType | type[DecimalOf]:
    return DecimalOf if isinstance(column, DecimalOf) else column


def _writer(
    column: ColumnType, odd: Mapping[tuple[bool, float], float], times: Sequence[Moment]
) -> Callable[[Json], Json]:
    """Return what writes a value of the type `column` as the tables write it."""
    texts: dict[str, set[str]] = {}
    for time in times:
        for text in (time.clock.isoformat(), f"{time.instant.isoformat()}Z"):
            texts.setdefault(text, set()).add(time.text)
    suffixes = {time.suffix for time in times}
    suffix = suffixes.pop() if len(suffixes) == 1 else ""

    def written(value: Json) -> Json:
        # a time that no table holds was computed; it states the zone of those it is made of
        if not isinstance(value, str):
            return value
        found = texts.get(value, {value if value.endswith("Z") else value + suffix})
        if len(found) > 1:
            ways = " and ".join(map(repr, sorted(found)[:2]))
            raise SqlFault(f"One time of the result is written in several ways: {ways}. {_AS_TEXT}")
        return next(iter(found))

    def writer(part: Scalar | DecimalOf) -> Callable[[Json], Json]:
        if part in _TIMES:
            return written
        if _kind(part) not in _REWRITTEN:
            return lambda value: value
        whole = part in _INTEGERS
        return lambda v: odd.get((whole, v), v) if isinstance(v, int | float) else v

    return converter(column, writer)


def _with(
    column: ColumnType, old: Collection[ColumnType | type[DecimalOf]], new: Scalar
) -> ColumnType:
    """Return `column` with `new` in place of each part without parts that is one of `old`."""
    return refined(column, (), lambda part, _: new if _kind(part) in old else part)


def _require_numbers(column: Column) -> None:
    """Raise where a number of the column cannot be held exactly.

    Raises:
        SqlFault: it cannot, and why.
    """
    if (large := _large_of(column, 2**127 - 1)) is not None:
        raise SqlFault(
            f"The {column.words} holds {shown(large[1])} in row {large[0]}, which is beyond"
            " 128 bits: it can be passed on, but not be compared or computed with."
        )
    if column.readings and column.readings[0] is Scalar.JSON:
        whole = _large_of(column)
        part = next(((r, v) for r, v in numbers(column.values) if isinstance(v, float)), None)
        if whole and part and all(type(v) in (int, float, type(None)) for v in column.values):
            raise SqlFault(
                f"The {column.words} holds {whole[1]} in row {whole[0]} and {part[1]} in row"
                f" {part[0]}, which together need more than 38 digits."
            )


def _require_times(column: Column) -> None:
    """Raise where the texts of a column are times, but not such as a database can compare."""
    texts = [(row, value) for row, value in enumerate(column.values) if isinstance(value, str)]
    if not texts or not column.readings or column.readings[0] is not Scalar.STRING:
        return
    if not looks_like_times(text for _, text in texts) or column.is_declared:
        return
    is_before_christ = any(text.startswith("-") for _, text in texts)
    if len({(len(text), zone_of(text)) for _, text in texts}) == 1 and not is_before_christ:
        return  # as texts, they are in the order of the times
    odd = next((each for each in texts if not any(moments([each[1]]))), None)
    if odd is None:
        return
    row, text = odd
    raise SqlFault(
        f"The {column.words} holds {shown(text)} in row {row}, a time that cannot be"
        f" computed with exactly. {_AS_TEXT}"
    )
