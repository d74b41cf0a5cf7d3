"""Rows of tools without hints: a word for a truth selects, and no word is taken for another's."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

import pytest

import toolplan
from toolplan.planners import Clarification, Draft, GroundedPlanner, Proposal, Question
from toolplan.sources.sql import sql_tool
from toolplan.tools import Toolbox

TODAY = "2026-11-23"


@dataclass
class Room:
    """A row of `list_rooms`."""

    number: int
    floor: int
    beds: int
    price: float
    available: bool
    has_balcony: bool
    cleaned_at: str


@dataclass
class Employee:
    """A row of `list_employees`."""

    id: str
    department: str
    salary: int
    is_remote: bool


def list_rooms(floor: int | None = None) -> list[Room]:
    """List the rooms of the hotel, including closed ones."""
    return [Room(203, floor or 2, 2, 80.0, True, False, "")]


def list_employees(department: Literal["sales", "support"] | None = None) -> list[Employee]:
    """List the employees of the company."""
    return [Employee("e1", department or "sales", 1, True)]


def book_room(number: int, guest: str, check_in: date) -> str:
    """Book a room for a guest."""
    return f"{number} {guest} {check_in}"


def list_events(time_min: date | None = None, time_max: date | None = None) -> list[str]:
    """List the events of the calendar."""
    return [f"{time_min} {time_max}"]


@dataclass
class Member:
    """A row of `list_members`."""

    id: str
    city: str


@dataclass
class Loan:
    """A row of `list_loans`."""

    id: str
    member_id: str | None


def list_members(city: str | None = None) -> list[Member]:
    """List the members of the library."""
    return [Member("m1", city or "Oslo")]


def list_loans(member_id: str | None = None) -> list[Loan]:
    """List the loans of the library."""
    return [Loan("l1", member_id)]


def list_visits(since: date | None = None) -> list[str]:
    """List the visits of the office."""
    return [f"{since}"]


FUNCTIONS = (
    list_rooms, list_employees, book_room, list_events, list_visits, list_members, list_loans,
)  # fmt: skip
TOOLS = Toolbox([*map(toolplan.tool, FUNCTIONS), sql_tool()])


def proposed(text: str) -> Proposal:
    return GroundedPlanner().plan(Question(text, TODAY), TOOLS)


def steps(text: str) -> list[dict[str, Any]]:
    found = proposed(text)
    assert isinstance(found, Draft), found
    return json.loads(found.text)["steps"]


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("remote employees", "SELECT * FROM employees WHERE is_remote"),
        ("which employees are remote?", "SELECT * FROM employees WHERE is_remote"),
        ("employees who are not remote", "SELECT * FROM employees WHERE NOT is_remote"),
        ("non-remote employees", "SELECT * FROM employees WHERE NOT is_remote"),
        (
            "how many remote employees?",
            "SELECT count(*) AS employees FROM employees WHERE is_remote",
        ),
        (
            "average salary of remote employees",
            "SELECT avg(salary) AS average_salary FROM employees WHERE is_remote",
        ),
        ("available rooms", "SELECT * FROM rooms WHERE available"),
        ("rooms not available", "SELECT * FROM rooms WHERE NOT available"),
        ("rooms with balcony", "SELECT * FROM rooms WHERE has_balcony"),
        ("rooms without balcony", "SELECT * FROM rooms WHERE NOT has_balcony"),
        ("first 5 employees", "SELECT * FROM employees LIMIT 5"),
    ],
)
def test_a_word_for_a_truth_selects_rows_and_a_number_of_rows_cuts_them(
    text: str, statement: str
) -> None:
    assert steps(text)[-1]["args"]["sql"] == statement


def test_a_truth_selects_behind_what_the_tool_selects_itself() -> None:
    read, chosen = steps("remote employees in support")
    assert read["args"] == {"department": "support"}
    assert chosen["args"]["sql"] == "SELECT * FROM employees WHERE is_remote"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("unavailable rooms", "unavailable"),
        ("closed rooms", "closed"),  # some of them, as the description says
        ("cleaned rooms", "cleaned"),  # `cleaned_at` says when
        ("rooms by price", "by"),
        ("rooms by floor", "by"),
        ("room 203", "203"),  # a room, no floor
        ("is room 203 available?", "203"),
        ("what's the price of room 203?", "203"),
    ],
)
def test_a_word_that_would_say_which_rows_is_asked_about(text: str, word: str) -> None:
    asked = proposed(text)
    assert isinstance(asked, Clarification), asked
    assert f'"{word}"' in asked.question


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("rooms on floor 2", {"floor": 2}),
        ("price of rooms on floor 2", {"floor": 2}),
        (
            "book room 203 for Ada Moss tomorrow",
            {"number": 203, "guest": "Ada Moss", "check_in": "2026-11-24"},
        ),
        (
            "book room 203 for Ada Moss on 3 December 2026",
            {"number": 203, "guest": "Ada Moss", "check_in": "2026-12-03"},
        ),
        ("events from 2026-12-01", {"time_min": "2026-12-01"}),
        (
            "events from 2026-12-01 to 2026-12-05",
            {"time_min": "2026-12-01", "time_max": "2026-12-05"},
        ),
        ("visits from 2026-05-01", {"since": "2026-05-01"}),
    ],
)
def test_words_that_say_it_whole_are_arguments(text: str, args: dict[str, Any]) -> None:
    (step,) = steps(text)
    assert step["args"] == args


@pytest.mark.parametrize("day", ["on 3 December", "on Friday", "on the 5th"])
def test_a_day_of_no_year_or_week_is_asked_before_something_is_done_on_it(day: str) -> None:
    asked = proposed(f"book room 203 for Ada Moss {day}")
    assert isinstance(asked, Clarification), asked
    assert f'Which day is "{day}"? Please write it whole, such as 20' in asked.question


def test_an_end_that_no_argument_takes_is_not_dropped() -> None:
    asked = proposed("visits from 2026-05-01 to 2026-05-31")
    assert isinstance(asked, Clarification), asked
    assert '"from 2026-05-01 to 2026-05-31"' in asked.question


def test_a_row_that_names_none_belongs_to_none() -> None:
    """`NULL NOT IN (…)` is not true in SQL."""
    statement = steps("loans without members")[-1]["args"]["sql"]
    assert statement == (
        "SELECT * FROM loans WHERE (member_id IS NULL OR member_id NOT IN"
        " (SELECT id FROM members WHERE id IS NOT NULL))"
    )
