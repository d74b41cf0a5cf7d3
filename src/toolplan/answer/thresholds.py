"""When a number is an outlier, and when a series rises or falls."""

from __future__ import annotations

import math
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict

from toolplan.errors import ToolplanError

_LEAST: Final = {"fewest": 3}
_MOST: Final = {"correlation": 1.0}


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
