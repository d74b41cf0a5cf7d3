"""Thirty conversations, as a user would lead them, each turn with the plan that must come of it."""

from __future__ import annotations

import pytest

from tests.planners.dialogue.conversation import DIALOGUES, Dialogue, Talk


@pytest.mark.parametrize("dialogue", DIALOGUES, ids=[each["name"] for each in DIALOGUES])
def test_every_turn_of_a_conversation_has_the_plan_that_was_meant(dialogue: Dialogue) -> None:
    """F000-40, F000-41: each turn gives just these steps, or asks back with just these options."""
    talk = Talk()
    for turn in dialogue["turns"]:
        if "steps" in turn:
            assert talk.steps(turn["ask"]) == turn["steps"], turn["ask"]
        else:
            assert "clarification" in turn
            asked = talk.asked_back(turn["ask"])
            assert list(asked.options) == turn["clarification"]["options"], turn["ask"]


def test_there_are_thirty_conversations_of_two_to_four_turns() -> None:
    assert len(DIALOGUES) >= 30
    assert {len(dialogue["turns"]) for dialogue in DIALOGUES} <= {2, 3, 4}
