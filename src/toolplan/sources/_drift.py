"""What differs in a result from all results seen before, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from toolplan.path import EVERY, Path, print_path
from toolplan.sources._shapes import FORMATS, KINDS, Shape

MOST_SENTENCES: Final = 8

_WORDS: Final = {
    "null": "null",
    "boolean": "a boolean",
    "integer": "a number",
    "number": "a number",
    "string": "a string",
    "array": "a list",
    "object": "an object",
}


def drift(known: Shape, seen: Shape) -> tuple[str, ...]:
    """Return sentences on what `seen` shows that `known` did not, at most `MOST_SENTENCES`."""
    return tuple(islice(dict.fromkeys(_differences(known, seen, ())), MOST_SENTENCES))


def _differences(known: Shape, seen: Shape, path: Path) -> Iterator[str]:
    if known.hidden or known.is_empty:
        return  # nothing is known of this place
    before, now = _words(known), _words(seen)
    if new := [each for each in now if each not in before]:
        yield f"{_place(path)} is {' or '.join(new)}; it was {' or '.join(before)} before."
    both = known.kinds & seen.kinds
    if "string" in both and known.formats and not known.formats & seen.formats:
        wanted = next(name for name in FORMATS if name in known.formats)
        yield f"{_place(path)} is not always a {wanted}, as it was before."
    if known.items is not None and seen.items is not None:
        yield from _differences(known.items, seen.items, (*path, EVERY))
    if known.rest is not None:
        for inner in (*seen.fields.values(), *(() if seen.rest is None else (seen.rest,))):
            yield from _differences(known.rest, inner, (*path, EVERY))
    elif "object" in both:
        yield from _field_differences(known, seen, path)


def _field_differences(known: Shape, seen: Shape, path: Path) -> Iterator[str]:
    for name, inner in known.fields.items():
        if name in seen.fields:
            yield from _differences(inner, seen.fields[name], (*path, name))
        if seen.rest is None and name in known.always - seen.always:
            yield f"{_place((*path, name))} is missing; it was always there before."
    for name in seen.fields:
        if name not in known.fields:
            yield f"{_place((*path, name))} is new."
    if seen.rest is not None:
        yield f"{_place(path)} has very many other fields."


def _place(path: Path) -> str:
    return print_path(path).removeprefix(".") or "the result"


def _words(shape: Shape) -> list[str]:
    return list(dict.fromkeys(_WORDS[kind] for kind in KINDS if kind in shape.kinds))
