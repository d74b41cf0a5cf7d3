"""Planners one above the other."""

from __future__ import annotations

import asyncio

import pytest

from toolplan import Session
from toolplan.demo import TOOLS
from toolplan.planners import (
    Clarification,
    Draft,
    GroundedPlanner,
    LLMPlanner,
    Planner,
    Question,
    Refusal,
)
from toolplan.planners.fallback import Escalation, FallbackChain, Rung
from toolplan.providers import ModelError
from toolplan.testing import ScriptedPlanner
from toolplan.testing.model import ScriptedModel

TODAY = "2025-10-12"
PLAN = '{"toolplan": 1, "steps": [{"id": "a", "tool": "facilities_list", "args": {}}]}'


def ladder(*planners: Planner) -> tuple[FallbackChain, list[Escalation]]:
    told: list[Escalation] = []
    rungs = [Rung(f"rung{at}", planner) for at, planner in enumerate(planners)]
    return FallbackChain(rungs, on_step_up=told.append), told


def test_the_cheapest_that_can_plan_does() -> None:
    model = ScriptedModel(PLAN)
    climbed, told = ladder(GroundedPlanner(), LLMPlanner(model))
    asked = asyncio.run(Session(TOOLS, climbed).plan("Get facilities in Berlin", today=TODAY))
    assert asked.plan is not None
    assert asked.plan.plan.metadata["planner"] == "grounded"
    assert model.requests == []
    assert told == []


def test_each_step_up_is_told_with_its_reason() -> None:
    model = ScriptedModel(PLAN)
    climbed, told = ladder(GroundedPlanner(), LLMPlanner(model))
    asked = asyncio.run(Session(TOOLS, climbed).plan("Get frobnicated facilities", today=TODAY))
    assert asked.plan is not None
    assert told == [Escalation("rung0", "nothing accounts for 'frobnicated'")]
    assert asked.plan.plan.metadata["planner"] == "llm/scripted:model"


def test_what_was_understood_goes_up_as_a_draft() -> None:
    model = ScriptedModel(PLAN)
    climbed, _ = ladder(GroundedPlanner(), LLMPlanner(model))
    asyncio.run(Session(TOOLS, climbed).plan("Get frobnicated facilities in Berlin", today=TODAY))
    user = model.requests[0].messages[-1].text
    assert '"unexplained": ["frobnicated"]' in user
    assert '"tool": "facilities_list"' in user


def test_a_refusal_ends_the_climb() -> None:
    refused = Refusal("No tool deletes.")
    model = ScriptedModel(PLAN)
    climbed, told = ladder(ScriptedPlanner(refused), LLMPlanner(model))
    assert asyncio.run(climbed.propose(Question("?", TODAY), TOOLS, ())) == refused
    assert told == []
    assert model.requests == []


def test_the_highest_rung_has_the_last_word() -> None:
    first, last = Clarification("What?"), Clarification("Which city?")
    climbed, _ = ladder(ScriptedPlanner(first), ScriptedPlanner(last))
    assert asyncio.run(climbed.propose(Question("?", TODAY), TOOLS, ())) == last


def test_where_the_model_fails_the_cheaper_question_stands() -> None:
    first = Clarification("What?")
    down = LLMPlanner(ScriptedModel([ModelError("llm-unavailable", "It is down.")]))
    climbed, told = ladder(ScriptedPlanner(first), down)
    assert asyncio.run(climbed.propose(Question("?", TODAY), TOOLS, ())) == first
    assert told[-1] == Escalation("rung1", "It is down.")
    alone, _ = ladder(down)
    with pytest.raises(ModelError):
        asyncio.run(alone.propose(Question("?", TODAY), TOOLS, ()))
    twice, told = ladder(down, ScriptedPlanner(Draft(PLAN)))
    assert isinstance(asyncio.run(twice.propose(Question("?", TODAY), TOOLS, ())), Draft)
    assert told == [Escalation("rung0", "It is down.")]


def test_a_draft_that_failed_is_mended_by_the_rung_above() -> None:
    bad = Draft(PLAN.replace("facilities_list", "nothing"))
    model = ScriptedModel(PLAN)
    tried_once = ScriptedPlanner(bad, Clarification("Tried."))
    climbed, told = ladder(tried_once, LLMPlanner(model))
    asked = asyncio.run(Session(TOOLS, climbed).plan("?", today=TODAY))
    assert asked.plan is not None
    assert "`unknown-tool`" in model.requests[0].messages[-1].text
    assert told == [Escalation("rung0", "Tried.")]


def test_a_ladder_has_rungs() -> None:
    with pytest.raises(ValueError, match="rung"):
        FallbackChain([])
