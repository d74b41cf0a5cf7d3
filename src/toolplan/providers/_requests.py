"""How a request is written: as chat completions (OpenAI and compatible) or messages (Anthropic)."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from toolplan.path import Json
from toolplan.providers._base import Message, ModelRequest
from toolplan.providers._parameters import LIMITS, Changes, without_keywords
from toolplan.providers._reply_schema import is_closed
from toolplan.providers._specs import Spec

_VERSION: Final = "2026-10-21"
_NO_TEMPERATURE: Final = re.compile(
    r"o\d|gpt-[5-9](?!-chat)|claude-(fable|mythos|opus|sonnet|haiku)-5|claude-opus-4-[78]"
)
"""Models of OpenAI and Anthropic that reason, and refuse a temperature."""


_AS_USUAL: Final = Changes()


class Written(Struct, frozen=True):
    """A request as it is sent."""

    url: str
    headers: dict[str, str]
    body: dict[str, Json]


def written(
    spec: Spec,
    key: str,
    request: ModelRequest,
    *,
    streamed: bool,
    constrained: bool,
    changes: Changes = _AS_USUAL,
) -> Written:
    """Return `request` as the endpoint of `spec` takes it; no header but these is sent.

    `constrained` asks for a reply that follows the schema, which is sent as it is: closing its open
    objects would change its meaning. `changes` are what the endpoint takes otherwise.
    """
    headers = {
        "accept": "application/json",
        "accept-encoding": "identity",
        "content-type": "application/json",
        "user-agent": "toolplan",
    }
    if key:
        headers["authorization"] = f"Bearer {key}"
    left_out = changes.left_out
    body: dict[str, Json] = {"model": spec.model, "stream": streamed and "stream" not in left_out}
    schema: Json = None
    if constrained and isinstance(request.schema, dict) and "response_format" not in left_out:
        schema = without_keywords(request.schema, left_out)
    tokens = min(request.max_tokens, changes.most_tokens or request.max_tokens)
    if spec.form == "anthropic":
        headers["anthropic-version"] = _VERSION
        body |= _messages_form(spec, request, schema, tokens, left_out)
        url = f"{spec.url}/v1/messages"
    else:
        body |= _chat_form(spec, request, schema, tokens, changes)
        if body["stream"] and "stream_options" not in left_out:
            body["stream_options"] = {"include_usage": True}
        url = f"{spec.url}/chat/completions"
    if "temperature" in left_out:
        body.pop("temperature", None)
    return Written(url, headers, body)


def _chat_form(
    spec: Spec, request: ModelRequest, schema: Json, tokens: int, changes: Changes
) -> dict[str, Json]:
    of_openai = spec.form == "openai"
    left_out = changes.left_out
    messages = request.messages
    if "system" in left_out:
        messages = _without_system(messages)
    body: dict[str, Json] = {"messages": [_message(each) for each in messages]}
    limits = LIMITS[::-1] if of_openai else LIMITS
    if limit := next((name for name in limits if name not in left_out), None):
        body[limit] = tokens
    if not (of_openai and _NO_TEMPERATURE.match(spec.model)):
        body["temperature"] = request.temperature
    if schema is not None and changes.object_only:
        body["response_format"] = {"type": "json_object"}
    elif schema is not None:
        wanted: dict[str, Json] = {"name": "reply", "schema": schema}
        if "strict" not in left_out:
            wanted["strict"] = is_closed(schema)
        body["response_format"] = {"type": "json_schema", "json_schema": wanted}
    return body


def _messages_form(
    spec: Spec, request: ModelRequest, schema: Json, tokens: int, left_out: frozenset[str]
) -> dict[str, Json]:
    # form of plans and tools, the same for every question: kept by the endpoint
    system = "\n\n".join(each.text for each in request.messages if each.role == "system")
    body: dict[str, Json] = {
        "messages": [_message(each) for each in request.messages if each.role != "system"],
        "max_tokens": tokens,
    }
    if system and "cache_control" not in left_out:
        body["system"] = [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]
    elif system:
        body["system"] = system
    if not _NO_TEMPERATURE.match(spec.model):
        body["temperature"] = min(request.temperature, 1.0)
    if schema is not None and is_closed(schema):  # it takes no others
        body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    return body


def _without_system(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return `messages` with the system's text at the start of the first message of the user."""
    system = [each.text for each in messages if each.role == "system"]
    first, *others = [each for each in messages if each.role != "system"] or [Message("user", "")]
    text = "\n\n".join((*system, first.text)) if system else first.text
    return (Message(first.role, text), *others)


def _message(message: Message) -> Json:
    return {"role": message.role, "content": message.text}
