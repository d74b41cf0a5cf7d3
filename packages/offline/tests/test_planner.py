"""What the planner without a model answers, asks back, and offers."""

from __future__ import annotations

import json
from datetime import date
from functools import cache
from typing import Any

import pytest

from toolplan import Toolbox, compile_plan
from toolplan.demo import demo_tools
from toolplan.planners import Clarification, Draft, Proposal, Question
from toolplan.sources.sql import sql_tool
from toolplan_offline import OfflinePlanner

TODAY = "2025-10-12"
PLANNER = OfflinePlanner()


@cache
def demo() -> Toolbox:
    tools = demo_tools(date.fromisoformat(TODAY), rows=50)
    return tools if "sql" in tools else tools.with_tools(sql_tool())


def ask(question: str, context: Any = None) -> Proposal:
    return PLANNER.plan(Question(question, TODAY, context), demo())


def calls(question: str, context: Any = None) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls of the plan for a question; it passes the check."""
    proposal = ask(question, context)
    assert isinstance(proposal, Draft), proposal
    assert compile_plan(proposal.text, tools=demo()).plan is not None
    return [(s["tool"], s.get("args", {})) for s in json.loads(proposal.text)["steps"]]


def asked(question: str) -> Clarification:
    proposal = ask(question)
    assert isinstance(proposal, Clarification), proposal
    return proposal


# the worked examples of seeds 000 and 003
SEEDS = {
    "Get facilities in Berlin": [("facilities_list", {"location": "Berlin"})],
    "Get shipments from last week": [
        ("shipments_list", {"date_from": "2025-10-05", "date_to": "2025-10-12"})
    ],
    "Show me contaminated shipments that were rejected": [
        ("shipments_list", {"status": "rejected", "has_contaminants": True})
    ],
    "Get contaminants detected in Hannover": [
        ("facilities_list", {"location": "Hannover"}),
        ("contaminants_list", {"facility_id": "${facilities.data[*].id}"}),
    ],
    "Get contaminated shipments and their contaminant details": [
        ("shipments_list", {"has_contaminants": True}),
        ("contaminants_list", {"shipment_ids": "${shipments.data[*].id}"}),
    ],
    "Get shipments, facilities, and inspections": [
        ("shipments_list", {}),
        ("facilities_list", {}),
        ("inspections_list", {}),
    ],
}


@pytest.mark.parametrize("question", SEEDS)
def test_the_questions_of_the_seeds_have_their_plans(question: str) -> None:
    assert calls(question) == SEEDS[question]


def test_each_argument_says_which_words_or_step_it_comes_from() -> None:
    proposal = ask("Get contaminants detected in Hannover")
    assert isinstance(proposal, Draft)
    metadata = json.loads(proposal.text)["metadata"]
    assert metadata["planner"] == "offline"
    assert metadata["provenance"] == {
        "/steps/0/args/location": {"words": [4, 4], "text": "Hannover"},
        "/steps/1/args/facility_id": {"ref": "facilities"},
    }


def test_a_word_that_is_not_understood_is_named() -> None:
    assert asked("Get purple shipments").unexplained == ("purple",)
    assert asked("Get purple shipments with frills").unexplained == ("purple", "frills")


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("rejectd shipments", "rejected shipments"),
        ("shipmnets of plastic waste", "shipments of plastic waste"),
        ("inspections in Octobr", "inspections in october"),
    ],
)
def test_a_slip_of_the_finger_is_offered_and_never_taken(slip: str, meant: str) -> None:
    offered = asked(slip)
    assert [option.lower() for option in offered.options] == [meant]
    assert len(offered.plans) == 1
