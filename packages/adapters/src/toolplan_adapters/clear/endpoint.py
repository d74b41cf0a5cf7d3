"""Clear AI's providers, objects with `generate()`, as models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Final, Protocol, TypeAlias, cast, runtime_checkable

from msgspec import Struct

from toolplan.providers import Ended, Model, ModelError, ModelRequest, Piece, Text, Usage
from toolplan_adapters._calls import call_user

Sleep: TypeAlias = Callable[[float], Awaitable[object]]

FIRST_DELAY_S: Final = 1.0
"""The delay before the second attempt; doubled before each further one."""


@runtime_checkable
class Provider(Protocol):
    """A provider of replies in Clear AI.

    `generate` is called with `{"messages": [{"role", "content"}], "config": {"temperature",
    "max_tokens"}}` and returns `{"content": text, "usage": {…}}`, an object with such attributes,
    or the text alone; it may be a coroutine function. If it raises anything, the request is
    repeated after a delay.
    """

    def generate(self, request: dict[str, object], /) -> object:
        """Return a reply."""
        ...


class ProviderModel(Struct, frozen=True):
    """A provider as a `Model`; `tries` is the maximum number of requests for one reply."""

    provider: Provider
    tries: int = 3
    sleep: Sleep = asyncio.sleep
    name: str = "clear:provider"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Yield the reply, in one piece.

        Raises:
            ModelError: the provider failed every time, or its reply holds no text.
        """
        asked: dict[str, object] = {
            "messages": [{"role": each.role, "content": each.text} for each in request.messages],
            "config": {"temperature": request.temperature, "max_tokens": request.max_tokens},
        }
        failure: Exception | None = None
        tries = min(self.tries, request.most_calls or self.tries)
        for made in range(1, tries + 1):
            try:
                reply = await call_user(self.provider.generate, asked)
            except ModelError:
                raise
            except Exception as error:  # a provider may raise anything; its text may hold a key
                failure = error
            else:
                yield Text(_content(reply))
                yield Ended(self.name, _usage(reply, made))
                return
            if made < tries:
                await self.sleep(FIRST_DELAY_S * 2 ** (made - 1))
        raise ModelError(
            "llm-unavailable",
            f"The provider failed {tries} times, the last time with {type(failure).__name__}.",
            "The cause of this error is the exception of the provider.",
        ) from failure


def as_model(provider: object, tries: int, sleep: Sleep) -> Model:
    """Return `provider` as a `Model`; a model is returned unchanged.

    Raises:
        TypeError: it is neither a provider nor a model.
    """
    if isinstance(provider, Provider):  # first, because a mock has every attribute
        return ProviderModel(provider, tries, sleep)
    if hasattr(provider, "stream") and hasattr(provider, "name"):
        return cast("Model", provider)
    kind = type(provider).__name__
    raise TypeError(f"A planner needs a model, or an object with 'generate', not a {kind}.")


def _content(reply: object) -> str:
    content = reply if isinstance(reply, str) else _part(reply, "content")
    if isinstance(content, str):
        return content
    raise ModelError(
        "llm-bad-response",
        "The provider's reply has no 'content' that is text.",
        "Return {'content': text} from `generate`.",
    )


def _usage(reply: object, calls: int) -> Usage:
    used = _part(reply, "usage")
    counts = [_part(used, name) for name in ("prompt_tokens", "completion_tokens")]
    return Usage(calls, *(each if isinstance(each, int) else 0 for each in counts))


def _part(whole: object, name: str) -> object:
    if isinstance(whole, Mapping):
        return cast("Mapping[str, object]", whole).get(name)
    return getattr(whole, name, None)
