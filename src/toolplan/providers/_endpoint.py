"""How models are named (`openai:gpt-5`, `http://localhost:8080/v1#model`), and called.

An endpoint makes one call to one model, without retries.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Container, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, TypeAlias, cast
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from toolplan.base.errors import ToolplanError
from toolplan.base.extensions import EntryPoint
from toolplan.providers._base import ModelError, ModelRequest, Text, Usage

Form: TypeAlias = Literal["openai", "anthropic", "compatible", "other"]
"""The protocol: OpenAI's, Anthropic's, one compatible with OpenAI's, or that of an extension."""

ADDRESSES: Final[Mapping[str, str]] = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "groq": "https://api.groq.com/openai/v1",
    "ollama": "http://localhost:11434/v1",
}
"""The base URL of each provider that has a name."""
KEYED: Final = ("anthropic", "groq", "openai")
"""Providers that need a key, which has an environment variable of its own."""

_MODEL: Final = re.compile(r"[\w./:@+-]{1,200}", re.ASCII)
_FORMS: Final[Mapping[str, Form]] = {
    **dict.fromkeys(ADDRESSES, "compatible"),
    "openai": "openai",
    "anthropic": "anthropic",
}
_TAILS: Final = ("/chat/completions", "/completions", "/models", "/messages")
_OWN_TAILS: Final[Mapping[str, tuple[str, ...]]] = {
    "ollama": ("/api",),  # its own interface; the compatible one stands beside it
    "anthropic": ("/v1",),
}
_HELP: Final = (
    "Write PROVIDER:MODEL with one of "
    f"{', '.join(ADDRESSES)}, or URL#MODEL as in http://localhost:8080/v1#mistral."
)


class Spec(Struct, frozen=True):
    """A model at an endpoint.

    Attributes:
        name: display name.
        form: the protocol.
        provider: the provider's name; for a bare URL its scheme and host.
        url: the base URL, without a slash at its end.
        model: the model's name, as the endpoint knows it.
        needs_key: whether a key is required.
    """

    name: str
    form: Form
    provider: str
    url: str
    model: str
    needs_key: bool


def read_spec(
    spec: str, addresses: Mapping[str, str], others: Container[str] = frozenset()
) -> Spec:
    """Read the name of one model.

    Args:
        spec: the name.
        addresses: base URLs of providers that are elsewhere than usual.
        others: providers besides our own.

    Raises:
        ModelError: `llm-spec`, it names no model; the message repeats no key or password.
    """
    text = spec.strip()
    if "://" in text:
        address, _, model = text.partition("#")
        url = base_url(address)
        if not _MODEL.fullmatch(model):
            help = f"Write it behind the address: {url}#MODEL."
            raise ModelError("llm-spec", f"{url!r} names no model.", help)
        return Spec(f"{url}#{model}", "compatible", origin(url), url, model, needs_key=False)
    given, mark, model = text.partition(":")
    provider = given.lower()
    if (provider not in ADDRESSES and provider not in others) or not _MODEL.fullmatch(model):
        # it may be a key that was pasted into the wrong place, and so is not repeated
        named = f" {given!r}" if mark and re.fullmatch(r"[a-z]{1,20}", given) else ""
        raise ModelError("llm-spec", f"The provider{named} or its model is not known.", _HELP)
    url = addresses.get(provider, "")
    form: Form = _FORMS.get(provider, "other")
    if provider in ADDRESSES:
        url = base_url(url or ADDRESSES[provider], provider)
    return Spec(f"{provider}:{model}", form, provider, url, model, provider in KEYED)


def base_url(text: str, provider: str = "") -> str:
    """Return `text` as a base URL.

    The path of a call is removed; an address without a path gets `/v1`, except for Anthropic.

    >>> base_url("http://localhost:11434/"), base_url("http://localhost:8080/v1/chat/completions")
    ('http://localhost:11434/v1', 'http://localhost:8080/v1')

    Raises:
        ModelError: `llm-spec`, it is not an http or https URL.
    """
    try:
        address = urlsplit(text.strip())
        usable = address.scheme in ("http", "https") and bool(address.hostname)
        _ = address.port  # raises where it is not a number
    except ValueError:
        usable, address = False, SplitResult("", "", "", "", "")
    if not usable:
        raise ModelError("llm-spec", "The address of a model is not an http or https URL.", _HELP)
    if "@" in address.netloc or address.query:
        raise ModelError(
            "llm-spec",
            f"The address of a model at {address.hostname!r} holds a password or a query.",
            "Give keys apart from addresses, in the environment or in toolplan.toml.",
        )
    path = address.path.rstrip("/")
    for tail in (*_TAILS, *_OWN_TAILS.get(provider, ())):
        path = path.removesuffix(tail)
    if not path and provider != "anthropic":
        path = "/v1"
    return f"{address.scheme}://{address.netloc.lower()}{path}"


def origin(url: str) -> str:
    """Return scheme and host of `url`, which is not a URL where it has none.

    >>> origin("http://LocalHost:8080/v1")
    'http://localhost:8080'
    """
    return "/".join(url.strip().split("/")[:3]).lower()


class Answered(Struct, frozen=True):
    """The reply is whole. `spent` is the usage of the call."""

    spent: Usage


Part: TypeAlias = Text | Answered | None
"""A part of an answer: text, its end, or None for a sign of life, such as a piece of a thought."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How an endpoint is asked.

    Attributes:
        key: the key that is sent; empty for none.
        left_out: the parameters that are not sent: names of `SETTABLE`.
    """

    key: str = field(repr=False)
    left_out: frozenset[str] = frozenset()


class Endpoint(Protocol):
    """Makes one call to one model."""

    def ask(self, request: ModelRequest, *, constrained: bool) -> AsyncGenerator[Part]:
        """Make one call; `constrained` asks for a reply that follows `request.schema`.

        Raises:
            CallFailed: there is no whole reply.
        """
        ...


class OpensEndpoint(Protocol):
    """Returns the endpoint for a spec: one entry point of the group `toolplan.models`."""

    def __call__(self, spec: Spec, manner: Manner) -> Endpoint:
        """Return the endpoint. Nothing is called yet."""
        ...


class Failure(Struct, frozen=True):
    """Why a call gave no whole reply.

    Attributes:
        code: a code of `ModelError`.
        reason: one sentence; it names the model and holds no key.
        help: what the user can do.
        lasts: whether asking the same model again cannot help, as with a spent quota.
        retry_after_s: seconds that the endpoint asks to wait.
        schema: whether the endpoint may have refused the schema of the reply.
        changed: whether the endpoint writes the next request otherwise, without the parameter that
            was refused; it is made at once, and does not count as a try.
    """

    code: str
    reason: str
    help: str = ""
    lasts: bool = False
    retry_after_s: float | None = None
    schema: bool = False
    changed: bool = False


class CallFailed(ToolplanError):
    """A call to a model gave no whole reply. `spent` is its usage."""

    def __init__(self, failure: Failure, spent: Usage | None = None) -> None:
        super().__init__(failure.code, failure.reason, failure.help)
        self.failure = failure
        self.spent = spent or Usage()


def guarded_provider(entry: EntryPoint, offered: object) -> OpensEndpoint:
    """Return the provider of another package, with a guard that names the package in its faults.

    Raises:
        ExtensionError: it cannot be called.
    """
    if not callable(offered):
        raise entry.wrong("is no function that opens an endpoint")
    opens = cast("OpensEndpoint", offered)

    def opened(spec: Spec, manner: Manner) -> Endpoint:
        endpoint = entry.call(opens, spec, manner)
        if isinstance(endpoint, type) or not callable(getattr(endpoint, "ask", None)):
            raise entry.wrong("opened an endpoint that has no method `ask`")
        return _GuardedEndpoint(entry, endpoint)

    return opened


class _GuardedEndpoint:
    def __init__(self, entry: EntryPoint, inner: Endpoint) -> None:
        self._entry = entry
        self._inner = inner

    async def ask(self, request: ModelRequest, *, constrained: bool) -> AsyncGenerator[Part]:
        entry = self._entry
        asked = cast("object", entry.call(self._inner.ask, request, constrained=constrained))
        if not isinstance(asked, AsyncGenerator):
            raise entry.wrong("has an `ask` that is no async generator")
        async with aclosing(cast("AsyncGenerator[object]", asked)) as parts:
            while True:
                try:
                    part = await anext(parts)
                except StopAsyncIteration:
                    return
                except ToolplanError:
                    raise  # on purpose
                except Exception as error:  # the code of another package may raise anything
                    raise entry.fault(error) from error
                yield entry.returned(part, Text, Answered, type(None), by="ask")
