"""A reply that is cut, at whichever byte, is never taken for a whole one (L06; 5.3: 0 accepted)."""

import random

import pytest

from tests.doubles.model_replies import Framing, Received, Reply, Says, Sent, written
from tests.providers.asking import KEY, ask, ask_servers
from toolplan.providers._reply import ReplyReader

PLAN = '{"toolplan": 1, "steps": [{"id": "a", "tool": "list", "args": {"at": "Köln"}}]}'
CHAT = "/v1/chat/completions"
MESSAGES = "/v1/messages"
REFUSED = {"llm-stream-cut", "llm-truncated", "llm-bad-response"}


def recorded(reply: Reply, path: str, *, streamed: bool = True) -> bytes:
    request = Received("POST", path, {}, {"stream": streamed})
    return b"".join(written(reply, request).parts)


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


@pytest.mark.parametrize(
    ("spec", "path"), [(None, CHAT), ("openai:m", CHAT), ("anthropic:m", MESSAGES)]
)
@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
def test_cuts_over_http_are_always_refused(framing: Framing, spec: str | None, path: str) -> None:
    """L06 over real HTTP, a sample."""
    body = recorded(Says(PLAN), path)
    cuts = sorted(random.Random(framing).sample(range(len(body) - 2), 5))
    for cut in cuts:
        outcome = ask(Sent(PLAN, framing=framing, cut_at=cut), spec=spec, key=KEY, tries=1)
        assert outcome.code in REFUSED, cut
        assert (outcome.text, outcome.calls) == (None, 1)


def test_what_came_of_a_cut_reply_does_not_count_when_the_next_model_answers() -> None:
    """Section 5.3: a stream that breaks midway continues with the next model, and says so."""
    outcome = ask_servers([[Sent(PLAN, cut_at=700)], [PLAN]])
    assert outcome.text == PLAN
    (reason,) = outcome.restarts
    assert "broke off" in reason
    assert [len(each) for each in outcome.requests] == [1, 1]
