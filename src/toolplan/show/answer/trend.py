"""What makes an outlier or a trend, and whether a series rises or falls, by linear regression."""

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
    """What makes an outlier, and what makes a trend.

    Attributes:
        z_score: the least distance of an outlier from the mean, in standard deviations (of the
            numbers themselves: divided by n).
        fence: its least distance from the quartiles, in interquartile ranges.
        fewest: the fewest numbers among which one is an outlier, 3 or more.
        change: the least change of a trend over the whole series, as a share of its mean.
        correlation: the least correlation of a trend with time, from 0 to 1.

    Raises:
        ToolplanError: a threshold is negative, not finite, or out of its range (`bad-threshold`).
    """

    z_score: float = 2.0
    fence: float = 1.5
    fewest: int = 8
    change: float = 0.2
    correlation: float = 0.5

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
