"""How a request is written: as chat completions (OpenAI and compatible) or messages (Anthropic)."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from toolplan.path import Json
from toolplan.providers._base import Message, ModelRequest
from toolplan.providers._reply_schema import is_closed
from toolplan.providers._specs import Spec

_VERSION: Final = "2026-10-21"
_NO_TEMPERATURE: Final = re.compile(
    r"o\d|gpt-[5-9](?!-chat)|claude-(fable|mythos|opus|sonnet|haiku)-5|claude-opus-4-[78]"
)
"""Models of OpenAI and Anthropic that reason, and refuse a temperature."""


class Written(Struct, frozen=True):
    """A request as it is sent."""

    url: str
    headers: dict[str, str]
    body: dict[str, Json]


def written(
    spec: Spec, key: str, request: ModelRequest, *, streamed: bool, constrained: bool
) -> Written:
    """Return `request` as the endpoint of `spec` takes it; no header but these is sent.

    `constrained` asks for a reply that follows the schema, which is sent as it is: closing its open
    objects would change its meaning.
    """
    headers = {
        "accept": "application/json",
        "accept-encoding": "identity",
        "content-type": "application/json",
        "user-agent": "toolplan",
    }
    if key:
        headers["authorization"] = f"Bearer {key}"
    body: dict[str, Json] = {"model": spec.model, "stream": streamed}
    schema = request.schema if constrained and isinstance(request.schema, dict) else None
    if spec.form == "anthropic":
        headers["anthropic-version"] = _VERSION
        body |= _messages_form(spec, request, schema)
        return Written(f"{spec.url}/v1/messages", headers, body)
    body |= _chat_form(spec, request, schema)
    if streamed:
        body["stream_options"] = {"include_usage": True}
    return Written(f"{spec.url}/chat/completions", headers, body)


def _chat_form(spec: Spec, request: ModelRequest, schema: Json) -> dict[str, Json]:
    of_openai = spec.form == "openai"
    limit = "max_completion_tokens" if of_openai else "max_tokens"
    body: dict[str, Json] = {
        "messages": [_message(each) for each in request.messages],
        limit: request.max_tokens,
    }
    if not (of_openai and _NO_TEMPERATURE.match(spec.model)):
        body["temperature"] = request.temperature
    if schema is not None:
        wanted: Json = {"name": "reply", "schema": schema, "strict": is_closed(schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": wanted}
    return body


def _messages_form(spec: Spec, request: ModelRequest, schema: Json) -> dict[str, Json]:
    system = "\n\n".join(each.text for each in request.messages if each.role == "system")
    body: dict[str, Json] = {
        "messages": [_message(each) for each in request.messages if each.role != "system"],
        "max_tokens": request.max_tokens,
    }
    if system:
        body["system"] = system
    if not _NO_TEMPERATURE.match(spec.model):
        body["temperature"] = min(request.temperature, 1.0)
    if schema is not None and is_closed(schema):  # it takes no others
        body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    return body


def _message(message: Message) -> Json:
    return {"role": message.role, "content": message.text}
