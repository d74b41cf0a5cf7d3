"""Text that a pattern matches, as far as the pattern is one of the usual kind."""

from __future__ import annotations

import string
from dataclasses import dataclass
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
}
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_ANY: Final = string.ascii_lowercase
_PRINTABLE: Final = string.ascii_lowercase + string.ascii_uppercase + string.digits + " -_.:/#"


class _NotUsual(Exception):
    """The pattern has something that is not read here."""


@dataclass(frozen=True, slots=True)
class _OneOf:
    """One of these characters."""

    characters: str


@dataclass(frozen=True, slots=True)
class _Sequence:
    """One after the other."""

    parts: tuple[_Part, ...]


@dataclass(frozen=True, slots=True)
class _Choice:
    """One of these."""

    options: tuple[_Part, ...]


@dataclass(frozen=True, slots=True)
class _Repeat:
    """The same several times; `most` None where there is no bound."""

    part: _Part
    least: int
    most: int | None


_Part: TypeAlias = _OneOf | _Sequence | _Choice | _Repeat


def text_for(pattern: str, turn: int = 0, extra: int = 0) -> str | None:
    """Return text that `pattern` should match, None where the pattern is not read here.

    `turn` varies the text; `extra` is how often what may repeat is repeated beyond its least. The
    text is not held against the pattern; it has at most 2,000 characters.

    >>> text_for("^[A-Z]{2}-[0-9]+$"), text_for("(?:a|b)c?"), text_for("(?=a)b")
    ('AA-0', 'a', None)
    """
    reader = _Reader(pattern)
    try:
        part = reader.choice(0)
        if reader.at != len(pattern):
            return None
        pieces: list[str] = []
        _Writer(pieces, turn, extra).write(part)
    except _NotUsual:
        return None
    return "".join(pieces)


class _Writer:
    def __init__(self, pieces: list[str], turn: int, extra: int) -> None:
        self._pieces = pieces
        self._turn = turn
        self._extra = extra
        self._steps = 0

    def write(self, part: _Part) -> None:
        self._steps += 1
        if self._steps > MAX_LENGTH:
            raise _NotUsual
        match part:
            case _OneOf(characters):
                if not characters:
                    raise _NotUsual
                self._pieces.append(characters[self._turn % len(characters)])
            case _Sequence(parts):
                for each in parts:
                    self.write(each)
            case _Choice(options):
                self.write(options[self._turn % len(options)])
            case _Repeat(inner, least, most):
                count = least + self._extra if most is None else min(most, least + self._extra)
                for _ in range(count):
                    self.write(inner)


class _Reader:
    """Reads a pattern from left to right; `at` is how far it has come."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self.at = 0

    def choice(self, nesting: int) -> _Part:
        if nesting > _MAX_NESTING:
            raise _NotUsual
        options = [self._sequence(nesting)]
        while self._take("|"):
            options.append(self._sequence(nesting))
        return options[0] if len(options) == 1 else _Choice(tuple(options))

    def _sequence(self, nesting: int) -> _Part:
        parts: list[_Part] = []
        while self._peek() not in ("", "|", ")"):
            if self._take("^") or self._take("$"):
                continue
            parts.append(self._repeated(self._atom(nesting)))
        return _Sequence(tuple(parts))

    def _repeated(self, part: _Part) -> _Part:
        if self._take("?"):
            bounds: tuple[int, int | None] = (0, 1)
        elif self._take("*"):
            bounds = (0, None)
        elif self._take("+"):
            bounds = (1, None)
        elif self._peek() == "{":
            bounds = self._counts()
        else:
            return part
        if not self._take("?"):  # lazy: the same texts
            self._take("+")
        return _Repeat(part, *bounds)

    def _counts(self) -> tuple[int, int | None]:
        end = self._pattern.find("}", self.at)
        least, comma, most = self._pattern[self.at + 1 : max(end, self.at + 1)].partition(",")
        numbers = [each for each in (least, most) if each]
        if end < 0 or not least or not all(n.isdecimal() and len(n) < 5 for n in numbers):
            raise _NotUsual
        self.at = end + 1
        if not comma:
            return int(least), int(least)
        return int(least), int(most) if most else None

    def _atom(self, nesting: int) -> _Part:
        char = self._next()
        match char:
            case "(":
                self._group_start()
                inner = self.choice(nesting + 1)
                if not self._take(")"):
                    raise _NotUsual
                return inner
            case "[":
                return self._class()
            case "\\":
                return _OneOf(self._escape())
            case ".":
                return _OneOf(_ANY)
            case "*" | "+" | "?" | "{":
                raise _NotUsual
            case _:
                return _OneOf(char)

    def _group_start(self) -> None:
        if not self._take("?"):
            return
        if self._take(":"):
            return
        self._take("P")
        if not self._take("<") or self._peek() in ("=", "!"):
            raise _NotUsual
        end = self._pattern.find(">", self.at)
        if end < 0:
            raise _NotUsual
        self.at = end + 1

    def _class(self) -> _Part:
        excluded = self._take("^")
        found: list[str] = []
        first = True
        while first or self._peek() != "]":
            first = False
            members = self._member()
            if self._peek() == "-" and self._pattern[self.at + 1 : self.at + 2] not in ("]", ""):
                self._next()
                members = _span(members, self._member())
            found.append(members)
        self._next()
        characters = "".join(found)
        if excluded:
            return _OneOf("".join(c for c in _PRINTABLE if c not in characters))
        return _OneOf(characters)

    def _member(self) -> str:
        char = self._next()
        if char == "[":  # classes in classes, and those with names, are another dialect's
            raise _NotUsual
        return self._escape() if char == "\\" else char

    def _escape(self) -> str:
        char = self._next()
        if char in _CLASSES:
            return _CLASSES[char]
        if char in _ESCAPED:
            return _ESCAPED[char]
        if char.isalnum():
            raise _NotUsual
        return char

    def _peek(self) -> str:
        return self._pattern[self.at : self.at + 1]

    def _next(self) -> str:
        char = self._peek()
        if not char:
            raise _NotUsual
        self.at += 1
        return char

    def _take(self, char: str) -> bool:
        if self._peek() != char:
            return False
        self.at += 1
        return True


def _span(first: str, last: str) -> str:
    if len(first) != 1 or len(last) != 1 or not 0 <= ord(last) - ord(first) < 1_000:
        raise _NotUsual
    return "".join(map(chr, range(ord(first), ord(last) + 1)))
