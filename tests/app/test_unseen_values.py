"""Nobody approves a value that was not seen: one rule for all ways to say yes to a plan."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field

import toolplan
from toolplan import Effects, ExecutionPlan, Toolbox
from toolplan.events import RunState
from toolplan.plan.model import Literal
from toolplan.policy import defaults_of
from toolplan.policy.approval import Approval, effect_steps, said_yes
from toolplan.policy.consent import effects_of, needs_values
from toolplan.show.approval_view import approval_json, approval_text, effects_text
from toolplan.testing import Gives, ScriptedTools

ANY: dict[str, Any] = {}
SEND = {"id": "send", "tool": "send"}
UNSEEN: dict[str, dict[str, Any]] = {
    "an argument": {"args": {"to": "${read.to}"}},
    "a whole output": {"args": {"to": "${read}"}},
    "inside of text": {"args": {"to": "to ${read.to}!"}},
    "inside of a list": {"args": {"to": ["ann", "${read.to}"]}},
    "inside of an object": {"args": {"to": {"a": {"b": "${read.to}"}}}},
    "one of two arguments": {"args": {"to": "ann", "text": "${read.to}"}},
    "an optional argument": {"args": {"to": "ann", "cc": "${read.to}"}},
    "each item": {"for_each": "${read.all}", "args": {"to": "${item}"}},
    "how often": {"for_each": "${read.all}", "args": {"to": "ann"}},
    "items that are written": {"for_each": ["ann", "bob"], "args": {"to": "${item}"}},
    "items with a reference": {"for_each": ["ann", "${read.to}"], "args": {"to": "${item}"}},
    "a position": {"for_each": ["a", "b"], "args": {"to": "${index}"}},
    "whether at all": {
        "when": {"value": "${read.to}", "is": {"const": "eve"}},
        "args": {"to": "ann"},
    },
}
SEEN: dict[str, dict[str, Any]] = {
    "text": {"args": {"to": "ann"}},
    "nothing": {},
    "what looks like a reference": {"args": {"to": "$${read.to}"}},
    "order alone": {"args": {"to": "ann"}, "after": ["read"]},
    "a written list": {"for_each": ["a", "b"], "args": {"to": "ann"}},
}


def tools_of() -> ScriptedTools:
    tools = ScriptedTools()
    tools.add("read", Gives({"to": "eve", "all": ["eve", "bob"]}), output_schema=ANY)
    tools.add("send", effects=Effects.WRITE, input_schema={"type": "object", "properties": {
        "to": ANY, "text": ANY, "cc": ANY,
    }})  # fmt: skip
    return tools


def plan_of(step: dict[str, Any], tools: Toolbox) -> ExecutionPlan:
    plan = {"toolplan": 1, "steps": [{"id": "read", "tool": "read"}, {**SEND, **step}]}
    compiled = toolplan.compile_plan(plan, tools=tools)
    assert compiled.plan is not None, compiled.diagnostics
    return compiled.plan


def true(_: ExecutionPlan) -> bool:
    return True


async def later(_: ExecutionPlan) -> bool:
    return True


def by_digest(plan: ExecutionPlan) -> bool:
    return bool(said_yes(plan.digest)(plan))


WAYS = {"a function": true, "an async function": later, "a page or a form": by_digest}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", UNSEEN)
async def test_a_yes_to_a_plan_makes_no_call_whose_values_were_not_seen(
    case: str, way: str, tmp_path: Path
) -> None:
    tools = tools_of()
    plan = plan_of(UNSEEN[case], tools.toolbox)
    assert needs_values(plan)
    journal = toolplan.Journal(tmp_path / "runs.sqlite")
    ended = await toolplan.run(plan, tools.toolbox, journal=journal, approval=WAYS[way])
    assert ended.status is RunState.WAITING
    assert tools.args_of("send") == []
    assert {call.step for call in ended.waiting} == {"send"}
    journal.close()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", SEEN)
def test_a_yes_to_a_plan_that_shows_all_values_runs_it(case: str, way: str) -> None:
    tools = tools_of()
    plan = plan_of(SEEN[case], tools.toolbox)
    assert not needs_values(plan)
    assert asyncio.run(toolplan.run(plan, tools.toolbox, approval=WAYS[way])).succeeded
    assert tools.args_of("send")


@pytest.mark.parametrize("case", UNSEEN)
def test_an_approval_that_is_made_explicitly_approves_a_plan_as_it_stands(case: str) -> None:
    tools = tools_of()
    plan = plan_of(UNSEEN[case], tools.toolbox)
    given: Approval = toolplan.approve(plan)
    assert asyncio.run(toolplan.run(plan, tools.toolbox, approval=given)).succeeded


DEFAULTS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "an amount": ({"amount": {"type": "integer", "default": 1_000_000}}, {}, {"amount": 1_000_000}),
    "false": ({"dry_run": {"type": "boolean", "default": False}}, {}, {"dry_run": False}),
    "zero": ({"n": {"type": "number", "default": 0}}, {}, {"n": 0}),
    "empty text": ({"path": {"type": "string", "default": ""}}, {}, {"path": ""}),
    "a list": ({"to": {"type": "array", "default": ["eve"]}}, {}, {"to": ["eve"]}),
    "an object": ({"o": {"type": "object", "default": {"a": 1}}}, {}, {"o": {"a": 1}}),
    "beside a reference": ({"n": {"$ref": "#/$defs/n", "default": 2}}, {}, {"n": 2}),
    "behind a reference": ({"n": {"$ref": "#/$defs/n"}}, {}, {"n": 7}),
    "of alternatives": (
        {"n": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 3}},
        {},
        {"n": 3},
    ),
    "of a field": (
        {"o": {"type": "object", "properties": {"x": {"default": 9}, "y": {}}}},
        {"o": {"y": 1}},
        {"o.x": 9},
    ),
    "of the elements of a list": (
        {"l": {"type": "array", "items": {"$ref": "#/$defs/line"}}},
        {"l": [{"sku": "a"}, {"sku": "b", "qty": 1}, {"sku": "c"}]},
        {"l[0].qty": 1000, "l[2].qty": 1000},
    ),
    "of the first elements": (
        {"l": {"type": "array", "prefixItems": [{"$ref": "#/$defs/line"}], "items": {}}},
        {"l": [{"sku": "a"}, {"sku": "b"}]},
        {"l[0].qty": 1000},
    ),
    "of a field of a field": (
        {"o": {"properties": {"p": {"properties": {"x": {"default": 9}}}}}},
        {"o": {"p": {}}},
        {"o.p.x": 9},
    ),
    "of fields of any name": (
        {"o": {"type": "object", "additionalProperties": {"$ref": "#/$defs/line"}}},
        {"o": {"first": {"sku": "a"}}},
        {"o.first.qty": 1000},
    ),
    "of fields whose names fit a pattern": (
        {"o": {"type": "object", "patternProperties": {"^first": {"$ref": "#/$defs/line"}}}},
        {"o": {"first": {"sku": "a"}, "last": {"sku": "b"}}},
        {"o.first.qty": 1000},
    ),
    "of what is a default itself": (
        {
            "o": {
                "default": {"l": [{}]},
                "properties": {
                    "l": {"items": {"properties": {"x": {"default": 9}}}},
                    "y": {"default": 8},
                },
            }
        },
        {},
        {"o": {"l": [{}]}, "o.l[0].x": 9, "o.y": 8},
    ),
    "of an object that may be null": (
        {"o": {"anyOf": [{"$ref": "#/$defs/line"}, {"type": "null"}], "default": None}},
        {"o": {"sku": "a"}},
        {"o.qty": 1000},
    ),
    "of the alternative that is written": (
        {
            "o": {
                "oneOf": [
                    {"properties": {"kind": {"const": "a"}, "x": {"default": 1}}},
                    {"properties": {"kind": {"const": "b"}, "y": {"default": 2}}},
                ]
            }
        },
        {"o": {"kind": "b"}},
        {"o.y": 2},
    ),
    "of a part of all": (
        {"o": {"allOf": [{"$ref": "#/$defs/line"}, {"properties": {"z": {"default": 3}}}]}},
        {"o": {"sku": "a"}},
        {"o.qty": 1000, "o.z": 3},
    ),
    "in an alternative": (
        {"n": {"anyOf": [{"type": "string", "default": "now"}, {"type": "null"}]}},
        {},
        {"n": "now"},
    ),
    "given, so not": ({"n": {"type": "integer", "default": 5}}, {"n": 6}, {}),
    "null says nothing": ({"n": {"default": None}}, {}, {}),
}


@pytest.mark.parametrize("case", DEFAULTS)
def test_what_the_tool_fills_in_is_shown(case: str) -> None:
    properties, args, expected = DEFAULTS[case]
    tools = ScriptedTools()
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "$defs": {
            "n": {"type": "integer", "default": 7},
            "line": {
                "type": "object",
                "required": ["sku"],
                "properties": {"sku": {}, "qty": {"default": 1000}},
            },
        },
    }
    tools.add("pay", effects=Effects.WRITE, input_schema=schema)
    plan = {"toolplan": 1, "steps": [{"id": "pay", "tool": "pay", "args": args}]}
    compiled = toolplan.compile_plan(plan, tools=tools.toolbox)
    assert compiled.plan is not None, compiled.diagnostics
    (step,) = effect_steps(compiled.plan, tools.toolbox)
    assert step.defaults == expected
    assert approval_text([step], "d").count("(the tool's default)") == len(expected)
    assert json.loads(json.dumps(approval_json([step], "d")))["effects"][0]["defaults"] == expected
    values = toolplan.ValueApproval()
    ended = asyncio.run(toolplan.run(compiled.plan, tools.toolbox, approval=values))
    (effect,) = effects_of(ended.waiting)
    assert effect.defaults == expected
    assert effects_text([effect]).count("(the tool's default)") == len(expected)


class Line(BaseModel):
    sku: str
    qty: int = 1
    tags: list[str] = Field(default_factory=lambda: ["urgent"])
    more: dict[str, int] = Field(default_factory=dict)
    seal: bytes = b"\xff"
    price: Decimal = Decimal("1.10")


class Odd:
    """A value that JSON cannot say, and whose repr has an address."""


def test_defaults_that_are_made_or_are_no_json_are_shown() -> None:
    @toolplan.tool(effects="write")
    def order(
        line: Line,
        copies: list[int] = Field(default_factory=lambda: [1]),  # noqa: B008
        lines: list[Line] = Field(default_factory=list),  # noqa: B008
        mark: bytes = b"\xfe",
        odd: Any = Odd(),  # noqa: B008
        note: str | None = None,
    ) -> str:
        """Order."""
        return f"{line} {copies} {lines} {mark!r} {odd} {note}"

    args = {"line": Literal({"sku": "a"})}
    made = "made when the tool is called"
    assert defaults_of(order, args) == {
        "copies": made,
        "lines": [],
        "mark": r"b'\xfe'",
        "odd": "an object of Odd",
        "line.qty": 1,
        "line.tags": made,
        "line.more": {},
        "line.seal": r"b'\xff'",
        "line.price": "1.10",
    }


@pytest.mark.parametrize(
    ("effects", "first", "second"),
    [
        (Effects.UNKNOWN, "This plan may change something", "may change something (undeclared)"),
        (Effects.WRITE, "This plan changes something", "pay, write"),
    ],
)
def test_undeclared_effects_are_not_called_sure(effects: Effects, first: str, second: str) -> None:
    tools = ScriptedTools()
    tools.add("pay", effects=effects)
    plan = {"toolplan": 1, "steps": [{"id": "pay", "tool": "pay"}]}
    compiled = toolplan.compile_plan(plan, tools=tools.toolbox)
    assert compiled.plan is not None
    lines = approval_text(effect_steps(compiled.plan, tools.toolbox), "d").splitlines()
    assert lines[0].startswith(first)
    assert second in lines[1]
