"""The values that are written out in an argument, each with its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolplan.plan.model import Array, Literal, Object, Ref, Template, Value, escape_pointer
from toolplan.plan.path import Json


def written(value: Value | Json, pointer: str, name: str = "") -> Iterator[tuple[str, str, Json]]:
    """Yield each text, number, boolean and null with its pointer and its innermost field.

    `pointer` and `name` are those of `value`. Of text with references it yields each part.
    """
    match value:
        case Literal(constant):
            yield from written(constant, pointer, name)
        case Ref():
            return
        case Template(parts):
            yield from ((pointer, name, part) for part in parts if isinstance(part, str))
        case Array(items) | (list() as items):
            for position, item in enumerate(items):
                yield from written(item, f"{pointer}/{position}", name)
        case Object() | dict():
            for key, inner in members(value):
                yield from written(inner, f"{pointer}/{escape_pointer(key)}", key)
        case _:
            yield pointer, name, value


def texts(value: Value, pointer: str) -> Iterator[tuple[str, str]]:
    """Yield each text that is written out in `value`, with its pointer."""
    for place, _, constant in written(value, pointer):
        if isinstance(constant, str):
            yield place, constant


def all_text(value: Value | Json) -> Iterator[str]:
    """Yield all text that is written out in `value`, keys of objects included."""
    match value:
        case str():
            yield value
        case Literal(constant):
            yield from all_text(constant)
        case Template(parts):
            yield from (part for part in parts if isinstance(part, str))
        case Array(items) | (list() as items):
            for item in items:
                yield from all_text(item)
        case Object() | dict():
            for key, inner in members(value):
                yield key
                yield from all_text(inner)
        case _:
            return


def members(value: Object | dict[str, Json]) -> Iterable[tuple[str, Value | Json]]:
    """Return the keys and the values of an object, with or without references."""
    return value.fields if isinstance(value, Object) else value.items()
