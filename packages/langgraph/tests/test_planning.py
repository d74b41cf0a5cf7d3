"""What the planner says: clarified, checked, continued, replaced."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from packages.langgraph.tests.conversation import (
    TWO,
    Conversation,
    asked,
    clarify,
    done,
    last,
    plan,
    stop_reason,
    talk,
)
from toolplan_langgraph import Caps, Configuration


def test_the_planner_sees_the_messages_the_experts_the_plan_and_the_time() -> None:
    """F004-2, F004-5."""
    configuration = Configuration({"waste": {"command": "x", "description": "Knows  waste."}})
    talked = Conversation(planner=[plan(*TWO)], configuration=configuration)
    talk(talked, "How many shipments?")
    shown = asked(talked.planner, 0)
    for part in ("How many shipments?", "- waste: Knows waste.", "- notes: ", "2025-10-12T08:00"):
        assert part in shown
    assert "The current plan: null" in shown


def test_an_empty_plan_ends_with_an_explanation() -> None:
    """F004-6."""
    talked = Conversation(planner=[plan(explanation="No expert can sing.")])
    state = talk(talked, "Sing")
    assert talked.visited == ["planner"]
    assert last(state).text == "No expert can sing."


async def test_a_clarification_wins_over_a_plan_and_continues_with_the_answer() -> None:
    """F004-5, C-34: asked through an interrupt, answered by a person, planned again."""
    both = plan(TWO[0], clarification="Which week?")
    talked = Conversation(planner=[both, plan(TWO[0])])
    state = await talked.says("How many shipments?")
    assert isinstance(last(state), AIMessage)
    assert last(state).text == "Which week?"
    assert talked.interrupts[0]["kind"] == "clarification"
    assert talked.visited == ["planner"]
    result = state.get("planner_result")
    assert result is not None
    assert result["clarification"] == "Which week?"
    state = await talked.resumes("The last one")
    assert [m.text for m in state["messages"] if isinstance(m, HumanMessage)] == [
        "How many shipments?",
        "The last one",
    ]
    assert talked.visited[:4] == ["planner", "human_input", "planner", "orchestrate"]
    assert "The last one" in asked(talked.planner)


async def test_a_clarification_may_be_answered_by_a_new_message_as_well() -> None:
    """C-34."""
    talked = Conversation(planner=[clarify("Which week?"), plan(TWO[0])])
    await talked.says("How many shipments?")
    assert last(await talked.says("The last one")).text == "That is all."


@pytest.mark.parametrize(
    "reply", ["I would rather not.", "{", '{"decision": "maybe", "plan": []}', plan(("x", "y"))]
)
def test_a_role_that_never_says_anything_usable_ends_the_graph_with_that_reason(reply: str) -> None:
    """F004-5: after three tries, without a traceback."""
    talked = Conversation(planner=[reply])
    assert stop_reason(talk(talked, "How many shipments?")) == "reply"
    assert len(talked.planner.requests) == 3
    assert talked.visited == ["planner", "give_up"]


@pytest.mark.parametrize(
    ("second", "tasks"),
    [
        (plan(decision="continue", next_task=1), ["Note how many there are."]),
        (plan(*TWO, decision="continue", next_task=1), ["Note how many there are."]),
        (plan(("waste", "Start again.")), ["Start again."]),
    ],
)
async def test_a_plan_is_continued_or_replaced_by_the_next_message(
    second: str, tasks: list[str]
) -> None:
    """F004-4, F004-5: the decision of the planner."""
    talked = Conversation(
        planner=[plan(*TWO), second],
        assessor=[done(), done(False), done()],
        configuration=Configuration(caps=Caps(attempts=1)),
    )
    state = await talked.says("How many shipments?")
    assert "Done: Find the shipments. (waste)" in str(last(state).text)
    seen = len(talked.expert.requests)
    await talked.says("Try it again")
    shown = [str(r.messages[-2].text) for r in talked.expert.requests[seen:]]
    assert [text.partition("Your task: ")[2] for text in shown] == tasks


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        (plan(decision="continue"), "There is no plan to continue"),
        (plan(TWO[0], decision="continue"), "There is no plan to continue"),
        (plan(("waste", " ")), "/plan/0/task: It is empty."),
        (plan(("wasted", "Find.")), "There is no expert 'wasted'. Did you mean 'waste'?"),
        (plan(TWO[0], next_task=4), "/next_task: It must be from 0 to 0, not 4."),
    ],
)
def test_a_plan_that_cannot_be_worked_on_is_not_taken(reply: str, complaint: str) -> None:
    """F004-4, F004-5: expert names and the next index are not believed."""
    talked = Conversation(planner=[reply, plan(TWO[0])])
    assert last(talk(talked, "How many shipments?")).text == "That is all."
    assert complaint in asked(talked.planner, 1)


async def test_what_is_done_is_not_done_again_by_continuing() -> None:
    """F004-4: the index does not go back."""
    talked = Conversation(
        planner=[
            plan(*TWO),
            plan(decision="continue", next_task=0),
            plan(TWO[0], decision="continue", next_task=1),
            plan(decision="continue", next_task=1),
        ],
        assessor=[done(), done(False), done()],
        configuration=Configuration(caps=Caps(attempts=1)),
    )
    await talked.says("How many shipments?")
    await talked.says("Try it again")
    assert "/next_task: It must be from 1 to 1, not 0" in asked(talked.planner, 2)
    assert "/plan: It is not the current plan" in asked(talked.planner, 3)
