"""Phrases that name days of the calendar: *2025-10-07*, *October 3rd*, *Q3 2025*, *the 5th*."""

from __future__ import annotations

from datetime import date
from typing import Final, cast

from msgspec.structs import replace

from toolplan.planners.grounded.dates import calendar, words
from toolplan.planners.grounded.dates.calendar import Clock, Days, Impossible, Period, Reading, Unit
from toolplan.planners.grounded.dates.phrase import Phrase
from toolplan.planners.grounded.dates.words import Found
from toolplan.planners.grounded.language.words import word_set

# a bare year is one behind these words; behind the weak ones a round number is a quantity
_YEAR_CUES: Final = word_set("in during since until till before after throughout between part")
_WEAK_YEAR_CUES: Final = frozenset({"from", "for", "of"})

# added to the reading of a period that may lie in part after today
ALL_OF_IT: Final = ", all of it"

# months that are verbs, too
_VERBS: Final = frozenset({"may", "march"})

DAY_CUES: Final = word_set("on since until till before after by from between to starting") | {
    "up to"
}
"""Behind these words an abbreviation or a bare number is a day."""
_MONTH_CUES: Final = DAY_CUES | word_set("in during for of throughout part pair within")


def _one_day(
    day: date, why: str = "", *, ambiguous: bool = False, floating: bool = False
) -> Period:
    return Period(Days.one(day), why, ambiguous=ambiguous, floating=floating, dated=True)


def _exact_day(
    year: int, month: int, day: int, why: str = "", *, ambiguous: bool = False
) -> Reading:
    known = calendar.date_of(year, month, day)
    if known is None:
        return Impossible(calendar.why_no_date(year, month, day))
    return _one_day(known, why, ambiguous=ambiguous)


def _year_said(found: Found, clock: Clock) -> int | None:
    if said := found.get("year") or found.get("y"):
        return int(said)
    if short := found.get("yy"):
        return 2000 + int(short)
    offset = {"last": -1, "previous": -1, "this": 0, "next": 1}.get(found.get("which"))
    return None if offset is None else clock.today.year + offset


def _iso_day(found: Found, clock: Clock) -> Reading:
    why = "the whole day: times of day are left out" if found.get("time") else ""
    return _exact_day(int(found.get("y")), int(found.get("m")), int(found.get("d")), why)


def _numeric_day(found: Found, clock: Clock) -> Reading:
    """Read `10.12.2025` day first, as it is written with dots, and `10/12/2025` month first."""
    first, second, dotted = int(found.get("a")), int(found.get("b")), found.get("sep") == "."
    if len(found.get("y")) == 2 and found.get("sep") != "/" and found.cue not in DAY_CUES:
        return None
    year = int(found.get("y")) + (2000 if len(found.get("y")) == 2 else 0)
    if dotted:
        return _exact_day(year, second, first)
    if first > 12 and second > 12:
        return Impossible(f"Neither {first} nor {second} is a month.")
    month, day = (second, first) if first > 12 >= second else (first, second)
    if first > 12 or second > 12 or first == second:
        return _exact_day(year, month, day)
    why = f"read month first; day first it would be {calendar.date_of(year, second, first)}"
    return _exact_day(year, month, day, why, ambiguous=True)


def _numeric_day_without_year(found: Found, clock: Clock) -> Reading:
    if found.cue not in DAY_CUES or found.counts_something:
        return None
    first, second, dotted = int(found.get("a")), int(found.get("b")), found.get("sep") == "."
    month, day = (second, first) if dotted or first > 12 >= second else (first, second)
    if not dotted and not 1 <= month <= 12:
        return None  # a fraction, a score
    reading = _day_in_month(clock, month, day)
    if isinstance(reading, Period) and not dotted and first <= 12 >= second and first != second:
        return replace(
            reading,
            why=f"read month first, not {first} {words.MONTH_NAMES[second - 1]}; {reading.why}",
            ambiguous=True,
        )
    return reading


def _day_in_month(clock: Clock, month: int, day: int) -> Reading:
    known = calendar.day_of(clock, month, day) if 1 <= month <= 12 else None
    if known is None:
        return Impossible(calendar.why_no_date(clock.year, month, day))
    why = calendar.why_chosen(clock, words.MONTH_NAMES[month - 1])
    ahead = known > clock.today and clock.year is None and clock.not_before is None
    if ahead:
        why += "; the day is still to come"
    return _one_day(known, why, ambiguous=ahead, floating=True)


def _named_day(found: Found, clock: Clock) -> Reading:
    """Read a month with a day, in either order, with a year or without."""
    word = found.get("ordinal") or found.get("day")
    day = words.ORDINALS.get(word) or int(word.rstrip("stndrh"))
    month, year = words.month_number(found.get("month")), _year_said(found, clock)
    if year is not None:
        return _exact_day(year, month, day)
    plain = word.isdecimal() and not found.get("suffix")
    if plain and (day > 31 or found.counts_something or _is_verb(found)):
        return None
    return _day_in_month(clock, month, day)


def _is_verb(found: Found) -> bool:
    """Distinguish *which 20 may be late* from *on 20 may* and *20 May*."""
    at = found.match.start("month")
    written_small = not found.text.original[at].isupper()
    return found.get("month") in _VERBS and written_small and found.cue not in DAY_CUES


def _days_of_month(found: Found, clock: Clock) -> Reading:
    """Read two days of one month: *October 1-10*, *the 1st to the 10th of October 2025*."""
    if found.get("join") == "and" and found.cue != "between":
        return None
    if found.counts_something:
        return None
    month, year = words.month_number(found.get("month")), _year_said(found, clock)
    inner = replace(clock, year=year) if year is not None else clock
    first = _day_in_month(inner, month, int(found.get("one")))
    last = _day_in_month(inner, month, int(found.get("two")))
    if not isinstance(first, Period):
        return first
    if not isinstance(last, Period):
        return last
    start, end = first.days.first, last.days.first
    if start > end:
        return Impossible(f"The range ends on {end}, before it begins on {start}.")
    why = calendar.why_chosen(inner, words.MONTH_NAMES[month - 1])
    return Period(Days(start, end), why, floating=year is None, spanning=True)


def _iso_month(found: Found, clock: Clock) -> Reading:
    year, month = int(found.get("y")), int(found.get("m"))
    if not 1 <= month <= 12 or year == 0:
        return None
    return Period(calendar.month_days(calendar.month_first(year, month)))


def _month(found: Found, clock: Clock) -> Reading:
    month, year = words.month_number(found.get("month")), _year_said(found, clock)
    name = words.MONTH_NAMES[month - 1]
    if year is not None:
        return Period(calendar.month_days(calendar.month_first(year, month)))
    if not found.get("said") and not _is_month_alone(found):
        return None
    days = calendar.month_days(calendar.month_of(clock, month))
    why = calendar.why_chosen(clock, name)
    return Period(days, why and why + ALL_OF_IT, floating=True)


def _is_month_alone(found: Found) -> bool:
    """Distinguish *in May*, *the March figures* from *may I*, *march*, *by June Smith*."""
    word = found.get("month").rstrip(".")
    behind_by = found.cue == "by" or found.text.previous_word(found.match.start()) == "by"
    if word in words.GIVEN_NAMES and (behind_by or found.before_name):
        return False
    if found.cue in _MONTH_CUES:
        return word != "jan" or found.cue not in {"from", "for", "of"}
    return word in words.MONTHS and (word not in _VERBS or found.capitalised)


def _day_alone(found: Found, clock: Clock) -> Reading:
    """Read *the 5th*, only where no noun follows that it could count."""
    if not found.get("the") and found.cue not in DAY_CUES:
        return None
    day = int(found.get("day"))
    known = calendar.day_of_month(clock, day) if 1 <= day <= 31 else None
    if known is None:
        return None
    why = calendar.why_chosen(replace(clock, year=None), f"{day}{found.get('suffix')}")
    return _one_day(known, why, floating=True)


def _day_of_relative_month(found: Found, clock: Clock) -> Reading:
    months = {"last": -1, "previous": -1, "next": 1}.get(found.get("which"), 0)
    first = calendar.month_first(clock.today.year, clock.today.month + months)
    return _exact_day(first.year, first.month, words.ordinal_number(found.get("ordinal")))


def _quarter(found: Found, clock: Clock) -> Reading:
    number = int(found.get("q")) if found.get("q") else words.ordinal_number(found.get("ordinal"))
    year = _year_said(found, clock)
    if not 1 <= number <= 4:
        return Impossible(f"A year has 4 quarters, not {number}.") if year is not None else None
    if year is not None:
        return Period(calendar.months_from(calendar.month_first(year, 3 * number - 2), 3))
    first = calendar.month_of(clock, 3 * number - 2)
    why = calendar.why_chosen(clock, f"Q{number}")
    return Period(calendar.months_from(first, 3), why, floating=True)


def _half(found: Found, clock: Clock) -> Reading:
    year = _year_said(found, clock)
    if year is None and found.cue not in _MONTH_CUES:
        return None
    number = int(found.get("h"))
    first = calendar.month_of(clock if year is None else replace(clock, year=year), 6 * number - 5)
    return Period(calendar.months_from(first, 6), floating=year is None)


def _week_number(found: Found, clock: Clock) -> Reading:
    number, year = int(found.get("week")), _year_said(found, clock)
    if not 1 <= number <= 53:
        return Impossible(f"There is no calendar week {number}.")
    if year is None:
        year = clock.year or clock.today.isocalendar().year
        if clock.year is None and number > clock.today.isocalendar().week:
            year -= 1
    weeks = (
        calendar.month_first(year, 12).replace(day=28).isocalendar().week
    )  # it is in the last week
    if number > weeks:
        return Impossible(
            f"{year} has {weeks} calendar weeks, not {number}.", _year_said(found, clock) is None
        )
    monday = date.fromisocalendar(year, number, 1)
    return Period(calendar.around(monday, "week"), f"ISO week {number} of {year}", floating=False)


def _year(found: Found, clock: Clock) -> Reading:
    year = int(found.get("year"))
    if not found.get("said"):
        weak = found.cue in _WEAK_YEAR_CUES and year % 50 != 0
        if found.counts_something or not (weak or found.cue in _YEAR_CUES):
            return None
    return Period(Days(date(year, 1, 1), date(year, 12, 31)))


def _unit_itself(found: Found, clock: Clock) -> Reading:
    """Read the unit itself, where a part of it was asked for: *the end of the month*."""
    if found.cue != "part":
        return None
    unit = cast("Unit", found.get("unit"))
    return Period(calendar.around(clock.today, unit), f"the {unit} of today")


_ALONE: Final = (
    r"(?=\s*(?:$|[,;:.?!)'\-]| (?:of|at|in|with|without|that|which|who|and|or|but|to|until|till|"
    r"through|from|by|for|were|was|are|is|have|has|had|did|do|does|since|on|please|between|"
    r"before|after|per|sorted|grouped|ordered)\b))"
)
_NO_DIGITS: Final = r"(?![\w/]|[.,:-][0-9])"

# a year that is joined on in another way than `words.OF_YEAR` does it
_JOINED_YEAR: Final = words.YEAR.replace("<year>", "<y>")
_JOIN: Final = "(?P<join>-|to|through|thru|until|till|and)"
_ORDINAL_WORD: Final = words.one_of(words.ORDINALS)
_DAY_OF_MONTH: Final = r"[0-9]{1,2})(?:st|nd|rd|th)?"

PHRASES: Final = (
    Phrase(
        r"(?P<y>[0-9]{4})(?P<sep>[-/.])(?P<m>[0-9]{1,2})(?P=sep)(?P<d>[0-9]{1,2})"
        r"(?P<time>(?:t|\s)[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?"
        r"(?:z|[+-][0-9]{2}:?[0-9]{2})?)?(?![\w/]|[.-][0-9])",
        _iso_day,
        words.A_DIGIT,
    ),
    Phrase(
        r"(?P<a>[0-9]{1,2})(?P<sep>[-/.])(?P<b>[0-9]{1,2})(?P=sep)(?P<y>[0-9]{4}|[0-9]{2})"
        r"(?![\w/]|\.[0-9])",
        _numeric_day,
        words.A_DIGIT,
    ),
    Phrase(
        r"(?P<a>[0-9]{1,2})(?P<sep>\.)(?P<b>[0-9]{1,2})\.(?![0-9])",
        _numeric_day_without_year,
        words.A_DIGIT,
    ),
    Phrase(
        r"(?P<a>[0-9]{1,2})(?P<sep>/)(?P<b>[0-9]{1,2})(?![\w/.-])",
        _numeric_day_without_year,
        words.A_DIGIT,
    ),
    Phrase(
        rf"{words.MONTH}(?: (?:the )?|-){words.DAY}{words.OF_YEAR}?(?![.,:][0-9])",
        _named_day,
        words.A_MONTH,
        words.A_DIGIT,
    ),
    Phrase(
        rf"{words.MONTH} (?:the )?(?P<ordinal>{_ORDINAL_WORD})(?:{words.OF_YEAR}|{_ALONE})",
        _named_day,
        words.A_MONTH,
        words.AN_ORDINAL,
    ),
    Phrase(
        rf"{words.DAY}\.?(?: (?:of )?|-){words.MONTH}"
        rf"(?:{words.OF_YEAR}|-(?P<yy>[0-9]{{2}})(?![\w-])|-{_JOINED_YEAR})?",
        _named_day,
        words.A_DIGIT,
        words.A_MONTH,
    ),
    Phrase(
        rf"(?P<ordinal>{_ORDINAL_WORD}) (?:of )?{words.MONTH}{words.OF_YEAR}?",
        _named_day,
        words.AN_ORDINAL,
        words.A_MONTH,
    ),
    Phrase(
        rf"{words.MONTH} (?:the )?(?P<one>{_DAY_OF_MONTH}\s*{_JOIN}\s*(?:the )?"
        rf"(?P<two>{_DAY_OF_MONTH}{words.OF_YEAR}?{_NO_DIGITS}",
        _days_of_month,
        words.A_MONTH,
        words.A_DIGIT,
    ),
    Phrase(
        rf"(?P<one>{_DAY_OF_MONTH}\s*{_JOIN}\s*(?:the )?(?P<two>{_DAY_OF_MONTH}\.?"
        rf" (?:of )?{words.MONTH}{words.OF_YEAR}?",
        _days_of_month,
        words.A_DIGIT,
        words.A_MONTH,
    ),
    Phrase(rf"(?P<y>[0-9]{{4}})-(?P<m>[0-9]{{2}}){_NO_DIGITS}", _iso_month, words.A_DIGIT),
    Phrase(rf"(?P<m>[0-9]{{1,2}})/{_JOINED_YEAR}{_NO_DIGITS}", _iso_month, words.A_DIGIT),
    Phrase(
        rf"(?P<said>month of )?{words.MONTH}(?:{words.OF_YEAR}|[/-]{_JOINED_YEAR})?",
        _month,
        words.A_MONTH,
    ),
    Phrase(rf"(?P<the>the )?{words.DAY.replace(')?', ')')}{_ALONE}", _day_alone, words.A_DIGIT),
    Phrase(
        rf"(?:the )?{words.ORDINAL} (?:day )?of (?:the|(?P<which>this|last|previous|next)) month",
        _day_of_relative_month,
        words.AN_ORDINAL,
        " month",
    ),
    Phrase(
        rf"q(?P<q>[0-9])(?:{words.OF_YEAR}|\s*[/-]\s*{_JOINED_YEAR}| ?'(?P<yy>[0-9]{{2}}))?",
        _quarter,
        words.A_DIGIT,
    ),
    Phrase(rf"{words.YEAR}(?: |-|/)?q(?P<q>[0-9])", _quarter, words.A_DIGIT),
    Phrase(rf"{words.ORDINAL} quarter{words.OF_YEAR}?", _quarter, words.AN_ORDINAL, " quarter"),
    Phrase(rf"h(?P<h>[12])(?:{words.OF_YEAR}|\s*[/-]\s*{_JOINED_YEAR})?", _half, words.A_DIGIT),
    Phrase(
        r"(?:calendar week|week number|week no\.?|week|cw|kw|wk\.?)\s*(?P<week>[0-9]{1,2})"
        rf"(?:{words.OF_YEAR}|\s*/\s*{_JOINED_YEAR})?(?![.,][0-9])",
        _week_number,
        words.A_DIGIT,
    ),
    Phrase(rf"{words.YEAR}-?w(?P<week>[0-9]{{2}})", _week_number, words.A_DIGIT),
    Phrase(rf"(?P<said>(?:calendar )?year )?{words.YEAR}(?![.,:/][0-9])", _year, words.A_DIGIT),
    Phrase("(?P<unit>week|month|quarter|year)", _unit_itself, "week|month|quarter|year"),
)
