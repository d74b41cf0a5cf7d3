"""The model of each role, by name or as LangChain's chat models."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from toolplan.providers import (
    Ended,
    Model,
    ModelError,
    ModelRequest,
    Piece,
    Text,
    Usage,
    open_model,
)
from toolplan_langgraph.configuration import Configuration

_TOKENS: Final = ("max_tokens", "max_output_tokens", "num_predict")
"""The names that chat models have for their limit of tokens."""

_ROLES: Final = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
AnyModel: TypeAlias = Model | BaseChatModel | str
"""A model, a chat model of LangChain, or the name of a model."""


class RoleModels(NamedTuple):
    """The model of each role."""

    planner: AnyModel
    orchestrate: AnyModel
    task_assessment: AnyModel
    generate_response: AnyModel

    @classmethod
    def opened(cls, configuration: Configuration, keys: Mapping[str, str]) -> RoleModels:
        """Open the models of `configuration`, each name once.

        Args:
            configuration: the names of the models.
            keys: the key of each provider, as for `toolplan.providers.open_model`.

        Raises:
            ModelError: a name is not valid.
        """
        opened = OpenModels(keys)
        return cls(*(opened(getattr(configuration, f"{role}_model")) for role in cls._fields))


class OpenModels:
    """Returns a model for each name, or for a chat model of LangChain; each is opened once."""

    def __init__(self, keys: Mapping[str, str]) -> None:
        self._keys = keys
        self._opened: dict[str | int, tuple[AnyModel, Model]] = {}

    def __call__(self, model: AnyModel) -> Model:
        """Return `model` as a `Model`.

        Raises:
            ModelError: a name is not valid.
        """
        key = model if isinstance(model, str) else id(model)
        if key not in self._opened:
            if isinstance(model, str):
                provider, slash, name = model.partition("/")  # as in `openai/gpt-4o`
                is_path = bool(slash) and ":" not in provider and "#" not in model
                known = f"{provider}:{name}" if is_path else model
                made: Model = open_model(known, keys=self._keys)
            else:
                made = ChatModel(model) if isinstance(model, BaseChatModel) else model
            self._opened[key] = (model, made)  # the first keeps its id in use
        return self._opened[key][1]


class ChatModel:
    """A chat model of LangChain as a `Model`. It needs no tool calling of its own.

    The form of a reply is asked for by `with_structured_output` where the chat model has it; the
    prompt holds it as well, and the reply is checked. Temperature and limit of tokens are those of
    the chat model, and those of the request where it leaves them open. `name` is for display.
    """

    def __init__(self, chat: BaseChatModel, name: str = "") -> None:
        self._chat = chat
        self.name = name or f"langchain:{type(chat).__name__}"
        self._is_plain = False

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Yield the reply, in one piece.

        Raises:
            ModelError: there is no reply (`llm-unavailable`), or it is empty (`llm-empty`) or cut
                off (`llm-truncated`).
        """
        messages: list[BaseMessage] = [_ROLES[each.role](each.text) for each in request.messages]
        reply, text = await self._structured(messages, request)
        if reply is None:
            try:
                reply = await self._with_limits(request).ainvoke(messages)
            except Exception as error:  # a chat model may raise anything; its text may hold a key
                raise ModelError(
                    "llm-unavailable",
                    f"{self.name} gave no reply: {type(error).__name__}.",
                    "Check the settings of the model, and ask again.",
                ) from error
            text = str(reply.text)
        if reply.response_metadata.get("finish_reason") == "length":
            raise ModelError("llm-truncated", f"The reply of {self.name} was cut off.")
        if not text.strip():
            raise ModelError("llm-empty", f"The reply of {self.name} is empty.", "Ask again.")
        yield Text(text)
        used = reply.usage_metadata
        counts = (0, 0) if used is None else (used["input_tokens"], used["output_tokens"])
        yield Ended(self.name, Usage(1, *counts))

    async def _structured(
        self, messages: list[BaseMessage], request: ModelRequest
    ) -> tuple[AIMessage | None, str]:
        """Return the reply in the form that is asked for; None where the model cannot do that."""
        if self._is_plain or not isinstance(request.schema, dict):
            return None, ""
        form: dict[str, Any] = {"title": "reply", "description": "The reply.", **request.schema}
        try:
            asked: Any = self._with_limits(request).with_structured_output(form, include_raw=True)
            found: Any = await asked.ainvoke(messages)
        except Exception:  # a chat model may raise anything; it is asked without the form
            self._is_plain = True
            return None, ""
        match found:
            case {"raw": AIMessage() as raw, "parsed": dict()}:
                return raw, json.dumps(found["parsed"], ensure_ascii=False)
            case {"raw": AIMessage() as raw}:
                return raw, str(raw.text)
            case _:
                return None, ""

    def _with_limits(self, request: ModelRequest) -> BaseChatModel:
        """Return the chat model, with the limits of `request` that it leaves open."""
        wanted = {**dict.fromkeys(_TOKENS, request.max_tokens), "temperature": request.temperature}
        left_open = {
            name: value
            for name, value in wanted.items()
            if name in type(self._chat).model_fields and getattr(self._chat, name) is None
        }
        return self._chat.model_copy(update=left_open) if left_open else self._chat
