"""Endpoints through the model library: the only home of `pydantic_ai`.

The library writes requests and reads replies of many providers. Its retries, and those of the
libraries beneath it, are off; an HTTP client is made for each call, so that no connection outlives
its event loop; only the headers named here leave; and each body is read along by a `Wire`.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from dataclasses import replace
from typing import Final, TypeAlias
from urllib.parse import urlsplit

import httpx2
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai import messages as said
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
    UserError,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.settings import ModelSettings

from toolplan.path import Json
from toolplan.providers import _faults
from toolplan.providers._base import Message, ModelRequest, Text, Usage
from toolplan.providers._endpoint import Answered, Manner, Part
from toolplan.providers._failures import CallFailed, Failure
from toolplan.providers._reply_schema import is_closed
from toolplan.providers._secrets import without
from toolplan.providers._specs import ADDRESSES, Spec
from toolplan.providers._wire import Wire

LibraryModel: TypeAlias = OpenAIChatModel | AnthropicModel

_HEADERS: Final = frozenset(
    (
        "accept",
        "accept-encoding",
        "anthropic-beta",
        "anthropic-version",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "host",
        "transfer-encoding",
        "user-agent",
        "x-api-key",
    )
)
"""What may leave: the libraries add headers from the environment, and of the machine."""

_LOOPBACK: Final = frozenset(("localhost", "127.0.0.1", "::1"))
_NO_KEY: Final = "none"
"""What the library is given where no key is sent; it never leaves."""
_NO_TAGS: Final = ("\0", "\0")
"""Tags of thoughts that no text has: a planner's `<think>` is a part of its text."""
_FINE: Final = 200
_FIRST_REDIRECT: Final = 300
_FIRST_ERROR: Final = 400
_CONNECT_S: Final = 10.0
_BYTES_PER_TOKEN: Final = 2_000
"""More than an event of one token has, with log probabilities and all."""
_ROOM_BYTES: Final = 200_000


class LibraryEndpoint:
    """One model at one endpoint, asked through the library."""

    def __init__(
        self, spec: Spec, manner: Manner, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        """Prepare the endpoint; nothing is called. `transport` stands in for the network."""
        self._spec = spec
        self._manner = manner
        self._transport = transport
        self._trust = _trust(spec)

    def __repr__(self) -> str:
        """Tell the model, and no key."""
        return f"LibraryEndpoint({self.name!r})"

    @property
    def name(self) -> str:
        """How the model is told apart."""
        return self._spec.name

    async def ask(self, request: ModelRequest, *, constrained: bool) -> AsyncGenerator[Part]:
        """Make one HTTP call.

        Raises:
            CallFailed: there is no whole reply.
        """
        call = _Call(self._spec, self._manner, request, constrained)
        caught: Exception | None = None
        try:
            async with call.client(self._trust, self._transport) as http:
                async for part in call.parts(http):
                    yield part
        except Exception as error:  # the library trips over some of what an endpoint may say
            caught = error
        # Raised outside of the clause above: what was caught holds the request and with it the key.
        failure = call.failure(caught)
        if failure is not None and (text := call.unstreamed()) is not None:
            yield Text(text)
        elif failure is not None:
            del caught
            raise CallFailed(failure, call.spent)
        yield Answered(call.spent)


class _Call:
    """One call, and what is known of it so far."""

    def __init__(
        self, spec: Spec, manner: Manner, request: ModelRequest, constrained: bool
    ) -> None:
        self._spec = spec
        self._manner = manner
        self._request = request
        schema = request.schema
        self._schema = schema if constrained and isinstance(schema, dict) else None
        self._status = 0
        self._wire = Wire(
            streamed=manner.streamed,
            most_bytes=request.max_tokens * _BYTES_PER_TOKEN + _ROOM_BYTES,
        )
        self.spent = Usage()

    def client(
        self, trust: ssl.SSLContext, transport: httpx2.AsyncBaseTransport | None
    ) -> httpx2.AsyncClient:
        """Return an HTTP client for this call. Its deadlines are kept by whoever asks."""
        near = urlsplit(self._spec.url).hostname in _LOOPBACK
        return httpx2.AsyncClient(
            transport=transport,
            verify=trust,
            trust_env=not near,  # proxies; what runs on this machine needs none
            timeout=httpx2.Timeout(None, connect=_CONNECT_S),
            event_hooks={"request": [self._leave], "response": [self._come]},
        )

    async def parts(self, http: httpx2.AsyncClient) -> AsyncGenerator[Part]:
        """Yield the reply as it comes."""
        model = _library_model(self._spec, self._manner, http)
        messages = _asked(self._request.messages)
        settings = _settings(model, self._request)
        parameters = _parameters(model, self._schema)
        if not self._manner.streamed:
            whole = await model_request(
                model,
                messages,
                model_settings=settings,
                model_request_parameters=parameters,
                instrument=False,
            )
            self._spend(whole)
            yield Text(whole.text or "")
            return
        async with model_request_stream(
            model,
            messages,
            model_settings=settings,
            model_request_parameters=parameters,
            instrument=False,
        ) as stream:
            async for event in stream:
                yield _part(event)
            self._spend(stream.get())

    def failure(self, error: Exception | None) -> Failure | None:
        """Say why there is no whole reply; None where there is one."""
        if self._wire.too_much and self._status >= _FIRST_ERROR:
            return _faults.not_available(self._spec, "", self._status, None)
        if _FIRST_REDIRECT <= self._status < _FIRST_ERROR:
            return _faults.sent_elsewhere(self._spec, self._status)
        if error is None or self._wire.too_much:
            return self._wire.fault(self._spec.name)
        said_so = _faults.quoted(without(_words(error), [self._manner.key]))
        if isinstance(error, ModelAPIError):
            return self._told(error, said_so)
        if isinstance(error, UserError):
            return _faults.not_taken(self._spec, "", constrained=self._schema is not None)
        return self._wire.fault(self._spec.name) or _faults.no_reply(self._spec, said_so)

    def unstreamed(self) -> str | None:
        """Return the whole reply of an endpoint that does not stream, though it was asked to.

        The library finds nothing in such an answer.
        """
        fault = self._wire.fault(self._spec.name)
        told = self._wire.told
        if not self._manner.streamed or self._status != _FINE or fault is not None or told is None:
            return None
        self.spent = Usage(0, told.input_tokens, told.output_tokens)
        return told.text

    def _told(self, error: ModelAPIError, said_so: str) -> Failure:
        spec = self._spec
        match error:
            case ModelContextWindowExceededError() | ModelHTTPError(status_code=413):
                return _faults.asked_too_much(spec, said_so)
            case ModelAuthenticationError():
                return _faults.not_allowed(spec)
            case ModelQuotaExceededError():
                return _faults.quota_spent(spec, said_so)
            case ModelRateLimitError(retry_after=seconds):
                return _faults.asked_too_often(spec, said_so, seconds)
            case ModelTimeoutError() | ModelHTTPError(status_code=408):
                return _faults.too_slow(spec.name, "did not answer in time")
            case ModelUnavailableError() | ModelServerError():
                status = error.status_code if isinstance(error, ModelHTTPError) else None
                return _faults.not_available(spec, said_so, status, error.retry_after)
            case ModelConnectionError(phase=phase) if not self._wire.begun:
                return _faults.not_reached(spec, refused=phase == "connect")
            case ModelConnectionError():
                return self._wire.fault(spec.name) or _faults.broken_off(spec)
            case ModelNotFoundError():
                return _faults.no_such_model(spec, said_so)
            case ModelHTTPError(status_code=400 | 422):
                return _faults.not_taken(spec, said_so, constrained=self._schema is not None)
            case _:
                return self._wire.fault(spec.name) or _faults.no_reply(spec, said_so)

    def _spend(self, response: said.ModelResponse) -> None:
        usage = response.usage
        cost = _cost(response, self._spec)
        self.spent = Usage(0, usage.input_tokens, usage.output_tokens, cost)

    async def _leave(self, request: httpx2.Request) -> None:
        for name in [each for each in request.headers if each.lower() not in _HEADERS]:
            del request.headers[name]
        request.headers["accept-encoding"] = "identity"
        request.headers["user-agent"] = "toolplan"
        if not self._manner.key:
            request.headers.pop("authorization", None)
            request.headers.pop("x-api-key", None)

    async def _come(self, response: httpx2.Response) -> None:
        self._status = response.status_code
        headers = response.headers
        self._wire.begin(
            headers.get("content-type", ""),
            framed="content-length" in headers or "transfer-encoding" in headers,
            encoded=headers.get("content-encoding", "identity") != "identity",
        )
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _ReadAlong(response.stream, self._wire)


class _ReadAlong(httpx2.AsyncByteStream):
    """A body that is read along."""

    def __init__(self, stream: httpx2.AsyncByteStream, wire: Wire) -> None:
        self._stream: AsyncIterable[bytes] = stream
        self._close = stream.aclose
        self._wire = wire

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            self._wire.feed(part)
            yield part
        self._wire.end()

    async def aclose(self) -> None:
        await self._close()


def open_endpoint(spec: Spec, manner: Manner) -> LibraryEndpoint:
    """Return the endpoint for `spec`."""
    return LibraryEndpoint(spec, manner)


def _trust(spec: Spec) -> ssl.SSLContext:
    """Return who is trusted. It is found once.

    Certificates take longer to read than all the rest.
    """
    if urlsplit(spec.url).scheme == "https":
        return httpx2.create_ssl_context()
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # nobody; it is not needed


def _library_model(spec: Spec, manner: Manner, http: httpx2.AsyncClient) -> LibraryModel:
    key = manner.key or _NO_KEY
    if spec.form == "anthropic":
        client = AsyncAnthropic(api_key=key, base_url=spec.url, max_retries=0, http_client=http)
        return AnthropicModel(spec.model, provider=AnthropicProvider(anthropic_client=client))
    other = AsyncOpenAI(api_key=key, base_url=spec.url, max_retries=0, http_client=http)
    if spec.form == "openai":
        profile = OpenAIModelProfile(thinking_tags=_NO_TAGS, json_schema_transformer=None)
        provider = OpenAIProvider(openai_client=other)
        return OpenAIChatModel(spec.model, provider=provider, profile=profile)
    profile = OpenAIModelProfile(
        thinking_tags=_NO_TAGS,
        json_schema_transformer=None,
        openai_chat_supports_max_completion_tokens=False,
        supports_json_schema_output=True,  # found out by asking
    )
    named = spec.provider if spec.provider in ADDRESSES else "openai-compatible"
    compatible = OpenAICompatibleProvider(named, openai_client=other)
    return OpenAIChatModel(spec.model, provider=compatible, profile=profile)


def _settings(model: LibraryModel, request: ModelRequest) -> ModelSettings:
    settings = ModelSettings(max_tokens=request.max_tokens)
    # Models that reason take no temperature, and the library warns of one that is dropped.
    if isinstance(model, AnthropicModel):
        if not model.profile.get("anthropic_disallows_sampling_settings"):
            settings["temperature"] = min(request.temperature, 1.0)
    elif not model.profile.get("openai_supports_reasoning"):
        settings["temperature"] = request.temperature
    return settings


def _parameters(model: LibraryModel, schema: dict[str, Json] | None) -> ModelRequestParameters:
    """Ask for a reply that follows `schema`, which goes out as it is.

    A schema with open objects is not closed to make it fit: it would mean something else.
    """
    closed = schema is not None and is_closed(schema)
    takes = closed or isinstance(model, OpenAIChatModel)
    if schema is None or not takes or not model.profile.get("supports_json_schema_output"):
        return ModelRequestParameters()
    wanted = OutputObjectDefinition(json_schema={**schema}, name="reply", strict=closed)
    return ModelRequestParameters(output_mode="native", output_object=wanted)


def _asked(messages: tuple[Message, ...]) -> list[said.ModelMessage]:
    """Return the conversation as the library has it: requests of parts, and responses."""
    found: list[said.ModelMessage] = []
    parts: list[said.ModelRequestPart] = []
    for message in messages:
        match message.role:
            case "system":
                parts.append(said.SystemPromptPart(message.text))
            case "user":
                parts.append(said.UserPromptPart(message.text))
            case "assistant":
                if parts:
                    found.append(said.ModelRequest(parts))
                    parts = []
                found.append(said.ModelResponse([said.TextPart(message.text)]))
    return [*found, said.ModelRequest(parts)] if parts else found


def _part(event: said.ModelResponseStreamEvent) -> Part:
    match event:
        case said.PartStartEvent(part=said.TextPart(content=text)):
            return Text(text)
        case said.PartDeltaEvent(delta=said.TextPartDelta(content_delta=text)):
            return Text(text)
        case _:
            return None  # a thought, the end of a part


def _cost(response: said.ModelResponse, spec: Spec) -> float | None:
    """Return the cost in US dollars, by the library's own list; None where it is not known."""
    if ADDRESSES.get(spec.provider) != spec.url:
        return None  # the same name at another address is another model
    for named in (response, replace(response, model_name=spec.model)):
        try:
            return float(named.cost().total_price)
        except (LookupError, ValueError, AssertionError):
            continue  # the name that the endpoint gave, then the one that was asked for
    return None


def _words(error: Exception) -> str:
    """Return what the endpoint said of the error, as it said it."""
    body: object = error.body if isinstance(error, ModelAPIError) else None
    match body:
        case {"error": {"message": str(text)}} | {"message": str(text)} | {"error": str(text)}:
            return text
        case _:
            return ""
