"""Positions of values and keys in a JSON text, and edits that keep all other characters."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import TypeAlias

from msgspec import Struct

from toolplan.plan.model import split_pointer
from toolplan.plan.text.loose import Reader, Refused, Span, Spot, Way
from toolplan.plan.text.tokens import TOKEN

_OPENING = re.compile(r"[\[{]")
_SPACE_BEFORE = re.compile(r"\s*\Z")


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
    way = split_pointer(pointer)
    opening = _OPENING.search(text)
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    if opening is None or TOKEN.fullmatch(text, start, end):
        return None if way or start == len(text) else Span(start, end)
    spots = _spots(text, [way[:length] for length in range(len(way) + 1)], opening.start())
    nearest = max(spots, key=len)
    spot = spots[nearest]
    if len(nearest) == len(way) and not (key and spot.key):
        return spot.span
    return spot.key or Span(spot.span.start, spot.span.start + 1)


def _spots(text: str, wanted: Collection[Way], at: int = 0) -> dict[Way, Spot]:
    """Return the spots of the values that `wanted` lead to, as far as the text can be read."""
    reader = Reader(text, at, wanted=frozenset(wanted))
    with suppress(Refused, RecursionError):
        reader.read()
    return reader.spots


class Rename(Struct, frozen=True):
    """Write `name` for the key of the value that `pointer` names."""

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
    places = _spots(text, {split_pointer(each.pointer) for each in changes})
    parts: list[tuple[Span, str]] = []
    for change in changes:
        place = places.get(split_pointer(change.pointer))
        part = None if place is None else _part(text, place, change)
        if part is None:
            return None
        parts.append(part)
    return spliced(text, parts)


def rewritten(part: str, old: object, new: object) -> str | None:
    """Return `new` in the spelling of `part`, which says `old`: with its quotes, or without any.

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


def _part(text: str, place: Spot, change: Change) -> tuple[Span, str] | None:
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
    reader = Reader(part)
    try:
        return reader.read() == old and "comments" not in reader.noise
    except (Refused, RecursionError):
        return False


def _key(quote: str, name: str) -> str:
    written = _written(name)
    return "'" + written[1:-1].replace("'", "\\'") + "'" if quote == "'" else written


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
