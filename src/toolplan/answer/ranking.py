"""Insights about small computed tables: highest, lowest, rising or falling."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from toolplan.answer.columns import Column, Constant, Numbers, day_of
from toolplan.answer.insights import Insight, adds_up, with_unit
from toolplan.answer.shape import Row
from toolplan.answer.thresholds import DEFAULT, Thresholds
from toolplan.answer.trend import Direction, trend
from toolplan.render.printable import cell, number_text

_MOST_COLUMNS: Final = 3
_MOST_LEADERS: Final = 3


def ranking_insights(
    step: str, columns: Sequence[Column], rows: Sequence[Row], thresholds: Thresholds = DEFAULT
) -> tuple[Insight, ...]:
    """Return the highest and lowest rows of each column of numbers, if a column names the rows."""
    labels = label_columns(columns)
    if len(rows) < 2 or not labels:
        return ()
    measures = [column for column in columns if isinstance(column.reading, Numbers)]
    # a query usually selects computed columns last
    return tuple(
        Insight(text, step, (*labels, column.name))
        for column in measures[-_MOST_COLUMNS:][::-1]
        if isinstance(column.reading, Numbers)
        for text in _texts(column, column.reading, labels, rows, thresholds)
    )


def label_columns(columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the names of the columns that name the rows."""
    return tuple(c.name for c in columns if not isinstance(c.reading, Numbers | Constant))[:2]


def _texts(
    column: Column,
    read: Numbers,
    labels: Sequence[str],
    rows: Sequence[Row],
    thresholds: Thresholds,
) -> Iterator[str]:
    name = cell(column.name)
    low, high = min(read.numbers), max(read.numbers)
    if len(read.numbers) < 2:
        return
    if low == high:
        yield f"{name} is {_figure(low, column)} in all {len(read.numbers)} rows."
        return
    yield f"Highest {name}: {_leaders(column, read, labels, rows, high)}."
    yield f"Lowest {name}: {_leaders(column, read, labels, rows, low)}."
    days = [day_of(rows[at].get(labels[0])) for at in read.at]
    dated = [(day, number) for day, number in zip(days, read.numbers, strict=True) if day]
    if len(dated) == len(days) == len({day for day, _ in dated}) > 2:
        dated.sort()
        numbers = [number for _, number in dated]
        found = trend(numbers, thresholds)
        if found is not None and _is_sure(numbers, found.direction, thresholds):
            first, last = _figure(dated[0][1], column), _figure(dated[-1][1], column)
            yield f"{name} is {found.direction} over time: {first} at first, {last} at last."
    if adds_up(column):
        whole = all(isinstance(number, int) for number in read.numbers)
        total = sum(read.numbers) if whole else math.fsum(read.numbers)
        yield f"{name} in all: {_figure(total, column)}."


def _is_sure(numbers: Sequence[float], direction: Direction, thresholds: Thresholds) -> bool:
    """Return whether a direction is not only that of the first or last period, often a part."""
    if direction is Direction.STEADY:
        return False
    parts = (numbers[1:], numbers[:-1]) if len(numbers) > 3 else ()
    found = [trend(part, thresholds) for part in parts]
    return all(part is not None and part.direction is direction for part in found)


def _leaders(
    column: Column, read: Numbers, labels: Sequence[str], rows: Sequence[Row], number: float
) -> str:
    at = [row for row, value in zip(read.at, read.numbers, strict=True) if value == number]
    if len(at) > _MOST_LEADERS:
        return f"{_figure(number, column)} in {len(at)} rows"
    names = [" / ".join(cell(rows[row].get(label)) for label in labels) for row in at]
    return f"{' and '.join(names)} with {_figure(number, column)}"


def _figure(number: float, column: Column) -> str:
    return with_unit(number_text(number, grouped=True), column)
