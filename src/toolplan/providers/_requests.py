"""How a request is written: as chat completions (OpenAI and compatible) or messages (Anthropic)."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from toolplan.plan.path import Json
from toolplan.providers._base import Message, ModelRequest
from toolplan.providers._parameters import LIMITS, Changes, without_keywords
from toolplan.providers._specs import Spec

_VERSION: Final = "2026-10-21"
_NO_TEMPERATURE: Final = re.compile(
    r"o\d|gpt-[5-9](?!-chat)|claude-(fable|mythos|opus|sonnet|haiku)-5|claude-opus-4-[78]"
)
"""Models of OpenAI and Anthropic that reason, and refuse a temperature."""
_DEPTH: Final = 64
_NOT_SCHEMAS: Final = frozenset(("const", "default", "enum", "examples", "required"))
_OF_NAMES: Final = frozenset(("properties", "$defs", "definitions"))
_UNCHANGED: Final = Changes()


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
    constrained: bool,
    changes: Changes = _UNCHANGED,
) -> Written:
    """Return `request` as the endpoint of `spec` takes it; no header but these is sent.

    `constrained` asks for a reply that follows the schema, which is sent as it is: closing its open
    objects would change its meaning. `changes` are those for this endpoint.
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
    schema: Json = None
    if constrained and isinstance(request.schema, dict) and "response_format" not in left_out:
        schema = without_keywords(request.schema, left_out)
    tokens = min(request.max_tokens, changes.most_tokens or request.max_tokens)
    body: dict[str, Json] = {"model": spec.model, "stream": "stream" not in left_out}
    if spec.form == "anthropic":
        headers["anthropic-version"] = _VERSION
        body |= _messages_form(request, schema, tokens, left_out)
        url = f"{spec.url}/v1/messages"
    else:
        body |= _chat_form(spec, request, schema, tokens, changes)
        if body["stream"] and "stream_options" not in left_out:
            body["stream_options"] = {"include_usage": True}
        url = f"{spec.url}/chat/completions"
    reasons = spec.form in ("anthropic", "openai") and _NO_TEMPERATURE.match(spec.model)
    if reasons or "temperature" in left_out:
        del body["temperature"]
    return Written(url, headers, body)


def _chat_form(
    spec: Spec, request: ModelRequest, schema: Json, tokens: int, changes: Changes
) -> dict[str, Json]:
    left_out = changes.left_out
    system, talk = _parted(request)
    if "system" in left_out and system:
        first, *others = talk or [Message("user", "")]
        text = f"{system}\n\n{first.text}" if first.text else system
        messages = (Message(first.role, text), *others)
    else:
        messages = request.messages
    body: dict[str, Json] = {
        "messages": list(map(_message, messages)),
        "temperature": request.temperature,
    }
    limits = LIMITS[::-1] if spec.form == "openai" else LIMITS
    if limit := next((name for name in limits if name not in left_out), None):
        body[limit] = tokens
    if schema is not None and changes.object_only:
        body["response_format"] = {"type": "json_object"}
    elif schema is not None:
        wanted: dict[str, Json] = {"name": "reply", "schema": schema}
        if "strict" not in left_out:
            wanted["strict"] = is_closed(schema)
        body["response_format"] = {"type": "json_schema", "json_schema": wanted}
    return body


def _messages_form(
    request: ModelRequest, schema: Json, tokens: int, left_out: frozenset[str]
) -> dict[str, Json]:
    system, talk = _parted(request)
    body: dict[str, Json] = {
        "messages": list(map(_message, talk)),
        "max_tokens": tokens,
        "temperature": min(request.temperature, 1.0),
    }
    if system and "cache_control" in left_out:
        body["system"] = system
    elif system:  # the same for every question: kept by the endpoint
        body["system"] = [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]
    if schema is not None and is_closed(schema):  # it takes no others
        body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    return body


def _parted(request: ModelRequest) -> tuple[str, list[Message]]:
    """Return the system's text, and the other messages."""
    system = "\n\n".join(each.text for each in request.messages if each.role == "system")
    return system, [each for each in request.messages if each.role != "system"]


def _message(message: Message) -> Json:
    return {"role": message.role, "content": message.text}


def is_closed(schema: Json, depth: int = 0) -> bool:
    """Return whether every object in `schema` lists all its properties, and requires them.

    Such schemas are what OpenAI calls strict and Anthropic takes at all.

    >>> is_closed({"type": "object"})
    False
    >>> is_closed({"properties": {"a": {}}, "required": ["a"], "additionalProperties": False})
    True
    """
    if depth > _DEPTH:
        return False
    if isinstance(schema, list):
        return all(is_closed(each, depth + 1) for each in schema)
    if not isinstance(schema, dict):
        return True
    kinds, properties = schema.get("type"), schema.get("properties", {})
    if "properties" in schema or "object" in (kinds if isinstance(kinds, list) else [kinds]):
        required = schema.get("required", [])
        if not isinstance(properties, dict) or not isinstance(required, list):
            return False
        if not all(name in required for name in properties):
            return False
        if schema.get("additionalProperties") is not False:
            return False
    inner: list[Json] = []
    for key, value in schema.items():
        if key in _OF_NAMES and isinstance(value, dict):
            inner += value.values()  # its keys are names, whatever they look like
        elif key not in _NOT_SCHEMAS:
            inner.append(value)
    return all(is_closed(each, depth + 1) for each in inner)
