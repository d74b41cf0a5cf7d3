"""Times of things that can lie ahead, and names of kinds in the singular."""

import json
from typing import Any

import pytest

from benchmarks.questions.blind.frozen import content, tools
from toolplan.planners import Clarification, Draft, Question
from toolplan_offline import OfflinePlanner

TODAY = content("vet").today.isoformat()  # Wednesday, 2026-03-18
PLANNER = OfflinePlanner()


def steps(question: str, *, hints: bool = True) -> list[dict[str, Any]]:
    proposal = PLANNER.plan(Question(question, TODAY), tools("vet", hints=hints))
    assert isinstance(proposal, Draft), proposal
    return json.loads(proposal.text)["steps"]


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("appointments this week", "2026-03-16", "2026-03-22"),
        ("appointments this month", "2026-03-01", "2026-03-31"),
        ("this month's appointments", "2026-03-01", "2026-03-31"),
        ("appointments this quarter", "2026-01-01", "2026-03-31"),
        ("cancelled appointments this year", "2026-01-01", "2026-12-31"),
        ("how many appointments are there this year", "2026-01-01", "2026-12-31"),
        ("how many appointments were there this year", "2026-01-01", "2026-03-18"),
        ("how many appointments did we have this month", "2026-03-01", "2026-03-18"),
        ("which appointments were booked this month", "2026-03-01", "2026-03-31"),
        ("appointments this month so far", "2026-03-01", "2026-03-18"),
        ("appointments month to date", "2026-03-01", "2026-03-18"),
        ("appointments so far this year", "2026-01-01", "2026-03-18"),
        ("appointments in February", "2026-02-01", "2026-02-28"),
        ("appointments on 8 April 2026", "2026-04-08", "2026-04-08"),
        ("how many appointments were there on 8 April", "2025-04-08", "2025-04-08"),
        ("invoices this month", "2026-03-01", "2026-03-18"),
        ("invoices on 8 April", "2025-04-08", "2025-04-08"),
    ],
)
def test_a_running_period_of_what_is_booked_is_all_of_it(
    question: str, first: str, last: str
) -> None:
    args = steps(question)[0]["args"]
    assert (args["date_from"], args["date_to"]) == (first, last)


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("appointments on 8 April", "2026-04-08"),
        ("appointments on April 8th", "2026-04-08"),
        ("appointments in April", "2026-04-01 .. 2026-04-30"),
        ("appointments in May", "2026-05-01 .. 2026-05-31"),
        ("appointments in Q2", "2026-04-01 .. 2026-06-30"),
        ("appointments after 8 April", "2026-04-08"),
        ("appointments until 8 April", "2026-04-08"),
        ("appointments from 8 April to 12 April", "2026-04-12"),
        ("appointments on Friday", "2026-03-20"),
        ("appointments on Monday", "2026-03-23"),
        ("appointments on the 5th", "2026-04-05"),
    ],
)
@pytest.mark.parametrize("hints", [True, False])
def test_a_time_without_a_year_that_can_lie_ahead_is_asked(
    question: str, days: str, hints: bool
) -> None:
    proposal = PLANNER.plan(Question(question, TODAY), tools("vet", hints=hints))
    assert isinstance(proposal, Clarification), proposal
    assert f"Is {days} meant, or the last one before today?" in proposal.question


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Heaviest dog?", "<= 1"),
        ("the lightest cat", "<= 1"),
        ("latest surgery", None),
        ("heaviest dogs", None),
        ("the 2 heaviest dogs", "<= 2"),
        ("two heaviest rabbits", "<= 2"),
    ],
)
def test_a_superlative_of_one_kind_gives_one(question: str, first: str | None) -> None:
    sql = next((s["args"]["sql"] for s in steps(question) if s["tool"] == "sql"), "")
    assert (first or "") in sql
    assert first or "QUALIFY" not in sql or "latest" in question


@pytest.mark.parametrize(
    "question",
    [
        "Appointments of vets at the Northgate branch",
        "How many appointments per vet",
        "appointments of general vets",
    ],
)
def test_an_identity_and_the_list_of_it_are_one_field(question: str) -> None:
    assert steps(question, hints=False)


@pytest.mark.parametrize(
    "question",
    ["What will the number of appointments be next week?", "Will V3 have appointments tomorrow?"],
)
def test_what_will_be_is_asked_back(question: str) -> None:
    proposal = PLANNER.plan(Question(question, TODAY), tools("vet", hints=True))
    assert isinstance(proposal, Clarification)
    assert "ill" in str(proposal.unexplained)
