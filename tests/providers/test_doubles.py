"""The scripted model, which ships."""

import asyncio

import pytest

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
from toolplan.testing.tools import ScriptedModel

REQUEST = ModelRequest(ASKED)


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
