"""The JSON Schema of the canonical form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from toolplan.plan.canonical._form import LONGEST_TIMEOUT_S, MOST_RETRIES, VERSION
from toolplan.plan.canonical._values import STEP_ID
from toolplan.plan.model import DEFAULT_MAX_ITEMS, DEFAULT_MAX_PAGES, RESERVED_IDS, Limits
from toolplan.plan.path import Json

_ID: Final[Json] = {
    "type": "string",
    "pattern": f"^{STEP_ID.pattern}$",
    "not": {"enum": [*sorted(RESERVED_IDS)]},
}
_VALUE: Final[Json] = {
    "description": "Any JSON. Text may hold references: ${id} is the output of a step, "
    "${id.key[0]} a part of it, ${id.list[*].key} that part of each element; "
    "$${ is a plain ${. Text that is one reference only becomes its value."
}
_WHEN: Final[Json] = {
    "type": "object",
    "description": "The step runs only if `value` fits the JSON Schema `is`.",
    "properties": {"value": {"$ref": "#/$defs/value"}, "is": {"type": ["object", "boolean"]}},
    "required": ["value", "is"],
    "additionalProperties": False,
}


def json_schema(tools: Iterable[str] | None = None, limits: Limits = Limits()) -> dict[str, Json]:
    """Return the JSON Schema (draft 2020-12) of a plan's canonical form.

    It covers the form. The check covers the rest: arguments and types, references, cycles. `tools`
    are the names that a plan may call, None for any; `limits` those of the largest plans.
    """
    name: dict[str, Json] = {"type": "string", "minLength": 1}
    if tools is not None:
        name["enum"] = [*tools]
    value: Json = {"$ref": "#/$defs/value"}
    listed = "A list: one call for each item, ${item}, at ${index}."
    step: dict[str, Json] = {
        "id": {"$ref": "#/$defs/id"},
        "tool": name,
        "args": {"type": "object", "additionalProperties": value},
        "after": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Steps that must end before, besides those that are referred to.",
        },
        "for_each": {"$ref": "#/$defs/value", "description": listed},
        "max_items": {"type": "integer", "minimum": 1, "default": DEFAULT_MAX_ITEMS},
        "when": _WHEN,
        "on_error": {"enum": ["fail", "continue"], "default": "fail"},
        "timeout_s": {
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": LONGEST_TIMEOUT_S,
            "description": "The most seconds of each try.",
        },
        "retries": {"type": "integer", "minimum": 0, "maximum": MOST_RETRIES, "default": 0},
        "pages": {
            "enum": ["all"],
            "description": "All pages of the list, each with a call; only for tools that read.",
        },
        "max_pages": {"type": "integer", "minimum": 1, "default": DEFAULT_MAX_PAGES},
        "thought": {"type": "string", "description": "Why. It does not run."},
    }
    plan: dict[str, Json] = {
        "toolplan": {"const": VERSION, "description": "The version of this form."},
        "steps": {
            "type": "array",
            "items": {"$ref": "#/$defs/step"},
            "minItems": 1,
            "maxItems": limits.steps,
        },
        "output": {
            "$ref": "#/$defs/value",
            "description": "What the plan returns. Without it: the outputs of the steps that "
            "nothing refers to.",
        },
        "metadata": {"type": "object", "description": "Notes for readers. They do not run."},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A plan of toolplan",
        **_closed(plan, "steps"),
        "$defs": {"id": _ID, "value": _VALUE, "step": _closed(step, "id", "tool")},
    }


def _closed(properties: dict[str, Json], *required: str) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": properties,
        "required": [*required],
        "additionalProperties": False,
    }
