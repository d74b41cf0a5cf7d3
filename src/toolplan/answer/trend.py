"""Whether a series rises or falls, by linear regression."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from enum import StrEnum
from itertools import pairwise
from statistics import fmean, linear_regression
from typing import Final, NamedTuple

FEWEST_POINTS: Final = 5
_CLEAR: Final = 0.5  # correlation from which a direction is more than chance to the eye
_NOTABLE: Final = 0.2  # change over the whole series, as a share of its mean
_SHORTEST_MONTH: Final = 28
_DAILY: Final = 31
_WEEKLY: Final = 182


class Direction(StrEnum):
    """Where a series goes."""

    RISING = "rising"
    FALLING = "falling"
    STEADY = "steady"


class Trend(NamedTuple):
    """`slope` is the change from one point to the next of the fitted line."""

    direction: Direction
    slope: float
    mean: float


class Series(NamedTuple):
    """How many dates fall into each of the periods that follow one another.

    A period is a `day`, a `week` (7 days) or a `month` (30 days), counted from the first date; a
    last period that is not over is left out.
    """

    period: str
    counts: tuple[int, ...]


def trend(points: Sequence[float]) -> Trend | None:
    """Return the trend of `points`, which are equally far apart; None where they are too few."""
    if len(points) < 3:
        return None
    mean = fmean(points)
    deviation = math.fsum((point - mean) ** 2 for point in points)
    slope = linear_regression(range(len(points)), points).slope
    change = abs(slope) * (len(points) - 1)
    if deviation == 0 or change < _NOTABLE * abs(mean):
        return Trend(Direction.STEADY, slope, mean)
    spread = math.fsum((at - (len(points) - 1) / 2) ** 2 for at in range(len(points)))
    if abs(slope) * math.sqrt(spread / deviation) < _CLEAR:  # that product is the correlation
        return Trend(Direction.STEADY, slope, mean)
    return Trend(Direction.RISING if slope > 0 else Direction.FALLING, slope, mean)


def evenly_spaced(days: Sequence[date]) -> bool:
    """Tell whether `days` are themselves a series: each once, and equally far apart.

    Months and quarters are as far apart as they can be.
    """
    if len(days) < 3 or len(set(days)) < len(days):
        return False
    ordered = sorted(days)
    gaps = [(after - before).days for before, after in pairwise(ordered)]
    return min(gaps) == max(gaps) or (min(gaps) >= _SHORTEST_MONTH and max(gaps) - min(gaps) <= 3)


def series(days: Sequence[date]) -> Series | None:
    """Return the counts of `days` over time; None where there are too few periods to tell."""
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
