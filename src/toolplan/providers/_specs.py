"""How models are named: `openai:gpt-5`, `ollama:mistral`, `http://localhost:8080/v1#model`."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import Final, Literal, TypeAlias
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from toolplan.providers._base import ModelError

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
