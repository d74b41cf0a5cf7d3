"""Thresholds of outliers and trends; the direction of a series by linear regression."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from enum import StrEnum
from itertools import pairwise
from statistics import fmean, linear_regression
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict

from toolplan.base.errors import ToolplanError

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
