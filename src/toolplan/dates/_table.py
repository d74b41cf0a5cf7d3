"""The table of times: spellings, and the days that each means.

`PERIODS` are the times, `PARTS` the parts of one (*end of …*), `BOUNDS` what words such as *since*
make of one. A function of the table takes the groups of its spelling, and today.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Final

from toolplan.dates._values import Ask, DateRange, Meaning, Now, Period, Words


def _numbered(names: str, start: int) -> dict[str, int]:
    groups = enumerate(names.split("|"), start)
    return {name: number for number, group in groups for name in group.split()}


MONTHS: Final = _numbered(
    "january jan|february feb|march mar|april apr|may|june jun|july jul|august aug"
    "|september sep sept|october oct|november nov|december dec",
    1,
)
WEEKDAYS: Final = _numbered(
    "monday mon|tuesday tue tues|wednesday wed|thursday thu thur thurs|friday fri|saturday sat"
    "|sunday sun",
    0,
)
ORDINALS: Final = _numbered("first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth", 1)
NUMBERS: Final = {
    **_numbered("a an one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve", 1),
    **_numbered("fourteen|fifteen", 14),
    **{"twenty": 20, "thirty": 30, "sixty": 60, "ninety": 90},
}
_PAIR: Final = {"a couple of": 2, "couple of": 2}
DAY: Final = timedelta(days=1)
_TIME_OF_DAY: Final = "the time of day is left out"
_BACK: Final = ("last", "previous", "past")
_AHEAD: Final = ("coming", "upcoming")
_NTH: Final = r"\d{1,2}(?:st|nd|rd|th)"
ATOMS: Final = {
    "n": rf"\d{{1,4}}|{'|'.join((*_PAIR, *NUMBERS))}",
    "span": "week|month|quarter|year",
    "units": "(?:hour|day|night|week|fortnight|month|quarter|year)s?",
    "month": "|".join(MONTHS),
    "weekday": "|".join(WEEKDAYS),
    "d": rf"{_NTH}|\d{{1,2}}|{'|'.join(ORDINALS)}",
    "e": rf"{_NTH}|\d{{1,2}}|{'|'.join(ORDINALS)}",
    "nth": _NTH,
    "ordinal": rf"{_NTH}|{'|'.join(ORDINALS)}",
    "year": r"(?:19|20)\d\d",
    "which": "last|previous|past|this|next|coming|upcoming",
    "to": "to|till|until|through|thru|-",
    "edge": "end|close|last day|beginning|start|first day",
}
"""The groups of a spelling: `{month}` is a group of that name."""
_OF: Final = "(?: ?[,-]? ?(?:of )?{year})?"


def compiled(spelling: str) -> re.Pattern[str]:
    def group(match: re.Match[str]) -> str:
        dot = r"(?: \.(?= \d))?" if match[1] == "month" else ""  # Oct. 7th
        return f"(?P<{match[1]}>{ATOMS[match[1]]}){dot}"

    return re.compile(f"(?:{re.sub('{([a-z]+)}', group, spelling)})(?= |$)")


def _shift(day: date, count: int, unit: str) -> date:
    """Return the day `count` units later; the last one of a shorter month."""
    unit = unit.removesuffix("s")
    months = {"month": 1, "quarter": 3, "year": 12}.get(unit)
    if unit == "hour":
        return day + DAY * (-(-count // 24) if count > 0 else count // 24)
    if months is None:
        return day + DAY * count * {"week": 7, "fortnight": 14}.get(unit, 1)
    year, month = divmod(day.year * 12 + day.month - 1 + months * count, 12)
    return date(year, month + 1, min(day.day, _months(year, month + 1)[1].day))


def _months(year: int, month: int, count: int = 1) -> tuple[date, date]:
    end_year, end_month = divmod(year * 12 + month - 1 + count, 12)
    last = date.max if end_year > date.max.year else date(end_year, end_month + 1, 1) - DAY
    return date(year, month, 1), last


def _calendar(today: date, unit: str, shift: int) -> tuple[date, date]:
    """Return the first and last day of a week, month, … of the calendar, `shift` from this one."""
    if unit == "week":
        monday = today + DAY * (7 * shift - today.weekday())
        return monday, monday + DAY * 6
    months = {"month": 1, "quarter": 3, "year": 12}[unit]
    begun = date(today.year, (today.month - 1) // months * months + 1, 1)
    first = _shift(begun, months * shift, "month")
    return _months(first.year, first.month, months)


def _twice(day: date) -> tuple[date, date]:
    return day, day


def _from(make: Callable[[int], tuple[date, date]], at: int) -> Callable[[int], tuple[date, date]]:
    return lambda n: make(at + n)


def _weeks_from(day: date) -> Callable[[int], tuple[date, date]]:
    return lambda n: _twice(day + DAY * 7 * n)


def _one(day: date, note: str = "") -> Period:
    return Period(day, day, note)


def _count(text: str | None) -> int:
    return int(text) if text and text.isdigit() else {**NUMBERS, **_PAIR}[text or "a"]


def _nth(text: str) -> int:
    return ORDINALS[text] if text in ORDINALS else int(text.rstrip("sthndr"))


def _yearly(
    make: Callable[[int], tuple[date, date]], words: Words, now: Now, *, month: bool = False
) -> Period:
    """Return the result of `make` for the stated year, or for the last one that has begun.

    `month`: it is enough that the month of its first day has begun.
    """
    if words.get("year"):
        return Period(*make(int(words["year"])))
    fault = ValueError("no such day")
    for year in range(now.today.year, max(now.today.year - 9, 0), -1):
        try:
            first, last = make(year)
        except ValueError as error:  # 29 February of another year
            fault = error
            continue
        if (first.replace(day=1) if month else first) <= now.today:
            note = "it lies ahead" if first > now.today else ""
            return Period(first, last, note, _from(make, year), 365.2425)
    raise fault


def _monthday(words: Words, now: Now) -> Meaning:
    """Read *October 3rd*, *Monday, 6 October 2025*, *October 1-10*."""
    month, first, last = (
        MONTHS[words["month"]],
        _nth(words["d"]),
        _nth(words.get("e") or words["d"]),
    )
    if last < first:
        return Ask(f"The range ends on day {last}, before it begins on day {first}.")
    found = _yearly(lambda y: (date(y, month, first), date(y, month, last)), words, now, month=True)
    named = words.get("weekday")
    if named and found.first.weekday() != WEEKDAYS[named]:
        return Ask(f"{found.first} is a {found.first:%A}, not a {named.capitalize()}.")
    return found


def _month(words: Words, now: Now) -> Meaning:
    """Read *October*, *May 2024*, *last October*, *October last year*, *next March*."""
    month, today, which = MONTHS[words["month"]], now.today, words.get("which")
    if not which:
        return _yearly(lambda year: _months(year, month), words, now)
    shift = -1 if which in _BACK else int(which != "this")
    if words.get("part") or not shift:
        return Period(*_months(today.year + shift, month))
    year = today.year - (month >= today.month) if shift < 0 else today.year + (month <= today.month)
    return Period(*_months(year, month), f"that of {year}" if year == today.year else "")


def _weekday(words: Words, now: Now) -> Meaning:
    """Read *Monday*, *last Friday*, *Friday next*, *coming Monday*, *Friday last week*."""
    today, number, which = now.today, WEEKDAYS[words["weekday"]], words.get("which") or ""
    latest = today - DAY * ((today.weekday() - number) % 7)
    coming, week = latest + DAY * 7, -1 if which in _BACK else int(which == "next")
    day = _calendar(today, "week", week)[0] + DAY * number
    if not which:
        return Period(latest, latest, "", _weeks_from(latest), 7)
    if which == "this" or (words.get("part") and which not in _AHEAD):
        return _one(day)
    if which == "next":
        other = f"the {day:%A} of next week; the coming one is {coming}"
        return _one(day, other if coming != day else "")
    if which in _AHEAD:
        return Ask("Of this week, or of the next one?") if words.get("part") else _one(coming)
    return _one(latest - DAY * 7 if latest == today else latest)


def _day_number(words: Words, now: Now) -> Meaning:
    """Read *the 5th*: the most recent one, in a month that has it; *the 5th of last month*."""
    number, which, start = _nth(words["d"]), words.get("which"), now.today.replace(day=1)

    def make(months: int) -> tuple[date, date]:
        return _twice(_shift(start, months, "month").replace(day=number))

    if which:
        return Period(*make(-1 if which in _BACK else int(which != "this")))
    for back in range(3):  # one of two months has 31 days
        try:
            if make(-back)[0] <= now.today:
                return Period(*make(-back), "", _from(make, -back), 30.44)
        except ValueError:
            continue
    raise ValueError(f"no month has a day {number}")


def _span(words: Words, now: Now) -> Meaning:
    """Read *last week*, *this month*, *past year*, *next quarter*, *the week before last*."""
    span = words.get("span") or {"y": "year", "q": "quarter", "m": "month"}[words["ytd"]]
    which, today = words.get("which") or ("last" if words.get("before") else "this"), now.today
    back = 2 if words.get("before") else -1 if which == "next" else 1
    if which in _AHEAD:
        return Ask(f"The next {span} of the calendar, or one {span} from today?")
    if which == "this":
        first, last = _calendar(today, span, 0)
        so_far = words.get("far") or words.get("so") or words.get("ytd")
        return Period(first, today, whole=None if so_far or last == today else last)
    if which == "past":
        return Period(_shift(today, -1, span), today, f"one {span} back from today, and today")
    if span != "week" or back < 0:
        return Period(*_calendar(today, span, -back))
    if now.weeks == "calendar":
        meant = "the week before this one" if back == 1 else "the week before last"
        return Period(*_calendar(today, "week", -back), f"Monday to Sunday of {meant}")
    if back == 2:
        return Period(today - DAY * 14, today - DAY * 8, "the 7 days before last week")
    return Period(today - DAY * 7, today, "the 7 days before today, and today")


def _window(words: Words, now: Now) -> Meaning:
    """Read *last 30 days*, *past 2 months*, *next 7 days*; *last months* has no number."""
    unit, which = words["units"], words.get("which") or "last"
    if which == "this" or (unit.endswith("s") and not words.get("n")):
        units = unit.removesuffix("s") + "s"
        return Ask(f"How many {units}? Say for example: the last 3 {units}.")
    count = _count(words.get("n"))
    many = f"{count} {unit.removesuffix('s')}{'s' * (count > 1)}"
    ahead = which == "next" or which in _AHEAD
    note = f"today, and the {many} after it" if ahead else f"the {many} before today, and today"
    if unit.startswith("hour"):
        note = "hours are rounded up to days"
    found = _shift(now.today, count if ahead else -count, unit)
    return Period(now.today, found, note) if ahead else Period(found, now.today, note)


def _ago(words: Words, now: Now) -> Meaning:
    """Read *3 days ago*, *more than 3 days ago*, *3 days from now*."""
    unit, than = words["units"].removesuffix("s"), words.get("than")
    if unit == "hour":
        return Ask("Times of day are not read. Which day?")
    day = _shift(now.today, _count(words["n"]) * (1 if words.get("ahead") else -1), unit)
    if than == "up to":
        return Ask(f"Since {day}, or until {day}?")
    if than in ("less than", "newer than", "younger than"):
        return DateRange(day + DAY, now.today)
    if than:
        return DateRange(None, day if than == "at least" else day - DAY)
    return _one(day, f"one day, not a whole {unit}" if unit in ("month", "quarter", "year") else "")


def _weekend(words: Words, now: Now) -> Meaning:
    which, late = words.get("which") or "", now.today.weekday() >= 5
    if which in _AHEAD and late:
        return Ask("This weekend, or the next one?")
    back = which in _BACK or (not which and not late)
    monday = _calendar(now.today, "week", -1 if back else int(which == "next"))[0]
    note = "the weekend of next week" if which == "next" else ""
    return Period(monday + DAY * 5, monday + DAY * 6, note)


def _written(words: Words, now: Now) -> Meaning:
    """Read *2025-10-07*, *10.10.2025* with the day first, *07/10/2025* with the month first."""
    one, two, year = int(words["one"]), int(words["two"]), int(words["y"])
    if not words.get("sep"):
        return _one(date(year, one, two), _TIME_OF_DAY if words.get("time") else "")
    if words["sep"] == "." or one > 12:
        return _one(date(year, two, one))
    found, either = date(year, one, two), one != two and two <= 12
    if either and now.days_first:
        return Ask(f"Another date has its day first. Is {found} meant, or {date(year, two, one)}?")
    return _one(found, f"month first; day first it is {date(year, two, one)}" if either else "")


def _named_day(words: Words, now: Now) -> Meaning:
    days = {"day before yesterday": -2, "yesterday": -1, "tomorrow": 1, "day after tomorrow": 2}
    timed = words.get("time") or words["word"] in ("tonight", "this morning", "this afternoon")
    return _one(now.today + DAY * days.get(words["word"], 0), _TIME_OF_DAY if timed else "")


def _iso_week(words: Words, now: Now) -> Meaning:
    year, number, this = words.get("year"), int(words["w"]), now.today.year
    for each in [int(year)] if year else [this + 1, this, this - 1]:
        monday = date.fromisocalendar(min(each, 9999), number, 1) if number <= 53 else None
        if monday is None:
            break
        if year or monday <= now.today:
            return Period(monday, monday + DAY * 6)
    raise ValueError(f"there is no week {number}")


def _part_of_year(words: Words, now: Now) -> Meaning:
    """Read *Q3*, *third quarter of 2025*, *H1 2025*, *Q4 last year*."""
    months, which = 6 if words.get("half") else 3, words.get("which")
    number = int(words["q"]) if words.get("q") else _nth(words["ordinal"])
    if not 1 <= number <= 12 // months:
        return Ask(f"A year has {12 // months} {'halves' if months == 6 else 'quarters'}.")
    if which:
        words = {"year": f"{now.today.year + (-1 if which in _BACK else which != 'this')}"}
    return _yearly(lambda year: _months(year, (number - 1) * months + 1, months), words, now)


def _edge(words: Words, within: Now | Period) -> Meaning:
    """Read *end of the month*, *beginning of October*."""
    named = isinstance(within, Now)
    first, last = _calendar(within.today, words["span"], 0) if named else within[:2]
    ends = words["edge"] in ("end", "close", "last day")
    return _one(last, "its last day") if ends else _one(first, "its first day")


_DATE: Final = r"(?P<y>\d{4})[-/.](?P<one>\d{1,2})[-/.](?P<two>\d{1,2})(?P<time>t\S+)?"
PERIODS: Final[Sequence[tuple[str, Callable[[Words, Now], Meaning]]]] = (
    (_DATE, _written),
    (r"(?P<one>\d{1,2})(?P<sep>[./])(?P<two>\d{1,2})(?P=sep)(?P<y>\d{4})", _written),
    (r"(?P<y>\d{4})-(?P<m>\d\d)", lambda w, _: Period(*_months(int(w["y"]), int(w["m"])))),
    (r"{year} ?-? ?(?:w|calendar week|week|cw|kw) ?(?P<w>\d{1,2})", _iso_week),
    (r"(?:calendar week|week|cw|kw) ?(?P<w>\d{1,2})" + _OF, _iso_week),
    ("(?P<word>today|tonight|this (?:morning|afternoon)|now)(?: so far)?", _named_day),
    (r"(?P<word>today|yesterday|tomorrow)(?P<time> at \S+(?: ?[ap]m)?| morning)?", _named_day),
    ("(?P<word>day (?:before yesterday|after tomorrow))", _named_day),
    ("last night", lambda _, now: Period(now.today - DAY, now.today)),
    ("(?:exactly )?{n} {units} (?:ago(?: today)?|(?P<ahead>from now))", _ago),
    ("(?P<than>more than|less than|at least|over|up to) {n} {units} ago", _ago),
    ("(?P<than>older than|newer than|younger than) {n} {units}", _ago),
    ("since {n} {units}", _window),
    ("(?:{which} )?{weekday}", _weekday),
    ("{weekday} {which}", _weekday),
    ("{weekday}(?: ,)? (?P<part>(?:of )?{which} week)", _weekday),
    ("(?P<part>{which} week)(?: ,)? (?:on )?{weekday}", _weekday),
    ("(?P<d>{nth})", _day_number),
    ("(?P<d>{nth}|first) of {which} month", _day_number),
    ("{which} {span}", _span),
    ("(?:current|(?P<far>so far this)|this) {span}(?P<so> so far)?", _span),
    ("{span} (?:(?P<far>to date)|(?P<before>before last))", _span),
    ("(?P<ytd>[yqm])td", _span),
    ("(?:over|within) (?:the )?last (?P<units>day|week|month|quarter|year|fortnight)", _window),
    ("this (?P<which>past) {units}", _window),
    ("{which} {n} {units}", _window),
    ("{which} (?:few )?{units}", _window),
    ("a few {units} ago", _window),
    ("(?:{which} )?weekend", _weekend),
    ("{edge} of (?:the|this) {span}", _edge),
    ("(?:{weekday}(?: ,)? )?(?:the )?{month} (?:the )?{d}" + _OF, _monthday),
    ("(?:{weekday}(?: ,)? )?(?:the )?{d} (?:day )?(?:of )?{month}" + _OF, _monthday),
    ("{d} - {month} - {year}", _monthday),
    ("{month} (?:the )?{d} ?{to} ?(?:the )?{e}" + _OF, _monthday),
    ("(?:from )?(?:the )?{d} ?{to} ?(?:the )?{e} (?:of )?{month}" + _OF, _monthday),
    ("between (?:the )?{d} and (?:the )?{e} (?:of )?{month}" + _OF, _monthday),
    ("between {month} (?:the )?{d} and (?:the )?{e}" + _OF, _monthday),
    ("(?:{which} )?{month}", _month),
    ("{month}" + _OF, _month),
    (r"{d} {month} (?:' ?)?\d\d", lambda _, __: Ask("Which year? Write all of it.")),
    (r"{month} ' ?\d\d", lambda _, __: Ask("Which year? Write all of it.")),
    ("{month} (?P<part>(?:of )?{which} year)", _month),
    (r"q ?(?P<q>\d)" + _OF, _part_of_year),
    (r"{year} ?-? ?q ?(?P<q>\d)", _part_of_year),
    (r"(?P<half>h) ?(?P<q>\d) {year}", _part_of_year),
    (r"(?:q ?(?P<q>\d)|{ordinal} quarter) (?:of )?{which} year", _part_of_year),
    ("{ordinal} quarter" + _OF, _part_of_year),
    (r"{which} (?:q ?\d|{ordinal} quarter)", lambda w, _: Ask("Of which year? Add it.")),
    ("(?:year )?{year}", lambda w, _: Period(*_months(int(w["year"]), 1, 12))),
)


def _week_of(words: Words, period: Period) -> Meaning:
    monday = period.first - DAY * period.first.weekday()
    if period.last > monday + DAY * 6:
        return Ask("Which day is in the week?")
    begun = monday + DAY * (5 if words["unit"] == "weekend" else 0)
    return Period(begun, monday + DAY * 6, period.note)


def _of_year(words: Words, period: Period) -> Meaning | None:
    """Read *2024 March 11*, *2024 March*; behind a comma, *2023, March* may be two periods."""
    if not period.again or period.step < 300 or (words["comma"] and period.first != period.last):
        return None
    return Period(*period.again(int(words["year"]) - period.first.year))


def _counted(words: Words, period: Period) -> Meaning:
    """Read *first week of …*, *last 3 days of …*; *last months of …* has no number."""
    unit, which, count = words["units"], words["which"], _count(words.get("n"))
    if unit.endswith("s") and not words.get("n"):
        return Ask(f"How many {unit}? Say for example: the {which} 3 {unit}.")
    if which in ("closing", "opening", "early", "late"):
        return Ask(f"How many {unit.removesuffix('s')}s, from the beginning or at the end?")
    if which in ("last", "final"):
        first, last = _shift(period.last + DAY, -count, unit), period.last
    else:
        first = _shift(period.first, _nth(which) - 1, unit)
        last = _shift(first, count, unit) - DAY
    if first < period.first or last > period.last:
        return Ask(f"There is no {which} {unit} in it. Which days?")
    return Period(first, last, "weeks of 7 days" if unit.startswith("week") else "")


def _half_of(words: Words, period: Period) -> Meaning:
    """Read *first half of October*: 15 days of a month, 6 months of a year."""
    days = (period.last - period.first).days + 1
    if period.first.day != 1 or not (days <= 31 or 365 <= days <= 366) or words["which"] == "last":
        return Ask("Which days of it?")
    middle = _shift(period.first, 15, "day") if days <= 31 else _shift(period.first, 6, "month")
    if words["which"] in ("first", "1st"):
        return Period(period.first, middle - DAY)
    return Period(middle, period.last)


def _weekday_of(words: Words, period: Period) -> Meaning:
    """Read *first Monday of October*."""
    number, which = WEEKDAYS[words["weekday"]], words["which"]
    if which == "last":
        return _one(period.last - DAY * ((period.last.weekday() - number) % 7))
    day = period.first + DAY * ((number - period.first.weekday()) % 7 + 7 * (_nth(which) - 1))
    return _one(day) if day <= period.last else Ask(f"It has no {which} {day:%A}.")


_WHICH: Final = f"(?P<which>last|final|closing|opening|early|late|{ATOMS['ordinal']})"
PARTS: Final[Sequence[tuple[str, Callable[[Words, Period], Meaning | None]]]] = (
    ("{year}(?P<comma> ,)?", _of_year),
    ("week {n} (?:of|in)(?= {month})", lambda _, __: Ask("Which days are in the week?")),
    ("{edge} of", _edge),
    ("(?<!each )(?<!every )(?<!per )(?<!which )(?P<unit>week|weekend) (?:of|ending)", _week_of),
    (_WHICH + " (?:{n} )?{units} (?:of|in)", _counted),
    ("(?P<which>last|{ordinal}) {weekday} (?:of|in)", _weekday_of),
    ("(?P<which>first|second|1st|2nd) half of", _half_of),
    ("(?:whole )?(?:month of(?= {month})|year of(?= {year}))", lambda _, period: period),
    ("day before", lambda _, period: _one(period.first - DAY, period.note)),
    ("day after", lambda _, period: _one(period.last + DAY, period.note)),
)
BOUNDS: Final = (
    ("(?:ever )?since", "since"),
    ("(?:starting|beginning)(?: (?:from|on|in|with))?", "from on"),
    ("no earlier than|not earlier than|not before|on or after", "from on"),
    ("after|later than|newer than|following", "after"),
    ("until|till|through|thru|no later than|not later than|not after|on or before", "until"),
    ("(?:up to|up until|up till|until|till)(?: and including)?|by", "until"),
    ("before|prior to|earlier than|older than", "before"),
)
"""Words before a period, and the side that they leave open."""
SUFFIXES: Final = (
    ("(?:or|and) (?:later|after|newer)", "from on"),
    ("(?:or|and) earlier", "until"),
)


def bounded(bound: str, period: Period, today: date) -> Meaning:
    match bound:
        case "since" if period.first > today:
            return Ask(f"{period.first} lies ahead of today, {today}. Which days?")
        case "since":
            return DateRange(period.first, today)
        case "from on":
            return DateRange(period.first, None)
        case "after":
            return DateRange(period.last + DAY, None)
        case "before":
            return DateRange(None, period.first - DAY)
        case _:
            return DateRange(None, period.last)
