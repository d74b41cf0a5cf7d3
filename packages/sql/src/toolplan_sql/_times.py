"""Times in texts: the zone that they state, and the questions that clocks can answer.

A column of times is stored as its clocks show them (`TIMESTAMP`): days are those of the zone that
the values state. A result that depends on the moments behind different clocks is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from toolplan.plan.path import Json
from toolplan_sql._functions import CAST, TRY_CAST, Call

_TIME: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}([Tt ]\d{2}:\d{2}:\d{2}(\.\d{1,6})?([Zz]|[+-]\d{2}:\d{2})?)?", re.ASCII
)
LIKE_A_TIME: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}\S*|([+-]?\d{4,6}-\d{2}-\d{2}([Tt ]\d{2}:\d{2}\S*)?"
    r"|\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?)$",
    re.ASCII,
)
"""The form of times, also of such as a database cannot hold."""
_ZONE: Final = re.compile(r":\d{2}(?:\.\d+)?\s*(?P<zone>[Zz]|[+-]\d{2}(?::?\d{2})?)$", re.ASCII)
_FRACTION: Final = re.compile(r"\.\d+", re.ASCII)
_ZONED_TYPES: Final = frozenset(
    {"TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS", "TIME WITH TIME ZONE"}
)
CLOCK_TYPES: Final = frozenset({"TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP_MS", "TIMESTAMP_S"})
_CASTS: Final = frozenset({CAST, TRY_CAST})
_OF_MOMENTS: Final = frozenset({
    "epoch", "epoch_ms", "epoch_ns", "epoch_us", "julian", "timezone", "timezone_hour",
    "timezone_minute"
})  # fmt: skip
_BETWEEN: Final = frozenset({"-", "age", "date_diff", "datediff", "date_sub", "datesub"})


class Moment(NamedTuple):
    """A time as it was written: its row, its clock time, and its offset from UTC if any."""

    row: int
    text: str
    clock: datetime
    offset: timedelta | None

    @property
    def instant(self) -> datetime:
        return self.clock - (self.offset or timedelta())


def zone_of(text: str) -> str:
    """Return the zone that the time `text` states, as it is written; empty where it states none."""
    found = _ZONE.search(text)
    return found["zone"] if found else ""


def zone_named(name: str) -> ZoneInfo | None:
    """Return the time zone of an IANA name, as Europe/Berlin, or None."""
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError):  # also a name that is no path
        return None


def in_zone(value: Json, zone: ZoneInfo) -> Json:
    """Return `value` with each time in it that states a zone as the clocks of `zone` show it."""
    match value:
        case str() if zone_of(value) and (found := moment(value)) is not None:
            try:
                shown = found.instant.replace(tzinfo=UTC).astimezone(zone)
            except OverflowError:  # in the first hours of year 1, or the last of 9999
                return value
            fraction = _FRACTION.search(value)
            offset = shown.isoformat(timespec="seconds")[19:]
            return f"{shown:%Y-%m-%dT%H:%M:%S}{fraction[0] if fraction else ''}{offset}"
        case list():
            return [in_zone(each, zone) for each in value]
        case dict():
            return {key: in_zone(each, zone) for key, each in value.items()}
        case _:
            return value


def moment(text: str, row: int = 0) -> Moment | None:
    """Return the time, or the day as a time, in `text`; None where it is neither.

    A moment whose UTC lies outside the years 1 to 9999 is none, because it cannot be compared.
    """
    if _TIME.fullmatch(text) is None:
        return None
    try:
        read = datetime.fromisoformat(text.upper())
        if read.tzinfo is not None:
            read.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return Moment(row, text, read.replace(tzinfo=None), read.utcoffset())


def moments(values: Sequence[Json]) -> Iterator[Moment]:
    """Yield the times in `values`, one value for each row, at any depth."""
    for row, part in leaves(values):
        if isinstance(part, str) and (found := moment(part, row)):
            yield found


def leaves(values: Sequence[Json]) -> Iterator[tuple[int, Json]]:
    """Yield the scalars in `values`, at any depth, each with its row."""
    for row, value in enumerate(values):
        pending = [value]
        while pending:
            part = pending.pop()
            if isinstance(part, list):
                pending.extend(part)
            elif isinstance(part, dict):
                pending.extend(part.values())
            else:
                yield row, part


def disordered(times: Iterable[Moment]) -> tuple[Moment, Moment] | None:
    """Return two times that clocks order otherwise than their moments, or None."""
    listed = sorted(times, key=lambda each: (each.clock, each.instant))
    for left, right in pairwise(listed):
        if (left.clock == right.clock) != (left.instant == right.instant):
            return left, right
        if left.instant > right.instant:
            return left, right
    return None


def measures_time(calls: Iterable[Call]) -> bool:
    """Return whether a bound statement computes how long it is from one time to another."""
    return any(
        call.name in _BETWEEN and sum(each in CLOCK_TYPES for each in call.types) > 1
        for call in calls
    )


def reads_clocks_as_utc(calls: Iterable[Call]) -> bool:
    """Return whether a bound statement reads local times as UTC."""
    return any(
        not CLOCK_TYPES.isdisjoint(call.types)
        and (
            call.name in _OF_MOMENTS
            or (call.name in _CASTS and call.result in _ZONED_TYPES)
            or "LIST" in call.types  # of parts, of which `epoch` may be one
        )
        for call in calls
    )
