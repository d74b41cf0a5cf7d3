"""The model of each role, by name or as LangChain's chat models."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import NamedTuple

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from toolplan.integrations.langgraph._transcript import text_of
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
    """Who is asked in each role."""

    planner: Model
    orchestrate: Model
    task_assessment: Model
    generate_response: Model

    @classmethod
    def of(cls, model: Model) -> RoleModels:
        """Return one model every role."""
        return cls(model, model, model, model)

    @classmethod
    def opened(cls, configuration: Configuration, keys: Mapping[str, str]) -> RoleModels:
        """Open the models that `configuration` names, each name once.

        Args:
            configuration: names the models.
            keys: the key of each provider, as `toolplan.providers.open_model` takes them.

        Raises:
            ModelError: a model is named in no way that is known, or the extra `llm` is missing.
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
    """Return the name of a model as `toolplan.providers` writes it.

    >>> model_name("openai/gpt-4o"), model_name("ollama:mistral")
    ('openai:gpt-4o', 'ollama:mistral')
    """
    provider, slash, model = name.partition("/")
    is_written_so = bool(slash) and ":" not in provider and "#" not in name
    return f"{provider}:{model}" if is_written_so else name


class ChatModel:
    """A chat model of LangChain in the place of one of ours; it needs no tool calling of its own.

    It is asked in words for JSON: a schema is told to it by whoever asks, and the reply is checked
    in any case.
    """

    def __init__(self, chat: BaseChatModel, name: str = "") -> None:
        """Hold the chat model; `name` is how it is told apart, by default its type."""
        self._chat = chat
        self._name = name or f"langchain:{type(chat).__name__}"

    @property
    def name(self) -> str:
        """How it is told apart."""
        return self._name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Yield the reply, in one piece.

        Raises:
            ModelError: the model gave none (`llm-unavailable`), an empty one (`llm-empty`), or one
                that was cut off (`llm-truncated`).
        """
        try:
            reply = await self._chat.ainvoke([_message(each) for each in request.messages])
        except Exception as error:  # a chat model may raise anything; callers know one error
            raise ModelError(
                "llm-unavailable",
                f"{self._name} gave no reply: {type(error).__name__}.",
                "Look at the model's own settings, and ask again.",
            ) from error
        text = text_of(reply)
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
