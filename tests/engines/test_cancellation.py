"""Deadlines and cancellation: calls that hang, and runs that are ended."""

import asyncio
from contextlib import closing
from threading import Event as Signal

import pytest

from tests.engines._running import codes, ran, scripted, started, states
from tests.plans_strategy import execution_plan
from tests.stores import Stores
from toolplan.engine import resume, run
from toolplan.events import (
    AttemptFailed,
    RunEnded,
    RunState,
    StepCancelled,
    StepState,
    StepSucceeded,
)
from toolplan.plan.model import Literal, Plan, Ref, Step
from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Effects, Tool, Toolbox, ToolError
from toolplan.testing import Gives, Hangs, Raises, RecordingSink


async def test_a_call_that_takes_too_long_fails_its_step_and_is_cancelled() -> None:
    tools = scripted(hangs=Hangs(), good=Gives(1, delay_s=0.05))
    task, _ = started(tools, Step("a", "hangs", timeout_s=0.01), Step("b", "good"), timeout_s=30.0)
    done = await task
    assert codes(done) == {"a": "timeout"}
    assert states(done)["b"] is StepState.SUCCEEDED
    assert tools.cancelled == ["hangs"]


def test_the_default_timeout_holds_for_each_try() -> None:
    tools = scripted(t=(Hangs(), Hangs(), Gives(3)))
    done, sink = ran(tools, Step("s", "t", retries=2), timeout_s=0.01)
    assert done.steps["s"].output == 3
    assert [event.failure.code for event in sink.of(AttemptFailed)] == ["timeout", "timeout"]


async def test_a_call_that_ignores_its_cancellation_is_left_behind_and_its_answer_discarded() -> (
    None
):
    release = asyncio.Event()
    tools = scripted(deaf=Hangs(ignores_cancellation=True, until=release))
    task, sink = started(tools, Step("s", "deaf", timeout_s=0.01), grace_s=0.01)
    done = await task
    assert codes(done) == {"s": "timeout"}
    release.set()
    await tools.idle()
    assert sink.run == done


async def test_cancelling_a_run_cancels_every_call_and_says_so() -> None:
    before = asyncio.all_tasks()
    tools = scripted(hangs=Hangs(), good=Gives(1))
    task, sink = started(
        tools,
        Step("done", "good"),
        Step("a", "hangs", {"x": Ref("done")}),
        Step("b", "hangs", for_each=Literal([1, 2])),
        Step("c", "good", {"x": Ref("a")}),
    )
    await tools.started("hangs", times=3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert tools.cancelled == ["hangs"] * 3
    assert [event.step for event in sink.of(StepCancelled)] == ["a", "b", "c"]
    assert sink.of(RunEnded)[-1].status is RunState.CANCELLED
    assert states(sink.run)["done"] is StepState.SUCCEEDED
    assert asyncio.all_tasks() == before


async def test_a_run_that_is_cancelled_ends_although_a_call_does_not() -> None:
    release = asyncio.Event()
    tools = scripted(deaf=Hangs(ignores_cancellation=True, until=release))
    task, sink = started(tools, Step("s", "deaf"), grace_s=30.0)
    await tools.started("deaf")
    task.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not task.done()
    task.cancel()  # the second time it waits no longer
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sink.run.status is RunState.CANCELLED
    release.set()
    await tools.idle()
    assert sink.run.status is RunState.CANCELLED


async def test_nothing_starts_after_a_cancellation_not_even_another_try() -> None:
    tools = scripted(bad=Raises(ToolError("no")))
    task, sink = started(tools, Step("s", "bad", retries=9), backoff_s=0.01)
    await tools.started("bad")
    assert sink.of(AttemptFailed)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    made = len(tools.calls)
    await asyncio.sleep(0.03)
    assert len(tools.calls) == made
    assert states(sink.run) == {"s": "cancelled"}


def test_a_tool_that_blocks_the_loop_misses_its_deadline() -> None:
    """R21: the timer cannot fire while the loop is blocked; the answer is refused when it comes."""

    async def block(arguments: Arguments) -> Json:
        Signal().wait(0.2)
        return 1

    tools = Toolbox([Tool("block", "", {}, None, Effects.READ, call=block)])
    plan = execution_plan(Plan((Step("a", "block", timeout_s=0.05),)))
    step = asyncio.run(run(plan, tools)).steps["a"]
    assert step.state is StepState.FAILED
    assert step.error is not None
    assert step.error.code == "timeout"


async def test_the_end_of_a_run_is_reported_although_cancelled_as_its_last_call_ended() -> None:
    async def last(args: Arguments) -> Json:
        await asyncio.sleep(0.01)
        task.cancel()
        return 1

    tools = Toolbox([Tool("last", "", {"type": "object"}, None, Effects.READ, call=last)])
    sink = RecordingSink()
    plan = execution_plan(Plan((Step("s", "last"),)), tools)
    task = asyncio.ensure_future(run(plan, tools, on_event=sink))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [type(event) for event in sink.events[-2:]] == [StepSucceeded, RunEnded]
    assert sink.run.status is RunState.CANCELLED


@pytest.mark.parametrize("turns", range(6))
async def test_a_run_cancelled_while_it_is_taken_is_released(stores: Stores, turns: int) -> None:
    """It is cancelled there as well, and this process does not hold it."""

    tools = scripted(hang=Hangs())
    plan = execution_plan(Plan((Step("s", "hang"),)), tools.toolbox)
    sink = RecordingSink()
    with closing(stores.open()) as journal:
        running = run(plan, tools.toolbox, journal=journal, run_id="r", on_event=sink)
        task = asyncio.ensure_future(running)
        await asyncio.sleep(0)
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert sink.run.status is RunState.CANCELLED
        assert sink.run.steps["s"].state is StepState.CANCELLED
        assert journal.load("r") == sink.run
        lease = journal.take("r")  # the lease is free
        journal.release(lease)
        journal.forget(lease)

        again = asyncio.ensure_future(resume(plan, tools.toolbox, "r", journal=journal))
        for _ in range(turns):
            await asyncio.sleep(0)
        again.cancel()
        with pytest.raises(asyncio.CancelledError):
            await again
        journal.release(journal.take("r"))


def test_the_loop_of_a_run_ends_although_a_call_swallows_its_cancellation() -> None:
    tools = scripted(deaf=Hangs(ignores_cancellation=True, until=asyncio.Event()))
    done, _ = ran(tools, Step("s", "deaf", timeout_s=0.02), grace_s=0.02)  # with `asyncio.run`
    assert codes(done) == {"s": "timeout"}
