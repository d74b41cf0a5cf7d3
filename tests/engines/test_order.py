"""When steps and items start, and how many at once."""

import asyncio

from tests.engines._running import ran, scripted, started, states, zeros
from toolplan.events import ItemEnded, StepStarted, StepState, StepSucceeded
from toolplan.plan.model import Limits, Literal, Ref, Step, When
from toolplan.plan.path import EVERY
from toolplan.schema.tool import Arguments
from toolplan.testing import Computes, Gives, ScriptedTools


async def test_a_dependent_starts_while_an_unrelated_slow_step_is_still_running_c_30() -> None:
    """C-30, F002-17: no waves. The slow step is let go only when all the others are over."""

    gate = asyncio.Event()
    tools = scripted(slow=Gives("slow", until=gate), fast=Gives("fast"), echo=None)
    task, sink = started(
        tools,
        Step("slow", "slow"),
        Step("fast", "fast"),
        Step("one", "echo", {"x": Ref("fast")}),
        Step("two", "echo", {"x": Ref("one", ("x",))}),
        Step("join", "echo", {"x": Ref("two"), "y": Ref("slow")}),
    )
    await tools.started("echo", times=2)
    await asyncio.sleep(0)
    assert sink.run.steps["two"].output == {"x": "fast"}
    assert sink.run.steps["slow"].state is StepState.RUNNING
    assert sink.run.steps["join"].state is StepState.PENDING
    gate.set()
    done = await task
    assert done.steps["join"].output == {"x": {"x": "fast"}, "y": "slow"}


def test_independent_steps_run_at_the_same_time_and_no_more_than_allowed() -> None:
    def most(concurrency: int) -> int:
        tools = scripted(work=Gives(1, delay_s=0.001))
        steps = [Step(f"s{at}", "work") for at in range(20)]
        fan = Step("fan", "work", for_each=zeros(50))
        done, _ = ran(tools, *steps, fan, concurrency=concurrency)
        assert done.succeeded
        return tools.most_running

    assert [most(limit) for limit in (1, 3, 100)] == [1, 3, 70]


def test_ready_steps_start_in_the_order_of_the_plan_when_the_limit_binds() -> None:
    tools = scripted(echo=None)
    steps = [Step(str(at), "echo", {"at": Literal(at)}) for at in (3, 1, 2, 0)]
    behind = Step("4", "echo", {"at": Literal(4), "x": Ref("3")})
    ran(tools, behind, *steps, concurrency=1)
    # the first of the plan waits for its input, and is the first again when that is there
    assert [args["at"] for args in tools.args_of("echo")] == [3, 4, 1, 2, 0]


def test_a_reference_to_a_step_written_later_is_legal() -> None:
    tools = scripted(echo=None)
    done, _ = ran(
        tools, Step("b", "echo", {"x": Ref("a", ("x",))}), Step("a", "echo", {"x": Literal(1)})
    )
    assert done.steps["b"].output == {"x": 1}
    assert list(done.steps) == ["b", "a"]


async def test_for_each_gives_outputs_in_the_order_of_the_items_whichever_is_first() -> None:
    gates = [asyncio.Event() for _ in range(3)]
    tools = ScriptedTools()
    tools.add("work", *[Gives(f"out {at}", until=gate) for at, gate in enumerate(gates)])
    task, sink = started(tools, Step("s", "work", for_each=Literal([0, 1, 2])))
    await tools.started("work", times=3)
    for gate in reversed(gates):
        gate.set()
        for _ in range(5):
            await asyncio.sleep(0)
    done = await task
    assert done.steps["s"].output == ["out 0", "out 1", "out 2"]
    assert [event.item for event in sink.of(ItemEnded)] == [2, 1, 0]
    assert done.steps["s"].items == done.steps["s"].items_done == 3


def test_an_empty_list_runs_no_call_and_gives_an_empty_list() -> None:
    tools = scripted(echo=None, rows=Gives({"data": []}))
    done, sink = ran(
        tools,
        Step("rows", "rows"),
        Step("each", "echo", {"x": Ref("item")}, for_each=Ref("rows", ("data", EVERY, "id"))),
        Step("ids", "echo", {"ids": Ref("rows", ("data", EVERY, "id"))}),
    )
    assert (done.steps["each"].output, done.steps["each"].attempts) == ([], 0)
    assert done.steps["ids"].output == {"ids": []}  # DESIGN 4: `[]` is passed on as it is
    assert [event.items for event in sink.of(StepStarted) if event.step == "each"] == [0]


async def test_thousands_of_items_are_never_thousands_of_tasks_and_hold_nothing_up() -> None:
    most = 0

    def work(args: Arguments) -> int:
        nonlocal most
        most = max(most, len(asyncio.all_tasks()))
        return 1

    tools = scripted(work=Computes(work), echo=None)
    task, sink = started(
        tools,
        Step("many", "work", for_each=zeros(10_000), max_items=10_000),
        Step("a", "echo", {"x": Literal(1)}),
        Step("b", "echo", {"x": Ref("a")}),
        Step("c", "echo", {"x": Ref("b")}),
        limits=Limits(items=10_000, calls=10_003),
        concurrency=4,
    )
    done = await task
    assert done.succeeded
    # each call, and one that makes way for it where calls are slow; the run, the test itself
    assert most <= 2 * 4 + 2
    # the three steps came first, although the many are written before them
    ended = [e.step for e in sink.events if isinstance(e, StepSucceeded | ItemEnded)]
    assert ended.index("c") < 50


def test_ten_thousand_steps_one_behind_the_other_need_no_deep_stack() -> None:
    tools = scripted(echo=Gives(1), rows=Gives(1))
    chain = [Step("s0", "rows")]
    chain += [Step(f"s{at}", "echo", {"x": Ref(f"s{at - 1}")}) for at in range(1, 3_000)]
    done, _ = ran(tools, *chain)
    assert done.succeeded
    tools.add("rows", Computes(lambda _: {1}))
    done, _ = ran(tools, *chain)
    assert states(done)["s2999"] is StepState.SKIPPED


def test_outputs_of_steps_that_nothing_refers_to_are_the_output_of_the_plan() -> None:
    tools = scripted(echo=None)
    steps = (
        Step("a", "echo", {"x": Literal(1)}),
        Step("b", "echo", {"x": Ref("a", ("x",))}),
        Step("c", "echo", {"x": Literal(3)}, after=("b",)),
    )
    done, _ = ran(tools, *steps)
    assert done.output == {"b": {"x": 1}, "c": {"x": 3}}
    done, _ = ran(tools, *steps, output=Ref("a", ("x",)))
    assert done.output == 1


def test_a_step_that_makes_no_call_frees_its_place_at_a_limit_for_the_next() -> None:
    tools = scripted(read=Gives({"n": 1}))
    steps = (
        Step("a", "read"),
        Step("none", "read", {"x": Ref("item")}, for_each=Literal([])),
        Step("no", "read", when=When(Literal(1), False)),
        Step("b", "read"),
    )
    done, _ = ran(tools, *steps, tool_concurrency={"read": 1})
    assert done.succeeded
    assert done.steps["b"].output == {"n": 1}
