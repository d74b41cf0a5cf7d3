"""The planner of the Clear adapter: what its users rely on, and what is fixed."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any, ClassVar
from unittest.mock import AsyncMock, Mock

import pytest
from _pytest.mark.structures import ParameterSet

from packages.adapters.tests.doubles import NOW, ONE_STEP, TODAY, Naps, Provider, plan_text
from toolplan.plan.path import Json
from toolplan.providers import ModelError
from toolplan.schema.tool import Arguments
from toolplan_adapters.clear import (
    BaseTool,
    ClarificationNeeded,
    MCPServer,
    Plan,
    PlanDependencyError,
    PlannerAgent,
    PlannerError,
    PlanValidationError,
    ToolNotFoundError,
    ToolResult,
    register_all_tools,
)


def agent(
    provider: Provider, background: object = None, naps: Naps | None = None, **settings: object
) -> PlannerAgent:
    """Return a planner on the seed's day, whose waits take no time."""
    assert background is None or isinstance(background, MCPServer | Said)
    return PlannerAgent(
        provider, background, settings, clock=lambda: NOW, today=lambda: TODAY, sleep=naps or Naps()
    )


def plan(provider: Provider, query: str = "test", context: Json = None, **settings: object) -> Plan:
    return asyncio.run(agent(provider, None, None, **settings).plan(query, context))


class Said:
    """A conversation that was had."""

    def __init__(self, *messages: Mapping[str, object]) -> None:
        self._messages = messages

    def get_messages(self) -> tuple[Mapping[str, object], ...]:
        return self._messages


def test_a_reply_with_steps_only_becomes_a_plan_with_metadata() -> None:
    """F000-1, F000-2, F000-3, F000-45, F003-16, C-16: query and time are filled in, really."""
    made = plan(Provider(ONE_STEP), "Get shipments")
    assert [step.tool for step in made.steps] == ["shipments_list"]
    assert made.steps[0].depends_on == ()
    assert made.steps[0].parallel is False
    assert made.metadata.query == "Get shipments"
    assert made.metadata.timestamp == "2025-10-12T06:00:00.000Z"
    assert made.metadata.estimated_duration_ms is None
    assert json.loads(json.dumps(made.to_json())) == made.to_json()


@pytest.mark.parametrize("reply", [ONE_STEP, {"content": ONE_STEP}])
def test_a_provider_may_give_text_and_need_no_coroutine(reply: object) -> None:
    """F000-45."""

    class Plain:
        def generate(self, request: dict[str, object], /) -> object:
            assert set(request) == {"messages", "config"}
            return reply

    made = asyncio.run(PlannerAgent(Plain(), today=lambda: TODAY).plan("test"))
    assert made.steps[0].tool == "shipments_list"


@pytest.mark.parametrize("kind", [Mock, AsyncMock])
def test_mocks_of_the_seeds_own_tests_will_do(kind: type[Mock]) -> None:
    """F000-45, F003-1: as in the unit tests that the seeds print."""
    llm = Mock(generate=kind(return_value={"content": ONE_STEP, "usage": {"total_tokens": 100}}))
    conversation = Mock(get_messages=Mock(return_value=[]), add_message=Mock())
    planner = PlannerAgent(llm, conversation, {"enableCaching": False}, today=lambda: TODAY)
    assert len(asyncio.run(planner.plan("test")).steps) == 1
    assert llm.generate.call_count == 1


def test_the_estimate_of_the_model_is_kept_where_it_is_one() -> None:
    """F000-3, F003-17, F003-27: any number that is not negative."""
    for said, kept in [(1500, 1500), (0, 0), (-5, None), ("soon", None), (True, None)]:
        metadata: Json = {"query": "x", "timestamp": "1970", "estimated_duration_ms": said}
        made = plan(Provider(plan_text({"tool": "shipments_list"}, metadata=metadata)), "mine")
        assert made.metadata.estimated_duration_ms == kept
        # C-16: what the model writes there does not count
        assert (made.metadata.query, made.metadata.timestamp[:4]) == ("mine", "2025")


def test_a_list_in_a_scalar_becomes_a_call_for_each_and_the_plan_says_so() -> None:
    """C-03: the recorded run called with one text made of nine ids."""
    text = plan_text(
        {"tool": "facilities_list", "params": {}},
        {"tool": "facilities_get", "params": {"id": "${step[0].data.*.id}"}, "depends_on": [0]},
    )
    step = plan(Provider(text)).steps[1]
    assert step.more == {"for_each": "${s0.data[*].id}"}
    assert step.params == {"id": "${item}"}
    assert step.to_json()["more"] == step.more


# Trying again


def test_a_reply_that_is_no_json_is_asked_for_again_at_once_with_what_was_wrong() -> None:
    """F000-26, F003-20, C-08: two calls, no wait, and the error goes back to the model."""
    provider, naps = Provider("invalid json", ONE_STEP), Naps()
    made = asyncio.run(agent(provider, naps=naps).plan("test query"))
    assert (provider.calls, len(made.steps), naps.seconds) == (2, 1, [])
    assert "invalid json" in provider.prompt()
    assert provider.prompt() != provider.prompt(0)


@pytest.mark.parametrize(("tries", "text"), [(3, "invalid"), (1, "invalid"), (5, "{}")])
def test_the_model_is_asked_as_often_as_is_set_and_then_there_is_an_error(
    tries: int, text: str
) -> None:
    """F000-26, F000-27, F003-20: `maxRetries` counts all tries."""
    provider = Provider(text)
    with pytest.raises(PlannerError) as raised:
        plan(provider, maxRetries=tries)
    assert provider.calls == tries
    word = "attempt" if tries == 1 else "attempts"
    assert f"Failed to generate valid plan after {tries} {word}" in str(raised.value)


def test_an_endpoint_that_fails_is_asked_again_after_a_while() -> None:
    """F003-20, F003-22, C-08: 1 s, then 2 s; it is not fed back to the model."""
    provider, naps = Provider(ConnectionError("down"), OSError(), ONE_STEP), Naps()
    made = asyncio.run(agent(provider, naps=naps).plan("test"))
    assert (provider.calls, len(made.steps), naps.seconds) == (3, 1, [1, 2])
    assert provider.prompt() == provider.prompt(0)


def test_an_endpoint_that_stays_down_ends_the_planning_and_its_text_is_not_repeated() -> None:
    """F000-27, F003-21, F003-22: what a provider says of itself may hold a key."""
    provider, naps = Provider(ConnectionError("key sk-secret refused")), Naps()
    with pytest.raises(PlannerError) as raised:
        asyncio.run(agent(provider, naps=naps).plan("test"))
    assert (provider.calls, naps.seconds) == (3, [1, 2])
    assert "Failed to generate plan" in str(raised.value)
    assert "ConnectionError" in str(raised.value)
    assert "sk-secret" not in str(raised.value)
    assert isinstance(raised.value.__cause__, ModelError)


def test_a_reply_without_content_is_reported() -> None:
    class Empty:
        def generate(self, request: dict[str, object], /) -> object:
            return {"choices": []}

    with pytest.raises(PlannerError, match="'content'"):
        asyncio.run(PlannerAgent(Empty()).plan("test"))


def test_what_is_no_provider_is_refused_at_once() -> None:
    not_a_provider: Any = Naps()
    with pytest.raises(TypeError, match="generate"):
        PlannerAgent(not_a_provider)


# Errors


INVALID = "Invalid plan structure"


def dependency(step: Mapping[str, Json], index: int, *, id: str) -> ParameterSet:
    words = f"Invalid dependency index: {index}"
    return pytest.param(plan_text(step), PlanDependencyError, [words], id=id)


@pytest.mark.parametrize(
    ("reply", "kind", "said"),
    [
        pytest.param(
            "invalid", PlannerError, ["Could not extract valid JSON from response"], id="no-json"
        ),
        pytest.param("{}", PlanValidationError, [INVALID, "steps"], id="no-steps"),
        pytest.param('{"steps": []}', PlanValidationError, [INVALID, "no step"], id="empty"),
        pytest.param(
            '{"steps": [{"params": {}}]}', PlanValidationError, [INVALID, "'tool'"], id="no-tool"
        ),
        pytest.param(
            plan_text({"tool": "tool1", "depends_on": [1.5]}, {"tool": "tool2", "depends_on": [1]}),
            PlanValidationError,
            [INVALID, "Circular dependency", "Tool not available: tool1"],
            id="several",
        ),
        pytest.param(
            plan_text({"tool": "nonexistent-tool"}),
            ToolNotFoundError,
            ["Tool not available: nonexistent-tool"],
            id="unknown-tool",
        ),
        dependency({"tool": "shipments_list", "depends_on": [5]}, 5, id="index"),
        dependency({"tool": "shipments_list", "depends_on": [-1]}, -1, id="negative"),
        dependency(
            {"tool": "contaminants_list", "params": {"shipment_ids": "${step[4].data}"}},
            4,
            id="reference",
        ),
        pytest.param(
            plan_text({"tool": "tool1", "depends_on": [1]}, {"tool": "tool2", "depends_on": [0]}),
            PlanDependencyError,
            [
                "Plan has circular dependencies",
                "Circular dependency detected in plan",
                "Tool not available: tool1",
                "Tool not available: tool2",
            ],
            id="cycle",
        ),
        pytest.param(
            plan_text({"tool": "shipments_list", "params": {"status": "lost"}}),
            PlanValidationError,
            [INVALID, "Step 0: status"],
            id="enum",
        ),
    ],
)
def test_errors_have_the_classes_and_the_words_that_callers_look_for(
    reply: str, kind: type[PlannerError], said: list[str]
) -> None:
    """Each of the words that are documented, whichever class is raised.

    F000-21, F000-22, F000-23, F000-24, F000-27, F000-28, F003-14, F003-15, F003-21, C-09, C-10,
    C-11.
    """
    with pytest.raises(PlannerError) as raised:
        plan(Provider(reply))
    assert isinstance(raised.value, kind)
    for words in ["Failed to generate valid plan after 3 attempts", *said]:
        assert words in str(raised.value)


def test_a_question_back_is_an_error_with_the_question() -> None:
    """F000-41, F003-22."""
    reply = json.dumps({"clarification": {"question": "Which facility?", "options": ["F1", "F2"]}})
    with pytest.raises(ClarificationNeeded) as raised:
        plan(Provider(reply))
    assert (raised.value.question, raised.value.options) == ("Which facility?", ("F1", "F2"))


# Tools of a server


class CustomAnalytics(BaseTool):
    name = "custom_analytics"
    description = "Custom analytics for specific use case"
    schema: ClassVar[Mapping[str, Json]] = {
        "params": {"metric": {"type": "string", "required": True}},
        "returns": {"type": "object", "properties": {"value": {"type": "number"}}},
    }
    effects = "read"

    async def execute(self, params: Arguments) -> ToolResult:
        return self.success({"value": 42}, 3.5)


def test_a_tool_that_is_registered_can_be_planned_with_from_then_on() -> None:
    """F000-11, F000-12."""
    server = MCPServer("my-app", "1.0.0")
    register_all_tools(server)
    provider = Provider(plan_text({"tool": "custom_analytics", "params": {"metric": "rate"}}))
    planner = PlannerAgent(provider, server, today=lambda: TODAY, sleep=Naps())
    with pytest.raises(ToolNotFoundError, match="Tool not available: custom_analytics"):
        asyncio.run(planner.plan("Run custom analytics"))
    server.register_tool(CustomAnalytics("http://localhost:4000/api"))
    made = asyncio.run(planner.plan("Run custom analytics"))
    assert made.steps[0].tool == "custom_analytics"
    assert "Custom analytics for specific use case" in provider.prompt()
    assert server.get_tools()[-1] == "custom_analytics"


def test_the_parameters_of_a_custom_tool_are_checked() -> None:
    """F000-11, F000-24."""
    server = MCPServer()
    server.register_tool(CustomAnalytics())
    wrong: list[Json] = [{}, {"metric": []}, {"metric": "x", "other": 1}]
    for params in wrong:
        provider = Provider(plan_text({"tool": "custom_analytics", "params": params}))
        with pytest.raises(PlanValidationError):
            asyncio.run(agent(provider, server).plan("x"))


# What was said before


def test_a_conversation_stands_in_for_a_context() -> None:
    """F003-1: the second argument of the blueprint's planner."""
    said = Said(
        {"role": "user", "content": "Get facilities in Munich", "timestamp": "2025-10-12"},
        {"role": "assistant", "content": "There are three."},
    )
    provider = Provider(ONE_STEP)
    asyncio.run(agent(provider, said).plan("What about high-risk contaminants there?"))
    assert "Munich" in provider.prompt()


def test_the_prompt_has_the_day_and_what_the_words_for_time_mean_on_it() -> None:
    """F000-9, F003-9, F003-12, F003-13: the shipped planner of Clear AI knew no date."""
    provider = Provider(ONE_STEP)
    plan(provider, "Get me shipments from last week")
    for words in ("2025-10-12", "2025-10-05", "last week", "shipments_list"):
        assert words in provider.prompt()
