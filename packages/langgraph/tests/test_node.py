"""Plan, check and run as a node, and as a tool, of somebody else's graph."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, NotRequired, TypedDict, cast

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

from packages.langgraph.tests.conversation import Graph
from toolplan import App, Effects, Journal
from toolplan.plan.path import Json
from toolplan.planners import Clarification, Draft, Proposal, Refusal
from toolplan.testing import Gives, Raises, ScriptedPlanner, ScriptedTools
from toolplan_langgraph import Outcome, approved, refused, toolplan_node, toolplan_tool

TODAY: Final = datetime.date(2025, 10, 12)
CONFIG: Final = {"configurable": {"thread_id": "t"}}


class Around(TypedDict):
    """The state of the graph that the node is put into."""

    messages: Annotated[list[AnyMessage], add_messages]
    toolplan: NotRequired[Outcome]


def draft(*steps: Mapping[str, Json]) -> Draft:
    listed: list[Json] = [dict(step) for step in steps]
    return Draft(json.dumps({"toolplan": 1, "steps": listed}))


READS: Final = draft(
    {"id": "rows", "tool": "rows", "args": {}},
    {"id": "one", "tool": "echo", "args": {"value": "${rows.data[0]}"}},
)
WRITES: Final = draft({"id": "w", "tool": "write", "args": {"text": "x"}})


def tools() -> ScriptedTools:
    scripted = ScriptedTools()
    scripted.add("rows", Gives({"data": [1, 2]}))
    scripted.add("echo", Gives({"said": True}))
    scripted.add("broken", Raises(RuntimeError("no")))
    scripted.add("write", Gives({"count": 1}), effects=Effects.WRITE)
    return scripted


def around(scripted: ScriptedTools, *proposals: Proposal, journal: Journal | None = None) -> Graph:
    planner = ScriptedPlanner(*proposals)
    node = toolplan_node(App(scripted.toolbox, planner, journal=journal), today=lambda: TODAY)
    builder: Any = StateGraph(Around)
    builder.add_node("ask", node)
    builder.set_entry_point("ask")
    return cast("Graph", builder.compile(checkpointer=InMemorySaver()))


def asking(text: str = "How many?") -> dict[str, list[AnyMessage]]:
    return {"messages": [HumanMessage(text)]}


async def test_a_node_plans_checks_runs_and_answers() -> None:
    scripted = tools()
    state = await around(scripted, READS).ainvoke(asking(), CONFIG)
    outcome = state["toolplan"]
    assert outcome["kind"] == "answered"
    assert [step["id"] for step in outcome["plan"]["steps"]] == ["rows", "one"]
    assert outcome["run"]["status"] == "succeeded"
    assert isinstance(state["messages"][-1], AIMessage)
    assert state["messages"][-1].text == outcome["text"]
    assert [call.args for call in scripted.calls] == [{}, {"value": 1}]


async def test_the_events_of_a_node_come_through_the_stream_of_the_graph_around() -> None:
    graph = cast("Any", around(tools(), READS))
    streamed = graph.astream(asking(), CONFIG, stream_mode=["custom"], subgraphs=True)
    kinds = [part["toolplan"]["event"]["kind"] async for _, _, part in streamed]
    steps = ["step-started", "step-succeeded"] * 2
    assert kinds == ["run-started", *steps, "run-ended"]


async def test_a_plan_with_effects_interrupts_and_runs_exactly_what_was_shown() -> None:
    """F004-9: planned once; the second proposal is never asked for."""
    scripted = tools()
    graph = around(scripted, WRITES, READS)
    state = await graph.ainvoke(asking(), CONFIG)
    (shown,) = (each.value for each in state["__interrupt__"])
    assert shown["question"] == "How many?"
    assert shown["effects"][0]["args"] == {"text": "x"}
    assert scripted.calls == []
    state = await graph.ainvoke(Command(resume=approved(shown)), CONFIG)
    assert state["toolplan"]["kind"] == "answered"
    assert [call.tool for call in scripted.calls] == ["write"]


async def test_a_plan_that_is_refused_calls_nothing() -> None:
    scripted = tools()
    graph = around(scripted, WRITES)
    await graph.ainvoke(asking(), CONFIG)
    state = await graph.ainvoke(Command(resume=refused("Not now.")), CONFIG)
    assert state["toolplan"]["kind"] == "refused"
    assert "Not now." in state["messages"][-1].text
    assert scripted.calls == []


@pytest.mark.parametrize(
    ("proposal", "kind", "text"),
    [
        (Clarification("Which?", ("a", "b")), "clarification", "Which?\n- a\n- b"),
        (Refusal("No tool sings."), "refusal", "No tool sings."),
        (draft({"id": "x", "tool": "zzz"}), "no-plan", "There is no tool 'zzz'"),
        (draft({"id": "x", "tool": "broken"}), "failed", "no"),
    ],
)
async def test_whatever_comes_of_a_question_is_reported(
    proposal: Proposal, kind: str, text: str
) -> None:
    state = await around(tools(), proposal).ainvoke(asking(), CONFIG)
    assert state["toolplan"]["kind"] == kind
    assert text in state["messages"][-1].text


async def test_a_journal_keeps_the_run_of_a_node(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "runs.sqlite")
    state = await around(tools(), READS, journal=journal).ainvoke(asking(), CONFIG)
    assert journal.load(state["toolplan"]["run"]["run"]).succeeded


async def test_a_question_needs_a_person() -> None:
    node = cast("Graph", toolplan_node(App(tools().toolbox, ScriptedPlanner(READS))))
    with pytest.raises(ValueError, match="no message of a user"):
        await node.ainvoke({"messages": [AIMessage("Well.")]}, {})


async def test_a_tool_answers_and_outside_of_a_graph_changes_nothing() -> None:
    scripted = tools()
    node = toolplan_node(App(scripted.toolbox, ScriptedPlanner(READS, WRITES)))
    tool = toolplan_tool(node, name="ask_data", description="Asks.")
    assert (tool.name, list(tool.args)) == ("ask_data", ["question"])
    answered = await tool.ainvoke({"question": "How many?"})
    unapproved = await tool.ainvoke({"question": "Write it"})
    assert answered
    assert unapproved.startswith("Nothing was run")
    assert [call.tool for call in scripted.calls] == ["rows", "echo"]


async def test_a_tool_inside_of_a_graph_interrupts_and_resumes() -> None:
    scripted = tools()
    node = toolplan_node(App(scripted.toolbox, ScriptedPlanner(WRITES, READS)))
    builder: Any = StateGraph(Around)
    builder.add_node("tools", ToolNode([toolplan_tool(node)]))
    builder.set_entry_point("tools")
    graph = cast("Graph", builder.compile(checkpointer=InMemorySaver()))
    call = {"name": "toolplan", "args": {"question": "Write it"}, "id": "1", "type": "tool_call"}
    asked = AIMessage("", tool_calls=[cast("Any", call)])
    state = await graph.ainvoke({"messages": [asked]}, CONFIG)
    (shown,) = (each.value for each in state["__interrupt__"])
    assert scripted.calls == []
    state = await graph.ainvoke(Command(resume=approved(shown)), CONFIG)
    assert isinstance(state["messages"][-1], ToolMessage)
    assert [made.tool for made in scripted.calls] == ["write"]


async def test_integers_that_no_checkpointer_keeps_are_text_in_the_outcome() -> None:
    scripted = tools()
    scripted.add("large", Gives({"wei": 2**70}))
    large = draft({"id": "a", "tool": "large", "args": {"n": 1}})
    state = await around(scripted, large).ainvoke(asking(), CONFIG)
    assert state["toolplan"]["run"]["output"] == {"a": {"wei": str(2**70)}}
