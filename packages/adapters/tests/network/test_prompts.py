"""Thirty prompts, written before the reader that reaches them: class, agents, tools, trend."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NotRequired, TypedDict

import pytest

from toolplan import App, AskResult
from toolplan.plan.path import Json
from toolplan.planners import Clarification
from toolplan_adapters.contract import ContractPlanner
from toolplan_adapters.network import NETWORK_CONTRACTS, NETWORK_TOOLS

TODAY = "2026-11-01"
PLANNER = ContractPlanner(NETWORK_CONTRACTS)


class Case(TypedDict):
    """A prompt and what it is to lead to; `after` is what was asked before."""

    id: str
    about: str
    prompt: str
    after: NotRequired[str]
    intent_class: str
    agents: list[str]
    tools: list[str]
    entities: dict[str, list[str]]
    trend: NotRequired[bool]


CASES: list[Case] = json.loads((Path(__file__).parent / "prompts.json").read_text("utf-8"))


def test_the_prompts_are_of_all_kinds() -> None:
    """F001-29: thirty of them; how many of each class."""
    assert len({case["prompt"] for case in CASES}) == len(CASES) == 30
    assert Counter(case["intent_class"] for case in CASES) == {
        "cbp_assessment": 20,
        "cbp_expert_insights": 3,
        "cbp_generic": 3,
        "security_assessment": 2,
        "unknown_or_needs_clarification": 2,
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_prompt_leads_to_its_agents_and_tools(case: Case) -> None:
    """F001-29, F001-6, F001-7, F001-10, F001-27, F001-28, C-19: all under `auto`."""
    history: list[Json] = []
    if "after" in case:
        history.append({"intent": PLANNER.reader.read(case["after"])})
    conversation: Json = {"history": history}
    intent = PLANNER.reader.read(case["prompt"], conversation)
    assert intent["intent_class"] == case["intent_class"]
    assert _entities(intent) == case["entities"]
    asked = asyncio.run(
        App(NETWORK_TOOLS, PLANNER).ask(
            case["prompt"], today=TODAY, context={"state": {"conversation": conversation}}
        )
    )
    if not case["agents"]:
        assert isinstance(asked.proposal, Clarification)
        assert asked.run is None
        return
    planned = PLANNER.plan({"intent": intent})["plan"]
    assert isinstance(planned, dict)
    assert planned["routing"] == case["agents"]
    assert asked.run is not None
    assert asked.run.succeeded
    assert _tools(asked) == case["tools"]
    outputs = list(asked.run.steps.values())[-1].output
    assert isinstance(outputs, dict)
    summary = outputs["summary"]
    assert isinstance(summary, dict)
    assert ("trend" in summary) is case.get("trend", False)


def _entities(intent: Mapping[str, Json]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    entities = intent["entities"]
    assert isinstance(entities, list)
    for each in entities:
        assert isinstance(each, dict)
        found.setdefault(str(each["type"]), []).append(str(each["value"]))
    return found


def _tools(asked: AskResult) -> list[str]:
    """Return the tools that the data agent has asked, each once, in order."""
    assert asked.run is not None
    found: dict[str, None] = {}
    for step in asked.run.steps.values():
        output = step.output
        context = output.get("assessment_context") if isinstance(output, dict) else None
        sources = context.get("provenance") if isinstance(context, dict) else None
        for each in sources if isinstance(sources, list) else []:
            assert isinstance(each, dict)
            found[str(each["tool"])] = None
    return list(found)
