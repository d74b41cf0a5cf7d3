"""A plan that is written token by token: run while it comes in, and run when it is whole.

Nearly all of it is waiting, so all runs of one measurement go on at the same time.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Final, NamedTuple

from benchmarks.engine.rows import Row
from toolplan.compiler import compile_plan, compile_stream
from toolplan.engine import run, run_stream
from toolplan.plan.canonical import dump
from toolplan.plan.model import Literal, Plan, Ref, Step, Value
from toolplan.plan.path import Json
from toolplan.policy.approval import Approval, approve
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Arguments, Effects, Tool, Toolbox

STEPS: Final = 12
TOKENS_A_STEP: Final = 40
SHAPES: Final[dict[str, Callable[[int], int]]] = {
    "a chain": lambda at: at - 1,
    "four layers": lambda at: at - 3,
    "independent steps": lambda at: -1,
}
"""By name: which step a step refers to, by its place; below 0 for none."""


class Speed(NamedTuple):
    """How fast text comes in, and how long a tool takes."""

    tokens_a_second: float = 60
    tool_s: float = 0.3


class Streamed(NamedTuple):
    """Seconds from the first token to the end of the run."""

    streamed_s: float
    whole_s: float

    @property
    def times_as_fast(self) -> float:
        """How many times as fast the streamed plan is."""
        return self.whole_s / self.streamed_s


class Held(NamedTuple):
    """Calls of a plan of reads and writes that were begun before it was whole and approved."""

    reads: int
    writes: int


def rows(quick: bool) -> Iterator[Row]:
    """Yield the figures for plans of 12 steps."""
    speed = Speed(2_400, 0.0075) if quick else Speed()
    for shape, found in asyncio.run(all_shapes(speed)).items():
        goal = 1.3 if shape == "a chain" and not quick else None
        beside = f"{found.streamed_s:.2f} s, when whole {found.whole_s:.2f} s"
        yield Row(f"streamed plan, {shape}, × as fast", found.times_as_fast, goal, False, beside)
    held = asyncio.run(held_back(Speed(600, 0.03)))
    yield Row(
        "  effects before the plan was whole and approved",
        held.writes,
        0,
        beside=f"{held.reads} reads had begun",
    )


async def all_shapes(speed: Speed) -> dict[str, Streamed]:
    """Return the times of each shape of plan."""
    pairs = await asyncio.gather(*(_both(shape, speed) for shape in SHAPES))
    return dict(zip(SHAPES, pairs, strict=True))


async def held_back(speed: Speed) -> Held:
    """Run a plan of independent steps, every third of which writes, while it comes in."""
    begun = {"read": 0, "write": 0}
    before = dict(begun)

    async def approver(plan: ExecutionPlan) -> Approval:
        await asyncio.sleep(speed.tool_s)  # a person who looks at it
        before.update(begun)
        return approve(plan)

    def tool(name: str, effects: Effects) -> Tool:
        async def work(args: Arguments) -> Json:
            begun[name] += 1
            await asyncio.sleep(speed.tool_s)
            return {"n": 1}

        return Tool(name, "Works.", {"type": "object"}, call=work, effects=effects)

    tools = Toolbox([tool("read", Effects.READ), tool("write", Effects.WRITE)])
    text = _text("independent steps", lambda at: "read" if at % 3 else "write")
    stream = compile_stream(_tokens(text, speed), tools=tools)
    done = await run_stream(stream, tools, approval=approver)
    if not done.succeeded or begun["write"] != STEPS / 3:
        raise RuntimeError("The benchmark's own plan failed.")
    return Held(before["read"], before["write"])


async def _both(shape: str, speed: Speed) -> Streamed:
    async def work(args: Arguments) -> Json:
        await asyncio.sleep(speed.tool_s)
        return {"n": 1}

    tools = Toolbox([Tool("work", "Works.", {"type": "object"}, call=work, effects=Effects.READ)])
    text = _text(shape, lambda at: "work")

    async def by_step() -> float:
        began = time.perf_counter()
        await run_stream(compile_stream(_tokens(text, speed), tools=tools), tools)
        return time.perf_counter() - began

    async def as_a_whole() -> float:
        began = time.perf_counter()
        written = "".join([token async for token in _tokens(text, speed)])
        plan = compile_plan(written, tools=tools).plan
        if plan is None:
            raise RuntimeError("The benchmark's own plan is wrong.")
        await run(plan, tools)
        return time.perf_counter() - began

    return Streamed(*await asyncio.gather(by_step(), as_a_whole()))


def _text(shape: str, tool: Callable[[int], str]) -> str:
    steps: list[Step] = []
    for at in range(STEPS):
        before = SHAPES[shape](at)
        args: dict[str, Value] = {
            "query": Literal("the things that are wanted, and what they have to be like")
        }
        if before >= 0:
            args["from"] = Ref(f"s{before}", ("n",))
        steps.append(Step(f"s{at}", tool(at), args))
    return json.dumps(dump(Plan(tuple(steps))))


async def _tokens(text: str, speed: Speed) -> AsyncIterator[str]:
    """Yield `text` in as many parts as there are tokens, each at its time."""
    count = STEPS * TOKENS_A_STEP
    start = time.perf_counter()
    for at in range(count):
        due = start + (at + 1) / speed.tokens_a_second
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        yield text[at * len(text) // count : (at + 1) * len(text) // count]
