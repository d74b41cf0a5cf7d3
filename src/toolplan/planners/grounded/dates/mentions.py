"""Find the times in a question: the words around a period, ranges, and words that are not times."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from enum import Enum
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from toolplan.planners.grounded.dates.calendar import DAY, Clock, Days, Impossible, Period, Weeks
from toolplan.planners.grounded.dates.neighbours import is_denied
from toolplan.planners.grounded.dates.parts import read_period
from toolplan.planners.grounded.dates.spelling import Spelling, opening
from toolplan.planners.grounded.dates.words import Text, fold


class DateRange(NamedTuple):
    """Days from `start` to `end`, both included; None where a side is open."""

    start: date | None
    end: date | None


class TimeMention(Struct, frozen=True):
    """A time that a text speaks of.

    `start` and `end` are offsets into the text, `end` exclusive; the words that belong to the time
    (*since Monday*, *in October*) are within. `reading` is for the user: how it was understood.
    `ambiguous`: it could well have been meant otherwise, and the reading says how. `floating`: it
    leaves the year, the month or the week open (*Friday*, *3 March*).
    """

    start: int
    end: int
    text: str
    range: DateRange
    reading: str
    ambiguous: bool = False
    floating: bool = False


class Bound(Enum):
    """What a cue word makes of the period behind it."""

    AT = "the period itself"
    SINCE = "its first day to today"
    FROM_ON = "its first day and later"
    AFTER = "later than its last day"
    UNTIL = "up to its last day"
    BEFORE = "earlier than its first day"


_OPEN_ENDED: Final = frozenset({Bound.SINCE, Bound.FROM_ON, Bound.AFTER})
_OPEN_STARTED: Final = frozenset({Bound.UNTIL, Bound.BEFORE})


class _Range(Struct, frozen=True):
    """What a stretch of text was read as."""

    range: DateRange
    why: str
    ambiguous: bool
    bound: Bound


class _NoTime(Enum):
    """It looks like a time, but the words round it leave open which, or deny it."""

    NO_TIME = "no time"


_Meaning: TypeAlias = _Range | Impossible | _NoTime


class _Spot(Struct, frozen=True):
    start: int
    end: int
    meaning: _Meaning
    floating: bool = False


class _Cue(Struct, frozen=True):
    spelling: Spelling
    word: str  # what the phrases know it by; "" for the word itself
    bound: Bound


CUES: Final = tuple(
    _Cue(opening(spelling, *needs), word, bound)
    for spelling, word, bound, *needs in (
        ("in|on|during|for|of|from|throughout|within|over|across|at|between|dated", "", Bound.AT),
        ("ever since|since", "since", Bound.SINCE),
        ("from", "starting", Bound.FROM_ON),  # only with "on" or "onwards" behind it
        (
            "(?:starting|beginning)(?: (?:from|on|in|with))?",
            "starting",
            Bound.FROM_ON,
            "starting|beginning",
        ),
        ("no earlier than|not earlier than|not before|on or after", "since", Bound.FROM_ON),
        ("after|later than|newer than|following", "after", Bound.AFTER),
        ("until|till|through|thru|no later than|not later than|not after", "until", Bound.UNTIL),
        ("on or before|at the latest by", "until", Bound.UNTIL),
        (
            "(?:up to|up until|up till|until|till)(?: and including)?",
            "up to",
            Bound.UNTIL,
            "up to|until|till",
        ),
        ("by", "by", Bound.UNTIL),
        ("before|prior to|earlier than|older than", "before", Bound.BEFORE),
    )
)
_ONWARDS: Final = re.compile(
    r",?\s+(?:onwards?|on(?=\s*(?:$|[.,;!?]))|(?:or|and)\s+(?:later|after|newer|since))(?!\w)"
)
_BACKWARDS: Final = re.compile(
    r",?\s+(?:or|and)\s+(?:earlier|before|older)(?!\w)(?!\s+\w+\s*[0-9])"
)

OPENERS: Final = opening(
    "from|between|since|in|on|during|for|of|over|starting(?: from| on| in)?|beginning(?: on| in)?",
    "from|between|since|in|on|during|for|of|over",  # "starting" and "beginning" have an "in"
)
_JOINT: Final = re.compile(
    r"\s*(?:-|\.{2,3}|…)\s*|,?\s+(?:up\s+to|to|through|thru|until|till|up\s+until)\s+"
)
_AND: Final = re.compile(r"\s+and\s+")

_CLOCK_TIME: Final = re.compile(
    r",?\s+(?:(?:at|around|by)\s+)?(?:[0-9]{1,2}(?::[0-9]{2})?\s?(?:am|pm|a\.m\.|p\.m\.|o'clock)"
    r"|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?|noon|midnight)(?!\w)"
    r"|\s+(?:in\s+the\s+|at\s+)?(?:morning|afternoon|evening|night)(?!\w)"
)
_POSSESSIVE: Final = re.compile(r"'s?(?!\w)")

_BARE_ORDINAL: Final = re.compile(
    r"(?:on\s+)?(?:the\s+)?[0-9]{1,2}(?:st|nd|rd|th)\Z", re.IGNORECASE
)

_LISTED: Final = re.compile(r"\s*,\s*|,?\s+(?:and|or)\s+")
_SAID_YEAR: Final = re.compile(r"(?<![0-9])([0-9]{4})\Z")

_STARTS: Final = re.compile(r"(?<![\w'])[a-z0-9]")


def find_times(text: str, today: date, weeks: Weeks = "rolling") -> list[TimeMention]:
    """Return the times that `text` speaks of, left to right, none overlapping another.

    `today` is the day from which *yesterday* and *last week* are counted. With `weeks` as
    ``rolling``, *last week* is the 7 days before today, and today; with ``calendar`` it is Monday
    to Sunday. What is vague (*recently*, *early October*), denied (*not in May*) or no date at all
    yields no mention. Never raises.
    """
    return [
        _mention(text, spot, spot.meaning)
        for spot in _spots(text, Clock(today, weeks))
        if isinstance(spot.meaning, _Range)
    ]


def find_bad_dates(text: str, today: date | None = None) -> list[tuple[int, int, str]]:
    """Return the places of `text` that have the form of a date and are none, with the reason.

    The reason is one sentence for the user. Without `today` only what is wrong on any day is
    given: *February 30*, *2025-13-45*, *from 2025-10-12 to 2025-10-01*.
    """
    clock = Clock(today or _ANY_DAY)
    return [
        (spot.start, spot.end, spot.meaning.why)
        for spot in _spots(text, clock)
        if isinstance(spot.meaning, Impossible) and not (spot.meaning.relative and today is None)
    ]


# only for what does not depend on the day
_ANY_DAY: Final = date(2000, 6, 15)


def _mention(text: str, spot: _Spot, meaning: _Range) -> TimeMention:
    start, end = spot.start, spot.end
    said = text[start:end]
    reading = f"{' '.join(said.split())} = {_spelt(meaning.range)}"
    if meaning.why:
        reading += f" ({meaning.why})"
    range_, doubtful = meaning.range, meaning.ambiguous
    return TimeMention(start, end, said, range_, reading, doubtful, spot.floating)


def _spelt(days: DateRange) -> str:
    match days:
        case DateRange(None, end):
            return f"up to {end}"
        case DateRange(start, None):
            return f"{start} and later"
        case DateRange(start, end):
            return f"{start}" if start == end else f"{start} to {end}"


def _spots(text: str, clock: Clock) -> list[_Spot]:
    whole = Text(text, fold(text))
    spots = _with_years(_merged(_scan(whole, clock), text), whole, clock)
    touching: set[int] = set()
    for at, (left, right) in enumerate(pairwise(spots)):
        # two times with nothing between them are one that is not known: "this day last year"
        gap = whole.folded[left.end : right.start]
        listed = _LISTED.fullmatch(gap) is not None
        if not gap.strip() or (listed and _continues(text, left, right)):
            touching |= {at, at + 1}
        elif listed and (at in touching or isinstance(left.meaning, _NoTime)):
            touching.add(at + 1)  # "not in May and June" denies both
    return [
        spot
        for at, spot in enumerate(spots)
        if at not in touching or isinstance(spot.meaning, Impossible)
    ]


def _with_years(spots: list[_Spot], text: Text, clock: Clock) -> list[_Spot]:
    """Return the year of *in October and November 2024* to the months and days listed before it."""
    given, year = list(spots), None
    for at in range(len(given) - 1, 0, -1):
        left, right = given[at - 1], given[at]
        if said := _SAID_YEAR.search(text.folded, right.start, right.end):
            year = int(said[1])
        gap = text.folded[left.end : right.start]
        if year and left.floating and isinstance(left.meaning, _Range) and _LISTED.fullmatch(gap):
            again = _read(text, left.start, replace(clock, year=year))
            if again is not None and again.end == left.end:
                given[at - 1] = again
                continue
        year = None
    return given


def _continues(text: str, left: _Spot, right: _Spot) -> bool:
    """Read *September 3rd and the 5th*, where the month of the second is that of the first."""
    said = _BARE_ORDINAL.match(text, right.start, right.end)
    return said is not None and _BARE_ORDINAL.match(text, left.start, left.end) is None


def _scan(text: Text, clock: Clock) -> Iterator[_Spot]:
    behind = 0
    for begin in _STARTS.finditer(text.folded):
        at = begin.start()
        if at < behind or (spot := _read(text, at, clock)) is None:
            continue
        behind = spot.end
        if not isinstance(spot.meaning, Impossible) and is_denied(text, spot.start, spot.end):
            spot = replace(spot, meaning=_NoTime.NO_TIME)
        yield spot


def _read(text: Text, at: int, clock: Clock) -> _Spot | None:
    bare = _period(text, at, clock, "")
    alone = _bounded(text, at, *bare, Bound.AT, clock) if bare is not None else None
    spots = (alone, *_cued(text, at, clock), _pair(text, at, clock))
    found = (spot for spot in spots if spot is not None)
    return max(found, key=lambda spot: spot.end, default=None)


def _period(text: Text, at: int, clock: Clock, cue: str) -> tuple[int, Period | Impossible] | None:
    """Read a period and what is said after it, the time of day and a possessive."""
    read = read_period(text, at, clock, cue)
    if read is None or read.what is None:
        return None
    end, what = read.end, read.what
    if isinstance(what, Period):
        hour = text.behind(end, _CLOCK_TIME)
        if hour and what.days.first == what.days.last:
            end = hour.end()
            why = "the whole day: times of day are left out"
            what = replace(what, why=f"{what.why}; {why}" if what.why else why)
        if possessive := text.behind(end, _POSSESSIVE):
            end = possessive.end()
    return end, what


def _cued(text: Text, at: int, clock: Clock) -> Iterator[_Spot | None]:
    for cue in CUES:
        if match := cue.spelling.match(text, at):
            word = cue.word or match[0].strip()
            read = _period(text, match.end(), clock, word)
            if read is None:
                continue
            end, what = read
            if word == "between" and isinstance(what, Period) and not what.spanning:
                continue
            onwards = text.behind(end, _ONWARDS)
            if cue.bound is Bound.FROM_ON and match[0].strip() == "from" and onwards is None:
                continue
            yield _bounded(text, at, *read, cue.bound, clock)


def _bounded(
    text: Text, at: int, end: int, what: Period | Impossible, bound: Bound, clock: Clock
) -> _Spot:
    if isinstance(what, Impossible):
        return _Spot(at, end, what)
    if bound in {Bound.AT, Bound.FROM_ON} and (more := text.behind(end, _ONWARDS)):
        bound, end = Bound.FROM_ON, more.end()
    elif bound is Bound.AT and (more := text.behind(end, _BACKWARDS)):
        bound, end = Bound.UNTIL, more.end()
    return _Spot(at, end, _in_bounds(what, bound, clock), what.floating)


def _in_bounds(period: Period, bound: Bound, clock: Clock) -> _Meaning:
    if period.open_start:
        if bound is not Bound.AT:
            return _NoTime.NO_TIME
        return _Range(DateRange(None, period.days.last), period.why, period.ambiguous, Bound.UNTIL)
    try:
        days = _ranged(period.days, bound, clock.today)
    except OverflowError:
        return Impossible("The calendar has only the years 1 to 9999.", relative=True)
    why = _reason(period, bound)
    return _Range(days, why, period.ambiguous, bound)


def _reason(period: Period, bound: Bound) -> str:
    """Say why the range is what it is, with the day that it leaves out."""
    match bound:
        case Bound.AFTER:
            reasons = (f"later than {period.days.last}", period.why)
        case Bound.BEFORE:
            reasons = (f"before {period.days.first}", period.why)
        case Bound.AT | Bound.SINCE | Bound.FROM_ON | Bound.UNTIL:
            reasons = (period.why,)
    return _listed(reasons)


def _listed(reasons: Iterable[str]) -> str:
    """Return the reasons in one line, each of them once."""
    return "; ".join(
        dict.fromkeys(reason for each in reasons for reason in each.split("; ") if reason)
    )


def _ranged(days: Days, bound: Bound, today: date) -> DateRange:
    match bound:
        case Bound.AT:
            return DateRange(days.first, days.last)
        case Bound.SINCE:
            return DateRange(days.first, today if days.first <= today else None)
        case Bound.FROM_ON:
            return DateRange(days.first, None)
        case Bound.AFTER:
            return DateRange(days.last + DAY, None)
        case Bound.UNTIL:
            return DateRange(None, days.last)
        case Bound.BEFORE:
            return DateRange(None, days.first - DAY)


def _pair(text: Text, at: int, clock: Clock) -> _Spot | None:
    """Read two periods as the ends of a range: *from March to May*, *Monday - Wednesday*."""
    opener = OPENERS.match(text, at)
    cue = opener[0].split()[0] if opener else "pair"
    begin = opener.end() if opener else at
    first = _period(text, begin, clock, cue)
    if first is None:
        return None
    joint = text.behind(first[0], _JOINT)
    if joint is None and cue == "between":
        joint = text.behind(first[0], _AND)
    if joint is None:
        return None
    second = _period(text, joint.end(), clock, "to" if cue == "pair" else cue)
    if second is None:
        return None
    match first[1], second[1]:
        case Period() as left, Period() as right:
            meaning = _joined(text, begin, joint.end(), cue, left, right, clock)
        case (Impossible() as bad, _) | (_, Impossible() as bad):
            meaning = bad
    return _Spot(at, second[0], meaning)


def _joined(
    text: Text, begin: int, middle: int, cue: str, left: Period, right: Period, clock: Clock
) -> _Meaning:
    """Settle what either end left open by the other one, and see that they are in order."""
    if left.open_start or right.open_start:
        return _NoTime.NO_TIME
    if left.floating and not right.floating:
        for year in (right.days.first.year, right.days.first.year - 1):
            again = _period(text, begin, replace(clock, year=year), cue)
            if again and isinstance(again[1], Period):
                left = again[1]
            if left.days.first <= right.days.last:
                break
    elif right.floating:
        later = replace(clock, not_before=left.days.first)
        again = _period(text, middle, later, "to" if cue == "pair" else cue)
        if again and isinstance(again[1], Period):
            right = again[1]
    start, end = left.days.first, right.days.last
    if start > end:
        relative = not (left.dated and right.dated) or left.floating or right.floating
        return Impossible(f"The range ends on {end}, before it begins on {start}.", relative)
    ahead = left.floating and right.floating and start.year < end.year and end > clock.today
    reasons = [left.why, right.why]
    if ahead:
        reasons.append("it ends after today; a year earlier it would be over")
    why = _listed(reasons)
    ambiguous = left.ambiguous or right.ambiguous or ahead
    return _Range(DateRange(start, end), why, ambiguous, Bound.AT)


def _merged(spots: Iterator[_Spot], text: str) -> list[_Spot]:
    """Make one range of *after 3 May and before 9 May*, in either order."""
    merged: list[_Spot] = []
    for spot in spots:
        both = _both(merged[-1], spot, text) if merged else None
        if both is None:
            merged.append(spot)
        else:
            merged[-1] = both
    return merged


def _both(left: _Spot, right: _Spot, text: str) -> _Spot | None:
    gap = text[left.end : right.start].replace(",", " ").strip().lower()
    if gap not in {"", "and", "but"}:
        return None
    match left.meaning, right.meaning:
        case _Range(bound=one), _Range(bound=other):
            sides = (left.meaning, right.meaning)
        case _:
            return None
    if one in _OPEN_STARTED and other in _OPEN_ENDED:
        sides = (sides[1], sides[0])
    elif not (one in _OPEN_ENDED and other in _OPEN_STARTED):
        return None
    return _Spot(left.start, right.end, _between(sides))


def _between(sides: Sequence[_Range]) -> _Meaning:
    start, end = sides[0].range.start, sides[1].range.end
    if start and end and start > end:
        why = f"The range ends on {end}, before it begins on {start}."
        return Impossible(why, relative=True)
    why = _listed(side.why for side in sides)
    return _Range(DateRange(start, end), why, any(side.ambiguous for side in sides), Bound.AT)
