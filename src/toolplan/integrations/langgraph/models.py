"""The model of each role, by name or as LangChain's chat models."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import NamedTuple

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from toolplan.integrations.langgraph.configuration import Configuration
from toolplan.providers import (
    Ended,
    Message,
    Model,
    ModelError,
    ModelRequest,
    Piece,
    Text,
    Usage,
    open_model,
)


class RoleModels(NamedTuple):
    """The model of each role."""

    planner: Model
    orchestrate: Model
    task_assessment: Model
    generate_response: Model

    @classmethod
    def of(cls, model: Model) -> RoleModels:
        """Return the same model for every role."""
        return cls(model, model, model, model)

    @classmethod
    def opened(cls, configuration: Configuration, keys: Mapping[str, str]) -> RoleModels:
        """Open the models of `configuration`, each name once.

        Args:
            configuration: the names of the models.
            keys: the key of each provider, as for `toolplan.providers.open_model`.

        Raises:
            ModelError: a name is not valid.
        """
        names = (
            configuration.planner_model,
            configuration.orchestrate_model,
            configuration.task_assessment_model,
            configuration.generate_response_model,
        )
        models = {name: open_model(model_name(name), keys=keys) for name in dict.fromkeys(names)}
        return cls(*(models[name] for name in names))


def model_name(name: str) -> str:
    """Return the name of a model in the form of `toolplan.providers`.

    >>> model_name("openai/gpt-4o"), model_name("ollama:mistral")
    ('openai:gpt-4o', 'ollama:mistral')
    """
    provider, slash, model = name.partition("/")
    is_written_so = bool(slash) and ":" not in provider and "#" not in name
    return f"{provider}:{model}" if is_written_so else name


class ChatModel:
    """A chat model of LangChain as a `Model`. It needs no tool calling of its own.

    The prompt holds the schema of a reply, and the reply is checked.
    """

    def __init__(self, chat: BaseChatModel, name: str = "") -> None:
        self._chat = chat
        self._name = name or f"langchain:{type(chat).__name__}"

    @property
    def name(self) -> str:
        """The display name."""
        return self._name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Yield the reply, in one piece.

        Raises:
            ModelError: there is no reply (`llm-unavailable`), or it is empty (`llm-empty`) or cut
                off (`llm-truncated`).
        """
        try:
            reply = await self._chat.ainvoke([_message(each) for each in request.messages])
        except Exception as error:  # a chat model may raise anything
            raise ModelError(
                "llm-unavailable",
                f"{self._name} gave no reply: {type(error).__name__}.",
                "Check the settings of the model, and ask again.",
            ) from error
        text = str(reply.text)
        if reply.response_metadata.get("finish_reason") == "length":
            raise ModelError("llm-truncated", f"The reply of {self._name} was cut off.")
        if not text.strip():
            raise ModelError("llm-empty", f"The reply of {self._name} is empty.", "Ask again.")
        yield Text(text)
        used = reply.usage_metadata
        counts = (0, 0) if used is None else (used["input_tokens"], used["output_tokens"])
        yield Ended(self._name, Usage(1, *counts))


def _message(message: Message) -> BaseMessage:
    match message.role:
        case "system":
            return SystemMessage(message.text)
        case "user":
            return HumanMessage(message.text)
        case "assistant":
            return AIMessage(message.text)
