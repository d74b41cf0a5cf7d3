"""Where a workflow of Arazzo keeps what the canonical plan has elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolplan.path import Json
from toolplan.plan import escape_pointer, split_pointer
from toolplan.yaml_text import Yaml

STEPS: Final = "/workflows/0/steps"


def fields_of(value: Json) -> Mapping[str, Json]:
    """Return an object; one without fields where `value` is none."""
    return value if isinstance(value, dict) else dict[str, Json]()


def listed(value: Json) -> list[Json]:
    """Return a list; an empty one where `value` is none."""
    return value if isinstance(value, list) else []


def line_of(read: Yaml, pointer: str) -> int:
    """Return the line of what `pointer` names, or of the nearest thing around it."""
    native = native_pointer(read.value, pointer)
    while native and native not in read.lines:
        native = native.rpartition("/")[0]
    return read.lines.get(native, 1)


def native_pointer(document: Json, pointer: str) -> str:
    """Return the place in `document` of what the canonical `pointer` names."""
    match split_pointer(pointer):
        case ("steps", position, "args", name, *rest):
            ending = "".join(f"/{escape_pointer(each)}" for each in rest)
            return f"{STEPS}/{position}{_argument(document, position, name)}{ending}"
        case ("steps", position, field, *_):
            names = {"id": "stepId", "tool": "operationId", "thought": "description"}
            if field == "tool" and "operationPath" in _item(document, position):
                return f"{STEPS}/{position}/operationPath"
            return f"{STEPS}/{position}/{names.get(field, field)}"
        case ("steps", *rest):
            return STEPS + "".join(f"/{each}" for each in rest)
        case ("output", *rest):
            return "/workflows/0/outputs" + "".join(f"/{escape_pointer(each)}" for each in rest)
        case _:
            return pointer


def _argument(document: Json, position: str, name: str) -> str:
    item = _item(document, position)
    for number, each in enumerate(listed(item.get("parameters"))):
        if fields_of(each).get("name") == name:
            return f"/parameters/{number}/value"
    payload = fields_of(item.get("requestBody")).get("payload")
    if isinstance(payload, dict) and name in payload:
        return f"/requestBody/payload/{escape_pointer(name)}"
    return "/requestBody/payload" if name == "body" else ""


def _item(document: Json, position: str) -> Mapping[str, Json]:
    """Return the step at `position`."""
    workflows = listed(fields_of(document).get("workflows"))
    steps = listed(fields_of(workflows[0] if workflows else None).get("steps"))
    at = int(position) if position.isdecimal() and len(position) < 9 else -1
    return fields_of(steps[at] if 0 <= at < len(steps) else None)
