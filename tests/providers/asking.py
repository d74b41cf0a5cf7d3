"""Asking scripted servers over real HTTP, and endpoints that are no more than a script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypedDict, Unpack

import httpx2
from msgspec.structs import replace

from tests.doubles.model_replies import Received, Script
from tests.doubles.model_server import ScriptedModelServer
from toolplan.plan.path import Json
from toolplan.providers import (
    Ended,
    Message,
    Model,
    ModelError,
    ModelRequest,
    Piece,
    Restarted,
    Text,
    Usage,
    open_model,
)
from toolplan.providers._base import UsageTracker
from toolplan.providers._chain import Chain, Link
from toolplan.providers._endpoint import Answered, CallFailed, Failure, Part
from toolplan.providers._limits import RetryPolicy

RETRY_POLICY: Final = RetryPolicy()
KEY: Final = "sk-canary-5f3b9d2a71c84e60"
ASKED: Final = (Message("system", "Answer in one word."), Message("user", "What is there?"))


@dataclass
class Outcome:
    """The outcome of asking a model: pieces, the error, pauses made, requests by server."""

    pieces: list[Piece] = field(default_factory=list[Piece])
    error: ModelError | None = None
    pauses: list[float] = field(default_factory=list[float])
    requests: list[list[Received]] = field(default_factory=list[list[Received]])

    @property
    def ended(self) -> Ended | None:
        last = self.pieces[-1] if self.pieces else None
        return last if isinstance(last, Ended) else None

    @property
    def text(self) -> str | None:
        """The reply, None where there is no whole one."""
        texts: list[str] = []
        for piece in self.pieces:
            match piece:
                case Text(text):
                    texts.append(text)
                case Restarted():
                    texts.clear()
                case Ended():
                    pass
        return "".join(texts) if self.ended else None

    @property
    def restarts(self) -> list[str]:
        return [piece.reason for piece in self.pieces if isinstance(piece, Restarted)]

    @property
    def code(self) -> str | None:
        return self.error.code if self.error else None

    @property
    def calls(self) -> int:
        return sum(map(len, self.requests))


async def drain(model: Model, request: ModelRequest, outcome: Outcome) -> None:
    try:
        async for piece in model.stream(request):
            outcome.pieces.append(piece)
    except ModelError as error:
        outcome.error = error


class Options(TypedDict, total=False):
    """Further options of `open_model`."""

    timeout_s: float
    between_pieces_s: float
    tries: int
    max_calls: int
    left_out: Sequence[str]
    tracker: UsageTracker


def ask(
    script: Script,
    *,
    spec: str | None = None,
    schema: Json = None,
    max_tokens: int = 10_000,
    key: str = "",
    streamed: bool = True,
    **options: Unpack[Options],
) -> Outcome:
    """Ask one server, as `spec`, by default as a bare URL."""
    if not streamed:
        options["left_out"] = ["stream"]
    return ask_servers([[script]], [spec] if spec else None, schema, max_tokens, key=key, **options)


def ask_servers(
    scripts: Sequence[Sequence[Script]],
    specs: Sequence[str] | None = None,
    schema: Json = None,
    max_tokens: int = 10_000,
    *,
    key: str = "",
    **options: Unpack[Options],
) -> Outcome:
    """Ask a chain of servers, one for each script, the first of which is asked first.

    `specs` name them otherwise than by their URLs; each named provider is then the server at its
    place. `key` is the key of all of them.
    """
    outcome = Outcome()

    async def pause(seconds: float) -> None:
        outcome.pauses.append(seconds)

    with ExitStack() as running:
        servers = [running.enter_context(ScriptedModelServer(each)) for each in scripts]
        named = list(specs) if specs else [server.spec for server in servers]
        providers = [each.partition(":")[0] for each in named]
        origins = [server.url.removesuffix("/v1") for server in servers]
        model = open_model(
            named,
            keys=dict.fromkeys([*providers, *origins], key),
            addresses=dict(zip(providers, (server.url for server in servers), strict=True)),
            sleep=pause,
            chance=lambda: 0.5,
            **options,
        )
        request = ModelRequest(ASKED, schema=schema, max_tokens=max_tokens)
        asyncio.run(drain(model, request, outcome))
        outcome.requests = [server.requests for server in servers]
    return outcome


class Body(httpx2.AsyncByteStream):
    """A body whose end nothing marks: a client cannot distinguish its end from a cut."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._content


class ScriptedEndpoint:
    """An endpoint that gives, for each call, parts, the last of which may be a failure."""

    def __init__(self, name: str, *calls: Sequence[Part | Failure]) -> None:
        self.name = name
        self._calls = calls
        self.constrained: list[bool] = []

    async def ask(self, request: ModelRequest, *, constrained: bool) -> AsyncGenerator[Part]:
        at = min(len(self.constrained), len(self._calls) - 1)
        self.constrained.append(constrained)
        for part in self._calls[at]:
            if isinstance(part, Failure):
                raise CallFailed(part)
            yield part


def says(text: str, *, tokens: tuple[int, int] = (10, 5)) -> list[Part | Failure]:
    return [Text(text), Answered(Usage(0, *tokens, 0.001))]


def fails(code: str, reason: str = "It failed.", **more: Any) -> list[Part | Failure]:
    return [Failure(code, reason, "Wait.", **more)]


def _itself(endpoint: ScriptedEndpoint) -> ScriptedEndpoint:
    return endpoint


@dataclass
class Chained:
    """A chain of scripted endpoints, with a clock that is set and pauses that are noted."""

    endpoints: Sequence[ScriptedEndpoint]
    retry_policy: RetryPolicy = RETRY_POLICY
    tracker: UsageTracker | None = None
    now: float = 0.0
    pauses: list[float] = field(default_factory=list[float])

    def __post_init__(self) -> None:
        policy = replace(
            self.retry_policy, clock=lambda: self.now, sleep=self._sleep, chance=lambda: 0.5
        )
        links = [Link(each.name, partial(_itself, each)) for each in self.endpoints]
        self.model = Chain(links, policy, self.tracker)

    async def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def ask(self, schema: Json = None) -> Outcome:
        outcome = Outcome()
        asyncio.run(drain(self.model, ModelRequest(ASKED, schema=schema), outcome))
        return outcome

    @property
    def calls(self) -> list[int]:
        return [len(endpoint.constrained) for endpoint in self.endpoints]
