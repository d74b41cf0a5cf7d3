"""Paths into JSON: keys, indexes and `[*]`.

A path is parsed once, when a plan is read, and then has two readings: through values
(`select`, here) and through schemas (`toolplan.schema.at`). Its syntax is a subset of
RFC 9535 (JSONPath): `.key`, `["any key"]`, `[n]`, `[*]`. The spellings `.0` and `.*` are read
and printed as `[0]` and `[*]`.
"""

from __future__ import annotations

import re
from enum import Enum
from json import JSONDecodeError, JSONDecoder
from typing import Final, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


class Every(Enum):
    """The segment `[*]`: each element of a list, in order."""

    EVERY = "*"

    # paths are looked up all the time, and an enum's own hash is that of its name, in Python
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return "EVERY"


EVERY: Final = Every.EVERY

Segment: TypeAlias = str | int | Every
Path: TypeAlias = tuple[Segment, ...]

# RFC 9535 calls this member-name-shorthand. A hyphen is read, because people write it, but a key
# that has one is printed in brackets. The classes name ASCII characters that a key lacks: a class
# that names the letters up to the last character takes 20 times as long to compile.
_KEY = re.compile(r"[^\x00-@\[-^`{-\x7f][^\x00-,./:-@\[-^`{-\x7f]*")
_CONTAINERS = (list, dict)
_SHORTHAND = re.compile(r"[^\x00-@\[-^`{-\x7f][^\x00-/:-@\[-^`{-\x7f]*")
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_DECODER = JSONDecoder()
_SINGLE_QUOTED = re.compile(r"'([^'\\]*)'")


class PathSyntaxError(ValueError):
    """The text at `offset` is not a path segment; `str(error)` says what was expected."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


class NotThere(LookupError):
    """A value has nothing at `path`; `str(error)` says where the way ends and what stands there."""

    def __init__(self, message: str, path: Path) -> None:
        super().__init__(message)
        self.path = path


def parse_segments(text: str, start: int = 0) -> tuple[Path, int]:
    """Return the longest run of segments of `text` from `start`, and the offset behind it.

    Raises:
        PathSyntaxError: a segment begins (`.` or `[`) but does not end well.
    """
    segments: list[Segment] = []
    at = start
    segment: Segment
    while at < len(text):
        if text.startswith(("[", ".["), at):  # `transactions.[0]`, as some models write it
            segment, at = _in_brackets(text, text.index("[", at) + 1)
        elif text[at] != ".":
            break
        elif text.startswith("*", at + 1):
            segment, at = EVERY, at + 2
        elif found := _KEY.match(text, at + 1):
            segment, at = found[0], found.end()
        elif found := _INDEX.match(text, at + 1):
            segment, at = int(found[0]), found.end()
        else:
            raise PathSyntaxError("a key, an index or '*' was expected after '.'", at + 1)
        segments.append(segment)
    return tuple(segments), at


def parse_path(text: str) -> Path:
    """Return the path that `text` spells, the whole of it: `.data[0]["full name"]`.

    Raises:
        PathSyntaxError: `text` is not a path.
    """
    path, end = parse_segments(text)
    if end != len(text):
        raise PathSyntaxError(f"{text[end]!r} stands where '.' or '[' was expected", end)
    return path


def print_path(path: Path) -> str:
    """Return the canonical spelling of `path`; `parse_path` reads it back."""
    written: list[str] = []
    for segment in path:
        if not isinstance(segment, str):
            written.append("[*]" if segment is EVERY else f"[{segment}]")
        elif _SHORTHAND.fullmatch(segment):
            written.append(f".{segment}")
        else:
            written += ('["', *map(_escaped, segment), '"]')
    return "".join(written)


def select(value: Json, path: Path) -> Json:
    """Return the part of `value` at `path`.

    A path without `[*]` gives the value that it names. Each `[*]` stands for every element of a
    list; a path that has any gives one flat list of all the parts it names, in document order
    (RFC 9535, section 2.3.2: a list of nodes).

    Raises:
        NotThere: a key or index is missing, or something other than a list meets `[*]` or `[n]`.
    """
    return _selected(value, path, 0)


def _selected(value: Json, path: Path, start: int) -> Json:
    for at in range(start, len(path)):
        segment = path[at]
        if isinstance(segment, str) and isinstance(value, dict):
            if segment not in value:
                raise NotThere(f"{_place(path, at)} has no key {segment!r}", path)
            value = value[segment]
        elif isinstance(segment, int) and isinstance(value, list):
            if segment >= len(value):
                fault = f"has {len(value)} element(s), none at index {segment}"
                raise NotThere(f"{_place(path, at)} {fault}", path)
            value = value[segment]
        elif segment is EVERY and isinstance(value, list):
            parts = [_selected(item, path, at + 1) for item in value]
            if EVERY not in path[at + 1 :]:
                return parts
            return [inner for part in parts if isinstance(part, list) for inner in part]
        else:
            wanted = "an object" if isinstance(segment, str) else "a list"
            raise NotThere(f"{_place(path, at)} is {json_type(value)}, not {wanted}", path)
    return value


def _place(path: Path, at: int) -> str:
    return print_path(path[:at]) or "the output"


def copied(value: Json) -> Json:
    """Return a copy of `value` that shares no list and no object with it."""
    if isinstance(value, list):
        return [copied(each) if isinstance(each, _CONTAINERS) else each for each in value]
    if isinstance(value, dict):
        return {
            key: copied(each) if isinstance(each, _CONTAINERS) else each
            for key, each in value.items()
        }
    return value


def json_type(value: object) -> str:
    """Name the JSON type of `value` with its article: `a string`, `null`."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return f"a {type(value).__name__}"


def _in_brackets(text: str, at: int) -> tuple[Segment, int]:
    segment: Segment
    if text.startswith("*", at):
        segment, end = EVERY, at + 1
    elif index := _INDEX.match(text, at):
        segment, end = int(index[0]), index.end()
    elif text.startswith('"', at):
        try:
            quoted_key: tuple[str, int] = _DECODER.raw_decode(text, at)
        except JSONDecodeError as error:
            raise PathSyntaxError("the quoted key does not end well", at) from error
        segment, end = quoted_key
    elif quoted := _SINGLE_QUOTED.match(text, at):
        segment, end = quoted[1], quoted.end()
    else:
        raise PathSyntaxError("an index, '*' or a quoted key was expected after '['", at)
    if not text.startswith("]", end):
        raise PathSyntaxError("']' was expected", end)
    return segment, end + 1


def _escaped(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    # `}` and `$` would be legal here, but then a reference could not be found by its first `}`
    if char < " " or char in "{}$" or "\ud800" <= char <= "\udfff":
        return f"\\u{ord(char):04x}"
    return char
