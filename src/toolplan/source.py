"""Places in the text that a plan was read from.

Parsing keeps JSON pointers only. When a diagnostic is shown, the text is scanned a second time to
find the place that a pointer names. The scan reads JSON and what people write instead of it
(comments, single quotes, bare keys, trailing commas), never fails, is linear in the length of the
text, and holds its own stack, so that no nesting makes it fail.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple


class Span(NamedTuple):
    """A range of a text: offsets in characters, `end` is the first one behind it."""

    start: int
    end: int


class Place(NamedTuple):
    """A JSON pointer and where it stands."""

    pointer: str
    span: Span


# Possessive, and complete even where the closing quote is missing, so that no text makes the scan
# go over a character twice. `dq` and `sq` take part only where a string ends well.
_REST = (
    r"|(?P<comment>//[^\n]*+|\#[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?P<closed>\*/)?+)"
    r"|(?P<mark>[\[\]{},:])"
    r"""|(?P<word>[^\s"'\[\]{},:/#][^\s"\[\]{},:/#]*+|/)"""
)
TOKEN: Final = re.compile(
    r'(?P<double>"[^"\\]*+(?:\\.[^"\\]*+)*+(?:(?P<dq>")|\\?+))'
    r"|(?P<single>'[^'\\]*+(?:\\.[^'\\]*+)*+(?:(?P<sq>')|\\?+))" + _REST,
    re.DOTALL,
)
"""One token of JSON, or of what is written instead of it; white space lies between them."""
LINE_TOKEN: Final = re.compile(
    r'(?P<double>"[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+(?:(?P<dq>")|\\?+))'
    r"|(?P<single>'[^'\\\n]*+(?:\\[^\n][^'\\\n]*+)*+(?:(?P<sq>')|\\?+))" + _REST,
)
"""The same, but no string goes over the end of a line: a stray quote spoils one line at most."""

_DEEPEST: Final = 1_000
"""Deeper than this nothing has a place; the scan ends there. Parsers refuse such text."""

_MOST_CHARACTERS: Final = 1_000_000
"""Pointers of this length together are enough: a key may be as long as the text."""

_OPENING = re.compile(r"[\[{]")
_SINGLE_ESCAPE = re.compile(r"""\\.|["\n\r\t]""", re.DOTALL)


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    r"""Return the line and the column of the character at `offset`, both counted from 1.

    >>> line_and_column("ab\ncd", 4)
    (2, 2)
    """
    before = text.rfind("\n", 0, offset)
    return text.count("\n", 0, offset) + 1, offset - before


def locate(text: str, pointer: str) -> Span | None:
    """Return the place of the value that `pointer` names.

    Where there is no such value, the key of the nearest thing around it that does exist is given
    (its opening bracket, where it has no key), and None where the text holds no JSON at all. Where
    a key stands twice, the last one counts, as it does for JSON readers.
    """
    wanted = _tokens_of(pointer)
    whole = _whole(text)
    if whole is None or TOKEN.fullmatch(text, whole.start, whole.end):  # a scalar is all there is
        return None if wanted else whole
    best: _Found | None = None
    for found in _scan(text):
        if found.agrees(wanted) and (best is None or found.depth >= best.depth):
            best = found
    if best is None:
        return None if wanted else whole
    if best.depth == len(wanted):
        return best.span
    return best.key or Span(best.span.start, best.span.start + 1)


def duplicate_keys(text: str, *, most: int = 100) -> list[Place]:
    """Return the place of every key that its object already has, `most` of them at the most."""
    places: list[Place] = []
    room = _MOST_CHARACTERS
    seen: dict[int, set[str]] = {}
    for found in _scan(text):
        if not found.is_key:
            seen.pop(found.depth + 1, None)  # the keys of what has just ended
            continue
        keys = seen.setdefault(found.depth, set())
        label = found.label()
        if label in keys:
            room = _add(places, found, room)
            if len(places) >= most or room < 0:
                break
        keys.add(label)
    return places


def find_words(text: str, wanted: Callable[[str], bool], *, most: int = 100) -> list[Place]:
    """Return the places of the unquoted values that are `wanted`: numbers, `true`, `NaN`."""
    places: list[Place] = []
    room = _MOST_CHARACTERS
    for found in _scan(text):
        if not found.is_key and wanted(text[found.span.start : found.span.end]):
            room = _add(places, found, room)
            if len(places) >= most or room < 0:
                break
    return places


def unquoted(token: str) -> str:
    """Return what the string `token`, in double or single quotes, says; its escapes read.

    A token that JSON cannot read is given as it stands, without its quotes.
    """
    quoted = token if token.startswith('"') else double_quoted(token)
    try:
        text = json.loads(quoted, strict=False)
    except ValueError:
        return token.strip(token[:1])
    return text if isinstance(text, str) else token


def double_quoted(token: str) -> str:
    """Return a string token as JSON writes it: in double quotes, line ends and tabs escaped."""
    return '"' + _SINGLE_ESCAPE.sub(_escape, token[1:-1]) + '"'


def _add(places: list[Place], found: _Found, room: int) -> int:
    pointer = found.pointer()
    places.append(Place(pointer, found.span))
    return room - len(pointer)


@dataclass(slots=True)
class _Frame:
    """An open list or object: which part of it is being read."""

    start: int
    is_object: bool
    label: str | int
    key: Span | None = None
    expects_key: bool = False


@dataclass(slots=True)
class _Found:
    """A value or a key. `frames` is the scan's own stack: read it before going on."""

    frames: list[_Frame]
    depth: int
    span: Span
    is_key: bool = False
    key: Span | None = field(default=None)

    def labels(self) -> list[str | int]:
        return [frame.label for frame in self.frames[: self.depth]]

    def label(self) -> str:
        return str(self.frames[self.depth - 1].label)

    def pointer(self) -> str:
        return "".join(f"/{_escaped(str(label))}" for label in self.labels())

    def agrees(self, wanted: list[str]) -> bool:
        """Whether this is a value on the way to `wanted`."""
        if self.is_key or self.depth > len(wanted):
            return False
        if self.depth and self.label() != wanted[self.depth - 1]:
            return False
        return all(str(self.frames[at].label) == wanted[at] for at in range(self.depth))


def _scan(text: str) -> Iterator[_Found]:
    """Yield every value, when it ends, and every key, when it begins, of the JSON in `text`."""
    first = _OPENING.search(text)
    if first is None:
        return
    frames: list[_Frame] = []
    for token in TOKEN.finditer(text, first.start()):
        kind = token.lastgroup
        if kind == "mark":
            yield from _mark(frames, token[0], token.start())
            if len(frames) > _DEEPEST:
                break
        elif kind not in ("comment", "closed") and frames:
            yield _leaf(frames, token)
    end = len(text.rstrip())
    while frames:  # the text ends inside a value; what was read of it has a place all the same
        yield _close(frames, end)


def _mark(frames: list[_Frame], mark: str, at: int) -> Iterator[_Found]:
    if mark == "{":
        frames.append(_Frame(at, True, "", None, True))
    elif mark == "[":
        frames.append(_Frame(at, False, 0))
    elif not frames:
        return
    elif mark in "}]":
        yield _close(frames, at + 1)
    elif mark == ",":
        top = frames[-1]
        top.expects_key = top.is_object
        if isinstance(top.label, int):
            top.label += 1
    else:
        frames[-1].expects_key = False


def _leaf(frames: list[_Frame], token: re.Match[str]) -> _Found:
    span = Span(token.start(), token.end())
    top = frames[-1]
    if not top.expects_key:
        return _Found(frames, len(frames), span, key=top.key)
    top.label = unquoted(token[0]) if token[0][0] in "\"'" else token[0]
    top.key = span
    return _Found(frames, len(frames), span, is_key=True)


def _close(frames: list[_Frame], end: int) -> _Found:
    frame = frames.pop()
    return _Found(
        frames, len(frames), Span(frame.start, end), key=frames[-1].key if frames else None
    )


def _whole(text: str) -> Span | None:
    stripped = text.strip()
    if not stripped:
        return None
    start = text.index(stripped)
    return Span(start, start + len(stripped))


def _tokens_of(pointer: str) -> list[str]:
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def _escaped(label: str) -> str:
    return label.replace("~", "~0").replace("/", "~1")


def _escape(found: re.Match[str]) -> str:
    match found[0]:
        case "\\'":
            return "'"
        case '"':
            return '\\"'
        case "\n":
            return "\\n"
        case "\r":
            return "\\r"
        case "\t":
            return "\\t"
        case escape:
            return escape
