"""Whether a text of a plan is in what a person said, whatever its case, hyphens and endings."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

_WORD: Final = re.compile(r"[^\W_]+")
_DIGITS: Final = re.compile(r"\d+")
_SAME_STEM: Final = 5
_SHORTEST_WORD: Final = 3
_IN_MANY_NAMES: Final = frozenset(
    ("the", "new", "old", "great", "upper", "lower", "north", "south", "east", "west", "san",
     "santa", "saint", "los", "las", "von", "van", "der")
)  # fmt: skip
_LOCAL_NUMBER: Final = 7  # digits of a phone number without its country and area


def plain(text: str) -> str:
    """Return `text` without case and accents."""
    spread = unicodedata.normalize("NFKD", text.casefold())
    return "".join(each for each in spread if not unicodedata.combining(each))


def words_of(text: str) -> list[str]:
    """Return the words of a plain text; those of camelCase are one."""
    return _WORD.findall(text)


class KnownWords:
    """The texts that the values of a plan may come from.

    Comparisons ignore case, accents, punctuation and spaces.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        text = plain("\n".join(texts))
        words = words_of(text)
        self._words = frozenset(words)
        self._stems = frozenset(each[:_SAME_STEM] for each in words if len(each) >= _SAME_STEM)
        self._joined = "".join(words)
        self._digits = "".join(_DIGITS.findall(text))
        self._numbers = frozenset(each.lstrip("0") for each in _DIGITS.findall(text))

    def has_text(self, text: str) -> bool:
        """Return whether the letters and digits of `text` occur in this order."""
        return "".join(words_of(plain(text))) in self._joined

    def has_phone(self, text: str) -> bool:
        """Return whether the digits of `text` occur, apart from its country and area."""
        return "".join(_DIGITS.findall(text))[-_LOCAL_NUMBER:] in self._digits

    def has_identifier(self, text: str) -> bool:
        """Return whether `text` occurs, or each number in it does."""
        numbers = _DIGITS.findall(text)
        return self.has_text(text) or all(each.lstrip("0") in self._numbers for each in numbers)

    def has_some_word(self, text: str) -> bool:
        """Return whether a word of `text` occurs, perhaps with another ending, or its initials."""
        words = words_of(plain(text))
        long = [e for e in words if len(e) >= _SHORTEST_WORD and e not in _IN_MANY_NAMES] or words
        if any(each in self._words or each[:_SAME_STEM] in self._stems for each in long):
            return True
        initials = "".join(each[0] for each in words)
        return self.has_text(text) or (len(initials) > 1 and initials in self._words)
