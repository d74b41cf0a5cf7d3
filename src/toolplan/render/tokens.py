"""The tokens of a value, as its JSON has them, with references as they stand in a plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct

from toolplan.path import Json
from toolplan.plan import Array, Literal, Object, Ref, Template, Value


class Mark(str):
    """A quote, a bracket, a comma, a colon, or a constant."""

    __slots__ = ()


class Text(Struct, frozen=True):
    """What stands between two quotes, or a part of it."""

    text: str


Token: TypeAlias = Mark | Text | Ref | int | float

_Part: TypeAlias = "Token | Value | Json"


def tokens(value: Value | Json) -> Iterator[Token]:
    """Yield the tokens of `value` on demand, and without recursion: it may be large, and deep."""
    # inside a value with references, text that looks like one is written with a doubled dollar
    doubled = isinstance(value, Template | Array | Object)
    parts: list[Iterator[_Part]] = [iter((value,))]
    while parts:
        for part in parts[-1]:
            match part:
                case Mark() | Text() | Ref():
                    yield part
                case bool() | None:
                    yield Mark("null" if part is None else str(part).lower())
                case int() | float():
                    yield part
                case _:
                    parts.append(_inner(part, doubled))
                    break
        else:
            parts.pop()


def _inner(value: Value | Json, doubled: bool) -> Iterator[_Part]:
    match value:
        case Literal(inner):
            yield inner
        case str() | Template():
            yield Mark('"')
            for part in value.parts if isinstance(value, Template) else (value,):
                if isinstance(part, Ref):
                    yield part
                else:
                    yield Text(part.replace("${", "$${") if doubled else part)
            yield Mark('"')
        case list() | Array():
            yield Mark("[")
            for at, item in enumerate(value.items if isinstance(value, Array) else value):
                if at:
                    yield Mark(", ")
                yield item
            yield Mark("]")
        case dict() | Object():
            yield Mark("{")
            pairs = value.fields if isinstance(value, Object) else value.items()
            for at, (key, inner) in enumerate(pairs):
                if at:
                    yield Mark(", ")
                yield from (Mark('"'), Text(key), Mark('"'), Mark(": "), inner)
            yield Mark("}")
        case _:
            raise TypeError(f"not a value: {value!r}")
