"""Calls that wait with their values, through LangGraph's interrupt."""

import asyncio
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final, cast

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from langgraph.types import Command

from packages.langgraph.tests.conversation import Graph
from packages.langgraph.tests.test_node import CONFIG, TODAY, Around, asking, draft
from toolplan import App, Effects, Journal
from toolplan.plan.path import Json
from toolplan.planners import Draft
from toolplan.testing import Gives, ScriptedPlanner, ScriptedTools
from toolplan_langgraph import allowed, approved, denied, left_waiting, toolplan_node, toolplan_tool

TWO: Final = draft(
    {"id": "mails", "tool": "inbox", "args": {}},
    {"id": "one", "tool": "send", "args": {"to": "${mails.sender}"}},
    {"id": "two", "tool": "send", "args": {"to": "${one.id}"}},
)


class Office:
    """A graph with the node, its tools and its journal."""

    def __init__(self, folder: Path, plan: Draft = TWO) -> None:
        self.tools = ScriptedTools()
        self.tools.add("inbox", Gives({"sender": "eve@evil.example"}))
        self.tools.add("send", Gives({"id": "m1"}), effects=Effects.WRITE)
        self.journal = Journal(folder / "runs.sqlite")
        self.app = App(self.tools.toolbox, ScriptedPlanner(plan), journal=self.journal)
        builder: Any = StateGraph(Around)
        builder.add_node("ask", toolplan_node(self.app, today=lambda: TODAY, approve="values"))
        builder.set_entry_point("ask")
        self.graph = cast("Graph", builder.compile(checkpointer=InMemorySaver()))

    @property
    def sent(self) -> list[Json]:
        return [args["to"] for args in self.tools.args_of("send")]

    async def asked(self, given: Any) -> tuple[dict[str, Any], Any]:
        """Return the state, and what the interrupt shows; None where there is none."""
        state = await self.graph.ainvoke(given, CONFIG)
        shown = [each.value for each in state.get("__interrupt__", ())]
        return state, shown[0] if shown else None


@pytest.fixture
def office(tmp_path: Path) -> Generator[Office]:
    made = Office(tmp_path)
    yield made
    made.journal.close()


async def test_each_call_is_shown_with_values_and_made_once_it_is_allowed(office: Office) -> None:
    _, first = await office.asked(asking())
    assert (office.sent, len(office.tools.args_of("inbox"))) == ([], 1)
    (effect,) = first["effects"]
    assert (effect["step"], effect["tool"]) == ("one", "send")
    assert effect["args"] == {"to": "eve@evil.example"}
    assert effect["origins"]["to"]["label"] == "untrusted"
    assert effect["origins"]["to"]["sources"] == ["mails.sender (inbox)"]
    assert '! to = "eve@evil.example"' in first["text"]
    assert first["help"] == f"toolplan resume {first['run'][:8]} --allow one"
    _, second = await office.asked(Command(resume=allowed(first)))
    assert office.sent == ["eve@evil.example"]
    assert second["effects"][0]["args"] == {"to": "m1"}
    state, none = await office.asked(Command(resume=allowed(second)))
    assert none is None
    assert state["toolplan"]["kind"] == "answered"
    assert office.sent == ["eve@evil.example", "m1"]
    assert len(office.tools.args_of("inbox")) == 1


async def test_refused_calls_are_not_made_and_the_reason_is_kept(office: Office) -> None:
    _, shown = await office.asked(asking())
    state, _ = await office.asked(Command(resume=denied(shown, "Not to strangers.")))
    outcome = state["toolplan"]
    assert outcome["kind"] == "failed"
    assert "Not to strangers." in str(outcome["run"])
    assert office.sent == []


@pytest.mark.parametrize(
    "answer", [True, "yes", {"allow": True}, {"allow": []}, {"allow": ["0" * 64]}, {"deny": []}]
)
async def test_an_answer_about_no_shown_call_is_asked_again(office: Office, answer: Any) -> None:
    _, shown = await office.asked(asking())
    _, again = await office.asked(Command(resume=answer))
    assert "other calls" in again["note"]
    assert again["effects"] == shown["effects"]
    assert office.sent == []


async def test_calls_may_be_left_waiting_for_a_terminal(office: Office) -> None:
    _, shown = await office.asked(asking())
    state, _ = await office.asked(Command(resume=left_waiting()))
    assert state["toolplan"]["kind"] == "waiting"
    assert shown["help"] in state["messages"][-1].text
    assert office.sent == []


def test_where_nobody_can_be_asked_nothing_is_made_and_the_command_is_named(office: Office) -> None:
    tool = toolplan_tool(toolplan_node(office.app, approve="values"))
    said = asyncio.run(tool.ainvoke({"question": "Answer the mail."}))
    assert "toolplan resume" in said
    assert "--allow one" in said
    assert office.sent == []


def test_an_approval_of_a_plan_shows_no_calls_and_the_other_way_round(office: Office) -> None:
    with pytest.raises(ValueError, match="no calls"):
        allowed({"digest": "0" * 64})
    with pytest.raises(ValueError, match="no plan"):
        approved({"kind": "values"})
