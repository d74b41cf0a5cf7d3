"""Days, and arithmetic on them.

Everything that steps over an edge of the years 1 to 9999 raises OverflowError, which the reader of
mentions turns into a bad date.
"""

from __future__ import annotations

from calendar import monthrange
from datetime import MAXYEAR, MINYEAR, date, timedelta
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec import Struct

from toolplan.planners.grounded.dates.words import MONTH_NAMES

Weeks: TypeAlias = Literal["rolling", "calendar"]
Unit: TypeAlias = Literal["day", "week", "month", "quarter", "year"]

DAY: Final = timedelta(days=1)


class Days(NamedTuple):
    """A stretch of days, both ends included."""

    first: date
    last: date

    @classmethod
    def one(cls, day: date) -> Days:
        """Return a single day."""
        return cls(day, day)


class Period(Struct, frozen=True):
    """The days that a phrase names, before words such as *since* are looked at.

    `why` says how the days were chosen, for the user. `floating`: the phrase left the year (or the
    month, or the week) open. `dated`: it names one day of the calendar, not one relative to today.
    `spanning`: it names both of its ends itself (*October 1-10*). `open_start`: all
    days up to its last one are meant (*more than 3 days ago*).
    """

    days: Days
    why: str = ""
    ambiguous: bool = False
    floating: bool = False
    dated: bool = False
    spanning: bool = False
    open_start: bool = False


class Impossible(Struct, frozen=True):
    """A phrase that has the form of a date and is none. `relative`: on another day it may be."""

    why: str
    relative: bool = False


Reading: TypeAlias = Period | Impossible | None


class Clock(Struct, frozen=True):
    """Today, and what is known about a phrase from its runtime.

    `weeks` defines *last week*. `year` is the year to take where none is said; `not_before`
    is where a range has begun that the phrase ends; `whole` asks for all of *this month*, not only
    the part up to today, as *the end of this month* does.
    """

    today: date
    weeks: Weeks = "rolling"
    year: int | None = None
    not_before: date | None = None
    whole: bool = False


def month_first(year: int, month: int) -> date:
    """Return the first day of a month; `month` may lie outside 1 to 12 and counts on.

    Raises:
        OverflowError: the month is before the year 1 or after 9999.
    """
    years, index = divmod(month - 1, 12)
    if not MINYEAR <= year + years <= MAXYEAR:
        raise OverflowError
    return date(year + years, index + 1, 1)


def month_days(first: date) -> Days:
    """Return the whole month that begins with `first`."""
    return Days(first, first.replace(day=monthrange(first.year, first.month)[1]))


def months_from(first: date, count: int) -> Days:
    """Return `count` whole months, beginning with the day `first`, the first of a month."""
    return Days(first, month_days(month_first(first.year, first.month + count - 1)).last)


def plus(day: date, unit: Unit, count: int) -> date:
    """Return the day `count` units after `day`; a day that a month lacks becomes its last one."""
    match unit:
        case "day":
            return day + timedelta(days=count)
        case "week":
            return day + timedelta(weeks=count)
        case "month" | "quarter" | "year":
            first, last = month_days(month_first(day.year, day.month + count * _MONTHS[unit]))
            return first.replace(day=min(day.day, last.day))


_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}


def around(day: date, unit: Unit) -> Days:
    """Return the whole calendar unit in which `day` lies; weeks go from Monday to Sunday."""
    match unit:
        case "day":
            return Days.one(day)
        case "week":
            monday = day - timedelta(days=day.weekday())
            return Days(monday, monday + timedelta(days=6))
        case "month":
            return month_days(day.replace(day=1))
        case "quarter":
            return months_from(day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1), 3)
        case "year":
            return months_from(day.replace(month=1, day=1), 12)


def month_of(clock: Clock, month: int) -> date:
    """Return the first day of the month that a month's bare name means.

    It is the most recent one that has begun; the first one that is not over at `not_before`.
    """
    if clock.year is not None:
        return month_first(clock.year, month)
    if clock.not_before is not None:
        return month_first(clock.not_before.year + (month < clock.not_before.month), month)
    return month_first(clock.today.year - (month > clock.today.month), month)


def why_chosen(clock: Clock, name: str) -> str:
    """Say how a period was chosen whose name leaves open which of many it is; `""` if it was not.

    The name is that of a month, a quarter or a day of the week.
    """
    if clock.year is not None:
        return ""
    if clock.not_before is not None:
        return f"the first {name} from {clock.not_before} on"
    return f"the most recent {name} that has begun"


def day_of(clock: Clock, month: int, day: int) -> date | None:
    """Return the day that a day and a month without a year mean, None where no year has it.

    It lies in the month of `month_of`, or as many years from there as 29 February needs.
    """
    year = month_of(clock, month).year
    if clock.year is not None:
        return date_of(year, month, day)
    step = -1 if clock.not_before is None else 1
    for candidate in (date_of(year + step * years, month, day) for years in range(9)):
        if candidate and (clock.not_before is None or candidate >= clock.not_before):
            return candidate
    return None


def day_of_month(clock: Clock, day: int) -> date | None:
    """Return the most recent day with this number that is not after today.

    With `not_before`, the first one that is not before it. None where no month has the number.
    """
    base = clock.not_before or clock.today
    step = -1 if clock.not_before is None else 1
    for months in range(4):
        first = month_first(base.year, base.month + step * months)
        candidate = date_of(first.year, first.month, day)
        if candidate and (candidate - base).days * step >= 0:
            return candidate
    return None


def weekday_of(clock: Clock, weekday: int) -> date:
    """Return the most recent such day of the week, today included; the first from `not_before`."""
    if clock.not_before is not None:
        return clock.not_before + timedelta(days=(weekday - clock.not_before.weekday()) % 7)
    return clock.today - timedelta(days=(clock.today.weekday() - weekday) % 7)


def date_of(year: int, month: int, day: int) -> date | None:
    """Return the date, None where the calendar has none."""
    if not (MINYEAR <= year <= MAXYEAR and 1 <= month <= 12):
        return None
    return date(year, month, day) if 1 <= day <= monthrange(year, month)[1] else None


def why_no_date(year: int | None, month: int, day: int) -> str:
    """Say in one sentence what is wrong with a date that `date_of` does not know."""
    if not 1 <= month <= 12:
        return f"There is no month {month}."
    if year is not None and not MINYEAR <= year <= MAXYEAR:
        return f"There is no year {year}."
    if day < 1 or day > 31:
        return f"There is no day {day} in any month."
    name = MONTH_NAMES[month - 1]
    if year is None:
        return f"{name} has no day {day} in any year."
    return f"{name} {year} has {monthrange(year, month)[1]} days, not {day}."


def nth_weekday(days: Days, weekday: int, nth: int) -> date | None:
    """Return the `nth` such day of the week within `days`, counted from 1.

    Or from the end by -1.
    """
    first = days.first + timedelta(days=(weekday - days.first.weekday()) % 7)
    count = (days.last - first).days // 7 + 1
    index = nth - 1 if nth > 0 else count + nth
    return first + timedelta(weeks=index) if 0 <= index < count else None
