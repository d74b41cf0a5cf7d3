"""The orchestrator of the Clear adapter: its stages, its failures, and cancellation."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from unittest.mock import Mock

import pytest

from packages.adapters.tests.doubles import Provider, plan_text
from packages.adapters.tests.orchestrated import CONTAMINATED, DEMO, QUERY, orchestrator
from toolplan.plan.path import Json
from toolplan.schema.tool import Effects, Toolbox
from toolplan.show.summary.summariser import Summariser
from toolplan.storage.memory import MemoryFault, SqliteMemory
from toolplan.testing import Gives, Hangs, Raises, ScriptedTools
from toolplan_adapters.clear import Executor, Orchestrator, PlannerAgent, Progress, ToolInfo
from toolplan_adapters.clear.planner import ProviderModel


async def test_a_query_is_planned_run_and_answered() -> None:
    """F000-43: plan, execute, analyze, summarize."""
    response = await orchestrator(Provider(CONTAMINATED)).handle_query(QUERY, request_id="r1")
    assert (response.status, response.tools_used) == ("answered", ("shipments_list",))
    (rows,) = response.data
    assert isinstance(rows, list)
    assert str(len(rows)) in response.message
    assert response.answer is not None
    assert response.answer.headline in response.message
    assert response.plan is not None
    metadata = response.metadata
    assert (metadata.request_id, metadata.error, metadata.degraded) == ("r1", False, ())
    assert metadata.timestamp == "2025-10-12T06:00:00.000Z"
    assert metadata.total_duration_ms > 0
    assert json.loads(json.dumps(response.to_json())) == response.to_json()


async def test_progress_is_reported_stage_by_stage() -> None:
    """The numbers of the original (behaviours 2.10)."""
    reported: list[Progress] = []
    text = plan_text({"tool": "shipments_list"}, {"tool": "facilities_list"})
    await orchestrator(Provider(text)).handle_query("both", on_progress=reported.append)
    assert [(each.stage, each.percent) for each in reported] == [
        ("planning", 20),
        ("executing", 40),
        ("executing", 55),
        ("executing", 70),
        ("summarizing", 85),
        ("complete", 100),
    ]
    assert len({each.request_id for each in reported}) == 1


async def test_a_listener_that_fails_is_not_called_any_more_and_harms_nothing() -> None:
    def listen(_: Progress) -> None:
        raise ZeroDivisionError

    response = await orchestrator(Provider(CONTAMINATED)).handle_query(QUERY, on_progress=listen)
    assert response.status == "answered"
    assert response.metadata.degraded == ("Progress reports stopped: ZeroDivisionError.",)


async def test_without_the_model_the_offline_planner_plans_and_the_response_says_so() -> None:
    """Degradation was promised and not there (behaviours 2.10)."""
    made = orchestrator(Provider(ConnectionError("key sk-secret")))
    response = await made.handle_query(QUERY)
    assert response.status == "answered"
    assert response.plan is not None
    assert response.plan.steps[0].params["has_contaminants"] is True
    (said,) = response.metadata.degraded
    assert "offline planner was used: The provider failed 3 times" in said
    assert "sk-secret" not in said
    asked = await made.handle_query("Show me stuff")
    assert (asked.status, asked.metadata.error) == ("clarification", False)
    assert '"stuff"' in asked.message


async def test_without_a_plan_that_passes_the_query_has_failed() -> None:
    response = await orchestrator(Provider("nonsense")).handle_query(QUERY)
    assert (response.status, response.plan) == ("failed", None)
    assert "Could not extract valid JSON" in response.message


async def test_a_summary_of_a_model_is_compared_with_the_results() -> None:
    """In the original nothing checked the answer against the rows (behaviours 2.10)."""
    text = "There were 123,456 contaminated shipments, says Dr Nemo."
    writer = Summariser(ProviderModel(Provider(text)))
    response = await orchestrator(Provider(CONTAMINATED), summarizer=writer).handle_query(QUERY)
    assert "123,456" in response.message
    assert response.message != text
    assert "not" in response.message.lower()


async def test_when_every_step_fails_the_query_has_failed() -> None:
    """The original reported success (behaviours 2.10)."""
    tools = ScriptedTools()
    tools.add("broken", Raises(ValueError("no power")))
    tools.add("works", Gives({"data": [{"id": 1}]}))
    provider = Provider(
        plan_text({"tool": "broken"}), plan_text({"tool": "works"}, {"tool": "broken"})
    )
    made = orchestrator(provider, tools.toolbox)
    response = await made.handle_query("first")
    assert (response.status, response.metadata.error) == ("failed", True)
    assert response.message.startswith("I encountered an error processing your request: broken: ")
    assert "no power" in response.message
    assert (response.tools_used, response.data) == ((), ())
    some = await made.handle_query("second")
    assert (some.status, some.tools_used) == ("answered", ("works",))
    assert "no power" in some.message


async def test_effects_do_not_happen_without_approval() -> None:
    tools = ScriptedTools()
    tools.add("wipe", Gives({"data": None}), effects=Effects.DESTRUCTIVE)
    made = orchestrator(Provider(plan_text({"tool": "wipe"})), tools.toolbox)
    response = await made.handle_query(QUERY)
    assert (response.status, tools.calls) == ("approval-required", [])
    assert response.plan is not None
    assert response.digest in response.message
    for digest in ("f" * 64, "values"):
        other = await made.handle_query(QUERY, approve=digest)
        assert (other.status, tools.calls) == ("approval-required", [])
    approved = await made.handle_query(QUERY, approve=response.digest)
    assert (approved.status, len(tools.calls)) == ("answered", 1), approved.message


async def test_tools_of_which_only_the_description_is_known_cannot_be_run() -> None:
    """F003-8: enough to plan with, and the response says that it is no more."""
    tools = Toolbox([ToolInfo("shipments", "Query shipments", ("status",)).tool()])
    made = orchestrator(Provider(plan_text({"tool": "shipments"})), tools)
    response = await made.handle_query(QUERY)
    assert response.status == "failed"
    assert response.plan is not None


async def test_a_question_back_of_the_planner_reaches_the_user() -> None:
    """F000-41, F003-22."""
    reply = json.dumps({"clarification": {"question": "Which facility?", "options": ["F1", "F2"]}})
    response = await orchestrator(Provider(reply)).handle_query(QUERY)
    assert (response.status, response.message) == ("clarification", "Which facility?")
    assert response.options == ("F1", "F2")


# Memory


async def test_without_memory_the_question_stands_for_itself() -> None:
    """The original threw from its own error path when memory was down (behaviours 2.10)."""
    fault = MemoryFault("memory", "no memory")
    lost = Mock(recall=Mock(side_effect=fault), remember=Mock(side_effect=fault))
    made = orchestrator(Provider(CONTAMINATED), memory=lost)
    assert (await made.handle_query(QUERY, session="s")).status == "answered"


async def test_what_was_asked_is_remembered_for_its_session_alone(tmp_path: Path) -> None:
    """F000-39, F000-43: no user's words reach another, and without a session none are kept."""
    provider = Provider(CONTAMINATED)
    memory = SqliteMemory(tmp_path / "memory.db")
    made = orchestrator(provider, memory=memory)
    await made.handle_query(QUERY, session="anna")
    assert [each.query for each in memory.episodic("anna")] == [QUERY]
    assert memory.episodic("anna")[0].plan is not None
    await made.handle_query("What about inspections?", session="anna")
    assert QUERY in provider.prompt()
    await made.handle_query("What about inspections?", session="bert")
    assert QUERY not in provider.prompt()
    await made.handle_query("What about facilities?")
    assert memory.episodic("") == ()


async def test_a_conversation_continues_without_a_model(tmp_path: Path) -> None:
    """F000-40, F000-41: each turn from what the session remembers of those before."""
    provider = Provider(ConnectionError())
    made = orchestrator(provider, memory=SqliteMemory(tmp_path / "memory.db"))
    munich: tuple[str, dict[str, Json]] = ("facilities_list", {"location": "Munich"})
    theirs: dict[str, Json] = {"facility_id": "${step[0].data.*.id}"}
    turns: list[tuple[str, list[tuple[str, dict[str, Json]]]]] = [
        ("Get facilities in Berlin", [("facilities_list", {"location": "Berlin"})]),
        ("Show me the same for Munich", [munich]),
        ("Show me their shipments", [munich, ("shipments_list", theirs)]),
    ]
    for query, steps in turns:
        response = await made.handle_query(query, session="anna")
        assert response.plan is not None, response.message
        assert [(each.tool, each.params) for each in response.plan.steps] == steps


# Cancellation


def hanging() -> tuple[ScriptedTools, Provider]:
    tools = ScriptedTools()
    tools.add("hangs", Hangs())
    return tools, Provider(plan_text({"tool": "hangs"}))


async def test_a_query_that_takes_too_long_ends_with_its_calls_cancelled() -> None:
    """`timeout` was never used in the original (behaviours 2.10)."""
    tools, provider = hanging()
    response = await orchestrator(provider, tools.toolbox, timeout=600).handle_query(QUERY)
    assert (response.status, response.metadata.error) == ("timed-out", True)
    assert response.message == "The query took longer than 0.6 s."
    assert tools.cancelled == ["hangs"]


async def test_a_provider_that_blocks_is_given_up_too() -> None:
    """A function that is no coroutine function runs in a thread, so time passes."""
    until = threading.Event()

    class Blocks:
        def generate(self, request: dict[str, object], /) -> object:
            until.wait(20)
            return ""

    made = Orchestrator(PlannerAgent(Blocks()), Executor(DEMO), config={"timeout": 60})
    response = await made.handle_query(QUERY)
    until.set()
    assert response.status == "timed-out"


async def test_the_time_of_the_plan_is_limited_too() -> None:
    tools, provider = hanging()
    planner = PlannerAgent(provider, None, {"availableTools": dict(tools.toolbox)})
    made = Orchestrator(planner, Executor(tools.toolbox, {"totalTimeout": 300}))
    response = await made.handle_query(QUERY)
    assert (response.status, tools.cancelled) == ("failed", ["hangs"])


@pytest.mark.parametrize("elsewhere", [False, True], ids=["same thread", "another thread"])
async def test_a_query_can_be_cancelled(elsewhere: bool) -> None:
    """`cancelQuery` of the original logged, and went on (behaviours 2.8)."""
    tools, provider = hanging()
    made = orchestrator(provider, tools.toolbox)
    cancelled: list[bool] = []

    def cancel() -> None:
        cancelled.append(made.cancel_query("q7"))

    other = threading.Thread(target=cancel)

    def listen(progress: Progress) -> None:
        if progress.stage == "executing":
            if elsewhere:
                other.start()
            else:
                cancel()

    response = await made.handle_query("x", request_id="q7", on_progress=listen)
    if elsewhere:
        other.join()
    assert (response.status, response.message) == ("cancelled", "The query was cancelled.")
    assert (response.metadata.request_id, cancelled) == ("q7", [True])
    assert made.cancel_query("q7") is False


async def test_cancelling_one_query_leaves_the_others_alone() -> None:
    tools, _ = hanging()
    tools.add("works", Gives({"data": [1]}, delay_s=0.05))
    provider = Provider(plan_text({"tool": "hangs"}), plan_text({"tool": "works"}))
    made = orchestrator(provider, tools.toolbox)
    running = asyncio.Event()

    def listen(progress: Progress) -> None:
        if progress.stage == "executing":
            running.set()

    first = asyncio.create_task(made.handle_query("hang", request_id="a", on_progress=listen))
    await running.wait()
    second = asyncio.create_task(made.handle_query("work", request_id="b"))
    await asyncio.sleep(0)
    with pytest.raises(ValueError, match="already being answered"):
        await made.handle_query("again", request_id="b")
    assert made.cancel_query("a")
    assert ((await first).status, (await second).status) == ("cancelled", "answered")


def words(*, hangs: bool) -> Summariser:
    """Return a summariser whose model hangs or fails."""

    async def summarise(*_: object) -> None:
        if hangs:
            await asyncio.sleep(60)
        raise RuntimeError("a secret")

    return Mock(Summariser, summarise=summarise)


@pytest.mark.parametrize("hangs", [True, False])
async def test_calls_that_were_made_are_answered_whatever_the_summariser_does(hangs: bool) -> None:
    made = orchestrator(Provider(CONTAMINATED), summarizer=words(hangs=hangs), timeout=2_000)
    response = await made.handle_query(QUERY)
    assert (response.status, response.tools_used) == ("answered", ("shipments_list",))
    assert response.answer is not None
    assert response.message == response.answer.text
    (said,) = response.metadata.degraded
    assert said.startswith("The summary failed: ")
    assert "secret" not in said
