"""`configurable`, a state of one's own, chat models of LangChain as they are, failing models."""

import json
from collections.abc import Sequence
from typing import Any, NotRequired, cast

import pytest
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableLambda
from pydantic import Field

from packages.langgraph.tests.conversation import calls, done, plan, says
from toolplan.plan.path import Json
from toolplan.providers import Message, ModelError, ModelRequest, complete
from toolplan.schema.tool import Effects
from toolplan.testing import Gives, ScriptedModel, ScriptedTools
from toolplan.testing.tools import ModelReply
from toolplan_langgraph import (
    ChatModel,
    Configuration,
    ConfigurationError,
    RoleModels,
    State,
    build_graph,
)

ROLES = ("planner", "orchestrate", "task_assessment", "generate_response")
REPLIES: dict[str, list[str]] = {
    "planner": [plan(("desk", "Look."))],
    "orchestrate": [calls(("look", {})), says("It is there.")],
    "task_assessment": [done()],
    "generate_response": ["There is one desk."],
}


def toolbox() -> Any:
    tools = ScriptedTools()
    tools.add("look", Gives({"desks": 1}), effects=Effects.READ)
    return tools.toolbox


def scripted(**replies: Sequence[ModelReply]) -> dict[str, ScriptedModel]:
    return {role: ScriptedModel(replies.get(role, REPLIES[role])) for role in ROLES}


def built(models: Any = None, **options: Any) -> Any:
    """Return a graph with one expert, and scripted roles where there are no `models`."""
    roles = RoleModels(**scripted()) if models is None else models
    return build_graph(Configuration(), {"desk": toolbox()}, roles, **options)


async def ask(graph: Any, **configurable: object) -> dict[str, Any]:
    config = {"configurable": configurable}
    return await graph.ainvoke({"messages": [HumanMessage("Look")]}, config)


def last(state: dict[str, Any]) -> str:
    return str(state["messages"][-1].text)


@pytest.mark.parametrize("role", ROLES)
async def test_prompts_and_models_of_one_call_are_configurable(role: str) -> None:
    usual, other = scripted(), ScriptedModel(REPLIES[role])
    graph = built(RoleModels(**usual))
    prompt = {f"{role}_system_prompt": f"As {role} today."}
    ended = await ask(graph, **{f"{role}_model": other}, **prompt, thread_id="t")
    assert last(ended) == "There is one desk."
    assert usual[role].requests == []
    assert other.requests[0].messages[0].text.startswith(f"As {role} today.")
    await ask(graph)
    assert not usual[role].requests[0].messages[0].text.startswith("As ")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("planer_model", "openai/gpt-4o"),
        ("planner_prompt", "x"),
        ("planner_system_prompt", 7),
        ("mcp_server_config", {}),
        ("caps", {"rounds": 1}),
    ],
)
async def test_what_cannot_be_configured_is_said(name: str, value: object) -> None:
    with pytest.raises(ConfigurationError, match=name):
        await ask(built(), **{name: value})


async def test_a_model_by_name_is_opened_with_the_keys_of_the_graph() -> None:
    state = await ask(built(), planner_model="openai/gpt-4o")
    assert "There is no key for openai:gpt-4o." in last(state)
    with pytest.raises(ConfigurationError, match="provider 'acme'"):
        await ask(built(), planner_model="acme/gpt")


@pytest.mark.parametrize("role", ROLES)
async def test_a_model_that_fails_ends_the_graph_with_its_words(role: str) -> None:
    down = ModelError("llm-unavailable", "It is out of water.")
    state = await ask(built(RoleModels(**scripted(**{role: [down]}))))
    assert state["stopped"]["reason"] == "model"
    assert "I have stopped. It is out of water." in last(state)


class Tenant(State):
    """The state of a graph of one's own."""

    tenant: NotRequired[str]


async def test_the_state_can_be_extended() -> None:
    given = {"messages": [HumanMessage("Look")], "tenant": "north"}
    assert (await built(state_schema=Tenant).ainvoke(given))["tenant"] == "north"


async def test_chat_models_of_langchain_are_taken_as_they_are() -> None:
    chats = {role: FakeListChatModel(responses=REPLIES[role]) for role in ROLES}
    assert last(await ask(built(RoleModels(**chats)))) == "There is one desk."
    assert last(await ask(built(FakeListChatModel(responses=[plan(), "x"]))))


FORM: Json = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
ASKED = ModelRequest((Message("user", "?"),), FORM, temperature=0.0, max_tokens=77)


class Chat(BaseChatModel):
    """A chat model that keeps with which limits and form it was asked."""

    temperature: float | None = None
    max_tokens: int | None = None
    forms: list[Any] = Field(default_factory=list[Any])
    limits: list[Any] = Field(default_factory=list[Any])
    refuses: bool = False

    @property
    def _llm_type(self) -> str:
        return "chat"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.limits.append((self.temperature, self.max_tokens))
        return ChatResult(generations=[ChatGeneration(message=AIMessage('{"a": 1}'))])

    def with_structured_output(
        self, schema: Any, *, include_raw: bool = False, **_: Any
    ) -> Runnable[Any, Any]:
        self.forms.append(schema)
        self.limits.append((self.temperature, self.max_tokens))
        if self.refuses:
            raise ValueError("no forms here")
        raw = AIMessage("")
        return RunnableLambda(lambda _: {"raw": raw, "parsed": {"a": 7}, "parsing_error": None})


@pytest.mark.parametrize(
    ("chat", "limits"),
    [(Chat(), (0.0, 77)), (Chat(temperature=0.7, max_tokens=9), (0.7, 9))],
    ids=["open", "set"],
)
async def test_the_form_of_a_reply_and_open_limits_reach_a_chat_model(
    chat: Chat, limits: tuple[float, int]
) -> None:
    reply = await complete(ChatModel(chat), ASKED)
    assert json.loads(reply.text) == {"a": 7}
    assert chat.forms == [{"title": "reply", "description": "The reply.", **cast("Any", FORM)}]
    assert chat.limits == [limits]


async def test_a_chat_model_without_forms_is_asked_without_and_that_is_remembered() -> None:
    chat = Chat(refuses=True)
    model = ChatModel(chat)
    for _ in range(2):
        assert (await complete(model, ASKED)).text == '{"a": 1}'
    assert len(chat.forms) == 1
