"""The benchmarks of the engine: they measure what they say, and the same on both sides."""

import asyncio
import json
import sys

import pytest

from benchmarks.engine import __main__ as command
from benchmarks.engine import costs, memory, peers, streams
from benchmarks.engine.fan import FanOut, most_tasks
from benchmarks.engine.graphs import execution_plan, layered, nothing, ours, raw, toolbox
from benchmarks.engine.makespan import makespan
from benchmarks.engine.rows import Row, line, to_json
from toolplan.events import Event, StepSucceeded
from toolplan.plan.model import Literal, Plan, Step
from toolplan.plan.path import Json
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Arguments, Effects


def test_a_layered_plan_refers_only_to_the_layer_before() -> None:
    plan = execution_plan(layered(120, width=20), toolbox(nothing))
    places = {name: at for at, name in enumerate(plan.order)}
    for name, needed in plan.needs.items():
        assert all(places[each] // 20 == places[name] // 20 - 1 for each in needed)
        assert bool(needed) == (places[name] >= 20)


def keys_of(run_it: str, plan: ExecutionPlan) -> list[Json]:
    seen: list[Json] = []

    async def note(args: Arguments) -> Json:
        seen.append(args["key"])
        await asyncio.sleep(0)
        return {"n": 1}

    asyncio.run(raw(plan, note) if run_it == "raw" else ours(plan, toolbox(note)))
    return seen


@pytest.mark.parametrize("run_it", ["raw", "ours"])
def test_both_sides_make_each_call_once_and_after_what_it_needs(run_it: str) -> None:
    plan = execution_plan(layered(200), toolbox(nothing))
    places = {key: at for at, key in enumerate(keys_of(run_it, plan))}
    assert sorted(map(str, places)) == sorted(plan.order)
    for name, needed in plan.needs.items():
        assert all(places[each] < places[name] for each in needed)


def test_results_of_the_measured_runs_are_checked() -> None:
    async def wrong(args: Arguments) -> Json:
        return {"n": "one"}

    plan = execution_plan(layered(10), toolbox(wrong))
    with pytest.raises(RuntimeError, match="failed"):
        asyncio.run(ours(plan, toolbox(wrong)))


def test_arguments_of_the_measured_runs_are_checked() -> None:
    tools = toolbox(nothing)
    with_no_key = Plan((Step("s0", "work", {"left": Literal(1)}),))
    with pytest.raises(RuntimeError, match="failed"):
        asyncio.run(ours(execution_plan(with_no_key, tools), tools))


def test_the_measured_runs_report_their_events() -> None:
    tools = toolbox(nothing, Effects.WRITE)
    events: list[Event] = []
    plan = execution_plan(layered(60), tools)
    asyncio.run(ours(plan, tools, on_event=events.append))
    assert sum(isinstance(each, StepSucceeded) for each in events) == 60


def test_every_way_has_its_cost() -> None:
    found = costs.costs(60, 1, journaled=True)
    in_memory = [costs.RAW, costs.MEMORY, costs.LISTED]
    assert list(found) == [*in_memory, costs.JOURNAL, costs.EFFECTS]
    assert all(each.cpu_us > 0 and each.wall_us > 0 for each in found.values())
    assert list(costs.costs(60, 1, journaled=False)) == in_memory


def test_growth_is_seen_whatever_memory_the_starter_of_the_process_has() -> None:
    held = bytearray(b"x" * 2**27)  # `ru_maxrss` of a child would begin above that
    grown = memory.measured("steps", 5_000).grown
    assert held[-1] == ord("x")
    assert 100 < grown / 5_000 < 10_000


def test_the_peak_of_memory_is_that_of_this_process() -> None:
    before = memory.peak_bytes()
    held = bytearray(b"x" * max(2 * before, 2**26))
    assert memory.peak_bytes() - before > len(held) / 4


@pytest.mark.parametrize("is_raw", [True, False])
def test_no_run_is_shorter_than_its_longest_path(is_raw: bool) -> None:
    found = makespan(100, 0.002, is_raw=is_raw)
    assert found.over_path >= 1
    assert found.wall_s > 2 * 0.002


def test_a_streamed_chain_is_over_sooner() -> None:
    found = asyncio.run(streams.all_shapes(streams.Speed(2_400, 0.05)))
    assert list(found) == list(streams.SHAPES)
    assert found["a chain"].times_as_fast > 1


def test_no_effect_before_the_plan_is_whole_and_approved() -> None:
    held = asyncio.run(streams.held_back(streams.Speed(2_400, 0.01)))
    assert held == streams.Held(reads=8, writes=0)


def test_items_stay_in_order_on_both_sides() -> None:
    fan = FanOut(300, 20)
    for turn in (asyncio.run(fan.ours()), asyncio.run(fan.raw())):
        assert turn.in_order
        assert turn.over_ideal >= 1


def test_many_items_are_not_many_tasks() -> None:
    assert 20 <= asyncio.run(most_tasks(FanOut(500, 20))) <= 25


@pytest.mark.parametrize(
    ("row", "is_met"),
    [
        (Row("reported", 7), True),
        (Row("at most", 4.0, 4.0), True),
        (Row("at most", 4.1, 4.0), False),
        (Row("at least", 1.3, 1.3, False), True),
        (Row("at least", 1.2, 1.3, False), False),
    ],
)
def test_goals_are_met_or_not(row: Row, is_met: bool) -> None:
    assert row.is_met is is_met
    assert ("NOT MET" in line(row)) is not is_met
    assert to_json(row)["is_met"] is is_met


def test_a_line_has_goal_figure_and_what_is_beside_it() -> None:
    said = line(Row("steps a second", 12_345.6, 10_000, False, "2 CPUs")).split("  ")
    assert [part.strip() for part in said if part] == [
        "steps a second",
        "≥ 10,000",
        "12,346",
        "met",
        "2 CPUs",
    ]


def run_command(monkeypatch: pytest.MonkeyPatch, *options: str) -> object:
    monkeypatch.setattr(sys, "argv", ["benchmarks.engine", *options])
    with pytest.raises(SystemExit) as ended:
        command.main()
    return ended.value.code


def test_the_command_prints_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(monkeypatch, "--quick", "--json", "--only", "makespan,fan") == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["rows"]) == 4
    assert set(found["not_installed"]) <= set(peers.PEERS)


def test_the_command_prints_a_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(monkeypatch, "--quick", "--only", "makespan") == 0
    assert "makespan over longest path" in capsys.readouterr().out


def test_there_is_no_other_part(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(monkeypatch, "--only", "costs,nothing") == 2
    assert "no part 'nothing'" in capsys.readouterr().err


def test_a_goal_that_is_missed_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(command.PARTS, "fan", lambda quick: iter([Row("slow", 2.0, 1.0)]))
    assert run_command(monkeypatch, "--only", "fan") == 1
    assert "NOT MET" in capsys.readouterr().out
