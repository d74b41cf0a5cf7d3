"""JSON as people and models write it, made strict by repairs that keep every token.

Comments, trailing and missing commas, other quotes, bare keys, Python's `True` and line ends inside
of strings are read. Nothing is guessed: the strings, numbers, constants, keys and brackets of the
result are those of the text, in their order. All other text is refused with its place.
"""

from __future__ import annotations

import json
import re
from typing import Final, Literal, NoReturn, TypeAlias

from msgspec import Struct

from toolplan.plan.text._tokens import TOKEN, double_quoted

_WORDS: Final = {"True": "true", "False": "false", "None": "null"}
_CLOSERS: Final = {"{": "}", "[": "]"}
ELLIPSIS: Final = "An ellipsis stands for something that is left out: write all of it"
"""What is said of an ellipsis in place of a value or a step, without its place."""

_UNESCAPED: Final = "; is a quote inside of a text not escaped?"
_MISSING: Final = {"key": "A key", "value": "A value", "colon": "A value"}

# NaN and Infinity are read so that they can be reported as numbers, with their pointer
_SCALAR = re.compile(
    r"true|false|null|NaN|-?Infinity|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+"
)
_ELLIPSIS = re.compile(r"(?://++|\#++|/\*++)?\s*+(?:\.{3,}+|…)")
_ELLIPSIS_ALONE = re.compile(r"\s*+(?:\.{3,}+|…)\s*+")

_COLON_NEXT = re.compile(r"\s*+:")

_Expected: TypeAlias = Literal["value", "key", "colon", "comma"]


class Strict(Struct, frozen=True):
    """Strict JSON, and what was repaired or left out for it."""

    text: str
    noise: tuple[str, ...]


class Broken(Struct, frozen=True):
    """The place of the first token that no repair explains, and the reason, without a full stop.

    `is_ellipsis` is True where the text leaves something out.
    """

    at: int
    message: str
    is_ellipsis: bool = False


class _Refused(Exception):
    def __init__(self, broken: Broken) -> None:
        super().__init__(broken.message)
        self.broken = broken


def strict_json(text: str) -> Strict | Broken:
    """Return `text`, one list or object, as strict JSON, or the place where it is no such thing."""
    reader = _Reader(text)
    try:
        for token in TOKEN.finditer(text):
            reader.take(token)
        reader.end()
    except _Refused as refused:
        return refused.broken
    return Strict(" ".join(reader.parts), tuple(reader.noise))


def begins_with_ellipsis(text: str) -> bool:
    """Return whether `text`, bare or a comment, begins with an ellipsis: something is left out."""
    return _ELLIPSIS.match(text) is not None


def is_ellipsis(text: str) -> bool:
    """Return whether `text` is nothing but an ellipsis."""
    return _ELLIPSIS_ALONE.fullmatch(text) is not None


class _Reader:
    """The strict tokens of a text, and what may follow them."""

    def __init__(self, text: str) -> None:
        self.parts: list[str] = []
        self.noise: dict[str, None] = {}
        self._text = text
        self._closers: list[str] = []  # of the open brackets
        self._expected: _Expected = "value"
        self._previous = 0  # where the token before this one ends
        self._is_first = True  # in its list or object

    def take(self, token: re.Match[str]) -> None:
        """Read the next token, or refuse it."""
        said, kind = token[0], token.lastgroup
        if kind == "comment":
            self._comment(token)
            return
        if kind == "mark":
            self._mark(said, token.start())
        elif kind == "word":
            self._word(token)
        else:
            self._string(token)
        self._previous = token.end()

    def end(self) -> None:
        """Refuse a text whose brackets do not all end."""
        if self._closers or self._expected != "comma":
            self._refuse(len(self._text), "The text ends inside of a value")

    def _comment(self, token: re.Match[str]) -> None:
        if token[0].startswith("/*") and token["closed"] is None:
            self._refuse(token.start(), "A comment begins there and does not end")
        if _ELLIPSIS.match(token[0]):
            self._refuse_ellipsis(token.start())
        self.noise["comments"] = None

    def _mark(self, mark: str, at: int) -> None:
        if mark in _CLOSERS:
            self._open(mark, at)
        elif mark in "]}":
            self._close(mark, at)
        elif mark == ",":
            if self._expected != "comma":
                self._refuse(at, f"{_MISSING[self._expected]} is missing before ','")
            self._separate()
        else:
            if self._expected != "colon":
                self._refuse(at, f"':' stands where {self._wanted()} was expected")
            self._expected = "value"
        self.parts.append(mark)
        self._is_first = mark in _CLOSERS

    def _open(self, mark: str, at: int) -> None:
        if self._is_in_list() and self._is_apart(at):
            self._add_comma()
        if self._expected != "value":
            self._refuse(at, f"{mark!r} stands where {self._wanted()} was expected")
        self._closers.append(_CLOSERS[mark])
        self._expected = "key" if mark == "{" else "value"

    def _close(self, mark: str, at: int) -> None:
        if self._closers[-1:] != [mark]:
            self._refuse(at, f"{mark!r} closes no bracket that is open there")
        if self._expected == "colon" or self.parts[-1] == ":":
            self._refuse(at, f"A value is missing before {mark!r}")
        if self._expected != "comma" and not self._is_first:
            self.parts.pop()
            self.noise["trailing commas"] = None
        self._closers.pop()
        self._expected = "comma"

    def _word(self, token: re.Match[str]) -> None:
        word, at = token[0], token.start()
        if _ELLIPSIS.match(word):
            self._refuse_ellipsis(at)
        if self._is_key(token, is_apart="\n" in self._text[self._previous : at]):
            self.noise["bare keys"] = None
            self._take(json.dumps(word, ensure_ascii=False))
            return
        strict = _WORDS.get(word, word)
        if self._expected != "value":
            hint = _UNESCAPED if self._previous == at and self.parts[-1].endswith('"') else ""
            self._refuse(at, f"{_short(word)} stands where {self._wanted()} was expected{hint}")
        if not _SCALAR.fullmatch(strict):
            self._refuse(at, f"{_short(word)} is not a value: text stands in double quotes")
        if strict != word:
            self.noise["Python's spelling of constants"] = None
        self._take(strict)

    def _string(self, token: re.Match[str]) -> None:
        said, at = token[0], token.start()
        if not (token["dq"] or token["sq"]):
            self._refuse(at, "The text in quotes that begins there does not end")
        strict = double_quoted(said)
        try:
            json.loads(strict)
        except ValueError:
            self._refuse(at, "The text in quotes that begins there has an escape unknown to JSON")
        if not self._is_key(token, is_apart=self._is_apart(at)) and self._expected != "value":
            what = f"A text in quotes stands where {self._wanted()} was expected"
            self._refuse(at, f"{what}{_UNESCAPED}")
        if said.startswith("'"):
            self.noise["single quotes"] = None
        if "\n" in said or "\r" in said or "\t" in said:
            self.noise["line ends inside of text"] = None
        elif said.startswith('"') and strict != said:
            self.noise["escapes that JSON does not have"] = None
        self._take(strict)

    def _is_key(self, token: re.Match[str], *, is_apart: bool) -> bool:
        """Return whether the token is a key. A comma that is missing before it is added."""
        is_in_object = self._expected == "comma" and self._closers[-1:] == ["}"]
        is_key = is_in_object and is_apart and _COLON_NEXT.match(self._text, token.end())
        if is_key or (self._is_in_list() and self.parts[-1] in ("]", "}")):
            self._add_comma()
        return self._expected == "key"

    def _is_in_list(self) -> bool:
        return self._expected == "comma" and self._closers[-1:] == ["]"]

    def _is_apart(self, at: int) -> bool:
        return self._previous < at or self.parts[-1:] in (["]"], ["}"])

    def _add_comma(self) -> None:
        self.noise["missing commas"] = None
        self.parts.append(",")
        self._separate()

    def _separate(self) -> None:
        self._expected = "key" if self._closers[-1:] == ["}"] else "value"

    def _take(self, strict: str) -> None:
        self.parts.append(strict)
        self._expected = "colon" if self._expected == "key" else "comma"
        self._is_first = False

    def _wanted(self) -> str:
        if self._expected == "comma":
            return f"',' or {self._closers[-1]!r}" if self._closers else "the end"
        return {"value": "a value", "key": "a key", "colon": "':'"}[self._expected]

    def _refuse(self, at: int, message: str) -> NoReturn:
        raise _Refused(Broken(at, message))

    def _refuse_ellipsis(self, at: int) -> NoReturn:
        raise _Refused(Broken(at, ELLIPSIS, True))


def _short(word: str) -> str:
    return repr(word if len(word) <= 40 else f"{word[:40]}…")
