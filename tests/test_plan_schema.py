"""The JSON Schema of plans: what it refuses is refused by the reader too, and the other way."""

import copy
from collections.abc import Callable
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given

from tests.plans_strategy import plans
from toolplan.plan.canonical import dump, json_schema, load
from toolplan.plan.model import Plan

VALIDATOR = jsonschema_rs.Draft202012Validator(json_schema())
PLAN: dict[str, Any] = {
    "toolplan": 1,
    "steps": [
        {"id": "a", "tool": "t", "args": {"x": "${b}"}, "after": ["b"], "retries": 1},
        {"id": "b", "tool": "t", "when": {"value": "${a}", "is": True}, "timeout_s": 0.5},
    ],
    "output": ["${a}"],
    "metadata": {"title": "x"},
}


@given(plan=plans())
def test_every_plan_fits(plan: Plan) -> None:
    if plan.steps:
        assert VALIDATOR.is_valid(dump(plan))


WRONG: dict[str, Callable[[dict[str, Any]], object]] = {
    "no steps": lambda plan: plan.pop("steps"),
    "empty": lambda plan: plan.update(steps=[]),
    "a field too many": lambda plan: plan.update(note="x"),
    "a field of a step too many": lambda plan: plan["steps"][0].update(timout_s=3),
    "another version": lambda plan: plan.update(toolplan=2),
    "metadata": lambda plan: plan.update(metadata=[]),
    "no id": lambda plan: plan["steps"][0].pop("id"),
    "a bad id": lambda plan: plan["steps"][0].update(id="-a"),
    "a long id": lambda plan: plan["steps"][0].update(id="a" * 65),
    "a reserved id": lambda plan: plan["steps"][0].update(id="item"),
    "a line break in an id": lambda plan: plan["steps"][0].update(id="a\n"),
    "no tool": lambda plan: plan["steps"][0].pop("tool"),
    "an empty tool": lambda plan: plan["steps"][0].update(tool=""),
    "args": lambda plan: plan["steps"][0].update(args=[]),
    "after": lambda plan: plan["steps"][0].update(after="b"),
    "in after": lambda plan: plan["steps"][0].update(after=[1]),
    "max_items": lambda plan: plan["steps"][0].update(max_items=0),
    "retries": lambda plan: plan["steps"][0].update(retries=101),
    "retries as text": lambda plan: plan["steps"][0].update(retries="1"),
    "timeout": lambda plan: plan["steps"][0].update(timeout_s=0),
    "on_error": lambda plan: plan["steps"][0].update(on_error="stop"),
    "when without is": lambda plan: plan["steps"][1]["when"].pop("is"),
    "when with more": lambda plan: plan["steps"][1]["when"].update(schema={}),
    "when is text": lambda plan: plan["steps"][1].update(when="${a}"),
    "thought": lambda plan: plan["steps"][0].update(thought=1),
    "a step that is text": lambda plan: plan["steps"].append("a"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_the_reader_refuses_does_not_fit(name: str) -> None:
    assert VALIDATOR.is_valid(PLAN)
    assert not load(PLAN).diagnostics
    plan = copy.deepcopy(PLAN)
    WRONG[name](plan)
    assert not VALIDATOR.is_valid(plan)
    assert load(plan).diagnostics
