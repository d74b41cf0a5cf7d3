"""The orchestrator of the Clear adapter: stages, what it does without each of them, and leaving."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest

from packages.adapters.tests.doubles import TODAY, Provider, plan_text
from packages.adapters.tests.orchestrated import (
    CONTAMINATED,
    DEMO,
    Analyses,
    Words,
    ask,
    orchestrator,
)
from toolplan.path import Json
from toolplan.testing import Gives, Hangs, Raises, ScriptedTools
from toolplan.tools import Effects, Toolbox
from toolplan_adapters.clear import (
    Analysis,
    Executor,
    Orchestrator,
    PlannerAgent,
    Progress,
    Response,
    SettingError,
    Summarizer,
    SummarizerConfig,
    ToolInfo,
)


def failing(*_: object) -> Analysis:
    raise ZeroDivisionError("a weak spot")


def wordless(_: Analysis) -> str:
    raise ZeroDivisionError("a weak spot")


def test_a_query_is_planned_run_analysed_and_answered() -> None:
    """F000-43: plan, execute, analyze, summarize."""
    response = ask(orchestrator(Provider(CONTAMINATED)))
    assert response.status == "answered"
    assert response.tools_used == ("shipments_list",)
    (rows,) = response.data
    assert isinstance(rows, list)
    assert str(len(rows)) in response.message
    assert response.analysis is not None
    assert response.analysis.summary in response.message
    assert response.plan is not None
    metadata = response.metadata
    assert (metadata.request_id, metadata.error, metadata.degraded) == ("r1", False, ())
    assert metadata.timestamp == "2025-10-12T06:00:00.000Z"
    assert metadata.total_duration_ms > 0
    assert json.loads(json.dumps(response.to_json())) == response.to_json()


def test_progress_is_reported_stage_by_stage() -> None:
    """The numbers of the original: 10, 20, 40 to 70, 70, 85, 95, 100 (behaviours 2.10)."""
    reported: list[Progress] = []
    text = plan_text({"tool": "shipments_list"}, {"tool": "facilities_list"})
    made = orchestrator(Provider(text))
    asyncio.run(made.handle_query("both", on_progress=reported.append))
    assert [(each.stage, each.percent) for each in reported] == [
        ("context-loading", 10),
        ("planning", 20),
        ("executing", 40),
        ("executing", 55),
        ("executing", 70),
        ("analyzing", 70),
        ("summarizing", 85),
        ("storing", 95),
        ("complete", 100),
    ]
    assert {each.request_id for each in reported} == {"r1"}


def test_a_listener_that_fails_is_not_called_any_more_and_harms_nothing() -> None:
    def listen(_: Progress) -> None:
        raise ZeroDivisionError

    made = orchestrator(Provider(CONTAMINATED))
    response = asyncio.run(made.handle_query("x", on_progress=listen))
    assert response.status == "answered"
    assert response.metadata.degraded == ("Progress reports stopped: ZeroDivisionError.",)


# Doing without


def test_without_the_planner_the_offline_one_plans_and_the_response_says_so() -> None:
    """Degradation was promised and not there (behaviours 2.10)."""
    response = ask(orchestrator(Provider(ConnectionError("down"))))
    assert response.status == "answered"
    assert response.plan is not None
    assert response.plan.steps[0].params["has_contaminants"] is True
    (said,) = response.metadata.degraded
    assert "offline" in said
    assert "Failed to generate plan" in said


def test_a_planner_that_takes_too_long_is_replaced_too() -> None:
    class Slow:
        async def generate(self, request: dict[str, object], /) -> object:
            await asyncio.sleep(60)
            return ""

    planner = PlannerAgent(Slow(), today=lambda: TODAY)
    made = Orchestrator(
        planner, Executor(DEMO), config={"planningTimeout": 20}, today=lambda: TODAY
    )
    response = ask(made)
    assert response.status == "answered"
    assert "TimeoutError" in response.metadata.degraded[0]


def test_where_the_offline_planner_does_not_understand_it_asks_back() -> None:
    """F000-41, F003-22."""
    response = ask(orchestrator(Provider("nonsense")), "Show me stuff")
    assert (response.status, response.metadata.error) == ("clarification", False)
    assert response.message
    assert "Could not extract valid JSON" in response.metadata.degraded[0]


def test_without_the_analysis_the_results_are_counted() -> None:
    response = ask(orchestrator(Provider(CONTAMINATED), analyzer=Analyses(failing)))
    assert response.status == "answered"
    assert response.message.startswith("1 of 1 steps succeeded.\nshipments_list gave ")
    (said,) = response.metadata.degraded
    assert said == "The results were counted, not analysed: ZeroDivisionError."


def test_without_the_summary_the_analysis_stands() -> None:
    provider = Provider(CONTAMINATED)
    plain = ask(orchestrator(provider))
    response = ask(orchestrator(provider, summarizer=Words(wordless)))
    assert response.message == plain.message
    assert response.metadata.degraded == ("The summary failed: ZeroDivisionError.",)
    worded = ask(orchestrator(provider, summarizer=Words(lambda found: f"So: {found.summary}")))
    assert worded.message.startswith("So: ")


# Words


def summarized(provider: Provider | None = None, **settings: object) -> str:
    made = orchestrator(Provider(CONTAMINATED), summarizer=Summarizer(provider, settings))
    return ask(made).message


def test_a_summary_of_a_model_is_held_against_the_results() -> None:
    """In the original nothing checked the answer against the rows (behaviours 2.10)."""
    text = summarized(Provider("There were 123,456 contaminated shipments, says Dr Nemo."))
    assert "123,456" in text
    assert text != "There were 123,456 contaminated shipments, says Dr Nemo."
    assert "not" in text.lower()


def test_the_format_of_a_summary_is_kept() -> None:
    """In the original it was a hint to the model (behaviours 2.10)."""
    assert isinstance(json.loads(summarized(format="json")), dict)
    assert isinstance(json.loads(summarized(Provider("Some were found."), format="json")), dict)
    assert summarized(format="markdown") != summarized(format="plain")


def test_a_summary_does_not_need_a_model() -> None:
    down = summarized(Provider(ConnectionError("key sk-secret")))
    assert "sk-secret" not in down
    assert "Written without a model" in down
    assert "shipments were found" in summarized()


@pytest.mark.parametrize("settings", [{"format": "html"}, {"tone": "rude"}, {"maxLength": 0}])
def test_a_setting_of_summaries_that_does_not_fit_is_reported(settings: dict[str, object]) -> None:
    with pytest.raises(SettingError, match=r" is .*: Input should be "):
        SummarizerConfig.of(settings)


# Failing


def test_when_every_step_fails_the_query_has_failed() -> None:
    """The original reported success (behaviours 2.10)."""
    tools = ScriptedTools()
    tools.add("broken", Raises(ValueError("no power")))
    response = ask(orchestrator(Provider(plan_text({"tool": "broken"})), tools.toolbox))
    assert (response.status, response.metadata.error) == ("failed", True)
    assert response.message.startswith("I encountered an error processing your request: ")
    assert (response.tools_used, response.data) == ((), ())
    assert response.analysis is not None
    assert response.analysis.summary == "No successful results to analyze"


def test_when_some_steps_fail_the_answer_says_which() -> None:
    tools = ScriptedTools()
    tools.add("broken", Raises(ValueError("no power")))
    tools.add("works", Gives({"data": [{"id": 1}]}))
    text = plan_text({"tool": "works"}, {"tool": "broken"})
    response = ask(orchestrator(Provider(text), tools.toolbox))
    assert response.status == "answered"
    assert "no power" in response.message
    assert response.tools_used == ("works",)
    assert response.analysis is not None
    assert response.analysis.anomalies


def test_effects_do_not_happen_without_approval() -> None:
    tools = ScriptedTools()
    tools.add("wipe", Gives({"data": None}), effects=Effects.DESTRUCTIVE)
    made = orchestrator(Provider(plan_text({"tool": "wipe"})), tools.toolbox)
    response = ask(made)
    assert (response.status, tools.calls) == ("approval-required", [])
    assert response.digest in response.message
    other = asyncio.run(made.handle_query("Get contaminated shipments", approve="f" * 64))
    assert (other.status, tools.calls) == ("approval-required", [])
    approved = asyncio.run(made.handle_query("Get contaminated shipments", approve=response.digest))
    assert (approved.status, len(tools.calls)) == ("answered", 1), approved.message


def test_tools_of_which_only_the_description_is_known_cannot_be_run() -> None:
    """F003-8: enough to plan with, and the response says that it is no more."""
    tools = Toolbox([ToolInfo("shipments", "Query shipments", ("status",)).tool()])
    response = ask(orchestrator(Provider(plan_text({"tool": "shipments"})), tools))
    assert response.status == "failed"
    assert response.plan is not None


def test_a_planner_of_ones_own_may_give_plans_in_the_form_of_clear_ai() -> None:
    class Own:
        async def plan(self, query: str, context: Json = None) -> object:
            return {"steps": [{"tool": "facilities", "params": {"location": query}}]}

    response = asyncio.run(Orchestrator(Own(), Executor(DEMO)).handle_query("Berlin"))
    assert (response.status, response.tools_used) == ("answered", ("facilities_list",))

    class Wrong:
        async def plan(self, query: str, context: Json = None) -> object:
            return "no plan"

    response = asyncio.run(Orchestrator(Wrong(), Executor(DEMO)).handle_query("All facilities"))
    assert response.status == "answered"
    assert "Could not extract valid JSON" in response.metadata.degraded[0]


def test_a_question_back_of_the_planner_reaches_the_user() -> None:
    """F000-41."""
    reply = json.dumps({"clarification": {"question": "Which facility?", "options": ["F1", "F2"]}})
    response = ask(orchestrator(Provider(reply)))
    assert (response.status, response.message) == ("clarification", "Which facility?")
    assert response.options == ("F1", "F2")


# Leaving


def hanging() -> tuple[ScriptedTools, Provider]:
    tools = ScriptedTools()
    tools.add("hangs", Hangs())
    return tools, Provider(plan_text({"tool": "hangs"}))


def test_a_query_that_takes_too_long_ends_with_its_calls_cancelled() -> None:
    """`timeout` was never used in the original (behaviours 2.10)."""
    tools, provider = hanging()
    response = ask(orchestrator(provider, tools.toolbox, timeout=600))
    assert (response.status, response.metadata.error) == ("timed-out", True)
    assert response.message == "The query took longer than 0.6 s."
    assert tools.cancelled == ["hangs"]


def test_a_provider_that_blocks_is_given_up_too() -> None:
    """A function that is no coroutine function runs in a thread, so time passes."""
    until = threading.Event()

    class Blocks:
        def generate(self, request: dict[str, object], /) -> object:
            until.wait(20)
            return ""

    made = Orchestrator(PlannerAgent(Blocks()), Executor(DEMO), config={"timeout": 60})
    response = ask(made)
    until.set()
    assert response.status == "timed-out"


def test_a_stage_has_a_time_of_its_own() -> None:
    tools, provider = hanging()
    response = ask(orchestrator(provider, tools.toolbox, executionTimeout=300))
    assert response.status == "failed"
    assert tools.cancelled == ["hangs"]


@pytest.mark.parametrize("elsewhere", [False, True], ids=["same thread", "another thread"])
def test_a_query_can_be_cancelled(elsewhere: bool) -> None:
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

    async def main() -> Response:
        return await made.handle_query("x", request_id="q7", on_progress=listen)

    response = asyncio.run(main())
    if elsewhere:
        other.join()
    assert (response.status, response.message) == ("cancelled", "The query was cancelled.")
    assert (response.metadata.request_id, cancelled) == ("q7", [True])
    assert made.cancel_query("q7") is False


def test_cancelling_one_query_leaves_the_others_alone() -> None:
    tools, _ = hanging()
    tools.add("works", Gives({"data": [1]}, delay_s=0.05))
    provider = Provider(plan_text({"tool": "hangs"}), plan_text({"tool": "works"}))
    made = orchestrator(provider, tools.toolbox)

    async def main() -> tuple[Response, Response]:
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
        return await first, await second

    first, second = asyncio.run(main())
    assert (first.status, second.status) == ("cancelled", "answered")
