"""Plans that are still being written: what reads starts at once, what has effects waits."""

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple, cast

import pytest

from tests.engines._running import scripted, states
from tests.plans_strategy import execution_plan
from tests.stores import Stores
from toolplan import Effects, ExecutionPlan, Toolbox, ToolError, compile_stream
from toolplan.engine import CannotRun, StepStream, StreamRefused, run, run_stream
from toolplan.events import PlanSettled, RunState, StepArrived, StepState
from toolplan.plan.model import Literal, Plan, Ref, Step
from toolplan.policy.approval import Approval, ApprovalRequired, approve
from toolplan.testing import Gives, Hangs, Raises, RecordingSink, ScriptedTools


class Whole(NamedTuple):
    plan: ExecutionPlan | None


class Written:
    """A stream of steps, each let through by `gate`, and then the plan."""

    def __init__(self, steps: list[Step], plan: ExecutionPlan | None) -> None:
        self.steps = steps
        self.gates = [asyncio.Event() for _ in (*steps, None)]
        self.compiled = Whole(plan)

    def open(self) -> "Written":
        for gate in self.gates:
            gate.set()
        return self

    async def __aiter__(self) -> AsyncIterator[Step]:
        for step, gate in zip(self.steps, self.gates, strict=False):
            await gate.wait()
            yield step
        await self.gates[-1].wait()


def tools() -> ScriptedTools:
    made = scripted(read=Gives({"n": 1}))
    made.add("write", Gives("done"), effects=Effects.WRITE)
    made.add("hang", Hangs())
    made.add("fail", Raises(ToolError("no")))
    return made


A = Step("a", "read")
B = Step("b", "read", {"x": Ref("a", ("n",))})
W = Step("w", "write", {"x": Ref("b", ("n",))})


async def test_what_reads_runs_while_the_plan_is_written_and_effects_wait_for_its_end() -> None:
    made = tools()
    plan = execution_plan(Plan((A, W, B)), made.toolbox)
    stream = Written([A, W, B], plan)
    sink = RecordingSink()
    going = asyncio.ensure_future(
        run_stream(stream, made.toolbox, approval=approve(plan), on_event=sink)
    )
    stream.gates[0].set()
    await made.started("read")
    stream.gates[1].set()
    stream.gates[2].set()
    await made.started("read", 2)
    await asyncio.sleep(0.01)
    assert made.args_of("write") == []  # the plan is not whole
    stream.gates[3].set()
    done = await going
    assert done.status is RunState.SUCCEEDED
    assert made.args_of("write") == [{"x": 1}]
    assert [event.step for event in sink.of(StepArrived)] == ["a", "w", "b"]
    assert sink.of(PlanSettled)[0].digest == plan.digest == done.digest
    assert list(done.steps) == ["a", "w", "b"]


async def test_a_step_may_come_before_what_it_needs() -> None:
    plan = execution_plan(Plan((B, A)))
    done = await run_stream(Written([B, A], plan).open(), tools().toolbox)
    assert done.output == {"b": {"n": 1}}


async def test_a_streamed_run_gives_what_the_same_plan_gives_whole() -> None:
    steps = [A, B, Step("f", "fail"), Step("g", "read", {"x": Ref("f")}), Step("e", "read")]

    made = tools()
    plan = execution_plan(Plan(tuple(steps), output=Ref("b")))
    whole = await run(plan, made.toolbox)
    streamed = await run_stream(Written(steps[:3], plan).open(), made.toolbox)
    assert states(streamed) == states(whole)
    assert streamed.output == whole.output


@pytest.mark.parametrize("whole", [False, True])
async def test_a_stream_that_ends_early_or_differs_cancels_what_it_started(whole: bool) -> None:
    made = tools()
    changed = Step("h", "hang", {"x": Literal(2)})
    plan = execution_plan(Plan((A, changed))) if whole else None
    stream = Written([A, Step("h", "hang"), W], plan).open()
    with pytest.raises(StreamRefused) as caught:
        await run_stream(stream, made.toolbox)
    assert made.cancelled == ["hang"]
    assert made.args_of("write") == []
    assert caught.value.run.status is RunState.CANCELLED
    assert caught.value.run.steps["a"].state is StepState.SUCCEEDED
    assert caught.value.run.steps["h"].state is StepState.CANCELLED


async def test_without_an_approval_no_effect_of_a_stream_happens() -> None:
    made = tools()
    plan = execution_plan(Plan((A, B, W)), made.toolbox)

    async def refuse(asked: ExecutionPlan) -> Approval | None:
        assert asked.digest == plan.digest

    for approval in (None, refuse):
        with pytest.raises(ApprovalRequired):
            await run_stream(Written([A, B, W], plan).open(), made.toolbox, approval=approval)
    assert made.args_of("write") == []


async def test_an_error_of_the_stream_reaches_the_caller_of_the_run() -> None:
    class Broken(Written):
        async def __aiter__(self) -> AsyncIterator[Step]:
            yield Step("h", "hang")
            await asyncio.sleep(0.01)
            raise ConnectionError("the model is gone")

    made = tools()
    with pytest.raises(ConnectionError):
        await run_stream(Broken([], None), made.toolbox)
    assert made.cancelled == ["hang"]


async def test_what_a_stream_gives_does_not_hang_on_when_its_steps_came() -> None:
    """Without an output of its own a plan gives what no step refers to."""

    made = tools()
    plan = execution_plan(Plan((A, B)), made.toolbox)
    stream = Written([A, B], plan)
    going = asyncio.ensure_future(run_stream(stream, made.toolbox))
    stream.gates[0].set()
    await made.started("read")
    await asyncio.sleep(0.01)
    stream.open()
    assert (await going).output == (await run(plan, made.toolbox)).output == {"b": {"n": 1}}


async def test_a_step_that_is_given_twice_is_not_run_twice() -> None:
    made = tools()
    plan = execution_plan(Plan((A,)), made.toolbox)
    with pytest.raises(StreamRefused, match="'a' was given twice"):
        await run_stream(Written([A, A], plan).open(), made.toolbox)
    assert len(made.args_of("read")) <= 1


@pytest.mark.parametrize("tool", ["read", "nobody_has_it"])
async def test_who_writes_is_reported_when_the_run_has_ended(tool: str) -> None:
    made = tools()
    ended: list[str] = []

    async def writing() -> AsyncIterator[str]:
        try:
            yield '{"toolplan": 1, "steps": [{"id": "a", "tool": "read"}, '
            await asyncio.sleep(0)
            yield '{"id": "b", "tool": "read"}, '
            await asyncio.Event().wait()
        finally:
            ended.append("writing")

    stream = compile_stream(writing(), tools=made.toolbox)
    known = made.toolbox if tool == "read" else Toolbox([])
    going = asyncio.ensure_future(run_stream(stream, known))
    if tool == "read":
        await made.started("read", times=2)
        going.cancel()
    with pytest.raises((asyncio.CancelledError, CannotRun)):
        await going
    assert ended == ["writing"]


async def test_a_journal_gets_a_streamed_run_when_its_plan_is_whole(stores: Stores) -> None:
    made = tools()
    journal = stores.open()
    plan = execution_plan(Plan((A, B, W)), made.toolbox)
    stream = Written([A, B, W], plan)
    going = asyncio.ensure_future(
        run_stream(stream, made.toolbox, approval=approve(plan), journal=journal, run_id="r1")
    )
    stream.gates[0].set()
    await made.started("read")
    assert journal.runs() == []
    stream.open()
    done = await going
    assert done.succeeded
    assert journal.load("r1") == done
    journal.close()


async def texts() -> AsyncIterator[str]:
    yield '{"toolplan": 1, "steps": []}'


async def bare_steps() -> AsyncIterator[Step]:
    yield A


@pytest.mark.parametrize(
    ("stream", "given"),
    [
        (texts(), "async_generator"),
        (bare_steps(), "async_generator"),
        ("a plan", "str"),
        (Written(cast("list[Step]", ["a piece of text"]), None).open(), "str"),
    ],
)
async def test_what_streams_no_steps_is_reported_with_what_does(stream: object, given: str) -> None:
    made = tools()
    # one that is not iterated over would never be at its end
    going = run_stream(cast("StepStream", stream), made.toolbox)
    with pytest.raises(TypeError, match=r"toolplan\.compile_stream") as caught:
        await asyncio.wait_for(going, 30)
    assert repr(given) in str(caught.value)
    assert made.calls == []
