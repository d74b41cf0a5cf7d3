"""Limits on the calls of single tools and sources, in the forecast and in the engine beside it."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engines._running import zeros
from tests.test_forecast import LIMITS, engine_seconds, plan_of, shapes
from toolplan import ExecutionPlan, Step
from toolplan.engine.forecast import forecast


def test_limits_of_tools_and_sources_count() -> None:
    plan = plan_of(*(Step(f"s{at}", f"t{at % 2}") for at in range(8)))
    past = {"t0": [1.0], "t1": [1.0]}
    assert forecast(plan, past, tool_concurrency={"t0": 2}).expected_s == 2.0
    both = forecast(plan, past, sources={"t0": "x", "t1": "x"}, source_concurrency={"x": 2})
    assert both.expected_s == 4.0
    fan = plan_of(
        Step("one", "t1"), Step("two", "t1", after=("one",)), Step("fan", "t0", for_each=zeros(3))
    )
    assert forecast(fan, past).critical_path == ("one", "two")
    assert forecast(fan, past, tool_concurrency={"t0": 1}).critical_path == ("fan",)


def test_the_critical_path_starts_first_when_the_limit_of_a_tool_binds() -> None:
    """In the engine too: the short ones are written first, and have to wait."""
    long = [Step("a", "t"), Step("b", "t", after=("a",)), Step("c", "t", after=("b",))]
    plan = plan_of(*(Step(f"x{at}", "t") for at in range(3)), *long)
    assert forecast(plan, {"t": [1.0]}, tool_concurrency={"t": 2}).expected_s == 3.0
    assert engine_seconds(plan, {"t": [1.0]}, 32, tool_concurrency={"t": 2}) == pytest.approx(3.0)


@given(shapes(most=12), LIMITS, st.integers(0, 10_000), st.data())
def test_the_engine_takes_no_less_with_limits_on_tools_and_sources(
    plan: ExecutionPlan, concurrency: int, seed: int, data: st.DataObject
) -> None:
    chance = random.Random(seed)
    past = {step.tool: [chance.uniform(0.01, 20.0)] for step in plan.plan.steps}
    sources = {name: data.draw(st.sampled_from(["one", "two"])) for name in past}
    by_tool = data.draw(st.dictionaries(st.sampled_from(sorted(past)), st.integers(1, 3)))
    by_source = data.draw(st.dictionaries(st.sampled_from(["one", "two"]), st.integers(1, 3)))
    found = forecast(
        plan,
        past,
        concurrency=concurrency,
        tool_concurrency=by_tool,
        source_concurrency=by_source,
        sources=sources,
    )
    took = engine_seconds(
        plan,
        past,
        concurrency,
        seed,
        sources,
        tool_concurrency=by_tool,
        source_concurrency=by_source,
    )
    one_by_one = forecast(plan, past, concurrency=1).expected_s
    assert found.expected_s * (1 - 1e-9) <= took <= one_by_one * (1 + 1e-9)
