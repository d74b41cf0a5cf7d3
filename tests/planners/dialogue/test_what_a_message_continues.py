"""Half a question belongs to the question before it, also where that one was never planned."""

from __future__ import annotations

import pytest

from tests.planners.dialogue.conversation import Talk, calls


@pytest.mark.parametrize("then", ["and paper?", "what about glass?", "and in September?"])
@pytest.mark.parametrize(
    "asked",
    [
        "how heavy were the plastic shipments in October on average?",
        "blabla of the plastic shipments in October",
    ],
)
def test_half_a_question_behind_one_that_was_not_understood_is_not_a_whole_one(
    asked: str, then: str
) -> None:
    talk = Talk()
    talk.asked_back(asked)
    talk.asked_back(then)


def test_nor_does_it_change_the_plan_before_that_question() -> None:
    talk = Talk()
    talk.steps("average weight per carrier")
    talk.asked_back("how heavy were the plastic shipments in October on average?")
    talk.asked_back("and paper?")


def test_behind_a_follow_up_that_was_not_understood_it_changes_the_last_plan() -> None:
    talk = Talk()
    talk.steps("plastic shipments in September")
    talk.asked_back("the shiny ones")
    ((_, args),) = calls(talk.steps("only the rejected ones"))
    assert args == {
        "date_from": "2025-09-01",
        "date_to": "2025-09-30",
        "waste_type": "plastic",
        "status": "rejected",
    }


def test_the_first_five_of_a_time_are_asked_about() -> None:
    talk = Talk()
    talk.steps("shipments in September")
    asked = talk.asked_back("the first five")
    assert asked.question == "Do you mean the oldest five or the newest five?"
    _, (_, args) = calls(talk.steps("the oldest five"))
    assert isinstance(args, dict)
    assert "ORDER BY date ASC" in str(args["sql"])


def test_the_first_five_of_a_list_are_those_that_the_list_begins_with() -> None:
    talk = Talk()
    talk.steps("shipments to Berlin")
    ((_, args),) = calls(talk.steps("the first five"))
    assert args == {"destination": "Berlin", "limit": 5}


@pytest.mark.parametrize("then", ["how many?", "how many are there?", "and how many?"])
def test_how_many_is_not_answered_for_the_turn_before_one_that_is_open(then: str) -> None:
    talk = Talk()
    talk.steps("shipments not to Berlin in September")
    asked = talk.asked_back("to Hamburg?")
    assert talk.asked_back(then).question == asked.question
