"""Where nothing is understood, the reply has questions that the tools at hand can answer."""

from __future__ import annotations

import asyncio
import time
from datetime import date
from typing import Any

import pytest

import toolplan
from benchmarks.generated_questions.shop import shop
from benchmarks.plain_tools.tools import get_balance, get_weather, list_books, plain_tools
from tests.planners.library_catalogue import library
from tests.planners.planned import TODAY, demo, propose
from toolplan.planners import Clarification, Draft, GroundedPlanner, Question
from toolplan.planners.grounded.dialogue import DialoguePlanner
from toolplan.tools import Effects, Tool, Toolbox

NOTHING = ["hello", "Hi!", "thanks", "thank you very much", "asdf qwer", "?", "what can you do?"]


def examples(text: str, tools: Toolbox) -> tuple[str, ...]:
    found = GroundedPlanner().plan(Question(text, TODAY), tools)
    assert isinstance(found, Clarification), found
    return found.examples


@pytest.mark.parametrize("text", NOTHING)
@pytest.mark.parametrize("tools", [demo(), library(), shop(), plain_tools()])
def test_three_examples_and_each_has_a_plan(text: str, tools: Toolbox) -> None:
    found = examples(text, tools)
    assert len(set(found)) == 3
    for each in found:
        assert isinstance(propose(each, tools=tools), Draft), each


@pytest.mark.parametrize("tools", [demo(), shop(), plain_tools()])
def test_each_example_is_answered_when_it_is_asked(tools: Toolbox) -> None:
    readable = tools.labelled(dict.fromkeys(tools, Effects.READ))
    app = toolplan.App(readable, GroundedPlanner())
    for each in examples("hello", tools):
        asked = asyncio.run(app.ask(each, today=date.fromisoformat(TODAY)))
        if all(call.call is not None for call in tools.values()):
            assert asked.succeeded, each
        else:
            assert asked.plan is not None, each


def test_what_was_understood_in_part_has_no_examples() -> None:
    found = propose("purple shipments")
    assert isinstance(found, Clarification)
    assert found.examples == ()


def test_no_example_has_effects_or_needs_an_identity_that_nothing_gives() -> None:
    made = Tool("create_note", "", {"type": "object", "properties": {}}, None, Effects.WRITE)
    tools = Toolbox([toolplan.tool(get_balance), made])
    assert examples("hello", tools) == ()


def test_values_of_examples_come_from_the_schema_where_it_has_some() -> None:
    argument: dict[str, Any] = {"type": "string", "examples": ["A-17"]}
    schema: dict[str, Any] = {
        "type": "object", "properties": {"account_id": argument}, "required": ["account_id"],
    }  # fmt: skip
    tool = Tool("get_balance", "Balance of an account.", schema)
    assert examples("hello", Toolbox([tool])) == ("Balance with account id A-17",)


def test_examples_of_plain_functions_are_read_from_their_names() -> None:
    tools = Toolbox(map(toolplan.tool, (get_weather, list_books)))
    assert examples("hello", tools) == ("Weather in Paris", "Books by Ada Lovelace")


def test_the_reply_to_a_greeting_says_which_tools_there_are() -> None:
    found = GroundedPlanner().plan(Question("hello", TODAY), plain_tools())
    assert isinstance(found, Clarification)
    assert found.question.startswith("What would you like to know? The tools are get_weather, ")


def test_the_text_of_a_result_lists_the_examples() -> None:
    app = toolplan.App(demo(), GroundedPlanner())
    asked = asyncio.run(app.ask("hello", today=date.fromisoformat(TODAY)))
    assert isinstance(asked.proposal, Clarification)
    lines = str(asked).splitlines()
    assert lines[-4:] == ["You could ask:", *(f"  {each}" for each in asked.proposal.examples)]


def test_a_conversation_has_them_too() -> None:
    planner = DialoguePlanner(GroundedPlanner())
    for text in ("hello", "and?"):
        found = asyncio.run(planner.propose(Question(text, TODAY), demo(), ()))
        assert isinstance(found, Clarification), found
    found = asyncio.run(planner.propose(Question("show me something", TODAY), demo(), ()))
    assert isinstance(found, Clarification)
    assert len(found.examples) == 3


def test_examples_over_a_thousand_tools_are_found_once_and_soon() -> None:
    schema: dict[str, Any] = {
        "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
    }  # fmt: skip
    tools = Toolbox(Tool(f"get_thing{at}", "A thing.", schema) for at in range(1_000))
    planner = GroundedPlanner()
    started = time.process_time()
    for _ in range(5):
        planner.plan(Question("hello", TODAY), tools)
    assert time.process_time() - started < 5


def test_where_nothing_is_listed_no_list_is_promised() -> None:
    """The sentence had no end: "I can answer questions about ."."""
    hours = Tool(
        "hours_get",
        "Return the hours of a shop.",
        {
            "type": "object",
            "x-entity": "shop",
            "x-verb": "get",
            "properties": {"id": {"type": "string", "x-ref": "shop.id"}},
            "required": ["id"],
        },
        effects=Effects.READ,
    )
    asked = propose("sing something", tools=Toolbox([hours]))
    assert isinstance(asked, Clarification)
    assert "I can answer questions about" not in asked.question
