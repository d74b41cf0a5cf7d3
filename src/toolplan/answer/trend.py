"""Whether a series rises or falls, by linear regression."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from enum import StrEnum
from itertools import pairwise
from statistics import fmean, linear_regression
from typing import Final

from msgspec import Struct

from toolplan.answer.thresholds import DEFAULT, Thresholds

FEWEST_POINTS: Final = 5
_SHORTEST_MONTH: Final = 28
_DAILY: Final = 31
_WEEKLY: Final = 182


class Direction(StrEnum):
    """The direction of a series."""

    RISING = "rising"
    FALLING = "falling"
    STEADY = "steady"


class Trend(Struct, frozen=True):
    """The direction of a series.

    Attributes:
        direction: whether it rises or falls.
        slope: the change from one point to the next of the fitted line.
        mean: of the points.
        fit: the share of the points' variance that the line explains, from 0 to 1.
    """

    direction: Direction
    slope: float
    mean: float
    fit: float = 1.0


class Series(Struct, frozen=True):
    """The number of dates in each period.

    A period is a `day`, a `week` (7 days) or a `month` (30 days), counted from the first date,
    without an incomplete last one.
    """

    period: str
    counts: tuple[int, ...]


def trend(points: Sequence[float], thresholds: Thresholds = DEFAULT) -> Trend | None:
    """Return the trend of equidistant `points`; None if there are fewer than two."""
    if len(points) < 2:
        return None
    mean = fmean(points)
    deviation = math.fsum((point - mean) ** 2 for point in points)
    slope = linear_regression(range(len(points)), points).slope
    change = abs(slope) * (len(points) - 1)
    if deviation == 0:
        return Trend(Direction.STEADY, slope, mean)
    spread = math.fsum((at - (len(points) - 1) / 2) ** 2 for at in range(len(points)))
    correlation = min(1.0, abs(slope) * math.sqrt(spread / deviation))
    is_notable = slope != 0 and change >= thresholds.change * abs(mean)
    direction = Direction.STEADY
    if is_notable and correlation >= thresholds.correlation:
        direction = Direction.RISING if slope > 0 else Direction.FALLING
    return Trend(direction, slope, mean, correlation**2)


def evenly_spaced(days: Sequence[date]) -> bool:
    """Return whether `days` are a series: different and equidistant, or months or quarters."""
    if len(days) < 3 or len(set(days)) < len(days):
        return False
    ordered = sorted(days)
    gaps = [(after - before).days for before, after in pairwise(ordered)]
    return min(gaps) == max(gaps) or (min(gaps) >= _SHORTEST_MONTH and max(gaps) - min(gaps) <= 3)


def series(days: Sequence[date]) -> Series | None:
    """Return the counts of `days` over time; None if there are too few periods."""
    if len(set(days)) < FEWEST_POINTS:
        return None
    first = min(days)
    span = (max(days) - first).days + 1
    period, size = ("day", 1) if span <= _DAILY else ("week", 7)
    if span > _WEEKLY:
        period, size = "month", 30
    counts = [0] * (span // size)
    for day in days:
        at = (day - first).days // size
        if at < len(counts):
            counts[at] += 1
    return Series(period, tuple(counts)) if len(counts) >= FEWEST_POINTS else None
