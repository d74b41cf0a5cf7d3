"""Phrases that count from today: *yesterday*, *last week*, *past 3 months*, *2 days ago*."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from toolplan.planners.grounded.dates import calendar, words
from toolplan.planners.grounded.dates.calendar import DAY, Clock, Days, Period, Reading, Unit
from toolplan.planners.grounded.dates.dates import DAY_CUES
from toolplan.planners.grounded.dates.phrase import Phrase
from toolplan.planners.grounded.dates.words import Found

_NO_HOURS: Final = "times of day are left out"
_WHOLE_DAY: Final = f"the whole day: {_NO_HOURS}"

_DAY_WORDS: Final = {
    "today": 0, "todays": 0, "tonight": 0, "now": 0, "yesterday": -1, "yesterdays": -1,
    "tomorrow": 1, "tomorrows": 1,
}  # fmt: skip

# units that are so many of another one
_AS_UNIT: Final[dict[str, tuple[Unit, int]]] = {
    "day": ("day", 1), "week": ("week", 1), "fortnight": ("day", 14), "month": ("month", 1),
    "quarter": ("quarter", 1), "half-year": ("month", 6), "half year": ("month", 6),
    "year": ("year", 1), "decade": ("year", 10),
}  # fmt: skip

# "now" is a time only as the end of one
_NOW_CUES: Final = frozenset({"to", "until", "up to", "from", "between", "since"})

# what "on", "since", "last" before an abbreviation leave no doubt of
_WEEKDAY_CUES: Final = DAY_CUES | {"pair"}
# "sat" and "sun" are words of their own
_SURE_CUES: Final = frozenset({"on", "since", "until", "till", "between", "to", "starting", "pair"})


def _day_word(found: Found, clock: Clock) -> Reading:
    word = found.get("word")
    if word == "now" and found.cue not in _NOW_CUES:
        return None
    day = clock.today + timedelta(days=_DAY_WORDS[word])
    return Period(Days.one(day), _WHOLE_DAY if word == "tonight" else "")


def _offset(first: int, last: int, why: str = "") -> Callable[[Found, Clock], Reading]:
    """Return the reading of a phrase that means the days from `first` to `last` after today."""

    def read(found: Found, clock: Clock) -> Reading:
        return Period(Days(clock.today + first * DAY, clock.today + last * DAY), why)

    return read


def _unit_period(found: Found, clock: Clock) -> Reading:
    unit, count = _AS_UNIT[" ".join(found.get("unit").split())]
    match found.get("which"):
        case "this" | "current":
            return _this(unit, count, clock)
        case "next":
            return _next(unit, count, clock)
        case "last" if found.cue in {"over", "within"}:
            return _back(unit, count, clock)  # these two speak of a window, not of a month
        case "last" | "previous" | "prior" if count == 1 and unit != "day":
            return _last(unit, clock)
        case "previous" | "prior" if unit == "day":
            return Period(Days(clock.today - count * DAY, clock.today - DAY))
        case _:
            return _back(unit, count, clock)


def _this(unit: Unit, count: int, clock: Clock) -> Reading:
    if count > 1:
        return None
    whole = calendar.around(clock.today, unit)
    if clock.whole or unit == "day":
        return Period(whole)
    begins = "Monday" if unit == "week" else f"the first day of the {unit}"
    return Period(Days(whole.first, clock.today), f"{begins} to today")


def _next(unit: Unit, count: int, clock: Clock) -> Reading:
    if count > 1:
        return _ahead(unit, count, clock)
    days = calendar.around(calendar.around(clock.today, unit).last + DAY, unit)
    return Period(days, "Monday to Sunday after this week" if unit == "week" else f"all {unit}")


def _last(unit: Unit, clock: Clock) -> Period:
    if unit == "week" and clock.weeks == "rolling":
        return _back("week", 1, clock)
    days = calendar.around(calendar.around(clock.today, unit).first - DAY, unit)
    if unit == "week":
        return Period(days, "Monday to Sunday of the week before this one")
    return Period(days, f"the calendar {unit} before this one")


def _back(unit: Unit, count: int, clock: Clock) -> Period:
    days = Days(calendar.plus(clock.today, unit, -count), clock.today)
    if unit in {"day", "week"}:
        return Period(
            days, f"{_counted((days.last - days.first).days, 'day')} before today, and today"
        )
    return Period(days, f"from the same day {_counted(count, unit)} back, up to today")


def _ahead(unit: Unit, count: int, clock: Clock) -> Period:
    days = Days(clock.today, calendar.plus(clock.today, unit, count))
    return Period(days, f"today and {_counted(count, unit)} ahead")


def _counted(count: int, unit: str) -> str:
    if count == 1:
        return f"the {unit}" if unit == "day" else f"one {unit}"
    return f"the {count} {unit}s" if unit == "day" else f"{count} {unit}s"


def _amount(found: Found) -> tuple[Unit, int] | None:
    """Return the number and the unit that were said; hours are rounded up to days."""
    count = words.number_of(found.get("number"))
    name = " ".join(found.get("unit").split())
    if name == "hour":
        return "day", -(-count // 24)
    unit, factor = _AS_UNIT[name]
    return (unit, count * factor) if count else None


def _rolling(found: Found, clock: Clock) -> Reading:
    amount = _amount(found)
    if amount is None:
        return None
    if found.get("which") in {"next", "coming", "upcoming"}:
        return _ahead(*amount, clock)
    period = _back(*amount, clock)
    if found.get("unit") == "hour":
        return Period(period.days, f"{period.why}; {_NO_HOURS}")
    return period


def _since_amount(found: Found, clock: Clock) -> Reading:
    return _rolling(found, clock) if found.cue == "since" else None


def _ago(found: Found, clock: Clock) -> Reading:
    amount = _amount(found)
    if amount is None:
        return None
    unit, count = amount
    days = Days.one(calendar.plus(clock.today, unit, -count))
    if unit in {"day", "week"} or found.get("today"):
        return Period(days, "that one day")
    return Period(days, f"that one day, not the whole {unit}", ambiguous=True)


def _ago_compared(found: Found, clock: Clock) -> Reading:
    """Read *more than 3 days ago* and its kin: a side of the day, or the days up to today."""
    amount = _amount(found)
    if amount is None:
        return None
    day = calendar.plus(clock.today, amount[0], -amount[1])
    match " ".join(found.get("way").split()):
        case "more than" | "over" | "older than" | "longer than":
            return Period(Days(day - DAY, day - DAY), f"before {day}", open_start=True)
        case "at least":
            return Period(Days.one(day), f"on {day} or before", open_start=True)
        case "less than" | "under" | "newer than" | "younger than":
            return Period(Days(day + DAY, clock.today), f"after {day}, up to today")
        case way:
            why = f"{day} up to today"
            return Period(Days(day, clock.today), why, ambiguous=way == "up to")


def _from_now(found: Found, clock: Clock) -> Reading:
    amount = _amount(found)
    if amount is None:
        return None
    day = calendar.plus(clock.today, *amount)
    return Period(Days.one(day), "that one day")


def _to_date(found: Found, clock: Clock) -> Reading:
    unit = _TO_DATE.get(found.get("short")) or _AS_UNIT[found.get("unit")][0]
    return _this(unit, 1, replace(clock, whole=False))


_TO_DATE: Final[dict[str, Unit]] = {
    "ytd": "year", "qtd": "quarter", "mtd": "month", "wtd": "week",
}  # fmt: skip


def _last_but_one(found: Found, clock: Clock) -> Reading:
    unit = _AS_UNIT[found.get("unit")][0]
    if unit == "week" and clock.weeks == "rolling":
        days = Days(clock.today - 14 * DAY, clock.today - 8 * DAY)
        return Period(days, "the 7 days before the last 8")
    last = calendar.around(calendar.around(clock.today, unit).first - DAY, unit)
    return Period(
        calendar.around(last.first - DAY, unit), f"the calendar {unit} before the last one"
    )


def _weekend(found: Found, clock: Clock) -> Reading:
    saturday = calendar.around(clock.today, "week").last - DAY
    began = saturday if clock.today >= saturday else saturday - 7 * DAY
    match found.get("which"):
        case "last" | "past" | "previous" | "this past":
            first, why = saturday - 7 * DAY, "the weekend before the one of this week"
        case "this":
            first, why = saturday, "the weekend of this week"
        case "next":
            first, why = saturday + 7 * DAY, "the weekend of next week"
        case _ if found.cue in {"on", "at", "over", "during"}:
            first, why = began, "the most recent one that has begun"
        case _:
            return None
    return Period(Days(first, first + DAY), why)


def _weekday(found: Found, clock: Clock) -> Reading:
    word, which = found.get("weekday"), found.get("which")
    weekday, week = words.weekday_number(word), calendar.around(clock.today, "week")
    in_this_week = week.first + weekday * DAY
    match which:
        case "":
            if word not in words.WEEKDAYS and not _cued(word, found):
                return None
            day = calendar.weekday_of(clock, weekday)
            why, due = (
                calendar.why_chosen(clock, words.WEEKDAY_NAMES[weekday]),
                found.cue == "by" and day < clock.today,
            )
            if due:
                why += f"; the next one is {day + 7 * DAY}"
            return Period(Days.one(day), why, ambiguous=due, floating=True)
        case "last" | "past" | "this past" | "previous":
            day = calendar.weekday_of(Clock(clock.today - DAY), weekday)
            return Period(Days.one(day), "the most recent one before today")
        case "next":
            day, ahead = in_this_week + 7 * DAY, in_this_week > clock.today
            why = f"{words.WEEKDAY_NAMES[weekday]} of next week"
            if ahead:
                why += f"; this week's is {in_this_week}"
            return Period(Days.one(day), why, ambiguous=ahead)
        case _:
            return Period(
                Days(in_this_week, in_this_week), f"{words.WEEKDAY_NAMES[weekday]} of this week"
            )


def _cued(abbreviation: str, found: Found) -> bool:
    unsure = abbreviation.rstrip(".") in {"sat", "sun"}
    return found.cue in (_SURE_CUES if unsure else _WEEKDAY_CUES)


def _weekday_of_week(found: Found, clock: Clock) -> Reading:
    weekday = words.weekday_number(found.get("weekday"))
    weeks = {"last": -1, "previous": -1, "this": 0, "next": 1}[found.get("which")]
    day = calendar.around(clock.today, "week").first + (7 * weeks + weekday) * DAY
    return Period(
        Days.one(day), f"{words.WEEKDAY_NAMES[weekday]} of that week, which begins on Monday"
    )


def _month_beside(found: Found, clock: Clock) -> Reading:
    """Read *last October*, *this October*, *next October*."""
    month = words.month_number(found.get("month"))
    year, name = clock.today.year, words.MONTH_NAMES[month - 1]
    match found.get("which"):
        case "this":
            why = f"{name} of this year"
        case "next":
            year, why = year + (month <= clock.today.month), f"the first {name} to come"
        case _:
            year, why = year - (month >= clock.today.month), f"the last {name} that is over"
    return Period(calendar.month_days(calendar.month_first(year, month)), why)


_WHICH: Final = "(?P<which>last|previous|prior|this past|past|this|current|next)"
_A_UNIT_OR_HOUR: Final = f"hour|{words.A_UNIT}"

PHRASES: Final = (
    Phrase(f"(?P<word>{'|'.join(_DAY_WORDS)})", _day_word, "|".join(_DAY_WORDS)),
    Phrase(
        "this (?:morning|afternoon|evening|noon)",
        _offset(0, 0, _WHOLE_DAY),
        "morning|noon|evening",
    ),
    Phrase("last night", _offset(-1, 0, "both days that the night lies in")),
    Phrase("day before yesterday", _offset(-2, -2)),
    Phrase("day after tomorrow", _offset(2, 2)),
    Phrase(
        f"{_WHICH} {words.UNIT}",
        _unit_period,
        "last|previous|prior|past|this|current|next",
        words.A_UNIT,
    ),
    Phrase(
        "(?P<which>last|past|this past|previous|preceding|trailing|next|coming|upcoming) "
        f"{words.NUMBER} {words.UNIT_OR_HOUR}s?",
        _rolling,
        "last|past|previous|preceding|trailing|next|coming",
        words.A_NUMBER,
        _A_UNIT_OR_HOUR,
    ),
    Phrase("(?:last|past) hour", _offset(-1, 0, f"the day before and today: {_NO_HOURS}"), "hour"),
    Phrase(
        f"{words.NUMBER} {words.UNIT_OR_HOUR}s?", _since_amount, words.A_NUMBER, _A_UNIT_OR_HOUR
    ),
    Phrase(f"{words.NUMBER} {words.UNIT}s? ago(?P<today> today)?", _ago, " ago"),
    Phrase(
        "(?P<way>more than|over|at least|less than|under|at most|up to|within|no more than) "
        f"{words.NUMBER} {words.UNIT}s? ago",
        _ago_compared,
        " ago",
    ),
    Phrase(
        "(?P<way>older than|longer than|newer than|younger than) "
        f"{words.NUMBER} {words.UNIT}s?(?: ago)?",
        _ago_compared,
        "er than ",
        words.A_NUMBER,
    ),
    Phrase(f"{words.NUMBER} {words.UNIT}s? from (?:now|today)", _from_now, "from now|from today"),
    Phrase("(?P<short>ytd|qtd|mtd|wtd)", _to_date, "td"),
    Phrase("(?P<unit>week|month|quarter|year)(?: |-)to(?: |-)date", _to_date, "date"),
    Phrase("so far this (?P<unit>week|month|quarter|year)", _to_date, "so far this"),
    Phrase("this (?P<unit>week|month|quarter|year) so far", _to_date, " so far"),
    Phrase("(?P<unit>week|month|quarter|year) before last", _last_but_one, " before last"),
    Phrase("(?:(?P<which>last|past|previous|this past|this|next) )?weekend", _weekend, "weekend"),
    Phrase(
        f"(?:(?P<which>last|past|previous|this past|this|next) )?{words.WEEKDAY}",
        _weekday,
        words.A_WEEKDAY,
    ),
    Phrase(
        f"{words.WEEKDAY},? (?:of )?(?P<which>last|previous|this|next) week",
        _weekday_of_week,
        words.A_WEEKDAY,
        " week",
    ),
    Phrase(
        f"(?P<which>last|previous|this|next) week,? (?:on )?{words.WEEKDAY}",
        _weekday_of_week,
        words.A_WEEKDAY,
        " week",
    ),
    Phrase(
        f"(?P<which>last|past|this past|this|next) {words.MONTH}",
        _month_beside,
        "last|past|this|next",
        words.A_MONTH,
    ),
)
