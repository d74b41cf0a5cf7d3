"""When a number is an outlier, and when a series rises or falls."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Final

from toolplan.errors import ToolplanError

_LEAST: Final = {"fewest": 3}
_MOST: Final = {"correlation": 1.0}


@dataclass(frozen=True, slots=True)
class Thresholds:
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
        for each in fields(self):
            value: object = getattr(self, each.name)
            least, most = _LEAST.get(each.name, 0), _MOST.get(each.name, math.inf)
            if (
                isinstance(value, bool)
                or not isinstance(value, int | float)
                or not least <= value <= most
                or not math.isfinite(value)
            ):
                to = "or more" if math.isinf(most) else f"to {most:g}"
                raise ToolplanError(
                    "bad-threshold", f"{each.name} is {value!r}, not a number of {least} {to}."
                )


DEFAULT: Final = Thresholds()
