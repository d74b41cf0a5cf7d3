"""Schema documents as they come in: refused where they could hurt, made self-contained.

A tool's schema is hostile input. Nothing is ever fetched, and what would take exponential work is
refused before a validator sees it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

from toolplan.path import Json

MAX_NODES: Final = 50_000
MAX_TEXT: Final = 1_000_000
MAX_DEPTH: Final = 64
MAX_WORK: Final = 100_000
"""How many sub-schemas may speak about one and the same value."""

Node: TypeAlias = dict[str, Json] | bool

_IN_PLACE_LISTS: Final = ("allOf", "anyOf", "oneOf")
_IN_PLACE: Final = ("not", "if", "then", "else")
_CHILD: Final = (
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "contains",
    "additionalItems",
    "unevaluatedItems",
)
_CHILD_MAPS: Final = ("properties", "patternProperties", "$defs", "definitions")
_ROOT: Final = "root"


class SchemaError(ValueError):
    """A schema cannot be used; the text says why."""


class Document(NamedTuple):
    """A schema node and the definitions that its references lead into (None where it has none).

    Every `$ref` in `node` and in `definitions` reads `#/$defs/root/…`, so that any node beside the
    definitions is a schema of its own.
    """

    node: Node
    definitions: Node | None


def read(raw: Json) -> Document:
    """Return the document of `raw`.

    Raises:
        SchemaError: it is no schema, too large, too deep, refers to what is not in it, refers to
            itself without end, or would take exponential work.
    """
    _bound(raw)
    if isinstance(raw, bool):
        return Document(raw, None)
    if not isinstance(raw, dict):
        raise SchemaError("a schema must be an object or a boolean")
    root = raw
    references = [node["$ref"] for node in sub_schemas(root) if "$ref" in node]
    if not references:
        _bound_work(root, root)
        return Document(root, None)
    for reference in references:
        _check_reference(reference, root)
    _bound_work(root, root)
    moved = _moved(root)
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


def sub_schemas(node: Json) -> Iterator[dict[str, Json]]:
    """Yield `node` and every schema object in it; data such as `enum` or `default` is no schema."""
    pending: list[Json] = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, dict):
            yield current
            pending.extend(_children(current))


def _children(node: dict[str, Json]) -> Iterator[Json]:
    yield from in_place(node)
    for name in _CHILD:
        if name in node:
            yield node[name]
    for name in ("prefixItems", "items"):
        value = node.get(name)
        if isinstance(value, list):
            yield from value
        elif value is not None:
            yield value
    for name in _CHILD_MAPS:
        value = node.get(name)
        if isinstance(value, dict):
            yield from value.values()


def in_place(node: dict[str, Json]) -> Iterator[Json]:
    """Yield the sub-schemas of `node` that speak about the same value as it does, `$ref` aside."""
    for name in _IN_PLACE_LISTS:
        value = node.get(name)
        if isinstance(value, list):
            yield from value
    for name in _IN_PLACE:
        if name in node:
            yield node[name]
    dependent = node.get("dependentSchemas")
    if isinstance(dependent, dict):
        yield from dependent.values()


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
        raise SchemaError("a '$ref' is not text")
    if not reference.startswith("#"):
        raise SchemaError(f"it refers to {reference!r}, and nothing outside of it is ever fetched")
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
    """Refuse `node` where one value could meet more than MAX_WORK sub-schemas."""
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
            raise SchemaError(f"one value would meet more than {MAX_WORK} of its parts")
        done[key] = total
        return total

    try:
        for schema in sub_schemas(node):
            work(schema)
    except RecursionError:
        raise SchemaError("its references are nested too deep") from None


def _moved(schema: dict[str, Json]) -> dict[str, Json]:
    """Return `schema` with its references reading `#/$defs/root/…`; data in it is left alone."""

    def moved(node: Json) -> Json:
        if not isinstance(node, dict):
            return node
        new: dict[str, Json] = {}
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):
                new[key] = f"#/$defs/{_ROOT}{value[1:]}"
            elif key in _CHILD_MAPS or key == "dependentSchemas":
                new[key] = _each(value)
            elif key in _IN_PLACE_LISTS or key in ("prefixItems", "items"):
                new[key] = [moved(v) for v in value] if isinstance(value, list) else moved(value)
            elif key in _IN_PLACE or key in _CHILD:
                new[key] = moved(value)
            else:
                new[key] = value
        return new

    def _each(value: Json) -> Json:
        return {k: moved(v) for k, v in value.items()} if isinstance(value, dict) else value

    result = moved(schema)
    return result if isinstance(result, dict) else {}
