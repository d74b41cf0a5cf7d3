"""Values as people and models write them, read with the places where they stand.

JSON may have comments, trailing and missing commas, other quotes, bare keys, Python's `True` and
line ends inside of strings. Nothing is guessed: the strings, numbers, constants, keys and brackets
of the value are those of the text, in their order. All other text is refused with its place.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection
from decimal import Decimal
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct

from toolplan.plan.path import Json
from toolplan.plan.text.tokens import DEEPEST, TOKEN

ELLIPSIS: Final = "An ellipsis stands for something that is left out: write all of it"
"""The message for an ellipsis in place of a value or a step, without its place."""

REPLACEMENT: Final = "\ufffd"
"""Stands where no character can: the text around it keeps its place."""

LARGEST_INTEGER: Final = 2**63
_MOST_FLAWS: Final = 1_000
_MOST_DIGITS: Final = 800
"""No double has more."""

_WORDS: Final = {"True": "true", "False": "false", "None": "null"}
_CONSTANTS: Final = {"true": True, "false": False, "null": None}
_CLOSERS: Final = {"{": "}", "[": "]", "(": ")"}
_ESCAPES: Final = {'"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\'": "'"}
_UNESCAPED: Final = "; is a quote inside of a text not escaped?"

# NaN and Infinity are read so that they can be reported as numbers, with their place
_SCALAR = re.compile(
    r"true|false|null|NaN|-?Infinity|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+"
)
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_ELLIPSIS = re.compile(r"(?://++|\#++|/\*++)?\s*+(?:\.{3,}+|…)")
_TO_ESCAPE = re.compile(r"""\\.|["\n\r\t]""", re.DOTALL)
_COLON_NEXT = re.compile(r"\s*+:")
_SPACE = re.compile(r"\s*+")
_NO_CHARACTER = re.compile("[\x00\ud800-\udfff]")


class Span(NamedTuple):
    """A range of a text: offsets in characters, `end` is the first one after it."""

    start: int
    end: int


Way: TypeAlias = tuple[str, ...]
"""The keys and indexes that lead to a value, as JSON pointers have them."""


class Spot(Struct):
    """Where a value stands, and its key; of an object also where its last member stands."""

    span: Span
    key: Span | None = None
    last_key: Span | None = None
    last_end: int | None = None


class Flaw(NamedTuple):
    """What readers of a value do not agree about, and the way to it; the value is read anyway."""

    code: str
    message: str
    way: Way
    help: str | None = None


class Refused(Exception):
    """The text at `at` is no such value; `str(error)` says why, without a full stop."""

    def __init__(self, message: str, at: int, code: str = "syntax") -> None:
        super().__init__(message)
        self.at = at
        self.code = code


class Reader:
    """Reads one value, of JSON or loosely spelled, from `at` to `end` of `text`.

    `noise` collects loose spellings, `flaws` the faults of single values, and `spots`
    the places of the values that the ways `wanted` lead to. At most `most` lists and objects may
    stand in one another.
    """

    def __init__(
        self,
        text: str,
        at: int = 0,
        end: int | None = None,
        *,
        most: int = DEEPEST,
        wanted: Collection[Way] = (),
    ) -> None:
        self.text = text
        self.at = self.last_end = at  # `last_end` is where the last token ends
        self.end = len(text) if end is None else end
        self.noise: dict[str, None] = {}
        self.flaws: list[Flaw] = []
        self.spots: dict[Way, Spot] = {}
        self.way: list[str] = []
        self._wanted = wanted
        self._most = most
        self.closers: list[str] = []  # the closing brackets of the open lists and objects

    def read(self) -> Json:
        """Return the value that is all of the text.

        Raises:
            Refused: the text is not a value.
        """
        value = self._placed(None)
        if self.next():
            raise self._unexpected("the end")
        return value

    def _placed(self, key: Span | None) -> Json:
        """Read the value that `way` leads to, and note its place where that is wanted."""
        way = tuple(self.way) if self._wanted else ()
        if way not in self._wanted:
            return self._value()
        self.next()
        start, token = self.at, self.token()
        leaf = None if token is None or token.lastgroup == "mark" else token
        # what cannot be read has a place too: up to its end, or to that of the text
        end = len(self.text.rstrip()) if leaf is None else leaf.end()
        spot = self.spots[way] = Spot(Span(start, end), key)
        value = self._value()
        spot.span = Span(start, self.last_end)
        return value

    def _member(self, label: str, key: Span | None = None) -> Json:
        self.way.append(label)
        value = self._placed(key)
        self.way.pop()
        return value

    def _value(self) -> Json:
        char = self.next()
        if char not in ("{", "["):
            return self._leaf(char)
        self._begin(char)
        value = self._object() if char == "{" else self._list()
        self.closers.pop()
        return value

    def _begin(self, opening: str) -> None:
        if len(self.closers) >= self._most:
            raise Refused("Lists and objects are nested too deep", self.at, "too-deep")
        self.closers.append(_CLOSERS[opening])
        self._take(1)

    def _list(self) -> list[Json]:
        items: list[Json] = []
        goes_on = not self._ends()
        while goes_on:
            items.append(self._member(str(len(items))))
            goes_on = self._goes_on()
        return items

    def _object(self) -> dict[str, Json]:
        fields: dict[str, Json] = {}
        spot = self.spots.get(tuple(self.way)) if self.spots else None
        goes_on = not self._ends()
        while goes_on:
            key, span = self._key()
            if key in fields:
                self._repeated(key)
            fields[key] = self._member(key, span)
            if spot is not None:
                spot.last_key, spot.last_end = span, self.last_end
            goes_on = self._goes_on()
        return fields

    def _ends(self) -> bool:
        """Take the closing bracket, if it is next."""
        if self.next() != self.closers[-1]:
            return False
        self._take(1)
        return True

    def _goes_on(self) -> bool:
        """Take the comma before a further member, or else the closing bracket."""
        if self._ends():
            return False
        if self.next() == ",":
            self._take(1)
            if not self._ends():
                return True
            self.noise["trailing commas"] = None
            return False
        if not _lacks_comma(self):
            raise self._unexpected(f"',' or {self.closers[-1]!r}")
        self.noise["missing commas"] = None
        return True

    def _key(self) -> tuple[str, Span]:
        """Read a key and the colon behind it."""
        char, start = self.next(), self.at
        token = self.token()
        if token is None or token.lastgroup == "mark":
            raise self._unexpected("a key")
        if char in "\"'":
            key = self._string(token)
            key = self.clean(key, replaced(key))
        else:
            refuse_ellipsis(token[0], start)
            self.noise["bare keys"] = None
            key = token[0]
            self._take(len(key))
        span = Span(start, self.at)
        if self.next() != ":":
            raise self._unexpected("':'")
        self._take(1)
        return key, span

    def _leaf(self, char: str) -> Json:
        token = self.token()
        if token is None or token.lastgroup == "mark":
            raise self._unexpected("a value")
        if char in "\"'":
            return self.clean(self._string(token))
        word = token[0]
        refuse_ellipsis(word, self.at)
        strict = _WORDS.get(word, word)
        if not _SCALAR.fullmatch(strict):
            what = f"{_short(word)} is not a value: text stands in double quotes"
            raise Refused(what, self.at)
        if strict != word:
            self.noise["Python's spelling of constants"] = None
        self._take(len(word))
        return _CONSTANTS[strict] if strict in _CONSTANTS else self.number(strict)

    def _string(self, token: re.Match[str]) -> str:
        said = token[0]
        strict, text = _checked(token, self.at)
        if said.startswith("'"):
            self.noise["single quotes"] = None
        if "\n" in said or "\r" in said or "\t" in said:
            self.noise["line ends inside of text"] = None
        elif said.startswith('"') and strict != said:
            self.noise["escapes that JSON does not have"] = None
        self._take(len(said))
        return text

    def clean(self, text: str, *inner: str) -> str:
        """Return `text` with a replacement for everything that is not a character; note that."""
        if (what := not_text(text)) is None:
            return text
        self.complain("bad-encoding", f"The text holds {what}.", None, *inner)
        return replaced(text)

    def number(self, word: str) -> int | float:
        """Return the number that `word` spells, and report one that readers read differently."""
        if is_bad_number(word):
            message = f"{word[:40]} is not a number that all JSON readers accept."
            limits = "Numbers are finite, whole ones lie between -2^63 and 2^63, others have up to"
            self.complain("bad-number", message, f"{limits} 15 digits.")
        return nearest(word)

    def _repeated(self, key: str) -> None:
        message = f"The key {key[:60]!r} stands twice in one object."
        self.complain("duplicate-key", message, "Keep one of the two.", key)

    def complain(self, code: str, message: str, help: str | None = None, *inner: str) -> None:
        """Note a flaw of the value that is being read, or of the member `inner` of it."""
        if len(self.flaws) < _MOST_FLAWS:
            self.flaws.append(Flaw(code, message, (*self.way, *inner), help))

    def next(self) -> str:
        """Move to the next token; return its first character, "" at the end."""
        while True:
            char = self.text[self.at : self.at + 1]
            if char.isspace():
                space = _SPACE.match(self.text, self.at, self.end)
                self.at = self.end if space is None else space.end()
                char = self.text[self.at : self.at + 1]
            if self.at >= self.end:
                return ""
            token = self.token() if char in "#/" else None
            if token is None or token.lastgroup != "comment":
                return char
            if char == "/" and token[0].startswith("/*") and token["closed"] is None:
                raise Refused("A comment begins there and does not end", self.at)
            refuse_ellipsis(token[0], self.at)
            self.noise["comments"] = None
            self.at = token.end()

    def token(self) -> re.Match[str] | None:
        """Return the token at `at`."""
        return TOKEN.match(self.text, self.at, self.end)

    def _take(self, length: int) -> None:
        self.at = self.last_end = self.at + length

    def _unexpected(self, wanted: str) -> Refused:
        return _unexpected(self, wanted)


def _unexpected(reader: Reader, wanted: str) -> Refused:
    """Return why the next token cannot stand where `wanted` is."""
    char, at = reader.next(), reader.at
    token = reader.token()
    if token is None:
        return Refused("The text ends inside of a value", reader.end)
    if char in "]}" and reader.closers[-1:] != [char]:
        return Refused(f"{char!r} closes no bracket that is open there", at)
    if char in "]}" or (char == "," and wanted in ("a value", "a key", "':'")):
        what = "A key" if wanted == "a key" else "A value"
        return Refused(f"{what} is missing before {char!r}", at)
    if token.lastgroup == "mark":
        return Refused(f"{char!r} stands where {wanted} was expected", at)
    if token.lastgroup != "word":
        _checked(token, at)
        return Refused(f"A text in quotes stands where {wanted} was expected{_UNESCAPED}", at)
    refuse_ellipsis(token[0], at)
    is_behind_text = reader.last_end == at and reader.text[at - 1] in "\"'"
    hint = _UNESCAPED if is_behind_text else ""
    return Refused(f"{_short(token[0])} stands where {wanted} was expected{hint}", at)


def _lacks_comma(reader: Reader) -> bool:
    """Return whether a further member begins here: it is apart, and nothing else is meant."""
    token, is_behind_bracket = reader.token(), reader.text[reader.last_end - 1] in "]}"
    if token is None:
        return False
    is_apart = is_behind_bracket or reader.last_end < reader.at
    if token.lastgroup == "mark":
        return is_apart and token[0] in "[{" and reader.closers[-1] == "]"
    if reader.closers[-1] == "]":
        return is_behind_bracket
    if token.lastgroup == "word":
        is_apart = "\n" in reader.text[reader.last_end : reader.at]
    return is_apart and _COLON_NEXT.match(reader.text, token.end()) is not None


def _checked(token: re.Match[str], at: int) -> tuple[str, str]:
    """Return a string as JSON writes it, and what it says."""
    if not (token["dq"] or token["sq"]):
        raise Refused("The text in quotes that begins there does not end", at)
    inside = _TO_ESCAPE.sub(lambda found: _ESCAPES.get(found[0], found[0]), token[0][1:-1])
    strict = f'"{inside}"'
    try:
        return strict, json.loads(strict)
    except ValueError:
        what = "The text in quotes that begins there has an escape unknown to JSON"
        raise Refused(what, at) from None


def refuse_ellipsis(text: str, at: int) -> None:
    """Refuse `text`, bare or a comment, that begins with an ellipsis."""
    if begins_with_ellipsis(text):
        raise Refused(ELLIPSIS, at, "ellipsis")


def begins_with_ellipsis(text: str) -> bool:
    """Return whether `text`, bare or a comment, begins with an ellipsis, a mark of omission."""
    return _ELLIPSIS.match(text) is not None


def is_ellipsis(text: str) -> bool:
    """Return whether `text` is nothing but an ellipsis."""
    return re.fullmatch(r"\s*+(?:\.{3,}+|…)\s*+", text) is not None


def not_text(text: str) -> str | None:
    """Name what in `text` is not a character, such as a lone surrogate; None if nothing is."""
    found = _NO_CHARACTER.search(text)
    if found is None:
        return None
    return "a NUL character" if found[0] == "\0" else "half a character (a lone surrogate)"


def replaced(text: str) -> str:
    """Return `text` with a replacement for everything that is not a character."""
    return _NO_CHARACTER.sub(REPLACEMENT, text)


def is_bad_number(word: str) -> bool:
    """Return whether `word`, which may be a number, is one that JSON readers read differently."""
    if _WHOLE_NUMBER.fullmatch(word):
        return len(word) > 20 or abs(int(word)) > LARGEST_INTEGER
    if word.lstrip("+-") in ("NaN", "nan", "Infinity", "inf"):
        return True
    if not _NUMBER.fullmatch(word):
        return False
    # the double that is read must have all the digits that the word has
    number = float(word)
    if not number:
        return re.search("[1-9]", word.lower().partition("e")[0]) is not None
    if math.isinf(number):
        return True
    said = Decimal(word)
    digits = min(len(said.as_tuple().digits), _MOST_DIGITS)
    # 2**-24 is a tie: Python prints it rounded up, and with as many digits rounded to even
    return said not in (Decimal(f"{number:.{digits - 1}e}"), Decimal(repr(number)))


def nearest(word: str) -> int | float:
    """Return the number that is nearest to `word`, and that every reader accepts."""
    if _WHOLE_NUMBER.fullmatch(word):
        # Python refuses to read the longest ones
        return max(min(int(word[:30]), LARGEST_INTEGER), -LARGEST_INTEGER)
    number = float(word)
    if math.isnan(number):
        return 0.0
    return number if math.isfinite(number) else math.copysign(1.7e308, number)


def _short(word: str) -> str:
    return repr(word if len(word) <= 40 else f"{word[:40]}…")
