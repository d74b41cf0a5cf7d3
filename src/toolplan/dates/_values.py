"""The values of times: days, periods, and times found in a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Literal, NamedTuple, TypeAlias

Weeks: TypeAlias = Literal["rolling", "calendar"]
"""*Last week*: the 7 days before today, and today; or Monday to Sunday before this week."""


class DateRange(NamedTuple):
    """The days from `first` to `last`, both included; None where a side is open."""

    first: date | None
    last: date | None

    def __str__(self) -> str:
        one = self.first == self.last
        return f"{self.first}" if one else f"{self.first or '…'} .. {self.last or '…'}"


class FoundDate(NamedTuple):
    """A time: characters (`find_dates`) or words (`read_dates`) from `start` to before `end`.

    `range` is None where the user has to be asked the `question`. `note` says which reading was
    taken where there are others. `ahead` are the days where what lies ahead is meant: all of a
    period that ends today, or the next *8 April*.
    """

    start: int
    end: int
    range: DateRange | None
    note: str = ""
    question: str = ""
    ahead: DateRange | None = None


class Times(NamedTuple):
    """The times of a question by their words, in lower case, and its day."""

    today: date
    said: Mapping[str, FoundDate]

    @property
    def clear(self) -> list[str]:
        """The words of those that are not asked about."""
        return [words for words, found in self.said.items() if found.range is not None]


class Period(NamedTuple):
    """Days; `again(n)` gives those of n years, months or weeks (of `step` days) later, if open.

    `whole` is the last day of a period that ends today because the rest of it lies ahead.
    """

    first: date
    last: date
    note: str = ""
    again: Callable[[int], tuple[date, date]] | None = None
    step: float = 0
    whole: date | None = None

    def ahead(self, today: date) -> DateRange | None:
        """Return the days where what lies ahead is meant; None where there are no others.

        Of a month, quarter or day without a year, the next one if it is nearer than the last one.
        """
        if self.whole:
            return DateRange(self.first, self.whole)
        if self.again is None or self.last >= today:
            return None
        try:
            later = DateRange(*self.again(1))
        except (ValueError, OverflowError):  # the next year has no such day, or there is none
            return None
        near = self.step < 32 or (later.first or today) - today < today - self.last
        return later if near else None


class Ask(NamedTuple):
    question: str


class Now(NamedTuple):
    today: date
    weeks: Weeks
    days_first: bool = False


Words: TypeAlias = Mapping[str, str]
Meaning: TypeAlias = Period | DateRange | Ask
