"""Questions kept as data with their plans, over two domains; and those that must not be planned."""

from __future__ import annotations

import asyncio

import pytest

from tests.planners.library_catalogue import OBJECTS, library
from tests.planners.planned import (
    TODAY,
    Planned,
    Unplanned,
    demo,
    demo_without_sql,
    document,
    kind,
    planned,
    propose,
    steps,
    unplanned,
)
from toolplan.compiler import compile_plan
from toolplan.path import Json
from toolplan.planners import Attempt, Clarification, Draft, GroundedPlanner, Question
from toolplan.tools import Toolbox

DEMO = planned("demo")
LIBRARY = planned("library")
UNPLANNED = unplanned("unplanned")
_LIBRARY = library()


def _name(row: Planned | Unplanned) -> str:
    return row["question"]


@pytest.mark.parametrize("row", DEMO, ids=_name)
def test_demo_question_gives_its_plan(row: Planned) -> None:
    assert steps(row["question"]) == row["steps"]


@pytest.mark.parametrize("row", LIBRARY, ids=_name)
def test_library_question_gives_its_plan(row: Planned) -> None:
    assert steps(row["question"], tools=_LIBRARY) == row["steps"]


def test_there_are_enough_questions_over_all_tools() -> None:
    used = {str(step["tool"]) for row in DEMO for step in row["steps"]}
    listed = {name for name in demo() if "list" in name or "report" in name}
    assert len(DEMO) >= 60
    assert len(LIBRARY) >= 30
    assert len(OBJECTS) >= 6
    assert listed <= used


@pytest.mark.parametrize("row", DEMO[::8], ids=_name)
def test_demo_plan_compiles(row: Planned) -> None:
    """Everything that is proposed passes every check, statements in SQL included."""
    _assert_compiles(row["question"], demo())


@pytest.mark.parametrize("row", LIBRARY[::3], ids=_name)
def test_library_plan_compiles(row: Planned) -> None:
    _assert_compiles(row["question"], _LIBRARY)


def _assert_compiles(question: str, tools: Toolbox) -> None:
    draft = propose(question, tools=tools)
    assert isinstance(draft, Draft)
    compiled = compile_plan(draft.text, tools=tools)
    assert compiled.plan is not None
    assert [each.message for each in compiled.diagnostics if each.blocks] == []


@pytest.mark.parametrize("row", UNPLANNED, ids=_name)
def test_question_is_not_planned(row: Unplanned) -> None:
    """F000-41 among them: nothing is guessed, and what was not understood is named."""
    proposal = propose(row["question"])
    assert kind(proposal) == row["kind"]
    if isinstance(proposal, Clarification):
        assert list(proposal.unexplained) == row["unexplained"]
        assert proposal.question


def test_there_are_enough_questions_that_must_not_be_planned() -> None:
    assert len(UNPLANNED) >= 40


def test_what_was_understood_comes_with_the_question_back() -> None:
    proposal = propose("rejected shipments near Berlin")
    assert isinstance(proposal, Clarification)
    partial = proposal.partial_plan
    assert isinstance(partial, dict)
    (step,) = partial["steps"] if isinstance(partial["steps"], list) else []
    assert isinstance(step, dict)
    assert step["args"] == {"status": "rejected"}


def test_a_slip_is_asked_about_with_what_was_meant() -> None:
    proposal = propose("shipmnts from last week")
    assert isinstance(proposal, Clarification)
    assert proposal.unexplained == ("shipmnts",)
    assert "shipment" in proposal.options


@pytest.mark.parametrize(
    "question",
    [
        "how many shipments were rejected",
        "shipments by carrier",
        "Which carriers have the highest contamination rates?",
        "shipments that were not rejected",
        "heaviest 10 shipments",
        "facilities without inspections",
    ],
)
def test_computing_without_the_tool_for_it_is_not_faked(question: str) -> None:
    proposal = propose(question, tools=demo_without_sql())
    assert isinstance(proposal, Clarification)
    assert "sql" in proposal.question


def test_missing_required_arguments_are_named() -> None:
    proposal = propose("create a shipment")
    assert isinstance(proposal, Clarification)
    assert "facility_id" in proposal.question
    assert "weight_kg" in proposal.question


def test_a_draft_that_was_tried_is_not_proposed_again() -> None:
    question = Question("rejected shipments", TODAY)
    planner = GroundedPlanner()
    draft = asyncio.run(planner.propose(question, demo(), ()))
    assert isinstance(draft, Draft)
    again = asyncio.run(planner.propose(question, demo(), [Attempt(draft)]))
    assert isinstance(again, Clarification)
    assert again.partial_plan is not None


@pytest.mark.parametrize("row", DEMO[::3], ids=_name)
def test_every_argument_has_its_reason(row: Planned) -> None:
    found = document(row["question"])
    metadata = found["metadata"]
    assert isinstance(metadata, dict)
    provenance = metadata["provenance"]
    assert isinstance(provenance, dict)
    wanted = {
        f"/steps/{at}/args/{name}"
        for at, step in enumerate(row["steps"])
        for name in _arguments(step)
    }
    assert wanted <= provenance.keys()
    words = row["question"].split()
    for reason in provenance.values():
        assert isinstance(reason, dict)
        span = reason.get("words")
        if isinstance(span, list):
            first, last = span
            assert isinstance(first, int)
            assert isinstance(last, int)
            assert reason["text"] == " ".join(words[first : last + 1])
        else:
            assert "default" in reason or "ref" in reason


def _arguments(step: dict[str, Json]) -> list[str]:
    given = step.get("args", {})
    return list(given) if isinstance(given, dict) else []
