"""What a figure or an order leaves open: the month that is not over, all where some are meant."""

from __future__ import annotations

from datetime import date
from typing import Final

from toolplan.planners.grounded.dates.calendar import Unit, around
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.parse.mentions import Time
from toolplan.planners.grounded.parse.requests import (
    ByPeriod,
    BySpans,
    Computation,
    Count,
    Listed,
    ThingRequest,
)

_SUPERLATIVES: Final = (
    WordClass.EXTREME, WordClass.HIGHEST, WordClass.LOWEST, WordClass.MOST, WordClass.FEWEST,
    WordClass.WORST,
)  # fmt: skip
_UNITS: Final[tuple[Unit, ...]] = ("week", "month", "quarter", "year")


def partial_periods(computation: Computation, request: ThingRequest, today: date) -> list[str]:
    """Return a note for each period at an end of the range that lies in it only in part."""
    periods: set[str | None] = {
        group.period for group in computation.groups if isinstance(group, ByPeriod)
    }
    units: list[Unit] = [unit for unit in _UNITS if unit in periods]
    times = [m.mention.what for m in request.modifiers if isinstance(m.mention.what, Time)]
    if len(units) != 1 or len(times) > 1:
        return []
    start, end = times[0].mention.range if times else (None, None)
    last = min(end or today, today)
    found: list[str] = []
    if start is not None and around(start, units[0]).first != start:
        found.append(f"the first {units[0]} is counted only from {start}")
    if around(last, units[0]).last != last:
        found.append(f"the last {units[0]} is counted only until {last}")
    return found


def unseen_groups(computation: Computation) -> list[str]:
    """Return a note where the fewest are asked for: what has none at all is in no group."""
    counted = isinstance(computation.measure, Count) and computation.descending is False
    if not counted or not (computation.single or computation.count):
        return []
    said = [g.said.text for g in computation.groups if not isinstance(g, BySpans)]
    return [f'"{text}": only those that these rows have are counted' for text in said]


def whole_rankings(computation: Computation) -> list[str]:
    """Return a note where "the heaviest boxes", "the towns with most boxes" are all, in order."""
    several = isinstance(computation.measure, Listed) or computation.groups
    if not several or computation.count or computation.single or computation.descending is None:
        return []
    said = [m.text for m in computation.mentions if m.does(*_SUPERLATIVES)]
    order = "highest" if computation.descending else "lowest"
    return [f"{text}: all of them, the {order} first" for text in said[:1]]
