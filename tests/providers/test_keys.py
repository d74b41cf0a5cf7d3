"""A key goes to its provider and nowhere else: into no error, repr, log or trace."""

import asyncio
import base64
import logging
import socket
import traceback
from urllib.parse import quote

import pytest

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
)
from tests.doubles.model_server import ScriptedModelServer
from tests.providers.asking import ASKED, KEY, ask, ask_servers
from toolplan.providers import ModelError, ModelRequest, complete, open_model
from toolplan.providers._errors import without_key

ECHO = f"The key {KEY} (Bearer {KEY}, {KEY[:16]}…{KEY[-10:]}) is unknown to us"
ENCODED = base64.b64encode(f"Bearer {KEY}".encode()).decode()
FAILURES: dict[str, Script] = {
    "400": Fails(400, ECHO),
    "401": Fails(401, ECHO),
    "403": Fails(403, ECHO),
    "404": Fails(404, ECHO),
    "413": Fails(413, ECHO),
    "429": Fails(429, ECHO),
    "quota": Fails(429, ECHO, code="insufficient_quota"),
    "500": Fails(500, ECHO),
    "529": Fails(529, ECHO),
    "encoded": Fails(400, f"Bad header: {ENCODED} {quote(KEY, safe='')}"),
    "context": Fails(400, f"maximum context length, {KEY}"),
    "HTML": Raw(f"<html>{KEY}</html>".encode(), "text/html"),
    "envelope": Raw(f'data: {{"echo": "{KEY}"}}\n\n'.encode(), "text/event-stream"),
    "garbled": Raw(f"data: {KEY}\n\n".encode(), "text/event-stream"),
    "error event": Raw(
        f'data: {{"error": {{"message": "{ECHO}", "code": 500}}}}\n\n'.encode(), "text/event-stream"
    ),
    "no object": Raw(f'data: ["{KEY}"]\n\n'.encode(), "text/event-stream"),
    "odd choice": Raw(f'data: {{"choices": ["{KEY}"]}}\n\n'.encode(), "text/event-stream"),
    "type": Raw(b"{}", f"text/{KEY}"),
    "refusal": Refuses(ECHO),
    "tool": CallsTool(KEY, f'{{"key": "{KEY}"}}'),
    "empty": Says(""),
    "truncated": Says(ECHO, finish="length"),
    "finish": Says(ECHO, finish=KEY),
    "cut": Sent(ECHO, cut_at=400),
    "reset": Sent(ECHO, cut_at=400, reset=True),
    "stall": Sent(ECHO, stall_at=400),
    "endless": Endless(ECHO),
    "redirect": Raw(b"", "text/html", 307, {"location": f"http://127.0.0.1:9/{KEY}"}),
}


def everything_said(error: BaseException) -> str:
    """All that an error shows, with all that it came from."""
    seen: list[str] = []
    behind: list[BaseException | None] = [error]
    while behind:
        each = behind.pop()
        if each is None:
            continue
        seen += [str(each), repr(each), repr(each.args), repr(vars(each))]
        seen += traceback.format_exception(each)
        behind += [each.__cause__, each.__context__]
    return "\n".join(seen)


@pytest.mark.parametrize(
    ("name", "streamed"),
    [(name, True) for name in FAILURES]
    + [(name, False) for name in ("400", "HTML", "envelope", "refusal", "cut", "stall")],
)
def test_no_failure_says_the_key(
    name: str, streamed: bool, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    outcome = ask(
        FAILURES[name],
        spec="openai:gpt-4o",
        key=KEY,
        tries=1,
        between_pieces_s=0.3,
        timeout_s=0.5 if name in ("stall", "endless") else 10.0,
        streamed=streamed,
    )
    assert all(KEY in each.headers["authorization"] for each in outcome.requests[0])
    assert outcome.calls >= 1
    assert outcome.error is not None
    assert (outcome.error.__cause__, outcome.error.__context__) == (None, None)
    # What a server puts into its own headers, the HTTP library repeats at the level DEBUG.
    logged = [each.getMessage() for each in caplog.records if "return_value" not in each.msg]
    printed = capfd.readouterr()
    said = [everything_said(outcome.error), str(outcome.error.help), *logged, *printed]
    for part in (KEY, KEY[:10], KEY[-10:], ENCODED[8:24], quote(KEY, safe="")):
        assert part not in "\n".join(said)


def test_a_connection_refused_does_not_say_the_key(caplog: pytest.LogCaptureFixture) -> None:
    """L09: nothing listens; and it is asked once only."""
    caplog.set_level(logging.DEBUG)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    model = open_model(
        "openai:gpt-4o", keys={"openai": KEY}, addresses={"openai": f"http://127.0.0.1:{port}"}
    )
    assert KEY not in repr(model)
    with pytest.raises(ModelError) as caught:
        asyncio.run(complete(model, ModelRequest(ASKED)))
    assert (caught.value.code, caught.value.usage.calls) == ("llm-unavailable", 1)
    assert KEY not in everything_said(caught.value) + caplog.text


@pytest.mark.parametrize("key", [f"{KEY}\nx-more: 1", f"{KEY} more", "ключ-ключ-ключ", "\x00" * 9])
def test_a_key_that_cannot_be_sent_is_neither_sent_nor_reported(key: str) -> None:
    outcome = ask("Hello", spec="openai:gpt-4o", key=key)
    assert (outcome.code, outcome.calls) == ("llm-auth", 0)
    assert outcome.error is not None
    assert key not in everything_said(outcome.error)
    assert KEY not in everything_said(outcome.error)


def test_a_missing_key_is_reported_before_any_call_and_the_next_model_is_asked() -> None:
    """L10."""
    alone = ask("Hello", spec="anthropic:claude-sonnet-5")
    assert (alone.code, alone.calls) == ("llm-auth", 0)
    assert "ANTHROPIC_API_KEY" in str(alone.error.help if alone.error else None)
    chain = ask_servers([["one"], ["two"]], ["groq:llama", "ollama:mistral"])
    assert (chain.text, chain.calls) == ("two", 1)


def test_each_key_goes_to_its_own_provider_only() -> None:
    """The chain is asked through, and each server sees its own key, or none."""
    with ScriptedModelServer([Fails(401)]) as server:
        keys = {
            "openai": "key-of-openai",
            "groq": "key-of-groq",
            "anthropic": "key-of-anthropic",
            server.url.removesuffix("/v1"): "key-of-url",
        }
        providers = ["openai", "groq", "anthropic", "ollama"]
        elsewhere = dict.fromkeys(providers, server.url)
        specs = ["openai:m", "groq:m", "ollama:m", "anthropic:m", server.spec]
        model = open_model(specs, keys=keys, addresses=elsewhere)
        with pytest.raises(ModelError):
            asyncio.run(complete(model, ModelRequest(ASKED)))
        sent = [request.headers.get("authorization", "") for request in server.requests]
    named = [text.removeprefix("Bearer key-of-") for text in sent]
    assert named == ["openai", "groq", "", "anthropic", "url"]


def test_the_key_of_a_url_is_found_by_any_address_on_its_host() -> None:
    with ScriptedModelServer(["Hello"]) as server:
        for name in (server.url, f"{server.url}/", server.url.upper()):
            model = open_model(server.spec, keys={name: KEY})
            asyncio.run(complete(model, ModelRequest(ASKED)))
        other = open_model(server.spec, keys={"http://localhost:1": KEY, "openai": KEY})
        asyncio.run(complete(other, ModelRequest(ASKED)))
    sent = ["authorization" in request.headers for request in server.requests]
    assert sent == [True, True, True, False]


def test_a_redirect_is_not_followed() -> None:
    caught: list[Received] = []

    def keep(request: Received) -> Served:
        caught.append(request)
        return "Hello"

    with ScriptedModelServer([keep]) as other:
        to = {"location": f"{other.url}/chat/completions"}
        outcome = ask(Raw(b"{}", status=307, headers=to), spec="openai:gpt-4o", key=KEY)
    assert (outcome.code, caught) == ("llm-bad-response", [])


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"key {KEY}.", "key ***."),
        (f"{KEY[:9]}…{KEY[-9:]}", "***…***"),
        ("nothing of it", "nothing of it"),
        (f"sk-{KEY[16:]}", "sk-***"),
        ("", ""),
    ],
)
def test_parts_of_keys_are_masked(text: str, left: str) -> None:
    assert without_key(text, KEY) == left


def test_short_and_empty_keys_are_masked_as_a_whole() -> None:
    assert without_key("the key abc is abc", "abc") == "the key *** is ***"
    assert without_key("the key abc is abc", "") == "the key abc is abc"
