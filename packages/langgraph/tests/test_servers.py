"""One conversation over two real MCP servers: the demo domain, and notes that remember."""

import asyncio
import json
import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest

from packages.langgraph.tests.conversation import (
    Conversation,
    answers,
    asked,
    calls,
    clarify,
    done,
    last,
    plan,
    says,
)
from toolplan.plan.path import Json
from toolplan_langgraph import (
    Configuration,
    Experts,
    ExpertUnavailable,
    approved,
    connected_experts,
    refused,
)

NOTES: Final = Path(__file__).with_name("notes_server.py")
SERVERS: Final[dict[str, Json]] = {
    "waste": {
        "command": sys.executable,
        "args": ["-m", "toolplan", "demo", "--today", "2025-10-12", "--rows", "300"],
        "description": "Shipments, facilities and contaminants.",
    },
    "notes": {
        "command": sys.executable,
        "args": [str(NOTES)],
        "description": "Keeps notes.",
        "env": {"NOTES_TOKEN": "${NOTES_TOKEN}"},
    },
}
SECRET: Final = "s3cr3t-of-the-notes"


@pytest.fixture(scope="module")
def experts() -> Generator[Experts, None, None]:
    with connected_experts(
        Configuration(SERVERS), {**os.environ, "NOTES_TOKEN": SECRET}, trusted=SERVERS
    ) as known:
        yield known


EDGES: Final = (
    ("planner", "human_input"),
    ("planner", "orchestrate", "call_tool", "assess_task_completion", "advance_to_next_task"),
    ("orchestrate", "call_tool", "assess_task_completion"),  # refused, so not done
    ("orchestrate", "human_input"),
    ("orchestrate", "planner"),
    ("orchestrate", "call_tool", "assess_task_completion", "advance_to_next_task"),
    ("generate_response",),
)


def whole_story(experts: Experts) -> Conversation:
    """Two calls in one message, a refusal, a question, IDK, another plan, and an approval."""
    return Conversation(
        experts,
        configuration=Configuration(SERVERS),
        planner=[
            clarify("Which city?"),
            plan(("waste", "Find the facilities in Berlin."), ("notes", "Note their number.")),
            plan(("notes", "Note their number.")),
        ],
        expert=[
            calls(
                ("waste.facilities_list", {"location": "Berlin"}),
                ("waste.shipments_list", {"facility_id": "${c1.data[*].id}", "limit": 3}),
            ),
            calls(("notes.add", {"text": "first"})),
            says("Shall I note the number only?", "ask_human"),
            says("I would need another tool.", "idk"),
            calls(("notes.add", {"text": "the number"}), ("notes.list_all", {})),
        ],
        assessor=[done(), done(False, "It was refused."), done()],
        responder=["Noted."],
    )


async def test_a_conversation_goes_through_every_edge_over_two_servers(experts: Experts) -> None:
    """F004-5 to F004-15, C-33, C-34: clarify, call twice, refuse, approve, ask, IDK, replace."""
    talked = whole_story(experts)
    await talked.says("How many facilities are there? Note it.")
    await talked.resumes("Berlin")
    await talked.resumes(refused("Ask me first."))
    await talked.resumes("Yes")
    state = await talked.resumes(approved(talked.interrupts[-1]))
    assert tuple(talked.visited) == tuple(node for way in EDGES for node in way)
    kinds = [each["kind"] for each in talked.interrupts]
    assert kinds == ["clarification", "approval", "question", "approval"]
    assert talked.interrupts[1]["effects"][0]["tool"] == "notes.add"
    facilities, shipments, refusal, added, listed = answers(state)
    assert all(row["location"] == "Berlin" for row in json.loads(facilities)["data"])
    assert "data" in json.loads(shipments)
    assert refusal.endswith("no call was made. Ask me first.")
    assert json.loads(added) == {"count": 1}
    assert set(json.loads(listed)) == {"notes", "process"}
    assert last(state).text == "Noted."


async def test_models_are_shown_the_tools_of_one_server_and_no_secret(experts: Experts) -> None:
    """F004-7, C-33: secrets stay in the server's environment."""
    talked = whole_story(experts)
    await talked.says("How many facilities are there? Note it.")
    await talked.resumes("Berlin")
    assert "waste.shipments_list" in asked(talked.expert, 0)
    assert "notes.add" not in asked(talked.expert, 0)
    assert "notes.add" in asked(talked.expert, 1)
    for model in (talked.planner, talked.expert, talked.assessor):
        for at in range(len(model.requests)):
            assert SECRET not in asked(model, at)


def test_a_server_keeps_its_state_over_conversations(experts: Experts) -> None:
    """F004-9: one process for all calls, and a second call is a call, not a cached answer."""

    def listed(thread: str) -> dict[str, Json]:
        talked = Conversation(
            experts,
            planner=[plan(("notes", "List them."))],
            expert=[calls(("notes.list_all", {})), says("Listed.")],
            thread=thread,
        )
        state = asyncio.run(talked.says("List the notes"))
        return json.loads(answers(state)[0])

    first, second = listed("a"), listed("b")
    assert first["process"] == second["process"] != os.getpid()


def test_a_server_that_does_not_start_is_an_expert_that_cannot_be_had() -> None:
    """F004-7: the others continue, for each has a source of its own."""
    broken: dict[str, Json] = {"gone": {"command": "no-such-command-at-all"}}
    with connected_experts(Configuration(broken), {}) as known:
        with pytest.raises(ExpertUnavailable, match="gone"):
            asyncio.run(known.tools("gone"))
        with pytest.raises(ExpertUnavailable, match="There is no expert 'other'"):
            asyncio.run(known.tools("other"))
