"""A document of Arazzo: its fields, the inputs of its workflows, and where things stand in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, cast
from urllib.parse import parse_qsl

from msgspec import Struct

from toolplan.path import Json
from toolplan.plan import escape_pointer, split_pointer
from toolplan.yaml_text import Yaml

Places: TypeAlias = Sequence[tuple[int, int]]
"""For each step of the plan the positions of its workflow, and of its step in there."""


def fields_of(value: Json) -> Mapping[str, Json]:
    """Return an object; one without fields where `value` is none."""
    return value if isinstance(value, dict) else dict[str, Json]()


def listed(value: Json) -> list[Json]:
    """Return a list; an empty one where `value` is none."""
    return value if isinstance(value, list) else []


def line_of(read: Yaml, native: str) -> int:
    """Return the line of what `native` names, or of the nearest thing around it."""
    while native and native not in read.lines:
        native = native.rpartition("/")[0]
    return read.lines.get(native, 1)


def native_pointer(document: Json, pointer: str, places: Places, first: int) -> str:
    """Return the place in `document` of what the canonical `pointer` names.

    `first` is the position of the workflow that is the plan.
    """
    match split_pointer(pointer):
        case ("steps",):
            return f"/workflows/{first}/steps"
        case ("steps", position, *rest):
            at = int(position) if position.isdecimal() and len(position) < 9 else len(places)
            if at >= len(places):
                return f"/workflows/{first}/steps"
            workflow, number = places[at]
            return f"/workflows/{workflow}/steps/{number}" + _in_step(
                _item(document, workflow, number), rest
            )
        case ("output", *rest):
            return f"/workflows/{first}/outputs" + _joined(rest)
        case _:
            return pointer


def _in_step(item: Mapping[str, Json], rest: Sequence[str]) -> str:
    match rest:
        case ("args", name, *inner):
            return _argument(item, name) + _joined(inner)
        case (field, *_):
            names = {"id": "stepId", "tool": "operationId", "thought": "description"}
            if field == "tool" and "operationPath" in item:
                return "/operationPath"
            return f"/{names.get(field, field)}"
        case _:
            return ""


def _joined(rest: Sequence[str]) -> str:
    return "".join(f"/{escape_pointer(each)}" for each in rest)


def _argument(item: Mapping[str, Json], name: str) -> str:
    for number, each in enumerate(listed(item.get("parameters"))):
        if fields_of(each).get("name") == name:
            return f"/parameters/{number}/value"
    payload = fields_of(item.get("requestBody")).get("payload")
    if isinstance(payload, dict) and name in payload:
        return f"/requestBody/payload/{escape_pointer(name)}"
    return "/requestBody/payload" if name == "body" else ""


def _item(document: Json, workflow: int, number: int) -> Mapping[str, Json]:
    """Return the step at position `number` of the workflow at position `workflow`."""
    workflows = listed(fields_of(document).get("workflows"))
    steps = listed(
        fields_of(workflows[workflow] if workflow < len(workflows) else None).get("steps")
    )
    return fields_of(steps[number] if number < len(steps) else None)


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
