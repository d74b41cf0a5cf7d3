"""Endpoints that refuse a parameter: it is left out or renamed, at once, and that is remembered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Final, NamedTuple, cast

import pytest

from tests.doubles.model_replies import Raw, Received, Says, Served
from tests.doubles.model_server import ScriptedModelServer
from tests.providers.asking import ASKED, KEY, ask
from toolplan.plan.path import Json
from toolplan.providers import SETTABLE, ModelRequest, complete, open_model
from toolplan.providers._requests import Changes

SCHEMA: Final[Json] = {
    "type": "object",
    "properties": {
        "day": {"type": "string", "pattern": "^2", "format": "date", "maxLength": 10},
        "kind": {"const": "a"},
    },
    "required": ["day", "kind"],
    "additionalProperties": False,
}
Body = dict[str, Json]


def has(*names: str) -> Callable[[Body], bool]:
    return lambda body: any(name in body for name in names)


def says_system(body: Body) -> bool:
    (first, *_) = cast("list[dict[str, Json]]", body["messages"])
    return first["role"] == "system"


def above(most: int) -> Callable[[Body], bool]:
    return lambda body: any(
        isinstance(tokens := body.get(name), int) and tokens > most
        for name in ("max_tokens", "max_completion_tokens")
    )


def asks_schema(body: Body) -> bool:
    return "json_schema" in json.dumps(body.get("response_format"))


def uses(keyword: str) -> Callable[[Body], bool]:
    return lambda body: f'"{keyword}":' in json.dumps(body.get("response_format"))


def keeps_text(body: Body) -> bool:
    return "cache_control" in json.dumps(body)


def streams(body: Body) -> bool:
    return body["stream"] is True


class Row(NamedTuple):
    refuses: Callable[[Body], bool]
    status: int
    answer: Json | str
    requests: int = 2
    spec: str | None = None


def openai(
    refuses: Callable[[Body], bool],
    message: str,
    code: str | None = None,
    param: str | None = None,
    *,
    requests: int = 2,
    spec: str | None = None,
) -> Row:
    error: Json = {
        "message": message,
        "type": "invalid_request_error",
        "code": code,
        "param": param,
    }
    return Row(refuses, 400, {"error": error}, requests, spec)


def chat(refuses: Callable[[Body], bool], message: str, param: str | None = None) -> Row:
    return openai(refuses, message, "unsupported_value", param, spec="openai:chat-x")


def vllm(refuses: Callable[[Body], bool], message: str, requests: int = 2) -> Row:
    answer: Json = {"object": "error", "message": message, "type": "BadRequestError", "code": 400}
    return Row(refuses, 400, answer, requests)


def llama(message: str, code: int, kind: str) -> Json:
    return {"error": {"code": code, "message": message, "type": kind}}


def anthropic(refuses: Callable[[Body], bool], message: str) -> Row:
    error: Json = {"type": "invalid_request_error", "message": message}
    return Row(refuses, 400, {"type": "error", "error": error}, spec="anthropic:claude-x")


EXTRA: Final[Json] = {
    "type": "extra_forbidden",
    "loc": ["body", "stream_options"],
    "msg": "Extra inputs are not permitted",
    "input": {"include_usage": True},
}
MISTRAL: Final[Json] = {"loc": ["body", "stream_options"], "msg": "Extra inputs not permitted"}
GEMINI: Final = 'Invalid JSON payload received. Unknown name "stream_options": Cannot find field.'
ROWS: Final = {
    "openai reasoning models, limit": openai(
        has("max_tokens"),
        "Unsupported parameter: 'max_tokens' is not supported with this model."
        " Use 'max_completion_tokens' instead.",
        "unsupported_parameter",
        "max_tokens",
    ),
    "openai, temperature": chat(
        has("temperature"),
        "Unsupported value: 'temperature' does not support 0.0 with this model."
        " Only the default (1) value is supported.",
        "temperature",
    ),
    "openai, system role": chat(
        says_system,
        "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
        "messages[0].role",
    ),
    "openai, streaming": chat(
        streams, "Your organization must be verified to stream this model.", "stream"
    ),
    "openai, too many tokens": openai(
        above(4096),
        "max_tokens is too large: 10000. This model supports at most 4096 completion tokens,"
        " whereas you provided 10000.",
        spec="openai:chat-x",
    ),
    "azure of an older version": openai(
        has("max_completion_tokens"),
        "Unrecognized request argument supplied: max_completion_tokens",
        spec="openai:chat-x",
    ),
    "azure, stream_options": openai(
        has("stream_options"), "Unrecognized request argument supplied: stream_options"
    ),
    "vllm, window": vllm(
        above(3596),
        "'max_tokens' or 'max_completion_tokens' is too large: 10000. This model's maximum"
        " context length is 4096 tokens and your request has 500 input tokens (10000 > 4096"
        " - 500).",
        requests=3,
    ),
    "vllm, older window": vllm(
        has("max_tokens"),
        "This model's maximum context length is 4096 tokens. However, you requested 10500"
        " tokens (500 in the messages, 10000 in the completion). Please reduce the length of"
        " the messages or completion.",
        requests=3,
    ),
    "vllm, template": vllm(says_system, "System role not supported"),
    "vllm, extra fields": vllm(
        has("stream_options"),
        "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg':"
        " 'Extra inputs are not permitted'}]",
    ),
    "fastapi, details": Row(has("stream_options"), 422, {"detail": [EXTRA]}),
    "llama.cpp, template": Row(
        says_system,
        500,
        llama(
            "Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...",
            500,
            "server_error",
        ),
    ),
    "llama.cpp, grammar": Row(
        uses("pattern"),
        400,
        llama(
            "failed to parse grammar: JSON schema conversion failed: Pattern must start with '^'"
            " and end with '$'",
            400,
            "invalid_request_error",
        ),
    ),
    "ollama": Row(asks_schema, 400, {"error": "json_schema: format is not supported"}),
    "mistral": Row(
        has("stream_options"),
        422,
        {"object": "error", "message": {"detail": [MISTRAL]}, "type": "invalid_request_error"},
    ),
    "groq, too many tokens": openai(
        above(8192),
        "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens`"
        " is less than the `context_window` for this model",
        param="max_tokens",
        spec="groq:llama",
    ),
    "groq, schema": openai(
        asks_schema,
        "This model does not support response format `json_schema`. Use `json_object`.",
        param="response_format",
        spec="groq:llama",
    ),
    "anthropic, temperature": anthropic(
        has("temperature"), "`temperature` is deprecated for this model."
    ),
    "anthropic, kept text": anthropic(
        keeps_text, "system.0.cache_control: Extra inputs are not permitted"
    ),
    "anthropic, too many tokens": anthropic(
        above(4096),
        "max_tokens: 10000 > 4096, which is the maximum allowed number of output tokens for"
        " claude-x",
    ),
    "anthropic, form": anthropic(
        has("output_config"), "output_config: Extra inputs are not permitted"
    ),
    "gemini, in a list": Row(has("stream_options"), 400, [llama(GEMINI, 400, "INVALID_ARGUMENT")]),
    "gemini, keyword": Row(
        uses("const"),
        400,
        {"error": {"message": "Invalid value at 'response_format': Unknown name \"const\""}},
    ),
    "openai, keyword": openai(
        uses("format"),
        "Invalid schema for response_format 'reply': In context=('properties', 'day'),"
        " 'format' is not permitted.",
        "invalid_request_error",
        "response_format",
        spec="openai:chat-x",
    ),
    "litellm, two at once": openai(
        has("temperature", "response_format"),
        "litellm.UnsupportedParamsError: x does not support parameters: ['temperature',"
        " 'response_format'], for model=x.",
        requests=3,
    ),
    "together": Row(
        asks_schema,
        422,
        {"error": {"message": "response_format.type: json_schema is not allowed", "type": None}},
    ),
    "tgi": Row(
        has("temperature"),
        422,
        {"error": "Input validation error: `temperature` must be strictly positive"},
    ),
    "a proxy in text": Row(
        has("stream_options"), 400, "unexpected keyword argument 'stream_options'"
    ),
}


def refusing(row: Row) -> Callable[[Received], Served]:
    def answer(request: Received) -> Served:
        body = cast("Body", request.body)
        if not row.refuses(body):
            return Says("Hello")
        if isinstance(row.answer, str):
            return Raw(row.answer.encode(), "text/plain", row.status)
        return Raw(json.dumps(row.answer).encode(), status=row.status)

    return answer


ONLY_STREAMED: Final = {name for name, row in ROWS.items() if "stream" in str(row.answer)}


@pytest.mark.parametrize(
    ("name", "streamed"),
    [(name, True) for name in ROWS] + [(name, False) for name in ROWS if name not in ONLY_STREAMED],
)
def test_a_refused_parameter_is_left_out_at_once(name: str, streamed: bool) -> None:
    row = ROWS[name]
    outcome = ask(refusing(row), spec=row.spec, schema=SCHEMA, key=KEY, streamed=streamed)
    assert (outcome.text, outcome.calls, outcome.pauses) == ("Hello", row.requests, []), (
        outcome.error
    )
    last = outcome.requests[0][-1]
    said = [text for _, text in last.messages]
    assert all(any(each.text in text for text in said) for each in ASKED)


def test_what_was_refused_is_not_sent_to_this_endpoint_again() -> None:
    row = ROWS["openai reasoning models, limit"]
    with ScriptedModelServer([refusing(row)]) as server:
        model = open_model(server.spec, keys={})
        for _ in range(3):
            assert asyncio.run(complete(model, ModelRequest(ASKED))).text == "Hello"
        bodies = [cast("Body", each.body) for each in server.requests]
    assert [("max_tokens" in each, "max_completion_tokens" in each) for each in bodies] == [
        (True, False), (False, True), (False, True), (False, True)
    ]  # fmt: skip


def test_an_endpoint_that_refuses_everything_is_asked_a_bounded_number_of_times() -> None:
    """The words name all that is ever sent; each is left out once, and then the error is said."""
    names = ", ".join((*SETTABLE, "json_schema", "system role", "pattern", "'const'", "'format'"))
    refuses_all = openai(has("model"), f"These are not supported: {names}")
    outcome = ask(refusing(refuses_all), schema=SCHEMA)
    assert outcome.code == "llm-request"
    assert "These are not supported" in str(outcome.error)
    assert outcome.calls <= 16
    bodies = [json.dumps(each.body) for each in outcome.requests[0]]
    assert len(set(bodies)) == len(bodies)


def test_these_requests_do_not_count_as_calls_that_gave_no_reply() -> None:
    row = ROWS["litellm, two at once"]
    assert ask(refusing(row), schema=SCHEMA, max_calls=1).text == "Hello"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "Unsupported parameter: 'temperature'"),
        (429, "max_tokens per minute is not supported"),
        (400, "Your prompt is not allowed"),
        (400, "The content management system rejected this"),
        (500, "temperature sensor failure"),
        (422, "messages: field required"),
    ],
)
def test_what_names_no_parameter_or_is_of_another_kind_changes_nothing(
    status: int, words: str
) -> None:
    body: Body = {"messages": [{"role": "system", "content": ""}], "temperature": 0, "stream": True}
    assert Changes().after(status, words, "", body) is None


@pytest.mark.parametrize("name", SETTABLE)
def test_a_setting_leaves_each_out_from_the_start(name: str) -> None:
    specs = {"max_completion_tokens": "openai:chat-x", "cache_control": "anthropic:claude-x"}
    spec = specs.get(name)
    outcome = ask("Hello", spec=spec, schema=SCHEMA, key=KEY, left_out=[name])
    (request,) = outcome.requests[0]
    body = cast("Body", request.body)
    assert outcome.text == "Hello"
    match name:
        case "system":
            assert [role for role, _ in request.messages] == ["user"]
        case "stream":
            assert not request.streamed
        case "strict" | "cache_control":
            assert name not in json.dumps(body)
        case _:
            assert name not in body
