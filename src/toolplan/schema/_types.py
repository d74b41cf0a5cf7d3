"""Paths and types in schemas, and whether values of one schema fit another.

Only `_by_canonical_form` uses the library's canonical form of schemas, which is experimental; a
case that it does not know is never an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from functools import lru_cache
from typing import Any, Final, TypeAlias

import jsonschema_rs
from msgspec.structs import replace

from toolplan.plan.path import EVERY, Every, Json, Path, print_path
from toolplan.schema._document import ALL_TYPES, APPLIES, JsonType, Node, types_in, value_types
from toolplan.schema._schema import ARTICLE, Absent, Schema

_NULL: Final[frozenset[JsonType]] = frozenset(("null",))
_ANNOTATIONS: Final = frozenset(
    ("title", "description", "default", "examples", "deprecated", "nullable", "$comment")
)
"""Keywords that say nothing about which values are accepted."""
_SHAPING: Final = {
    *("type", "enum", "const", "items", "prefixItems"),
    *("properties", "additionalProperties", "required"),
}
"""Keywords that say something about a value or its parts."""
_FORMATS: Final = {
    "date": "a date (YYYY-MM-DD)",
    "date-time": "a date with time (RFC 3339)",
}
_MAX_BRANCHES: Final = 64
MOST_REMEMBERED: Final = 10_000
"""Maximum number of answers of each kind that are remembered: a catalogue asks again and again."""

# One alternative of a schema: its values fit all of these nodes.
_Branch: TypeAlias = tuple[dict[str, Any], ...]


@lru_cache(MOST_REMEMBERED)
def at(schema: Schema, path: Path) -> Schema | Absent | None:
    """Return the schema of the values at `path` in values of `schema`, None where it is unknown.

    Of several alternatives, one with the path is enough. A path with `[*]` gives a flat list, as in
    `toolplan.plan.path.select`.
    """
    return _at(schema, path, 0)


def elements(schema: Schema) -> Schema | Absent | None:
    """Return the schema of one element of a list that fits `schema`."""
    return _step(schema, (EVERY,), 0)


@lru_cache(MOST_REMEMBERED)
def types_of(schema: Schema) -> frozenset[JsonType]:
    """Return the JSON types of values of `schema`; `number` always includes `integer`."""
    branches = _branches(schema)
    return ALL_TYPES if branches is None else frozenset[JsonType]().union(*map(types_in, branches))


@lru_cache(MOST_REMEMBERED)
def required(schema: Schema) -> tuple[str, ...]:
    """Return the required properties of all alternatives, in declared order."""
    branches = _branches(schema)
    if branches is None:
        branches = [(schema.node,)] if isinstance(schema.node, dict) else []
    first, *others = map(_required, branches) if branches else [dict[str, None]()]
    return tuple(name for name in first if all(name in each for each in others))


def _required(branch: _Branch) -> dict[str, None]:
    return {name: None for node in branch for name in node.get("required", ())}


def without_null(schema: Schema) -> Schema:
    """Return `schema` as it is for a value that is not null: that of `X` for `X | None`.

    References are followed. A schema that accepts nothing but null is returned as it is, and so is
    one whose other keywords decide together with its alternatives.
    """
    node = schema.node
    for _ in range(_MAX_BRANCHES):
        following = _less_null(schema, node)
        if following is None:
            break
        node = following
    return schema if node is schema.node else schema.part(node)


def _less_null(schema: Schema, node: Node) -> Node | None:
    """Return `node` with one reference followed or one null less, or None if it has neither."""
    if isinstance(node, bool):
        return None
    said = {name for name in node if name not in _ANNOTATIONS and not name.startswith("x-")}
    if len(said) == 1:
        (name,) = said
        options = node[name]
        if name == "$ref":
            return schema.target(options)
        if name in ("anyOf", "oneOf", "allOf"):
            left = [
                each for each in options if name == "allOf" or types_of(schema.part(each)) != _NULL
            ]
            if len(left) == 1:
                return left[0]
            return {**node, name: left} if 0 < len(left) < len(options) else None
    for name, null in (("enum", None), ("type", "null")):
        values: list[Json] | str | None = node.get(name)
        if isinstance(values, list) and null in values and len(values) > 1:
            rest = [each for each in values if each != null]
            return {**node, name: rest[0] if name == "type" and len(rest) == 1 else rest}
    return None


def accepted(schema: Schema) -> str:
    """Return the accepted values of an argument in a few words; those of `X` for `X | None`."""
    return describe(without_null(schema))


def describe(schema: Schema) -> str:
    """Return the values of `schema` in a few words: `a string`, `a date (YYYY-MM-DD)`."""
    node: dict[str, Any] = {} if isinstance(schema.node, bool) else schema.node
    if 0 < len(node.get("enum", ())) <= 8:
        return "one of " + ", ".join(map(repr, node["enum"]))
    if node.get("format") in _FORMATS:
        return _FORMATS[node["format"]]
    if bounds := _bounds(node):
        return bounds
    alternatives: list[Node] = node.get("anyOf", node.get("oneOf", []))
    options = [each for each in alternatives if isinstance(each, dict)]
    if any(map(_bounds, options)):
        return " or ".join(dict.fromkeys(describe(schema.part(each)) for each in options))
    types = types_of(schema)
    return "any value" if types == ALL_TYPES else _named(types) or "no value at all"


def _bounds(node: dict[str, Any]) -> str:
    least, most = node.get("minimum"), node.get("maximum")
    if node.get("type") not in ("integer", "number") or (least is None and most is None):
        return ""
    begin = "" if least is None else f" from {least}"
    end = "" if most is None else f" up to {most}" if least is None else f" to {most}"
    return f"{ARTICLE[node['type']]}{begin}{end}"


def _at(schema: Schema, path: Path, start: int) -> Schema | Absent | None:
    current: Schema | Absent | None = schema
    for index in range(start, len(path)):
        current = _step(current, path, index)
        if not isinstance(current, Schema):
            return current
        if path[index] is EVERY:
            inner = _at(current, path, index + 1)
            if not isinstance(inner, Schema) or EVERY in path[index + 1 :]:
                return inner
            return inner.part({"type": "array", "items": inner.node})
    return current


def _step(schema: Schema, path: Path, index: int) -> Schema | Absent | None:
    branches = _branches(schema)
    if branches is None:
        return None
    segment = path[index]
    found: list[Node] = []
    absent: list[Absent] = []
    for branch in branches:
        step = _property(branch, segment) if isinstance(segment, str) else _item(branch, segment)
        match step:
            case None:
                return None
            case Absent() as reason:
                absent.append(reason)
            case parts:
                found.append(parts[0] if len(parts) == 1 else {"allOf": list(parts)})
    if found:
        return schema.part(found[0] if len(found) == 1 else {"anyOf": list(found)})
    place = print_path(path[:index]) or "the output"
    if not absent:
        return Absent(f"{place} can have no value")
    # a branch with other keys says more than one of another type
    best = max(absent, key=lambda each: (len(each.names), each.not_a_list))
    return replace(best, message=f"{place} {best.message}")


def _property(branch: _Branch, key: str) -> tuple[Node, ...] | Absent | None:
    types = types_in(branch)
    if "object" not in types:
        only_a_list = types == frozenset[JsonType](("array",))
        return Absent(f"is {_named(types)}, not an object", is_a_list=only_a_list)
    parts: list[Node] = []
    declared: dict[str, None] = {}
    closed = opened = False
    for node in branch:
        named = node.get("properties", {})
        declared.update(dict.fromkeys(named))
        rest: Node | None = node.get("additionalProperties", node.get("unevaluatedProperties"))
        if key in named:
            parts.append(named[key])
        elif node.get("patternProperties") or rest is True:
            opened = True
        elif isinstance(rest, dict):
            parts.append(rest)
        elif rest is False or (named and "additionalProperties" not in node):
            closed = True
    if False in parts or (closed and not opened and not parts):
        return Absent(f"has no field {key!r}", tuple(declared))
    return tuple(parts) or None


def _item(branch: _Branch, segment: int | Every) -> tuple[Node, ...] | Absent | None:
    types = types_in(branch)
    if "array" not in types:
        return Absent(f"is {_named(types)}, not a list", not_a_list=segment is EVERY)
    parts: list[Node] = []
    for node in branch:
        fixed: list[Node] = node.get("prefixItems", [])
        rest: list[Node] | Node | None = node.get("items")
        if isinstance(rest, list):  # the spelling of tuples before draft 2020-12
            fixed, rest = rest, node.get("additionalItems")
        if segment is EVERY:
            if fixed and rest in (None, True):
                return None
            every = [*fixed, rest] if isinstance(rest, dict) else fixed
            if every:
                parts.append(every[0] if len(every) == 1 else {"anyOf": every})
            continue
        most = node.get("maxItems")
        if most is not None and segment >= most:
            return Absent(f"has at most {int(most)} element(s)")
        if segment < len(fixed):
            parts.append(fixed[segment])
        elif rest is False:
            return Absent(f"has {len(fixed)} element(s)")
        elif isinstance(rest, dict):
            parts.append(rest)
    return tuple(parts) or None


def _branches(schema: Schema) -> list[_Branch] | None:
    """Return the alternatives of `schema`; None where unknown, or too many."""
    return _expand(schema, schema.node, frozenset())


def _expand(schema: Schema, node: Node | None, seen: frozenset[int]) -> list[_Branch] | None:
    if node is False:
        return []
    if not isinstance(node, dict) or not node or id(node) in seen:
        return None
    seen |= {id(node)}
    branches: list[_Branch] = [(node,)]
    conjuncts = [schema.target(node["$ref"])] if "$ref" in node else []
    for conjunct in (*conjuncts, *node.get("allOf", ())):
        branches = _product(branches, _expand(schema, conjunct, seen))
        if len(branches) > _MAX_BRANCHES:
            return None
    for name in ("anyOf", "oneOf"):
        if name in node:
            union: list[_Branch] | None = []
            for option in node[name]:
                more = _expand(schema, option, seen)
                if more is None or len(union) + len(more) > _MAX_BRANCHES:
                    union = None
                    break
                union += more
            if union is None and not _says_something(branches):
                return None
            branches = _product(branches, union)
    return branches if len(branches) <= _MAX_BRANCHES and _says_something(branches) else None


def _product(left: list[_Branch], right: list[_Branch] | None) -> list[_Branch]:
    if right is None:  # unknown, so it excludes nothing
        return left
    joined = ((*one, *other) for one in left for other in right)
    return [branch for branch in joined if types_in(branch)]


def _says_something(branches: list[_Branch]) -> bool:
    return not branches or any(node.keys() & _SHAPING for branch in branches for node in branch)


def _named(types: frozenset[JsonType]) -> str:
    if "number" in types:
        types -= {"integer"}
    return " or ".join(ARTICLE[each] for each in ARTICLE if each in types)


class Verdict(Enum):
    """YES: every value fits. NO: none does. UNKNOWN: some may, or the schemas do not say."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@lru_cache(MOST_REMEMBERED)
def assignable(producer: Schema | None, consumer: Schema | None) -> Verdict:
    """Return whether values of `producer` fit `consumer`; None is an unknown schema."""
    if producer is None or consumer is None:
        return Verdict.UNKNOWN
    given, taken = types_of(producer), types_of(consumer)
    if given == ALL_TYPES and not _is_bare(consumer):
        return Verdict.UNKNOWN
    if not given & taken:
        return Verdict.NO
    if given <= taken and _is_bare(consumer):
        return Verdict.YES
    if given == taken == frozenset[JsonType](("array",)):
        one, other = elements(producer), elements(consumer)
        inner = (
            assignable(one, other)
            if isinstance(one, Schema) and isinstance(other, Schema)
            else Verdict.UNKNOWN
        )
        # an empty list would fit, but the list was not declared to be empty
        if inner is Verdict.NO:
            return Verdict.NO
    try:
        of_producer, of_consumer = _canonical(producer), _canonical(consumer)
        if _says(of_consumer.covers(of_producer), "yes"):
            return Verdict.YES
        if _says(of_consumer.intersect(of_producer).satisfiability(), "no"):
            return Verdict.NO
    except (ValueError, jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError):
        return Verdict.UNKNOWN
    return Verdict.UNKNOWN


def _is_bare(schema: Schema) -> bool:
    """Return whether the schema restricts nothing but the JSON type."""
    node = schema.node
    if isinstance(node, bool):
        return node
    restricting = node.keys() - {"type", "description", "title", "default", "examples"}
    return all(name.startswith("x-") for name in restricting)


def _canonical(schema: Schema) -> jsonschema_rs.CanonicalSchema:
    return jsonschema_rs.canonicalize(schema.document, validate_formats=True, offline=True)


def _says(answer: object, word: str) -> bool:
    return str(answer).lower().rpartition(".")[2] == word


def undecided(schema: Schema, value: Json) -> str | None:
    """Return the keyword by which `value` fits `schema` only since it says nothing about `value`.

    None where all keywords apply. `value` fits `schema`.
    """
    return _undecided(schema, schema.node, value)


def _undecided(schema: Schema, node: Json, value: Json) -> str | None:
    if not isinstance(node, dict):
        return None
    types = frozenset(value_types(value))
    for keyword in node:
        applies = APPLIES.get(keyword, types)
        if not types & applies and not node.keys() & {"type", "const", "enum"}:
            return keyword
        parts = _applied(schema, keyword, node, value)
        by = [_undecided(schema, part, each) for part, each in parts or ()]
        if keyword in _SOME_DECIDE:
            found = by[0] if by and all(by) else None
        else:
            found = keyword if parts == [] else next(filter(None, by), None)
        if found is not None:
            return found
    return None


_SOME_DECIDE: Final = ("anyOf", "oneOf", "contains")
"""Keywords whose value passes by one part that decides."""


def _applied(
    schema: Schema, keyword: str, node: dict[str, Json], value: Json
) -> list[tuple[Json, Json]] | None:
    """Return the parts of a keyword that `value` passes, each with the value that passes it.

    None where the keyword decides by itself, as a bound does; empty where no part was tried.
    """
    stated: Any = node[keyword]
    match keyword, value:
        case "allOf", _:
            return [(part, value) for part in stated]
        case (("anyOf" | "oneOf"), _):
            return [(part, value) for part in stated if schema.part(part).is_valid(value)]
        case "$ref", _:
            return [(schema.target(stated), value)]
        case "not", _ if isinstance(node["not"], dict) and stated.keys() == {"not"}:
            return [(stated["not"], value)]
        case "if", _:
            holds = schema.part(stated).is_valid(value)
            branch = (node.get("then" if holds else "else"), value)
            return [(stated, value), branch] if holds else [branch]
        case "contains", list():
            return [(stated, each) for each in value if schema.part(stated).is_valid(each)] or None
        case "prefixItems", list():
            return list(zip(stated, value, strict=False))
        case "items", list():
            first: Any = node.get("prefixItems", [])
            return [(stated, each) for each in value[len(first) :]] or None
        case _, dict():
            return _applied_to_fields(keyword, node, value)
        case _:
            return None


def _applied_to_fields(
    keyword: str, node: dict[str, Json], value: dict[str, Json]
) -> list[tuple[Json, Json]] | None:
    stated: Any = node[keyword]
    match keyword:
        case "properties" if stated:
            return [(part, value[name]) for name, part in stated.items() if name in value]
        case "dependentSchemas" if stated:
            return [(part, value) for name, part in stated.items() if name in value]
        case "patternProperties":
            pairs = [(part, value[n]) for p, part in stated.items() for n in _matching(p, value)]
            return pairs or (None if "additionalProperties" in node else [])
        case "additionalProperties":
            known: Any = node.get("properties", {})
            patterns: Any = node.get("patternProperties", {})
            named = {n for pattern in patterns for n in _matching(pattern, value)}.union(known)
            return [(stated, each) for n, each in value.items() if n not in named] or None
        case "propertyNames":
            return [(stated, name) for name in value] or None
        case _:
            return None


def _matching(pattern: str, names: Iterable[str]) -> list[str]:
    """Return the names that a pattern of `patternProperties` is about."""
    fits = Schema.load({"type": "string", "pattern": pattern}).is_valid
    return [name for name in names if fits(name)]
