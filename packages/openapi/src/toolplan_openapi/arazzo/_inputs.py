"""The inputs of a workflow of Arazzo, and which workflow a user chooses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import cast
from urllib.parse import parse_qsl

from msgspec import Struct

from toolplan.path import Json
from toolplan_openapi.arazzo._places import fields_of

_SHARED = "#/components/inputs/"


class Choice(Struct, frozen=True):
    """Which workflow is the plan, None for the first, and the values of its inputs as text."""

    workflow: str | None = None
    inputs: tuple[tuple[str, str], ...] = ()


def read_choice(text: str) -> Choice:
    """Return what `:NAME?INPUT=VALUE&INPUT=VALUE`, behind the name of the dialect, chooses."""
    name, _, inputs = text.partition("?")
    pairs = parse_qsl(inputs, keep_blank_values=True)
    return Choice(name.removeprefix(":") or None, tuple(pairs))


def default_inputs(schema: Json, root: Mapping[str, Json]) -> dict[str, Json]:
    """Return the values of inputs: their `default`, or their `const`."""
    found: dict[str, Json] = {}
    for name, fields in _declared(schema, root):
        for key in ("default", "const"):
            if key in fields:
                found[name] = fields[key]
    return found


def given_inputs(
    schema: Json, root: Mapping[str, Json], given: tuple[tuple[str, str], ...]
) -> dict[str, Json]:
    """Return the values that are `given` as text: as JSON, or as text where that is declared."""
    declared = dict(_declared(schema, root))
    return {name: _value(text, declared.get(name, {}).get("type")) for name, text in given}


def input_names(schema: Json, root: Mapping[str, Json]) -> list[str] | None:
    """Return the names of inputs, None where the schema declares none."""
    return [name for name, _ in _declared(schema, root)] or None


def needed_inputs(schema: Json, root: Mapping[str, Json]) -> list[Json]:
    """Return the names of inputs that must be given."""
    needed = _followed(schema, root).get("required")
    return needed if isinstance(needed, list) else []


def _value(text: str, kind: Json) -> Json:
    if kind == "string":
        return text
    try:
        return cast("Json", json.loads(text, parse_constant=_refuse))
    except (ValueError, RecursionError):
        return text


def _refuse(name: str) -> Json:
    raise ValueError(name)


def _declared(schema: Json, root: Mapping[str, Json]) -> Iterator[tuple[str, Mapping[str, Json]]]:
    for name, node in fields_of(_followed(schema, root).get("properties")).items():
        yield name, _followed(node, root)


def _followed(node: Json, root: Mapping[str, Json]) -> Mapping[str, Json]:
    fields = fields_of(node)
    reference = fields.get("$ref")
    if isinstance(reference, str) and reference.startswith(_SHARED):
        shared = fields_of(fields_of(root.get("components")).get("inputs"))
        return fields_of(shared.get(reference.removeprefix(_SHARED)))
    return fields
