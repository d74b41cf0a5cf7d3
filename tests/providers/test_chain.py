"""A chain of models: who is asked when, how often, and after which pause."""

import asyncio
from contextlib import aclosing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.doubles.model_replies import Fails
from tests.providers.asking import ASKED, Chained, ScriptedEndpoint, ask, ask_servers, fails, says
from toolplan.providers import ModelRequest, Text, Usage, UsageTracker
from toolplan.providers._chain import Link
from toolplan.providers._endpoint import Failure, Part
from toolplan.providers._limits import RetryPolicy

SCHEMA_400 = fails("llm-request", "It takes no schema.", schema=True)


def test_the_first_model_that_answers_has_answered() -> None:
    chain = Chained([ScriptedEndpoint("a", says("one")), ScriptedEndpoint("b", says("two"))])
    outcome = chain.ask()
    assert (outcome.text, chain.calls) == ("one", [1, 0])
    assert outcome.ended is not None
    assert outcome.ended.model == "a"
    assert chain.model.name == "a, b"


@pytest.mark.parametrize(
    ("codes", "calls", "pauses"),
    [
        # no retry of 401, nor of what the same model would do again
        ("auth bad-response context degenerate empty timeout too-long", [1, 1], []),
        ("unexpected-tool-call", [1, 1], []),
        # three tries, half a second doubled
        ("rate-limit unavailable", [3, 1], [0.5, 1.0]),
        # what was refused or is wrong in itself is asked of no other model
        ("refused request truncated", [1, 0], []),
    ],
)
def test_a_failure_decides_who_is_next(codes: str, calls: list[int], pauses: list[float]) -> None:
    """L08, L09, L10, F003-20."""
    for code in codes.split():
        failing = ScriptedEndpoint("a", fails(f"llm-{code}"))
        chain = Chained([failing, ScriptedEndpoint("b", says("two"))])
        outcome = chain.ask()
        assert (outcome.text, outcome.code) == (
            ("two", None) if calls[1] else (None, f"llm-{code}")
        ), code
        assert (chain.calls, chain.pauses) == (calls, pauses), code


@pytest.mark.parametrize("others", [[], [ScriptedEndpoint("b", says("Hello"))]])
def test_a_cut_reply_continues_with_the_next_or_same_model(others: list[ScriptedEndpoint]) -> None:
    """C-08: a transport error is retried."""
    cut = [Text("He"), *fails("llm-stream-cut", "It broke off.")]
    chain = Chained([ScriptedEndpoint("a", cut, says("Hello")), *others])
    outcome = chain.ask()
    assert (outcome.text, outcome.restarts) == ("Hello", ["It broke off."])
    assert (chain.calls, chain.pauses) == (([1, 1], []) if others else ([2], [0.5]))


def test_nothing_starts_anew_where_nothing_was_said() -> None:
    chain = Chained([ScriptedEndpoint("a", fails("llm-timeout")), ScriptedEndpoint("b", says("x"))])
    assert chain.ask().restarts == []


@pytest.mark.parametrize(
    ("asked_s", "calls", "pauses"), [(7.0, [2, 0], [7.0]), (3_600.0, [1, 1], [])]
)
def test_the_pause_that_is_asked_for_is_made_unless_it_is_too_long(
    asked_s: float, calls: list[int], pauses: list[float]
) -> None:
    """L08: Retry-After and its cap; a shorter pause than asked for would only fail again."""
    asks = fails("llm-rate-limit", retry_after_s=asked_s)
    chain = Chained([ScriptedEndpoint("a", asks, says("one")), ScriptedEndpoint("b", says("two"))])
    assert chain.ask().text is not None
    assert (chain.calls, chain.pauses) == (calls, pauses)


@pytest.mark.parametrize(("expected", "pause"), [("3", 3.0), ("0", 0.0), ("soon", 0.5)])
def test_retry_after_is_read_from_the_header(expected: str, pause: float) -> None:
    """L08 over real HTTP."""
    outcome = ask_servers([[Fails(429, retry_after=expected), "Hello"]])
    assert (outcome.text, outcome.pauses) == ("Hello", [pause])


def test_where_all_fail_each_reason_is_reported() -> None:
    chain = Chained(
        [
            ScriptedEndpoint("a", fails("llm-auth", "a refused the key.")),
            ScriptedEndpoint("b", fails("llm-timeout", "b was slow.")),
        ]
    )
    error = chain.ask().error
    assert error is not None
    assert error.code == "llm-unavailable"
    assert "a refused the key. (llm-auth) b was slow. (llm-timeout)" in str(error)
    assert (error.usage.calls, error.help) == (2, "Wait.")


def test_where_all_fail_in_the_same_way_that_is_the_code() -> None:
    chain = Chained([ScriptedEndpoint(name, fails("llm-auth")) for name in "abc"])
    assert chain.ask().code == "llm-auth"


def test_no_more_calls_are_made_than_are_allowed() -> None:
    """L25: over the whole chain, whatever each model has had."""
    failing = [ScriptedEndpoint(name, fails("llm-unavailable")) for name in "abc"]
    chain = Chained(failing, RetryPolicy(max_calls=4))
    outcome = chain.ask()
    assert (outcome.code, sum(chain.calls)) == ("llm-budget", 4)
    assert outcome.error is not None
    assert outcome.error.usage.calls == 4
    assert "The last failure: It failed." in str(outcome.error)


def test_calls_over_http_stay_within_what_is_allowed() -> None:
    """L25 over real HTTP."""
    outcome = ask_servers([[Fails(500)], [Fails(429)], [Fails(503)]], max_calls=5)
    assert (outcome.code, outcome.calls) == ("llm-budget", 5)


def test_the_last_call_that_is_allowed_is_made() -> None:
    chain = Chained(
        [ScriptedEndpoint("a", fails("llm-unavailable"), says("one"))], RetryPolicy(max_calls=2)
    )
    assert chain.ask().text == "one"


def test_a_model_that_fails_five_times_in_a_row_is_not_asked_for_a_minute() -> None:
    """Behaviours 2.6: a circuit breaker for each provider; threshold 5, reset 60 s."""
    first = ScriptedEndpoint("a", fails("llm-timeout"))
    chain = Chained([first, ScriptedEndpoint("b", says("two"))])
    for _ in range(9):
        assert chain.ask().text == "two"
    assert chain.calls == [5, 9]
    chain.now += 59.0
    chain.ask()
    assert chain.calls == [5, 10]
    chain.now += 2.0
    chain.ask()
    chain.ask()
    assert chain.calls == [6, 12], "one call tries, and as it fails the model is left alone again"


def test_a_model_that_answers_again_is_asked_as_before() -> None:
    """Behaviours 2.6."""
    first = ScriptedEndpoint("a", *[fails("llm-timeout")] * 5, says("one"))
    chain = Chained([first, ScriptedEndpoint("b", says("two"))])
    for _ in range(5):
        chain.ask()
    chain.now += 61.0
    assert [chain.ask().text for _ in range(3)] == ["one"] * 3


def test_a_trial_whose_end_is_never_reported_does_not_block_for_ever() -> None:
    link = Link("a", lambda: ScriptedEndpoint("a", says("one")))
    for second in range(5):
        assert link.admits(second)
        link.record(second, failed=True)
    assert [link.admits(second) for second in (63.0, 64.0, 65.0, 123.0, 124.0)] == [
        False, True, False, False, True,
    ]  # fmt: skip


CODES = sorted(
    {
        "llm-auth",
        "llm-bad-response",
        "llm-context",
        "llm-degenerate",
        "llm-empty",
        "llm-rate-limit",
        "llm-refused",
        "llm-request",
        "llm-stream-cut",
        "llm-timeout",
        "llm-truncated",
        "llm-unavailable",
    }
)


def failed(begun: list[str], code: str, lasts: bool, schema: bool) -> list[Part | Failure]:
    return [*map(Text, begun), *fails(code, lasts=lasts, schema=schema)]


FAILED = st.builds(
    failed,
    st.lists(st.sampled_from(["ab", "c"]), max_size=2),
    st.sampled_from(CODES),
    st.booleans(),
    st.booleans(),
)
CALLS = st.lists(FAILED | st.sampled_from(["one", "two"]).map(says), min_size=1, max_size=4)


@settings(max_examples=100)
@given(st.lists(CALLS, min_size=1, max_size=4), st.integers(1, 6), st.integers(1, 4))
def test_whatever_happens_calls_are_bounded_and_no_half_reply_is_whole(
    calls: list[list[list[Part | Failure]]], max_calls: int, tries: int
) -> None:
    """L06, L25: a reply is the whole text of one call, all calls are counted, or there is none."""
    chain = Chained(
        [ScriptedEndpoint(str(at), *each) for at, each in enumerate(calls)],
        RetryPolicy(max_calls=max_calls, tries=tries),
        tracker := UsageTracker(),
    )
    outcome = chain.ask({"type": "object"})
    made = sum(chain.calls)
    assert made <= max_calls
    assert max(chain.calls) <= tries + 1, "once more where a schema was not taken"
    assert tracker.usage.calls == made
    if outcome.ended is None:
        assert outcome.error is not None
        assert outcome.error.usage.calls == made
    else:
        assert outcome.error is None
        assert outcome.text in ("one", "two")
        assert outcome.ended.usage.calls == made


def test_a_lone_model_that_is_not_asked_is_reported_without_a_call() -> None:
    chain = Chained([ScriptedEndpoint("a", fails("llm-timeout"))])
    for _ in range(5):
        chain.ask()
    error = chain.ask().error
    assert error is not None
    assert (error.code, error.usage.calls, chain.calls) == ("llm-unavailable", 0, [5])
    assert "a failed 5 times in a row and is not asked for 60 s." in str(error)


@pytest.mark.parametrize("code", ["llm-empty", "llm-context", "llm-refused", "llm-request"])
def test_what_a_model_was_asked_does_not_speak_against_its_endpoint(code: str) -> None:
    chain = Chained([ScriptedEndpoint("a", fails(code))])
    for _ in range(9):
        assert chain.ask().code == code
    assert chain.calls == [9]


def test_a_schema_that_is_not_taken_is_left_out_from_then_on() -> None:
    endpoint = ScriptedEndpoint("a", SCHEMA_400, says("one"))
    chain = Chained([endpoint])
    assert [chain.ask({"type": "object"}).text for _ in range(2)] == ["one", "one"]
    assert endpoint.constrained == [True, False, False]


def test_a_schema_is_tried_again_where_it_was_not_the_reason() -> None:
    endpoint = ScriptedEndpoint("a", SCHEMA_400, fails("llm-request"), says("one"))
    chain = Chained([endpoint])
    assert chain.ask({"type": "object"}).code == "llm-request"
    assert chain.ask({"type": "object"}).text == "one"
    assert endpoint.constrained == [True, False, True]


def test_what_all_calls_used_is_summed_up() -> None:
    cut = [Text("He"), *fails("llm-stream-cut")]
    tracker = UsageTracker()
    chain = Chained(
        [ScriptedEndpoint("a", cut), ScriptedEndpoint("b", says("x", tokens=(7, 3)))],
        tracker=tracker,
    )
    outcome = chain.ask()
    assert outcome.ended is not None
    assert outcome.ended.usage == Usage(2, 7, 3, 0.001)
    chain.ask()
    assert tracker.usage == Usage(4, 14, 6, 0.002)
    assert chain.calls == [2, 2]


def test_whoever_stops_listening_closes_the_connection() -> None:
    chain = Chained([ScriptedEndpoint("a", [Text("1"), Text("2"), *says("3")])])

    async def listen() -> list[object]:
        async with aclosing(chain.model.stream(ModelRequest(ASKED))) as pieces:
            async for piece in pieces:
                return [piece]
        return []

    assert asyncio.run(listen()) == [Text("1")]


def test_a_model_in_two_event_loops_works_in_both() -> None:
    assert ask("Hello").text == "Hello"
    assert [ask_servers([["Hello", "again"]]).text] == ["Hello"]
