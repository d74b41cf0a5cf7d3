"""The forecast of a run: laws, bounds on the engine's own times, and calibration.

Issue 4, part 6.
"""

import asyncio
import math
import random
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import quantiles
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.engines._running import scripted, zeros
from tests.plans_strategy import execution_plan, plans, scripted_tools
from tests.simulation.loop import VirtualLoop
from toolplan import Effects, ExecutionPlan, Toolbox, run
from toolplan.engine.forecast import Forecast, forecast
from toolplan.events import StepState
from toolplan.plan.model import Literal, Plan, Ref, Step, When
from toolplan.plan.path import EVERY
from toolplan.testing import Gives, ScriptedTools

ROWS = Ref("rows", ("data", EVERY))
HOLDS = When(Literal(1), {"const": 1})


def plan_of(*steps: Step, tools: Toolbox | None = None) -> ExecutionPlan:
    return execution_plan(Plan(steps), tools)


def chain(length: int) -> ExecutionPlan:
    first = Step("s0", "t0")
    rest = (Step(f"s{at}", f"t{at}", after=(f"s{at - 1}",)) for at in range(1, length))
    return plan_of(first, *rest)


def wide(count: int) -> ExecutionPlan:
    return plan_of(*(Step(f"s{at}", f"t{at}") for at in range(count)))


def layered(layers: int, width: int) -> ExecutionPlan:
    """Return a plan in which each step needs two of the layer before it."""
    return plan_of(
        *(
            Step(
                f"s{layer * width + at}",
                f"t{layer * width + at}",
                after=tuple(
                    f"s{(layer - 1) * width + (at + shift) % width}"
                    for shift in (range(2) if layer else ())
                ),
            )
            for layer in range(layers)
            for at in range(width)
        )
    )


def constant(plan: ExecutionPlan, seconds: Sequence[float]) -> dict[str, list[float]]:
    """Return one past call for each tool, with the next of `seconds`."""
    return {step.tool: [each] for step, each in zip(plan.plan.steps, seconds, strict=True)}


@st.composite
def shapes(draw: st.DrawFn, *, most: int = 9, fans: bool = True) -> ExecutionPlan:
    """Return a plan of steps with tools of their own, in any order of writing."""
    count = draw(st.integers(1, most))
    steps: list[Step] = []
    for at in range(count):
        before = st.sampled_from([step.id for step in steps]) if steps else st.nothing()
        after = draw(st.lists(before, unique=True, max_size=3)) if steps else []
        items = draw(st.none() | st.none() | st.integers(0, 5)) if fans else None
        for_each = None if items is None else zeros(items)
        steps.append(Step(f"s{at}", f"t{at}", after=tuple(after), for_each=for_each))
    return plan_of(*draw(st.permutations(steps)))


SECONDS = st.floats(0.001, 50.0)
LIMITS = st.integers(1, 6)


@st.composite
def known(draw: st.DrawFn) -> tuple[ExecutionPlan, dict[str, list[float]]]:
    """Return a plan and past calls of all of its tools."""
    plan = draw(shapes())
    past = {s.tool: draw(st.lists(SECONDS, min_size=1, max_size=4)) for s in plan.plan.steps}
    return plan, past


def calls_of(plan: ExecutionPlan) -> dict[str, int]:
    return {
        step.id: len(step.for_each.value)
        if isinstance(step.for_each, Literal) and isinstance(step.for_each.value, list)
        else 1
        for step in plan.plan.steps
    }


def engine_seconds(
    plan: ExecutionPlan,
    past: Mapping[str, Sequence[float]],
    concurrency: int,
    seed: int = 0,
    sources: Mapping[str, str] = MappingProxyType({}),
    **limits: Any,
) -> float:
    """Return how long the engine takes for `plan`, in virtual time; one past time for each tool."""
    tools = ScriptedTools()
    for name, (delay_s,) in past.items():
        tools.add(name, Gives(None, delay_s=delay_s))
    known = [replace(tool, source=sources.get(tool.name, "")) for tool in tools.toolbox.values()]
    loop = VirtualLoop(random.Random(seed))
    try:
        running = run(plan, known, concurrency=concurrency, timeout_s=1e4, **limits)
        assert loop.run_until_complete(running).succeeded
        return loop.time()
    finally:
        loop.close()


# What the times are


def test_a_chain_takes_the_sum_and_independent_steps_the_longest() -> None:
    past = {"t0": [1.0], "t1": [2.0], "t2": [4.0]}
    one_by_one = forecast(chain(3), past)
    assert (one_by_one.expected_s, one_by_one.p90_s) == (7.0, 7.0)
    assert one_by_one.critical_path == ("s0", "s1", "s2")
    parallel = forecast(wide(3), past)
    assert (parallel.expected_s, parallel.p90_s) == (4.0, 4.0)
    assert parallel.critical_path == ("s2",)


def test_the_limit_on_concurrent_calls_counts_for_steps_and_for_items() -> None:
    fan = plan_of(Step("fan", "t0", for_each=zeros(7)))
    assert [forecast(fan, {"t0": [1.0]}, concurrency=c).expected_s for c in (1, 2, 3, 7, 32)] == [
        7.0,
        4.0,
        3.0,
        1.0,
        1.0,
    ]
    assert forecast(wide(3), constant(wide(3), [1, 2, 4]), concurrency=1).expected_s == 7.0


def test_the_critical_path_is_the_time_while_the_limit_leaves_room_for_it() -> None:
    plan = plan_of(Step("a", "ta"), Step("b", "tb"), Step("c", "tc", after=("b",)))
    past = constant(plan, [3.0, 2.0, 2.0])
    assert forecast(plan, past, concurrency=1).expected_s == 7.0
    assert forecast(plan, past, concurrency=2).expected_s == 4.0
    late = plan_of(*(Step(f"x{at}", "x") for at in range(2)), *plan.plan.steps[1:])
    assert forecast(late, {"x": [2.0], "tb": [2.0], "tc": [2.0]}, concurrency=2).expected_s == 4.0


def test_a_step_without_items_takes_no_time_and_holds_nothing_up() -> None:
    plan = plan_of(Step("none", "t", for_each=Literal([])), Step("behind", "u", after=("none",)))
    found = forecast(plan, {"t": [5.0], "u": [1.0]}, concurrency=1)
    assert (found.expected_s, found.calls_least, found.calls_most) == (1.0, 1, 1)


def test_a_timeout_cuts_the_times_of_past_calls_short() -> None:
    plan = plan_of(Step("a", "t", timeout_s=2.0), Step("b", "t", after=("a",)))
    assert forecast(plan, {"t": [5.0]}).expected_s == 7.0


def test_the_longest_chain_is_by_mean_times_and_by_steps_where_none_is_known() -> None:
    plan = plan_of(
        Step("slow", "slow"),
        Step("a", "fast"),
        Step("b", "fast", after=("a",)),
        Step("end", "fast", after=("slow", "b")),
    )
    assert forecast(plan, {"slow": [3.0, 9.0], "fast": [1.0]}).critical_path == ("slow", "end")
    assert forecast(plan, {}).critical_path == ("a", "b", "end")
    assert forecast(plan_of(), {}).critical_path == ()


# What is not known


def test_tools_without_past_calls_are_named_and_count_nothing() -> None:
    found = forecast(chain(3), {"t1": [2.0], "t2": [], "elsewhere": [9.0]})
    assert (found.expected_s, found.unknown_tools, found.is_known) == (2.0, ("t0", "t2"), False)
    assert forecast(chain(3), {}).p90_s == 0.0


def test_the_tool_with_the_fewest_past_calls_says_how_much_is_known() -> None:
    past = {"t0": [1.0] * 20, "t1": [1.0, 2.0, -1.0]}
    assert forecast(chain(2), past).past_calls == 2
    assert forecast(chain(3), past).past_calls == 0


def test_what_is_no_duration_is_left_out() -> None:
    odd = [float("nan"), float("inf"), -1.0, 1e300, 2.0]
    assert forecast(chain(1), {"t0": odd}).p90_s == 2.0
    assert forecast(chain(1), {"t0": odd[:-1]}).unknown_tools == ("t0",)


def test_lists_that_are_not_there_yet_count_one_item_and_are_named() -> None:
    plan = plan_of(Step("rows", "rows"), Step("each", "t", for_each=ROWS, max_items=40))
    found = forecast(plan, {"rows": [1.0], "t": [2.0]})
    assert (found.expected_s, found.unknown_counts) == (3.0, ("each",))
    assert (found.calls_least, found.calls_most) == (1, 41)


def test_a_timeout_for_all_calls_cuts_them_short_where_a_step_says_nothing() -> None:
    plan = plan_of(Step("a", "t", timeout_s=4.0), Step("b", "t", after=("a",)))
    assert forecast(plan, {"t": [5.0]}, timeout_s=2.0).expected_s == 6.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"concurrency": 0},
        {"draws": 0},
        {"tool_concurrency": {"t0": 0}},
        {"source_concurrency": {"x": 0}},
    ],
)
def test_a_bound_below_one_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="the least is 1"):
        forecast(chain(1), {}, **wrong)


# Calls


def test_a_condition_may_skip_its_step_and_those_that_refer_to_it_but_not_what_is_behind() -> None:
    plan = plan_of(
        Step("rows", "t", when=HOLDS),
        Step("uses", "t", {"x": Ref("rows")}),
        Step("uses_that", "t", {"x": Ref("uses")}),
        Step("behind", "t", after=("rows",)),
        Step("three", "t", for_each=Literal([1, 2, 3])),
    )
    found = forecast(plan, {})
    assert (found.calls_least, found.calls_most) == (4, 7)


def test_calls_with_effects_are_counted_at_their_most() -> None:
    tools = scripted(rows=None)
    tools.add("send", effects=Effects.WRITE)
    steps = (
        Step("rows", "rows"),
        Step("one", "send", when=HOLDS),
        Step("each", "send", for_each=ROWS, max_items=5),
        Step("two", "send", for_each=Literal([1, 2])),
    )
    found = forecast(plan_of(*steps, tools=tools.toolbox), {})
    assert (found.effect_calls_most, found.calls_most, found.calls_least) == (8, 9, 3)


@given(plans())
def test_no_run_makes_more_calls_than_the_most_nor_fewer_than_the_least_unless_one_fails(
    plan: Plan,
) -> None:
    tools = scripted_tools()
    executable = execution_plan(plan)
    done = asyncio.run(run(executable, tools.toolbox, backoff_s=0.0))
    found = forecast(executable, {})
    # one whose failure the plan allows has failed too
    failed = [s for s in done.steps.values() if s.error and s.state is not StepState.SKIPPED]
    ran = [step for step in done.steps.values() if step.state is StepState.SUCCEEDED]
    made = sum(1 if step.items is None else step.items for step in ran)
    assert made <= found.calls_most
    if not failed:
        assert found.calls_least <= made


# Laws


@given(known(), LIMITS)
def test_times_lie_between_the_least_of_the_longest_chain_and_the_most_of_all_calls(
    given_: tuple[ExecutionPlan, dict[str, list[float]]], concurrency: int
) -> None:
    plan, past = given_
    found = forecast(plan, past, concurrency=concurrency, draws=20)
    calls = calls_of(plan)
    tools = {step.id: step.tool for step in plan.plan.steps}
    rounds = {name: -(-count // concurrency) for name, count in calls.items()}
    least = sum(rounds[name] * min(past[tools[name]]) for name in found.critical_path)
    most = sum(count * max(past[tools[name]]) for name, count in calls.items())
    assert least * (1 - 1e-9) <= found.expected_s <= most * (1 + 1e-9)
    assert least * (1 - 1e-9) <= found.p90_s <= most * (1 + 1e-9)


@given(known(), LIMITS, st.integers(1, 40))
def test_nine_of_ten_runs_is_never_below_the_quickest_run_that_was_played(
    given_: tuple[ExecutionPlan, dict[str, list[float]]], concurrency: int, draws: int
) -> None:
    plan, past = given_
    first = forecast(plan, past, concurrency=concurrency, draws=1)
    assert first.expected_s == first.p90_s
    found = forecast(plan, past, concurrency=concurrency, draws=draws)
    # the first run is one of them, so the slowest is no quicker; nine of ten is the slowest of
    # fewer than ten
    if draws < 10:
        assert found.p90_s >= first.p90_s
        assert found.p90_s >= found.expected_s * (1 - 1e-9)


@given(known(), LIMITS, st.sampled_from([0.125, 0.5, 2.0, 8.0]))
def test_times_scale_with_those_of_the_calls(
    given_: tuple[ExecutionPlan, dict[str, list[float]]], concurrency: int, factor: float
) -> None:
    plan, past = given_
    scaled = {tool: [each * factor for each in seconds] for tool, seconds in past.items()}
    one = forecast(plan, past, concurrency=concurrency, draws=10)
    other = forecast(plan, scaled, concurrency=concurrency, draws=10)
    assert other.expected_s == pytest.approx(one.expected_s * factor)
    assert other.p90_s == one.p90_s * factor
    assert other.critical_path == one.critical_path


@given(known(), st.integers(0, 5))
def test_the_same_is_given_again_whatever_the_order_of_the_tools(
    given_: tuple[ExecutionPlan, dict[str, list[float]]], seed: int
) -> None:
    plan, past = given_
    turned = dict(reversed(past.items()))
    turned["never_called"] = [1.0]
    again = forecast(plan, turned, draws=10, seed=seed)
    assert again == forecast(plan, past, draws=10, seed=seed)


def test_another_seed_is_another_chance() -> None:
    past = {name: [float(at) for at in range(50)] for name in ("t0", "t1")}
    assert len({forecast(chain(2), past, seed=seed).expected_s for seed in range(5)}) == 5


@given(st.lists(st.floats(0, 1_000), min_size=1, max_size=200), st.integers(0, 5))
def test_of_a_single_call_each_past_time_counts_once(past: list[float], seed: int) -> None:
    made = forecast(chain(1), {"t0": past}, seed=seed)
    assert made.expected_s == pytest.approx(sum(past) / len(past))
    nine_of_ten = math.ceil(0.9 * (len(past) + 1))
    assert made.p90_s == sorted(past)[min(nine_of_ten, len(past)) - 1]


@given(shapes(), st.data())
def test_with_constant_times_no_limit_is_quickest_and_one_at_a_time_slowest(
    plan: ExecutionPlan, data: st.DataObject
) -> None:
    past = {step.tool: [data.draw(SECONDS)] for step in plan.plan.steps}
    spans = [forecast(plan, past, concurrency=limit).expected_s for limit in (1, 2, 3, 100)]
    assert max(spans) <= spans[0] * (1 + 1e-9)
    assert min(spans) >= spans[-1] * (1 - 1e-9)
    longest = forecast(plan, past, concurrency=100).critical_path
    by_id = {step.id: step.tool for step in plan.plan.steps}
    calls = calls_of(plan)
    way = sum(past[by_id[name]][0] for name in longest if calls[name])
    assert spans[-1] == pytest.approx(way)


@given(st.lists(st.integers(0, 8), min_size=1, max_size=12), SECONDS)
def test_more_room_never_takes_longer_where_all_calls_take_equally_long_and_ways_join(
    joins: list[int], seconds: float
) -> None:
    """Each step is needed by one other, or by none; the critical path first is best (Hu 1961)."""
    behind: dict[int, list[str]] = {}
    for at, jump in enumerate(joins):
        behind.setdefault(at + 1 + jump, []).append(f"s{at}")
    steps = [Step(f"s{at}", "t", after=tuple(behind.get(at, ()))) for at in range(len(joins))]
    spans = [
        forecast(plan_of(*steps), {"t": [seconds]}, concurrency=limit).expected_s
        for limit in range(1, 8)
    ]
    assert all(more <= less * (1 + 1e-9) for less, more in pairwise(spans))


@given(shapes(most=12), LIMITS, st.integers(0, 10_000))
def test_the_engine_takes_no_less_and_at_most_twice_as_long(
    plan: ExecutionPlan, concurrency: int, seed: int
) -> None:
    """No order is quicker; one that leaves no slot idle is at most twice as slow."""
    chance = random.Random(seed)
    past = {step.tool: [chance.uniform(0.01, 20.0)] for step in plan.plan.steps}
    found = forecast(plan, past, concurrency=concurrency).expected_s
    took = engine_seconds(plan, past, concurrency, seed)
    assert found * (1 - 1e-9) <= took <= 2 * found * (1 + 1e-9)


@given(shapes(most=12), st.integers(0, 10_000))
def test_the_engine_takes_just_as_long_where_no_limit_binds(plan: ExecutionPlan, seed: int) -> None:
    chance = random.Random(seed)
    past = {step.tool: [chance.uniform(0.01, 20.0)] for step in plan.plan.steps}
    found = forecast(plan, past, concurrency=100)
    assert engine_seconds(plan, past, 100, seed) == pytest.approx(found.expected_s)


# Calibration


CALIBRATED = {
    "a chain": (chain(6), 32),
    "independent steps": (wide(6), 32),
    "layers": (layered(3, 3), 32),
}


@pytest.mark.parametrize("calls_known", [20, 200])
@pytest.mark.parametrize("name", CALIBRATED)
def test_nine_of_ten_runs_end_within_the_time_that_says_so(name: str, calls_known: int) -> None:
    """Each of 400 trials has past calls and a run of its own, of one distribution."""
    plan, concurrency = CALIBRATED[name]
    chance = random.Random(f"{name} {calls_known}")
    tools = [step.tool for step in plan.plan.steps]
    within = 0
    errors: list[float] = []
    for trial in range(400):
        past = {
            tool: [chance.lognormvariate(-1.0, 0.8) for _ in range(calls_known)] for tool in tools
        }
        actual = {tool: [chance.lognormvariate(-1.0, 0.8)] for tool in tools}
        found = forecast(plan, past, concurrency=concurrency, draws=100, seed=trial)
        took = forecast(plan, actual, concurrency=concurrency).expected_s
        within += took <= found.p90_s
        errors.append(took / found.expected_s)
    assert 0.85 <= within / 400 <= 0.95
    low, middle, high = quantiles(errors, n=4)
    assert low < 1.0 < high
    assert 0.8 < middle < 1.2


def test_the_json_form_has_every_field_and_is_plain() -> None:
    found = Forecast(1.5, 2.0, ("a", "b"), 1, 3, 2, ("t",), ("b",), 4)
    assert found.to_json() == {
        "expected_s": 1.5,
        "p90_s": 2.0,
        "critical_path": ["a", "b"],
        "calls_least": 1,
        "calls_most": 3,
        "effect_calls_most": 2,
        "unknown_tools": ["t"],
        "unknown_counts": ["b"],
        "past_calls": 4,
    }


def test_a_large_plan_is_forecast_with_fewer_runs() -> None:
    steps = (Step(f"s{at}", "t", for_each=zeros(1000)) for at in range(30))
    found = forecast(plan_of(*steps), {"t": [1.0, 3.0]})
    assert found.calls_most == 30_000
    assert found.expected_s == pytest.approx(30_000 * 2 / 32, rel=0.05)
