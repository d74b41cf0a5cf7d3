"""The fields of a JSON Schema or of a value, flat, as the tables of names are applied to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from toolplan.plan.model import split_pointer
from toolplan.plan.path import Json, Path
from toolplan.schema.paging._names import folded

_MAX_DEPTH: Final = 4
_MAX_FIELDS: Final = 400
_MAX_REFERENCES: Final = 8

_TYPES: Final[Mapping[type, str]] = {
    bool: "boolean", int: "integer", float: "number", str: "string", dict: "object", list: "array",
}  # fmt: skip


class Field(Struct, frozen=True):
    """A field at `path`: its folded name, that of its object, and the JSON types it may have.

    `node` is its schema; that of a list has `items` where they are known. No types: any.
    """

    path: Path
    name: str
    container: str
    types: frozenset[str]
    node: Mapping[str, Json]

    def may_be(self, *types: str) -> bool:
        """Return whether it may have one of `types`."""
        return not self.types or not self.types.isdisjoint(types)


def resolved(node: Json, root: Json, depth: int = 0) -> Mapping[str, Json]:
    """Return `node` with a local `$ref`, `allOf`, and the first part of `anyOf` merged into it."""
    if not isinstance(node, dict) or depth > _MAX_REFERENCES:
        return {}
    merged: dict[str, Json] = {}
    target = node.get("$ref")
    if isinstance(target, str) and target.startswith("#/"):
        merged.update(resolved(at(root, split_pointer(target[1:])), root, depth + 1))
    parts = node.get("allOf")
    for part in parts if isinstance(parts, list) else ():
        inner = resolved(part, root, depth + 1)
        both = [each.get("properties") for each in (merged, inner)]
        properties = {k: v for each in both if isinstance(each, dict) for k, v in each.items()}
        merged = {**merged, **inner, **({"properties": properties} if properties else {})}
    for key in ("anyOf", "oneOf"):
        options = node.get(key)
        if not isinstance(options, list):
            continue
        choices = [resolved(option, root, depth + 1) for option in options]
        types = [each for choice in choices for each in types_of(choice)]
        if choices:
            choices.sort(key=lambda c: ("properties" in c or "items" in c, len(c)))
            merged = {**choices[-1], **merged}
        if types and all("type" in choice for choice in choices):
            merged["type"] = [*dict.fromkeys(types)]
    merged.update((key, value) for key, value in node.items() if key not in _MERGED)
    return merged


_MERGED: Final = frozenset(("$ref", "allOf", "anyOf", "oneOf"))


def types_of(node: Mapping[str, Json]) -> frozenset[str]:
    """Return the JSON types that `node` states; none where it states none."""
    stated = node.get("type")
    if isinstance(stated, str):
        return frozenset((stated,))
    if isinstance(stated, list):
        return frozenset(each for each in stated if isinstance(each, str))
    if "properties" in node:
        return frozenset(("object",))
    return frozenset(("array",)) if "items" in node else frozenset()


def schema_fields(root: Json) -> list[Field]:
    """Return the fields of the objects in the schema `root`; lists are not entered."""
    return list(_schema_fields(root, root, (), ""))[:_MAX_FIELDS]


def _schema_fields(node: Json, root: Json, path: Path, container: str) -> Iterator[Field]:
    properties = resolved(node, root).get("properties")
    if not isinstance(properties, dict) or len(path) > _MAX_DEPTH:
        return
    for key, inner in properties.items():
        whole = resolved(inner, root)
        types, name = types_of(whole), folded(key)
        yield Field((*path, key), name, container, types, whole)
        if "object" in types:
            yield from _schema_fields(inner, root, (*path, key), name)


def value_fields(value: dict[str, Json], path: Path = (), container: str = "") -> Iterator[Field]:
    """Yield the fields of the objects in `value`; lists are not entered."""
    if len(path) > _MAX_DEPTH or len(value) > _MAX_FIELDS:
        return
    for key, inner in value.items():
        name = folded(key)
        node: dict[str, Json] = {}
        if isinstance(inner, list) and inner:
            node["items"] = {"type": "object" if isinstance(inner[0], dict) else "string"}
        types = frozenset((_TYPES.get(type(inner), "null"),))
        yield Field((*path, key), name, container, types, node)
        if isinstance(inner, dict):
            yield from value_fields(inner, (*path, key), name)


def at(value: Json, path: Path) -> Json:
    """Return the value at `path`, None where there is none; only objects are entered."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) and isinstance(key, str) else None
    return value


def whole(value: Json) -> int | None:
    """Return a whole number, also one that is written as text or as a float."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if type(value) is int else None
