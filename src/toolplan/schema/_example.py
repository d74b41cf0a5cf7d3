"""Sample values that fit a schema.

A fitting value can be hard to find, or may not exist, so this is a bounded search: likely choices
first, and each value is checked against the schema.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final, TypeAlias, TypeVar

from toolplan.base.errors import ToolplanError
from toolplan.plan.path import Json, copied
from toolplan.schema._document import Node, SchemaError, value_types
from toolplan.schema._literals import numbers, texts
from toolplan.schema._wanted import (
    Wanted,
    all_of,
    element_of,
    key_of,
    property_of,
    types_of,
    wanted_by,
)

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

T = TypeVar("T")
_Parts: TypeAlias = tuple[dict[str, Json], ...]


class NoExample(ToolplanError):
    """No value was found that fits a schema. The code is `no-example`."""

    def __init__(self) -> None:
        super().__init__("no-example", "No value was found that fits the schema.")


class _Nothing(Exception):
    """No value fits here; another earlier choice may help."""


class _Exhausted(Exception):
    """The limit of the search was reached."""


def make_example(node: Node, target: Target, accepts: Accepts, seed: int, items: int) -> Json:
    """Return a value that fits `node`: see `Schema.example`.

    `target` follows a `$ref`; `accepts` checks a value against a node of the same document.

    Raises:
        NoExample: none was found.
    """
    search = _Search(target, accepts, items)
    for lean in (False, True):
        for turn in range(seed, seed + _TURNS):
            try:
                value = search.attempt(node, turn, lean)
                if accepts(node, value):
                    return value
            except (_Nothing, _Exhausted, RecursionError, SchemaError):
                continue
    raise NoExample


class _Search:
    """Builds sample values: `turn` rotates every choice, `lean` omits optional properties."""

    def __init__(self, target: Target, accepts: Accepts, items: int) -> None:
        self._target = target
        self._accepts = accepts
        self._items = items
        self._checks = _MAX_CHECKS  # each check of a part needs a validator of its own

    def attempt(self, node: Node, turn: int, lean: bool) -> Json:
        """Return a value that is likely to fit `node`."""
        self._turn = self._number = turn
        self._lean = lean
        self._values = _MAX_VALUES
        self._open: Counter[int] = Counter()
        return self._make(node, 0)

    def _make(self, node: Json, depth: int) -> Json:
        self._spend()
        if depth > _MAX_DEPTH or not isinstance(node, dict | bool):
            raise _Nothing
        branches = [
            (parts, wanted_by(parts)) for parts in islice(self._branches(node, 0), _MAX_CHOICES)
        ]
        branches.sort(key=lambda branch: branch[1]["type"] == {"null"})
        for parts, wanted in branches:
            is_hard = len(parts) > 1 or any(name in wanted for name in _HARD)
            self._open.update(map(id, parts))
            try:
                for value in islice(self._candidates(node, wanted, depth), _MAX_CHOICES):
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

    def _branches(self, node: Json, nesting: int) -> Iterator[_Parts]:
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

    def _joined(self, parts: _Parts, groups: list[list[Json]], nesting: int) -> Iterator[_Parts]:
        if not groups:
            yield parts
            return
        for option in groups[0]:
            for more in self._branches(option, nesting + 1):
                yield from self._joined((*parts, *more), groups[1:], nesting)

    def _candidates(self, node: Node, wanted: Wanted, depth: int) -> Iterator[Json]:
        types = types_of(wanted)
        if "enum" in wanted:
            fitting = [each for each in wanted["enum"] if {*value_types(each)} & {*types}]
            several = sorted(_rotated(fitting, self._turn), key=lambda each: each is None)
            yield from map(copied, several)
            return
        for given in wanted["examples"]:
            if {*value_types(given)} & {*types} and self._passes(node, given, unknown=False):
                yield copied(given)
        for name in sorted(_rotated(types, self._turn), key=lambda each: each == "null"):
            self._number += 1
            try:
                yield from self._of_type(name, wanted, depth)
            except _Nothing:
                continue

    def _of_type(self, name: str, wanted: Wanted, depth: int) -> Iterator[Json]:
        match name:
            case "object":
                yield self._object(wanted, depth)
            case "array":
                yield self._array(wanted, depth)
            case "string":
                yield from texts(wanted, self._number)
            case "integer" | "number":
                yield from numbers(wanted, self._number, whole=name == "integer")
            case "boolean":
                yield from _rotated([True, False], self._turn)
            case _:
                yield None

    def _object(self, wanted: Wanted, depth: int) -> Json:
        made: dict[str, Json] = {}
        lean = self._is_lean(depth)
        required = wanted.get("required", ())
        for name in dict.fromkeys((*wanted.get("properties", ()), *required)):
            if lean and name not in required:
                continue
            try:
                made[name] = self._make(property_of(wanted, name), depth + 1)
            except _Nothing:
                if name in required:
                    raise
        spare = [name for name in made if name not in required]
        while spare and len(made) > wanted.get("maxProperties", len(made)):
            del made[spare.pop()]
        further = _further_properties(wanted)
        while len(made) < min(wanted.get("minProperties", 0), MAX_ITEMS):
            name, inner = next(further)
            self._spend()
            if name not in made:
                made[name] = self._make(inner, depth + 1)
        return made

    def _array(self, wanted: Wanted, depth: int) -> Json:
        contained = wanted.get("contains", ())
        least = int(max(wanted.get("minItems", 0), bool(contained)))
        if least > MAX_ITEMS:
            raise _Nothing
        usual = 0 if self._is_lean(depth) else self._items
        count = max(least, len(contained), usual)
        count = int(min(count, wanted.get("maxItems", count)))
        is_distinct = wanted.get("uniqueItems") is True
        made: dict[str, Json] = {}
        turn = self._turn
        try:
            for further in range(count + (20 if is_distinct else 0)):
                if len(made) >= count:
                    break
                self._turn = turn + further
                at = len(made)
                element = all_of([element_of(wanted, at), *contained[at : at + 1]])
                item = self._make(element, depth + 1)
                made.setdefault(key_of(item) if is_distinct else str(at), item)
        except _Nothing:
            pass
        finally:
            self._turn = turn
        if len(made) < least:
            raise _Nothing
        return [*made.values()]

    def _is_lean(self, depth: int) -> bool:
        """Return whether to make only what is required: deep down, or near the limit."""
        return self._lean or depth >= _FULL_DEPTH or self._values < _MAX_VALUES // 2

    def _spend(self) -> None:
        self._values -= 1
        if self._values < 0:
            raise _Exhausted


def _further_properties(wanted: Wanted) -> Iterator[tuple[str, Json]]:
    """Yield names for further properties, each with its schema."""
    rules: list[Json] = wanted.get("propertyNames", [])
    names = wanted_by([rule for rule in rules if isinstance(rule, dict)])
    for at in range(MAX_ITEMS):
        for pattern, inner in wanted.get("patternProperties", {}).items():
            yield from ((text, inner) for text in texts({"pattern": [pattern]}, at))
        rest = wanted.get("additionalProperties", True)
        yield from ((text, rest) for text in texts(names, at))
    raise _Nothing


def _rotated(options: Sequence[T], turn: int) -> list[T]:
    """Return `options`, beginning with another one at each turn."""
    start = turn % len(options) if options else 0
    return [*options[start:], *options[:start]]
