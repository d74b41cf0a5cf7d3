"""A reply that is cut, at whichever byte, is never taken for a whole one (L06; 5.3: 0 accepted)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable

import httpx2
import pytest

from tests.doubles.model_replies import Framing, Received, Reply, Says, Sent, written
from tests.providers.asking import ASKED, KEY, Body, ask, ask_servers
from toolplan.providers import ModelRequest, Text
from toolplan.providers._endpoint import Answered, CallFailed, Manner
from toolplan.providers._http import HttpEndpoint
from toolplan.providers._reply import ReplyReader
from toolplan.providers._specs import read_spec

PLAN = '{"toolplan": 1, "steps": [{"id": "a", "tool": "list", "args": {"at": "Köln"}}]}'
CHAT = "/v1/chat/completions"
MESSAGES = "/v1/messages"
REFUSED = {"llm-stream-cut", "llm-truncated", "llm-bad-response"}


def recorded(reply: Reply, path: str, *, streamed: bool = True) -> bytes:
    request = Received("POST", path, {}, {"stream": streamed})
    return b"".join(written(reply, request).parts)


def outcomes(body: bytes, spec: str, kind: str, cuts: Iterable[int]) -> dict[int, str]:
    """Ask an endpoint for `body`, cut in every way: the code, or the accepted text."""

    at = 0

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": kind}, stream=Body(body[:at]))

    manner = Manner(KEY, streamed=kind != "application/json")
    endpoint = HttpEndpoint(read_spec(spec, {}), manner, httpx2.MockTransport(answer))

    async def ask_at(cut: int) -> str:
        nonlocal at
        at = cut
        text = ""
        try:
            async for part in endpoint.ask(ModelRequest(ASKED), constrained=False):
                match part:
                    case Text(more):
                        text += more
                    case Answered():
                        return f"accepted: {text}"
                    case None:
                        pass
        except CallFailed as error:
            return error.failure.code
        return "no end"

    async def ask_all() -> dict[int, str]:
        return {cut: await ask_at(cut) for cut in cuts}

    return asyncio.run(ask_all())


@pytest.mark.parametrize(
    ("spec", "path", "every"),
    [
        ("http://127.0.0.1:9#m", CHAT, 5),
        ("openai:gpt-4o", CHAT, 13),
        ("anthropic:claude-sonnet-5", MESSAGES, 13),
    ],
)
def test_a_stream_that_is_cut_is_refused_by_the_whole_endpoint(
    spec: str, path: str, every: int
) -> None:
    """L06: with a body whose end is not marked; a sample of bytes."""
    body = recorded(Says("[1, 2]", pieces=("[1, ", "2]")), path)
    found = outcomes(body, spec, "text/event-stream", [*range(0, len(body), every), len(body)])
    assert found.pop(len(body)) == "accepted: [1, 2]"
    assert set(found.values()) <= REFUSED


def test_a_reply_in_one_that_is_cut_is_refused_by_the_whole_endpoint() -> None:
    """L06: a sample of bytes."""
    body = recorded(Says("[1, 2]"), CHAT, streamed=False)
    found = outcomes(
        body, "http://127.0.0.1:9#m", "application/json", [*range(0, len(body), 3), len(body)]
    )
    assert found.pop(len(body)) == "accepted: [1, 2]"
    assert set(found.values()) <= REFUSED


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_200_streams_cut_at_any_byte_are_none_of_them_whole(path: str) -> None:
    """Section 5.3: cut at every byte offset of 200 streams, 0 accepted."""
    chance = random.Random(7)
    cuts = 0
    for _ in range(100):
        letters = chance.choices('abc{}[]":,\n\\ é東𝄞', k=chance.randrange(1, 40))
        reply = Says("".join(letters), thinks=chance.choice(("", "hm")))
        body = recorded(reply, path)
        reader = ReplyReader(True, 100_000, "text/event-stream")
        for at in range(len(body)):
            fault = reader.fault("m")
            assert fault is not None, (body[:at], body)
            assert fault.code == "llm-stream-cut", (fault, body[:at])
            reader.feed(body[at : at + 1])
        reader.end()
        assert reader.fault("m") is None
        cuts += len(body)
    assert cuts > 50_000


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_a_reply_in_one_that_is_cut_at_any_byte_is_not_whole(path: str) -> None:
    body = recorded(Says(PLAN), path, streamed=False)
    for cut in range(len(body)):
        reader = ReplyReader(False, 100_000, "application/json")
        reader.feed(body[:cut])
        reader.end()
        fault = reader.fault("m")
        assert fault is not None
        assert fault.code == "llm-stream-cut"


@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
def test_cuts_over_http_are_refused_whatever_marks_the_end(framing: Framing) -> None:
    """L06 over real HTTP, a sample."""
    body = recorded(Says(PLAN), CHAT)
    chance = random.Random(framing)
    cuts = sorted(chance.sample(range(len(body) - 2), 5))
    for cut in cuts:
        outcome = ask(Sent(PLAN, framing=framing, cut_at=cut), tries=1)
        assert outcome.code in REFUSED, cut
        assert (outcome.text, outcome.calls) == (None, 1)


def test_what_came_of_a_cut_reply_does_not_count_when_the_next_model_answers() -> None:
    """Section 5.3: a stream that breaks midway continues with the next model, and says so."""
    outcome = ask_servers([[Sent(PLAN, cut_at=700)], [PLAN]])
    assert outcome.text == PLAN
    (reason,) = outcome.restarts
    assert "broke off" in reason
    assert [len(each) for each in outcome.requests] == [1, 1]
