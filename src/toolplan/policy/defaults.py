"""The tool's own values for arguments that a plan leaves out: they are sent, so they are shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from toolplan.plan.model import Array, Literal, Object, Value, split_pointer
from toolplan.plan.path import Json
from toolplan.schema.tool import Tool

_MOST_REFERENCES: Final = 8


def defaults_of(tool: Tool, args: Mapping[str, Value]) -> dict[str, Json]:
    """Return the tool's own values for what a call with `args` leaves out, by its place.

    They are sent with the call, or used by who answers it. A field of an object that is written in
    the plan, at any depth, is `argument.field` or `argument[0].field`. A default that is null says
    nothing, and is not among them.
    """
    if tool.unusable is not None:
        return {}
    found: dict[str, Json] = {}
    for place, default in _left_out(tool.input.document, tool.input.node, args, ""):
        found.setdefault(place, default)
    return found


def _left_out(
    document: Json, schema: Json, given: Mapping[str, Value] | Value, place: str
) -> Iterator[tuple[str, Json]]:
    fields, items = _parts(given)
    for node in _alternatives(document, schema, fields):
        stated = node.get("properties")
        known = stated if isinstance(stated, dict) else {}
        for name in () if fields is None else (each for each in known if each not in fields):
            parts = _alternatives(document, known[name], None)
            default = next((d for each in parts if (d := _default(each)) is not None), None)
            if default is not None:
                yield f"{place}.{name}" if place else name, default
        for name, value in (fields or {}).items():
            inner = known.get(name, node.get("additionalProperties"))
            yield from _left_out(document, inner, value, f"{place}.{name}" if place else name)
        first = node.get("prefixItems")
        listed = first if isinstance(first, list) else []
        for at, value in enumerate(items):
            inner = listed[at] if at < len(listed) else node.get("items")
            yield from _left_out(document, inner, value, f"{place}[{at}]")


def _default(node: Mapping[str, Json]) -> Json:
    """Return the default that a schema states, else the words for one that JSON cannot say."""
    default = node.get("default")
    return node.get("x-default") if default is None else default


def _alternatives(
    document: Json, schema: Json, fields: Mapping[str, Value] | None, depth: int = 0
) -> Iterator[Mapping[str, Json]]:
    """Yield `schema` and its parts that an object with `fields` may fit, references followed."""
    node = _followed(document, schema)
    if depth > _MOST_REFERENCES or (fields is not None and not _may_fit(node, fields)):
        return
    yield node
    for key in ("allOf", "anyOf", "oneOf"):
        parts = node.get(key)
        for part in parts if isinstance(parts, list) else ():
            yield from _alternatives(document, part, fields, depth + 1)


def _may_fit(node: Mapping[str, Json], fields: Mapping[str, Value]) -> bool:
    """Return False where a required field is missing, or a constant differs."""
    required, stated = node.get("required"), node.get("properties")
    if isinstance(required, list) and not fields.keys() >= {*map(str, required)}:
        return False
    known = stated if isinstance(stated, dict) else {}
    return not any(
        isinstance(part := known.get(name), dict)
        and isinstance(value, Literal)
        and "const" in part
        and part["const"] != value.value
        for name, value in fields.items()
    )


def _followed(document: Json, node: Json) -> Mapping[str, Json]:
    """Return a schema with what it refers to inside of the document; its own words come first."""
    found: dict[str, Json] = {}
    for _ in range(_MOST_REFERENCES):
        if not isinstance(node, dict):
            break
        found = {**node, **found}
        match node.get("$ref"):
            case str(place) if place.startswith("#"):
                node = _part(document, place[1:])
            case _:
                break
    return found


def _part(document: Json, pointer: str) -> Json:
    for name in split_pointer(pointer):
        document = document.get(name) if isinstance(document, dict) else None
    return document


def _parts(value: Mapping[str, Value] | Value) -> tuple[Mapping[str, Value] | None, list[Value]]:
    """Return the fields of an object and the elements of a list that are written in a plan."""
    match value:
        case Literal(dict(fields)):
            return {name: Literal(each) for name, each in fields.items()}, []
        case Literal(list(items)):
            return None, [Literal(each) for each in items]
        case Object(fields):
            return dict(fields), []
        case Array(items):
            return None, list(items)
        case Mapping():
            return value, []
        case _:
            return None, []
