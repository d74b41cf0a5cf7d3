"""How long runs take whose tools take their time: beside the longest path, and beside the ideal."""

from __future__ import annotations

import asyncio
import json
import random
import resource
import time
from collections.abc import AsyncIterator
from statistics import median
from typing import Final, NamedTuple

from benchmarks.engine.graphs import execution_plan, layered, ours, raw, toolbox
from toolplan.compiler import compile_plan, compile_stream
from toolplan.engines import run, run_stream
from toolplan.execution_plan import ExecutionPlan
from toolplan.path import Json
from toolplan.plan import Limits, Literal, Plan, Ref, Step, needs
from toolplan.plan_json import dump
from toolplan.tools import Arguments, Effects, Tool, Toolbox

TOKENS_A_SECOND: Final = 60
TOKENS_A_STEP: Final = 40
TOOL_S: Final = 0.3


class Makespan(NamedTuple):
    """Wall time over the longest path, which is that of the calls' own measured durations."""

    ours: float
    raw: float


def makespan(steps: int, seconds: float, repeats: int) -> Makespan:
    """Give the medians for tools that sleep for `seconds`, raw asyncio in every other turn."""
    found: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(repeats):
        for is_raw in (True, False):
            found[is_raw].append(_makespan(steps, seconds, is_raw))
    return Makespan(median(found[False]), median(found[True]))


def _makespan(steps: int, seconds: float, is_raw: bool) -> float:
    spans: dict[str, float] = {}

    async def sleep(args: Arguments) -> Json:
        began = time.perf_counter()
        await asyncio.sleep(seconds)
        spans[str(args["key"])] = time.perf_counter() - began
        return {"n": 1}

    tools = toolbox(sleep)
    plan = execution_plan(layered(steps), tools)

    async def timed() -> float:
        began = time.perf_counter()
        await (raw(plan, sleep) if is_raw else ours(plan, tools))
        return time.perf_counter() - began

    wall = asyncio.run(timed())
    ends: dict[str, float] = {}
    for name in plan.order:
        ends[name] = max((ends[each] for each in plan.needs[name]), default=0.0) + spans[name]
    return wall / max(ends.values())


class Streamed(NamedTuple):
    """Seconds from the first token to the end of the run."""

    streamed_s: float
    whole_s: float

    @property
    def faster(self) -> float:
        """How many times as fast the streamed plan is."""
        return self.whole_s / self.streamed_s


def streamed(shape: str) -> Streamed:
    """Give the times for a plan of 12 steps that comes in token by token."""
    tools = Toolbox([Tool("work", "Works.", {"type": "object"}, call=_slow, effects=Effects.READ)])
    text = _text(shape)

    async def by_step() -> float:
        began = time.perf_counter()
        await run_stream(compile_stream(_tokens(text), tools=tools), tools)
        return time.perf_counter() - began

    async def as_a_whole() -> float:
        began = time.perf_counter()
        written = "".join([token async for token in _tokens(text)])
        plan = compile_plan(written, tools=tools).plan
        if plan is None:
            raise RuntimeError("The benchmark's own plan is wrong.")
        await run(plan, tools)
        return time.perf_counter() - began

    return Streamed(asyncio.run(by_step()), asyncio.run(as_a_whole()))


async def _slow(args: Arguments) -> Json:
    await asyncio.sleep(TOOL_S)
    return {"n": 1}


def _text(shape: str) -> str:
    steps: list[Step] = []
    for at in range(12):
        before = {"a chain": at - 1, "four layers": at - 3, "independent steps": -1}[shape]
        args = {"query": Literal("the things that are wanted, and what they have to be like")}
        more = {"from": Ref(f"s{before}", ("n",))} if before >= 0 else {}
        steps.append(Step(f"s{at}", "work", {**args, **more}))
    return json.dumps(dump(Plan(tuple(steps))))


async def _tokens(text: str) -> AsyncIterator[str]:
    tokens = 12 * TOKENS_A_STEP
    size = -(-len(text) // tokens)
    start = time.perf_counter()
    for count, at in enumerate(range(0, len(text), size), 1):
        await asyncio.sleep(max(0.0, start + count / TOKENS_A_SECOND - time.perf_counter()))
        yield text[at : at + size]


class Fan(NamedTuple):
    """A `for_each` over many items: wall time over the ideal, and what memory it took."""

    over_ideal: float
    in_order: bool
    grown_mb: float


def fan(items: int, concurrency: int) -> Fan:
    """Give the figures for calls of 1 to 5 ms."""
    chance = random.Random(7)
    naps = [0.001 + 0.004 * chance.random() for _ in range(items)]
    spent = 0.0

    async def nap(args: Arguments) -> Json:
        nonlocal spent
        began = time.perf_counter()
        at = args["at"]
        await asyncio.sleep(naps[at if isinstance(at, int) else 0])
        spent += time.perf_counter() - began
        return at

    tools = Toolbox([Tool("nap", "Naps.", {"type": "object"}, call=nap, effects=Effects.READ)])
    step = Step(
        "each",
        "nap",
        {"at": Ref("item")},
        for_each=Literal(list(range(items))),
        max_items=items,
    )
    plan = ExecutionPlan(Plan((step,)), ("each",), {"each": needs(step)}, {}, (), "benchmark")
    limits = Limits(items=items, calls=items)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    async def timed() -> tuple[float, Json]:
        began = time.perf_counter()
        done = await run(plan, tools, concurrency=concurrency, limits=limits)
        return time.perf_counter() - began, done.steps["each"].output

    wall, output = asyncio.run(timed())
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    # the ideal: every place is always taken, by calls that take what they really took
    return Fan(wall / (spent / concurrency), output == list(range(items)), grown)
