"""Which schemas of replies an endpoint can enforce."""

from __future__ import annotations

from typing import Final

from toolplan.path import Json

_DEPTH: Final = 64
_NOT_SCHEMAS: Final = frozenset(("const", "default", "enum", "examples", "required"))
_OF_NAMES: Final = frozenset(("properties", "$defs", "definitions"))


def is_closed(schema: Json, depth: int = 0) -> bool:
    """Return whether every object in `schema` lists all its properties, and requires them.

    Such schemas are what OpenAI calls strict and Anthropic takes at all.

    >>> is_closed({"type": "object"})
    False
    >>> is_closed({"properties": {"a": {}}, "required": ["a"], "additionalProperties": False})
    True
    """
    if depth > _DEPTH:
        return False
    if isinstance(schema, list):
        return all(is_closed(each, depth + 1) for each in schema)
    if not isinstance(schema, dict):
        return True
    if _is_object(schema) and not _names_all(schema):
        return False
    return all(
        _named_closed(value, depth) if key in _OF_NAMES else is_closed(value, depth + 1)
        for key, value in schema.items()
        if key not in _NOT_SCHEMAS
    )


def _named_closed(schemas: Json, depth: int) -> bool:
    # The names in there are those of properties, whatever they look like.
    if not isinstance(schemas, dict):
        return False
    return all(is_closed(each, depth + 1) for each in schemas.values())


def _is_object(schema: dict[str, Json]) -> bool:
    kinds = schema.get("type")
    named = "object" in kinds if isinstance(kinds, list) else kinds == "object"
    return named or "properties" in schema


def _names_all(schema: dict[str, Json]) -> bool:
    properties, required = schema.get("properties", {}), schema.get("required", [])
    return (
        schema.get("additionalProperties") is False
        and isinstance(properties, dict)
        and isinstance(required, list)
        and all(name in required for name in properties)
    )
