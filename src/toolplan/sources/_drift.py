"""What is otherwise in a result than in all that was seen before, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolplan.path import EVERY, Path, print_path
from toolplan.sources._shapes import FORMATS, Learned, Shape

MOST_TOLD: Final = 8

_WORDS: Final = {
    "null": "null",
    "true_or_false": "a boolean",
    "number": "a number",
    "text": "a string",
    "lists": "a list",
    "objects": "an object",
}


def drift(known: Learned, seen: Learned) -> tuple[str, ...]:
    """Return sentences on what `seen` shows that `known` did not, at most `MOST_TOLD`."""
    if not known.samples:
        return ()
    found: dict[str, None] = {}
    for sentence in _told(known.shape, seen.shape, ()):
        found.setdefault(sentence)
        if len(found) == MOST_TOLD:
            break
    return tuple(found)


def _told(known: Shape, seen: Shape, path: Path) -> Iterator[str]:
    if known.hidden or not known.seen:
        return  # nothing was said of this place
    place = print_path(path).removeprefix(".") or "the result"
    before, now = _kinds(known), _kinds(seen)
    if new := [kind for kind in now if kind not in before]:
        yield f"{place} is {_listed(new)}; it was {_listed(before)} before."
    if known.text and seen.text and known.formats and not known.formats & seen.formats:
        wanted = next(name for name in FORMATS if name in known.formats)
        yield f"{place} is not always a {wanted}, as it was before."
    if known.items is not None and seen.items is not None:
        yield from _told(known.items, seen.items, (*path, EVERY))
    if known.rest is not None:
        for inner in (*seen.fields.values(), *(() if seen.rest is None else (seen.rest,))):
            yield from _told(known.rest, inner, (*path, EVERY))
    elif known.objects and seen.objects:
        yield from _told_fields(known, seen, path)


def _told_fields(known: Shape, seen: Shape, path: Path) -> Iterator[str]:
    for name, inner in known.fields.items():
        place = print_path((*path, name)).removeprefix(".")
        there = seen.fields.get(name)
        if there is not None:
            yield from _told(inner, there, (*path, name))
        missing = seen.objects - (0 if there is None else there.seen)
        if missing > 0 and seen.rest is None and inner.seen == known.objects:
            yield f"{place} is missing; it was always there before."
    for name in seen.fields:
        if name not in known.fields:
            yield f"{print_path((*path, name)).removeprefix('.')} is new."
    if seen.rest is not None:
        yield f"{print_path(path).removeprefix('.') or 'the result'} has very many other fields."


def _kinds(shape: Shape) -> list[str]:
    seen = {
        "null": shape.null,
        "true_or_false": shape.true_or_false,
        "number": shape.whole + shape.fraction,
        "text": shape.text,
        "lists": shape.lists,
        "objects": shape.objects,
    }
    return [kind for kind, times in seen.items() if times]


def _listed(kinds: list[str]) -> str:
    return " or ".join(_WORDS[kind] for kind in kinds)
