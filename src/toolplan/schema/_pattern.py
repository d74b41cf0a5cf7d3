"""Sample texts for the usual kinds of regular expressions."""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import Final, TypeAlias

MAX_LENGTH: Final = 2_000
_MAX_NESTING: Final = 20

_CLASSES: Final = {
    "d": string.digits,
    "w": string.ascii_lowercase + string.digits + "_",
    "s": " ",
    "D": string.ascii_lowercase,
    "W": "-",
    "S": string.ascii_lowercase,
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "f": "\f",
    "v": "\v",
}
_PRINTABLE: Final = string.ascii_lowercase + string.ascii_uppercase + string.digits + " -_.:/#"


class _Unsupported(Exception):
    """The pattern has something that is not read here."""


class _Writer:
    """Collects the text; `turn` selects among choices, `extra` repeats beyond the least."""

    def __init__(self, turn: int, extra: int) -> None:
        self.pieces: list[str] = []
        self.turn = turn
        self.extra = extra
        self._steps = 0

    def spend(self) -> None:
        """Count a step of work, of which there are at most `MAX_LENGTH`."""
        self._steps += 1
        if self._steps > MAX_LENGTH:
            raise _Unsupported


_Part: TypeAlias = Callable[[_Writer], None]


def text_for(pattern: str, turn: int = 0, extra: int = 0) -> str | None:
    """Return a text that `pattern` should match, None where the pattern is not supported.

    `turn` varies the text; `extra` is how often a part is repeated beyond its least. The text is
    not checked against the pattern; it has at most 2,000 characters.

    >>> text_for("^[A-Z]{2}-[0-9]+$"), text_for("(?:a|b)c?"), text_for("(?=a)b")
    ('AA-0', 'a', None)
    """
    reader = _Reader(pattern)
    writer = _Writer(turn, extra)
    try:
        part = reader.choice(0)
        if reader.at != len(pattern):
            return None
        part(writer)
    except _Unsupported:
        return None
    return "".join(writer.pieces)


def _one_of(characters: str) -> _Part:
    def write(writer: _Writer) -> None:
        writer.spend()
        if not characters:
            raise _Unsupported
        writer.pieces.append(characters[writer.turn % len(characters)])

    return write


def _repeat(part: _Part, least: int, most: int | None) -> _Part:
    def write(writer: _Writer) -> None:
        writer.spend()
        count = least + writer.extra
        for _ in range(count if most is None else min(most, count)):
            part(writer)

    return write


class _Reader:
    """Reads a pattern from left to right; `at` is the next position."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self.at = 0

    def choice(self, nesting: int) -> _Part:
        """Return what writes one of the options up to the next `)` or the end."""
        if nesting > _MAX_NESTING:
            raise _Unsupported
        options = [self._sequence(nesting)]
        while self._take("|"):
            options.append(self._sequence(nesting))

        def write(writer: _Writer) -> None:
            writer.spend()
            for part in options[writer.turn % len(options)]:
                part(writer)

        return write

    def _sequence(self, nesting: int) -> list[_Part]:
        parts: list[_Part] = []
        while self._peek() not in ("", "|", ")"):
            if not (self._take("^") or self._take("$")):
                parts.append(self._repeated(self._atom(nesting)))
        return parts

    def _repeated(self, part: _Part) -> _Part:
        limits: tuple[int, int | None]
        match self._peek():
            case "?":
                limits = 0, 1
            case "*":
                limits = 0, None
            case "+":
                limits = 1, None
            case "{":
                limits = self._counts()
            case _:
                return part
        self.at += 1
        if not self._take("?"):  # lazy: the same texts
            self._take("+")
        return _repeat(part, *limits)

    def _counts(self) -> tuple[int, int | None]:
        """Read `{n}`, `{n,}` or `{n,m}` up to its last character."""
        end = self._pattern.find("}", self.at)
        least, comma, most = self._pattern[self.at + 1 : max(end, self.at + 1)].partition(",")
        numbers = [each for each in (least, most) if each]
        if end < 0 or not least or not all(n.isdecimal() and len(n) < 5 for n in numbers):
            raise _Unsupported
        self.at = end
        return int(least), int(most) if most else None if comma else int(least)

    def _atom(self, nesting: int) -> _Part:
        match self._next():
            case "(":
                self._group_start()
                inner = self.choice(nesting + 1)
                if not self._take(")"):
                    raise _Unsupported
                return inner
            case "[":
                return _one_of(self._class())
            case "\\":
                return _one_of(self._escape())
            case ".":
                return _one_of(string.ascii_lowercase)
            case "*" | "+" | "?" | "{":
                raise _Unsupported
            case char:
                return _one_of(char)

    def _group_start(self) -> None:
        if not self._take("?") or self._take(":"):
            return
        self._take("P")
        end = self._pattern.find(">", self.at)
        if not self._take("<") or self._peek() in ("=", "!") or end < 0:
            raise _Unsupported
        self.at = end + 1

    def _class(self) -> str:
        excluded = self._take("^")
        found: list[str] = []
        while not found or self._peek() != "]":
            members = self._member()
            if self._peek() == "-" and self._pattern[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                members = _span(members, self._member())
            found.append(members)
        self.at += 1
        characters = "".join(found)
        return "".join(c for c in _PRINTABLE if c not in characters) if excluded else characters

    def _member(self) -> str:
        char = self._next()
        if char == "[":  # classes in classes, and named ones, belong to other dialects
            raise _Unsupported
        return self._escape() if char == "\\" else char

    def _escape(self) -> str:
        char = self._next()
        if char.isalnum() and char not in _CLASSES:
            raise _Unsupported
        return _CLASSES.get(char, char)

    def _peek(self) -> str:
        return self._pattern[self.at : self.at + 1]

    def _next(self) -> str:
        char = self._peek()
        if not char:
            raise _Unsupported
        self.at += 1
        return char

    def _take(self, char: str) -> bool:
        taken = self._peek() == char
        self.at += taken
        return taken


def _span(first: str, last: str) -> str:
    if len(first) != 1 or len(last) != 1 or not 0 <= ord(last) - ord(first) < 1_000:
        raise _Unsupported
    return "".join(map(chr, range(ord(first), ord(last) + 1)))
