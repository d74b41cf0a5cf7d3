"""The keywords of schemas in OpenAPI, and how they read in JSON Schema 2020-12."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolplan.path import Json
from toolplan_openapi._document import Node

LONGEST_DESCRIPTION: Final = 500

MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas"})
LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
IN_PLACE_LISTS: Final = ("allOf", "anyOf", "oneOf")
IN_PLACE: Final = ("not", "if", "then", "else")
SINGLE: Final = frozenset({
    "items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "propertyNames",
    "contains", *IN_PLACE,
})  # fmt: skip

OPERATION_HINTS: Final = ("x-entity", "x-verb", "x-synonyms", "x-aliases", "x-order", "x-pages")
"""The hints of `docs/hints.md` that speak of a tool; an operation carries them."""

_PLAIN: Final = frozenset({
    "type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum",
    "exclusiveMinimum", "maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems",
    "maxContains", "minContains", "maxProperties", "minProperties", "required",
    "dependentRequired", "format", "default", "description", "examples", *OPERATION_HINTS, "x-cue",
    "x-field", "x-gazetteer", "x-kind", "x-literal", "x-ref", "x-role", "x-part-of", "x-unit",
    "x-values",
})  # fmt: skip
MEANING: Final = (
    frozenset(each for each in _PLAIN if not each.startswith("x-"))
    | MAPS
    | LISTS
    | SINGLE
    | {"$ref", "$dynamicRef", "nullable", "discriminator", "dependencies", "definitions", "$defs"}
)
"""Keywords that say what a value is. As in JSON Schema, those that are not known say nothing."""
_CHECKED_IN_RESPONSES: Final = ("date", "date-time", "time")
_ANNOTATIONS: Final = frozenset({"description", "default", "examples"})
_LONGEST_EXAMPLE: Final = 100


def plain_keywords(raw: Node, *, for_response: bool) -> Node:
    """Return what `raw` says besides its sub-schemas; what is not known is left out.

    In responses only the formats of times are kept: services take `email` and `uri` lightly, and
    a result is not to be lost to that.
    """
    made: Node = {key: value for key, value in raw.items() if key in _PLAIN}
    _read_exclusive(made, "exclusiveMinimum", "minimum")
    _read_exclusive(made, "exclusiveMaximum", "maximum")
    if isinstance(text := made.get("description"), str):
        made["description"] = shortened(text)
    if for_response and made.get("format") not in _CHECKED_IN_RESPONSES:
        made.pop("format", None)
    examples = made.pop("examples", [raw["example"]] if "example" in raw else None)
    if isinstance(examples, list) and (short := [e for e in examples if _is_short(e)]):
        made["examples"] = short
    return made


def is_annotation(node: Node) -> bool:
    """Return whether `node` only describes a value, and refuses none."""
    return all(key in _ANNOTATIONS or key.startswith("x-") for key in node)


def shortened(text: str) -> str:
    """Return `text` in one line, cut after so many characters as a tool's text may have."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_DESCRIPTION else line[: LONGEST_DESCRIPTION - 3] + "..."


def as_nullable(node: Node) -> Node:
    """Return `node` such that null fits too (`nullable` of OpenAPI 3.0)."""
    wider = dict(node)
    if "$ref" not in node and not any(name in node for name in (*IN_PLACE_LISTS, "const")):
        types = node.get("type")
        if isinstance(types, str):
            wider["type"] = [types, "null"]
        elif isinstance(types, list) and "null" not in types:
            wider["type"] = [*types, "null"]
        if isinstance(values := node.get("enum"), list) and None not in values:
            wider["enum"] = [*values, None]
        return wider
    rest = wider.pop("description", None)
    either: Node = {"anyOf": [wider, {"type": "null"}]}
    return {**either, "description": rest} if rest is not None else either


def alternatives_by_discriminator(
    made: Node, raw: Node, names: Mapping[str, tuple[str, ...]]
) -> Node:
    """Return `made` with its `oneOf` distinguished by a property, as `discriminator` of `raw` says.

    Alternatives may fit the same value besides; so one that fits is enough. `names` are, by the
    reference of an alternative, the values of the property that stand for it; an alternative that
    is not in it goes by the name of its definition.
    """
    stated = raw["discriminator"]
    name = stated.get("propertyName") if isinstance(stated, dict) else None
    options = made.get("oneOf")
    if not isinstance(name, str) or not isinstance(options, list):
        return made
    rest = {key: value for key, value in made.items() if key != "oneOf"}
    return {**rest, "anyOf": [_discriminated(option, name, names) for option in options]}


def _discriminated(option: Json, name: str, names: Mapping[str, tuple[str, ...]]) -> Json:
    reference = option.get("$ref") if isinstance(option, dict) else None
    if not isinstance(reference, str) or not isinstance(option, dict):
        return option
    values: list[Json] = [*names.get(reference, (reference.rpartition("/")[2],))]
    return {
        "allOf": [option, {"properties": {name: {"enum": values}}, "required": [name]}],
    }


def _read_exclusive(made: Node, exclusive: str, inclusive: str) -> None:
    """Read the boolean of OpenAPI 3.0 that says whether the bound itself is out."""
    stated = made.get(exclusive)
    if isinstance(stated, bool):
        del made[exclusive]
        if stated and inclusive in made:
            made[exclusive] = made.pop(inclusive)


def _is_short(example: Json) -> bool:
    return isinstance(example, int | float) or (
        isinstance(example, str) and len(example) <= _LONGEST_EXAMPLE
    )
