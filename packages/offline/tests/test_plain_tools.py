"""Questions over plain functions, where a period or a number could belong to two things."""

from __future__ import annotations

import json
from datetime import date
from typing import Literal

import pytest
from typing_extensions import TypedDict

import toolplan
from toolplan.planners import Clarification, Draft, Question
from toolplan_offline import OfflinePlanner
from toolplan_sql import sql_tool


class Boat(TypedDict):
    boat_id: str
    kind: Literal["sail", "motor"]
    berth_fee: float
    registered_at: date


class Repair(TypedDict):
    repair_id: str
    boat_id: str
    severity: Literal["minor", "major"]
    hours: float
    opened_at: date


class Survey(TypedDict):
    survey_id: str
    boat_id: str
    ordered_at: date
    closed_at: date


@toolplan.tool(effects="read")
def list_boats(kind: Literal["sail", "motor"] | None = None) -> list[Boat]:
    """Return the boats."""
    return []


@toolplan.tool(effects="read")
def list_repairs(
    severity: Literal["minor", "major"] | None = None,
    opened_after: date | None = None,
    opened_before: date | None = None,
) -> list[Repair]:
    """Return the repairs."""
    return []


@toolplan.tool(effects="read")
def list_surveys() -> list[Survey]:
    """Return the surveys."""
    return []


TOOLS = toolplan.Toolbox([list_boats, list_repairs, list_surveys]).with_tools(sql_tool())


async def proposed(question: str) -> Draft | Clarification:
    asked = Question(question, today="2025-10-12")
    proposal = await OfflinePlanner().propose(asked, TOOLS, ())
    assert isinstance(proposal, Draft | Clarification)
    return proposal


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("repairs on motor boats last month", ("opened at", "registered at")),
        ("boats with major repairs this month", ("registered at", "opened at")),
        ("boats with surveys last month", ("ordered at or closed at",)),
        ("surveys of motor boats last month", ("ordered at or closed at",)),
        ("hours of repairs by severity", ("average hours", "total hours")),
        ("berth fee of boats by kind", ("average berth fee", "total berth fee")),
    ],
)
async def test_what_could_belong_to_either_is_asked(question: str, words: tuple[str, ...]) -> None:
    asked = await proposed(question)
    assert isinstance(asked, Clarification), question
    assert [word for word in words if word not in asked.question] == []


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("repairs last month", "opened_at >= '2025-09-01' AND opened_at <= '2025-09-30'"),
        ("total hours of repairs per severity", "sum(repairs.hours)"),
        ("average berth fee of boats per kind", "avg(boats.berth_fee)"),
        ("total hours per boat", "SELECT repairs.boat_id, sum(repairs.hours)"),
        ("repairs per boat", "SELECT repairs.boat_id, count(*)"),
        ("repairs per boat, fewest first", "ORDER BY count ASC"),
        ("average repair", "avg(repairs.hours)"),
        ("total of all major repairs", "sum(repairs.hours)"),
        ("largest repair", "ORDER BY hours DESC"),
        ("smallest repairs", "ORDER BY hours ASC"),
    ],
)
async def test_what_says_it_is_computed(question: str, first: str) -> None:
    draft = await proposed(question)
    assert isinstance(draft, Draft), question
    steps = json.loads(draft.text)["steps"]
    assert first in steps[-1]["args"]["sql"]
    assert "opened_after" not in json.dumps(steps)


@pytest.mark.parametrize(
    ("question", "condition"),
    [
        ("boats registered in 2024", "registered_at >= '2024-01-01'"),
        ("boats that were registered before May 2024", "registered_at <= '2024-04-30'"),
        ("surveys closed in 2024", "closed_at >= '2024-01-01' AND closed_at <= '2024-12-31'"),
        ("surveys ordered after 1 September 2025", "ordered_at >= '2025-09-02'"),
        ("show me boat B7", "lower(boat_id) = 'b7'"),
        ("repairs of boat B7", "boat_id IN ('B7')"),
        ("boats without repairs", "boat_id NOT IN (SELECT boat_id FROM repairs"),
    ],
)
async def test_conditions_of_plain_rows(question: str, condition: str) -> None:
    draft = await proposed(question)
    assert isinstance(draft, Draft), question
    assert condition in json.loads(draft.text)["steps"][-1]["args"]["sql"]


async def test_the_plural_of_a_value_names_its_things() -> None:
    draft = await proposed("motors")
    assert isinstance(draft, Draft)
    (step,) = json.loads(draft.text)["steps"]
    assert (step["tool"], step["args"]) == ("list_boats", {"kind": "motor"})


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("total repairs", "how they go together"),  # their number, or their hours?
        ("largest surveys", "how they go together"),  # they have no number
        ("boats never repaired in 2024", "Which is meant"),  # the boats of 2024, or repairs then?
        ("surveys of boats in 2024", "Which date is meant"),
    ],
)
async def test_what_two_things_can_be_meant_by_is_asked(question: str, asked: str) -> None:
    proposal = await proposed(question)
    assert isinstance(proposal, Clarification), question
    assert asked in proposal.question


@pytest.mark.parametrize(
    "question",
    ["live boats", "list live boats", "working boats", "boats that work", "how many based boats"],
)
async def test_a_verb_of_a_place_is_no_filler(question: str) -> None:
    """No word is dropped: without a place behind it, the verb restricts."""
    assert isinstance(await proposed(question), Clarification)


@pytest.mark.parametrize(
    "question",
    [
        "existing boats",
        "submitted surveys",
        "the done repairs",
        "how many recorded surveys",
        "made boats",
    ],
)
async def test_a_participle_before_a_noun_is_no_filler(question: str) -> None:
    """Which state it means is in no field; behind the noun it says that there are any."""
    assert isinstance(await proposed(question), Clarification)


@pytest.mark.parametrize(
    "question",
    ["boats on record", "repairs done so far", "surveys submitted so far", "boats found"],
)
async def test_a_participle_behind_a_noun_says_that_it_exists(question: str) -> None:
    assert isinstance(await proposed(question), Draft)
