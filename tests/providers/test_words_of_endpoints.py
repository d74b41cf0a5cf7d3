"""What an endpoint says when it fails stands in the error, in whichever form it says it."""

from typing import Final

import pytest

from tests.doubles.model_replies import Raw, Says
from tests.providers.asking import KEY, ask

EVENTS: Final = "text/event-stream"
BOM: Final = b"\xef\xbb\xbf"
WORDS: Final = "Kessel 7 is out of water"


def body(text: str) -> bytes:
    return text.replace("W", WORDS).encode()


FAILURES: Final = {
    "event": Raw(body('data: {"error": {"message": "W", "code": 503}}\n\n'), EVENTS),
    "event, text": Raw(body('data: {"error": "W"}\n\ndata: [DONE]\n\n'), EVENTS),
    "event, named": Raw(body('event: error\ndata: {"message": "W"}\n\n'), EVENTS),
    "event, detail": Raw(body('data: {"detail": "W"}\n\n'), EVENTS),
    "event, list": Raw(body('data: {"errors": [{"message": "W"}]}\n\n'), EVENTS),
    "event, no choices": Raw(body('data: {"error": {"message": "W"}, "choices": []}\n\n'), EVENTS),
    "event, BOM": Raw(BOM + body('data: {"error": {"message": "W"}}\n\n'), EVENTS),
    "200": Raw(body('{"error": {"message": "W", "type": "x"}}')),
    "200, text": Raw(body('{"error": "W"}')),
    "200, detail": Raw(body('{"detail": "W"}')),
    "200, message": Raw(body('{"object": "error", "message": "W"}')),
    "200, list": Raw(body('[{"error": {"message": "W"}}]')),
    "200, page": Raw(body("<!doctype html><html><title>W</title></html>"), "text/html"),
    "200, page, heading": Raw(body("<html><h1>W</h1></html>"), "text/html"),
    "401": Raw(body('{"error": {"message": "W"}}'), status=401),
    "403, detail": Raw(body('{"detail": "W"}'), status=403),
    "404, page": Raw(body("<html><head><title>W</title></head></html>"), "text/html", 404),
    "422, list": Raw(
        body('{"detail": [{"loc": ["body", "x"], "msg": "W", "type": "t"}]}'), status=422
    ),
    "422, text": Raw(body('{"detail": "W"}'), status=422),
    "422, object": Raw(body('{"detail": {"error": {"message": "W"}}}'), status=422),
    "429": Raw(body('{"message": "W"}'), status=429),
    "500, text": Raw(body("W"), "text/plain", 500),
    "502, page": Raw(body("<html><title>W</title><body>nginx</body>"), "text/html", 502),
    "502, router": Raw(
        body('{"error": {"message": "Provider returned error", "code": 502,'
             ' "metadata": {"raw": "{\\"error\\": {\\"message\\": \\"W\\"}}"}}}'), status=502
    ),
    "503, errors": Raw(body('{"errors": ["W"]}'), status=503),
    "400, filter": Raw(
        body('{"error": {"code": "content_filter", "message": "W"}}'), status=400
    ),
    "400, JSON in text": Raw(
        body('{"error": {"message": "{\\"error\\": {\\"message\\": \\"W\\"}}"}}'), status=400
    ),
    "refusal": Raw(
        body('{"choices": [{"message": {"refusal": "W"}, "finish_reason": "stop"}]}')
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "streamed"),
    [(name, True) for name in FAILURES]
    + [(name, False) for name in FAILURES if not name.startswith("event")],
)
def test_the_endpoints_own_words_stand_in_the_error(name: str, streamed: bool) -> None:
    outcome = ask(FAILURES[name], streamed=streamed, tries=1, key=KEY)
    assert outcome.text is None
    assert WORDS in str(outcome.error), outcome.error


@pytest.mark.parametrize("status", [400, 401, 403, 422, 429, 500])
def test_the_key_is_not_among_the_words(status: int) -> None:
    said = Raw(f'{{"detail": "Bad key {KEY} of {KEY[:20]}"}}'.encode(), status=status)
    error = ask(said, tries=1, key=KEY).error
    assert "Bad key ***" in str(error)
    assert KEY[:10] not in str(error)


def chunk(delta: str, finish: str = "null") -> str:
    return f'data: {{"choices": [{{"index": 0, "delta": {delta}, "finish_reason": {finish}}}]}}\n\n'


STOP: Final = chunk("{}", '"stop"')
HELLO: Final = chunk('{"content": "Hello"}') + STOP + "data: [DONE]\n\n"
FORMS: Final = {
    "BOM": BOM + HELLO.encode(),
    "CRLF": HELLO.replace("\n", "\r\n").encode(),
    "CR": HELLO.replace("\n", "\r").encode() + b"\n\n",
    "comments": (": ping\n\n" + HELLO.replace("data:", ": a comment\ndata:")).encode(),
    "BOM, comments, CRLF": BOM + (": ping\n\n" + HELLO).replace("\n", "\r\n").encode(),
    "other fields": HELLO.replace("data:", "id: 7\nretry: 10\nevent: message\ndata:").encode(),
    "no blank": HELLO.replace("data: ", "data:").encode(),
    "lines": HELLO.replace('"choices":', '\ndata: "choices":').encode(),
    "parts": (
        chunk('{"content": [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]}')
        + STOP + "data: [DONE]\n\n"
    ).encode(),
    "parts with a thought": (
        chunk('{"content": [{"type": "thinking", "thinking": "x", "text": "no"}]}')
        + HELLO
    ).encode(),
    "thoughts first": (chunk('{"reasoning_content": "Hm."}') + HELLO).encode(),
    "no error": HELLO.replace("{", '{"error": null, ', 1).encode(),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_a_stream_is_read(form: str) -> None:
    outcome = ask(Raw(FORMS[form], EVENTS))
    assert (outcome.text, outcome.calls) == ("Hello", 1), outcome.error


@pytest.mark.parametrize("streamed", [True, False])
def test_a_whole_reply_may_have_its_text_in_parts(streamed: bool) -> None:
    parts = '[{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]'
    said = f'{{"choices": [{{"message": {{"content": {parts}}}, "finish_reason": "stop"}}]}}'
    assert ask(Raw(said.encode()), streamed=streamed).text == "Hello"
    assert ask(Raw(said.encode(), "text/plain"), streamed=streamed).text == "Hello"


def test_reasoning_alone_is_said_to_be_that() -> None:
    outcome = ask(Says("", thinks="Let me see."))
    assert (outcome.code, outcome.calls) == ("llm-empty", 1)
    assert "reasoning_content" in str(outcome.error)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ('{"toolplan": 1, "steps": []}', True),
        ('[{"id": "a"}]', True),
        ('{"toolplan": 1, "steps": [', False),
        ("Half a sent", False),
        ("7", False),
    ],
)
def test_an_end_without_a_reason_costs_one_request(text: str, whole: bool) -> None:
    outcome = ask(Says(text, finish=None))
    assert (outcome.text, outcome.calls) == (text if whole else None, 1)
    if not whole:
        assert "without a finish_reason" in str(outcome.error)


@pytest.mark.parametrize(
    "finish", ["content_filter", "content_filter: PROHIBITED", "CONTENT_FILTER"]
)
def test_a_content_filter_is_named(finish: str) -> None:
    outcome = ask(Says("As", finish=finish))
    assert (outcome.code, outcome.calls) == ("llm-refused", 1)
    assert "content filter" in str(outcome.error)


def test_an_unknown_reason_to_end_and_the_setting_of_a_timeout_are_named() -> None:
    assert "abort" in str(ask(Says("Hello", finish="abort")).error)
    late = ask("Hello", timeout_s=0.0).error
    assert late is not None
    assert "TOOLPLAN_MODEL_TIMEOUT" in str(late.help)
