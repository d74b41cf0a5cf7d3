"""Limits that several runs share: what is granted is used or given back."""

import asyncio
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from tests.engines._running import scripted, zeros
from tests.plans_strategy import execution_plan
from toolplan.engine import Leaving, run
from toolplan.plan.model import Plan, Ref, Step, When
from toolplan.testing import Gives, Hangs, ScriptedTools


class Slots:
    """A shared limit of this process, which notices what is not given back."""

    def __init__(self, most: int) -> None:
        self.free = most
        self.most = most
        self.waiting: list[Callable[[], None]] = []

    def ask(self, granted: Callable[[], None]) -> None:
        self.waiting.append(granted)
        asyncio.get_running_loop().call_soon(self._grant)

    def withdraw(self, granted: Callable[[], None]) -> None:
        self.waiting.remove(granted)

    def release(self) -> None:
        self.free += 1
        assert self.free <= self.most
        asyncio.get_running_loop().call_soon(self._grant)

    def _grant(self) -> None:
        if self.free and self.waiting:
            self.free -= 1
            self.waiting.pop(0)()


@given(most=st.integers(1, 3), runs=st.integers(1, 4), items=st.integers(0, 5))
async def test_runs_never_make_more_calls_at_once_than_they_share(
    most: int, runs: int, items: int
) -> None:
    tools = ScriptedTools()
    tools.add("shared", *(Gives(1, delay_s=0.0001) for _ in range(100)))
    tools.add("free", Gives(True))
    slots = Slots(most)
    steps = (
        Step("f", "free"),
        Step("a", "shared", for_each=zeros(items)),
        Step("b", "shared", {"x": Ref("f")}),
        Step("never", "shared", when=When(Ref("f"), {"const": False})),
    )
    plan = execution_plan(Plan(steps), tools.toolbox)
    limits = {"shared": slots}
    done = await asyncio.gather(
        *(run(plan, tools.toolbox, shared_limits=limits, concurrency=4) for _ in range(runs))
    )
    assert all(each.succeeded for each in done)
    assert len(tools.args_of("shared")) == runs * (items + 1)
    assert (slots.free, slots.waiting) == (most, [])


async def test_a_limit_over_several_runs_holds() -> None:
    tools = scripted(shared=Gives(1, delay_s=0.002))
    slots = Slots(2)
    steps = tuple(Step(f"s{at}", "shared") for at in range(6))
    plan = execution_plan(Plan(steps), tools.toolbox)
    limits = {"shared": slots}
    await asyncio.gather(*(run(plan, tools.toolbox, shared_limits=limits) for _ in range(3)))
    assert tools.most_running == 2


async def test_a_run_that_leaves_or_is_cancelled_gives_back_what_it_has_and_asked_for() -> None:
    tools = scripted(shared=Hangs())
    slots = Slots(1)
    plan = execution_plan(Plan((Step("a", "shared"), Step("b", "shared"))), tools.toolbox)
    leaving = Leaving(0.0)
    left = asyncio.ensure_future(
        run(plan, tools.toolbox, shared_limits={"shared": slots}, leaving=leaving)
    )
    await tools.started("shared")
    assert slots.waiting
    leaving.ask()
    await left
    assert (slots.free, slots.waiting) == (1, [])
    cancelled = asyncio.ensure_future(run(plan, tools.toolbox, shared_limits={"shared": slots}))
    await tools.started("shared", 2)
    cancelled.cancel()
    await asyncio.wait([cancelled])
    assert (slots.free, slots.waiting) == (1, [])
