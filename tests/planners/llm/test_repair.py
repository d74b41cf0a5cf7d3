"""What a refused plan changes in the next request, and what stands where no plan passes."""

import asyncio
import json

from toolplan.app.app import App
from toolplan.plan.path import Json
from toolplan.planners import Draft, LLMPlanner
from toolplan.providers import ModelError
from toolplan.testing.tools import ScriptedModel
from toolplan_demo import TOOLS

TODAY = "2025-10-12"
STEPS: list[Json] = [
    {"id": "f", "tool": "facilities_list", "args": {"location": "Berlin"}},
    {"id": "s", "tool": "shipments_list", "args": {"facility_id": "${f.data[*].id}"}},
]
GOOD = json.dumps({"toolplan": 1, "steps": STEPS})
BAD = GOOD.replace("facilities_list", "facility_list_all").replace('"facility_id', '"facilities')


def test_the_same_plan_twice_is_no_progress() -> None:
    """L16: compared by what it says, not by its layout."""
    again = json.dumps(json.loads(BAD), indent=4)
    model = ScriptedModel([BAD, again])
    asked = asyncio.run(App(TOOLS, LLMPlanner(model)).plan("what?", today=TODAY))
    assert asked.plan is None
    assert asked.fault is not None
    assert asked.fault.code == "llm-no-progress"
    assert asked.reason.startswith("scripted:model repeated a plan that was refused.")
    assert "unknown-tool" in asked.reason
    assert [each.temperature for each in model.requests] == [0.0, 0.0, 0.7]


def test_a_repeated_plan_is_asked_for_once_more_at_another_temperature() -> None:
    model = ScriptedModel([BAD, BAD, GOOD])
    asked = asyncio.run(App(TOOLS, LLMPlanner(model, requests=3)).plan("what?", today=TODAY))
    assert asked.plan is not None
    assert asked.fault is None
    assert len(model.requests) == 3


def test_the_bound_of_requests_holds_for_repeated_plans_too() -> None:
    model = ScriptedModel([BAD])
    asked = asyncio.run(App(TOOLS, LLMPlanner(model, requests=2)).plan("what?", today=TODAY))
    assert asked.fault is not None
    assert len(model.requests) == 2


def plan_of(*steps: Json) -> str:
    return json.dumps({"toolplan": 1, "steps": [*steps]})


def test_after_the_bound_the_best_draft_stands_with_all_its_problems() -> None:
    """The best draft is not always the last: a repair of one fault can add three."""
    nearly: Json = {"id": "a", "tool": "facilities_list", "args": {"town": "Berlin"}}
    worse: Json = {"id": "b", "tool": "shipments", "args": {"x": "${z.id}"}}
    drafts = [plan_of(nearly, worse), plan_of(nearly), plan_of(worse, worse), "no plan at all"]
    model = ScriptedModel(drafts)
    asked = asyncio.run(App(TOOLS, LLMPlanner(model), attempts=4).plan("what?", today=TODAY))
    assert asked.proposal == Draft(drafts[1])
    assert asked.compiled is not None
    assert [each.code for each in asked.compiled.diagnostics if each.blocks] == ["unknown-argument"]
    assert "unknown-argument" in asked.reason
    assert len(asked.attempts) == 4


def test_an_endpoint_that_fails_after_a_draft_is_quoted_before_the_problems() -> None:
    down = ModelError("llm-unavailable", "m answered 503: no capacity.", "Ask again later.")
    asked = asyncio.run(App(TOOLS, LLMPlanner(ScriptedModel([BAD, down]))).plan("?", today=TODAY))
    assert asked.fault is down
    assert asked.reason.startswith("m answered 503: no capacity. Ask again later.\n")
    assert "unknown-tool" in asked.reason


def test_the_cause_of_other_faults_is_told_first_with_the_smallest_right_form() -> None:
    steps: list[Json] = [
        {"id": "a", "tool": "facilities_list", "args": {"location": "${b.data[*].city}"}},
        {"id": "b", "tool": "facility_lists", "args": {}},
    ]
    model = ScriptedModel([plan_of(*steps), GOOD])
    asyncio.run(App(TOOLS, LLMPlanner(model)).plan("what?", today=TODAY))
    feedback = model.requests[1].messages[-1].text
    assert "1. `unknown-tool` at /steps/1/tool" in feedback
    outside: Json = {"id": "a", "tool": "facilities_list", "args": {"location": "${item.city}"}}
    model = ScriptedModel([plan_of(outside), GOOD])
    asyncio.run(App(TOOLS, LLMPlanner(model)).plan("what?", today=TODAY))
    feedback = model.requests[1].messages[-1].text
    assert 'For example: "for_each": "${a.rows}", "args": {"id": "${item.id}"}' in feedback
