"""Endpoints over HTTP: one request, no retries, no redirects, no connection left open."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Final, TypeAlias
from urllib.parse import urlsplit

import httpx2
from msgspec.structs import replace

from toolplan.providers._base import ModelRequest, Text, Usage
from toolplan.providers._endpoint import (
    ADDRESSES,
    Answered,
    CallFailed,
    Failure,
    Manner,
    Part,
    Spec,
)
from toolplan.providers._errors import (
    CHANGE,
    ErrorObject,
    error_of_body,
    meaning,
    quoted,
    unavailable,
    without_key,
)
from toolplan.providers._limits import timed_out
from toolplan.providers._reply import ReplyReader, broken_off
from toolplan.providers._requests import Changes, Written, written

_LOOPBACK: Final = frozenset(("localhost", "127.0.0.1", "::1"))
_FIRST_REDIRECT: Final = 300
_FIRST_ERROR: Final = 400
_CONNECT_S: Final = 10.0
_BYTES_PER_TOKEN: Final = 2_000
"""More than an event of one token has, with log probabilities and all."""
_ROOM_BYTES: Final = 200_000


_Refusal: TypeAlias = tuple[int | None, ErrorObject] | None
"""The status and the words with which an endpoint refused a request."""


class HttpEndpoint:
    """One model at one endpoint."""

    def __init__(
        self, spec: Spec, manner: Manner, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        """Prepare the endpoint; nothing is called. `transport` stands in for the network."""
        self._spec = spec
        self._manner = manner
        self._transport = transport
        self._changes = Changes(manner.left_out)

    async def ask(self, request: ModelRequest, *, constrained: bool) -> AsyncGenerator[Part]:
        """Make one HTTP call.

        Where the endpoint refuses a parameter, the next request is written without it, and the
        failure says so (`changed`).

        Raises:
            CallFailed: there is no whole reply.
        """
        spec, key = self._spec, self._manner.key
        sent = written(spec, key, request, constrained=constrained, changes=self._changes)
        most_bytes = request.max_tokens * _BYTES_PER_TOKEN + _ROOM_BYTES
        reader = ReplyReader(streamed=sent.body["stream"] is True, most_bytes=most_bytes)
        failure: Failure | None = None
        refusal: _Refusal = None
        has_words = False
        try:
            async with self._client() as http, aclosing(_parts(http, sent, reader)) as parts:
                async for part in parts:
                    has_words |= isinstance(part, Text) and not part.text.isspace()
                    yield part
        except Exception as error:  # its text may hold the key, so its type alone is looked at
            failure = self._broken(reader, error)
        # Raised outside of the clause above: the caught error holds the request and its key.
        if failure is None:
            failure, refusal = self._failure(sent, reader)
        content = reader.content
        if failure is None and content.thought and not has_words:
            reason = f"{spec.name} wrote its reasoning (reasoning_content) and no reply after it."
            help = "Allow more tokens (PLANNER_MAX_TOKENS), or switch its reasoning off."
            failure = Failure("llm-empty", reason, help)
        if failure is not None and refusal is not None:
            status, error = refusal
            changes = self._changes.after(status, error.message, error.param, sent.body)
            if changes is not None:
                self._changes = changes
                reason = f"{spec.name} rejected the request{self._said(error)}."
                failure = Failure("llm-request", reason, CHANGE, changed=True)
        spent = replace(content.usage, cost_usd=cost_usd(spec, content.model, content.usage))
        if failure is not None:
            raise CallFailed(replace(failure, reason=without_key(failure.reason, key)), spent)
        yield Answered(spent)

    def _broken(self, reader: ReplyReader, error: Exception) -> Failure | None:
        """Return the failure for a broken connection; None where `_failure` knows it."""
        name = self._spec.name
        if reader.status >= _FIRST_ERROR:
            return None
        if isinstance(error, httpx2.ConnectTimeout):
            return timed_out(name, "did not answer in time")
        if reader.status == 0:
            reason = f"{name} cannot be reached at {self._spec.url}."
            help = "Check that it runs, and that the address is right."
            refused = isinstance(error, httpx2.ConnectError)
            return Failure("llm-unavailable", reason, help, lasts=refused)
        return reader.fault(name) or broken_off(name)

    def _failure(self, sent: Written, reader: ReplyReader) -> tuple[Failure | None, _Refusal]:
        """Return why there is no whole reply, if so, and the words that refuse the request."""
        name = self._spec.name
        error, status = reader.content.error, None
        if reader.status >= _FIRST_ERROR:
            error, status = error_of_body(bytes(reader.body)), reader.status
        elif reader.status >= _FIRST_REDIRECT:  # following it would take the key elsewhere
            reason = f"{name} redirects (HTTP {reader.status}), which is not followed."
            return Failure("llm-bad-response", reason, "Name the address that it leads to."), None
        elif error is None or reader.too_long:
            return reader.fault(name), None
        elif error.code.isdigit() and len(error.code) == 3:
            status = int(error.code)
        said, refusal = self._said(error), None if reader.too_long else (status, error)
        if not reader.too_long:
            constrained = "response_format" in sent.body or "output_config" in sent.body
            wait_s = _retry_after(reader.headers)
            known = meaning(self._spec, error, said, status, wait_s, constrained=constrained)
            if known is not None:
                return known, refusal
        if reader.too_long or reader.content.events:  # an endless page, or a reply had begun
            return unavailable(name, said, status), refusal
        reason = f"{name} answered with something that is no reply of a model{said}."
        return Failure("llm-bad-response", reason, CHANGE), refusal

    def _said(self, error: ErrorObject) -> str:
        # The key goes before the text is cut: a part of it would not be seen.
        return quoted(without_key(error.message, self._manner.key))

    def _client(self) -> httpx2.AsyncClient:
        # Deadlines are kept by the caller; no proxy is asked for what runs on this machine.
        near = urlsplit(self._spec.url).hostname in _LOOPBACK
        timeout = httpx2.Timeout(None, connect=_CONNECT_S)
        return httpx2.AsyncClient(
            transport=self._transport, verify=self._trust, trust_env=not near, timeout=timeout
        )

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        if urlsplit(self._spec.url).scheme == "https":
            return httpx2.create_ssl_context()
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts no certificate, and is not used


async def _parts(
    http: httpx2.AsyncClient, sent: Written, reader: ReplyReader
) -> AsyncGenerator[Part]:
    """Yield the reply as it comes."""
    body = json.dumps(sent.body).encode()
    async with http.stream("POST", sent.url, content=body, headers=sent.headers) as response:
        reader.status = response.status_code
        headers = reader.headers = response.headers
        reader.content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        reader.framed = "content-length" in headers or "transfer-encoding" in headers
        if headers.get("content-encoding", "identity") != "identity":
            reader.oddity = "answered in a compressed form that was not asked for"
            return
        is_reply = reader.status < _FIRST_REDIRECT
        async for raw in response.aiter_raw():
            for part in reader.feed(raw):
                if is_reply:
                    yield part
            if reader.too_long or (is_reply and reader.content.error is not None):
                return
        for part in reader.end():
            if is_reply:
                yield part


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the pause that the endpoint asks for, in seconds; None where it does not."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        stated = headers.get(name, "").strip()
        if stated.isascii() and stated.isdigit():
            return float(stated[:9]) * unit_s
    try:
        until = parsedate_to_datetime(headers.get("retry-after", "")).timestamp()
        return max(0.0, until - time.time())
    except (TypeError, ValueError):
        return None


def open_endpoint(spec: Spec, manner: Manner) -> HttpEndpoint:
    """Return the endpoint for `spec`."""
    return HttpEndpoint(spec, manner)


try:
    import genai_prices
except ModuleNotFoundError:
    genai_prices = None


def cost_usd(spec: Spec, model: str, usage: Usage) -> float | None:
    """Return the cost of a call in US dollars; None where it is not known.

    `model` is the name that the endpoint gave; the one that was asked for is the next to try.
    """
    if genai_prices is None or ADDRESSES.get(spec.provider) != spec.url:
        return None  # the same name at another address is another model
    if not (usage.input_tokens or usage.output_tokens):
        return None  # the endpoint did not count
    tokens = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        cache_read_tokens=usage.cached_tokens,
        output_tokens=usage.output_tokens,
    )
    for name in filter(None, (model, spec.model)):
        try:
            price = genai_prices.calc_price(tokens, name, provider_id=spec.provider)
        except (LookupError, ValueError):
            continue
        return float(price.total_price)
    return None


def try_prices() -> str:
    """Compute the cost of a call; describe the list of prices.

    Raises:
        LookupError: the list has no price of a model that is sold.
    """
    usage = Usage(input_tokens=1_000, output_tokens=1_000)
    spec = Spec("openai:gpt-4o", "openai", "openai", ADDRESSES["openai"], "gpt-4o", True)
    if cost_usd(spec, spec.model, usage) is None:
        raise LookupError("there is no price of gpt-4o")
    return "a call was priced"
