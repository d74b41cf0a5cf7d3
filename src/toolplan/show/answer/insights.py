"""Columns of rows and their kinds; insights about any rows: shares, ranges, outliers, trends."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from enum import Enum, StrEnum, auto
from itertools import pairwise
from statistics import fmean, linear_regression, median, pstdev, quantiles
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import asdict, replace

from toolplan.base.errors import ToolplanError
from toolplan.plan.path import Json
from toolplan.show.answer.shape import Hints, Row
from toolplan.show.printable import cell, number_text, printable

_LEAST: Final = {"fewest": 3}
_MOST: Final = {"correlation": 1.0}
_SHORTEST_MONTH: Final = 28


class Thresholds(Struct, frozen=True):
    """The minimum figures of an outlier and of a trend.

    Raises:
        ToolplanError: a threshold is negative, not finite, or out of its range (`bad-threshold`).
    """

    z_score: float = 2.0  # from the mean, in standard deviations of the numbers: divided by n
    fence: float = 1.5  # from the quartiles, in interquartile ranges
    fewest: int = 8  # numbers among which one is an outlier; 3 or more
    change: float = 0.2  # of a trend over the whole series, as a share of its mean
    correlation: float = 0.5  # of a trend with time, from 0 to 1

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            least, most = _LEAST.get(name, 0), _MOST.get(name, math.inf)
            if (
                isinstance(value, bool)
                or not isinstance(value, int | float)
                or not least <= value <= most
                or not math.isfinite(value)
            ):
                to = "or more" if math.isinf(most) else f"to {most:g}"
                raise ToolplanError(
                    "bad-threshold", f"{name} is {value!r}, not a number of {least} {to}."
                )


DEFAULT: Final = Thresholds()


class Direction(StrEnum):
    """The direction of a series."""

    RISING = "rising"
    FALLING = "falling"
    STEADY = "steady"


class Trend(Struct, frozen=True):
    """The direction of a series: its points' mean, and the line that is fitted to them."""

    direction: Direction
    slope: float  # from one point to the next
    mean: float
    fit: float = 1.0  # R²: the share of the points' variance that the line explains


def trend(points: Sequence[float], thresholds: Thresholds = DEFAULT) -> Trend | None:
    """Return the trend of equidistant `points`; None if there are fewer than two."""
    if len(points) < 2:
        return None
    mean = fmean(points)
    deviation = math.fsum((point - mean) ** 2 for point in points)
    slope = linear_regression(range(len(points)), points).slope
    if deviation == 0:
        return Trend(Direction.STEADY, slope, mean)
    spread = math.fsum((at - (len(points) - 1) / 2) ** 2 for at in range(len(points)))
    correlation = min(1.0, abs(slope) * math.sqrt(spread / deviation))
    direction = Direction.RISING if slope > 0 else Direction.FALLING
    is_notable = abs(slope) * (len(points) - 1) >= thresholds.change * abs(mean)
    if slope == 0 or not is_notable or correlation < thresholds.correlation:
        direction = Direction.STEADY
    return Trend(direction, slope, mean, correlation**2)


def evenly_spaced(days: Sequence[date]) -> bool:
    """Return whether `days` are a series: different and equidistant, or months or quarters."""
    if len(days) < 3 or len(set(days)) < len(days):
        return False
    gaps = [(after - before).days for before, after in pairwise(sorted(days))]
    return min(gaps) == max(gaps) or (min(gaps) >= _SHORTEST_MONTH and max(gaps) - min(gaps) <= 3)


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


InsightFunction: TypeAlias = Callable[[str, list[dict[str, Json]]], Iterable[str]]
"""Called with the entity of rows (or an empty text) and the rows; returns sentences about them."""

MOST_INSIGHTS: Final = 8
_MOST_SHARES: Final = 5
_MOST_OUTLIERS: Final = 3
_MOST_CONSTANTS: Final = 5
_MOST_RANKED: Final = 3
_Z_SCORE_ALONE: Final = 3.0  # half of the values are equal, so quartiles are not used

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
    """A number far from the others; `at` is its index."""

    number: float
    at: int
    z_score: float


def row_insights(
    step: str,
    columns: Sequence[Column],
    rows: Sequence[Row],
    *,
    whole: bool = True,
    thresholds: Thresholds = DEFAULT,
) -> tuple[Insight, ...]:
    """Return insights about `rows`, at most `MOST_INSIGHTS`, in a fixed order.

    `whole` is False if rows are missing; there are no trends then.
    """
    if len(rows) < 2:
        return ()
    labels = (c.name for c in columns if c.is_unique or evenly_spaced(c.days))
    label = next(labels, None)

    def of_kind(kind: Kind, say: Callable[[Column], str]) -> list[Insight]:
        said = [(c.name, text) for c in columns if c.kind is kind and (text := say(c))]
        return [Insight(f"{cell(name)}: {text}.", step, (name,)) for name, text in said]

    same = [column for column in columns if column.kind is Kind.CONSTANT][:_MOST_CONSTANTS]
    every = "Both" if len(rows) == 2 else f"All {_count(len(rows))}"
    parts = "; ".join(f"{cell(column.name)} is {cell(column.value)}" for column in same)
    names = tuple(column.name for column in same)
    kinds = (
        [Insight(f"{every}: {parts}.", step, names)] if same else [],
        of_kind(Kind.DATES, _span),
        _trends(step, columns, len(rows), thresholds) if whole else (),
        of_kind(Kind.CATEGORIES, lambda column: _shares(column, len(rows))),
        of_kind(Kind.NUMBERS, lambda column: _outliers(column, label, rows, thresholds)),
        of_kind(Kind.NUMBERS, lambda column: _range(column, label, rows)),
    )
    found = [(nth, rank, each) for rank, kind in enumerate(kinds) for nth, each in enumerate(kind)]
    # the first of each kind comes before the second of any kind
    chosen = sorted(found, key=lambda one: one[:2])[:MOST_INSIGHTS]
    return tuple(each for _, _, each in sorted(chosen, key=lambda one: (one[1], one[0])))


def ranking_insights(
    step: str, columns: Sequence[Column], rows: Sequence[Row], thresholds: Thresholds = DEFAULT
) -> tuple[Insight, ...]:
    """Return the highest and lowest rows of each column of numbers, if a column names the rows."""
    labels = label_columns(columns)
    if len(rows) < 2 or not labels:
        return ()
    found: list[Insight] = []
    # a query usually selects computed columns last
    for column in [each for each in columns if len(each.numbers) > 1][: -_MOST_RANKED - 1 : -1]:
        name, low, high = cell(column.name), min(column.numbers), max(column.numbers)
        if low == high:
            texts = [f"{name} is {_figure(low, column)} in all {len(column.numbers)} rows."]
        else:
            texts = [
                f"Highest {name}: {_leaders(column, labels, rows, high)}.",
                f"Lowest {name}: {_leaders(column, labels, rows, low)}.",
            ]
            if adds_up(column):
                texts.append(f"{name} in all: {_figure(_total(column.numbers), column)}.")
        found += (Insight(text, step, (*labels, column.name)) for text in texts)
    return (*found, *_trends(step, columns, len(rows), thresholds))


def label_columns(columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the names of the columns that name the rows."""
    return tuple(c.name for c in columns if c.kind not in (Kind.NUMBERS, Kind.CONSTANT))[:2]


def share_text(count: int, total: int) -> str:
    """Return a share in whole percent; only none is 0 % and only all is 100 %.

    >>> share_text(1, 3), share_text(1, 1000), share_text(999, 1000)
    ('33 %', '< 1 %', '> 99 %')
    """
    percent = round(100 * count / total) if total else 0
    if count and percent == 0:
        return "< 1 %"
    return "> 99 %" if percent == 100 and count < total else f"{percent} %"


def outliers_of(numbers: Sequence[float], thresholds: Thresholds = DEFAULT) -> tuple[Outlier, ...]:
    """Return the outliers, farthest first.

    An outlier lies beyond 1.5 interquartile ranges from the quartiles and at least two standard
    deviations from the mean. Fewer than eight numbers have none. `thresholds` has other figures.
    """
    if len(numbers) < thresholds.fewest:
        return ()
    mean = fmean(numbers)
    deviation = pstdev(numbers, mean)
    if deviation == 0 or not math.isfinite(deviation):
        return ()
    low, _, high = quantiles(numbers, n=4, method="inclusive")
    fence = thresholds.fence * (high - low)
    least = thresholds.z_score if high > low else max(thresholds.z_score, _Z_SCORE_ALONE)
    found = [
        Outlier(value, at, (value - mean) / deviation)
        for at, value in enumerate(numbers)
        if not low - fence <= value <= high + fence and abs(value - mean) >= least * deviation
    ]
    return tuple(sorted(found, key=lambda each: (-abs(each.z_score), each.at)))


def adds_up(column: Column) -> bool:
    """Return whether a sum over `column` is meaningful: of amounts, not of rates."""
    words = set(f"{column.name} {column.unit}".casefold().replace("_", " ").split())
    if words & _RATIO_WORDS or "/" in column.unit:
        return False
    return bool(column.unit) or bool(words & _AMOUNTS)


def _span(column: Column) -> str:
    first, last, on = min(column.days), max(column.days), len(set(column.days))
    return f"{first} to {last}, on {on} different days" if on > 1 else f"{first}"


def _trends(
    step: str, columns: Sequence[Column], total: int, thresholds: Thresholds
) -> Iterator[Insight]:
    """Yield the trends of numbers in rows that are a series: one row a day, or a month."""
    dated = next((column for column in columns if column.kind is Kind.DATES), None)
    if dated is None or len(dated.days) < total or not evenly_spaced(dated.days):
        return
    order = sorted(range(total), key=dated.days.__getitem__)
    for column in columns:
        if len(column.numbers) < total:
            continue
        points = [column.numbers[at] for at in order]
        # not only by the first or the last period, which is often a part of one
        parts = (points, points[1:], points[:-1]) if total > 3 else (points,)
        directions = {each.direction for part in parts if (each := trend(part, thresholds))}
        if len(directions) == 1 and Direction.STEADY not in directions:
            ends = f"from {_count(points[0])} to {_figure(points[-1], column)}"
            text = f"{cell(column.name)}: {directions.pop()} over {cell(dated.name)}, {ends}."
            yield Insight(text, step, (dated.name, column.name))


def _shares(column: Column, total: int) -> str:
    if total < 3:
        return ""
    counts = column.counts
    shown = counts if len(counts) <= _MOST_SHARES else counts[: _MOST_SHARES - 1]
    parts = [(cell(value), count) for value, count in shown]
    if rest := sum(count for _, count in counts[len(shown) :]):
        parts.append((f"{len(counts) - len(shown)} others", rest))
    if missing := total - len(column.at):
        parts.append(("no value", missing))
    return ", ".join(
        f"{name} {_count(count)}{f' of {_count(total)}' if at == 0 else ''}"
        f" ({share_text(count, total)})"
        for at, (name, count) in enumerate(parts)
    )


def _outliers(
    column: Column, label: str | None, rows: Sequence[Row], thresholds: Thresholds
) -> str:
    found = outliers_of(column.numbers, thresholds)
    if not found:
        return ""
    parts: list[str] = []
    for each in found[:_MOST_OUTLIERS]:
        name = "" if label is None else f"{cell(rows[column.at[each.at]].get(label))}, "
        parts.append(f"{_figure(each.number, column)} ({name}z-score {each.z_score:.1f})")
    more = f" and {_count(len(found) - len(parts))} more" if len(found) > len(parts) else ""
    of = f"{_count(len(found))} of {_count(len(column.numbers))}"
    return f"{of} {'stands' if len(found) == 1 else 'stand'} out: {', '.join(parts)}{more}"


def _range(column: Column, label: str | None, rows: Sequence[Row]) -> str:
    numbers = column.numbers
    low, high = min(numbers), max(numbers)
    if low == high:
        return ""

    def holder(number: float) -> str:
        if label is None or numbers.count(number) != 1:
            return ""
        return f" ({cell(rows[column.at[numbers.index(number)]].get(label))})"

    parts = [f"{_count(low)}{holder(low)} to {_figure(high, column)}{holder(high)}"]
    if len(numbers) > 2:
        parts.append(f"median {_figure(median(numbers), column)}")
    if adds_up(column):
        parts.append(f"sum {_figure(_total(numbers), column)}")
    if missing := len(rows) - len(numbers):
        parts.append(f"{_count(missing)} without a value")
    return ", ".join(parts)


def _leaders(column: Column, labels: Sequence[str], rows: Sequence[Row], number: float) -> str:
    at = [row for row, value in zip(column.at, column.numbers, strict=True) if value == number]
    if len(at) > _MOST_RANKED:
        return f"{_figure(number, column)} in {len(at)} rows"
    names = [" / ".join(cell(rows[row].get(label)) for label in labels) for row in at]
    return f"{' and '.join(names)} with {_figure(number, column)}"


def _figure(number: float, column: Column) -> str:
    """Return a number with the unit of its column, if it has one."""
    return f"{_count(number)} {printable(column.unit)}".rstrip()


def _count(number: float) -> str:
    return number_text(number, grouped=True)


def _total(numbers: Sequence[float]) -> float:
    # integers stay exact
    return sum(numbers) if all(isinstance(n, int) for n in numbers) else math.fsum(numbers)
