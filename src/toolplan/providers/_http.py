"""Endpoints over HTTP: one request, no retries, no redirects, no connection left open."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Final
from urllib.parse import urlsplit

import httpx2
from msgspec.structs import replace

from toolplan.providers import _faults
from toolplan.providers._base import ModelRequest, Text
from toolplan.providers._endpoint import Answered, Manner, Part
from toolplan.providers._failures import CallFailed, Failure
from toolplan.providers._parameters import Changes
from toolplan.providers._prices import cost_usd
from toolplan.providers._reply import ReplyReader, TooLong
from toolplan.providers._requests import Written, written
from toolplan.providers._said import ErrorObject, error_of_body
from toolplan.providers._secrets import without
from toolplan.providers._specs import Spec

_LOOPBACK: Final = frozenset(("localhost", "127.0.0.1", "::1"))
_FIRST_REDIRECT: Final = 300
_FIRST_ERROR: Final = 400
_CONNECT_S: Final = 10.0
_BYTES_PER_TOKEN: Final = 2_000
"""More than an event of one token has, with log probabilities and all."""
_ROOM_BYTES: Final = 200_000

_QUOTA: Final = frozenset(
    (
        "billing_error",
        "billing_hard_limit_reached",
        "credit_balance_exhausted",
        "insufficient_quota",
        "organization_spend_limit_exceeded",
        "organization_usage_limit_exceeded",
        "project_spend_limit_exceeded",
    )
)
_TOO_LONG: Final = (
    "maximum context length",
    "prompt is too long",
    "reduce the length of the messages",
)
_NO_CREDIT: Final = "credit balance is too low"
_FILTERED: Final = ("content management policy", "content_filter", "responsibleaipolicyviolation")
"""What a content filter says that refuses the question before a model has seen it."""
_STATUSES: Final[Mapping[str, int]] = {
    "api_error": 500,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "model_not_found": 404,
    "not_found_error": 404,
    "overloaded": 503,
    "overloaded_error": 529,
    "permission_error": 403,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "request_too_large": 413,
    "server_error": 500,
    "server_is_overloaded": 503,
    "service_unavailable": 503,
    "service_unavailable_error": 503,
    "timeout_error": 504,
    "too_many_requests": 429,
}
"""What an error says of itself, in its code or its type, as an HTTP status."""


class HttpEndpoint:
    """One model at one endpoint."""

    def __init__(
        self,
        spec: Spec,
        manner: Manner,
        transport: httpx2.AsyncBaseTransport | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Prepare the endpoint; nothing is called. `transport` stands in for the network."""
        self._spec = spec
        self._manner = manner
        self._transport = transport
        self._now = now
        self._changes = Changes(manner.left_out)

    def __repr__(self) -> str:
        """Name the model, and no key."""
        return f"HttpEndpoint({self.name!r})"

    @property
    def name(self) -> str:
        """Display name."""
        return self._spec.name

    async def ask(self, request: ModelRequest, *, constrained: bool) -> AsyncGenerator[Part]:
        """Make one HTTP call.

        Where the endpoint refuses a parameter, the next request is written without it, and the
        failure says so (`changed`).

        Raises:
            CallFailed: there is no whole reply.
        """
        sent = written(
            self._spec,
            self._manner.key,
            request,
            streamed=self._manner.streamed,
            constrained=constrained,
            changes=self._changes,
        )
        streamed = sent.body["stream"] is True
        most = request.max_tokens * _BYTES_PER_TOKEN + _ROOM_BYTES
        reader = ReplyReader(streamed=streamed, most_bytes=most)
        formed = "response_format" in sent.body or "output_config" in sent.body
        call = _Call(self._spec, self._manner.key, reader, formed)
        caught: Failure | None = None
        spoken = False
        try:
            async with self._client() as http, aclosing(call.parts(http, sent)) as parts:
                async for part in parts:
                    spoken |= isinstance(part, Text) and not part.text.isspace()
                    yield part
        except TooLong:
            pass
        except Exception as error:  # its text may hold the key, so its type alone is looked at
            caught = call.broken(error)
        # Raised outside of the clause above: what was caught holds the request and with it the key.
        failure = caught or call.failure(self._now())
        if failure is None and reader.seen.thought and not spoken:
            failure = _faults.only_thought(self.name)
        if failure is not None and call.refusal is not None:
            status, error = call.refusal
            changes = self._changes.after(status, error.message, error.param, sent.body)
            if changes is not None:
                self._changes = changes
                failure = _faults.changed(self._spec, call.quoted(error))
        seen = reader.seen
        spent = replace(seen.usage, cost_usd=cost_usd(self._spec, seen.model, seen.usage))
        if failure is not None:
            said = without(failure.reason, [self._manner.key])
            raise CallFailed(replace(failure, reason=said), spent)
        yield Answered(spent)

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


class _Call:
    """One call, and what is known of it so far."""

    def __init__(self, spec: Spec, key: str, reader: ReplyReader, constrained: bool) -> None:
        self._spec = spec
        self._key = key
        self._reader = reader
        self._constrained = constrained
        self._status = 0
        self._headers: Mapping[str, str] = {}
        self._refusal = bytearray()
        self.refusal: tuple[int | None, ErrorObject] | None = None
        """The status and the words with which the endpoint refused the request."""

    async def parts(self, http: httpx2.AsyncClient, sent: Written) -> AsyncGenerator[Part]:
        """Yield the reply as it comes.

        Raises:
            TooLong: the body is larger than allowed.
        """
        reader = self._reader
        body = json.dumps(sent.body).encode()
        async with http.stream("POST", sent.url, content=body, headers=sent.headers) as response:
            self._status = response.status_code
            headers = self._headers = response.headers
            reader.begin(
                headers.get("content-type", ""),
                framed="content-length" in headers or "transfer-encoding" in headers,
                encoded=headers.get("content-encoding", "identity") != "identity",
            )
            async for raw in response.aiter_raw():
                parts = reader.feed(raw)
                if self._status >= _FIRST_REDIRECT:
                    self._refusal += raw
                    continue
                for part in parts:
                    yield part
                if reader.seen.error is not None:
                    return
            for part in reader.end():
                if self._status < _FIRST_REDIRECT:
                    yield part

    def broken(self, error: Exception) -> Failure:
        """Return what it means that the connection failed with `error`."""
        if self._status >= _FIRST_ERROR:
            return self._of_status(None)
        if isinstance(error, httpx2.ConnectTimeout):
            return _faults.too_slow(self._spec.name, "did not answer in time")
        if self._status == 0:
            refused = isinstance(error, httpx2.ConnectError)
            return _faults.not_reached(self._spec, refused=refused)
        return self._reader.fault(self._spec.name) or _faults.broken_off(self._spec.name)

    def failure(self, now: float) -> Failure | None:
        """Return why there is no whole reply; None where there is one."""
        spec = self._spec
        if _FIRST_REDIRECT <= self._status < _FIRST_ERROR:
            return _faults.sent_elsewhere(spec, self._status)
        if self._status >= _FIRST_ERROR:
            return self._of_status(_retry_after(self._headers, now))
        error = self._reader.seen.error
        if error is None:
            return self._reader.fault(spec.name)
        status = int(error.code) if error.code.isdigit() and len(error.code) == 3 else None
        self.refusal = (status, error)
        failure = self._meaning(status, error, None)
        if failure is None and self._reader.seen.events:  # a reply that had begun
            return _faults.not_available(spec, self.quoted(error), None, None)
        return failure or _faults.no_reply(spec, self.quoted(error))

    def _of_status(self, wait_s: float | None) -> Failure:
        """Return what a status of 400 or more means, in the words of what came with it."""
        error = error_of_body(bytes(self._refusal)) or ErrorObject()
        if self._reader.too_long:
            return _faults.not_available(self._spec, self.quoted(error), self._status, None)
        self.refusal = (self._status, error)
        failure = self._meaning(self._status, error, wait_s)
        return failure or _faults.no_reply(self._spec, self.quoted(error))

    def quoted(self, error: ErrorObject) -> str:
        """Return what the endpoint said, without the key, as the end of a sentence.

        The key goes before the text is cut: a part of it would not be seen.
        """
        return _faults.quoted(without(error.message, [self._key]))

    def _meaning(
        self, status: int | None, error: ErrorObject, wait_s: float | None
    ) -> Failure | None:
        """Return what an error of the endpoint means; None where that is not known."""
        spec, said = self._spec, self.quoted(error)
        message = error.message.lower()
        if {error.code, error.kind} & _QUOTA or _NO_CREDIT in message:
            return _faults.quota_spent(spec, said)
        if error.code == "context_length_exceeded" or any(each in message for each in _TOO_LONG):
            return _faults.asked_too_much(spec, said)
        if error.code == "content_filter" or any(each in message for each in _FILTERED):
            return _faults.refused(spec.name, said, filtered=True)
        status = status or _STATUSES.get(error.code) or _STATUSES.get(error.kind)
        match status:
            case 400 | 422:
                return _faults.not_taken(spec, said, constrained=self._constrained)
            case 401 | 403:
                return _faults.not_allowed(spec, said)
            case 402:
                return _faults.quota_spent(spec, said)
            case 404:
                return _faults.no_such_model(spec, said)
            case 408:
                return _faults.too_slow(spec.name, "did not answer in time")
            case 413:
                return _faults.asked_too_much(spec, said)
            case 429:
                return _faults.asked_too_often(spec, said, wait_s)
            case int() if status >= 500:
                return _faults.not_available(spec, said, status, wait_s)
            case _:
                return None


def _retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the pause that the endpoint asks for, in seconds; None where it does not."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        stated = headers.get(name, "").strip()
        if stated.isascii() and stated.isdigit():
            return float(stated[:9]) * unit_s
    try:
        return max(0.0, parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - now)
    except (TypeError, ValueError):
        return None


def open_endpoint(spec: Spec, manner: Manner) -> HttpEndpoint:
    """Return the endpoint for `spec`."""
    return HttpEndpoint(spec, manner)
