"""The doubles: a model that ships, and a model server for our own tests; both reply as scripted."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading

import httpx2
import pytest

from tests.doubles.model_replies import (
    CallsTool,
    Fails,
    Raw,
    Received,
    Refuses,
    Says,
    Sent,
)
from tests.doubles.model_server import ScriptedModelServer
from tests.providers.asking import ASKED
from toolplan.providers import (
    Ended,
    Model,
    ModelError,
    ModelRequest,
    Piece,
    Restarted,
    Text,
    Usage,
    complete,
)
from toolplan.testing.model import ScriptedModel

HTTP = httpx2.Client(trust_env=False, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
REQUEST = ModelRequest(ASKED)
BODY = {"messages": [{"role": "user", "content": "Hi"}], "stream": True}


async def pieces_of(model: Model) -> list[Piece]:
    return [piece async for piece in model.stream(REQUEST)]


def test_a_scripted_model_says_one_text_after_the_other_and_the_last_for_ever() -> None:
    model = ScriptedModel(["one", "two"])
    said = [asyncio.run(complete(model, REQUEST)).text for _ in range(3)]
    assert said == ["one", "two", "two"]
    assert model.requests == [REQUEST] * 3


def test_a_scripted_text_comes_in_pieces_and_ends() -> None:
    model = ScriptedModel("12345", name="m", piece_chars=2)
    *texts, end = asyncio.run(pieces_of(model))
    assert texts == [Text("12"), Text("34"), Text("5")]
    assert isinstance(end, Ended)
    assert (end.model, end.usage.calls) == ("m", 1)


def test_a_scripted_model_raises_errors_and_gives_pieces_as_they_are() -> None:
    error = ModelError("llm-timeout", "It is slow.")
    cut: list[Piece | ModelError] = [Text("1"), error]
    anew: list[Piece | ModelError] = [Text("1"), Restarted("so"), Text("2"), Ended("m", Usage())]
    model = ScriptedModel(
        [error, cut, anew, [Text("1")], lambda request: request.messages[-1].text]
    )
    for _ in range(2):
        with pytest.raises(ModelError) as caught:
            asyncio.run(complete(model, REQUEST))
        assert caught.value is error
    assert asyncio.run(complete(model, REQUEST)).text == "2"
    with pytest.raises(ModelError) as caught:
        asyncio.run(complete(model, REQUEST))
    assert caught.value.code == "llm-stream-cut", "without its end no reply is whole"
    assert asyncio.run(complete(model, REQUEST)).text == "What is there?"


def test_a_script_without_replies_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one reply"):
        ScriptedModel([])
    with pytest.raises(ValueError, match="at least one reply"):
        ScriptedModelServer([])


def test_the_server_answers_in_the_form_that_is_asked_for() -> None:
    with ScriptedModelServer(["Hello"]) as server:
        whole = HTTP.post(f"{server.url}/chat/completions", json={"messages": []}).json()
        events = HTTP.post(f"{server.url}/chat/completions", json=BODY).text
        message = HTTP.post(f"{server.url}/messages", json={}).json()
    assert whole["choices"][0]["message"]["content"] == "Hello"
    assert events.endswith("data: [DONE]\n\n")
    assert message["content"] == [{"type": "text", "text": "Hello"}]
    assert server.calls == 3


def test_the_server_keeps_what_it_was_asked() -> None:
    schema = {"type": "object"}
    body = {**BODY, "response_format": {"json_schema": {"schema": schema}}}
    with ScriptedModelServer(["Hello"]) as server:
        HTTP.post(f"{server.url}/chat/completions", json=body, headers={"X-More": "1"})
        HTTP.post(f"{server.url}/chat/completions", content=b"no JSON")
    first, second = server.requests
    assert (first.messages, first.prompt, first.schema) == ([("user", "Hi")], "Hi", schema)
    assert (first.headers["x-more"], first.streamed) == ("1", True)
    assert (second.body, second.messages, second.schema, second.streamed) == (None, [], None, False)


def test_the_server_lists_its_model_uncounted() -> None:
    """Behaviours 2.6: Ollama's `/api/tags`, and the list of all that are like OpenAI."""
    with ScriptedModelServer(["Hello"], model="mistral") as server:
        assert HTTP.get(f"{server.url}/models").json()["data"][0]["id"] == "mistral"
        tags = HTTP.get(server.url.removesuffix("/v1") + "/api/tags").json()
    assert tags == {"models": [{"name": "mistral"}]}
    assert server.calls == 0


def test_replies_follow_each_other_and_may_be_made_of_the_request() -> None:
    def echo(request: Received) -> str:
        return request.prompt.upper()

    with ScriptedModelServer([Fails(429, retry_after="2"), echo]) as server:
        first = HTTP.post(f"{server.url}/chat/completions", json=BODY)
        second = HTTP.post(f"{server.url}/chat/completions", json={**BODY, "stream": False})
    assert (first.status_code, first.headers["retry-after"]) == (429, "2")
    assert second.json()["choices"][0]["message"]["content"] == "HI"


@pytest.mark.parametrize("reply", [Refuses("No."), CallsTool("t", "{}"), Says("x", finish=None)])
def test_each_kind_of_reply_can_be_written_in_each_form(reply: Refuses | CallsTool | Says) -> None:
    with ScriptedModelServer([reply]) as server:
        for path in ("chat/completions", "messages"):
            for streamed in (True, False):
                answer = HTTP.post(f"{server.url}/{path}", json={"stream": streamed})
                assert answer.status_code == 200
                assert streamed or json.loads(answer.text)


def test_a_cut_is_seen_where_the_end_is_marked_and_not_where_it_is_not() -> None:
    raw = Raw(b"0123456789")
    with ScriptedModelServer(
        [
            Sent(raw, cut_at=4, framing="close"),
            Sent(raw, cut_at=4),
            Sent(raw, cut_at=4, framing="length"),
        ]
    ) as server:
        assert HTTP.post(f"{server.url}/chat/completions", json={}).content == b"0123"
        for _ in range(2):
            with pytest.raises(httpx2.RemoteProtocolError):
                HTTP.post(f"{server.url}/chat/completions", json={})


def test_nothing_is_left_of_a_server_that_ended() -> None:
    before = threading.active_count()
    with ScriptedModelServer([Sent("Hello", stall_at=10)]) as server:
        with pytest.raises(httpx2.ReadTimeout):
            HTTP.post(f"{server.url}/chat/completions", json=BODY, timeout=0.2)
        url = server.url
    assert threading.active_count() == before
    with pytest.raises(httpx2.ConnectError):
        HTTP.get(f"{url}/models")
