"""Sample values that fit a schema.

A fitting value can be hard to find, or may not exist, so this is a bounded search: likely choices
first, and each value is checked against the schema.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product
from typing import Final, TypeAlias, TypeVar, cast

from toolplan.base.errors import ToolplanError
from toolplan.plan.path import Json, copied
from toolplan.schema._document import (
    APPLIES,
    JsonType,
    Node,
    SchemaError,
    types_in,
    value_types,
)
from toolplan.schema._literals import Parts, least, most, numbers, texts

Target: TypeAlias = Callable[[Json], Node | None]
Accepts: TypeAlias = Callable[[Node, Json], bool]

MAX_ITEMS: Final = 1_000
"""A schema that requires longer lists gets no example."""

_MAX_VALUES: Final = 5_000
_MAX_CHECKS: Final = 40
_MAX_DEPTH: Final = 40
_MAX_IN_PLACE: Final = 40
_MAX_CHOICES: Final = 16
_FULL_DEPTH: Final = 8
_TURNS: Final = 3
_HARD: Final = ("not", "oneOf", "if", "contains", "pattern", "dependentRequired", "propertyNames")
"""Keywords that a likely value may not fit."""
_TYPES: Final[tuple[JsonType, ...]] = (
    *("string", "object", "array", "number", "integer", "boolean", "null"),
)
_LIKELY: Final[tuple[JsonType, ...]] = ("object", "array", "string", "number")
"""Types that a schema which does not state one may mean by its keywords."""

T = TypeVar("T")


class NoExample(ToolplanError):
    """No value was found that fits a schema. The code is `no-example`."""

    def __init__(self) -> None:
        super().__init__("no-example", "No value was found that fits the schema.")


class _Nothing(Exception):
    """No value fits here; another earlier choice may help."""


class _Exhausted(Exception):
    """The limit of the search was reached."""


class Search:
    """A search for sample values; each turn rotates every choice.

    `target` follows a `$ref`; `accepts` checks a value against a node of the same document; lists
    get about `items` elements.
    """

    def __init__(self, target: Target, accepts: Accepts, items: int) -> None:
        self._target = target
        self._accepts = accepts
        self._items = items
        self._checks = _MAX_CHECKS  # each check of a part needs a validator of its own

    def find(self, node: Node, seed: int) -> Json:
        """Return a value that fits `node`, without optional properties where all do not fit.

        Raises:
            NoExample: none was found.
        """
        for lean, turn in product((False, True), range(seed, seed + _TURNS)):
            self._lean = lean
            self._turn = self._number = turn
            self._values = _MAX_VALUES
            self._open: Counter[int] = Counter()
            try:
                value = self._make(node, 0)
                if self._accepts(node, value):
                    return value
            except (_Nothing, _Exhausted, RecursionError, SchemaError):
                continue
        raise NoExample

    def _make(self, node: Json, depth: int) -> Json:
        self._spend()
        if depth > _MAX_DEPTH or not isinstance(node, dict | bool):
            raise _Nothing
        branches = [*islice(self._branches(node, 0), _MAX_CHOICES)]
        branches.sort(key=lambda parts: types_in(parts) <= {"null"})
        for parts in branches:
            is_hard = len(parts) > 1 or any(name in each for each in parts for name in _HARD)
            self._open.update(map(id, parts))
            try:
                for value in islice(self._candidates(node, parts, depth), _MAX_CHOICES):
                    if not is_hard or self._passes(node, value, unknown=True):
                        return value
            except _Nothing:
                continue
            finally:
                self._open.subtract(map(id, parts))
        raise _Nothing

    def _passes(self, node: Node, value: Json, *, unknown: bool) -> bool:
        """Return whether `node` accepts `value`; `unknown` once the budget of checks is spent."""
        if not self._checks:
            return unknown
        self._checks -= 1
        try:
            return self._accepts(node, value)
        except SchemaError:
            return False

    def _branches(self, node: Json, nesting: int) -> Iterator[Parts]:
        """Yield alternatives, each a tuple of nodes that must all fit."""
        self._spend()
        if node is False or nesting > _MAX_IN_PLACE:
            return
        if not isinstance(node, dict):
            yield ()
        elif (groups := self._groups(node)) is not None:
            yield from self._joined((node,), groups, nesting)

    def _groups(self, node: dict[str, Json]) -> list[list[Json]] | None:
        """Return groups of nodes: one of each group must fit; None if none can."""
        groups: list[list[Json]] = []
        if "$ref" in node:
            found = self._target(node["$ref"])
            # a recursive schema is expanded once
            if found is None or self._open[id(found)] > 1:
                return None
            groups.append([found])
        if isinstance(every := node.get("allOf"), list):
            groups.extend([each] for each in every)
        alternatives = [node.get("anyOf"), node.get("oneOf")]
        if "if" in node:
            holds: Json = {"allOf": [node["if"], node.get("then", True)]}
            alternatives.append([holds, node.get("else", True)])
        groups.extend(_rotated(each, self._turn) for each in alternatives if isinstance(each, list))
        if isinstance(dependent := node.get("dependentSchemas"), dict):
            groups.extend([each] for each in dependent.values())
        return groups

    def _joined(self, parts: Parts, groups: list[list[Json]], nesting: int) -> Iterator[Parts]:
        if not groups:
            yield parts
            return
        for option in groups[0]:
            for more in self._branches(option, nesting + 1):
                yield from self._joined((*parts, *more), groups[1:], nesting)

    def _candidates(self, node: Node, parts: Parts, depth: int) -> Iterator[Json]:
        types = _types(parts)
        listed = [
            [each["const"]] if "const" in each else each["enum"]
            for each in parts
            if not each.keys().isdisjoint(("const", "enum"))
        ]
        if listed:
            common = set(map(_key, listed[0])).intersection(*(map(_key, e) for e in listed[1:]))
            fitting = [e for e in listed[0] if _key(e) in common and {*value_types(e)} & {*types}]
            several = sorted(_rotated(fitting, self._turn), key=lambda each: each is None)
            yield from map(copied, several)
            return
        for given in _examples(parts):
            if {*value_types(given)} & {*types} and self._passes(node, given, unknown=False):
                yield copied(given)
        for name in sorted(_rotated(types, self._turn), key=lambda each: each == "null"):
            self._number += 1
            try:
                yield from self._of_type(name, parts, depth)
            except _Nothing:
                continue

    def _of_type(self, name: JsonType, parts: Parts, depth: int) -> Iterator[Json]:
        match name:
            case "object":
                yield self._object(parts, depth)
            case "array":
                yield self._array(parts, depth)
            case "string":
                yield from texts(parts, self._number)
            case "integer" | "number":
                yield from numbers(parts, self._number, whole=name == "integer")
            case "boolean":
                yield from _rotated([True, False], self._turn)
            case "null":
                yield None

    def _object(self, parts: Parts, depth: int) -> Json:
        made: dict[str, Json] = {}
        lean = self._is_lean(depth)
        declared = [name for node in parts for name in node.get("properties", ())]
        required = [name for node in parts for name in node.get("required", ())]
        for name in dict.fromkeys((*declared, *required)):
            if lean and name not in required:
                continue
            try:
                made[name] = self._make(_property(parts, name), depth + 1)
            except _Nothing:
                if name in required:
                    raise
        spare = [name for name in made if name not in required]
        while spare and len(made) > most(parts, "maxProperties", len(made)):
            del made[spare.pop()]
        further = _further_properties(parts)
        while len(made) < min(least(parts, "minProperties"), MAX_ITEMS):
            name, inner = next(further)
            self._spend()
            if name not in made:
                made[name] = self._make(inner, depth + 1)
        return made

    def _array(self, parts: Parts, depth: int) -> Json:
        contained = [node["contains"] for node in parts if "contains" in node]
        fewest = max(least(parts, "minItems"), bool(contained))
        if fewest > MAX_ITEMS:
            raise _Nothing
        usual = 0 if self._is_lean(depth) else self._items
        count = max(fewest, len(contained), usual)
        count = most(parts, "maxItems", count)
        is_distinct = any(node.get("uniqueItems") is True for node in parts)
        made: dict[str, Json] = {}
        turn = self._turn
        try:
            for further in range(count + (20 if is_distinct else 0)):
                if len(made) >= count:
                    break
                self._turn = turn + further
                at = len(made)
                element = _all_of([*_elements(parts, at), *contained[at : at + 1]])
                item = self._make(element, depth + 1)
                made.setdefault(_key(item) if is_distinct else str(at), item)
        except _Nothing:
            pass
        finally:
            self._turn = turn
        if len(made) < fewest:
            raise _Nothing
        return [*made.values()]

    def _is_lean(self, depth: int) -> bool:
        """Return whether to make only the required parts: deep down, or near the limit."""
        return self._lean or depth >= _FULL_DEPTH or self._values < _MAX_VALUES // 2

    def _spend(self) -> None:
        self._values -= 1
        if self._values < 0:
            raise _Exhausted


def _types(parts: Parts) -> list[JsonType]:
    """Return the types of a value, declared and likely ones first."""
    fitting = types_in(parts)
    stated: list[JsonType | list[JsonType]] = [node["type"] for node in parts if "type" in node]
    declared = [name for each in stated for name in ([each] if isinstance(each, str) else each)]
    meant = {name for node in parts for keyword in node for name in APPLIES.get(keyword, ())}
    likely = [name for name in _LIKELY if name in meant]
    return [name for name in dict.fromkeys((*declared, *likely, *_TYPES)) if name in fitting]


def _examples(parts: Parts) -> list[Json]:
    """Return the examples and defaults that `parts` state, without empty ones."""
    given: list[Json] = []
    for node in parts:
        examples: Json = node.get("examples")
        given += [*(examples[:3] if isinstance(examples, list) else ()), node.get("default")]
    return [each for each in given if each not in (None, [], {})]


def _property(parts: Parts, name: str) -> Json:
    """Return the schema of the property `name`."""
    found: list[Json] = []
    for node in parts:
        # names are checked against patterns in the end
        rest = True if "patternProperties" in node else node.get("additionalProperties", True)
        found.append(node.get("properties", {}).get(name, rest))
    return _all_of(found)


def _elements(parts: Parts, at: int) -> Iterator[Json]:
    """Yield the schemas in `parts` for the element at position `at` of a list."""
    for node in parts:
        fixed, rest = node.get("prefixItems", []), node.get("items", True)
        if isinstance(rest, list):  # tuples before draft 2020-12
            fixed, rest = cast("list[Json]", rest), node.get("additionalItems", True)
        yield fixed[at] if at < len(fixed) else rest


def _further_properties(parts: Parts) -> Iterator[tuple[str, Json]]:
    """Yield names for further properties, each with its schema."""
    rules: list[Json] = [node.get("propertyNames") for node in parts]
    names = [rule for rule in rules if isinstance(rule, dict)]
    patterns = [item for node in parts for item in node.get("patternProperties", {}).items()]
    rest = _all_of([node.get("additionalProperties", True) for node in parts])
    for at in range(MAX_ITEMS):
        for pattern, inner in patterns:
            yield from ((text, inner) for text in texts([{"pattern": pattern}], at))
        yield from ((text, rest) for text in texts(names, at))
    raise _Nothing


def _all_of(nodes: Sequence[Json]) -> Json:
    """Return one schema that is the conjunction of `nodes`."""
    asking = [node for node in nodes if node is not True]
    if len(asking) > 1:
        return {"allOf": asking}
    return asking[0] if asking else True


def _key(value: Json) -> str:
    """Return a text that only equal values share."""
    return json.dumps(value, sort_keys=True)


def _rotated(options: Sequence[T], turn: int) -> list[T]:
    """Return `options`, beginning with another one at each turn."""
    start = turn % len(options) if options else 0
    return [*options[start:], *options[:start]]
