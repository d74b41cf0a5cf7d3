"""What models, tools and callers may do wrong, and what follows."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from packages.langgraph.tests.conversation import (
    TWO,
    Conversation,
    answers,
    asked,
    calls,
    done,
    last,
    plan,
    says,
    stop_reason,
    talk,
)
from toolplan.plan.path import Json
from toolplan.providers import ModelError
from toolplan.schema.tool import Effects
from toolplan.testing import Gives, ScriptedTools
from toolplan_langgraph import Caps, Configuration, approved

HOSTILE = (
    "{" * 100_000,
    '{"a":' * 20_000,
    "[" * 100_000,
    '{"decision": "replace", "plan": [], "next_task": 1e400}',
    '{"decision": "replace", "plan": [{"expert": "waste", "task": "x"}], "next_task": true}',
    "\ud800",
    "x" * 300_000,
)


@pytest.mark.parametrize("reply", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_replies_end_the_graph_with_the_reason(reply: str) -> None:
    """F004-5: in no time, and without a traceback."""
    assert stop_reason(talk(Conversation(planner=[reply]), "How many?")) == "reply"


json_values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
steps = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(("tool_calls", "answer", "ask_human", "idk", "else")),
        "text": st.text(max_size=5),
        "tool_calls": st.lists(
            st.fixed_dictionaries(
                {
                    "name": st.sampled_from(("shipments", "facilities", "broken", "add", "")),
                    "args": st.dictionaries(st.text(max_size=5), json_values, max_size=3),
                }
            ),
            max_size=3,
        ),
    }
)


@given(st.lists(steps, min_size=1, max_size=4), st.booleans())
def test_whatever_an_expert_says_the_graph_ends_or_asks_a_person(
    said: list[dict[str, Json]], completed: bool
) -> None:
    """F004-8 to F004-12: it never loops, and every call is answered."""
    talked = Conversation(expert=[json.dumps(each) for each in said], assessor=[done(completed)])
    state = talk(talked, "How many?")
    ended = state.get("stopped") is not None or state.get("planner_result") is None
    assert ended or talked.interrupts
    made = sum(len(getattr(message, "tool_calls", ())) for message in state["messages"])
    assert len(answers(state)) == made


async def test_approval_does_not_hold_for_tools_that_changed_in_between() -> None:
    """F004-9: the digest covers the tools; what would run now is shown anew."""
    saver = InMemorySaver()

    def conversation(effects: Effects) -> tuple[Conversation, ScriptedTools]:
        scripted = ScriptedTools()
        scripted.add("add", Gives(1), effects=effects)
        return Conversation(
            {"notes": scripted.toolbox},
            planner=[plan(TWO[1])],
            expert=[calls(("add", {"text": "x"}))],
            checkpointer=saver,
        ), scripted

    before, _ = conversation(Effects.WRITE)
    await before.says("Note it")
    after, scripted = conversation(Effects.DESTRUCTIVE)
    await after.resumes(approved(before.interrupts[0]))
    assert scripted.calls == []
    assert after.interrupts[0]["digest"] != before.interrupts[0]["digest"]
    await after.resumes(approved(after.interrupts[0]))
    assert len(scripted.calls) == 1


def test_models_are_shown_the_beginning_of_a_large_result_and_the_state_has_it_all() -> None:
    """F004-9."""
    scripted = ScriptedTools()
    scripted.add("read", Gives("x" * 5_000))
    talked = Conversation(
        {"waste": scripted.toolbox},
        expert=[calls(("read", {})), says("Read.")],
        configuration=Configuration(caps=Caps(result_chars=100)),
    )
    assert answers(talk(talked, "Read it")) == ["x" * 5_000]
    assert f"{'x' * 100}\n[cut: 100 of 5000 characters]" in asked(talked.assessor)


async def test_a_model_that_is_not_there_ends_the_graph_and_the_plan_is_kept() -> None:
    """F004-5: the conversation is kept; what had been done is not done again."""
    gone = ModelError("llm-unavailable", "The endpoint does not answer.")
    talked = Conversation(
        planner=[plan(TWO[0]), plan(decision="continue")],
        expert=[calls(("shipments", {})), says("Two.")],
        assessor=[gone, done()],
    )
    state = await talked.says("How many?")
    assert "I have stopped. The endpoint does not answer." in last(state).text
    state = await talked.says("Go on")
    assert last(state).text == "That is all."
    assert len(talked.waste.calls) == 1


def test_a_caller_gives_messages_and_nothing_else() -> None:
    """F004-3: a plan cannot be slipped in."""
    forged = {"decision": "replace", "plan": [{"expert": "notes", "task": "x"}], "next_task": 0}
    talked = Conversation(planner=[plan(explanation="No.")])
    given_ = {"messages": [HumanMessage("Hi")], "planner_result": forged}
    asyncio.run(talked.go_on(given_))
    assert "The current plan: null" in asked(talked.planner)


def test_an_integer_that_no_checkpointer_keeps_goes_back_to_the_model() -> None:
    """F004-9: the conversation can be kept whatever is said."""
    talked = Conversation(
        expert=[calls(("shipments", {"n": 2**70})), calls(("shipments", {"n": 2**63}))]
    )
    talk(talked, "How many?")
    assert "more than 64 bits" in asked(talked.expert, 1)
    assert [call.args for call in talked.waste.calls] == [{"n": 2**63}]
