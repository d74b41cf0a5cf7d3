"""What the strategy is set up with, its state, and its models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_type_hints

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel

from packages.langgraph.tests.conversation import Conversation, plan
from toolplan.plan.path import Json
from toolplan.providers import Message, ModelError, ModelRequest, complete
from toolplan.testing import ScriptedModel, ScriptedTools
from toolplan.tools.mcp import StdioServer
from toolplan_langgraph import (
    Caps,
    ChatModel,
    Configuration,
    ConfigurationError,
    InputState,
    PlannerResult,
    RoleModels,
    State,
    Task,
    approved,
    build_graph,
    models,
)

ROLES = ("planner", "orchestrate", "task_assessment", "generate_response")
SERVERS: dict[str, Json] = {
    "a": {"command": "x", "description": "Knows\n a lot."},
    "b": {"command": "y", "env": {"KEY": "${KEY}"}},
}


def test_a_configuration_has_prompts_and_models_of_four_roles() -> None:
    """F004-1."""
    configuration = Configuration(SERVERS)
    for role in ROLES:
        assert getattr(configuration, f"{role}_model") == "openai/gpt-4o"
        assert getattr(configuration, f"{role}_system_prompt")
    assert configuration.servers({"KEY": "k"})["a"] == StdioServer("x")


async def test_the_prompt_of_each_role_is_the_configured_one() -> None:
    """F004-1."""
    prompts: dict[str, Json] = {f"{role}_system_prompt": f"As {role}." for role in ROLES}
    talked = Conversation(
        {"a": ScriptedTools().toolbox},
        planner=[plan(("a", "Say it."))],
        configuration=Configuration.from_json(prompts),
    )
    await talked.says("Say it")
    models = (talked.planner, talked.expert, talked.assessor, talked.responder)
    for role, model in zip(ROLES, models, strict=True):
        first = model.requests[0].messages[0]
        assert (first.role, first.text.partition("\n")[0]) == ("system", f"As {role}.")


def test_descriptions_become_a_line_for_each_expert() -> None:
    """F004-2."""
    configuration = Configuration(SERVERS)
    assert configuration.get_mcp_server_descriptions() == [("a", "Knows\n a lot."), ("b", "")]
    assert configuration.build_experts_context() == "- a: Knows a lot.\n- b: "


def test_the_state_is_messages_a_plan_and_whether_the_task_is_done() -> None:
    """F004-3, F004-4."""
    hints = get_type_hints(State)
    assert {"messages", "planner_result", "task_completed"} <= hints.keys()
    assert list(get_type_hints(InputState)) == ["messages"]
    fields = ["decision", "plan", "next_task", "clarification"]
    assert list(get_type_hints(PlannerResult)) == fields
    assert list(get_type_hints(Task)) == ["expert", "task"]


def test_a_configuration_is_read_from_json() -> None:
    """F004-1: by the names of its fields; the usual form of servers is read as well."""
    read = Configuration.from_json(
        {
            "mcp_server_config": {"mcpServers": SERVERS},
            "planner_model": "anthropic/claude",
            "confidence": 1,
            "caps": {"attempts": 2},
        }
    )
    assert read == Configuration(
        SERVERS, planner_model="anthropic/claude", confidence=1.0, caps=Caps(attempts=2)
    )


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ({"planer_model": "x"}, "unknown field `planer_model`"),
        ({"planner_model": 4}, "got `int` - at `$.planner_model`"),
        ({"mcp_server_config": []}, "got `array` - at `$.mcp_server_config`"),
        ({"confidence": "high"}, "got `str` - at `$.confidence`"),
        ({"confidence": 7}, "<= 1.0 - at `$.confidence`"),
        ({"caps": {"attempt": 1}}, "unknown field `attempt` - at `$.caps`"),
        ({"caps": {"attempts": True}}, "got `bool` - at `$.caps.attempts`"),
        ({"caps": {"attempts": 0}}, "`int` >= 1 - at `$.caps.attempts`"),
    ],
)
def test_an_unusable_configuration_says_why(document: Mapping[str, Json], complaint: str) -> None:
    """F004-1."""
    with pytest.raises(ConfigurationError) as raised:
        Configuration.from_json(document)
    assert complaint in str(raised.value)


def test_a_graph_without_experts_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="There is no expert"):
        build_graph(Configuration(), {}, ScriptedModel("x"))


def test_models_are_opened_by_the_names_of_the_roles(monkeypatch: pytest.MonkeyPatch) -> None:
    """F004-1: `provider/model`, as the seed writes it, and as we do; each once."""

    def opened(name: str, *, keys: Mapping[str, str]) -> ScriptedModel:
        assert keys == {"openai": "k"}
        return ScriptedModel("x", name=name)

    monkeypatch.setattr(models, "open_model", opened)
    configuration = Configuration(planner_model="ollama/mistral", orchestrate_model="ollama:qwen")
    roles = RoleModels.opened(configuration, {"openai": "k"})
    names = [each.name for each in roles if isinstance(each, ScriptedModel)]
    assert names == ["ollama:mistral", "ollama:qwen", "openai:gpt-4o", "openai:gpt-4o"]
    assert roles.task_assessment is roles.generate_response


async def test_a_chat_model_of_langchain_takes_any_role() -> None:
    """F004-1."""
    request = ModelRequest((Message("system", "s"), Message("user", "u"), Message("assistant", "")))
    reply = await complete(ChatModel(FakeListChatModel(responses=["Hello"])), request)
    assert (reply.text, reply.model) == ("Hello", "langchain:FakeListChatModel")
    with pytest.raises(ModelError, match="is empty"):
        await complete(ChatModel(FakeListChatModel(responses=[" "]), "mine"), request)
    with pytest.raises(ModelError, match="mine gave no reply: IndexError"):
        await complete(ChatModel(FakeListChatModel(responses=[]), "mine"), request)


def test_approval_is_given_for_what_was_shown_and_for_nothing_else() -> None:
    assert approved({"digest": "d"}) == {"approve": "d"}
    for shown in ({"kind": "question"}, "text", None):
        with pytest.raises(ValueError, match="no plan to approve"):
            approved(shown)
