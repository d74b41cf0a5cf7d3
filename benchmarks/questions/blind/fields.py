"""Pieces of schemas that several tools share. The hints are those of docs/hints.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from toolplan.plan.path import Json

Node: TypeAlias = dict[str, Json]


def texts(items: Iterable[str]) -> list[Json]:
    """Return `items` as a JSON list."""
    return [*items]


def nullable(node: Node) -> Node:
    """Return `node`, which has one type, such that null fits too."""
    given = node["type"]
    wider: Node = {**node, "type": [given, "null"]}
    options = node.get("enum")
    if isinstance(options, list):
        wider["enum"] = [*options, None]
    return wider


def hinted(node: Node, hints: Node) -> Node:
    """Return `node` with `hints`, or other keywords, added or put in place of its own."""
    return {**node, **hints}


def date_range(field: str, what: str) -> Node:
    """Return the arguments `date_from` and `date_to` about `field`; `what` it is in plain words."""
    return {
        "date_from": {
            "type": "string",
            "format": "date",
            "description": f"First day on which {what}, included (YYYY-MM-DD).",
            "x-role": "range.start",
            "x-field": field,
        },
        "date_to": {
            "type": "string",
            "format": "date",
            "description": f"Last day on which {what}, included to its end (YYYY-MM-DD).",
            "x-role": "range.end",
            "x-field": field,
        },
    }


def at_least(field: str, unit: str, what: str, *synonyms: str) -> Node:
    """Return the argument that is the lower bound of `field`, itself included."""
    return _bound("min", f"At least this {what}, itself included.", field, unit, synonyms)


def at_most(field: str, unit: str, what: str, *synonyms: str) -> Node:
    """Return the argument that is the upper bound of `field`, itself included."""
    return _bound("max", f"At most this {what}, itself included.", field, unit, synonyms)


def limit() -> Node:
    """Return the argument that bounds the number of rows. It has no default: see `lists`."""
    return {
        "type": "integer",
        "minimum": 1,
        "description": "At most this many rows, the first ones of the order; all when left out.",
        "x-role": "limit",
    }


def arguments(
    entity: str,
    verb: str,
    properties: Node,
    *,
    synonyms: Iterable[str] = (),
    aliases: Iterable[str] = (),
    required: Iterable[str] = (),
    order: str | None = None,
) -> Node:
    """Return an input schema: closed, with the hints that speak of the tool itself."""
    schema: Node = {
        "type": "object",
        "properties": properties,
        "required": texts(required),
        "additionalProperties": False,
        "x-entity": entity,
        "x-verb": verb,
        "x-synonyms": texts(synonyms),
    }
    if names := texts(aliases):
        schema["x-aliases"] = names
    if order is not None:
        schema["x-order"] = order
    return schema


def row(entity: str, properties: Mapping[str, Json]) -> Node:
    """Return the schema of one record: closed, every field there, some of them null."""
    return {**record(properties), "x-entity": entity}


def record(properties: Mapping[str, Json]) -> Node:
    """Return the schema of an object that has exactly `properties`."""
    return {
        "type": "object",
        "properties": {**properties},
        "required": texts(properties),
        "additionalProperties": False,
    }


def one(schema: Json) -> Node:
    """Return the output of a tool that gives one `schema`."""
    return record({"data": schema})


def many(schema: Json) -> Node:
    """Return the output of a tool that gives a list of `schema`."""
    rows: Node = {"type": "array", "items": schema}
    return record({"data": rows, "count": {"type": "integer", "minimum": 0}})


def _bound(role: str, description: str, field: str, unit: str, synonyms: Iterable[str]) -> Node:
    return {
        "type": "number",
        "minimum": 0,
        "description": description,
        "x-role": role,
        "x-field": field,
        "x-unit": unit,
        "x-synonyms": texts(synonyms),
    }
