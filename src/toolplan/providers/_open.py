"""Models by name."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import cache, partial
from random import SystemRandom
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from toolplan.base.extensions import Extensions
from toolplan.providers._base import Model, ModelError
from toolplan.providers._chain import Chain, Link
from toolplan.providers._endpoint import (
    Endpoint,
    Failure,
    Manner,
    OpensEndpoint,
    guarded_provider,
)
from toolplan.providers._errors import key_setting
from toolplan.providers._limits import RetryPolicy, Runtime
from toolplan.providers._specs import Spec, origin, read_spec
from toolplan.providers._usage import UsageTracker

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
    retry_policy = RetryPolicy(timeout_s, between_pieces_s, tries, max_calls)
    runtime = Runtime(time.monotonic, sleep, chance)
    return Chain(links, retry_policy=retry_policy, runtime=runtime, tracker=tracker)


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
