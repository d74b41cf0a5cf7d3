"""The tool's own values for arguments that a plan leaves out: they are sent, so they are shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from toolplan.plan.model import Array, Literal, Object, Value
from toolplan.plan.path import Json
from toolplan.schema import Schema
from toolplan.schema.tool import Tool


def defaults_of(tool: Tool, args: Mapping[str, Value]) -> dict[str, Json]:
    """Return the tool's defaults for the arguments that a call with `args` omits, by place.

    They are sent with the call, or used by who answers it. A field of an object that is written in
    the plan, at any depth, is `argument.field` or `argument[0].field`. A default that is null says
    nothing, and is not among them.
    """
    found: dict[str, Json] = {}
    if tool.unusable is None:
        for place, default in _left_out(tool.input, Object(tuple(args.items())), ""):
            found.setdefault(place, default)
    return found


def is_worded(tool: Tool, name: str) -> bool:
    """Return whether JSON cannot say the default of an argument: `x-default` describes it."""
    node: Json = _properties(tool.flat_input).get(name)
    return isinstance(node, dict) and node.get("default") is None and "x-default" in node


def _left_out(schema: Schema, given: Value, place: str) -> Iterator[tuple[str, Json]]:
    fields, items = _parts(given)
    for node in schema.nodes():
        if fields is not None and not _may_fit(node, fields):
            continue
        inside: list[tuple[str, Json, Value]] = []
        if fields is not None:
            known = _properties(node)
            for name, part in known.items():
                stated = map(_default, schema.part(part).nodes()) if name not in fields else ()
                if (default := next((d for d in stated if d is not None), None)) is not None:
                    yield _within(place, name), default
                    yield from _left_out(schema.part(part), Literal(default), _within(place, name))
            for name, value in fields.items():
                patterns: Any = node.get("patternProperties", {})
                named = [
                    part
                    for pattern, part in patterns.items()
                    if Schema.load({"type": "string", "pattern": pattern}).is_valid(name)
                ]
                inner = known.get(name, node.get("additionalProperties") if not named else None)
                inside += ((_within(place, name), each, value) for each in (inner, *named))
        first: Any = node.get("prefixItems", [])
        for at, value in enumerate(items):
            inner = first[at] if at < len(first) else node.get("items")
            inside.append((f"{place}[{at}]", inner, value))
        for where, inner, value in inside:
            if isinstance(inner, dict):
                yield from _left_out(schema.part(inner), value, where)


def _properties(node: Mapping[str, Json]) -> dict[str, Any]:
    properties: Any = node.get("properties", {})
    return properties


def _within(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _default(node: Mapping[str, Json]) -> Json:
    """Return the default that a schema states, else the words for one that JSON cannot say."""
    default = node.get("default")
    return node.get("x-default") if default is None else default


def _may_fit(node: Mapping[str, Json], fields: Mapping[str, Value]) -> bool:
    """Return False where a required field is missing, or a constant differs."""
    required: Any = node.get("required", ())
    if not fields.keys() >= {*required}:
        return False
    return not any(
        part not in (True, False)
        and "const" in part
        and isinstance(value := fields.get(name), Literal)
        and part["const"] != value.value
        for name, part in _properties(node).items()
    )


def _parts(value: Value) -> tuple[Mapping[str, Value] | None, list[Value]]:
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
        case _:
            return None, []
