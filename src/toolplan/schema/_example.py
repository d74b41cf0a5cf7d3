"""Sample values that fit a schema.

A fitting value can be hard to find, or may not exist, so this is a bounded search: likely choices
first, and each value is checked against the schema.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final, TypeAlias, TypeVar

from toolplan.errors import ToolplanError
from toolplan.path import Json, copied
from toolplan.schema._document import Node, SchemaError, value_types
from toolplan.schema._literals import numbers, sizes, texts

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

T = TypeVar("T")
_Parts: TypeAlias = tuple[dict[str, Json], ...]

_SHAPES: Final = (
    ("object", ("properties", "required", "additionalProperties", "patternProperties")),
    ("array", ("items", "prefixItems", "minItems", "maxItems", "contains")),
    ("string", ("format", "pattern", "minLength", "maxLength")),
    ("number", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
)
_ORDER: Final = ("string", "object", "array", "number", "integer", "boolean", "null")
_HARD: Final = ("not", "oneOf", "if", "contains", "pattern", "dependentRequired", "propertyNames")


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
    checks = _Checks(accepts)
    for lean in (False, True):
        for turn in range(seed, seed + _TURNS):
            maker = _Maker(target, checks, turn, items, lean)
            try:
                value = maker.make(node, 0)
                if accepts(node, value):
                    return value
            except (_Nothing, _Exhausted, RecursionError, SchemaError):
                continue
    raise NoExample


class _Checks:
    """A limited number of checks against parts of a schema: each part needs a validator."""

    def __init__(self, accepts: Accepts) -> None:
        self._accepts = accepts
        self._left = _MAX_CHECKS

    def passes(self, node: Node, value: Json, *, unknown: bool) -> bool:
        """Return whether `node` accepts `value`; `unknown` if no check is left."""
        if not self._left:
            return unknown
        self._left -= 1
        try:
            return self._accepts(node, value)
        except SchemaError:
            return False


class _Maker:
    """One attempt. `turn` rotates every choice; `lean` omits what is not required."""

    def __init__(self, target: Target, checks: _Checks, turn: int, items: int, lean: bool) -> None:
        self._target = target
        self._checks = checks
        self._turn = turn
        self._items = items
        self._lean = lean
        self._left = _MAX_VALUES
        self._number = turn
        self._open: Counter[int] = Counter()

    def make(self, node: Json, depth: int) -> Json:
        """Return a value for `node`."""
        self._spend()
        if depth > _MAX_DEPTH or not isinstance(node, dict | bool):
            raise _Nothing
        branches = [*islice(self._branches(node, 0), _MAX_CHOICES)]
        branches.sort(key=_is_null)
        for parts in branches:
            self._open.update(map(id, parts))
            try:
                for value in islice(self._candidates(node, parts, depth), _MAX_CHOICES):
                    if not _is_hard(parts) or self._checks.passes(node, value, unknown=True):
                        return value
            except _Nothing:
                continue
            finally:
                self._open.subtract(map(id, parts))
        raise _Nothing

    def _branches(self, node: Json, nesting: int) -> Iterator[_Parts]:
        """Yield alternatives, each a tuple of nodes that must all fit."""
        self._spend()
        if node is False or nesting > _MAX_IN_PLACE:
            return
        if not isinstance(node, dict):
            yield ()
            return
        groups = self._groups(node)
        if groups is not None:
            yield from self._joined((node,), groups, 0, nesting)

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

    def _joined(
        self, parts: _Parts, groups: list[list[Json]], at: int, nesting: int
    ) -> Iterator[_Parts]:
        if at == len(groups):
            yield parts
            return
        for option in groups[at]:
            for more in self._branches(option, nesting + 1):
                yield from self._joined((*parts, *more), groups, at + 1, nesting)

    def _candidates(self, node: Node, parts: _Parts, depth: int) -> Iterator[Json]:
        types = _types(parts)
        if not types:
            return
        fixed = _fixed(parts)
        if fixed is not None:
            fitting = [each for each in fixed if {*value_types(each)} & {*types}]
            several = sorted(_rotated(fitting, self._turn), key=lambda each: each is None)
            yield from map(copied, several)
            return
        for given in _given(parts):
            if {*value_types(given)} & {*types} and self._checks.passes(node, given, unknown=False):
                yield copied(given)
        for name in sorted(_rotated(types, self._turn), key=lambda each: each == "null"):
            try:
                yield from self._of_type(name, parts, depth)
            except _Nothing:
                continue

    def _of_type(self, name: str, parts: _Parts, depth: int) -> Iterator[Json]:
        self._number += 1
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
                yield from ([True, False] if self._turn % 2 == 0 else [False, True])
            case _:
                yield None

    def _object(self, parts: _Parts, depth: int) -> Json:
        declared = _declared(parts)
        needed = _names_required(parts)
        made: dict[str, Json] = {}
        lean = self._is_lean(depth)
        for name in [*declared, *(each for each in needed if each not in declared)]:
            if name not in needed and (lean or _is_closed_to(parts, name)):
                continue
            inner = declared.get(name) or _undeclared(parts)
            try:
                made[name] = self.make(_all_of(inner), depth + 1)
            except _Nothing:
                if name in needed:
                    raise
        most = _least(parts, "maxProperties")
        for name in reversed(list(made)):
            if most is None or len(made) <= most:
                break
            if name not in needed:
                del made[name]
        return self._filled_up(made, parts, depth)

    def _filled_up(self, made: dict[str, Json], parts: _Parts, depth: int) -> Json:
        wanted = min(_most(parts, "minProperties") or 0, MAX_ITEMS)
        names = _names(parts)
        while len(made) < wanted:
            name, inner = next(names)
            self._spend()
            if name not in made:
                made[name] = self.make(_all_of(inner), depth + 1)
        return made

    def _array(self, parts: _Parts, depth: int) -> Json:
        least = _most(parts, "minItems") or 0
        most = _least(parts, "maxItems")
        contained = [part["contains"] for part in parts if part.get("contains") is not None]
        if contained:
            least = max(least, 1)
        if least > MAX_ITEMS:
            raise _Nothing
        wanted = least if self._is_lean(depth) else max(least, self._items)
        wanted = wanted if most is None else min(wanted, int(most))
        distinct = any(part.get("uniqueItems") is True for part in parts)
        made: list[Json] = []
        seen: set[str] = set()
        turn = self._turn
        try:
            for at in range(wanted + (20 if distinct else 0)):
                if len(made) >= wanted:
                    break
                self._turn = turn + at
                inner = _element(parts, len(made)) + (contained if not made else [])
                item = self.make(_all_of(inner), depth + 1)
                key = _key(item) if distinct else str(at)
                if key not in seen:
                    seen.add(key)
                    made.append(item)
        except _Nothing:
            if len(made) < least:
                raise
        finally:
            self._turn = turn
        if len(made) < least:
            raise _Nothing
        return [*made]

    def _is_lean(self, depth: int) -> bool:
        """Return whether to make only what is required: deep down, or near the limit."""
        return self._lean or depth >= _FULL_DEPTH or self._left < _MAX_VALUES // 2

    def _spend(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise _Exhausted


def _rotated(options: Sequence[T], turn: int) -> list[T]:
    """Return `options`, beginning with another one at each turn."""
    start = turn % len(options) if options else 0
    return [*options[start:], *options[:start]]


def _key(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


def _is_null(parts: _Parts) -> bool:
    return _types(parts) == ("null",)


def _is_hard(parts: _Parts) -> bool:
    """Return whether a value made for `parts` must be checked."""
    return len(parts) > 1 or any(name in part for part in parts for name in _HARD)


def _types(parts: _Parts) -> tuple[str, ...]:
    """Return the types that all of `parts` allow, declared and likely ones first."""
    order: list[str] = []
    allowed = set(_ORDER)
    for part in parts:
        declared = part.get("type")
        names = [declared] if isinstance(declared, str) else declared
        if isinstance(names, list):
            listed = [name for name in names if isinstance(name, str)]
            order += [name for name in listed if name not in order]
            allowed &= {*listed, "integer"} if "number" in listed else set(listed)
    for name, keywords in _SHAPES:
        if name not in order and any(keyword in part for part in parts for keyword in keywords):
            order.append(name)
    order += [name for name in _ORDER if name not in order]
    return tuple(name for name in order if name in allowed)


def _fixed(parts: _Parts) -> list[Json] | None:
    """Return the values that `enum` and `const` allow; None without either."""
    found: list[Json] | None = None
    for part in parts:
        listed = part.get("enum")
        values = listed if isinstance(listed, list) else None
        if "const" in part:
            values = [part["const"]]
        if values is not None:
            keys = None if found is None else {*map(_key, values)}
            found = values if keys is None else [each for each in found or [] if _key(each) in keys]
    return found


def _given(parts: _Parts) -> Iterator[Json]:
    """Yield the schema's own examples and default that are not empty."""
    for part in parts:
        examples = part.get("examples")
        listed = examples[:3] if isinstance(examples, list) else []
        yield from (each for each in (*listed, part.get("default")) if each not in (None, [], {}))


def _declared(parts: _Parts) -> dict[str, list[Json]]:
    found: dict[str, list[Json]] = {}
    for part in parts:
        properties = part.get("properties")
        if isinstance(properties, dict):
            for name, inner in properties.items():
                found.setdefault(name, []).append(inner)
    return found


def _names_required(parts: _Parts) -> dict[str, None]:
    found: dict[str, None] = {}
    for part in parts:
        listed = part.get("required")
        if isinstance(listed, list):
            found.update((name, None) for name in listed if isinstance(name, str))
    return found


def _is_closed_to(parts: _Parts, name: str) -> bool:
    for part in parts:
        properties = part.get("properties")
        known = isinstance(properties, dict) and name in properties
        if part.get("additionalProperties") is False and not known:
            return not part.get("patternProperties")
    return False


def _undeclared(parts: _Parts) -> list[Json]:
    return [part["additionalProperties"] for part in parts if "additionalProperties" in part]


def _names(parts: _Parts) -> Iterator[tuple[str, list[Json]]]:
    """Yield names for further properties, each with its schemas."""
    patterns = [
        (pattern, inner)
        for part in parts
        if isinstance(named := part.get("patternProperties"), dict)
        for pattern, inner in named.items()
    ]
    rules = tuple(rule for part in parts if isinstance(rule := part.get("propertyNames"), dict))
    for at in range(MAX_ITEMS):
        for pattern, inner in patterns:
            yield from ((text, [inner]) for text in texts(({"pattern": pattern},), at))
        for text in texts(rules, at):
            yield text, _undeclared(parts)
    raise _Nothing


def _element(parts: _Parts, at: int) -> list[Json]:
    """Return the schemas of the element at position `at` of a list."""
    found: list[Json] = []
    for part in parts:
        first, rest = part.get("prefixItems"), part.get("items")
        if isinstance(rest, list):  # tuples before draft 2020-12
            first, rest = rest, part.get("additionalItems")
        if isinstance(first, list) and at < len(first):
            found.append(first[at])
        elif rest is not None:
            found.append(rest)
    return found


def _all_of(nodes: list[Json]) -> Json:
    match nodes:
        case []:
            return True
        case [node]:
            return node
        case _:
            return {"allOf": nodes}


def _least(parts: _Parts, name: str) -> int | None:
    return min(sizes(parts, name), default=None)


def _most(parts: _Parts, name: str) -> int | None:
    return max(sizes(parts, name), default=None)
