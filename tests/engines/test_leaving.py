"""Leaving: a process that is about to end hands its runs to another one."""

import asyncio
import uuid
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engines._running import scripted, states, zeros
from tests.plans_strategy import execution_plan
from tests.stores import Stores
from toolplan import Effects, ToolError, approve
from toolplan.engine import Leaving, resume, run
from toolplan.events import (
    CallInDoubt,
    CallIntended,
    RunEnded,
    RunState,
    StepCancelled,
    StepState,
    StepSucceeded,
)
from toolplan.plan.model import Plan, Ref, Step
from toolplan.testing import Gives, Hangs, Raises, RecordingSink, ScriptedTools


async def test_a_run_that_leaves_waits_for_its_open_call_starting_no_other(stores: Stores) -> None:
    tools = ScriptedTools()
    release = asyncio.Event()
    tools.add("slow", Gives(1, until=release))
    tools.add("next", Gives(2))
    plan = execution_plan(
        Plan((Step("a", "slow"), Step("b", "next", {"x": Ref("a")}))), tools.toolbox
    )
    leaving, sink = Leaving(30.0), RecordingSink()
    with closing(stores.open()) as journal:
        task = asyncio.ensure_future(
            run(
                plan, tools.toolbox, journal=journal, run_id="r",
                on_event=sink, leaving=leaving,
            )
        )  # fmt: skip
        await tools.started("slow")
        leaving.ask()
        await asyncio.sleep(0)
        assert not task.done()
        release.set()
        left = await task
        assert left.status is RunState.RUNNING
        assert states(left) == {"a": StepState.SUCCEEDED, "b": StepState.PENDING}
        assert not sink.of(RunEnded)
        assert [call.tool for call in tools.calls] == ["slow"]
    with closing(stores.open(owner="another:1:1")) as journal:
        assert journal.entry("r").is_left  # it was released
        done = await resume(plan, tools.toolbox, "r", journal=journal)
    assert done.succeeded
    assert [call.tool for call in tools.calls] == ["slow", "next"]


async def test_after_the_grace_a_write_that_did_not_answer_is_in_doubt(stores: Stores) -> None:
    tools = ScriptedTools()
    tools.add("hangs", Hangs(), effects=Effects.WRITE)
    tools.add("again", Hangs(), effects=Effects.WRITE, idempotent=True)
    tools.add("reads", Hangs())
    steps = (Step("w", "hangs"), Step("i", "again"), Step("r", "reads"))
    plan = execution_plan(Plan(steps), tools.toolbox)
    leaving, sink = Leaving(0.01), RecordingSink()
    with closing(stores.open()) as journal:
        task = asyncio.ensure_future(
            run(
                plan, tools.toolbox, journal=journal, run_id="r", approval=approve(plan),
                on_event=sink, leaving=leaving,
            )
        )  # fmt: skip
        for name in ("hangs", "again", "reads"):
            await tools.started(name)
        leaving.ask()
        left = await task
        assert left.status is RunState.RUNNING
        assert [event.step for event in sink.of(CallInDoubt)] == ["w"]
        assert not sink.of(RunEnded)
        assert not sink.of(StepCancelled)
        tools.add("again", Gives(1), effects=Effects.WRITE, idempotent=True)
        tools.add("reads", Gives(1))
        done = await resume(plan, tools.toolbox, "r", journal=journal)
    assert done.status is RunState.IN_DOUBT
    assert states(done) == {"w": "in_doubt", "i": "succeeded", "r": "succeeded"}


async def test_a_run_that_leaves_does_not_try_again() -> None:
    tools = scripted(bad=Raises(ToolError("no")))
    plan = execution_plan(Plan((Step("s", "bad", retries=9),)), tools.toolbox)
    leaving = Leaving(30.0)
    task = asyncio.ensure_future(
        run(plan, tools.toolbox, leaving=leaving, backoff_s=0.05, concurrency=1)
    )
    await tools.started("bad")
    leaving.ask()
    left = await task
    assert left.status is RunState.RUNNING
    assert len(tools.calls) == 1


@pytest.mark.parametrize("with_doubt", [False, True])
async def test_a_run_started_while_leaving_makes_no_call(stores: Stores, with_doubt: bool) -> None:
    tools = ScriptedTools()
    tools.add("t", Gives(1), effects=Effects.WRITE if with_doubt else Effects.READ)
    plan = execution_plan(Plan((Step("a", "t"), Step("b", "t"))), tools.toolbox)
    leaving = Leaving(0.0)
    leaving.ask()
    approval = approve(plan) if with_doubt else None
    with closing(stores.open()) as journal:
        left = await run(
            plan, tools.toolbox, journal=journal, run_id="r", approval=approval, leaving=leaving
        )
        assert left.status is RunState.RUNNING
        assert not tools.calls
        done = await resume(plan, tools.toolbox, "r", journal=journal)
    assert done.succeeded


async def test_a_run_whose_last_call_ends_while_it_leaves_ends() -> None:
    tools = ScriptedTools()
    release = asyncio.Event()
    tools.add("slow", Gives(1, until=release))
    plan = execution_plan(Plan((Step("a", "slow"),)), tools.toolbox)
    leaving = Leaving(30.0)
    task = asyncio.ensure_future(run(plan, tools.toolbox, leaving=leaving))
    await tools.started("slow")
    leaving.ask()
    release.set()
    assert (await task).succeeded


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(after=st.integers(0, 12), width=st.integers(1, 4))
async def test_wherever_a_run_leaves_each_write_is_made_once(
    stores: Stores, after: int, width: int
) -> None:
    """The law: left and resumed as often as it takes, a run is what it is without leaving."""

    tools = ScriptedTools()
    tools.add("read", *(Gives(1, delay_s=0) for _ in range(40)))
    tools.add("write", *(Gives(2, delay_s=0) for _ in range(40)), effects=Effects.WRITE)
    steps = (
        Step("r", "read", for_each=zeros(width)),
        Step("w", "write", for_each=Ref("r")),
        Step("end", "read", {"x": Ref("w")}),
    )
    plan = execution_plan(Plan(steps), tools.toolbox)
    name = uuid.uuid4().hex
    with closing(stores.open()) as journal:
        leaving, seen = Leaving(30.0), 0

        def count(event: object) -> None:
            nonlocal seen
            seen += 1
            if seen > after:
                leaving.ask()

        done = await run(
            plan, tools.toolbox, journal=journal, run_id=name, approval=approve(plan),
            on_event=count, leaving=leaving, concurrency=2,
        )  # fmt: skip
        if done.status is RunState.RUNNING:
            done = await resume(plan, tools.toolbox, name, journal=journal)
        assert done.succeeded
        events = journal.events(name)
    intended = [(each.step, each.item) for each in events if isinstance(each, CallIntended)]
    assert len(intended) == len(set(intended)) == width
    assert sum(call.tool == "write" for call in tools.calls) == width
    ended = [each.step for each in events if isinstance(each, StepSucceeded)]
    assert sorted(ended) == ["end", "r", "w"]
