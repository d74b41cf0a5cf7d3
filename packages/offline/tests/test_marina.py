"""Things that are alike: kinds of several things, two dates, a name that can be of either."""

from __future__ import annotations

import json
from datetime import date
from typing import Any, Literal

import pytest
from typing_extensions import TypedDict

import toolplan
from toolplan.compiler import compile_plan
from toolplan.planners import Clarification, Draft, Question
from toolplan_offline import OfflinePlanner
from toolplan_sql import sql_tool

Status = Literal["open", "finished"]


class Owner(TypedDict):
    id: str
    name: str
    country: str


class Boat(TypedDict):
    id: str
    owner_id: str
    kind: Literal["trawler", "yacht"]
    home_port: str


class Job(TypedDict):
    id: str
    boat_id: str
    kind: Literal["engine", "hull"]
    status: Status
    cost_eur: float
    opened: date
    finished: date | None


class Sale(TypedDict):
    id: str
    boat_id: str
    date: str
    litres: float


class Stay(TypedDict):
    id: str
    boat_id: str
    nights: int


@toolplan.tool(effects="read")
def list_owners(country: str | None = None) -> list[Owner]:
    """Return the owners."""
    return []


@toolplan.tool(effects="read")
def list_boats(
    owner_id: str | None = None, kind: str | None = None, home_port: str | None = None
) -> list[Boat]:
    """Return the boats."""
    return []


@toolplan.tool(effects="read")
def list_jobs(
    boat_id: str | None = None, status: Status | None = None, opened_since: date | None = None
) -> list[Job]:
    """Return the jobs."""
    return []


@toolplan.tool(effects="read")
def list_sales(
    boat_id: str | None = None, date_from: date | None = None, date_to: date | None = None
) -> list[Sale]:
    """Return the sales."""
    return []


@toolplan.tool(effects="read")
def list_stays(
    boat_id: str | None = None, date_from: date | None = None, date_to: date | None = None
) -> list[Stay]:
    """Return the stays."""
    return []


TOOLS = toolplan.Toolbox([list_owners, list_boats, list_jobs, list_sales, list_stays, sql_tool()])
PLANNER = OfflinePlanner()


def statement(question: str) -> str:
    """Return the last statement of the plan; the plan passes its check."""
    proposal = PLANNER.plan(Question(question, "2026-11-28"), TOOLS)
    assert isinstance(proposal, Draft), proposal
    compiled = compile_plan(proposal.text, tools=TOOLS)
    assert compiled.plan is not None, compiled.diagnostics
    steps: list[dict[str, Any]] = json.loads(proposal.text)["steps"]
    return str(steps[-1]["args"]["sql"])


@pytest.mark.parametrize(
    "question",
    [
        "average cost of jobs by kind of boat",
        "number of jobs per kind of boat",
        "jobs by boat kind",
    ],
)
def test_a_kind_is_that_of_the_thing_it_is_said_of(question: str) -> None:
    assert "boats.kind" in statement(question)


@pytest.mark.parametrize("question", ["average cost by kind of job", "jobs per kind"])
def test_and_its_own_without_another(question: str) -> None:
    assert "jobs.kind" in statement(question)


@pytest.mark.parametrize(
    "question",
    [
        "boats from Cork",  # its home port, or the country of its owner
        "jobs on boats from Bergen",
        "jobs from Bergen",
        "last finished job",  # by the day on which it was opened, or finished
        "the most recent finished jobs",
        "Did we open any jobs since June?",  # a verb, not the status
        "did you finish any engine jobs in May?",
        "stays per month",  # no row has a date
        "Which port does boat B1 come from?",
    ],
)
def test_what_may_be_either_is_asked(question: str) -> None:
    proposal = PLANNER.plan(Question(question, "2026-11-28"), TOOLS)
    assert isinstance(proposal, Clarification), proposal


def test_a_date_that_is_declared_as_a_text_is_read_as_a_date() -> None:
    assert "CAST(sales.date AS DATE)" in statement("sales per month")
