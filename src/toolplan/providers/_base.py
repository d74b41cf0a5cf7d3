"""Requests to models, their replies, and their errors."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from toolplan.base.errors import ToolplanError
from toolplan.plan.path import Json


class Message(Struct, frozen=True):
    """One message of a conversation with a model."""

    role: Literal["system", "user", "assistant"]
    text: str


class ModelRequest(Struct, frozen=True):
    """A request to a model.

    Attributes:
        messages: the conversation, in order.
        schema: the JSON Schema that the reply should follow, where the endpoint supports that; the
            reply is text in any case, and the caller checks it.
        temperature: from 0 (the likeliest words) upwards.
        max_tokens: maximum number of tokens of the reply.
        most_calls: maximum number of calls that ask the same model again; None: the model's own.
    """

    messages: tuple[Message, ...]
    schema: Json = None
    temperature: float = 0.0
    max_tokens: int = 10_000
    most_calls: int | None = None


class Usage(Struct, frozen=True):
    """Usage of models: calls made (tries included), tokens in and out, cost in US dollars.

    `cost_usd` is None where the price of the model is not known. `cached_tokens` are those of
    `input_tokens` that the endpoint had read before, by its own count.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    cached_tokens: int = 0


class Text(Struct, frozen=True):
    """More of the reply."""

    text: str


class Restarted(Struct, frozen=True):
    """The text so far does not count: the reply starts again, for this reason."""

    reason: str


class Ended(Struct, frozen=True):
    """The reply is whole: the endpoint said so. Nothing comes after this."""

    model: str
    usage: Usage


Piece: TypeAlias = Text | Restarted | Ended


class Reply(Struct, frozen=True):
    """A whole reply. `model` is the name of its model, as in `openai:gpt-5`."""

    text: str
    model: str
    usage: Usage


class ModelError(ToolplanError):
    """There is no reply, or none that is whole.

    `code` is one of `llm-empty`, `llm-refused`, `llm-truncated`, `llm-stream-cut`, `llm-timeout`,
    `llm-rate-limit`, `llm-unavailable`, `llm-auth`, `llm-context`, `llm-bad-response`,
    `llm-unexpected-tool-call`, `llm-too-long`, `llm-degenerate`, `llm-budget`, `llm-request`, and
    `llm-spec` where a name is not that of a model. The message names the model and never holds a
    key; `usage` is the usage until then.
    """

    def __init__(
        self, code: str, message: str, help: str | None = None, usage: Usage | None = None
    ) -> None:
        super().__init__(code, message, help)
        self.usage = Usage() if usage is None else usage


class Model(Protocol):
    """A model, or a chain of them."""

    @property
    def name(self) -> str:
        """Display name, as in `openai:gpt-5`."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Yield the reply as it is written; it is whole when, and only when, `Ended` came.

        Raises:
            ModelError: there is no whole reply.
        """
        ...


async def complete(
    model: Model, request: ModelRequest, *, on_piece: Callable[[Piece], None] | None = None
) -> Reply:
    """Return the whole reply of `model`; `on_piece` is called with each piece of it.

    Raises:
        ModelError: there is none.
    """
    parts: list[str] = []
    async with aclosing(model.stream(request)) as pieces:
        async for piece in pieces:
            if on_piece is not None:
                on_piece(piece)
            match piece:
                case Text(text=text):
                    parts.append(text)
                case Restarted():
                    parts.clear()
                case Ended(model=name, usage=usage):
                    return Reply("".join(parts), name, usage)
    raise ModelError(
        "llm-stream-cut",
        f"The reply of {model.name} ended before it was whole.",
        "Ask again, or name another model.",
    )


def total(usages: Iterable[Usage]) -> Usage:
    """Return the sum. Its cost is None where no cost is known; an unknown one adds nothing.

    >>> total([Usage(1, 10, 5, 0.25), Usage(2, 20, 0)])
    Usage(calls=3, input_tokens=30, output_tokens=5, cost_usd=0.25, cached_tokens=0)
    """
    listed = list(usages)
    costs = [each.cost_usd for each in listed if each.cost_usd is not None]
    return Usage(
        sum(each.calls for each in listed),
        sum(each.input_tokens for each in listed),
        sum(each.output_tokens for each in listed),
        sum(costs) if costs else None,
        sum(each.cached_tokens for each in listed),
    )


class ModelCall(Struct):
    """The call that is in progress.

    Attributes:
        model: the name of the model.
        began: when it began, on the monotonic clock, in seconds.
        characters: how much of its reply is there.
    """

    model: str
    began: float
    characters: int = 0


class UsageTracker:
    """Sums up the usage of calls, in `usage`. `call` is the call that is made now, or None.

    Pass the same tracker to every model of a run.
    """

    def __init__(self) -> None:
        """Start at zero."""
        self.usage = Usage()
        self.call: ModelCall | None = None

    def begin(self, model: str) -> None:
        """Count a call to `model` that is made now."""
        self.usage = total((self.usage, Usage(calls=1)))
        self.call = ModelCall(model, time.monotonic())

    def ended(self) -> None:
        """End the call in progress."""
        self.call = None

    def end(self, spent: Usage) -> None:
        """Add the tokens and the cost of a call that was counted when it began."""
        self.usage = total((self.usage, replace(spent, calls=0)))
