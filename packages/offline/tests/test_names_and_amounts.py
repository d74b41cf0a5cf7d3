"""Names that no schema knows, amounts, flags and groups of a period, over plain functions."""

from __future__ import annotations

import json
from datetime import date
from typing import Any, Literal

import pytest
from typing_extensions import TypedDict

import toolplan
from toolplan.planners import Clarification, Draft, Question
from toolplan_offline import OfflinePlanner
from toolplan_sql import sql_tool


class Film(TypedDict):
    film_id: str
    title: str
    director: str
    genre: Literal["drama", "comedy"]
    running_minutes: int
    min_age: int
    has_subtitles: bool


class Screening(TypedDict):
    screening_id: str
    film_id: str
    shown_on: date
    seats_sold: int
    takings_eur: float
    status: Literal["running", "over"]


@toolplan.tool(effects="read")
def list_films(
    title: str | None = None, genre: Literal["drama", "comedy"] | None = None
) -> list[Film]:
    """Return the films."""
    return []


@toolplan.tool(effects="read")
def list_screenings(film_id: str | None = None) -> list[Screening]:
    """Return the screenings."""
    return []


PLANNER = OfflinePlanner()
TOOLS = toolplan.Toolbox([list_films, list_screenings, sql_tool()])


def steps(question: str) -> list[dict[str, Any]]:
    """Return the steps of the plan of a question."""
    proposal = PLANNER.plan(Question(question, "2026-11-27"), TOOLS)
    assert isinstance(proposal, Draft), proposal
    found: list[dict[str, Any]] = json.loads(proposal.text)["steps"]
    return found


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("How long is Metropolis?", "Metropolis"),
        ("Does Metropolis have subtitles?", "Metropolis"),
        ("Who directs Metropolis?", "Metropolis"),
        ("Who directed The Blue Angel?", "The Blue Angel"),
        ("What genre does Metropolis have?", "Metropolis"),
        ("What is the genre of The Blue Angel?", "The Blue Angel"),
        ("How long is film Metropolis?", "Metropolis"),
        ("Show the screenings of Metropolis", "Metropolis"),
        ("How many screenings of Metropolis were there?", "Metropolis"),
    ],
)
def test_a_name_is_that_of_the_thing_that_the_question_is_about(question: str, title: str) -> None:
    assert steps(question)[0]["args"] == {"title": title}


@pytest.mark.parametrize(
    "question",
    [
        "Show the screenings by Metropolis",
        "Show the screenings at Metropolis",
        "Show the screenings in Metropolis",
        "Show the screenings from Metropolis",
        "Who directed the comedies?",  # each has its own
        "How many times was Metropolis shown?",  # no minutes
        "How heavy is Metropolis?",  # it has no weight
        "What is the value of Metropolis?",
        "Which director has the fewest screenings?",  # those that have none are in no row
        "Which film had the lowest takings?",
    ],
)
def test_what_such_a_name_is_remains_open_behind_other_words(question: str) -> None:
    proposal = PLANNER.plan(Question(question, "2026-11-27"), TOOLS)
    assert isinstance(proposal, Clarification)


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        ("How many screenings were there in each month of 2026?", "date_trunc('month'"),
        ("Which month of 2026 had the most screenings?", "<= 1 ORDER BY count DESC"),
        ("How many screenings were there per week of October 2026?", "date_trunc('week'"),
        ("How many screenings came in each month of 2026?", "date_trunc('month'"),
        ("What is the average running time of our comedies?", "avg(films.running_minutes)"),
        ("Which film is the shortest?", "running_minutes ASC"),  # of its minutes, not its age
        ("Which films have no subtitles?", "has_subtitles = false"),
        ("List the films with subtitles", "has_subtitles = true"),
    ],
)
def test_periods_amounts_and_flags(question: str, sql: str) -> None:
    assert sql in steps(question)[-1]["args"]["sql"]


@pytest.mark.parametrize("question", ["Which running screenings are there?", "running screenings"])
def test_a_verb_before_a_noun_is_not_dropped(question: str) -> None:
    assert "status) = 'running'" in steps(question)[-1]["args"]["sql"]


def test_a_month_of_a_year_keeps_its_year() -> None:
    text = steps("Which month of 2026 had the most screenings?")[-1]["args"]["sql"]
    assert "shown_on" in text
    assert "2026-01-01" in json.dumps(steps("Which month of 2026 had the most screenings?"))
