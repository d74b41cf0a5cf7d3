"""The values inside of a plan's arguments, and all other text of it, each with its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from toolplan.path import Json
from toolplan.plan import escape_pointer

Scalar: TypeAlias = "str | int | float"
Document: TypeAlias = dict[str, Json]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A text or number that stands for itself in an argument.

    `way` leads to it from the plan's document; `pointer` is that of the argument that holds it.
    """

    way: tuple[str | int, ...]
    pointer: str
    tool: str
    argument: str
    value: Scalar


def leaves(document: Document) -> Iterator[Leaf]:
    """Yield the texts without references, and the numbers, in the arguments of all steps."""
    for at, step in _steps(document):
        tool, args = step.get("tool"), step.get("args")
        if not isinstance(tool, str) or not isinstance(args, dict):
            continue
        for name, value in args.items():
            pointer = f"/steps/{at}/args/{escape_pointer(name)}"
            for way, scalar in _scalars(value, ("steps", at, "args", name)):
                if not (isinstance(scalar, str) and "$" in scalar):
                    yield Leaf(way, pointer, tool, name, scalar)


def others(document: Document) -> Iterator[Scalar]:
    """Yield every text and number of the plan that is no leaf and takes part in running it."""
    for _, step in _steps(document):
        for key, value in step.items():
            if key == "args" and isinstance(value, dict):
                for name, inner in value.items():
                    yield from _keys(inner)
                    for _, scalar in _scalars(inner, (name,)):
                        if isinstance(scalar, str) and "$" in scalar:
                            yield scalar
            elif key not in ("thought", "tool", "max_items", "timeout_s", "retries"):
                yield from _keys(value)
                yield from (scalar for _, scalar in _scalars(value, (key,)))
    for _, scalar in _scalars(document.get("output"), ("output",)):
        yield scalar


def put(document: Document, way: tuple[str | int, ...], value: Scalar) -> None:
    """Put `value` where `way` leads to in `document`."""
    holder: Json = document
    for key in way[:-1]:
        match holder, key:
            case dict(), str():
                holder = holder[key]
            case list(), int():
                holder = holder[key]
            case _:
                return
    match holder, way[-1]:
        case dict(), str(name):
            holder[name] = value
        case list(), int(at):
            holder[at] = value
        case _:
            pass


def without_thoughts(document: Document) -> None:
    """Drop what was thought of each step, which was thought about another question."""
    for _, step in _steps(document):
        step.pop("thought", None)


def _steps(document: Document) -> Iterator[tuple[int, dict[str, Json]]]:
    steps = document.get("steps")
    for at, step in enumerate(steps if isinstance(steps, list) else []):
        if isinstance(step, dict):
            yield at, step


def _scalars(
    value: Json, way: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], Scalar]]:
    match value:
        case None | bool():
            return
        case str() | int() | float():
            yield way, value
        case list():
            for at, item in enumerate(value):
                yield from _scalars(item, (*way, at))
        case Mapping():
            for key, item in value.items():
                yield from _scalars(item, (*way, key))


def _keys(value: Json) -> Iterator[str]:
    match value:
        case dict():
            for key, item in value.items():
                yield key
                yield from _keys(item)
        case list():
            for item in value:
                yield from _keys(item)
        case _:
            return
