"""One model over real HTTP: each class of reply has its outcome (reliability.md, L01 to L19)."""

import json

import pytest
from msgspec.structs import astuple

from tests.doubles.model_replies import (
    CallsTool,
    Endless,
    Fails,
    Raw,
    Received,
    Refuses,
    Says,
    Script,
    Sent,
    Served,
    written,
)
from tests.providers.asking import KEY, Outcome, ask, ask_servers
from toolplan.plan.path import Json

SCHEMA: Json = {
    "type": "object",
    "properties": {"steps": {"type": "array", "items": {"type": "object"}}},
    "required": ["steps"],
}
HTML = Raw(b"<html><body>Welcome</body></html>", content_type="text/html")
ENVELOPE = Raw(b'data: {"reply": "Hello"}\n\ndata: [DONE]\n\n', "text/event-stream")
NO_JSON = Raw(b"data: Hello\n\ndata: [DONE]\n\n", "text/event-stream")


def test_a_streamed_reply_comes_in_pieces_and_is_whole() -> None:
    outcome = ask(Says("Hello there, my friend.", pieces=("Hello ", "there, ", "my friend.")))
    texts = [astuple(piece)[0] for piece in outcome.pieces[:-1]]
    assert texts == ["Hello ", "there, ", "my friend."]
    assert outcome.text == "Hello there, my friend."
    assert outcome.ended is not None
    assert astuple(outcome.ended.usage)[:3] == (1, 10, 5)


def test_a_reply_that_is_not_streamed_comes_as_one() -> None:
    outcome = ask("Hello there, my friend.", streamed=False)
    assert outcome.text == "Hello there, my friend."
    assert len(outcome.pieces) == 2
    assert outcome.requests[0][0].streamed is False


@pytest.mark.parametrize(("path", "spec"), [("", None), ("messages", "anthropic:claude-sonnet-5")])
def test_an_endpoint_that_does_not_stream_though_it_was_asked_to_is_read_all_the_same(
    path: str, spec: str | None
) -> None:
    request = Received("POST", f"/v1/{path}", {}, {"stream": False})
    whole = b"".join(written(Says("Hello"), request).parts)
    outcome = ask(Raw(whole), spec=spec, key=KEY)
    assert outcome.text == "Hello", outcome.error
    assert outcome.requests[0][0].streamed
    assert outcome.ended is not None
    assert astuple(outcome.ended.usage)[:3] == (1, 10, 5)


def test_events_under_a_wrong_name_are_read_as_events() -> None:
    request = Received("POST", "/v1/", {}, {"stream": True})
    body = b"".join(written(Says("Hello"), request).parts)
    assert ask(Raw(body, "application/json")).text == "Hello"
    assert ask(Raw(body[:-30], "application/json")).code == "llm-bad-response"


KINDS = ("text/event-stream", "application/x-ndjson", "application/json")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("between", [b"\n", b"", b"\r\n\r\n"])
def test_the_objects_of_a_stream_are_read_without_events(kind: str, between: bytes) -> None:
    request = Received("POST", "/v1/", {}, {"stream": True})
    events = b"".join(written(Says("Hello", pieces=("Hel", "lo")), request).parts).split(b"\n\n")
    texts = [each.removeprefix(b"data: ") for each in events if each.startswith(b"data: {")]
    assert len(texts) > 2
    assert ask(Raw(between.join(texts), kind)).text == "Hello"
    assert ask(Raw(between.join(texts)[:-9], kind)).code == "llm-stream-cut"
    assert ask(Raw(between.join(texts[:1] * 2), kind)).code == "llm-stream-cut"
    other = ask(Raw(b'{"response": "Hel"}\n{"response": "lo"}\n', kind))
    assert other.code == "llm-bad-response"
    assert "several JSON texts" in str(other.error)


def test_one_object_under_the_name_of_a_stream_is_read() -> None:
    request = Received("POST", "/v1/", {}, {"stream": False})
    body = b"".join(written(Says("Hello"), request).parts)
    assert ask(Raw(body, "text/event-stream")).text == "Hello"


def test_an_end_without_a_blank_line_is_an_end_where_http_says_so() -> None:
    request = Received("POST", "/v1/", {}, {"stream": True})
    body = b"".join(written(Says("Hello"), request).parts).rstrip()
    assert body.endswith(b"[DONE]")
    events = Raw(body, "text/event-stream")
    assert ask(events).text == "Hello"
    assert ask(Sent(events, framing="close"), tries=1).code == "llm-stream-cut"


@pytest.mark.parametrize(
    ("reply", "code"), [(Says("{", finish="length"), "llm-truncated"), (Refuses(), "llm-refused")]
)
def test_what_an_endpoint_that_does_not_stream_says_is_judged_as_any_reply(
    reply: Says | Refuses, code: str
) -> None:
    """L02, L05, L06."""
    request = Received("POST", "/v1/", {}, {"stream": False})
    whole = b"".join(written(reply, request).parts)
    assert ask(Raw(whole)).code == code
    assert ask(Raw(whole[:-9])).code == "llm-stream-cut"


def test_one_byte_at_a_time_is_as_good_as_all_at_once() -> None:
    assert ask(Sent("Grüße, 东京", write_bytes=1)).text == "Grüße, 东京"


@pytest.mark.parametrize("streamed", [True, False])
def test_thoughts_in_tags_are_part_of_the_text_as_planner_models_write_them(streamed: bool) -> None:
    """F002-3: `<think>…</think><plan>…</plan>` is read by the dialect, not by the library."""
    text = "<think>first</think><plan>[]</plan>"
    pieces = ("<think>", "first", "</think>", "<plan>[]</plan>")
    assert ask(Says(text, pieces=pieces), streamed=streamed).text == text


def test_thoughts_in_a_field_of_their_own_are_no_part_of_the_text() -> None:
    assert ask(Says("Seven.", thinks="Three and four make")).text == "Seven."


FAULTS: dict[str, tuple[Script, str, int]] = {
    "L01 empty": (Says(""), "llm-empty", 1),
    "L01 blank": (Says(" \n\t "), "llm-empty", 1),
    "L02 refusal": (Refuses(), "llm-refused", 1),
    "L02 filtered": (Says("As", finish="content_filter"), "llm-refused", 1),
    "L05 token limit": (Says('{"steps": [', finish="length"), "llm-truncated", 1),
    "L06 cut": (Sent("Hello there", cut_at=400), "llm-stream-cut", 3),
    "L06 cut without framing": (
        Sent("Hello there", cut_at=400, framing="close"),
        "llm-stream-cut",
        3,
    ),
    "L06 reset": (Sent("Hello there", cut_at=400, reset=True), "llm-stream-cut", 3),
    "L06 no reason to end": (Says("Hello", finish=None), "llm-stream-cut", 1),
    "L06 not closed": (Sent(Says("Hello", done=False), framing="close"), "llm-stream-cut", 3),
    "L08 429": (Fails(429), "llm-rate-limit", 3),
    "L08 quota": (Fails(429, code="insufficient_quota"), "llm-rate-limit", 1),
    "L09 500": (Fails(500), "llm-unavailable", 3),
    "L09 502": (Fails(502), "llm-unavailable", 3),
    "L09 503": (Fails(503), "llm-unavailable", 3),
    "L09 504": (Fails(504), "llm-unavailable", 3),
    "L09 529": (Fails(529), "llm-unavailable", 3),
    "L09 HTML with 502": (Raw(b"<html>", "text/html", 502), "llm-unavailable", 3),
    "L10 401": (Fails(401), "llm-auth", 1),
    "L10 403": (Fails(403), "llm-auth", 1),
    "L11 by code": (Fails(400, code="context_length_exceeded"), "llm-context", 1),
    "L11 by words": (Fails(400, "This is beyond the maximum context length"), "llm-context", 1),
    "L11 413": (Fails(413), "llm-context", 1),
    "L12 HTML": (HTML, "llm-bad-response", 1),
    "L12 HTML without a type": (Raw(HTML.body, content_type=""), "llm-bad-response", 1),
    "L12 redirect": (
        Raw(b"", "text/html", 302, {"location": "http://127.0.0.1:9/"}),
        "llm-bad-response",
        1,
    ),
    "L13 JSON of another kind": (Raw(b'{"a": 1}'), "llm-bad-response", 1),
    "L13 events of another kind": (ENVELOPE, "llm-bad-response", 1),
    "L13 events that are no JSON": (NO_JSON, "llm-bad-response", 1),
    "L13 bytes": (Raw(bytes(range(256)), "text/event-stream"), "llm-bad-response", 1),
    "L13 compressed": (
        Raw(b"\x1f\x8b", headers={"content-encoding": "gzip"}),
        "llm-bad-response",
        1,
    ),
    "L13 goes on after its end": (Says("Hello", late="and more"), "llm-bad-response", 1),
    "L13 ends for another reason": (Says("Hello", finish="abort"), "llm-bad-response", 1),
    "L14 tool call": (CallsTool(), "llm-unexpected-tool-call", 1),
    "L18 endless": (Endless("0123456789abcdef " * 9 + "{}"), "llm-degenerate", 1),
    "404": (Fails(404), "llm-request", 1),
    "400": (Fails(400), "llm-request", 1),
    "418": (Fails(418), "llm-bad-response", 1),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_of_a_streamed_reply_has_its_outcome(name: str) -> None:
    """L01, L02, L05, L06, L08 to L14, L18."""
    script, code, calls = FAULTS[name]
    outcome = ask(script)
    assert (outcome.code, outcome.calls) == (code, calls), outcome.error
    assert outcome.ended is None
    assert outcome.error is not None
    assert outcome.error.usage.calls == calls


WHOLE_FAULTS: dict[str, tuple[Script, str]] = {
    "L01": (Says(""), "llm-empty"),
    "L02": (Refuses(), "llm-refused"),
    "L05": (Says("{", finish="length"), "llm-truncated"),
    "L06 length": (Sent("Hello", cut_at=90, framing="length"), "llm-stream-cut"),
    "L06 close": (Sent("Hello", cut_at=90, framing="close"), "llm-stream-cut"),
    "L12": (HTML, "llm-bad-response"),
    "L12 as JSON": (Raw(b"<html>"), "llm-bad-response"),
    "L13": (Raw(b'{"a": 1}'), "llm-bad-response"),
    "L13 list": (Raw(b"[1]"), "llm-bad-response"),
    "L13 no choices": (Raw(b'{"choices": []}'), "llm-bad-response"),
    "L14": (CallsTool(), "llm-unexpected-tool-call"),
}


@pytest.mark.parametrize("name", WHOLE_FAULTS)
def test_each_fault_of_a_reply_that_is_not_streamed_has_its_outcome(name: str) -> None:
    """L01, L02, L05, L06, L12 to L14."""
    script, code = WHOLE_FAULTS[name]
    assert ask(script, streamed=False).code == code


ERROR_EVENTS = {
    "server": ('{"message": "m", "code": "server_error"}', "llm-unavailable", 3),
    "status": ('{"message": "m", "code": 503}', "llm-unavailable", 3),
    "limit": ('{"message": "m", "type": "rate_limit_error"}', "llm-rate-limit", 3),
    "length": ('{"message": "m", "code": "context_length_exceeded"}', "llm-context", 1),
    "another": ('{"message": "m"}', "llm-unavailable", 3),
}


@pytest.mark.parametrize("name", ERROR_EVENTS)
def test_an_error_in_the_middle_of_a_stream_is_that_error(name: str) -> None:
    """L08, L09, L11 after status 200: what came before it does not count."""
    error, code, calls = ERROR_EVENTS[name]
    begun = b'data: {"choices": [{"index": 0, "delta": {"content": "He"}}]}\n\n'
    broken = Raw(begun + f'data: {{"error": {error}}}\n\n'.encode(), "text/event-stream")
    outcome = ask(broken)
    assert (outcome.code, outcome.calls, outcome.text) == (code, calls, None), outcome.error


def test_an_overload_in_the_middle_of_a_stream_of_anthropic_is_tried_again() -> None:
    """L09."""
    error = b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}'
    broken = Raw(b"event: error\ndata: " + error + b"\n\n", "text/event-stream")
    outcome = ask_servers([[broken, "Hello"]], ["anthropic:claude-sonnet-5"], key=KEY)
    assert (outcome.text, outcome.calls) == ("Hello", 2)


def test_two_ends_that_say_the_same_are_one() -> None:
    """Section 5.3: two finish events."""
    assert ask(Says("Hello", finishes=2)).text == "Hello"


def test_a_stream_that_stalls_is_reported_as_a_timeout_and_the_connection_is_given_up() -> None:
    """L07."""
    outcome = ask(Sent("Hello there", stall_at=400), between_pieces_s=0.2)
    assert outcome.code == "llm-timeout"
    assert "stopped in the middle" in str(outcome.error)
    assert outcome.calls == 1


def test_a_server_that_says_nothing_is_reported_as_a_timeout() -> None:
    """L07: comments that keep a connection alive are no reply."""
    outcome = ask(Endless(silent=True), timeout_s=1)
    assert (outcome.code, outcome.calls) == ("llm-timeout", 1)


def test_one_byte_a_while_does_not_go_on_for_ever() -> None:
    """L07, section 5.3: the whole call has its time as well."""
    slow = Sent("Hello there", write_bytes=1, pause_s=0.02)
    outcome = ask(slow, timeout_s=0.5)
    assert outcome.code == "llm-timeout"
    assert "took over 0.5 s" in str(outcome.error)


def test_a_reply_longer_than_its_tokens_allow_is_stopped() -> None:
    """L18: 50 tokens cannot have this many characters."""
    words = " ".join(f"word{at}" for at in range(1_000))
    outcome = ask(words, max_tokens=50)
    assert outcome.code == "llm-too-long"
    assert sum(len(astuple(piece)[0]) for piece in outcome.pieces) <= 50 * 16 + 1_000


def test_an_endless_body_that_is_no_reply_is_stopped_as_well() -> None:
    """L18: bytes are counted beneath the text."""
    comments = Endless("x" * 2_000, silent=False)
    outcome = ask(Raw(b":" + b"x" * 500_000, "text/event-stream"), max_tokens=10)
    assert outcome.code == "llm-too-long"
    assert ask(comments, max_tokens=10).code == "llm-too-long"


def test_an_error_page_without_end_does_not_hide_the_status() -> None:
    outcome = ask(Raw(b"x" * 3_000_000, "text/plain", 503), max_tokens=10)
    assert outcome.code == "llm-unavailable"


def test_a_reply_that_repeats_itself_is_stopped() -> None:
    """L19."""
    outcome = ask(Endless("and so on, "))
    assert outcome.code == "llm-degenerate"
    assert sum(len(astuple(piece)[0]) for piece in outcome.pieces) < 4_000


@pytest.mark.parametrize("spec", ["openai:gpt-4o", "groq:llama", "ollama:mistral:latest"])
def test_named_providers_are_asked_at_their_address_with_their_key(spec: str) -> None:
    outcome = ask("Hello", spec=spec, key=KEY)
    (request,) = outcome.requests[0]
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert isinstance(request.body, dict)
    assert request.body["model"] == spec.partition(":")[2]
    assert outcome.ended is not None
    assert outcome.ended.model == spec


def test_anthropic_is_asked_and_read_in_its_own_form() -> None:
    outcome = _ask_anthropic(Says("Hello there, my friend."))
    assert outcome.text == "Hello there, my friend."
    (request,) = outcome.requests[0]
    assert request.path == "/v1/messages"
    assert request.messages == [("system", "Answer in one word."), ("user", "What is there?")]
    assert outcome.ended is not None
    assert astuple(outcome.ended.usage)[:3] == (1, 10, 5)


@pytest.mark.parametrize(
    ("script", "code"),
    [
        (Says(""), "llm-empty"),
        (Refuses(), "llm-refused"),
        (Says("{", finish="length"), "llm-truncated"),
        (Says("Hello", finish=None), "llm-stream-cut"),
        (Sent(Says("Hello", done=False), framing="close"), "llm-stream-cut"),
        (Sent("Hello there", cut_at=500, framing="close"), "llm-stream-cut"),
        (CallsTool(), "llm-unexpected-tool-call"),
        (Fails(529, kind="overloaded_error"), "llm-unavailable"),
        (Fails(401, kind="authentication_error"), "llm-auth"),
        (Fails(400, "prompt is too long", kind="invalid_request_error"), "llm-context"),
        (HTML, "llm-bad-response"),
    ],
)
def test_each_fault_of_anthropic_has_its_outcome(script: Script, code: str) -> None:
    """L01, L02, L05, L06, L09 to L12, L14 in the form of messages."""
    assert _ask_anthropic(script).code == code


def _ask_anthropic(script: Script) -> Outcome:
    return ask(script, spec="anthropic:claude-sonnet-5", key=KEY)


def test_a_schema_goes_out_as_it_is() -> None:
    """Objects that are open stay open: arguments of tools are such objects."""
    (request,) = ask('{"steps": []}', schema=SCHEMA).requests[0]
    assert request.schema == SCHEMA


def test_a_model_that_takes_no_schema_is_asked_once_more_without_and_that_is_remembered() -> None:
    asked: list[Received] = []

    def answer(request: Received) -> Served:
        asked.append(request)
        if request.schema is None:
            return "Hello"
        return Fails(400, "response_format is not supported", "unsupported_parameter")

    outcome = ask(answer, schema=SCHEMA)
    assert outcome.text == "Hello"
    assert [request.schema is None for request in asked] == [False, True]
    assert outcome.pauses == []
    assert outcome.ended is not None
    assert outcome.ended.usage.calls == 2


def test_a_request_that_is_wrong_with_and_without_a_schema_is_reported_once() -> None:
    outcome = ask(Fails(400, "No such field"), schema=SCHEMA)
    assert (outcome.code, outcome.calls) == ("llm-request", 2)
    assert "No such field" in str(outcome.error)


def test_only_headers_that_are_named_leave() -> None:
    (request,) = ask("Hello").requests[0]
    assert set(request.headers) == {
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "host",
        "user-agent",
    }


def test_what_the_environment_holds_for_libraries_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_ORG_ID",
        "OPENAI_PROJECT_ID",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
    ):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"x-more: {KEY}")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", f"x-more: {KEY}")
    (request,) = ask("Hello").requests[0]
    assert KEY not in str(request)


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 90, "completion_tokens": 4}, (90, 4, 0)),
        (
            {
                "prompt_tokens": 90,
                "completion_tokens": 4,
                "prompt_tokens_details": {"cached_tokens": 64},
            },
            (90, 4, 64),
        ),
        ({"prompt_tokens": 90, "prompt_cache_hit_tokens": 99, "completion_tokens": 4}, (90, 4, 90)),
        ({"prompt_tokens": 90, "prompt_tokens_details": None}, (90, 0, 0)),
    ],
)
def test_tokens_read_before_are_counted(usage: Json, counted: tuple[int, int, int]) -> None:
    whole = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}], "usage": usage}
    ended = ask(Raw(json.dumps(whole).encode())).ended
    assert ended is not None
    used = ended.usage
    assert (used.input_tokens, used.output_tokens, used.cached_tokens) == counted


def test_anthropic_counts_tokens_of_its_cache_beside_the_others() -> None:
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 64,
        "cache_creation_input_tokens": 16,
        "output_tokens": 4,
    }
    content = [{"type": "text", "text": "Hi"}]
    whole = {"type": "message", "stop_reason": "end_turn", "content": content, "usage": usage}
    spec = "anthropic:claude-sonnet-5"
    ended = ask(Raw(json.dumps(whole).encode()), spec=spec, key=KEY).ended
    assert ended is not None
    assert (ended.usage.input_tokens, ended.usage.cached_tokens) == (90, 64)
