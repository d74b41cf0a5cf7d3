"""How words of time are spelt, as patterns that are compiled when they may match.

A spelling is a regular expression over folded text, in which a blank is any white space. Compiling
all of them takes a tenth of the time of a short command, and most questions have no month, no
weekday and no digit. So each says what must stand in a text that it matches.
"""

from __future__ import annotations

import re
from typing import Final

from toolplan.planners.grounded.dates.words import Text

_WORD_END: Final = r"(?!\w)"


class Spelling:
    """A spelling, and what ends it.

    Each of `needs` are choices, with bars between them, of which one stands in any text that this
    matches. A spelling that is nothing but choices needs no other.
    """

    __slots__ = ("_compiled", "_ending", "_needs", "_seen", "text")

    def __init__(self, text: str, ending: str, needs: tuple[str, ...]) -> None:
        self.text = text
        self._ending = ending
        self._compiled: re.Pattern[str] | None = None
        self._needs = needs or ((text,) if text.replace("|", "").replace(" ", "").isalpha() else ())
        self._seen: tuple[Text | None, bool] = (None, False)

    def match(self, text: Text, at: int) -> re.Match[str] | None:
        """Return the match that begins at `at`, None where there is none."""
        seen = self._seen
        if seen[0] is not text:
            seen = self._seen = (text, self.may_stand_in(text.folded))
        return self.pattern.match(text.folded, at) if seen[1] else None

    def may_stand_in(self, folded: str) -> bool:
        """Return whether `folded` has what each text has that this matches."""
        spaced = " ".join(folded.split()) + " "
        return all(any(each in spaced for each in need.split("|")) for need in self._needs)

    @property
    def pattern(self) -> re.Pattern[str]:
        """The spelling, compiled."""
        if self._compiled is None:
            spaced = self.text.replace(" ", r"\s+")
            self._compiled = re.compile(f"(?:{spaced}){self._ending}")
        return self._compiled


def word(spelling: str, *needs: str) -> Spelling:
    """Return a spelling that ends where a word ends."""
    return Spelling(spelling, _WORD_END, needs)


def opening(spelling: str, *needs: str) -> Spelling:
    """Return a spelling of what stands before something: white space follows, and belongs to it."""
    return Spelling(spelling, r"\s+", needs)
