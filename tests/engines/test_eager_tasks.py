"""Calls that begin in the turn in which the last of their needs ended."""

import asyncio
import gc
import types
import weakref
from asyncio import Future, Task
from collections.abc import Generator
from contextlib import closing
from contextvars import ContextVar, copy_context
from typing import Literal as Either
from typing import TypeAlias

import anyio
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.plans_strategy import execution_plan
from tests.simulation.loop import VirtualLoop
from tests.sizes import share_of
from tests.stores import Stores
from toolplan.engine import run
from toolplan.engine._eager import eager_task
from toolplan.events import Event, StepStarted
from toolplan.plan.model import Plan, Ref, Step
from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Call, Effects, Tool, Toolbox, ToolError

LONG_S = 0.01


def toolbox(**calls: Call) -> Toolbox:
    """Return tools that take anything, by name."""
    return Toolbox(
        [
            Tool(
                name,
                "Does what the test says.",
                {"type": "object"},
                None,
                effects=Effects.READ,
                call=call,
            )
            for name, call in calls.items()
        ]
    )


FIRST = Step("a", "first")
SECOND = Step("b", "second", {"x": Ref("a")})


@pytest.mark.parametrize(("seconds", "seen"), [(LONG_S, ["b", "turn"]), (0.0, ["turn", "b"])])
async def test_what_waited_for_a_long_call_begins_in_the_turn_in_which_that_ended(
    seconds: float, seen: list[str]
) -> None:
    order: list[str] = []

    async def first(args: Arguments) -> Json:
        await asyncio.sleep(seconds)
        asyncio.get_running_loop().call_soon(order.append, "turn")
        return 1

    async def second(args: Arguments) -> Json:
        order.append("b")
        return 1

    tools = toolbox(first=first, second=second)
    done = await run(execution_plan(Plan((FIRST, SECOND)), tools), tools)
    assert done.succeeded
    assert order == seen


async def test_the_first_calls_of_a_run_begin_eagerly(kept: Stores | None) -> None:
    order: list[str] = []

    async def first(args: Arguments) -> Json:
        order.append("a")
        return 1

    tools = toolbox(first=first)
    asyncio.get_running_loop().call_soon(order.append, "turn")
    await run(execution_plan(Plan((FIRST,)), tools), tools)
    # all of it took a turn: who waits for it is not starved; a journal takes the run first
    assert order == (["a", "turn"] if kept is None else ["turn", "a"])


@pytest.mark.parametrize("fails", [False, True])
async def test_steps_that_end_as_they_begin_let_others_have_a_turn_between(fails: bool) -> None:
    """A chain of calls that block the loop does not keep it for its whole length."""

    turns = 0

    def turn() -> None:
        nonlocal turns
        turns += 1
        asyncio.get_running_loop().call_soon(turn)

    seen: list[int] = []

    async def blocking(args: Arguments) -> Json:
        until = asyncio.get_running_loop().time() + 0.002
        while asyncio.get_running_loop().time() < until:
            pass
        seen.append(turns)
        if fails:
            raise ToolError("no")
        return 1

    names = [f"s{at}" for at in range(10)]
    chain = [
        Step(name, "blocking", {"x": Ref(before)} if before else {}, on_error="continue")
        for name, before in zip(names, ["", *names], strict=False)
    ]
    turn()
    tools = toolbox(blocking=blocking)
    assert (await run(execution_plan(Plan(tuple(chain)), tools), tools)).succeeded
    # two in one turn at most: the one that ended, and the one that it made way for
    assert all(seen[at] < seen[at + 2] for at in range(8))


async def test_a_call_has_its_own_task_from_its_first_line_on() -> None:
    tasks: list[Task[Json] | None] = []

    async def first(args: Arguments) -> Json:
        await asyncio.sleep(LONG_S)
        tasks.append(asyncio.current_task())
        return 1

    async def second(args: Arguments) -> Json:
        tasks.append(asyncio.current_task())
        async with asyncio.TaskGroup() as group:
            inner = group.create_task(asyncio.sleep(0, 7))
        try:
            async with asyncio.timeout(LONG_S):
                await asyncio.sleep(60)
        except TimeoutError:
            return inner.result()

    async def third(args: Arguments) -> Json:
        tasks.append(asyncio.current_task())
        return 1

    tools = toolbox(first=first, second=second, third=third)
    plan = Plan((FIRST, SECOND, Step("c", "third", {"x": Ref("a")})))
    done = await run(execution_plan(plan, tools), tools)
    assert done.steps["b"].output == 7
    assert [task.get_name() for task in tasks if task is not None] == ["a", "b", "c"]
    assert len({id(task) for task in tasks}) == 3


@pytest.mark.parametrize("seconds", [LONG_S, 0.0])
async def test_what_a_tool_sets_in_its_context_no_other_one_sees(seconds: float) -> None:
    who: ContextVar[str] = ContextVar("who", default="unset")
    found: list[str] = []

    async def first(args: Arguments) -> Json:
        found.append(who.get())
        who.set("first")
        await asyncio.sleep(seconds)
        found.append(who.get())
        return 1

    async def second(args: Arguments) -> Json:
        found.append(who.get())
        return 1

    tools = toolbox(first=first, second=second)
    who.set("the caller")
    await run(execution_plan(Plan((FIRST, SECOND)), tools), tools)
    assert found == ["the caller", "first", "the caller"]
    assert who.get() == "the caller"


async def test_cancelling_a_run_in_the_turn_of_a_call_cancels_what_that_awaits() -> None:
    inner: list[Task[None]] = []
    running: list[Task[object]] = []

    async def first(args: Arguments) -> Json:
        await asyncio.sleep(LONG_S)
        return 1

    async def second(args: Arguments) -> Json:
        inner.append(asyncio.ensure_future(asyncio.sleep(60)))
        await inner[0]
        return 1

    def watch(event: Event) -> None:
        if isinstance(event, StepStarted) and event.step == "b":
            running[0].cancel()

    tools = toolbox(first=first, second=second)
    plan = execution_plan(Plan((FIRST, SECOND)), tools)
    running.append(asyncio.ensure_future(run(plan, tools, on_event=watch)))
    with pytest.raises(asyncio.CancelledError):
        await running[0]
    assert inner[0].cancelled()


async def test_a_scope_that_one_tool_cancels_catches_that_in_another() -> None:
    """anyio knows its own cancellations by their message, which has to arrive."""

    scopes: list[anyio.CancelScope] = []

    async def first(args: Arguments) -> Json:
        await asyncio.sleep(LONG_S)
        return 1

    async def second(args: Arguments) -> Json:
        with anyio.CancelScope() as scope:
            scopes.append(scope)
            await anyio.sleep(60)
        return scope.cancelled_caught

    async def third(args: Arguments) -> Json:
        scopes[0].cancel()
        return 1

    tools = toolbox(first=first, second=second, third=third)
    plan = Plan((FIRST, SECOND, Step("c", "third", {"x": Ref("a")})))
    done = await run(execution_plan(plan, tools), tools)
    assert done.steps["b"].output is True


async def test_a_call_that_waits_shows_where() -> None:
    begun, seen = asyncio.Event(), asyncio.Event()

    async def first(args: Arguments) -> Json:
        begun.set()
        await seen.wait()
        return 1

    tools = toolbox(first=first)
    going = asyncio.ensure_future(run(execution_plan(Plan((FIRST,)), tools), tools))
    await begun.wait()
    (task,) = (each for each in asyncio.all_tasks() if each.get_name() == "a")
    assert "_run_call" in repr(task)
    assert task.get_stack()
    seen.set()
    await going


async def test_no_task_of_a_call_is_left_for_the_collector() -> None:
    tasks: list[weakref.ref[Task[object]]] = []

    async def first(args: Arguments) -> Json:
        keep()
        await asyncio.sleep(LONG_S)
        return 1

    async def second(args: Arguments) -> Json:
        keep()
        return 1

    def keep() -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.append(weakref.ref(task))

    tools = toolbox(first=first, second=second)
    plan = Plan((FIRST, SECOND, Step("c", "second")))
    gc.collect()
    gc.disable()
    try:
        await run(execution_plan(plan, tools), tools)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert [ref() for ref in tasks] == [None, None, None]
    finally:
        gc.enable()


def test_what_is_yielded_and_not_awaited_is_an_error_as_ever() -> None:
    async def test(*, eager: bool) -> str:
        @types.coroutine
        def wrong() -> Generator[object, None, None]:
            yield asyncio.get_running_loop().create_future()

        async def waits() -> None:
            await wrong()

        loop = asyncio.get_running_loop()
        task = eager_task(waits(), loop, "t", copy_context()) if eager else Task(waits(), loop=loop)
        (error,) = await asyncio.gather(task, return_exceptions=True)
        return repr(error).partition(" in ")[0]

    lines = asyncio.run(test(eager=True))
    assert lines == asyncio.run(test(eager=False))
    assert "yield was used instead of yield from" in lines


Act: TypeAlias = Either["turn", "done", "shared", "sleep", "inner", "timeout", "raise", "shield"]
ACTS: tuple[Act, ...] = ("turn", "done", "shared", "sleep", "inner", "timeout", "raise", "shield")


async def acting(acts: list[Act], shared: Future[int], lines: list[str]) -> None:
    """Do what `acts` say, and note how each of it ended."""
    for act in acts:
        lines.append(f"{act} by {getattr(asyncio.current_task(), 'get_name', str)()}")
        try:
            await _act(act, shared, lines)
        except asyncio.CancelledError as error:
            lines.append(f"{act} cancelled {error.args}")
            if act != "shield":  # that one continues, as some tools do
                raise
        except TimeoutError:
            lines.append("timed out")
        lines.append(f"{act} over")


async def _act(act: Act, shared: Future[int], lines: list[str]) -> None:
    match act:
        case "turn":
            await asyncio.sleep(0)
        case "done":
            over: Future[int] = asyncio.get_running_loop().create_future()
            over.set_result(1)
            await over
        case "shared":
            lines.append(str(await shared))
        case "sleep":
            await asyncio.sleep(0.001)
        case "inner":
            inner = asyncio.ensure_future(asyncio.sleep(0.002))
            try:
                await inner
            finally:
                lines.append(f"inner task cancelled: {inner.cancelled()}")
        case "timeout":
            async with asyncio.timeout(0.001):
                await asyncio.sleep(60)
        case "raise":
            raise LookupError(act)
        case "shield":
            await asyncio.shield(asyncio.ensure_future(asyncio.sleep(0.001)))


@settings(max_examples=share_of(400))
@example([["turn"]], 1)
@given(
    st.lists(st.lists(st.sampled_from(ACTS), max_size=4), min_size=1, max_size=3),
    st.one_of(st.none(), st.integers(0, 4)),
)
def test_an_eager_task_does_what_any_other_does(
    plays: list[list[Act]], cancelled_after: int | None
) -> None:
    """Whatever its coroutine awaits, raises or is cancelled at; several share one future.

    Time is simulated, so that no turn takes any.
    """

    async def play(*, eager: bool) -> list[list[str]]:
        loop = asyncio.get_running_loop()
        shared: Future[int] = loop.create_future()
        timer = loop.call_later(0.0015, shared.set_result, 5)
        lines: list[list[str]] = [[] for _ in plays]
        tasks: list[Task[None]] = []
        for at, acts in enumerate(plays):
            coroutine = acting(acts, shared, lines[at])
            if eager:
                tasks.append(eager_task(coroutine, loop, f"t{at}", copy_context()))
            else:
                tasks.append(Task(coroutine, loop=loop, name=f"t{at}"))
        if not eager:
            await asyncio.sleep(0)  # now they are where the others are already
        for _ in range(cancelled_after or 0):
            await asyncio.sleep(0)
        if cancelled_after is not None:
            for task in tasks:
                task.cancel("enough")
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        timer.cancel()
        for ended, line in zip(ends, lines, strict=True):
            line.append(repr(ended))
        return lines

    def played(*, eager: bool) -> list[list[str]]:
        with closing(VirtualLoop()) as loop:
            return loop.run_until_complete(play(eager=eager))

    assert played(eager=True) == played(eager=False)
