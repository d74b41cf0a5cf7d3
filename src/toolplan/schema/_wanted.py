"""What several nodes of a schema ask of one value, taken together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from math import isfinite
from typing import Final

from msgspec import Struct, field

from toolplan.path import Json

_SHAPES: Final = (
    ("object", ("properties", "required", "additionalProperties", "patternProperties")),
    ("array", ("items", "prefixItems", "minItems", "maxItems", "contains")),
    ("string", ("format", "pattern", "minLength", "maxLength")),
    ("number", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
)
_ORDER: Final = ("string", "object", "array", "number", "integer", "boolean", "null")
_HARD: Final = ("not", "oneOf", "if", "contains", "pattern", "dependentRequired", "propertyNames")
_SIZES: Final = ("Length", "Items", "Properties")
_LITTLE: Final = Fraction(1, 1_000_000)  # from an exclusive limit to the inclusive one


class Wanted(Struct):
    """What all of some nodes ask of a value.

    `least` and `most` are the bounds of a number, `sizes` those of other values by keyword.
    `closed` are the names that each node declares which has no others. `elements` are what each
    node says of a list: of its first elements, and of the rest. `is_hard` says that a value must be
    checked.
    """

    is_hard: bool = False
    order: list[str] = field(default_factory=list[str])
    allowed: set[str] = field(default_factory=lambda: {*_ORDER})
    enum: dict[str, Json] | None = None
    given: list[Json] = field(default_factory=list[Json])
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    least: Fraction | None = None
    most: Fraction | None = None
    steps: list[Fraction] = field(default_factory=list[Fraction])
    formats: list[str] = field(default_factory=list[str])
    patterns: list[str] = field(default_factory=list[str])
    required: dict[str, None] = field(default_factory=dict[str, None])
    properties: dict[str, list[Json]] = field(default_factory=dict[str, list[Json]])
    undeclared: list[Json] = field(default_factory=list[Json])
    closed: list[frozenset[str]] = field(default_factory=list[frozenset[str]])
    by_pattern: list[tuple[str, Json]] = field(default_factory=list[tuple[str, Json]])
    name_rules: list[dict[str, Json]] = field(default_factory=list[dict[str, Json]])
    elements: list[tuple[list[Json], Json]] = field(default_factory=list[tuple[list[Json], Json]])
    contains: list[Json] = field(default_factory=list[Json])
    is_distinct: bool = False

    def types(self) -> tuple[str, ...]:
        """Return the types of a value, declared and likely ones first."""
        return tuple(name for name in dict.fromkeys((*self.order, *_ORDER)) if name in self.allowed)

    def property(self, name: str) -> Json:
        """Return the schema of the property `name`."""
        return all_of(self.properties.get(name) or self.undeclared)

    def element(self, at: int) -> Json:
        """Return the schema of the element at position `at` of a list."""
        found = [first[at] if at < len(first) else rest for first, rest in self.elements]
        return all_of([*(each for each in found if each is not None), *self.contains[: not at]])

    def add(self, node: dict[str, Json]) -> None:
        """Ask for what `node` asks, too."""
        self._add_types(node)
        self._add_numbers(node)
        self._add_object(node)
        for name in _SIZES:
            for way, choose in (("min", max), ("max", min)):
                size = _fraction(node.get(way + name))
                if size is not None:
                    known = self.sizes.get(way + name, int(size))
                    self.sizes[way + name] = choose(known, int(size))
        if isinstance(form := node.get("format"), str):
            self.formats.append(form)
        if isinstance(pattern := node.get("pattern"), str):
            self.patterns.append(pattern)
        first, rest = node.get("prefixItems"), node.get("items")
        if isinstance(rest, list):  # tuples before draft 2020-12
            first, rest = rest, node.get("additionalItems")
        self.elements.append((first if isinstance(first, list) else [], rest))
        if node.get("contains") is not None:
            self.contains.append(node["contains"])
        self.is_distinct = self.is_distinct or node.get("uniqueItems") is True

    def _add_types(self, node: dict[str, Json]) -> None:
        declared = node.get("type")
        listed = declared if isinstance(declared, list) else [declared]
        names = [name for name in listed if isinstance(name, str)]
        if names or isinstance(declared, list):
            self.order += names
            self.allowed &= {*names, "integer"} if "number" in names else {*names}
        values = [node["const"]] if "const" in node else node.get("enum")
        if isinstance(values, list):
            keyed = {key_of(each): each for each in values}
            known = self.enum
            self.enum = keyed if known is None else {k: v for k, v in keyed.items() if k in known}
        examples = node.get("examples")
        given = [*(examples[:3] if isinstance(examples, list) else ()), node.get("default")]
        self.given += (each for each in given if each not in (None, [], {}))

    def _add_numbers(self, node: dict[str, Json]) -> None:
        least = _limits(node, "minimum", "exclusiveMinimum", _LITTLE)
        most = _limits(node, "maximum", "exclusiveMaximum", -_LITTLE)
        self.least = max([*least, *_known(self.least)], default=None)
        self.most = min([*most, *_known(self.most)], default=None)
        step = _fraction(node.get("multipleOf"))
        if step is not None and step > 0:
            self.steps.append(step)

    def _add_object(self, node: dict[str, Json]) -> None:
        properties, required = node.get("properties"), node.get("required")
        declared = properties if isinstance(properties, dict) else {}
        for name, inner in declared.items():
            self.properties.setdefault(name, []).append(inner)
        listed = required if isinstance(required, list) else []
        self.required.update((name, None) for name in listed if isinstance(name, str))
        patterns = node.get("patternProperties")
        if isinstance(patterns, dict):
            self.by_pattern += patterns.items()
        if isinstance(rule := node.get("propertyNames"), dict):
            self.name_rules.append(rule)
        if "additionalProperties" in node:
            self.undeclared.append(node["additionalProperties"])
            if node["additionalProperties"] is False and not patterns:
                self.closed.append(frozenset(declared))


def wanted_by(nodes: Sequence[dict[str, Json]]) -> Wanted:
    """Return what all of `nodes` ask of a value."""
    wanted = Wanted(len(nodes) > 1 or any(name in node for node in nodes for name in _HARD))
    for node in nodes:
        wanted.add(node)
    for name, keywords in _SHAPES:
        if any(keyword in node for node in nodes for keyword in keywords):
            wanted.order.append(name)
    return wanted


def all_of(nodes: list[Json]) -> Json:
    """Return one node that asks for all that `nodes` ask for."""
    match nodes:
        case []:
            return True
        case [node]:
            return node
        case _:
            return {"allOf": nodes}


def key_of(value: Json) -> str:
    """Return a text that only equal values share."""
    return json.dumps(value, sort_keys=True)


def _limits(node: dict[str, Json], name: str, exclusive: str, way: Fraction) -> list[Fraction]:
    """Return inclusive limits; an exclusive one is moved by a little."""
    bound, opened = _fraction(node.get(name)), node.get(exclusive)
    outer = _fraction(opened)
    found = [] if bound is None else [bound + way if opened is True else bound]
    return found if outer is None else [*found, outer + way]


def _known(bound: Fraction | None) -> tuple[Fraction, ...]:
    return () if bound is None else (bound,)


def _fraction(value: Json) -> Fraction | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not isfinite(value):
        return None
    # as it is written: 0.1 is a tenth
    return Fraction(value) if isinstance(value, int) else Fraction(repr(value))
