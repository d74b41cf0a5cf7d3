"""Functions of a user's own, with the few hints that the README names."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

import pytest
from pydantic import Field

from toolplan import Toolbox, tool
from toolplan.planners import Clarification, Draft, GroundedPlanner, Proposal, Question
from toolplan.sources.sql import sql_tool


@tool(effects="read", hints={"x-entity": "book", "x-verb": "list"})
def books_list(
    author: Annotated[str, Field(json_schema_extra={"x-cue": ["by"]})], limit: int = 10
) -> list[dict[str, str]]:
    """Lists books."""
    return [{"title": "…", "author": author}][:limit]


@tool(effects="read", hints={"x-entity": "loan", "x-verb": "list"})
def loans() -> str:
    """Lists loans, in prose."""
    return "none"


@tool(effects="read", hints={"x-entity": "desk", "x-verb": "get"})
def desk(id: str) -> dict[str, list[dict[str, str]]]:
    """Gets a desk: the lists in it are no desks."""
    return {"drawers": [{"holds": id}]}


TOOLS = Toolbox([books_list, loans, desk, sql_tool()])


def proposed(text: str) -> Proposal:
    question = Question(text, "2026-11-20")
    return asyncio.run(GroundedPlanner().propose(question, TOOLS, ()))


def steps(text: str) -> list[dict[str, Any]]:
    found = proposed(text)
    assert isinstance(found, Draft), found
    return json.loads(found.text)["steps"]


def asked_back(text: str) -> Clarification:
    found = proposed(text)
    assert isinstance(found, Clarification), found
    return found


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("List books by Ada", {"author": "Ada"}),
        ("Show me the books by Ada Lovelace", {"author": "Ada Lovelace"}),
        ("List 3 books by Kafka", {"author": "Kafka", "limit": 3}),
    ],
)
def test_a_name_behind_the_cue_of_an_argument_is_its_value(text: str, args: dict[str, Any]) -> None:
    (step,) = steps(text)
    assert (step["tool"], step["args"]) == ("books_list", args)


def test_rows_of_which_nothing_but_that_they_are_objects_is_known_can_be_counted() -> None:
    first, second = steps("How many books by Ada?")
    assert (first["tool"], first["args"]) == ("books_list", {"author": "Ada"})
    assert "count(*)" in second["args"]["sql"]
    assert second["args"]["tables"] == {"books": "${books}"}


@pytest.mark.parametrize(
    "text", ["Books by length", "Books from Kafka", "List books by the same person"]
)
def test_what_is_no_name_or_stands_behind_another_word_is_asked_about(text: str) -> None:
    found = asked_back(text)
    assert found.unexplained
    assert 'Please also give "author".' in found.question


def test_an_argument_that_a_tool_requires_is_asked_for_by_name() -> None:
    found = asked_back("List books")
    assert found.question == 'Please also give "author".'
    assert found.partial_plan is not None


def test_a_tool_that_says_nothing_of_a_list_is_named() -> None:
    found = asked_back("List loans")
    assert "Tool loans declares no list in its output schema." in found.question
    assert "drawers" not in str(proposed("Show desk d1"))
