"""Times are found in words: periods, then bounds and ranges of periods, then lists of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cache, partial
from itertools import accumulate, product
from typing import Final, TypeAlias, TypeVar

from toolplan.dates._table import (
    ATOMS,
    BOUNDS,
    DAY,
    MONTHS,
    NUMBERS,
    PARTS,
    PERIODS,
    SUFFIXES,
    WEEKDAYS,
    bounded,
    compiled,
)
from toolplan.dates._values import (
    Ask,
    DateRange,
    FoundDate,
    Meaning,
    Now,
    Period,
    Times,
    Weeks,
)

_T = TypeVar("_T")
_Table: TypeAlias = list[tuple[re.Pattern[str], _T]]


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_JOINTS: Final = _set("to till until through thru - ..")
_LEADING: Final = _set(
    "in on during for from of since until till by before after between and to through throughout"
    " over within than dated starting beginning ending month - , ( or last next this"
)
"""Words before *May*, *Sun* or *2024* that show that a time is meant."""
_DOUBTFUL: Final = _set("may march mar sun sat mon wed jan jun dec")
_NAMES: Final = _set("april may june august jan")
_COUNTING: Final = _set("hundred half thousand top first last best latest oldest")
_SMALL: Final = _set(
    "in at from to by with for and or until till through that which were was is are per on of did"
    " do does have had has but then as than where who not only this us vs"
)
"""Words that can follow a time; a noun behind *the 3rd* or *2024* makes a number of it."""
_MEASURES: Final = _set("kg g t l m km eur usd %")
_SAME: Final = _set("same this that")
_SPANS: Final = _set("time period day week month quarter")
_LONGEST: Final = 14
"""Maximum number of words of a time without its bounds."""
_DENIED: Final = re.compile(
    r"(?:\b(?:not|except|excluding|without|other than|apart from|instead of|everything but|every"
    r"|each|early|late|mid|around|about|circa|roughly|fiscal|as of|rest of)|n't)"
    r"(?: (?:in|on|from|of|for|during|since))?(?: the)?[ -]$",
    re.IGNORECASE,
)
_DAY_FIRST: Final = re.compile(r"(?:1[3-9]|2\d|3[01])/\d\d?/\d{4}")
_YEAR: Final = re.compile(ATOMS["year"])
_GLUED: Final = re.compile(r"[-/_]?\w")
_TOKEN: Final = re.compile(
    r"\d{4}[-/.]\d{1,2}(?:[-/.]\d{1,2}(?:t[\d:.]+(?:z|[+-]\d\d:?\d\d)?)?)?(?!\d)"
    r"|\d{1,2}([./])\d{1,2}\1\d{4}|\d+(?:[.,]\d+)*(?:st|nd|rd|th)?|['’]s?\b|[^\W\d_]+|\.\.|\S",
    re.IGNORECASE,
)


class _Tables:
    """The tables with compiled patterns, and the words of times."""

    def __init__(self) -> None:
        self.periods, self.parts = _compiled(PERIODS), _compiled(PARTS)
        self.bounds, self.suffixes = _compiled(BOUNDS), _compiled(SUFFIXES)
        texts = " ".join(each.pattern for each, _ in (*self.periods, *self.parts, *self.bounds))
        words = re.findall(r"(?<![<\\])\b[a-z]{2,}\b", texts)
        self.words = frozenset((*words, "a", "q", "h", "ytd", "qtd", "mtd"))


def _compiled(rows: Iterable[tuple[str, _T]]) -> _Table[_T]:
    return [(compiled(each), meaning) for each, meaning in rows]


_tables: Final = cache(_Tables)


def vocabulary() -> frozenset[str]:
    """Return the words of which times consist, in lower case."""
    return _tables().words


def _nearest(period: Period, day: date, *, behind: bool) -> Period:
    """Return the first one of an open period from `day` on, or the last one that begins by it."""
    if period.again is None:
        return period
    about, found = round((day - period.first).days / period.step), list[Period]()
    for n in range(about - 9, about + 10):
        try:
            found.append(Period(*period.again(n)))
        except (ValueError, OverflowError):
            continue
    if behind:
        return min((each for each in found if each.last >= day), default=period)
    return max((each for each in found if each.first <= day), default=period)


def _joined(one: Period, other: Period) -> Meaning:
    """Return the days from `one` to `other`; a year at one end holds for the other, too."""
    if one.again and not other.again:
        one = _nearest(one, other.first, behind=False)
    other = _nearest(other, one.first, behind=True)
    if one.first > other.last:
        return Ask(f"The range ends on {other.last}, before it begins on {one.first}. Which days?")
    return DateRange(one.first, other.last)


def _together(*notes: str) -> str:
    return "; ".join(dict.fromkeys(filter(None, notes)))


class _Reader:
    """Reads words; `found` has the meaning of each stretch, with a note, by first and end."""

    def __init__(self, words: Sequence[str], now: Now) -> None:
        self.words = [word.lower().replace("’", "'").replace("–", "-") for word in words]
        days_first = any(map(_DAY_FIRST.fullmatch, self.words))
        self.now, self.text = now._replace(days_first=days_first), " ".join(self.words)
        self.starts = [0, *accumulate(len(word) + 1 for word in self.words)]
        self.ends = {start - 1: number for number, start in enumerate(self.starts)}
        self.periods: list[dict[int, Meaning]] = [{} for _ in self.starts]
        self.found: dict[tuple[int, int], tuple[Meaning, str]] = {}
        self.ahead: dict[tuple[int, int], DateRange | None] = {}
        for first in reversed(range(len(words))):
            self.periods[first] = self._periods(first)
            self._continue_list(first)
        for first in range(len(words)):
            self._bounds(first)
            self._ranges(first)
        self._both_sides()

    def word(self, at: int) -> str:
        """Return the word at a place, or an empty text."""
        return self.words[at] if 0 <= at < len(self.words) else ""

    def after(self, at: int) -> dict[int, Meaning]:
        """Return the periods that begin at a place, by their ends."""
        return self.periods[at] if at < len(self.periods) else {}

    def _matches(self, table: _Table[_T], first: int) -> Iterator[tuple[int, _T, dict[str, str]]]:
        for pattern, meaning in table:
            if match := pattern.match(self.text, self.starts[first]):
                yield self.ends[match.end()], meaning, match.groupdict()

    def _periods(self, first: int) -> dict[int, Meaning]:
        word, found = self.words[first], dict[int, Meaning]()
        if word[:1].isdigit() or word.rstrip("0123456789") in vocabulary():
            for end, read, words in self._matches(_tables().periods, first):
                if end not in found and self._is_time(first, end, words):
                    found[end] = self._meant(first, end, partial(read, words, self.now))
            for middle, part, words in self._matches(_tables().parts, first):
                for end, period in self.after(middle).items():
                    meaning: Meaning | None = period
                    if isinstance(period, Period):
                        meaning = self._meant(first, end, partial(part, words, period))
                    if end - first <= _LONGEST and meaning is not None:
                        found[end] = meaning
        return {**self.after(first + 1), **found} if word == "the" else found

    def _meant(self, first: int, end: int, read: Callable[[], _T]) -> _T | Ask:
        try:
            return read()
        except (ValueError, OverflowError) as error:
            return Ask(f"“{' '.join(self.words[first:end])}” is no date: {error}.")

    def _is_time(self, first: int, end: int, words: Mapping[str, str]) -> bool:
        """Return whether the words beside what a pattern matched allow it to be a time."""
        word, before, behind = self.words[first], self.word(first - 1), self.word(end)
        number = word[0].isdigit() or word in NUMBERS
        if before in _SPANS and self.word(first - 2) in _SAME:
            return False
        of_year = _YEAR.fullmatch(before) is not None and bool(words.get("month"))
        counted = before[:1].isdigit() and not of_year
        if number and (counted or before in _COUNTING or before in NUMBERS):
            return False
        if word == "now":
            return before in _JOINTS
        if words.get("d") and end == first + 1:
            return before in {*_LEADING, "the"} and not (behind.isalpha() and behind not in _SMALL)
        if words.get("month") in ("may", "march") and word.isdigit() and not words.get("year"):
            return before in _LEADING or of_year
        if end > first + 1 or (word not in _DOUBTFUL and not words.get("year")):
            return True
        if words.get("year"):
            years = behind in _JOINTS and _YEAR.fullmatch(self.word(end + 1))
            is_range = bool(years) and self._is_year(end + 1)
            return (before in _LEADING or is_range) and self._is_year(first)
        of_kind = MONTHS if word in MONTHS else WEEKDAYS
        is_range = behind in _JOINTS and self.word(end + 1) in of_kind
        named = before == "the" or (of_year and word != "may")
        return before in _LEADING or is_range or (named and word in MONTHS)

    def _is_year(self, at: int) -> bool:
        """Return whether the number at a place is a year rather than an amount."""
        before, behind, next_word = self.word(at - 2), self.word(at + 1), self.word(at + 2)
        things = behind.endswith("s") and behind not in _SMALL
        if self.word(at - 1) == "over" or behind in _MEASURES or things:
            return False
        joint = behind in _JOINTS or (behind == "and" and self.word(at - 1) == "between")
        if joint and next_word[:1].isdigit():
            dated = _YEAR.match(next_word) is not None and next_word[4:5] in ("", "-", "/")
            return dated and (len(next_word) > 4 or self._is_year(at + 2))
        return self.word(at - 1) != "of" or before.endswith("s") or before in vocabulary()

    def _continue_list(self, first: int) -> None:
        """Let the year at the end of a list hold for all of it: *October and November 2024*."""
        for end, one in self.periods[first].items():
            after = end + 1 + (self.word(end + 1) in ("and", "or"))
            longest = max(self.after(after), default=0)
            other = self.after(after).get(longest)
            if self.word(end) in ("and", "or", ",") and isinstance(other, Period):
                if not isinstance(one, Period) or not one.again:
                    continue
                if other.again is None:
                    self.periods[first][end] = _nearest(one, other.first, behind=False)
                elif other.step < one.step:
                    self.periods[after][longest] = _nearest(other, one.first, behind=True)

    def _bounds(self, first: int) -> None:
        for end, meaning in self.periods[first].items():
            self.found[first, end] = meaning, meaning.note if isinstance(meaning, Period) else ""
            if isinstance(meaning, Period):
                self.ahead[first, end] = meaning.ahead(self.now.today)
            for last, bound, _ in self._matches(_tables().suffixes, end):
                self._bound(first, last, bound, meaning)
        counted = re.fullmatch(ATOMS["units"], self.word(first - 1))
        for middle, bound, _ in self._matches(_tables().bounds, first):
            for end, meaning in self.after(middle).items():
                if counted and bound in ("before", "after"):  # 3 days before October 5
                    meaning = Ask("Which day? Please give its date.")
                elif self.words[first] == "by" and isinstance(meaning, Period):
                    meaning = self._by(end, meaning)
                self._bound(first, end, bound, meaning)

    def _bound(self, first: int, end: int, bound: str, meaning: Meaning) -> None:
        note = ""
        if isinstance(meaning, Period):
            note = meaning.note
            self.ahead.setdefault((first, end), meaning.ahead(self.now.today))
            try:
                meaning = bounded(bound, meaning, self.now.today)
            except OverflowError as error:
                meaning = Ask(f"There are no such days: {error}.")
        self.found.setdefault((first, end), (meaning, note))

    def _by(self, end: int, period: Period) -> Period | Ask:
        if self.words[end - 1] in _NAMES:
            name = self.words[end - 1].capitalize()
            return Ask(f"“by {name}”: until the month, or somebody of that name?")
        if period.step == 7:
            return Ask(f"Until {period.last}, or until {period.last + DAY * 7}?")
        return period

    def _ranges(self, first: int) -> None:
        cue = self.words[first] if self.words[first] in ("from", "between") else ""
        for end, one in self.after(first + bool(cue)).items():
            joint, next_word = self.word(end), self.word(end + 1)
            open_ended = joint in ("onward", "onwards") or (
                joint == "on" and not next_word.isalnum()
            )
            if cue == "from" and open_ended:
                self._bound(first, end + 1, "from on", one)
            if joint in _JOINTS or (cue, joint) == ("between", "and"):
                for last, other in self.after(end + 1).items():
                    self._range(first, last, one, other)

    def _range(self, first: int, end: int, one: Meaning, other: Meaning) -> None:
        if isinstance(one, Period) and isinstance(other, Period):
            note = _together(one.note, other.note)
            joined = _joined(one, other)
            self.found[first, end] = joined, note
            if isinstance(joined, DateRange) and joined.last and joined.last < self.now.today:
                self.ahead[first, end] = other.ahead(self.now.today)
        for each in (one, other):
            if isinstance(each, Ask):
                self.found[first, end] = each, ""

    def _both_sides(self) -> None:
        """Join *after October 1* and *before October 10*."""
        found = [(at, each) for at, (each, _) in self.found.items() if isinstance(each, DateRange)]
        notes = {at: note for at, (_, note) in self.found.items()}
        lower = [(at, each.first) for at, each in found if each.first]
        upper = [(at, each.last) for at, each in found if each.last and not each.first]
        for (one, first), (other, last) in product(lower, upper):
            (start, middle), (again, end) = sorted((one, other))
            gap = self.words[middle:again]
            if middle <= again and gap in ([], ["and"], ["but"], [","]):
                both: Meaning = DateRange(first, last)
                if first > last:
                    both = Ask(f"The range ends on {last}, before it begins on {first}.")
                self.found[start, end] = both, _together(notes[one], notes[other])


def read_dates(words: Sequence[str], today: date, weeks: Weeks = "rolling") -> list[FoundDate]:
    """Return the times in `words`, by their first word; none is a part of another one.

    A word may be a punctuation mark; cases do not matter. Where two times overlap both are there:
    who reads the whole question sees which one fits.
    """
    reader = _Reader(words, Now(today, weeks))
    found, times, behind = reader.found, list[FoundDate](), 0
    for first, end in sorted(found, key=lambda at: (at[0], -at[1])):
        if end > behind:
            behind = end
            meaning, note = found[first, end]
            if isinstance(meaning, Ask):
                times.append(FoundDate(first, end, None, question=meaning.question))
            else:
                ahead = reader.ahead.get((first, end))
                times.append(FoundDate(first, end, DateRange(*meaning[:2]), note, ahead=ahead))
    return times


def find_dates(text: str, today: date, weeks: Weeks = "rolling") -> list[FoundDate]:
    """Return the times in `text`, from left to right, without those that are denied or blurred.

    *Not in October*, *every Monday* and *early March* give nothing.
    """
    tokens = list(_TOKEN.finditer(text))
    found: list[FoundDate] = []
    denied, behind = "", 0
    for each in read_dates([token[0] for token in tokens], today, weeks):
        start, end = tokens[each.start].start(), tokens[each.end - 1].end()
        glued = re.match(r"[-/_.\d]", text[start - 1 : start]) or _GLUED.match(text, end)
        listed = denied and text[len(denied) : start].strip() in ("and", "or", ",")
        if _DENIED.search(text[max(start - 40, 0) : start]) or listed:
            denied = text[:end]
        elif start >= behind and not glued:
            behind = end
            found.append(each._replace(start=start, end=end))
    return found


def times_in(text: str, today: date, weeks: Weeks = "rolling") -> Times:
    """Return the times in `text` by their words.

    >>> str(times_in("Repairs since  May", date(2025, 10, 15)).said["since may"].range)
    '2025-05-01 .. 2025-10-15'
    """
    found = find_dates(text, today, weeks)
    return Times(today, {" ".join(text[e.start : e.end].lower().split()): e for e in found})
