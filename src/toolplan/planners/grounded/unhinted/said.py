"""A question, as tools without hints read it: words, and values with what stands before them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from enum import StrEnum
from typing import Final

from msgspec import Struct

from toolplan.planners.grounded.dates import TimeMention, Weeks, find_times
from toolplan.planners.grounded.language.words import NUMBER_WORDS, fold, key


class Form(StrEnum):
    """What a piece of a question looks like."""

    WORD = "word"
    QUOTED = "quoted"
    EMAIL = "email"
    LINK = "link"
    CODE = "code"
    NUMBER = "number"
    TIME = "time"
    SIGN = "sign"


_PIECE: Final = re.compile(
    r"""
    (?P<quoted> "[^"]+" | “[^”]+” | (?<!\w)'[^']+'(?!\w) )
    | (?P<link> https?://[^\s<>"']*[^\s<>"'.,;:?!)] )
    | (?P<email> [\w.+-]+@[\w-]+(?:\.[\w-]+)+ )
    | (?P<code> (?=[\w./#-]*\d)(?=[\w./#-]*[^\W\d])[\w#](?:[\w./-]*\w)?
        | [A-Za-z_][\w-]*(?:[/.][\w-]+)+ | /[\w./-]+\w )
    | (?P<number> \d{1,3}(?:,\d{3})+(?:\.\d+)? | \d+(?:\.\d+)? )
    | (?P<word> [^\W\d_]+(?:['’-][^\W\d_]+)* )
    | (?P<sign> \S )
    """,
    re.VERBOSE,
)
_SYMBOL: Final = re.compile(r"[A-Z]{2,5}")
_CLITICS: Final = ("'s", "'re", "'d", "'ll", "'m")
_QUIET: Final = frozenset(".?!,;:#")


class Piece(Struct, frozen=True):
    """A piece of a question, at characters `start` to `end`; `word` is the index of its word."""

    text: str
    key: str
    form: Form
    start: int
    end: int
    word: int
    time: TimeMention | None = None

    @property
    def value(self) -> str:
        """The text itself, without quotation marks."""
        return self.text[1:-1].strip() if self.form is Form.QUOTED else self.text

    @property
    def number(self) -> float | None:
        """The number that it is, or None."""
        if self.form is Form.NUMBER:
            return float(self.text.replace(",", ""))
        return NUMBER_WORDS.get(self.key) if self.form is Form.WORD else None

    @property
    def is_capital(self) -> bool:
        """Whether it is written with a capital letter."""
        return self.form is Form.WORD and self.text[:1].isupper()

    @property
    def is_symbol(self) -> bool:
        """Whether it is a short word of capitals, as codes of currencies and shares are."""
        return _SYMBOL.fullmatch(self.text) is not None

    @property
    def is_quiet(self) -> bool:
        """Whether it is a sign that says nothing."""
        return self.form is Form.SIGN and self.text in _QUIET


def pieces(text: str, today: date, weeks: Weeks) -> tuple[Piece, ...]:
    """Return the pieces of `text`, in order."""
    return tuple(_pieces(text, find_times(text, today, weeks)))


def _pieces(text: str, times: list[TimeMention]) -> Iterator[Piece]:
    starts = [match.start() for match in re.finditer(r"\S+", text)]
    done = 0
    for match in _PIECE.finditer(text):
        start = match.start()
        if start < done:
            continue
        word = sum(1 for each in starts if each <= start) - 1
        time = next((each for each in times if each.start <= start < each.end), None)
        if time is not None and match.lastgroup in ("word", "number", "code"):
            yield Piece(time.text, "", Form.TIME, time.start, time.end, word, time)
            done = time.end
            continue
        shown = match[0]
        form = Form(match.lastgroup or "sign")
        if form is Form.WORD:
            shown = _bare(shown)
        yield Piece(shown, _key(shown, form), form, start, start + len(shown), word)


def _bare(word: str) -> str:
    folded = fold(word)
    for clitic in _CLITICS:
        if folded.endswith(clitic):
            return word[: -len(clitic)]
    return word


def _key(shown: str, form: Form) -> str:
    return key(shown) if form is Form.WORD else fold(shown)
