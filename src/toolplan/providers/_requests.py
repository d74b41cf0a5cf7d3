"""How a request is written: as chat completions (OpenAI and compatible) or messages (Anthropic).

Parameters that an endpoint refuses are recognised in its words, and left out or replaced.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from toolplan.plan.path import Json
from toolplan.providers._base import Message, ModelRequest
from toolplan.providers._endpoint import Spec

SETTABLE: Final = (
    "cache_control",
    "max_completion_tokens",
    "max_tokens",
    "response_format",
    "stream",
    "stream_options",
    "strict",
    "system",
    "temperature",
)
"""The parameters that a setting may leave out; `system` moves into the user's message."""
LIMITS: Final = ("max_tokens", "max_completion_tokens")
"""The two names of the limit of tokens."""

_KEYWORD: Final = "schema:"
"""Prefix of a JSON Schema keyword to drop from the schema of the reply."""
_NOT_ABOUT_PARAMETERS: Final = frozenset((401, 402, 403, 404, 408, 413, 429))
_WRONG_REQUEST: Final = frozenset((400, 422))
_MOST_CHANGES: Final = 16
_REFUSING: Final = re.compile(
    r"support|unknown|unrecogni[sz]ed|unexpected|extra|permitted|allowed|invalid|deprecated"
    r"|available|implemented|must|only|incompatible|forbidden|too (?:large|high|many)",
    re.IGNORECASE,
)
_TOO_LARGE: Final = re.compile(
    r"too (?:large|high|many|big)|exceed|less than|at most|maximum|<=|\d ?> ?\d|in the completion",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"\b\d{1,3}(?:,\d{3})+\b|\b\d+\b")
_LIMIT: Final = (
    r"max_(?:completion_|output_|new_)?tokens|maxOutputTokens|max(?:imum)? tokens\b"
    r"|in the completion"
)
_FORMAT: Final = (
    r"\bresponse[ _]?format\b|\bjson[ _]schema\b|\bjson_object\b|\bstructured[ _]outputs?\b"
    r"|\bguided|\bgrammar\b|\boutput_(?:config|format)\b|\bresponse_?(?:json_?)?schema\b"
    r"|\binvalid schema\b|\bjson mode\b"
)
_NAMES: Final = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "max_tokens": _LIMIT,
        "max_completion_tokens": _LIMIT,
        "stream_options": r"stream_options|include_usage",
        "temperature": r"\btemperature\b",
        "response_format": _FORMAT,
        "output_config": _FORMAT,
        "stream": r"\bstream\b|\bstreaming\b",
        "cache_control": r"cache_control",
        "system": r"\bsystem[\s'\"`]+(?:role|message|prompt|instruction)|['\"`]system['\"`]"
        r"|\broles?\b.{0,40}\bsystem\b|messages\W+0\W+role|developer instruction"
        r"|roles must alternate",
    }.items()
}
"""How endpoints name each parameter."""
_NARROWING: Final = {
    keyword: re.compile(rf"\b{keyword}\b", re.IGNORECASE)
    for keyword in (
        "pattern", "minLength", "maxLength", "minItems", "maxItems", "exclusiveMinimum",
        "exclusiveMaximum", "uniqueItems", "multipleOf",
    )
} | {
    keyword: re.compile(rf"['\"`]{keyword}['\"`]")  # unquoted, they are ordinary words
    for keyword in ("format", "minimum", "maximum", "default", "const", "contains", "not")
}  # fmt: skip
"""How endpoints name the keywords of JSON Schema without which a schema only gets wider."""


class Changes(Struct, frozen=True):
    """Changes to the usual request.

    Attributes:
        left_out: names from `SETTABLE`, and keywords of JSON Schema, written `schema:KEYWORD`.
        most_tokens: the largest limit of tokens that the endpoint takes, where it said so.
        object_only: whether to ask for any JSON object, not for one that fits the schema.
    """

    left_out: frozenset[str] = frozenset()
    most_tokens: int | None = None
    object_only: bool = False

    def after(
        self, status: int | None, words: str, param: str, body: Mapping[str, Json]
    ) -> Changes | None:
        """Return the changes for the next request, None where none can help.

        Each one leaves something out of `body` or lowers a number in it, so that they come to an
        end. Only what `words` or `param` name is changed.

        Args:
            status: of HTTP; None for an error inside of a reply.
            words: the message of the endpoint.
            param: the parameter that its error names; may be empty.
            body: the request that was sent.
        """
        if status in _NOT_ABOUT_PARAMETERS or len(self.left_out) >= _MOST_CHANGES:
            return None
        if status not in _WRONG_REQUEST and not _REFUSING.search(words):
            return None
        sent = list(_parameters(body))
        for text in (param, words):
            named = [(seen.start(), name) for name in sent if (seen := _NAMES[name].search(text))]
            for _, name in sorted(named):
                changes = self._without(name, words, body)
                if changes not in (None, self):  # the same again would never end
                    return changes
        return None

    def _without(self, name: str, words: str, body: Mapping[str, Json]) -> Changes | None:
        if name in LIMITS:
            required = "system" in body  # by Anthropic
            sent = body[name]
            if isinstance(sent, int) and _TOO_LARGE.search(words):
                stated = [int(each.replace(",", "")) for each in _NUMBER.findall(words)]
                fitting = [each for each in stated if 1 < each < sent]
                if fitting and (self.most_tokens is None or required):
                    return replace(self, most_tokens=max(fitting))
                return None if required else self._and(*LIMITS)
            return None if required else self._and(name)
        if name not in ("response_format", "output_config"):
            return self._and(name)
        form = json.dumps(body[name])
        for keyword, pattern in _NARROWING.items():
            if f'"{keyword}": ' in form and pattern.search(words):
                return self._and(f"{_KEYWORD}{keyword}")
        if "strict" in words.lower() and '"strict": true' in form:
            return self._and("strict")
        if "json_object" in words and not self.object_only and name == "response_format":
            return replace(self, object_only=True)
        return self._and("response_format")

    def _and(self, *names: str) -> Changes:
        return replace(self, left_out=self.left_out.union(names))


def _parameters(body: Mapping[str, Json]) -> Iterator[str]:
    """Yield the names of the parameters in `body` that can be left out."""
    yield from (name for name in _NAMES if name in body and name != "system")
    if isinstance(body.get("system"), list):
        yield "cache_control"
    match body.get("messages"):
        case [{"role": "system"}, *_]:
            yield "system"
        case _:
            pass


def without_keywords(schema: Json, left_out: frozenset[str]) -> Json:
    """Return `schema` without the keywords in `left_out`, which only ever widens it.

    >>> without_keywords({"type": "string", "pattern": "^a"}, frozenset({"schema:pattern"}))
    {'type': 'string'}
    """
    if isinstance(schema, list):
        return [without_keywords(each, left_out) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Json] = {}
    for key, value in schema.items():
        is_dropped = f"{_KEYWORD}{key}" in left_out
        if key in ("properties", "$defs") and isinstance(value, dict):
            kept[key] = {name: without_keywords(each, left_out) for name, each in value.items()}
        elif key == "const" and is_dropped:
            kept["enum"] = [value]
        elif not is_dropped:
            is_value = key in ("enum", "const", "required")
            kept[key] = value if is_value else without_keywords(value, left_out)
    return kept


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
