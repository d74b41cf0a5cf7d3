"""How words of time are spelt, as patterns that are compiled when they may match.

A spelling is a regular expression over folded text, in which a blank is any white space. Compiling
all of them takes a tenth of the time of a short command, and most questions have no month, no
weekday and no digit. So each is first asked what must stand in a text that it matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from msgspec import Struct

from toolplan.lazy import lazy_pattern
from toolplan.planners.grounded.dates import words
from toolplan.planners.grounded.dates.words import Text

_WORD_END: Final = r"(?!\w)"
_NOTHING: Final = "\0"
"""What stands for a part that a text may lack, or of which nothing is known."""

_LAST_MARK: Final = "\x1f"
_FIRST_MARK: Final = 1  # control characters stand for parts of which one text is needed

_CLASSES: Final = lazy_pattern(r"\\[a-zA-Z]|\\(?P<itself>.)|\[(?P<digits>[0-9-]+)\]|\[[^\]]*\]")
_GROUP: Final = lazy_pattern(
    r"\((?P<kind>\?(?:P<\w+>|P=\w+|:|<?[=!]))?(?P<inside>[^()]*)\)(?P<often>[?*]|\{0)?"
)
_WORD: Final = lazy_pattern(
    r"(?P<text>[a-z][a-z'-]*|[\x01-\x1f])(?:(?P<often>[?*]|\{0)|(?P<blank> )(?![?*{]))?"
)
_WORDS: Final = lazy_pattern(r"[a-z][a-z' -]*(?<! )")
_NUMBER: Final = lazy_pattern(chr(_FIRST_MARK) + r"(?:\{[1-9][0-9,]*\})?")


class Needed(Struct, frozen=True):
    """Texts of which one stands in each text that something matches, and whether it ends there."""

    texts: tuple[str, ...]
    ends: bool = True


_DIGITS: Final = Needed(tuple("0123456789"))
_PARTS: Final = (
    words.MONTH,
    words.WEEKDAY,
    words.UNIT,
    words.UNIT_OR_HOUR,
    words.NUMBER,
    words.ORDINAL,
    words.YEAR,
)
_KNOWN: Final = (
    _DIGITS,
    Needed(tuple(name[:3] for name in words.MONTHS), ends=False),
    Needed(tuple(name[:3] for name in words.WEEKDAYS), ends=False),
    Needed(words.UNITS),
    Needed(("hour", *words.UNITS)),
    Needed((*_DIGITS.texts, *words.NUMBERS)),
    Needed((*_DIGITS.texts, *words.ORDINALS), ends=False),
    _DIGITS,
)
"""What the digits need, and each of `_PARTS`."""


class Spelling:
    """A spelling, and what ends it."""

    __slots__ = ("_compiled", "_ending", "_seen", "text")

    def __init__(self, text: str, ending: str) -> None:
        self.text = text
        self._ending = ending
        self._compiled: re.Pattern[str] | None = None
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
        spelling = self.text if self._ending == _WORD_END else f"{self.text} "
        return all(any(each in spaced for each in texts) for texts in needs(spelling))

    @property
    def pattern(self) -> re.Pattern[str]:
        """The spelling, compiled."""
        if self._compiled is None:
            spaced = self.text.replace(" ", r"\s+")
            self._compiled = re.compile(f"(?:{spaced}){self._ending}")
        return self._compiled


def word(spelling: str) -> Spelling:
    """Return a spelling that ends where a word ends."""
    return Spelling(spelling, _WORD_END)


def opening(spelling: str) -> Spelling:
    """Return a spelling of what stands before something: white space follows, and belongs to it."""
    return Spelling(spelling, r"\s+")


@cache
def needs(spelling: str) -> tuple[tuple[str, ...], ...]:
    """Return texts, of which a text that the spelling matches has one of each tuple.

    >>> needs("(?:last|past) hour( ago)?")
    (('last ', 'past '), ('hour',))
    """
    known = list(_KNOWN)
    plain = f"(?:{spelling})".replace(words.OF_YEAR, _NOTHING)
    for mark, part in enumerate(_PARTS, 1):
        plain = plain.replace(part, chr(_FIRST_MARK + mark))
    plain = _CLASSES.sub(_without_classes, plain)
    while (reduced := _GROUP.sub(lambda group: _reduced(group, known), plain)) != plain:
        plain = reduced
    return tuple(_needs_of(plain, known))


def _without_classes(found: re.Match[str]) -> str:
    if found["digits"]:
        return chr(_FIRST_MARK)
    return found["itself"] or _NOTHING


def _reduced(group: re.Match[str], known: list[Needed]) -> str:
    """Return what stands for a group without groups in it: its words, or a mark for its choices."""
    kind, inside = group["kind"] or "", group["inside"]
    if group["often"] or kind.endswith(("=", "!")) or kind.startswith("?P="):
        return _NOTHING
    if "|" not in inside:
        return inside
    needed = _one_of(inside, tuple(known))
    if needed is None or len(known) == ord(_LAST_MARK):
        return _NOTHING
    known.append(needed)
    return chr(_FIRST_MARK + len(known) - 1)


def _one_of(inside: str, known: tuple[Needed, ...]) -> Needed | None:
    """Return what is needed where one of the choices `inside` stands, if that is known."""
    texts: dict[str, None] = {}
    ends = True
    for choice in inside.split("|"):
        if _WORDS.fullmatch(choice):
            texts[choice] = None
            continue
        found = max(_needs_of(choice, known), key=_surest, default=None)
        if found is None:
            return None
        texts |= dict.fromkeys(found)
        ends = ends and _NUMBER.fullmatch(choice) is not None
    return Needed(tuple(texts), ends)


def _surest(texts: tuple[str, ...]) -> tuple[bool, int]:
    """Order needs: one long text says more than many short ones."""
    return len(texts) == 1, min(map(len, texts))


def _needs_of(plain: str, known: Sequence[Needed]) -> Iterator[tuple[str, ...]]:
    """Yield what the words and marks of a spelling without groups need, one after the other."""
    for found in _WORD.finditer(plain):
        text, often, blank = found["text"], found["often"], found["blank"] or ""
        if text[0] <= _LAST_MARK:
            needed = known[ord(text[0]) - _FIRST_MARK]
            texts, ends = needed.texts, needed.ends
            if not often:
                yield tuple(each + blank for each in texts) if blank and ends else texts
        elif said := (text[:-1] if often else text) + blank:
            yield (said,)
