"""What the orchestrator of the Clear adapter remembers, and that it can do without."""

from __future__ import annotations

import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from packages.adapters.tests.doubles import Provider, plan_text
from packages.adapters.tests.orchestrated import CONTAMINATED, ask, orchestrator
from toolplan.path import Json
from toolplan.storage.memory import Memory, SqliteMemory
from toolplan.testing import Raises, ScriptedTools


def lost_memory(delay_s: float = 0.0) -> Memory:
    """Return a memory that fails in every call, after `delay_s` seconds."""

    def fail(*_: object) -> None:
        time.sleep(delay_s)
        raise ConnectionError("no memory")

    return Mock(recall=fail, remember=fail)


@pytest.mark.parametrize("delay_s", [0, 0.3])
def test_without_memory_the_question_stands_for_itself(delay_s: float) -> None:
    """The original threw from its own error path when memory was down (behaviours 2.10)."""
    limit = 100 if delay_s else 5_000
    made = orchestrator(Provider(CONTAMINATED), memory=lost_memory(delay_s), memoryTimeout=limit)
    response = ask(made, session="s")
    assert response.status == "answered"
    assert len(response.metadata.degraded) == 2
    what = "TimeoutError" if delay_s else "ConnectionError"
    assert response.metadata.degraded[0] == f"The earlier conversation could not be loaded: {what}."
    assert response.metadata.degraded[1] == f"The question could not be saved: {what}."


def test_a_failure_is_still_reported_when_memory_is_down_as_well() -> None:
    tools = ScriptedTools()
    tools.add("broken", Raises(ValueError("no power")))
    made = orchestrator(
        Provider(plan_text({"tool": "broken"})), tools.toolbox, memory=lost_memory()
    )
    response = ask(made, session="s")
    assert (response.status, response.metadata.error) == ("failed", True)
    assert "no power" in response.message


def test_what_was_asked_is_remembered_for_its_session_alone(tmp_path: Path) -> None:
    """F000-39, F000-43: no user's words reach another, and without a session none are kept."""
    provider = Provider(CONTAMINATED)
    memory = SqliteMemory(tmp_path / "memory.db")
    made = orchestrator(provider, memory=memory)
    ask(made, "Get contaminated shipments", session="anna")
    assert [each.query for each in memory.episodic("anna")] == ["Get contaminated shipments"]
    assert memory.episodic("anna")[0].plan is not None
    ask(made, "What about inspections?", session="anna")
    assert "Get contaminated" in provider.prompt()
    ask(made, "What about inspections?", session="bert")
    assert "Get contaminated" not in provider.prompt()
    ask(made, "What about facilities?")
    assert memory.episodic("") == ()


def test_a_conversation_continues_without_a_model(tmp_path: Path) -> None:
    """F000-40, F000-41: each turn from what the session remembers of those before."""
    provider = Provider(ConnectionError())
    made = orchestrator(provider, memory=SqliteMemory(tmp_path / "memory.db"))
    munich: tuple[str, dict[str, Json]] = ("facilities_list", {"location": "Munich"})
    theirs: dict[str, Json] = {"facility_id": "${step[0].data.*.id}"}
    turns: list[tuple[str, list[tuple[str, dict[str, Json]]] | None]] = [
        ("Get facilities in Berlin", [("facilities_list", {"location": "Berlin"})]),
        ("Show me the same for Munich", [munich]),
        ("Show me their shipments", [munich, ("shipments_list", {**theirs})]),
        (
            "only the rejected ones",
            [munich, ("shipments_list", {**theirs, "status": "rejected"})],
        ),
        ("Show me stuff", None),
        ("inspections", [("inspections_list", {})]),
    ]
    for query, steps in turns:
        response = ask(made, query, session="anna")
        if steps is None:
            assert (response.status, response.plan) == ("clarification", None)
            assert '"stuff"' in response.message
            continue
        assert response.plan is not None, query
        assert [(each.tool, each.params) for each in response.plan.steps] == steps
        assert response.status == "answered"
    assert provider.calls == 6  # for the first question, and for "stuff", which is no follow-up


def test_memory_can_be_switched_off(tmp_path: Path) -> None:
    memory = SqliteMemory(tmp_path / "memory.db")
    made = orchestrator(Provider(CONTAMINATED), memory=memory, enableMemory=False)
    ask(made, session="anna")
    assert memory.episodic("anna") == ()
