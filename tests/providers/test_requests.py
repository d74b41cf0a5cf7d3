"""Requests: what each kind of endpoint is sent, and what its errors are taken for."""

from typing import cast

import pytest

from tests.doubles.model_replies import Fails, Raw
from tests.providers.asking import KEY, ask
from toolplan.plan.path import Json
from toolplan.providers import Message, ModelRequest
from toolplan.providers._endpoint import read_spec
from toolplan.providers._requests import Changes, written

CLOSED: Json = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
TALK = (
    Message("system", "S"),
    Message("user", "U"),
    Message("assistant", "A"),
    Message("user", "V"),
)


def body_for(spec: str, schema: Json = None, *, streamed: bool = True) -> dict[str, Json]:
    request = ModelRequest(TALK, schema=schema, temperature=1.5, max_tokens=99)
    changes = Changes() if streamed else Changes(frozenset(("stream",)))
    constrained = schema is not None
    return written(read_spec(spec, {}), KEY, request, constrained=constrained, changes=changes).body


@pytest.mark.parametrize(
    ("spec", "limit"), [("openai:gpt-4o", "max_completion_tokens"), ("groq:llama", "max_tokens")]
)
def test_a_chat_completion_is_asked_for_in_the_form_of_its_provider(spec: str, limit: str) -> None:
    body = body_for(spec, CLOSED)
    assert body == {
        "model": spec.partition(":")[2],
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [
            {"role": "system", "content": "S"},
            {"role": "user", "content": "U"},
            {"role": "assistant", "content": "A"},
            {"role": "user", "content": "V"},
        ],
        limit: 99,
        "temperature": 1.5,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "reply", "schema": CLOSED, "strict": True},
        },
    }
    assert "stream_options" not in body_for(spec, streamed=False)


def test_a_message_of_anthropic_is_asked_for_in_its_form() -> None:
    assert body_for("anthropic:claude-3-5-haiku", CLOSED) == {
        "model": "claude-3-5-haiku",
        "stream": True,
        "system": [{"type": "text", "text": "S", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": "U"},
            {"role": "assistant", "content": "A"},
            {"role": "user", "content": "V"},
        ],
        "max_tokens": 99,
        "temperature": 1.0,
        "output_config": {"format": {"type": "json_schema", "schema": CLOSED}},
    }


def test_an_open_schema_is_not_sent_as_strict() -> None:
    chat = cast(
        "dict[str, dict[str, dict[str, Json]]]", body_for("openai:gpt-4o", {"type": "object"})
    )
    assert chat["response_format"]["json_schema"]["strict"] is False
    assert "output_config" not in body_for("anthropic:claude-3-5-haiku", {"type": "object"})


@pytest.mark.parametrize(
    ("spec", "taken"),
    [
        ("openai:gpt-4o", True),
        ("openai:gpt-5-chat-latest", True),
        ("openai:gpt-5", False),
        ("openai:gpt-5.4-mini", False),
        ("openai:gpt-6-sol", False),
        ("openai:o3-mini", False),
        ("ollama:o3-like", True),
        ("anthropic:claude-opus-4-1", True),
        ("anthropic:claude-opus-4-8", False),
        ("anthropic:claude-sonnet-5", False),
    ],
)
def test_models_that_reason_are_sent_no_temperature(spec: str, taken: bool) -> None:
    assert ("temperature" in body_for(spec)) is taken


@pytest.mark.parametrize(
    ("script", "code"),
    [
        (Fails(402), "llm-rate-limit"),
        (Fails(408), "llm-timeout"),
        (Fails(422), "llm-request"),
        (Fails(400, "Your credit balance is too low"), "llm-rate-limit"),
        (Fails(429, kind="billing_error"), "llm-rate-limit"),
        (Raw(b"not JSON", "text/plain", 400), "llm-request"),
        (Raw(b'{"error": "no such model"}', status=404), "llm-request"),
        (Raw(b'{"error": {"code": 404, "message": "gone"}}'), "llm-request"),
        (Raw(b'{"error": {"type": "authentication_error"}}'), "llm-auth"),
        (Raw(b'{"error": {"message": "odd"}}'), "llm-bad-response"),
    ],
)
@pytest.mark.parametrize("streamed", [True, False])
def test_an_error_is_read_wherever_it_is(script: Fails | Raw, code: str, streamed: bool) -> None:
    outcome = ask(script, streamed=streamed, tries=1)
    assert (outcome.code, outcome.calls, outcome.text) == (code, 1, None), outcome.error


@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "Mon, 01 Jan 2001 00:00:00 GMT"}, 0.0),
        ({"retry-after": "-3"}, 0.5),
    ],
)
def test_each_way_to_ask_for_a_pause_is_read(headers: dict[str, str], pause: float) -> None:
    """L08."""
    assert ask(Raw(b"{}", status=429, headers=headers), tries=2).pauses == [pause]
