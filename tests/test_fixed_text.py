"""Fixes written in place, nullable arguments, and huge literal lists."""

from __future__ import annotations

import json

import pytest

from toolplan.compiler import examine, fixed_text
from toolplan.path import Json
from toolplan.tools import Tool

ENUM: Json = {"enum": ["free", "pro"]}
NULL: Json = {"type": "null"}
NULLABLE: tuple[Json, ...] = (
    {"anyOf": [ENUM, NULL]},
    {"anyOf": [NULL, ENUM]},
    {"oneOf": [ENUM, NULL]},
    {"enum": ["free", "pro", None]},
    {"type": ["string", "null"], "enum": ["free", "pro", None]},
    {"anyOf": [{"$ref": "#/$defs/Tier"}, NULL]},
    {"anyOf": [{"$ref": "#/$defs/Tier"}, NULL], "default": None, "title": "Tier"},
    {"$ref": "#/$defs/Maybe"},
    {"allOf": [{"$ref": "#/$defs/Maybe"}]},
    {"anyOf": [ENUM, {"enum": [None]}]},
)


def tool(part: Json) -> Tool:
    definitions: Json = {"Tier": ENUM, "Maybe": {"anyOf": [{"$ref": "#/$defs/Tier"}, NULL]}}
    return Tool("t", "d", {"type": "object", "properties": {"tier": part}, "$defs": definitions})


@pytest.mark.parametrize("part", NULLABLE)
def test_a_nullable_argument_is_checked_as_what_it_holds(part: Json) -> None:
    text = '{"steps": [{"id": "a", "tool": "t", "args": {"tier":  "Pro"}}]}'
    (found,) = examine(text, tools=[tool(part)]).diagnostics
    assert found.fixed
    assert found.help == "Expected: one of 'free', 'pro'."
    assert fixed_text(text, tools=[tool(part)]) == text.replace("Pro", "pro")


def test_only_the_fixes_are_written() -> None:
    text = (
        '// mine\n{ "note": 1,\n "steps": [{"id":"a", "x": 2, '
        '"tool":"t",  "args":{"TIER":"Pro",}}]}'
    )
    new = fixed_text(text, tools=[tool(ENUM)])
    assert new == text.replace("TIER", "tier").replace("Pro", "pro")


def test_a_huge_literal_list_is_a_diagnostic() -> None:
    step: Json = {"id": "a", "tool": "t", "for_each": list(range(100_000))}
    found = examine(json.dumps({"steps": [step]}), tools=[tool(ENUM)]).diagnostics
    assert "fan-out-large" in {each.code for each in found}
