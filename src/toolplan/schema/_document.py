"""Schema documents from outside: checked, and made self-contained.

A tool's schema is hostile input. Nothing is ever fetched, and schemas that would take exponential
work are refused before a validator sees them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Set
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from toolplan.base.errors import ToolplanError
from toolplan.plan.path import Json, copied

MAX_NODES: Final = 50_000
MAX_TEXT: Final = 1_000_000
MAX_DEPTH: Final = 64
MAX_WORK: Final = 100_000
"""The most sub-schemas that may apply to one value."""

Node: TypeAlias = dict[str, Any] | bool
"""A schema; one that was compiled is valid, so each keyword has a value of its type."""
JsonType: TypeAlias = Literal["null", "boolean", "integer", "number", "string", "array", "object"]

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
_ROOT: Final = "root"
_TOOL_WORDS: Final = frozenset(("title", "description", "icons"))
_SCHEMA_WORDS: Final = frozenset(("title", "description", "examples", "$comment"))


class SchemaError(ToolplanError):
    """A schema cannot be used; the message is the reason. The code is `bad-schema`."""

    def __init__(self, reason: str) -> None:
        super().__init__("bad-schema", reason)


class Document(Struct, frozen=True):
    """A schema node and the definitions for its references, None where it has none.

    Every `$ref` in both reads `#/$defs/root/…`, so that any node beside the definitions is a schema
    of its own.
    """

    node: Node
    definitions: Node | None


def read(raw: Json) -> Document:
    """Return the document of `raw`."""
    _bound(raw)
    if isinstance(raw, bool):
        return Document(raw, None)
    if not isinstance(raw, dict):
        raise SchemaError("a schema must be an object or a boolean")
    root = raw
    references = [node["$ref"] for node in sub_schemas(root) if "$ref" in node]
    if not references:  # each part applies once at most, and there are fewer than MAX_WORK
        return Document(root, None)
    for reference in references:
        _check_reference(reference, root)
    _bound_work(root, root)
    moved = _moved(root, f"#/$defs/{_ROOT}")
    return Document({k: v for k, v in moved.items() if k not in ("$defs", "definitions")}, moved)


def target(reference: Json, definitions: Node | None) -> Node | None:
    """Return the node that a moved `$ref` leads to, or None where it leads nowhere."""
    prefix = f"#/$defs/{_ROOT}"
    if not isinstance(reference, str) or not reference.startswith(prefix):
        return None
    return _follow(definitions, reference[len(prefix) :])


def whole(document: Document) -> Node:
    """Return `document` as one self-contained schema."""
    if document.definitions is None or isinstance(document.node, bool):
        return document.node
    return {**document.node, "$defs": {_ROOT: document.definitions}}


def placed(document: Document, pointer: str) -> Node:
    """Return `document` as a schema that stands at `pointer`, a URI fragment, in another one."""
    found = whole(document)
    return found if isinstance(found, bool) else _moved(found, f"#{pointer}")


def sub_schemas(node: Json) -> Iterator[dict[str, Json]]:
    """Yield `node` and every schema object in it, without data such as `enum` and `default`."""
    pending: list[Json] = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, dict):
            yield current
            pending.extend(_held(current, _KEYWORDS))


def in_place(node: dict[str, Json]) -> Iterator[Json]:
    """Yield the sub-schemas of `node` that apply to the same value, without `$ref`."""
    return _held(node, _IN_PLACE)


def _held(node: dict[str, Json], keywords: Set[str]) -> Iterator[Json]:
    """Yield the schemas that `node` has under `keywords`."""
    for name, value in node.items():
        if name not in keywords:
            continue
        if name in _NAMED:
            yield from value.values() if isinstance(value, dict) else ()
        elif isinstance(value, list):
            yield from value
        else:
            yield value


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


def _check_reference(reference: Json, root: dict[str, Json]) -> None:
    if not isinstance(reference, str):
        raise SchemaError("a '$ref' is not a string")
    if not reference.startswith("#"):
        raise SchemaError(f"it refers to {reference!r}, and schemas are never fetched")
    if _follow(root, reference[1:]) is None:
        raise SchemaError(f"it refers to {reference!r}, which is not in it")


def _follow(node: Json, pointer: str) -> Node | None:
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


def _bound_work(node: Json, root: dict[str, Json]) -> None:
    """Refuse `node` if more than MAX_WORK sub-schemas may apply to one value."""
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
            total += work(_follow(root, reference[1:]))
        open_.discard(key)
        if total > MAX_WORK:
            raise SchemaError(f"more than {MAX_WORK} of its parts apply to one value")
        done[key] = total
        return total

    try:
        for schema in sub_schemas(node):
            work(schema)
    except RecursionError:
        raise SchemaError("its references are nested too deep") from None


def _moved(schema: dict[str, Json], prefix: str) -> dict[str, Json]:
    """Return `schema` with references that begin with `prefix`; data stays as it is."""

    def moved(node: Json) -> Json:
        if isinstance(node, list):
            return [moved(inner) for inner in node]
        if not isinstance(node, dict):
            return node
        new: dict[str, Json] = {}
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):
                new[key] = f"{prefix}{value[1:]}"
            elif key in _NAMED and isinstance(value, dict):
                new[key] = {name: moved(inner) for name, inner in value.items()}
            else:
                new[key] = moved(value) if key in _KEYWORDS else value
        return new

    result = moved(schema)
    return result if isinstance(result, dict) else {}


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


def tool_without_words(item: Mapping[str, Json]) -> dict[str, Json]:
    """Return a tool object without titles, descriptions and icons, also in its schemas."""
    made = {name: part for name, part in item.items() if name not in _TOOL_WORDS}
    for name in ("input_schema", "inputSchema", "output_schema", "outputSchema"):
        if name in made:
            made[name] = _without_words(made[name])
    hints = made.get("annotations")
    if isinstance(hints, dict):
        made["annotations"] = {name: hint for name, hint in hints.items() if name != "title"}
    return made


def tool_version(item: Mapping[str, Json]) -> str:
    """Return the digest of a tool object without its words."""
    text = json.dumps(tool_without_words(item), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _without_words(raw: Json) -> Json:
    """Return a copy of `raw` without titles, descriptions, examples and comments."""
    made = copied(raw)
    for node in sub_schemas(made):
        for word in _SCHEMA_WORDS.intersection(node):
            del node[word]
    return made
