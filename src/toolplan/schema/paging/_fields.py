"""The fields of a flat JSON Schema or of a value, as the tables of names are applied to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from toolplan.plan.path import Json, Path
from toolplan.schema._document import value_types
from toolplan.schema._flat import types_stated
from toolplan.schema.paging._names import folded

_MAX_DEPTH: Final = 4
_MAX_FIELDS: Final = 400


class Field(Struct, frozen=True):
    """A field at `path`: its folded name, that of its object, and the JSON types it may have.

    `node` is its schema, with `items` for a list of known items. Without types it accepts any.
    """

    path: Path
    name: str
    container: str
    types: frozenset[str]
    node: Mapping[str, Json]

    def may_be(self, *types: str) -> bool:
        """Return whether it may have one of `types`."""
        return not self.types or not self.types.isdisjoint(types)


def schema_fields(schema: Json, path: Path = (), container: str = "") -> Iterator[Field]:
    """Yield the fields of the objects in a flat schema; lists are not entered."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or len(path) > _MAX_DEPTH:
        return
    for key, inner in properties.items():
        node = inner if isinstance(inner, dict) else {}
        field = Field((*path, key), folded(key), container, types_stated(node), node)
        yield field
        if "object" in field.types:
            yield from schema_fields(node, field.path, field.name)


def value_fields(value: dict[str, Json], path: Path = (), container: str = "") -> Iterator[Field]:
    """Yield the fields of the objects in `value`; lists are not entered."""
    if len(path) > _MAX_DEPTH or len(value) > _MAX_FIELDS:
        return
    for key, inner in value.items():
        node: dict[str, Json] = {}
        if isinstance(inner, list) and inner:
            node["items"] = {"type": value_types(inner[0])[0]}
        types = frozenset(value_types(inner)[:1])
        field = Field((*path, key), folded(key), container, types, node)
        yield field
        if isinstance(inner, dict):
            yield from value_fields(inner, field.path, field.name)


def at(value: Json, path: Path) -> Json:
    """Return the value at `path`, None where there is none; only objects are entered."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) and isinstance(key, str) else None
    return value


def truth(value: Json) -> bool | None:
    """Return a truth, also one that is written as 0 and 1 or as a word; else None."""
    if isinstance(value, bool):
        return value
    return _TRUTHS.get(str(value).strip().lower()) if isinstance(value, str | int) else None


_TRUTHS: Final = {
    **dict.fromkeys(("true", "yes", "y", "1"), True),
    **dict.fromkeys(("false", "no", "n", "0"), False),
}


def whole(value: Json) -> int | None:
    """Return a whole number, also one that is written as text or as a float."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if type(value) is int else None
