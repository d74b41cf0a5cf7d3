"""Insights about any rows: constants, shares, ranges, outliers, trends."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from statistics import fmean, median, pstdev, quantiles
from typing import Final, TypeAlias

from msgspec import Struct

from toolplan.answer.columns import (
    Categories,
    Column,
    Constant,
    Dates,
    Identities,
    Numbers,
)
from toolplan.answer.shape import Row
from toolplan.answer.trend import DEFAULT, Direction, Thresholds, evenly_spaced, series, trend
from toolplan.path import Json
from toolplan.render.printable import cell, number_text, printable

InsightFunction: TypeAlias = Callable[[str, list[dict[str, Json]]], Iterable[str]]
"""Called with the entity of rows (or an empty text) and the rows; returns sentences about them."""

MOST_INSIGHTS: Final = 8
_MOST_SHARES: Final = 5
_MOST_OUTLIERS: Final = 3
_Z_SCORE_ALONE: Final = 3.0  # half of the values are equal, so quartiles are not used
_MOST_CONSTANTS: Final = 5

_AMOUNTS: Final = frozenset({"amount", "cost", "count", "n", "price", "quantity", "total", "sum"})
_RATIO_WORDS: Final = frozenset(
    {"%", "avg", "average", "mean", "median", "percent", "percentage", "pct", "rate", "ratio"}
    | {"share", "score", "ppm", "ppb", "ppt", "degree", "degrees", "°c", "°f", "k", "per"}
)


class Insight(Struct, frozen=True):
    """A sentence about the `columns` of a step's rows."""

    text: str
    step: str
    columns: tuple[str, ...] = ()


class Outlier(Struct, frozen=True):
    """A number far from the others; `row` is its index."""

    number: float
    row: int
    z_score: float


class _Sentence(Struct, frozen=True):
    text: str
    columns: tuple[str, ...]


_Finder: TypeAlias = Callable[[Sequence[Column], Sequence[Row], Thresholds], Iterator[_Sentence]]


def row_insights(
    step: str,
    columns: Sequence[Column],
    rows: Sequence[Row],
    *,
    whole: bool = True,
    most: int = MOST_INSIGHTS,
    thresholds: Thresholds = DEFAULT,
) -> tuple[Insight, ...]:
    """Return insights about `rows`, at most `most`, in a fixed order.

    `whole` is False if rows are missing; there are no trends then.
    """
    if len(rows) < 2:
        return ()
    finders: tuple[_Finder, ...] = (_constants, _spans, _trends, _shares, _outliers, _ranges)
    found = [
        (nth, rank, each)
        for rank, find in enumerate(finders)
        if whole or find is not _trends
        for nth, each in enumerate(find(columns, rows, thresholds))
    ]
    # the first of each kind comes before the second of any kind
    chosen = sorted(found, key=lambda one: one[:2])[:most]
    chosen.sort(key=lambda one: (one[1], one[0]))
    return tuple(Insight(each.text, step, each.columns) for _, _, each in chosen)


def share_text(count: int, total: int) -> str:
    """Return a share in whole percent; only none is 0 % and only all is 100 %.

    >>> share_text(1, 3), share_text(1, 1000), share_text(999, 1000)
    ('33 %', '< 1 %', '> 99 %')
    """
    percent = round(100 * count / total) if total else 0
    if count and percent == 0:
        return "< 1 %"
    return "> 99 %" if percent == 100 and count < total else f"{percent} %"


def outliers_of(numbers: Numbers, thresholds: Thresholds = DEFAULT) -> tuple[Outlier, ...]:
    """Return the outliers, farthest first.

    An outlier lies beyond 1.5 interquartile ranges from the quartiles and at least two standard
    deviations from the mean. Fewer than eight numbers have none. `thresholds` has other figures.
    """
    values = numbers.numbers
    if len(values) < thresholds.fewest:
        return ()
    mean = fmean(values)
    deviation = pstdev(values, mean)
    if deviation == 0 or not math.isfinite(deviation):
        return ()
    low, _, high = quantiles(values, n=4, method="inclusive")
    fence = thresholds.fence * (high - low)
    least = thresholds.z_score if high > low else max(thresholds.z_score, _Z_SCORE_ALONE)
    found = [
        Outlier(value, row, (value - mean) / deviation)
        for value, row in zip(values, numbers.at, strict=True)
        if not low - fence <= value <= high + fence and abs(value - mean) >= least * deviation
    ]
    return tuple(sorted(found, key=lambda each: (-abs(each.z_score), each.row)))


def adds_up(column: Column) -> bool:
    """Return whether a sum over `column` is meaningful: of amounts, not of rates."""
    words = set(f"{column.name} {column.unit}".casefold().replace("_", " ").split())
    if words & _RATIO_WORDS or "/" in column.unit:
        return False
    return bool(column.unit) or bool(words & _AMOUNTS)


def with_unit(text: str, column: Column) -> str:
    """Return `text` with the unit of `column`, if it has one."""
    return f"{text} {printable(column.unit)}" if column.unit else text


def _constants(
    columns: Sequence[Column], rows: Sequence[Row], _: Thresholds
) -> Iterator[_Sentence]:
    same = [
        (column.name, cell(column.reading.value))
        for column in columns
        if isinstance(column.reading, Constant)
    ][:_MOST_CONSTANTS]
    if same:
        every = "Both" if len(rows) == 2 else f"All {_count(len(rows))}"
        parts = "; ".join(f"{cell(name)} is {value}" for name, value in same)
        yield _Sentence(f"{every}: {parts}.", tuple(name for name, _ in same))


def _spans(columns: Sequence[Column], rows: Sequence[Row], _: Thresholds) -> Iterator[_Sentence]:
    del rows
    for column in columns:
        if isinstance(column.reading, Dates):
            days = column.reading.days
            first, last = min(days), max(days)
            on = len(set(days))
            which = f"on {on} different days" if on > 1 else "on one day"
            reach = f"{first} to {last}, {which}" if first != last else f"{first}"
            yield _Sentence(f"{cell(column.name)}: {reach}.", (column.name,))


def _trends(
    columns: Sequence[Column], rows: Sequence[Row], thresholds: Thresholds
) -> Iterator[_Sentence]:
    # of the first date column only
    dated = next((column for column in columns if isinstance(column.reading, Dates)), None)
    if dated is None or not isinstance(dated.reading, Dates):
        return
    days = dated.reading.days
    if len(days) == len(rows) and evenly_spaced(days):
        yield from _trends_of_numbers(dated, days, columns, thresholds)
        return
    counted = series(days)
    found = None if counted is None else trend(counted.counts, thresholds)
    if counted is None or found is None:
        return
    mean = number_text(_rounded(found.mean), grouped=True)
    over = f"{mean} a {counted.period} on average over {len(counted.counts)} {counted.period}s"
    if found.direction is Direction.STEADY:
        text = f"no clear trend, {over}"
    else:
        slope = number_text(_rounded(abs(found.slope)), grouped=True)
        sign = "+" if found.direction is Direction.RISING else "-"
        text = f"{found.direction} by about {sign}{slope} a {counted.period}, {over}"
    yield _Sentence(f"{cell(dated.name)}: {text}.", (dated.name,))


def _trends_of_numbers(
    dated: Column, days: Sequence[date], columns: Sequence[Column], thresholds: Thresholds
) -> Iterator[_Sentence]:
    """Yield the trends of numbers in rows that are a series: one row a day, or a month."""
    order = sorted(range(len(days)), key=days.__getitem__)
    for column in columns:
        read = column.reading
        if not isinstance(read, Numbers) or len(read.numbers) != len(days):
            continue
        points = [read.numbers[at] for at in order]
        found = trend(points, thresholds)
        if found is not None and found.direction is not Direction.STEADY:
            first, last = (number_text(end, grouped=True) for end in (points[0], points[-1]))
            ends = f"from {first} to {with_unit(last, column)}"
            text = f"{cell(column.name)}: {found.direction} over {cell(dated.name)}, {ends}."
            yield _Sentence(text, (dated.name, column.name))


def _shares(columns: Sequence[Column], rows: Sequence[Row], _: Thresholds) -> Iterator[_Sentence]:
    total = len(rows)
    if total < 3:
        return
    for column in columns:
        if not isinstance(column.reading, Categories):
            continue
        counts = column.reading.counts
        shown = counts if len(counts) <= _MOST_SHARES else counts[: _MOST_SHARES - 1]
        parts = [(cell(value), count) for value, count in shown]
        if rest := sum(count for _, count in counts) - sum(count for _, count in shown):
            parts.append((f"{len(counts) - len(shown)} others", rest))
        if column.reading.missing:
            parts.append(("no value", column.reading.missing))
        text = ", ".join(
            f"{name} {_count(count)}"
            + (f" of {_count(total)}" if at == 0 else "")
            + f" ({share_text(count, total)})"
            for at, (name, count) in enumerate(parts)
        )
        yield _Sentence(f"{cell(column.name)}: {text}.", (column.name,))


def _outliers(
    columns: Sequence[Column], rows: Sequence[Row], thresholds: Thresholds
) -> Iterator[_Sentence]:
    label = _label(columns)
    for column in columns:
        if not isinstance(column.reading, Numbers):
            continue
        found = outliers_of(column.reading, thresholds)
        if not found:
            continue
        parts = [
            with_unit(number_text(each.number, grouped=True), column)
            + f" ({'' if label is None else cell(rows[each.row].get(label)) + ', '}"
            + f"z-score {each.z_score:.1f})"
            for each in found[:_MOST_OUTLIERS]
        ]
        more = len(found) - len(parts)
        stand = "stands" if len(found) == 1 else "stand"
        of = f"{_count(len(found))} of {_count(len(column.reading.numbers))} {stand} out"
        text = f"{of}: {', '.join(parts)}{f' and {_count(more)} more' if more else ''}"
        yield _Sentence(f"{cell(column.name)}: {text}.", (column.name,))


def _ranges(columns: Sequence[Column], rows: Sequence[Row], _: Thresholds) -> Iterator[_Sentence]:
    label = _label(columns)
    for column in columns:
        if not isinstance(column.reading, Numbers):
            continue
        numbers = column.reading.numbers
        low, high = min(numbers), max(numbers)
        if low == high:
            continue
        reach = " to ".join(
            (
                with_unit(number_text(end, grouped=True), column)
                if end == high
                else number_text(end, grouped=True)
            )
            + _holder(column.reading, end, label, rows)
            for end in (low, high)
        )
        parts = [reach]
        if len(numbers) > 2:
            middle = number_text(_rounded(median(numbers)), grouped=True)
            parts.append("median " + with_unit(middle, column))
        if adds_up(column):
            total = number_text(_total(numbers), grouped=True)
            parts.append("sum " + with_unit(total, column))
        if missing := len(rows) - len(numbers):
            parts.append(f"{_count(missing)} without a value")
        yield _Sentence(f"{cell(column.name)}: {', '.join(parts)}.", (column.name,))


def _label(columns: Sequence[Column]) -> str | None:
    """Return the name of the column that identifies rows, or None."""
    for column in columns:
        match column.reading:
            case Identities(unique=True):
                return column.name
            case Dates(days) if evenly_spaced(days):
                return column.name
            case _:
                continue
    return None


def _holder(numbers: Numbers, number: float, label: str | None, rows: Sequence[Row]) -> str:
    """Return the name of the only row with `number`; empty if there are several."""
    if label is None or numbers.numbers.count(number) != 1:
        return ""
    return f" ({cell(rows[numbers.at[numbers.numbers.index(number)]].get(label))})"


def _count(number: int) -> str:
    return number_text(number, grouped=True)


def _total(numbers: Sequence[float]) -> float:
    if all(isinstance(number, int) for number in numbers):
        return sum(numbers)  # integers stay exact
    return math.fsum(numbers)


def _rounded(number: float) -> float:
    """Return a computed figure with three significant digits; integers are unchanged."""
    if number == int(number) or abs(number) >= 1000:
        return round(number)
    return float(f"{number:.3g}")
