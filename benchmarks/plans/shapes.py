"""What a schema plainly says, read without the checker that is measured.

Faults are made by these readings, so that no mistake of the checker can hide in its own measure.
Only plain keywords count: where a schema combines, refers or leaves its type unsaid, nothing is
read, and no fault is made there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import jsonschema_rs

from toolplan.plan.path import Json

_COMBINES: Final = frozenset(
    ("$ref", "allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", "$dynamicRef")
)
_OPENS: Final = frozenset(
    ("additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames")
)
_SCALARS: Final = frozenset(("string", "integer", "number", "boolean"))


class Place(NamedTuple):
    """A value that stands in arguments at `path`, and the plain schema that speaks about it."""

    path: tuple[str | int, ...]
    node: dict[str, Json]
    value: Json


def is_plain(node: Json) -> bool:
    """Whether `node` is a schema that says all by itself."""
    return isinstance(node, dict) and not _COMBINES & node.keys()


def plain_type(node: Json) -> str | None:
    """Return the one JSON type that `node` declares; None where it is not plain, or has several."""
    if not isinstance(node, dict) or not is_plain(node):
        return None
    declared = node.get("type")
    return declared if isinstance(declared, str) else None


def properties(node: Json) -> Mapping[str, Json]:
    """Return the declared properties of a plain object schema."""
    if not isinstance(node, dict) or not is_plain(node):
        return {}
    declared = node.get("properties")
    return declared if isinstance(declared, dict) else {}


def is_closed(node: Json) -> bool:
    """Whether a plain object schema declares properties and opens itself to no others."""
    if not isinstance(node, dict) or not properties(node):
        return False
    opens = _OPENS & node.keys() and node.get("additionalProperties") is not False
    return node.get("type", "object") == "object" and not opens


def required(node: Json) -> tuple[str, ...]:
    """Return the properties that a plain object schema requires and declares."""
    if not isinstance(node, dict) or not is_plain(node):
        return ()
    listed = node.get("required")
    names = listed if isinstance(listed, list) else []
    return tuple(name for name in names if isinstance(name, str) and name in properties(node))


def element(node: Json) -> Json:
    """Return the schema of each element of a plain list schema, None where it has no one schema."""
    if not isinstance(node, dict) or not is_plain(node) or "prefixItems" in node:
        return None
    return node.get("items")


def places(node: Json, value: Json, path: tuple[str | int, ...] = ()) -> Iterator[Place]:
    """Yield `value` and every part of it that a plain schema speaks about."""
    if not isinstance(node, dict) or not is_plain(node):
        return
    yield Place(path, node, value)
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from places(properties(node).get(name), inner, (*path, name))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from places(element(node), inner, (*path, at))


def accepts(node: dict[str, Json], value: Json) -> bool:
    """Whether a validator alone, formats checked, accepts `value`."""
    validator = jsonschema_rs.validator_for(node, validate_formats=True, offline=True)
    return validator.is_valid(value)


def are_apart(given: Json, taken: Json) -> bool:
    """Whether two plain schemas have types with no value in common."""
    one, other = plain_type(given), plain_type(taken)
    if one is None or other is None or one == other:
        return False
    return {one, other} != {"integer", "number"}


def is_list_of(given: Json, taken: Json) -> bool:
    """Whether `given` is plainly a list whose elements are of the scalar type of `taken`."""
    wanted = plain_type(taken)
    if wanted not in _SCALARS or plain_type(given) != "array":
        return False
    return plain_type(element(given)) == wanted
