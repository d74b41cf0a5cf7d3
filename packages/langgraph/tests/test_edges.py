"""Every node and edge of the strategy, with scripted experts."""

import pytest
from langchain_core.messages import HumanMessage

from packages.langgraph.tests.conversation import (
    TWO,
    Conversation,
    answers,
    asked,
    calls,
    done,
    experts,
    last,
    plan,
    says,
    stop_reason,
    talk,
)
from toolplan.schema.tool import Toolbox
from toolplan_langgraph import Caps, Configuration, Experts, ExpertUnavailable


def test_a_plan_of_two_tasks_goes_through_every_node_to_the_response() -> None:
    """F004-5, F004-6, F004-7, F004-8, F004-10, F004-12, F004-13, F004-14, F004-15."""
    talked = Conversation(
        planner=[plan(*TWO)], expert=[calls(("shipments", {})), says("There are two; noted.")]
    )
    state = talk(talked, "How many shipments?")
    assert talked.visited == [
        "planner",
        "orchestrate",
        "call_tool",
        "assess_task_completion",
        "advance_to_next_task",
        "orchestrate",
        "assess_task_completion",
        "advance_to_next_task",
        "generate_response",
    ]
    assert [call.tool for call in talked.waste.calls] == ["shipments"]
    assert last(state).text == "That is all."
    assert state.get("planner_result") is None
    assert state.get("task_completed") is False
    assert state.get("stopped") is None


def test_an_expert_is_shown_its_own_tools_only_and_can_call_no_others() -> None:
    """F004-7: what a model makes up is not believed."""
    talked = Conversation(expert=[calls(("add", {"text": "x"})), says("Well.")])
    state = talk(talked, "Add a note")
    shown = asked(talked.expert, 0)
    assert '"name":"shipments"' in shown
    assert '"name":"add"' not in shown
    assert talked.notes.calls == []
    assert answers(state)[0].startswith("Error: There is no tool 'add'")


async def test_an_expert_asks_a_person_who_answers_it_and_no_one_else() -> None:
    """F004-8, C-33: an interrupt, not the model's own question back as a human's word."""
    talked = Conversation(
        expert=[says("Which site?", "ask_human"), calls(("shipments", {})), says("Two.")]
    )
    state = await talked.says("How many shipments?")
    assert talked.interrupts == [
        {
            "kind": "question",
            "question": "Which site?",
            "task": {"expert": "waste", "task": "Find the shipments."},
        }
    ]
    assert talked.waste.calls == []
    assert len([m for m in state["messages"] if isinstance(m, HumanMessage)]) == 1
    await talked.resumes({"nonsense": 1})  # asked again
    assert len(talked.interrupts) == 2
    await talked.resumes({"answer": "Berlin"})
    assert talked.visited[:4] == ["planner", "orchestrate", "human_input", "orchestrate"]
    assert "Berlin" in asked(talked.expert, 1)
    assert len(talked.waste.calls) == 1


def test_an_expert_that_does_not_know_has_the_planner_find_another_way() -> None:
    """F004-8, C-33: IDK plans again, with the explanation."""
    talked = Conversation(
        planner=[plan(TWO[1]), plan(TWO[0])],
        expert=[says("I have no shipments.", "idk"), says("Two.")],
    )
    state = talk(talked, "How many shipments?")
    assert talked.visited[:4] == ["planner", "orchestrate", "planner", "orchestrate"]
    assert "It does not work: I have no shipments." in asked(talked.planner)
    assert last(state).text == "That is all."


def test_experts_that_never_know_end_with_the_reason() -> None:
    """F004-8, C-33: IDK never loops."""
    talked = Conversation(expert=[says("No idea.", "idk")])
    state = talk(talked, "How many shipments?")
    assert talked.visited == [*["planner", "orchestrate"] * 3, "give_up"]
    assert stop_reason(state) == "replans"
    assert "No idea." in str(last(state).text)


def test_a_task_that_is_never_done_ends_at_the_cap_with_the_reason() -> None:
    """F004-11, F004-12: false leads back, but not for ever."""
    talked = Conversation(
        planner=[plan(*TWO)],
        expert=[calls(("shipments", {}))],
        assessor=[done(False, "The weights are missing.")],
        configuration=Configuration(caps=Caps(attempts=3)),
    )
    state = talk(talked, "How many shipments?")
    assert talked.visited == [
        "planner",
        *["orchestrate", "call_tool", "assess_task_completion"] * 3,
        "give_up",
    ]
    assert len(talked.waste.calls) == 3
    assert stop_reason(state) == "attempts"
    for part in ("3 attempts", "Find the shipments.", "The weights are missing."):
        assert part in str(last(state).text)
    assert "The last attempt did not complete it: The weights are missing." in asked(
        talked.expert, 1
    )


async def test_all_roles_together_are_asked_a_bounded_number_of_times() -> None:
    """F004-12: the cap over everything; a new word of a person lets it continue."""
    talked = Conversation(
        planner=[plan(TWO[0]), plan(decision="continue")],
        assessor=[*[done(False)] * 3, done()],
        configuration=Configuration(caps=Caps(attempts=50, rounds=6)),
    )
    state = await talked.says("How many shipments?")
    assert stop_reason(state) == "rounds"
    state = await talked.says("Go on")
    assert state.get("stopped") is None
    assert last(state).text == "That is all."


def test_an_assessment_without_confidence_is_none() -> None:
    """F004-11."""
    talked = Conversation(assessor=[done(confidence=0.5), done(confidence=0.7)])
    talk(talked, "How many shipments?")
    assert talked.visited.count("orchestrate") == 2


def test_the_assessor_is_shown_the_current_task_only_and_the_responder_everything() -> None:
    """F004-11, F004-15: messages since the task began, not the whole transcript each time."""
    talked = Conversation(
        planner=[plan(*TWO)], expert=[says("First result."), says("Second result.")]
    )
    talk(talked, "How many shipments?")
    shown = asked(talked.assessor)
    assert "The task: Note how many there are." in shown
    assert "Second result." in shown
    assert "First result." not in shown
    shown = asked(talked.responder)
    for part in ("How many shipments?", "First result.", "Second result."):
        assert part in shown


def test_an_expert_whose_tools_cannot_be_had_does_not_end_the_conversation() -> None:
    """F004-7: the planner learns of it, and finds another."""
    known, _, _ = experts()

    class Down(Experts):
        async def tools(self, expert: str) -> Toolbox:
            if expert == "notes":
                raise ExpertUnavailable("it did not start")
            return await super().tools(expert)

    talked = Conversation(Down(known), planner=[plan(TWO[1]), plan(TWO[0])])
    state = talk(talked, "Note it")
    assert "it did not start" in asked(talked.planner)
    assert last(state).text == "That is all."


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        (calls(), "There must be from 1 to 2, not 0."),
        (
            calls(("shipments", {}), ("shipments", {}), ("facilities", {})),
            "There must be from 1 to 2, not 3.",
        ),
        (says(""), "/text: It is empty."),
    ],
)
def test_a_step_that_says_nothing_usable_is_asked_for_again(reply: str, complaint: str) -> None:
    """F004-7."""
    talked = Conversation(
        expert=[f"<think>{{}}</think>```json\n{reply}\n```", says("Two.")],
        configuration=Configuration(caps=Caps(calls=2)),
    )
    talk(talked, "How many shipments?")
    assert complaint in asked(talked.expert, 1)
