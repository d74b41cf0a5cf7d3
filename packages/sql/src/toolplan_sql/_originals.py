"""Numbers and times of the tables come out of a statement as they were written.

A column that a statement only passes on is stored as JSON where its type could change the text of
a value. A column that it compares or computes with gets a type that holds each value exactly, or
the call fails and names the value. Results are then written as the tables wrote these values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Final

from toolplan.plan.path import EVERY, Json
from toolplan_sql._faults import SqlFault
from toolplan_sql._functions import CAST, TRY_CAST, Call
from toolplan_sql._lineage import StatementLineage
from toolplan_sql._orders import misordered
from toolplan_sql._relations import Paths
from toolplan_sql._tables import Column, Name
from toolplan_sql._times import (
    CLOCK_TYPES,
    LIKE_A_TIME,
    Moment,
    disordered,
    measures_time,
    moments,
    reads_clocks_as_utc,
    zone_of,
)
from toolplan_sql._types import (
    ColumnType,
    DecimalOf,
    MapOf,
    Scalar,
    StructOf,
    Table,
    converter,
    parts_of,
    refined,
)
from toolplan_sql._values import MOST_IN_DOUBLE, decimal_type, numbers, shown

_ROUNDING: Final = frozenset({"DOUBLE", "FLOAT"})
_EXACT: Final = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL\b.*")
_NUMBER: Final = re.compile(r"[-+]?\d+(\.\d*)?", re.ASCII)
_READ_AS: Final = re.compile(rf"{_EXACT.pattern}|DOUBLE|BOOLEAN")
_CANONICAL: Final = re.compile(r"-?(0|[1-9]\d*)(\.\d*[1-9])?", re.ASCII)
_BOOLEAN: Final = re.compile("true|false")
_FINE_TIME: Final = re.compile(r":\d\d\.\d{6}\d*[1-9]", re.ASCII)
_INTEGERS: Final = frozenset[ColumnType]({Scalar.INTEGER, Scalar.HUGE})
_AS_TEXT: Final = "Declare it as 'string' in 'columns' to read it as text."
_IN_UTC: Final = "Give 'zone', as UTC, to read all times by the clocks of one zone."


class Originals:
    """The numbers and times of the columns that a statement reads.

    Of those that it only passes on, values stay as text where a type could change it.
    """

    def __init__(
        self,
        columns: Iterable[Column],
        names: Collection[Name],
        lineage: StatementLineage | None,
        *,
        is_in_zone: bool,
    ) -> None:
        """Take `columns`, of all those with `names`, and the lineage of the result if it is known.

        `is_in_zone`: all times that state a zone are those of one place.

        Raises:
            SqlFault: a value cannot be held exactly.
        """
        self._names = names
        self._lineage = lineage
        self._is_in_zone = is_in_zone
        used = frozenset(names) if lineage is None else self._named(lineage.computed)
        self._met = used if lineage is None else self._named(lineage.met)
        self._columns: dict[Name, Column] = {}
        self._passed_on: list[Column] = []
        self._times: dict[Name, list[Moment]] = {}
        for column in columns:
            name = column.name
            if name not in used:
                self._passed_on.append(column)
                continue
            self._columns[name] = column
            _require_numbers(column)
            if column.readings and Scalar.DATE_TIME in parts_of(column.readings[0]):
                self._times[name] = list(moments(column.values))
            else:
                _require_times(column)
                self._require_text_order(column)

    def _meeting(self, name: Name) -> frozenset[Name]:
        """Return the columns that stand in one expression with that of `name`; all if not known."""
        if self._lineage is None:
            return frozenset(self._names)
        table, key = name
        return self._named(self._lineage.meeting(frozenset({("tables", table, EVERY, key)})))

    def _require_text_order(self, column: Column) -> None:
        """Raise where the statement orders texts that have another order as what they say."""
        key = column.name[0], column.name[1].casefold()
        is_text = column.readings[:1] == (Scalar.STRING,) and not column.is_declared
        if not is_text or self._lineage is None or key not in self._lineage.ordered:
            return
        texts = [value for value in column.values if isinstance(value, str) and value.strip()]
        if (found := misordered(texts, self._lineage.ordered[key])) is not None:
            raise SqlFault(
                f"The statement orders the {column.words} as text, where {shown(found.first)} comes"
                f" before {shown(found.second)}. Read it as {found.reading}. {_AS_TEXT}"
            )

    def _named(self, paths: Paths) -> frozenset[Name]:
        """Return the columns at `paths`, all of a table where a path leads to the table."""
        read = {
            (str(table), *(str(each).casefold() for each in way[1:])) for _, table, *way in paths
        }
        return frozenset(
            (table, key)
            for table, key in self._names
            if (table,) in read or (table, key.casefold()) in read
        )

    def readings(self) -> dict[Name, tuple[ColumnType, ...]]:
        """Return the readings of each column: decimals where doubles would meet large integers."""
        kept = {each.name: _kept(each) for each in self._passed_on}
        return kept | {name: self._reading(each) for name, each in self._columns.items()}

    def _reading(self, column: Column) -> tuple[ColumnType, ...]:
        if column.readings[:1] != (Scalar.NUMBER,):
            return column.readings
        for name in self._meeting(column.name) - {column.name}:
            other = self._columns.get(name)
            large = None if other is None else _large_of(other)
            if other is None or large is None:
                continue
            decimal = decimal_type(value for _, value in numbers(column.values))
            if decimal is None:
                raise SqlFault(
                    f"The {column.words} holds numbers with fractions that cannot be compared"
                    f" exactly with {large[1]}, which the {other.words} holds in row {large[0]}."
                )
            return (decimal, *column.readings[1:])
        return column.readings

    def as_doubles(self, tables: Mapping[str, Mapping[str, ColumnType]]) -> dict[str, Table] | None:
        """Return `tables` with doubles for the columns of integers that doubles round, if any."""
        large = {name for name, each in self._columns.items() if _large_of(each) is not None}
        if not large:
            return None

        def rounded(part: Scalar | DecimalOf, _: list[Json]) -> ColumnType:
            return Scalar.NUMBER if part in _INTEGERS or isinstance(part, DecimalOf) else part

        return {
            table: Table(
                {
                    key: (refined(each, (), rounded) if (table, key) in large else each,)
                    for key, each in columns.items()
                }
            )
            for table, columns in tables.items()
        }

    def require_exact(self, calls: Iterable[Call], others: Iterable[Call]) -> None:
        """Raise where a statement computes a double from integers that a double rounds.

        `calls` are those of the statement as it runs, `others` those where such columns are
        doubles. Calls that make doubles only in the first make them from these columns.

        Raises:
            SqlFault: the check fails; the message names the column and the value.
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
        """Raise a SqlFault where a statement needs the moments behind clocks, not only clocks."""
        for call in calls:
            if call.name in (CAST, TRY_CAST) and call.result in CLOCK_TYPES:
                self._require_zone(call)
        for call in calls:
            every = self._times_at(call)
            away = next((each for each in every if each[1].offset), None)
            if away and reads_clocks_as_utc([call]):
                raise SqlFault(
                    f"The statement takes times for those of UTC, and {self._place(*away)}."
                    f" {_IN_UTC}"
                )
            zoned = next((each for each in every if each[1].offset is not None), None)
            if zoned and call.drops_zone:
                raise SqlFault(
                    "The statement turns times into text that says nothing of their zone, and"
                    f" {self._place(*zoned)}. {_AS_TEXT}"
                )
        for name in self._times:
            self._require_order(name, calls)

    def _require_zone(self, call: Call) -> None:
        """Raise where a literal states a zone that not all of the times do that it meets."""
        if not zone_of(call.literal):
            return
        literal = next(moments([call.literal]), None)
        offsets = {time.offset for _, time in self._times_at(call)}
        if offsets and (literal is None or offsets != {literal.offset}):
            raise SqlFault(
                f"The literal {call.literal!r} states the zone {zone_of(call.literal)!r}, which not"
                " all of the times do that the statement compares it with; write it without one, as"
                " their clocks show it."
            )

    def _times_at(self, call: Call) -> list[tuple[Name, Moment]]:
        """Return the times that a call reads; all of them where its place is not known."""
        read = None if self._lineage is None else self._lineage.read_at(call.place)
        names = self._times if read is None else self._named(read) & self._times.keys()
        return [(name, time) for name in names for time in self._times[name]]

    def require_texts(self, calls: Sequence[Call]) -> None:
        """Raise where numbers become other texts than the tables write, or texts such numbers.

        Raises:
            SqlFault: a type would write a number differently, or read texts such as `02` as `2`.
        """
        for call in calls:
            place = call.place
            passed = None if self._lineage is None else self._lineage.passed_at(place)
            if call.spells:
                for column in self._of(passed):
                    self._require_spelling(column)
            is_text = call.name == CAST and call.types == ("VARCHAR",) and not call.literal
            # not by a CAST of the statement, which says what is meant
            is_implied = self._lineage is not None and not self._lineage.is_cast(place)
            if is_text and is_implied and _READ_AS.fullmatch(call.result):
                for column in self._of(passed):
                    _require_canonical(column, call.result)

    def _of(self, paths: Paths | None) -> list[Column]:
        """Return the columns at `paths` that the statement computes with, all of them for None."""
        names = self._columns.keys() if paths is None else self._named(paths)
        return [each for name, each in self._columns.items() if name in names]

    def _require_spelling(self, column: Column) -> None:
        if isinstance(column.readings[0] if column.readings else None, MapOf | StructOf):
            return  # objects become JSON also where only their keys are read
        odd = _odd_numbers([column]).values()
        for row, value in numbers(column.values) if odd else ():
            if any(value == each and type(value) is type(each) for each in odd):
                raise SqlFault(
                    f"The statement turns numbers into text, and the {column.words} holds {value}"
                    f" in row {row}, which its type writes as {_otherwise(value)}. Say the digits,"
                    " as by format('{:.2f}', …), or declare it as 'json' in 'columns', which keeps"
                    " its text."
                )

    def _require_order(self, name: Name, calls: Sequence[Call]) -> None:
        """Raise where the times that meet in a column cannot be compared by their clocks."""
        met = {name, *self._meeting(name)}
        group = [each for each in self._times if each in met & self._met]
        listed = [(each, time) for each in group for time in self._times[each]]
        zoned = next((each for each in listed if each[1].offset is not None), None)
        if zoned is None:
            return
        other = next((each for each in listed if each[1].offset != zoned[1].offset), None)
        naive = next((each for each in listed if each[1].offset is None), None)
        if naive is not None:
            raise SqlFault(
                "Times with a zone and times without one cannot be compared:"
                f" {self._place(*zoned)}, {self._place(*naive)}. {_AS_TEXT}"
            )
        if other is None:
            return
        if self._is_in_zone and not measures_time(calls):
            found = disordered(time for _, time in listed)
            if found is None:
                return
            zoned, other = (next(e for e in listed if e[1] is time) for time in found)
        raise SqlFault(
            "Times of different zones cannot be compared by their clocks:"
            f" {self._place(*zoned)}, {self._place(*other)}. {_IN_UTC}"
        )

    def _place(self, name: Name, time: Moment) -> str:
        return f"the {self._columns[name].words} holds {shown(time.text)} in row {time.row}"

    def writer(self, name: str, column: ColumnType | None) -> Callable[[Json], Json] | None:
        """Return the writer of values of the result column `name` in the form of its sources."""
        if column is None:
            return None
        of = list(self._columns)
        if self._lineage is not None:
            sources = self._named(self._lineage.sources(name))
            of = [each for each in of if each in sources]
        odd = _odd_numbers(self._columns[name] for name in of)
        written = self._times_as_written([name for name in of if name in self._times])

        def writer(part: Scalar | DecimalOf) -> Callable[[Json], Json]:
            if part is Scalar.DATE_TIME:
                return written
            whole = part in _INTEGERS
            if not whole and part is not Scalar.NUMBER and not isinstance(part, DecimalOf):
                return lambda value: value
            return lambda v: odd.get((whole, v), v) if isinstance(v, int | float) else v

        return converter(column, writer)

    def _times_as_written(self, names: list[Name]) -> Callable[[Json], Json]:
        times = [time for name in names for time in self._times[name]]
        texts: dict[str, set[str]] = {}
        for time in times:
            clock = time.clock.isoformat()
            texts.setdefault(clock, set()).add(time.text)
            if not time.offset:
                texts.setdefault(f"{clock}Z", set()).add(time.text)
        suffixes = {zone_of(time.text) for time in times}
        suffix = suffixes.pop() if len(suffixes) == 1 else ""
        zones = {time.offset: time.text for time in times}
        is_mixed = len(zones) > 1 and (None in zones or not self._is_in_zone)

        def written(value: Json) -> Json:
            # a time that no table holds was computed; it states the zone of those it is made of
            if not isinstance(value, str):
                return value
            if is_mixed:
                first, second = sorted(zones.values())[:2]
                raise SqlFault(
                    f"A time of the result is made of times of different zones: {first!r} and"
                    f" {second!r} of the {self._columns[names[0]].words}."
                    f" {_AS_TEXT if None in zones else _IN_UTC}"
                )
            found = texts.get(value, {value if value.endswith("Z") else value + suffix})
            if len(found) > 1:
                ways = " and ".join(map(repr, sorted(found)[:2]))
                raise SqlFault(
                    f"One time of the result is written in several ways: {ways}. {_AS_TEXT}"
                )
            return next(iter(found))

        return written

    @property
    def are_plain(self) -> bool:
        """Whether no time and no number of a result can differ from how the tables write it."""
        return not self._times and not _odd_numbers(self._columns.values())


def require_literals(calls: Iterable[Call]) -> None:
    """Raise a SqlFault where a literal is rounded to the type that it is compared as."""
    for call in calls:
        text = call.literal
        is_rounded = call.result == "TIMESTAMP" and _FINE_TIME.search(text)
        if call.result == "DOUBLE" and _NUMBER.fullmatch(text):
            value = Decimal(text)
            is_large = abs(value) > MOST_IN_DOUBLE
            is_rounded = is_large and Decimal(repr(float(text))) != value
        if is_rounded and call.name in (CAST, TRY_CAST):
            raise SqlFault(
                f"The literal {shown(text)} has more digits than a number with a fraction, or a"
                " time, can have."
            )


def roundings(calls: Iterable[Call]) -> Counter[Call]:
    """Return the `calls` that make doubles of integers or decimals, each with its count."""
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


def _kept(column: Column) -> tuple[ColumnType, ...]:
    """Return the readings of a column that is only passed on: its values stay as text."""
    parts = [part for each in column.readings[:1] for part in parts_of(each)]
    changes = any(part is Scalar.DATE_TIME or isinstance(part, DecimalOf) for part in parts)
    return (Scalar.JSON,) if changes or _odd_numbers([column]) else column.readings


def _require_numbers(column: Column) -> None:
    """Raise a SqlFault where a number of the column cannot be held exactly."""
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


def _otherwise(value: float) -> float:
    """Return a number in the form of the other type: 1 as 1.0, or 1.0 as 1."""
    return float(value) if isinstance(value, int) else int(value)


def _require_canonical(column: Column, result: str) -> None:
    """Raise where a text that is compared with a number or a boolean is not written as one is."""
    if column.readings[:1] != (Scalar.STRING,):
        return
    is_boolean = result == "BOOLEAN"
    form = _BOOLEAN if is_boolean else _CANONICAL
    texts = ((row, value) for row, value in enumerate(column.values) if isinstance(value, str))
    if (odd := next((each for each in texts if form.fullmatch(each[1]) is None), None)) is not None:
        raise SqlFault(
            f"The {column.words} holds {shown(odd[1])} in row {odd[0]}, a text that is compared"
            f" with {'booleans' if is_boolean else 'numbers'}, to which other texts are equal too."
            f" Write CAST(… AS {result}) if that is meant, or compare it with texts."
        )


def _require_times(column: Column) -> None:
    """Raise where the texts of a column are times, but not such as a database can compare."""
    texts = [(row, value) for row, value in enumerate(column.values) if isinstance(value, str)]
    if not texts or column.readings[:1] != (Scalar.STRING,) or column.is_declared:
        return
    if not all(LIKE_A_TIME.match(text) for _, text in texts):
        return
    is_before_christ = any(text.startswith("-") for _, text in texts)
    if len({(len(text), zone_of(text)) for _, text in texts}) == 1 and not is_before_christ:
        return  # as texts, they are in the order of the times
    for row, text in texts:
        if not any(moments([text])):
            raise SqlFault(
                f"The {column.words} holds {shown(text)} in row {row}, a time that cannot be"
                f" computed with exactly. {_AS_TEXT}"
            )
