"""A chain of models: the first that gives a whole reply has answered."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from functools import cache, partial
from random import SystemRandom
from types import MappingProxyType
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from toolplan.base.extensions import Extensions
from toolplan.providers._base import (
    Ended,
    Model,
    ModelError,
    ModelRequest,
    Piece,
    Restarted,
    Text,
    Usage,
    UsageTracker,
    total,
)
from toolplan.providers._endpoint import (
    Answered,
    CallFailed,
    Endpoint,
    Failure,
    Manner,
    OpensEndpoint,
    Spec,
    guarded_provider,
    origin,
    read_spec,
)
from toolplan.providers._errors import CHANGE, LATER, key_setting
from toolplan.providers._limits import RetryPolicy, TextBounds, in_time

_RETRYABLE: Final = frozenset(("llm-rate-limit", "llm-stream-cut", "llm-unavailable"))
"""Failures after which the same model may answer, after a pause."""
_FINAL: Final = frozenset(("llm-refused", "llm-request", "llm-truncated"))
"""Failures that no model could help: the request is wrong, or the model refused."""
_OF_THE_ENDPOINT: Final = _RETRYABLE | {"llm-auth", "llm-bad-response", "llm-timeout"}
"""Failures that count against the endpoint, and not only against one request."""
_MOST_FAILURES: Final = 5
_REST_S: Final = 60.0


class Link(Struct):
    """One model of a chain, with a circuit breaker.

    After five failures in a row its endpoint is not asked for a minute; then one call tries. Where
    that fails, or its end is never reported, the endpoint is not asked for as long again.

    Attributes:
        name: display name.
        endpoint: returns the endpoint that makes the calls.
        blocked: why it cannot be asked at all.
        plain: whether it has refused a schema.
        failures: the number of failures in a row.
        open_until: when a call may try again, on the clock of the chain.
    """

    name: str
    endpoint: Callable[[], Endpoint]
    blocked: Failure | None = None
    plain: bool = False
    failures: int = 0
    open_until: float = 0.0

    def admits(self, now: float) -> bool:
        """Return whether a call may be made; if the breaker is open, this is the one that tries."""
        if self.failures < _MOST_FAILURES:
            return True
        if now < self.open_until:
            return False
        self.open_until = now + _REST_S
        return True

    def record(self, now: float, *, failed: bool) -> None:
        """Record how a call ended."""
        self.failures = self.failures + 1 if failed else 0
        self.open_until = now + _REST_S


class _Attempts(Struct):
    """The calls of one request.

    Attributes:
        request: the request.
        usage: their usage.
        failures: the last failure of each model that was given up.
        latest: the latest failure.
        has_text: whether the caller has text of a reply that may be incomplete.
        rewritten: calls that the endpoint refused because of a parameter, which do not count.
    """

    request: ModelRequest
    usage: Usage = field(default_factory=Usage)
    failures: list[Failure] = field(default_factory=list[Failure])
    latest: Failure | None = None
    has_text: bool = False
    rewritten: int = 0


class Chain:
    """Asks its models in order.

    A model is asked again after a rate limit, a failure of its server or a broken connection. After
    a timeout, a malformed reply or a rejected key the next model is asked. A refusal, or a request
    that is wrong in itself, ends the call.
    """

    def __init__(
        self,
        links: Sequence[Link],
        retry_policy: RetryPolicy,
        tracker: UsageTracker | None = None,
    ) -> None:
        """Prepare the chain; nothing is called."""
        self._links = tuple(links)
        self._retry_policy = retry_policy
        self._tracker = UsageTracker() if tracker is None else tracker

    def __repr__(self) -> str:
        """Name the models."""
        return f"Chain({self.name!r})"

    @property
    def name(self) -> str:
        """The names of its models, in order."""
        return ", ".join(link.name for link in self._links)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Yield the reply as it is written.

        Raises:
            ModelError: no model gave a whole one.
        """
        attempts = _Attempts(request)
        for link in self._links:
            async with aclosing(self._ask(link, attempts)) as pieces:
                async for piece in pieces:
                    yield piece
                    if isinstance(piece, Ended):
                        return
        failures = attempts.failures
        first, *others = failures
        if not others:
            raise ModelError(first.code, first.reason, first.help, attempts.usage)
        code = first.code if len({each.code for each in failures}) == 1 else "llm-unavailable"
        reasons = " ".join(f"{each.reason} ({each.code})" for each in failures)
        help = " ".join(dict.fromkeys(each.help for each in failures if each.help))
        message = f"No model of the chain gave a reply. {reasons}"
        raise ModelError(code, message, help, attempts.usage)

    async def _ask(self, link: Link, attempts: _Attempts) -> AsyncGenerator[Piece]:
        """Ask one model as often as that may help; without `Ended` it has failed."""
        if link.blocked is not None:
            attempts.failures.append(link.blocked)
            return
        constrained = attempts.request.schema is not None and not link.plain
        tried = 0
        failure: Failure | None = None
        while True:
            if not link.admits(now := self._retry_policy.clock()):
                rest = f"is not asked for {link.open_until - now:.0f} s"
                reason = f"{link.name} failed {link.failures} times in a row and {rest}."
                attempts.failures.append(failure or Failure("llm-unavailable", reason, LATER))
                return
            try:
                async with aclosing(self._call(link, attempts, constrained)) as pieces:
                    async for piece in pieces:
                        yield piece
                return
            except CallFailed as error:
                failure = attempts.latest = error.failure
                self._settle(attempts, error.spent)
            finally:
                self._tracker.ended()
            link.record(self._retry_policy.clock(), failed=failure.code in _OF_THE_ENDPOINT)
            if failure.changed:
                attempts.rewritten += 1
                continue
            if failure.schema and constrained:
                constrained = False
                continue
            tried += 1
            pause_s = self._pause_s(link, attempts, failure, tried)
            if pause_s is None:
                break
            await self._retry_policy.sleep(pause_s)
        attempts.failures.append(failure)
        if failure.code in _FINAL and not failure.lasts:
            raise ModelError(failure.code, failure.reason, failure.help, attempts.usage)

    async def _call(
        self, link: Link, attempts: _Attempts, constrained: bool
    ) -> AsyncGenerator[Piece]:
        """Make one call; without a whole reply it raises `CallFailed`."""
        calls = attempts.usage.calls
        if calls - attempts.rewritten >= self._retry_policy.max_calls:
            last = f" The last failure: {attempts.latest.reason}" if attempts.latest else ""
            raise ModelError(
                "llm-budget",
                f"{calls} calls to models gave no reply, and no more are allowed.{last}",
                "Allow more calls, or name fewer models.",
                attempts.usage,
            )
        self._tracker.begin(link.name)
        attempts.usage = total((attempts.usage, Usage(calls=1)))
        if attempts.has_text and attempts.latest is not None:
            attempts.has_text = False
            yield Restarted(attempts.latest.reason)
        request = attempts.request
        bounds = TextBounds(request.max_tokens)
        has_words = False
        async with (
            aclosing(link.endpoint().ask(request, constrained=constrained)) as parts,
            aclosing(in_time(parts, link.name, self._retry_policy)) as timed,
        ):
            async for part in timed:
                match part:
                    case Text(text) if text:
                        if code := bounds.breach(text):
                            what = "does not end" if code == "llm-too-long" else "repeats itself"
                            raise CallFailed(
                                Failure(code, f"The reply of {link.name} {what}.", CHANGE)
                            )
                        has_words = has_words or not text.isspace()
                        attempts.has_text = True
                        if self._tracker.call is not None:
                            self._tracker.call.characters += len(text)
                        yield part
                    case Answered(spent) if has_words:
                        # Recorded first: the caller may close this generator after the end.
                        self._settle(attempts, spent)
                        link.record(self._retry_policy.clock(), failed=False)
                        link.plain |= attempts.latest is not None and attempts.latest.schema
                        yield Ended(link.name, attempts.usage)
                    case Answered(spent):
                        reason = f"The reply of {link.name} is empty."
                        raise CallFailed(Failure("llm-empty", reason, CHANGE), spent)
                    case _:
                        pass  # a sign of life

    def _settle(self, attempts: _Attempts, spent: Usage) -> None:
        self._tracker.end(spent)
        attempts.usage = total((attempts.usage, replace(spent, calls=0)))

    def _pause_s(
        self, link: Link, attempts: _Attempts, failure: Failure, tried: int
    ) -> float | None:
        """Return the pause before the same model is asked again, or None if it is not."""
        if failure.code not in _RETRYABLE or failure.lasts:
            return None
        most = attempts.request.most_calls
        if most is not None and attempts.usage.calls - attempts.rewritten >= most:
            return None
        if failure.code == "llm-stream-cut" and link is not self._links[-1]:
            return None  # the caller has waited once already
        return self._retry_policy.pause_s(failure, tried)


MODELS: Final = Extensions[OpensEndpoint]("toolplan.models", guarded_provider)
"""The openers of endpoints, by provider. Each is loaded when a model is first asked."""

_AT_URL: Final = "http"
_CHANCE: Final = SystemRandom()
_KEY: Final = re.compile(r"[!-~]+")
_NOWHERE_ELSE: Final[Mapping[str, str]] = MappingProxyType({})


def open_model(
    spec: str | Sequence[str],
    *,
    keys: Mapping[str, str],
    addresses: Mapping[str, str] = _NOWHERE_ELSE,
    timeout_s: float = 60.0,
    between_pieces_s: float = 30.0,
    tries: int = 3,
    max_calls: int = 8,
    left_out: Collection[str] = (),
    tracker: UsageTracker | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    chance: Callable[[], float] = _CHANCE.random,
) -> Model:
    """Return the model that `spec` names, or a chain of models in the order of asking.

    A model is named `openai:MODEL`, `anthropic:MODEL`, `groq:MODEL`, `ollama:MODEL`, or
    `URL#MODEL` for all that is compatible with OpenAI. Nothing is read from the environment.

    Args:
        spec: one name, or several in the order of asking.
        keys: the key of each provider, sent to it alone; for a bare URL by its scheme and host.
        addresses: base URLs of providers that are elsewhere than usual.
        timeout_s: maximum seconds of one call.
        between_pieces_s: maximum seconds between two pieces.
        tries: maximum number of calls to one model for one reply.
        max_calls: maximum number of calls to all models for one reply.
        left_out: parameters that are not sent (`SETTABLE`); those refused are found out. Without
            `stream` each reply comes as one.
        tracker: sums up usage over many replies.
        sleep: makes a pause.
        chance: returns a random number from 0.0 to 1.0, for the length of pauses.

    Raises:
        ModelError: `llm-spec`, there is no such model.
    """
    links: list[Link] = []
    for name in [spec] if isinstance(spec, str) else spec:
        each = read_spec(name, addresses, MODELS)
        manner = Manner(_key(each, keys), frozenset(left_out))
        blocked = _blocked(each, manner.key)
        # an endpoint is loaded when it is first asked
        links.append(Link(each.name, cache(partial(_endpoint, each, manner)), blocked))
    if not links:
        raise ModelError("llm-spec", "No model is named.", "Name one, as in ollama:mistral.")
    retry_policy = RetryPolicy(
        timeout_s, between_pieces_s, tries, max_calls, sleep=sleep, chance=chance
    )
    return Chain(links, retry_policy, tracker)


class ConfiguredModel(Struct, frozen=True):
    """A model by name, the base URL of its endpoint, and why it cannot be asked, if so."""

    name: str
    url: str
    fault: Failure | None


def configured_models(
    specs: Sequence[str],
    *,
    keys: Mapping[str, str],
    addresses: Mapping[str, str] = _NOWHERE_ELSE,
) -> list[ConfiguredModel]:
    """Return the configured models; no endpoint is asked. See `open_model`.

    Raises:
        ModelError: `llm-spec`, there is no such model.
    """
    found = [read_spec(spec, addresses, MODELS) for spec in specs]
    return [
        ConfiguredModel(each.name, each.url, _blocked(each, _key(each, keys))) for each in found
    ]


def _endpoint(spec: Spec, manner: Manner) -> Endpoint:
    return MODELS[_AT_URL if "://" in spec.provider else spec.provider](spec, manner)


def _key(spec: Spec, keys: Mapping[str, str]) -> str:
    named = keys.get(spec.provider)
    if named is None and "://" in spec.provider:
        places = {origin(name): key for name, key in keys.items() if "://" in name}
        named = places.get(spec.provider)
    return (named or "").strip()


def _blocked(spec: Spec, key: str) -> Failure | None:
    if key and not _KEY.fullmatch(key):
        reason = f"The key for {spec.name} holds characters that no key has."
        return Failure("llm-auth", reason, "Copy it again, without quotes and spaces.")
    if spec.needs_key and not key:
        help = f"Set {key_setting(spec)}, or name a model that needs no key."
        return Failure("llm-auth", f"There is no key for {spec.name}.", help)
    return None
