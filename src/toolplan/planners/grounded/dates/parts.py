"""Parts of a period, and days beside it: *the end of September*, *first week of October 2025*."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from msgspec import Struct
from msgspec.structs import replace

from toolplan.planners.grounded.dates import calendar, words
from toolplan.planners.grounded.dates.calendar import (
    DAY,
    Clock,
    Days,
    Impossible,
    Period,
    Reading,
    Unit,
)
from toolplan.planners.grounded.dates.dates import ALL_OF_IT
from toolplan.planners.grounded.dates.dates import PHRASES as DATES
from toolplan.planners.grounded.dates.phrase import Read, longest
from toolplan.planners.grounded.dates.relative import PHRASES as RELATIVE
from toolplan.planners.grounded.dates.spelling import Spelling, opening
from toolplan.planners.grounded.dates.words import Found, Text
from toolplan.planners.grounded.language.words import word_set

# "the end of the first week of March" is as deep as phrases are nested
_DEPTH: Final = 3

ARTICLE: Final = opening(
    "all of the|all of|the whole of|the whole|the entire|the full|all|whole|entire|the",
)
_PHRASES: Final = (*RELATIVE, *DATES)

# behind these words an edge is a day; without them "the end of May" is a vague time
_EDGE_CUES: Final = word_set("since until till before after by from between to starting")


class Part(Struct, frozen=True):
    """Words that stand before a period, and what they make of it."""

    prefix: Spelling
    take: Callable[[Found, Period], Reading]


def read_period(text: Text, at: int, clock: Clock, cue: str, depth: int = 0) -> Read | None:
    """Read the longest period that begins at `at`: a phrase, with an article or without, or a part.

    `cue` is the word before it, because *in 2024* is a year and *2024* may be anything.
    """
    article = ARTICLE.match(text, at)
    best = longest(_PHRASES, text, at, clock, cue)
    for start in (at, article.end()) if article else (at,):
        if start != at and (bare := longest(_PHRASES, text, start, clock, cue)):
            best = bare if best is None or bare.end > best.end else best
        if depth < _DEPTH and (part := _read_part(text, start, clock, cue, depth)):
            best = part if best is None or part.end > best.end else best
    return best


def _read_part(text: Text, at: int, clock: Clock, cue: str, depth: int) -> Read | None:
    for part in PARTS:
        prefix = part.prefix.match(text, at)
        if prefix is None:
            continue
        inner = read_period(text, prefix.end(), replace(clock, whole=True), "part", depth + 1)
        if inner is None:
            continue
        if isinstance(inner.what, Impossible):
            return inner
        if inner.what and (what := _take(part, Found(prefix, text, cue), inner.what)):
            return Read(inner.end, what)
    return None


def _take(part: Part, found: Found, whole: Period) -> Reading:
    try:
        return part.take(found, whole)
    except OverflowError:
        return Impossible("The calendar has only the years 1 to 9999.", relative=True)


def _edge(found: Found, whole: Period) -> Reading:
    at_end = found.get("edge") in {"end", "close"}
    day, name = (whole.days.last, "last") if at_end else (whole.days.first, "first")
    ambiguous = found.cue not in _EDGE_CUES
    why = f"its {name} day only" if ambiguous else f"its {name} day"
    return _within(Days.one(day), whole, why, ambiguous=ambiguous)


def _within(days: Days, whole: Period, why: str, *, ambiguous: bool = False) -> Period:
    reasons = "; ".join(filter(None, (why, whole.why.removesuffix(ALL_OF_IT))))
    return Period(days, reasons, whole.ambiguous or ambiguous, whole.floating)


def _nth_unit(found: Found, whole: Period) -> Reading:
    """Read *the second week of May*, *the last 3 days of 2024*, *the first 10 days of October*."""
    number = words.number_of(found.get("number")) if found.get("number") else None
    nth, count = (
        words.ordinal_number(found.get("ordinal")) if found.get("ordinal") else 0,
        number or 1,
    )
    unit = cast("Unit", found.get("unit"))
    if number is not None and nth > 1:
        return None
    first, last = whole.days
    if nth:
        start = calendar.plus(first, unit, nth - 1)
        days = Days(start, calendar.plus(start, unit, count) - DAY)
    else:
        days = Days(calendar.plus(last + DAY, unit, -count), last)
    if days == whole.days or days.first < first or days.last > last:
        return None
    if unit == "week":
        return _within(days, whole, "7 days from its edge, not Monday to Sunday", ambiguous=True)
    return _within(days, whole, "")


def _nth_weekday(found: Found, whole: Period) -> Reading:
    weekday = words.weekday_number(found.get("weekday"))
    nth = words.ordinal_number(found.get("ordinal")) if found.get("ordinal") else -1
    day = calendar.nth_weekday(whole.days, weekday, nth)
    if day is None:
        name = words.WEEKDAY_NAMES[weekday]
        return Impossible(f"There is no {name} number {nth} in that time.", whole.floating)
    return _within(Days.one(day), whole, "")


def _half(found: Found, whole: Period) -> Reading:
    first, last = whole.days
    half = words.ordinal_number(found.get("ordinal"))
    if whole.days == calendar.around(first, "month"):
        middle = first.replace(day=15)
    elif whole.days == calendar.around(first, "year"):
        middle = calendar.months_from(first, 6).last
    else:
        return None
    if half > 2:
        return None
    return _within(Days(first, middle) if half == 1 else Days(middle + DAY, last), whole, "")


def _week_at(found: Found, whole: Period) -> Reading:
    day = whole.days.first
    if day != whole.days.last:
        return None
    week = calendar.around(day, "week")
    match " ".join(found.get("way").split()):
        case "weekend of":
            return _within(Days(week.last - DAY, week.last), whole, "the weekend of that week")
        case "week of":
            return _within(week, whole, "Monday to Sunday round that day")
        case "week ending":
            return _within(Days(day - 6 * DAY, day), whole, "the 7 days up to that one")
        case _:
            return _within(Days(day, day + 6 * DAY), whole, "the 7 days from that one on")


def _day_beside(found: Found, whole: Period) -> Reading:
    first, last = whole.days
    day = first - DAY if found.get("way") == "before" else last + DAY
    return _within(Days.one(day), whole, f"the day {found.get('way')} it")


def _weekday_of_date(found: Found, whole: Period) -> Reading:
    """Read *Monday, October 6*, and see whether it is one."""
    if not whole.dated:
        return None
    wanted, day = words.weekday_number(found.get("weekday")), whole.days.first
    if day.weekday() == wanted:
        return whole
    names = words.WEEKDAY_NAMES[day.weekday()], words.WEEKDAY_NAMES[wanted]
    return Impossible(f"{day} is a {names[0]}, not a {names[1]}.", relative=whole.floating)


_NTH: Final = f"(?:{words.ORDINAL}|last)"

PARTS: Final = tuple(
    Part(opening(spelling, *needs), take)
    for spelling, take, *needs in (
        ("(?P<edge>end|close|beginning|start) of", _edge, "end|close|beginning|start", " of "),
        (
            f"{_NTH} (?:{words.NUMBER} )?(?P<unit>day|week|month|quarter)s? (?:of|in)",
            _nth_unit,
            f"{words.AN_ORDINAL}|last",
            "day|week|month|quarter",
            " of | in ",
        ),
        (
            f"{_NTH} {words.WEEKDAY} (?:of|in)",
            _nth_weekday,
            f"{words.AN_ORDINAL}|last",
            words.A_WEEKDAY,
        ),
        (f"{words.ORDINAL} half of", _half, " half of"),
        (
            "(?P<way>weekend of|week (?:of|beginning|starting|commencing|ending))(?: on)?",
            _week_at,
            "weekend of|week of|week beginning|week starting|week commencing|week ending",
        ),
        ("day (?P<way>before|after)", _day_beside, "day before|day after"),
        (f"{words.WEEKDAY},?", _weekday_of_date, words.A_WEEKDAY),
    )
)
