"""Schema documents from outside: checked, and made self-contained.

A tool's schema is hostile input. Nothing is ever fetched, and schemas that would take exponential
work are refused before a validator sees them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from functools import reduce
from typing import Any, Final, Literal, TypeAlias, get_args

from toolplan.base.errors import ToolplanError
from toolplan.plan.exact_json import InexactJson, read_json
from toolplan.plan.model import escape_pointer
from toolplan.plan.path import Json, copied

MAX_NODES: Final = 50_000
MAX_TEXT: Final = 1_000_000
MAX_DEPTH: Final = 64
MAX_WORK: Final = 100_000
"""Maximum number of sub-schemas that may apply to one value."""

Node: TypeAlias = dict[str, Any] | bool
"""A schema; one that was compiled is valid, so each keyword has a value of its type."""
JsonType: TypeAlias = Literal["null", "boolean", "integer", "number", "string", "array", "object"]
ALL_TYPES: Final[frozenset[JsonType]] = frozenset(get_args(JsonType))

_IN_PLACE: Final = frozenset(
    ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas")
)
"""Keywords with schemas of the same value."""
_NAMED: Final = frozenset(
    ("dependentSchemas", "properties", "patternProperties", "$defs", "definitions")
)
"""Keywords with schemas by name; the others have a schema or a list of schemas."""
_KEYWORDS: Final = (
    _IN_PLACE
    | _NAMED
    | {
        *("additionalProperties", "unevaluatedProperties", "propertyNames", "contains"),
        *("prefixItems", "items", "additionalItems", "unevaluatedItems"),
    }
)
_OF_TYPES: Final[dict[tuple[JsonType, ...], tuple[str, ...]]] = {
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
    keyword: frozenset(types) for types, keywords in _OF_TYPES.items() for keyword in keywords
}
"""Keywords that say something about some JSON types only; every other value passes them."""
ANNOTATIONS: Final = frozenset(
    ("$schema", "$id", "$anchor", "$defs", "definitions", "$comment", "title", "description",
     "default", "examples", "deprecated")
)  # fmt: skip
"""Keywords that restrict no value."""
KEYWORDS: Final = (
    frozenset(APPLIES)
    | ANNOTATIONS
    | frozenset(
        ("type", "enum", "const", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref")
    )
)
"""All keywords; every value passes an unknown one."""
ROOT: Final = "root"
PREFIX: Final = f"#/$defs/{ROOT}"
"""Where the definitions of a schema stand in it (`Schema.document`)."""
MOST_WRITTEN_LEVELS: Final = 16
MOST_WRITTEN_NODES: Final = 5_000
"""Maximum number of nodes that are written out; a schema that repeats itself has more."""

_WRITTEN_OUT: Final = frozenset(("$ref", "allOf", "anyOf", "oneOf"))
_TOOL_WORDS: Final = frozenset(("title", "description", "icons"))
_SCHEMA_WORDS: Final = frozenset(("title", "description", "examples", "$comment"))


class SchemaError(ToolplanError):
    """A schema cannot be used; the message is the reason. The code is `bad-schema`."""

    def __init__(self, reason: str) -> None:
        super().__init__("bad-schema", reason)


def read(raw: Json) -> tuple[Node, Node | None]:
    """Return a schema node and the definitions for its references, None where it has none.

    Every `$ref` in both reads `#/$defs/root/…`, so that any node beside the definitions is a schema
    of its own (`Schema.document`).

    Raises:
        SchemaError: it cannot be used.
    """
    _bound(raw)
    if isinstance(raw, bool):
        return raw, None
    if not isinstance(raw, dict):
        try:
            _ = read_json(raw) if isinstance(raw, str) else None
        except InexactJson as error:  # a text that is kept as it came
            raise SchemaError(str(error)) from None
        except (ValueError, RecursionError):
            pass
        raise SchemaError("a schema must be an object or a boolean")
    references = [node["$ref"] for node in sub_schemas(raw) if "$ref" in node]
    if not references:  # each part applies once at most, and there are fewer than MAX_WORK
        return raw, None
    for reference in references:
        if not isinstance(reference, str):
            raise SchemaError("a '$ref' is not a string")
        if not reference.startswith("#"):
            raise SchemaError(f"it refers to {reference!r}, and schemas are never fetched")
        if follow(raw, reference[1:]) is None:
            raise SchemaError(f"it refers to {reference!r}, which is not in it")
    _bound_work(raw)
    made = moved(raw, PREFIX)
    return {k: v for k, v in made.items() if k not in ("$defs", "definitions")}, made


def moved(schema: dict[str, Json], prefix: str) -> dict[str, Json]:
    """Return a copy of `schema` with references that begin with `prefix`."""
    made = {name: copied(part) for name, part in schema.items()}
    for node in sub_schemas(made):
        if isinstance(reference := node.get("$ref"), str):
            node["$ref"] = f"{prefix}{reference[1:]}"
    return made


def sub_schemas(node: Json) -> Iterator[dict[str, Json]]:
    """Yield `node` and every schema object in it, without data such as `enum` and `default`."""
    pending: list[Json] = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, dict):
            yield current
            pending.extend(part for _, part in held(current))


def held(node: dict[str, Json], keywords: Set[str] = _KEYWORDS) -> Iterator[tuple[str, Json]]:
    """Yield the schemas that `node` has under `keywords`, each with the pointer to it."""
    for keyword, value in node.items():
        if keyword not in keywords:
            continue
        if keyword in _NAMED:
            parts = value.items() if isinstance(value, dict) else ()
        else:
            parts = enumerate(value) if isinstance(value, list) else ()
            if not isinstance(value, list):
                yield f"/{keyword}", value
        for name, part in parts:
            yield f"/{keyword}/{escape_pointer(str(name))}", part


def in_place(node: dict[str, Json]) -> Iterator[Json]:
    """Yield the sub-schemas of `node` that apply to the same value, without `$ref`."""
    return (part for _, part in held(node, _IN_PLACE))


def _bound(raw: Json) -> None:
    nodes = text = 0
    level: list[Json] = [raw]
    depth = 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise SchemaError(f"it is nested deeper than {MAX_DEPTH}")
        nodes += len(level)
        below: list[Json] = []
        for value in level:
            if isinstance(value, dict):
                text += sum(map(len, value))
                below.extend(value.values())
            elif isinstance(value, list):
                below.extend(value)
            elif isinstance(value, str):
                text += len(value)
        if nodes + len(below) > MAX_NODES or text > MAX_TEXT:
            raise SchemaError(f"it is larger than {MAX_NODES} parts or {MAX_TEXT} characters")
        level = below


def follow(node: Json, pointer: str) -> Node | None:
    """Return the schema at `pointer`, a URI fragment, in `node`, or None."""
    if pointer and not pointer.startswith("/"):
        return None
    for token in pointer.split("/")[1:]:
        key = token.replace("%25", "%").replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and key in node:
            node = node[key]
        elif isinstance(node, list) and key.isascii() and key.isdigit() and int(key) < len(node):
            node = node[int(key)]
        else:
            return None
    return node if isinstance(node, dict | bool) else None


def _bound_work(root: dict[str, Json]) -> None:
    """Refuse `root` if more than MAX_WORK sub-schemas may apply to one value."""
    done: dict[int, int] = {}
    open_: set[int] = set()

    def work(schema: Json) -> int:
        if not isinstance(schema, dict):
            return 1
        key = id(schema)
        if key in done:
            return done[key]
        if key in open_:
            raise SchemaError("it refers to itself without end")
        open_.add(key)
        total = 1 + sum(work(inner) for inner in in_place(schema))
        reference = schema.get("$ref")
        if isinstance(reference, str):
            total += work(follow(root, reference[1:]))
        open_.discard(key)
        if total > MAX_WORK:
            raise SchemaError(f"more than {MAX_WORK} of its parts apply to one value")
        done[key] = total
        return total

    try:
        for schema in sub_schemas(root):
            work(schema)
    except RecursionError:
        raise SchemaError("its references are nested too deep") from None


def value_types(value: Json) -> tuple[JsonType, ...]:
    """Return the JSON types of `value`: a whole number is an integer and a number."""
    match value:
        case None:
            return ("null",)
        case bool():
            return ("boolean",)
        case int():
            return ("integer", "number")
        case float():
            return ("integer", "number") if value.is_integer() else ("number",)
        case str():
            return ("string",)
        case list():
            return ("array",)
        case dict():
            return ("object",)


def types_in(nodes: Iterable[Mapping[str, Any]]) -> frozenset[JsonType]:
    """Return the JSON types of values that fit all `nodes`; `number` always includes `integer`."""
    return ALL_TYPES.intersection(*map(_node_types, nodes))


def _node_types(node: Mapping[str, Any]) -> Collection[JsonType]:
    if "type" in node:
        declared: JsonType | list[JsonType] = node["type"]
        names: list[JsonType] = declared if isinstance(declared, list) else [declared]
        return [*names, "integer"] if "number" in names else names
    values = [node["const"]] if "const" in node else node.get("enum")
    return ALL_TYPES if values is None else {name for each in values for name in value_types(each)}


def tool_without_words(item: Mapping[str, Json]) -> dict[str, Json]:
    """Return a tool object without titles, descriptions and icons, also in its schemas."""
    made = {name: part for name, part in item.items() if name not in _TOOL_WORDS}
    for name in ("input_schema", "inputSchema", "output_schema", "outputSchema"):
        if name in made:
            made[name] = copied(made[name])
            for node in sub_schemas(made[name]):
                for word in _SCHEMA_WORDS.intersection(node):
                    del node[word]
    hints = made.get("annotations")
    if isinstance(hints, dict):
        made["annotations"] = {name: hint for name, hint in hints.items() if name != "title"}
    return made


def tool_version(item: Mapping[str, Json]) -> str:
    """Return the digest of a tool object without its words."""
    text = json.dumps(tool_without_words(item), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def flat(raw: Json) -> dict[str, Json]:
    """Return a schema with its local references and combinations merged into one flat schema.

    `{"anyOf": [{"type": "string"}, {"type": "null"}]}` becomes `{"type": ["string", "null"]}`. A
    part that is too deep, too large, or refers elsewhere, becomes `{}`: its values are unknown.
    """
    left = MOST_WRITTEN_NODES

    def node(part: Json, depth: int) -> dict[str, Json]:
        nonlocal left
        left -= 1
        if not isinstance(part, dict) or depth > MOST_WRITTEN_LEVELS or left < 0:
            return {}
        own = {name: value for name, value in part.items() if name not in _WRITTEN_OUT}
        if isinstance(inner := own.get("properties"), dict):
            own["properties"] = {name: node(each, depth + 1) for name, each in inner.items()}
        if isinstance(own.get("items"), dict):
            own["items"] = node(own["items"], depth + 1)
        either = [each for each in (part.get("oneOf"), part.get("anyOf")) if isinstance(each, list)]
        others = [_joined([node(one, depth + 1) for one in each]) for each in either]
        if isinstance(given := part.get("allOf"), list):
            others += [node(one, depth + 1) for one in given]
        if isinstance(reference := part.get("$ref"), str):
            found = follow(raw, reference[1:]) if reference.startswith("#") else None
            others.append(node(found, depth + 1))
        return reduce(_both, (*others, own))

    return node(raw, 0)


def types_stated(node: dict[str, Json]) -> frozenset[str]:
    """Return the JSON types that a flat schema states; none where it states none."""
    stated = node.get("type")
    if isinstance(stated, str):
        return frozenset((stated,))
    if isinstance(stated, list):
        return frozenset(each for each in stated if isinstance(each, str))
    if "properties" in node:
        return frozenset(("object",))
    return frozenset(("array",)) if "items" in node else frozenset()


def _both(one: dict[str, Json], other: dict[str, Json]) -> dict[str, Json]:
    """Return a schema of the values that two schemas accept; `other` goes before `one`."""
    made = {**one, **other}
    if "properties" in one and "properties" in other:
        made["properties"] = _fields([one, other])
    return made


def _joined(alternatives: list[dict[str, Json]]) -> dict[str, Json]:
    """Return a schema of the values that one of several schemas accepts.

    Of several that are not null, only the parts that the value may have are known.
    """
    others = [each for each in alternatives if each.get("type") != "null"]
    joined = dict(others[0]) if len(others) == 1 else {}
    if len(others) > 1:
        joined = next(({"items": each["items"]} for each in others if "items" in each), joined)
        if fields := _fields(others):
            joined["properties"] = fields
    joined.pop("type", None)
    if all("type" in each for each in alternatives):
        listed = [t if isinstance(t := each["type"], list) else [t] for each in alternatives]
        kinds = [*dict.fromkeys(str(kind) for each in listed for kind in each)]
        joined["type"] = kinds[0] if len(kinds) == 1 else [*kinds]
    return joined


def _fields(nodes: list[dict[str, Json]]) -> dict[str, Json]:
    stated = [each.get("properties") for each in nodes]
    return {k: v for each in stated if isinstance(each, dict) for k, v in each.items()}
