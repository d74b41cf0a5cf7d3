"""Positions of values and keys in a JSON text, and edits that keep all other characters."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct

from toolplan.plan.text._strict import Strict, strict_json
from toolplan.plan.text._tokens import TOKEN, unquoted


class Span(NamedTuple):
    """A range of a text: offsets in characters, `end` is the first one after it."""

    start: int
    end: int


class Place(NamedTuple):
    """A JSON pointer and its place in the text."""

    pointer: str
    span: Span


DEEPEST: Final = 1_000
"""Deeper than this nothing has a place; the scan ends there. Parsers refuse such text."""

_MOST_CHARACTERS: Final = 1_000_000
"""Pointers of this length together are enough: a key may be as long as the text."""

_OPENING = re.compile(r"[\[{]")


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    r"""Return the line and the column of the character at `offset`, both counted from 1.

    >>> line_and_column("ab\ncd", 4)
    (2, 2)
    """
    before = text.rfind("\n", 0, offset)
    return text.count("\n", 0, offset) + 1, offset - before


def locate(text: str, pointer: str, *, key: bool = False) -> Span | None:
    """Return the place of the value that `pointer` names, or with `key` that of its key.

    Where there is no such value, the result is the key of the nearest thing around it that exists
    (its opening bracket, where it has no key), and None where the text holds no JSON at all. Where
    a key stands twice, the last one counts, as it does for JSON readers.
    """
    wanted = [each.replace("~1", "/").replace("~0", "~") for each in pointer.split("/")[1:]]
    whole = _whole(text)
    if whole is None or TOKEN.fullmatch(text, whole.start, whole.end):  # a scalar is all there is
        return None if wanted else whole
    best: Found | None = None
    for found in _scan(text):
        if found.agrees(wanted) and (best is None or found.depth >= best.depth):
            best = found
    if best is None:
        return None if wanted else whole
    if best.depth == len(wanted) and not (key and best.key):
        return best.span
    return best.key or Span(best.span.start, best.span.start + 1)


class Member(Struct, frozen=True):
    """A value in a text and its key; of an object also where its last member stands."""

    span: Span
    key: Span | None
    last_key: Span | None
    last_end: int | None


def members(text: str, pointers: Collection[str]) -> dict[str, Member]:
    """Return the places of the values that `pointers` name, all found in one scan.

    A value that is not there has no entry. Where a key stands twice, the last one counts.
    """
    depths = {each.count("/") for each in pointers}
    wanted = frozenset(pointers)
    last: dict[str, tuple[Span, int]] = {}
    found_at: dict[str, Member] = {}
    for found in _scan(text):
        if found.is_key:
            continue
        if found.depth - 1 in depths and found.key is not None:
            around = found.pointer_of(found.depth - 1)
            if around in wanted:
                last[around] = (found.key, found.span.end)
        if found.depth in depths and (pointer := found.pointer()) in wanted:
            key, end = last.pop(pointer, (None, None))
            found_at[pointer] = Member(found.span, found.key, key, end)
    return found_at


def duplicate_keys(text: str, *, most: int = 100) -> list[Place]:
    """Return the place of every key that its object already has, at most `most` of them."""
    seen: dict[int, set[str]] = {}

    def is_duplicate(found: Found) -> bool:
        if not found.is_key:
            seen.pop(found.depth + 1, None)  # the keys of the object that ended
            return False
        keys = seen.setdefault(found.depth, set())
        count, label = len(keys), found.label()
        keys.add(label)
        return len(keys) == count

    return _places(text, is_duplicate, most)


def find_words(text: str, wanted: Callable[[str], bool], *, most: int = 100) -> list[Place]:
    """Return the places of the unquoted values that are `wanted`: numbers, `true`, `NaN`."""
    return _places(
        text,
        lambda found: not found.is_key and wanted(text[found.span.start : found.span.end]),
        most,
    )


def _places(text: str, wanted: Callable[[Found], bool], most: int) -> list[Place]:
    places: list[Place] = []
    room = _MOST_CHARACTERS
    for found in _scan(text):
        if wanted(found):
            places.append(Place(found.pointer(), found.span))
            room -= len(places[-1].pointer)
            if len(places) >= most or room < 0:
                break
    return places


class Frame(Struct):
    """An open list or object, and the key or the index in it that is being read."""

    start: int
    is_object: bool
    label: str | int
    key: Span | None = None
    expects_key: bool = False
    expects_comma: bool = False


class Found(Struct):
    """A value that has ended, or a key. `frames` is the reader's own stack."""

    frames: list[Frame]
    depth: int
    span: Span
    key: Span | None = None
    is_key: bool = False

    def label(self) -> str:
        """Return the key or the index of it."""
        return str(self.frames[self.depth - 1].label)

    def pointer(self) -> str:
        """Return the JSON pointer of it."""
        return self.pointer_of(self.depth)

    def pointer_of(self, depth: int) -> str:
        """Return the JSON pointer of what stands `depth` levels deep and holds it."""
        labels = (str(frame.label) for frame in self.frames[:depth])
        return "".join("/" + label.replace("~", "~0").replace("/", "~1") for label in labels)

    def agrees(self, wanted: list[str]) -> bool:
        """Return whether this is a value on the way to `wanted`."""
        if self.is_key or self.depth > len(wanted):
            return False
        if self.depth and self.label() != wanted[self.depth - 1]:
            return False
        return all(str(self.frames[at].label) == wanted[at] for at in range(self.depth))


class Structure:
    """The open lists and objects of a text, as its tokens are taken one by one."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []

    def take(self, kind: str, text: str, start: int = 0) -> Found | None:
        """Return the value that ends with this token, or the key that it is; else None."""
        if kind != "mark":
            return self._leaf(text, start) if self.frames and kind != "comment" else None
        if text in "[{":
            self._begin_value()
            is_object = text == "{"
            self.frames.append(Frame(start, is_object, "" if is_object else 0, None, is_object))
        elif self.frames:
            if text in "]}":
                return self.close(start + 1)
            top = self.frames[-1]
            top.expects_key = False
            if text == ",":
                self._separate(top)
        return None

    def _begin_value(self) -> None:
        """Separate a value from the one before it, where the comma is missing."""
        if self.frames and self.frames[-1].expects_comma:
            self._separate(self.frames[-1])

    def _separate(self, top: Frame) -> None:
        top.expects_comma = False
        top.expects_key = top.is_object
        if isinstance(top.label, int):
            top.label += 1

    def close(self, end: int) -> Found:
        """Close the innermost list or object."""
        frame = self.frames.pop()
        key = None
        if self.frames:
            self.frames[-1].expects_comma = True
            key = self.frames[-1].key
        return Found(self.frames, len(self.frames), Span(frame.start, end), key)

    def _leaf(self, token: str, start: int) -> Found:
        span = Span(start, start + len(token))
        self._begin_value()
        top = self.frames[-1]
        if not top.expects_key:
            top.expects_comma = True
            return Found(self.frames, len(self.frames), span, top.key)
        top.label = unquoted(token) if token[0] in "\"'" else token
        top.key = span
        return Found(self.frames, len(self.frames), span, is_key=True)


def _scan(text: str) -> Iterator[Found]:
    """Yield every value, when it ends, and every key, when it begins, of the JSON in `text`."""
    first = _OPENING.search(text)
    if first is None:
        return
    structure = Structure()
    for token in TOKEN.finditer(text, first.start()):
        found = structure.take(token.lastgroup or "", token[0], token.start())
        if found is not None:
            yield found
        if len(structure.frames) > DEEPEST:
            break
    end = len(text.rstrip())
    while structure.frames:  # the text ends inside a value; what was read of it has a place too
        yield structure.close(end)


def _whole(text: str) -> Span | None:
    stripped = text.strip()
    if not stripped:
        return None
    start = text.index(stripped)
    return Span(start, start + len(stripped))


_SPACE_BEFORE = re.compile(r"\s*\Z")


class Rename(Struct, frozen=True):
    """Write `name` for the key of what `pointer` names."""

    pointer: str
    name: str


class Replace(Struct, frozen=True):
    """Write `value` for the value that `pointer` names, which is `old`."""

    pointer: str
    old: object
    value: object


class Insert(Struct, frozen=True):
    """Add a member as the last one of the object that `pointer` names."""

    pointer: str
    name: str
    value: object


Change: TypeAlias = Rename | Replace | Insert


def edited(text: str, changes: Sequence[Change]) -> str | None:
    """Return `text`, one JSON value, with `changes`, and every other character as it is.

    Pointers are those of `text` as it stands. None where a change has no place of its own, or where
    it would take a comment, or anything else that is not in the old value, away with it.
    """
    places = members(text, {each.pointer for each in changes})
    parts: list[tuple[Span, str]] = []
    for change in changes:
        place = places.get(change.pointer)
        part = None if place is None else _part(text, place, change)
        if part is None:
            return None
        parts.append(part)
    return spliced(text, parts)


def rewritten(part: str, old: object, new: object) -> str | None:
    """Return `new` written as `part`, which says `old`, is: with its quotes, or without any.

    None where `part` is more than one token and not the bare text `old`.
    """
    if part == old and isinstance(new, str):
        return new
    if TOKEN.fullmatch(part) is None:
        return None
    return _key(part[0], new) if isinstance(new, str) else _written(new)


def spliced(text: str, parts: Iterable[tuple[Span, str]]) -> str | None:
    """Return `text` with each of `parts` at its place; None where two have the same place."""
    pieces: list[str] = []
    end = 0
    for span, new in sorted(parts):
        if span.start < end:
            return None
        pieces += [text[end : span.start], new]
        end = span.end
    return "".join([*pieces, text[end:]])


def _part(text: str, place: Member, change: Change) -> tuple[Span, str] | None:
    match change:
        case Rename(_, name):
            return None if place.key is None else (place.key, _key(text[place.key.start], name))
        case Replace(_, old, value):
            return (place.span, _written(value)) if _says(text, place.span, old) else None
        case Insert(_, name, value):
            member = f"{_written(name)}: {_written(value)}"
            start = place.span.start + 1
            if place.last_key is None or place.last_end is None:
                return (Span(start, start), member) if text[start - 1 : start] == "{" else None
            before = text[: place.last_key.start]
            space = _SPACE_BEFORE.search(before[-200:])
            return Span(place.last_end, place.last_end), f",{space[0] if space else ''}{member}"


def _says(text: str, span: Span, old: object) -> bool:
    """Return whether nothing but `old` stands at `span`; a single token always is."""
    part = text[span.start : span.end]
    if part[:1] not in ("[", "{"):
        return TOKEN.fullmatch(part) is not None
    if any(token.lastgroup == "comment" for token in TOKEN.finditer(part)):
        return False
    strict = strict_json(part)
    try:
        return isinstance(strict, Strict) and json.loads(strict.text) == old
    except ValueError:
        return False


def _key(quote: str, name: str) -> str:
    written = _written(name)
    return "'" + written[1:-1].replace("'", "\\'") + "'" if quote == "'" else written


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
