"""The values that are written out in an argument, each with its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolplan.path import Json
from toolplan.plan import Array, Literal, Object, Ref, Template, Value, escape_pointer


def written(value: Value, pointer: str, name: str) -> Iterator[tuple[str, str, Json]]:
    """Yield each text, number, boolean and null with its pointer and its innermost field.

    `pointer` and `name` are those of `value`. Of text with references it yields each part.
    """
    match value:
        case Literal(constant):
            yield from _constants(constant, pointer, name)
        case Template(parts):
            yield from ((pointer, name, part) for part in parts if isinstance(part, str))
        case Array(items):
            for position, item in enumerate(items):
                yield from written(item, f"{pointer}/{position}", name)
        case Object(fields):
            for key, inner in fields:
                yield from written(inner, f"{pointer}/{escape_pointer(key)}", key)
        case Ref():
            return


def texts(value: Value, pointer: str) -> Iterator[tuple[str, str]]:
    """Yield each text that is written out in `value`, with its pointer."""
    for place, _, constant in written(value, pointer, ""):
        if isinstance(constant, str):
            yield place, constant


def joined(values: Iterable[Value]) -> str:
    """Return all text that is written out in `values`, keys of objects included, a line each."""
    found: list[str] = []
    for value in values:
        match value:
            case Literal(constant):
                _collect(constant, found)
            case Ref():
                continue
            case Template(parts):
                found += [part for part in parts if isinstance(part, str)]
            case Array(items):
                found.append(joined(items))
            case Object(fields):
                found += [key for key, _ in fields]
                found.append(joined(inner for _, inner in fields))
    return "\n".join(found)


def _collect(constant: Json, found: list[str]) -> None:
    if isinstance(constant, str):
        found.append(constant)
    elif isinstance(constant, list):
        for item in constant:
            _collect(item, found)
    elif isinstance(constant, dict):
        found += constant
        for item in constant.values():
            _collect(item, found)


def _constants(constant: Json, pointer: str, name: str) -> Iterator[tuple[str, str, Json]]:
    match constant:
        case list():
            for position, item in enumerate(constant):
                yield from _constants(item, f"{pointer}/{position}", name)
        case dict():
            for key, inner in constant.items():
                yield from _constants(inner, f"{pointer}/{escape_pointer(key)}", key)
        case _:
            yield pointer, name, constant
