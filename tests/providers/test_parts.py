"""The parts that a chain is made of: tracker, bounds on text, pauses, schemas."""

import asyncio
from collections.abc import AsyncGenerator
from itertools import count

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.doubles.model_replies import Received, Says, written
from tests.providers.asking import ASKED, Body
from toolplan.plan.path import Json
from toolplan.providers import ModelRequest, Text, Usage
from toolplan.providers._base import UsageTracker, total
from toolplan.providers._endpoint import Answered, CallFailed, Failure, Manner, Part, read_spec
from toolplan.providers._http import HttpEndpoint
from toolplan.providers._limits import RetryPolicy, TextBounds, in_time
from toolplan.providers._requests import is_closed

BUSY = Failure("llm-unavailable", "It is busy.")


def test_a_tracker_sums_up() -> None:
    tracker = UsageTracker()
    for model, spent in [("a", Usage(0, 1, 2, 0.5)), ("b", Usage(0, 3, 4)), ("a", Usage(0, 5, 6))]:
        tracker.begin(model)
        tracker.end(spent)
    assert tracker.usage == Usage(3, 9, 12, 0.5)


def test_the_sum_of_nothing_costs_nothing_that_is_known() -> None:
    assert total([]) == Usage(0, 0, 0, None)


@pytest.mark.parametrize(
    "unit", [" ", "\n", "ha", "and so on, ", '{"id": "a"},\n', "x" * 199 + "y", "z" * 999 + "\n"]
)
def test_text_that_repeats_itself_is_noticed_soon(unit: str) -> None:
    """L19: with a beginning that does not repeat, in pieces of any size."""
    bounds = TextBounds(1_000_000)
    text = "Here is the plan that you asked for. " + unit * (40_000 // len(unit))
    found = (bounds.breach(text[at : at + 7]) for at in range(0, len(text), 7))
    pieces = next(at for at, code in enumerate(found, 1) if code == "llm-degenerate")
    assert pieces * 7 <= max(3_100, 13 * len(unit) + 700)


def test_a_long_plan_of_like_steps_is_no_repetition() -> None:
    steps = ",\n".join(
        f'{{"id": "s{at}", "tool": "shipments_get", "args": {{"id": "S{at:04}"}}}}'
        for at in range(400)
    )
    bounds = TextBounds(1_000_000)
    assert all(bounds.breach(steps[at : at + 11]) is None for at in range(0, len(steps), 11))


@settings(max_examples=20)
@given(st.text(alphabet="ab", min_size=1, max_size=30), st.text(max_size=20))
def test_a_repetition_is_found_whatever_stands_before_it(unit: str, before: str) -> None:
    assert TextBounds(1_000_000).breach(before + unit * 2_400) == "llm-degenerate"


def test_too_long_is_reported_at_the_first_piece_beyond() -> None:
    """L18."""
    bounds, text = TextBounds(1_000), " ".join(map(str, range(10_000)))
    assert [bounds.breach(text[:17_000]), bounds.breach("1")] == [None, "llm-too-long"]


@pytest.mark.parametrize(
    ("tried", "chance", "pause"),
    [(1, 0.0, 0.25), (1, 1.0, 0.75), (2, 0.5, 1.0), (9, 1.0, 20.0), (10, 0.5, None)],
)
def test_pauses_grow_and_differ_by_chance(tried: int, chance: float, pause: float | None) -> None:
    assert RetryPolicy(tries=10, chance=lambda: chance).pause_s(BUSY, tried) == pause


async def test_each_wait_has_its_own_bound_and_the_listener_has_none() -> None:
    """L07: a slow listener is not expected that the model was slow."""

    async def parts() -> AsyncGenerator[Part]:
        for at in count():
            await asyncio.sleep(0 if at < 2 else 60)
            yield Text(str(at))

    heard: list[object] = []
    retry_policy = RetryPolicy(total_s=60, between_pieces_s=0.05)
    try:
        async for part in in_time(parts(), "m", retry_policy):
            heard.append(part)
            await asyncio.sleep(0.1)
    except CallFailed as error:
        heard.append(error.failure.reason)
    assert heard == [Text("0"), Text("1"), "m stopped in the middle of its reply for 0.05 s."]


def test_the_price_of_a_known_model_is_known_without_a_network() -> None:
    async def spent(spec: str) -> Usage:
        def answer(request: httpx2.Request) -> httpx2.Response:
            received = Received("POST", request.url.path, {}, {"stream": True})
            body = b"".join(written(Says("Hello", tokens=(1_000_000, 0)), received).parts)
            kind = {"content-type": "text/event-stream"}
            return httpx2.Response(200, headers=kind, stream=Body(body))

        endpoint = HttpEndpoint(read_spec(spec, {}), Manner("k"), httpx2.MockTransport(answer))
        parts = [part async for part in endpoint.ask(ModelRequest(ASKED), constrained=False)]
        assert isinstance(parts[-1], Answered)
        return parts[-1].spent

    known = asyncio.run(spent("openai:gpt-4o"))
    assert known.cost_usd is not None
    assert known.cost_usd > 0
    assert asyncio.run(spent("ollama:gpt-4o")).cost_usd is None


SCHEMAS: list[tuple[Json, bool]] = [
    ({"type": "string"}, True),
    ({"type": "object"}, False),
    ({"type": "object", "additionalProperties": False}, True),
    ({"properties": {"a": {}}, "additionalProperties": False}, False),
    ({"properties": {"a": {}}, "additionalProperties": False, "required": ["a"]}, True),
    (
        {
            "properties": {"type": {"type": "object"}},
            "additionalProperties": False,
            "required": ["type"],
        },
        False,
    ),
    ({"type": "array", "items": {"type": ["object", "null"]}}, False),
    ({"anyOf": [{"type": "string"}, {"type": "object"}]}, False),
    ({"$defs": {"a": {"type": "object"}}, "type": "string"}, False),
    ({"enum": [{"type": "object"}], "const": {"type": "object"}}, True),
]


@pytest.mark.parametrize(("schema", "closed"), SCHEMAS)
def test_a_schema_is_closed_where_each_object_names_all_it_has(schema: Json, closed: bool) -> None:
    assert is_closed(schema) is closed


def test_a_schema_without_end_is_not_closed() -> None:
    schema: Json = {}
    for _ in range(200):
        schema = {"items": schema}
    assert not is_closed(schema)
