"""A phrase: how it is spelt, and what days it means."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from toolplan.planners.grounded.dates.calendar import Clock, Impossible, Reading
from toolplan.planners.grounded.dates.spelling import word
from toolplan.planners.grounded.dates.words import Found, Text


class Phrase:
    """A spelling and its meaning.

    `read` returns the days, or None where the words mean something else. `needs` are what a text
    must have, as in `Spelling`.
    """

    __slots__ = ("_read", "spelling")

    def __init__(self, spelling: str, read: Callable[[Found, Clock], Reading], *needs: str) -> None:
        self.spelling = word(spelling, *needs)
        self._read = read

    def match(self, text: Text, at: int, cue: str) -> Found | None:
        """Return the place in `text` where the phrase stands, if it begins at `at`."""
        match = self.spelling.match(text, at)
        return Found(match, text, cue) if match else None

    def read(self, found: Found, clock: Clock) -> Reading:
        """Return what the phrase means; what lies outside of the calendar is impossible."""
        try:
            return self._read(found, clock)
        except OverflowError:
            return Impossible("The calendar has only the years 1 to 9999.", relative=True)


class Read(Struct, frozen=True):
    """A phrase that was read: the offset behind it, and its meaning."""

    end: int
    what: Reading


def longest(phrases: Iterable[Phrase], text: Text, at: int, clock: Clock, cue: str) -> Read | None:
    """Read the longest of `phrases` that begins at `at`; of equally long ones the first."""
    best: Read | None = None
    for phrase in phrases:
        found = phrase.match(text, at, cue)
        if found is None or (best and found.match.end() <= best.end):
            continue
        what = phrase.read(found, clock)
        if what is not None:
            best = Read(found.match.end(), what)
    return best
