"""The form of replies of small models."""

from __future__ import annotations

import asyncio
import json

import pytest

from toolplan import App
from toolplan.path import Json
from toolplan.planners import Clarification, LLMPlanner, Question
from toolplan.planners.llm._plan_schema import plan_schema
from toolplan.schema import Schema
from toolplan.testing.model import ScriptedModel
from toolplan_demo import TOOLS

GOOD = '{"toolplan": 1, "steps": [{"id": "a", "tool": "facilities_list", "args": {}}]}'
STEP: dict[str, Json] = {"id": "shipments_list", "tool": "shipments_list"}
REFERENCE = "${facilities_list.data[*].id}"


def unbounded(schema: Json) -> list[Json]:
    """Return the lists and texts in a schema of replies that have no end."""
    if isinstance(schema, list):
        return [found for each in schema for found in unbounded(each)]
    if not isinstance(schema, dict):
        return []
    ends = {"array": "maxItems", "string": "maxLength"}.get(str(schema.get("type")))
    endless = ends is not None and ends not in schema and "pattern" not in schema
    return ([schema] if endless else []) + unbounded(list(schema.values()))


@pytest.mark.parametrize(
    ("step", "fits"),
    [
        (STEP | {"args": {"status": "rejected", "limit": 3, "ids": ["a", "b"]}}, True),
        (STEP | {"args": {"ids": REFERENCE}, "for_each": REFERENCE}, True),
        (STEP | {"args": {}, "when": {"value": REFERENCE, "is": {"minimum": 1}}}, False),
        (STEP | {"args": {}, "for_each": ["a"]}, False),
        (
            STEP | {"args": {}, "id": "shipments_list_2", "for_each": "${facilities_list.data}"},
            True,
        ),
        (STEP | {"args": {"limit": "${item.capacity_tons}"}}, True),
        (STEP | {"args": {"limit": "${id[*][*].key}"}}, False),
        (STEP | {"args": {}, "for_each": "${facilities_list.rows}"}, False),
        (STEP | {"args": {}, "id": "a"}, False),
        (STEP | {"args": {}, "on_error": "continue"}, False),
        (STEP | {"args": {"ids": ["a"] * 7}}, False),
        (STEP | {"args": {"carrier": "a" * 101}}, False),
    ],
)
def test_a_reply_of_a_small_model_comes_to_an_end(step: Json, *, fits: bool) -> None:
    model = ScriptedModel(GOOD)
    planner = LLMPlanner(model, small=True)
    asyncio.run(planner.propose(Question("x", "2025-10-12"), TOOLS, ()))
    schema = model.requests[0].schema
    assert not unbounded(schema)
    loaded = Schema.load(schema)
    assert loaded.is_valid({"toolplan": 1, "steps": [step]}) is fits
    assert not loaded.is_valid({"toolplan": 1, "steps": [step] * 7})
    assert unbounded(plan_schema(TOOLS))
    assert planner.version != LLMPlanner(model).version


def test_a_small_model_asks_back_only_after_two_plans_that_were_refused() -> None:
    """A model of 0.5 billion parameters that may ask back asks instead of planning."""
    wrong = [GOOD.replace("facilities_list", f"facility_{n}") for n in range(2)]
    back = '{"clarification": {"question": "Which?", "options": []}}'
    model = ScriptedModel([*wrong, back])
    asked = asyncio.run(App(TOOLS, LLMPlanner(model, small=True)).plan("x", today="2025-10-12"))
    assert asked.proposal == Clarification("Which?")
    forms = [Schema.load(request.schema) for request in model.requests]
    assert [form.is_valid(json.loads(back)) for form in forms] == [False, False, True]
    told = ["clarification" in str(request.messages) for request in model.requests]
    assert told == [False, False, True]
