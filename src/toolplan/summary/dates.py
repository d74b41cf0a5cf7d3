"""Days, months, quarters, years and times of day in English text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from toolplan.summary.words import word_set

_MONTH_NAMES: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
WEEKDAYS: Final = (
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
)  # fmt: skip
MONTHS: Final = {
    **{name: number for number, name in enumerate(_MONTH_NAMES, 1)},
    **{name[:3]: number for number, name in enumerate(_MONTH_NAMES, 1)},
    "sept": 9,
}
_MONTH: Final = "|".join(sorted(MONTHS, key=len, reverse=True))
_NAME: Final = rf"(?P<name>{_MONTH})\b(?:\.(?=,?[ ]\d))?"
_DAY: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR: Final = r"(?P<year>(?:19|20)\d{2})"

_SPELLINGS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<!\d)(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})"
        r"(?:[T ](?P<time>\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(?:Z|[+-]\d{2}:?\d{2})?)?(?!\d)",
        r"(?<!\d)(?P<year>\d{4})/(?P<month>\d{1,2})/(?P<day>\d{1,2})(?!\d)",
        r"(?<!\d)(?P<day>\d{1,2})\.[ ]?(?P<month>\d{1,2})\.[ ]?(?P<year>\d{4})(?!\d)",
        r"(?<!\d)(?P<first>\d{1,2})/(?P<other>\d{1,2})/(?P<year>\d{4})(?!\d)",
        rf"(?<!\d){_DAY}\.?[ ](?:of[ ])?{_NAME}(?:,?[ ]{_YEAR}\b)?",
        rf"\b{_NAME}[ ]{_DAY}\b(?![.,]?\d)(?:,?[ ]{_YEAR}\b)?",
        rf"\b{_NAME},?[ ](?:of[ ])?{_YEAR}\b",
        r"(?<!\d)(?P<year>(?:19|20)\d{2})-(?P<month>0[1-9]|1[0-2])(?![\d-])",
        rf"(?<!\d){_YEAR}[ /-]?Q(?P<quarter>[1-4])\b",
        rf"\b(?:Q(?P<quarter>[1-4])|H(?P<half>[12]))(?:[ /-]?{_YEAR})?\b",
        r"(?<![\d:.])(?P<time>(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?)(?![\d:])",
    )
)
_BARE_MONTH = re.compile(rf"\b({_MONTH})\b", re.IGNORECASE)
_BEFORE_MONTHS = re.compile(
    r"\b(?:in|of|since|during|until|last|this|and|to|from|for|by)[ ]$", re.IGNORECASE
)
_ALSO_WORDS: Final = frozenset(("may", "mar", "march", "dec"))
_WEEKDAY = re.compile(rf"\b(?P<name>{'|'.join(name.title() for name in WEEKDAYS)})s?\b")
_YEAR_ALONE = re.compile(
    rf"\b(?P<cue>in|since|during|until|till|year|early|late|mid|through|throughout"
    rf"|of|for|to|by|from|and|than|last|\()[ -]?{_YEAR}\b(?!\.?\d|[ ]?%)"
    rf"(?P<then>[ ](?!to\b|and\b|until|was|were|is\b|are\b|onwards|through|so\b|as\b|than\b)"
    r"[a-z])?",
    re.IGNORECASE,
)
_SURE: Final = word_set("in since during until till year early late mid through throughout (")


class Moment(Struct, frozen=True):
    """A date, or a part of one, at `start` to `end` of a text.

    Missing parts are None. `swapped` is the other reading of an ambiguous date as 07/10/2025.
    `time` is a time of day as written, `weekday` counts from Monday, 0.
    """

    start: int
    end: int
    year: int | None = None
    months: tuple[int, ...] = ()
    day: int | None = None
    weekday: int | None = None
    time: str = ""
    swapped: tuple[int, int] | None = None


def moments(text: str) -> tuple[Moment, ...]:
    """Return the dates of `text`, in order.

    >>> [(m.year, m.months, m.day) for m in moments("12 Oct 2025, in October, in 2024, Q3 2025")]
    [(2025, (10,), 12), (None, (10,), None), (2024, (), None), (2025, (7, 8, 9), None)]
    """
    taken: list[tuple[int, int]] = []
    found: list[Moment] = []
    for each in _candidates(text):
        if all(each.end <= start or each.start >= end for start, end in taken):
            taken.append((each.start, each.end))
            found.append(each)
    return tuple(sorted(found, key=lambda each: each.start))


def _candidates(text: str) -> Iterator[Moment]:
    """Yield possible dates, most complete spellings first."""
    for spelling in _SPELLINGS:
        for match in spelling.finditer(text):
            moment = _moment(match)
            if moment is not None:
                yield moment
    yield from _months_alone(text)
    for match in _WEEKDAY.finditer(text):
        yield Moment(*match.span(), weekday=WEEKDAYS.index(match["name"].casefold()))
    for match in _YEAR_ALONE.finditer(text):
        if match["cue"].casefold() in _SURE or match["then"] is None:
            yield Moment(match.start("year"), match.end("year"), year=int(match["year"]))


def _months_alone(text: str) -> Iterator[Moment]:
    for match in _BARE_MONTH.finditer(text):
        name = match[1].casefold()
        if match[1][0].islower():
            continue
        # "May" may also be a verb
        if name in _ALSO_WORDS and not _BEFORE_MONTHS.search(text[: match.start()]):
            continue
        yield Moment(*match.span(), months=(MONTHS[name],))


def _moment(match: re.Match[str]) -> Moment | None:
    said = match.groupdict()
    year = int(said["year"]) if said.get("year") else None
    time = said.get("time") or ""
    day = int(said["day"]) if said.get("day") else None
    months: tuple[int, ...] = ()
    swapped: tuple[int, int] | None = None
    if said.get("name"):
        months = (MONTHS[said["name"].casefold()],)
    elif said.get("month"):
        months = (int(said["month"]),)
    elif said.get("first"):
        months, day = (int(said["first"]),), int(said["other"])
        swapped = (day, months[0])
    elif said.get("quarter"):
        months = tuple(range(3 * int(said["quarter"]) - 2, 3 * int(said["quarter"]) + 1))
    elif said.get("half"):
        months = tuple(range(6 * int(said["half"]) - 5, 6 * int(said["half"]) + 1))
    if day is not None and not 1 <= day <= 31:
        return None
    if swapped is None and any(not 1 <= month <= 12 for month in months):
        return None
    return Moment(*match.span(), year, months, day, None, time, swapped)
