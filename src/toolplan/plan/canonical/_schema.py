"""The JSON Schema of the canonical form, for editors, other programs and models."""

from __future__ import annotations

from collections.abc import Iterable

from toolplan.plan.canonical._form import LONGEST_TIMEOUT_S, MOST_RETRIES, VERSION
from toolplan.plan.canonical._references import STEP_ID
from toolplan.plan.model import DEFAULT_MAX_ITEMS, DEFAULT_MAX_PAGES, RESERVED_IDS, Limits
from toolplan.plan.path import Json


def json_schema(tools: Iterable[str] | None = None, limits: Limits = Limits()) -> dict[str, Json]:
    """Return the JSON Schema (draft 2020-12) of a plan's canonical form.

    It covers the form. The check covers the rest: arguments and types, references, cycles.

    Args:
        tools: the names of the tools that a plan may call. None: any name.
        limits: the largest plans.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A plan of toolplan",
        "type": "object",
        "properties": {
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
        },
        "required": ["steps"],
        "additionalProperties": False,
        "$defs": {"id": _id(), "value": _value(), "step": _step(tools)},
    }


def _id() -> Json:
    return {
        "type": "string",
        "pattern": f"^{STEP_ID.pattern}$",
        "not": {"enum": [*sorted(RESERVED_IDS)]},
    }


def _value() -> Json:
    return {
        "description": "Any JSON. Text may hold references: ${id} is the output of a step, "
        "${id.key[0]} a part of it, ${id.list[*].key} that part of each element; "
        "$${ is a plain ${. Text that is one reference only becomes its value."
    }


def _step(tools: Iterable[str] | None) -> Json:
    name: dict[str, Json] = {"type": "string", "minLength": 1}
    if tools is not None:
        name["enum"] = [*tools]
    properties: dict[str, Json] = {
        "id": {"$ref": "#/$defs/id"},
        "tool": name,
        "args": {"type": "object", "additionalProperties": {"$ref": "#/$defs/value"}},
        "after": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Steps that must end before, besides those that are referred to.",
        },
        "for_each": {
            "$ref": "#/$defs/value",
            "description": "A list: one call for each item, ${item}, at ${index}.",
        },
        "max_items": {"type": "integer", "minimum": 1, "default": DEFAULT_MAX_ITEMS},
        "when": {
            "type": "object",
            "description": "The step runs only if `value` fits the JSON Schema `is`.",
            "properties": {
                "value": {"$ref": "#/$defs/value"},
                "is": {"type": ["object", "boolean"]},
            },
            "required": ["value", "is"],
            "additionalProperties": False,
        },
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
    return {
        "type": "object",
        "properties": properties,
        "required": ["id", "tool"],
        "additionalProperties": False,
    }
