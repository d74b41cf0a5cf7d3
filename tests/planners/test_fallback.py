"""The fallback chain of planners."""

import asyncio
import json

import pytest

from toolplan.app.app import App
from toolplan.planners import Clarification, Draft, LLMPlanner, Planner, Question, Refusal
from toolplan.planners.fallback import Escalation, FallbackChain
from toolplan.providers import ModelError
from toolplan.testing import ScriptedPlanner
from toolplan.testing.tools import ScriptedModel
from toolplan_demo import TOOLS
from toolplan_offline import OfflinePlanner

TODAY = "2025-10-12"
PLAN = '{"toolplan": 1, "steps": [{"id": "a", "tool": "facilities_list", "args": {}}]}'


def chain(*planners: Planner) -> tuple[FallbackChain, list[Escalation]]:
    escalations: list[Escalation] = []
    named = {f"planner{at}": planner for at, planner in enumerate(planners)}
    return FallbackChain(named, on_escalation=escalations.append), escalations


def test_the_cheapest_that_can_plan_does() -> None:
    model = ScriptedModel(PLAN)
    planner, escalations = chain(OfflinePlanner(), LLMPlanner(model))
    asked = asyncio.run(App(TOOLS, planner).plan("Get facilities in Berlin", today=TODAY))
    assert asked.plan is not None
    assert asked.plan.plan.metadata["planner"] == "offline"
    assert model.requests == []
    assert escalations == []


def test_each_escalation_is_reported_with_its_reason() -> None:
    model = ScriptedModel(PLAN)
    planner, escalations = chain(OfflinePlanner(), LLMPlanner(model))
    asked = asyncio.run(App(TOOLS, planner).plan("Get frobnicated facilities", today=TODAY))
    assert asked.plan is not None
    assert escalations == [Escalation("planner0", "it did not understand 'frobnicated'")]
    assert asked.plan.plan.metadata["planner"] == "llm/scripted:model"


def test_what_was_understood_is_a_draft_for_the_next_planner() -> None:
    model = ScriptedModel(PLAN)
    understood = Clarification("What?", (), ("frobnicated",), json.loads(PLAN))
    planner, _ = chain(ScriptedPlanner(understood), LLMPlanner(model))
    asyncio.run(App(TOOLS, planner).plan("Get frobnicated facilities in Berlin", today=TODAY))
    user = model.requests[0].messages[-1].text
    assert '"unexplained": ["frobnicated"]' in user
    assert '"tool": "facilities_list"' in user


def test_a_refusal_ends_the_chain() -> None:
    refused = Refusal("No tool deletes.")
    model = ScriptedModel(PLAN)
    planner, escalations = chain(ScriptedPlanner(refused), LLMPlanner(model))
    assert asyncio.run(planner.propose(Question("?", TODAY), TOOLS, ())) == refused
    assert escalations == []
    assert model.requests == []


def test_the_last_planner_has_the_last_word() -> None:
    first, last = Clarification("What?"), Clarification("Which city?")
    planner, _ = chain(ScriptedPlanner(first), ScriptedPlanner(last))
    assert asyncio.run(planner.propose(Question("?", TODAY), TOOLS, ())) == last


def test_where_the_last_model_fails_its_words_are_the_result_and_no_word_is_blamed() -> None:
    down = LLMPlanner(ScriptedModel([ModelError("llm-unavailable", "It is down.")]))
    for planners in ([ScriptedPlanner(Clarification("What is 'odd'?"))], []):
        planner, _ = chain(*planners, down)
        with pytest.raises(ModelError, match=r"It is down\."):
            asyncio.run(planner.propose(Question("?", TODAY), TOOLS, ()))
    twice, escalations = chain(down, ScriptedPlanner(Draft(PLAN)))
    assert isinstance(asyncio.run(twice.propose(Question("?", TODAY), TOOLS, ())), Draft)
    assert escalations == [Escalation("planner0", "It is down.")]


def test_a_draft_that_failed_is_fixed_by_the_next_planner() -> None:
    bad = Draft(PLAN.replace("facilities_list", "nothing"))
    model = ScriptedModel(PLAN)
    tried_once = ScriptedPlanner(bad, Clarification("Tried."))
    planner, escalations = chain(tried_once, LLMPlanner(model))
    assert asyncio.run(App(TOOLS, planner).plan("?", today=TODAY)).plan is not None
    assert "`unknown-tool`" in model.requests[0].messages[-1].text
    assert escalations == [Escalation("planner0", "Tried.")]


def test_a_chain_has_planners() -> None:
    with pytest.raises(ValueError, match="at least one planner"):
        FallbackChain({})
