"""The conjunction of several nodes of a schema, as one node in a normal form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from math import isfinite
from typing import Any, Final, TypeAlias

from toolplan.plan.path import Json

Wanted: TypeAlias = dict[str, Any]
"""A node with lists for keywords that add up, and fractions for the bounds of numbers."""

_SHAPES: Final = (
    ("object", ("properties", "required", "additionalProperties", "patternProperties")),
    ("array", ("items", "prefixItems", "minItems", "maxItems", "contains")),
    ("string", ("format", "pattern", "minLength", "maxLength")),
    ("number", ("minimum", "maximum", "multipleOf")),
)
_TYPES: Final = ("string", "object", "array", "number", "integer", "boolean", "null")
_LISTS: Final = ("pattern", "format", "contains", "multipleOf", "propertyNames")
_LEAST: Final = ("minimum", "minLength", "minItems", "minProperties", "minContains")
_MOST: Final = ("maximum", "maxLength", "maxItems", "maxProperties", "maxContains")
_LITTLE: Final = Fraction(1, 1_000_000)  # from an exclusive limit to the inclusive one


def wanted_by(nodes: Sequence[dict[str, Json]]) -> Wanted:
    """Return the conjunction of `nodes`."""
    return reduce(_joined, map(_normal, nodes), _normal({}))


def types_of(wanted: Wanted) -> list[str]:
    """Return the types of a value, declared and likely ones first."""
    likely = [name for name, keywords in _SHAPES if any(each in wanted for each in keywords)]
    order = dict.fromkeys((*wanted["declared"], *likely, *_TYPES))
    return [name for name in order if name in wanted["type"]]


def property_of(wanted: Wanted, name: str) -> Json:
    """Return the schema of the property `name`."""
    # what a pattern allows is checked in the end
    rest = True if wanted.get("patternProperties") else wanted.get("additionalProperties", True)
    return wanted.get("properties", {}).get(name, rest)


def element_of(wanted: Wanted, at: int) -> Json:
    """Return the schema of the element at position `at` of a list."""
    first = wanted.get("prefixItems", [])
    return first[at] if at < len(first) else wanted.get("items", True)


def all_of(nodes: Sequence[Json]) -> Json:
    """Return one schema that is the conjunction of `nodes`."""
    asking = [node for node in nodes if node is not True]
    if len(asking) > 1:
        return {"allOf": asking}
    return asking[0] if asking else True


def key_of(value: Json) -> str:
    """Return a text that only equal values share."""
    return json.dumps(value, sort_keys=True)


def _normal(node: dict[str, Json]) -> Wanted:
    made: Wanted = {name: value for name, value in node.items() if value is not None}
    declared: Any = node.get("type", [*_TYPES])
    names: list[str] = [declared] if isinstance(declared, str) else declared
    made["declared"] = names if "type" in node else []
    made["type"] = {*names, "integer"} if "number" in names else {*names}
    examples, default = node.get("examples"), node.get("default")
    given = [*(examples[:3] if isinstance(examples, list) else ()), default]
    made["examples"] = [each for each in given if each not in (None, [], {})]
    if "const" in node:
        made["enum"] = [node["const"]]
    made |= {name: [made[name]] for name in _LISTS if name in made}
    if isinstance(items := made.get("items"), list):  # tuples before draft 2020-12
        made["prefixItems"], made["items"] = items, made.get("additionalItems", True)
    for name, exclusive, way in (
        ("minimum", "exclusiveMinimum", _LITTLE),
        ("maximum", "exclusiveMaximum", -_LITTLE),
    ):
        bound, opened = number_of(made.pop(name, None)), made.get(exclusive)
        if (outer := number_of(opened)) is not None:
            inner = outer + way
            bound = inner if bound is None else (max if way > 0 else min)(bound, inner)
        elif bound is not None and opened is True:  # draft 4
            bound += way
        if bound is not None:
            made[name] = bound
    return made


def _joined(one: Wanted, other: Wanted) -> Wanted:
    """Return the conjunction of two nodes; of keywords that cannot be joined, the first one's."""
    made = {**other, **one, "type": one["type"] & other["type"]}
    for name in one.keys() & other.keys():
        if name in (*_LISTS, "declared", "examples", "required"):
            made[name] = [*one[name], *other[name]]
        elif name in _LEAST:
            made[name] = max(one[name], other[name])
        elif name in _MOST:
            made[name] = min(one[name], other[name])
        elif name == "patternProperties":
            made[name] = {**other[name], **one[name]}
    if "enum" in one and "enum" in other:
        known = set(map(key_of, one["enum"]))
        made["enum"] = [each for each in other["enum"] if key_of(each) in known]
    names = {**one.get("properties", {}), **other.get("properties", {})}
    if names:
        made["properties"] = {
            name: all_of([property_of(one, name), property_of(other, name)]) for name in names
        }
    for name in ("additionalProperties", "items"):
        if name in made:
            made[name] = all_of([one.get(name, True), other.get(name, True)])
    most = max(len(each.get("prefixItems", ())) for each in (one, other))
    if most:
        made["prefixItems"] = [
            all_of([element_of(one, at), element_of(other, at)]) for at in range(most)
        ]
    return made


def number_of(value: Json) -> Fraction | None:
    """Return `value` as it is written, so that 0.1 is a tenth; None where it is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int):
        return Fraction(value)
    return Fraction(repr(value)) if isfinite(value) else None
