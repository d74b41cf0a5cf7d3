"""Which keywords of JSON Schema say something about which values."""

from __future__ import annotations

from typing import Final

from toolplan.plan.path import Json
from toolplan.schema._document import JsonType, value_types
from toolplan.schema._schema import Schema

_KEYWORDS: Final[dict[tuple[JsonType, ...], tuple[str, ...]]] = {
    ("integer", "number"): (
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    ),
    ("string",): ("minLength", "maxLength", "pattern", "format"),
    ("array",): (
        *("items", "prefixItems", "unevaluatedItems", "minItems", "maxItems", "uniqueItems"),
        *("contains", "minContains", "maxContains"),
    ),
    ("object",): (
        *("properties", "required", "additionalProperties", "unevaluatedProperties"),
        *("patternProperties", "propertyNames", "minProperties", "maxProperties"),
        *("dependentRequired", "dependentSchemas"),
    ),
}
APPLIES: Final[dict[str, frozenset[JsonType]]] = {
    keyword: frozenset(types) for types, keywords in _KEYWORDS.items() for keyword in keywords
}
"""Keywords that say something about some JSON types only; every other value passes them."""


def undecided(schema: Schema, value: Json) -> str | None:
    """Return the keyword by which `value` fits `schema` only since it says nothing about `value`.

    None where all that is said applies. `value` fits `schema`.
    """
    return _undecided(schema, schema.node, value)


def _undecided(schema: Schema, node: Json, value: Json) -> str | None:
    if not isinstance(node, dict):
        return None
    types = frozenset(value_types(value))
    for keyword, stated in node.items():
        applies = APPLIES.get(keyword, types)
        if not types & applies and not node.keys() & {"type", "const", "enum"}:
            return keyword
        match keyword, stated, value:
            case "allOf", list(), _:
                found = next((f for part in stated if (f := _undecided(schema, part, value))), None)
            case (("anyOf" | "oneOf"), list(), _):
                parts = [part for part in stated if isinstance(part, bool | dict)]
                fitting = [part for part in parts if schema.part(part).is_valid(value)]
                by = [_undecided(schema, part, value) for part in fitting]
                found = by[0] if by and all(by) else None
            case "properties", dict(), dict():
                there = [(part, value[name]) for name, part in stated.items() if name in value]
                by = [_undecided(schema, part, inner) for part, inner in there]
                found = next(filter(None, by), None if there or not stated else keyword)
            case "items", dict(), list():
                by = [_undecided(schema, stated, each) for each in value]
                found = next(filter(None, by), None)
            case _:
                found = None
        if found is not None:
            return found
    return None
