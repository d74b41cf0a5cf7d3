"""What the local engine costs beside raw asyncio: `python -m benchmarks.engine [--json]`.

Raw asyncio is the least that runs a graph at all: a dictionary of in-degrees and one task a step.
It has no references, checks, timeouts, limits or events. Both sides run in the same process, turn
about, and every figure is a ratio, because machines differ and are shared.

Makespan: a layered plan whose tools sleep, divided by the longest path over the calls' own measured
durations, so that a late timer is the calls' own time and not the engine's. CPU: the same plan with
tools that do nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable
from statistics import median

from toolplan.engines import run
from toolplan.execution_plan import ExecutionPlan
from toolplan.path import Json
from toolplan.plan import Limits, Literal, Plan, Ref, Step, Value, needs
from toolplan.tools import Arguments, Effects, Tool, Toolbox

Work = Callable[[Arguments], Awaitable[Json]]
Spans = dict[str, tuple[float, float]]

_INPUT: Json = {
    "type": "object",
    "properties": {"key": {"type": "string"}, "left": {}, "right": {}},
    "required": ["key"],
}


def layered(steps: int, width: int, seed: int = 7) -> Plan:
    """Give a plan of layers; each step refers to about two steps of the layer before."""
    chance = random.Random(seed)
    made: list[Step] = []
    for at in range(steps):
        layer = at // width
        args: dict[str, Value] = {"key": Literal(f"s{at}")}
        if layer:
            before = range((layer - 1) * width, layer * width)
            for name in ("left", "right"):
                args[name] = Ref(f"s{chance.choice(before)}", ("n",))
        made.append(Step(f"s{at}", "work", args))
    return Plan(tuple(made))


def execution_plan(plan: Plan) -> ExecutionPlan:
    """Give `plan`, which is in order as it is written, as engines take it."""
    return ExecutionPlan(
        plan=plan,
        order=tuple(step.id for step in plan.steps),
        needs={step.id: needs(step) for step in plan.steps},
        signatures={},
        effects=(),
        digest="benchmark",
    )


def toolbox(work: Work) -> Toolbox:
    """Give the one tool of the plans, its schemas read, as they are once a plan was compiled."""
    tool = Tool("work", "", _INPUT, effects=Effects.READ, call=work)
    if tool.unusable is not None:
        raise RuntimeError(tool.unusable)
    return Toolbox([tool])


async def raw(plan: ExecutionPlan, work: Work) -> None:
    """Run the calls of `plan` in its order, and nothing else."""
    waiting = {name: len(needed) for name, needed in plan.needs.items()}
    dependents: dict[str, list[str]] = {name: [] for name in waiting}
    for name, needed in plan.needs.items():
        for each in needed:
            dependents[each].append(name)
    loop = asyncio.get_running_loop()
    over = loop.create_future()
    left = len(waiting)
    tasks: set[asyncio.Task[None]] = set()

    async def step(name: str) -> None:
        nonlocal left
        await work({"key": name})
        left -= 1
        for each in dependents[name]:
            waiting[each] -= 1
            if not waiting[each]:
                tasks.add(loop.create_task(step(each)))
        if not left:
            over.set_result(None)

    for name in [name for name, count in waiting.items() if not count]:
        tasks.add(loop.create_task(step(name)))
    await over


async def ours(plan: ExecutionPlan, tools: Toolbox) -> None:
    """Run `plan` on the local engine, with nothing bound."""
    count = len(plan.plan.steps)
    done = await run(plan, tools, concurrency=count, limits=Limits(steps=count, calls=count))
    if not done.succeeded:
        raise RuntimeError("The benchmark's own plan failed.")


def longest_path(plan: ExecutionPlan, spans: Spans) -> float:
    """Give the seconds of the longest way through `plan`, over what each call took itself."""
    ends: dict[str, float] = {}
    for name in plan.order:
        start = max((ends[each] for each in plan.needs[name]), default=0.0)
        began, ended = spans[name]
        ends[name] = start + ended - began
    return max(ends.values())


def makespan(plan: ExecutionPlan, seconds: float, *, raw_asyncio: bool) -> float:
    """Give wall time over longest path for tools that sleep for `seconds`."""
    spans: Spans = {}

    async def sleep(args: Arguments) -> Json:
        began = time.perf_counter()
        await asyncio.sleep(seconds)
        spans[str(args["key"])] = (began, time.perf_counter())
        return {"n": 1}

    tools = toolbox(sleep)

    async def timed() -> float:
        began = time.perf_counter()
        await (raw(plan, sleep) if raw_asyncio else ours(plan, tools))
        return time.perf_counter() - began

    return asyncio.run(timed()) / longest_path(plan, spans)


def cpu(plan: ExecutionPlan, *, raw_asyncio: bool) -> float:
    """Give the microseconds of CPU that one step takes when its tool does nothing."""

    async def nothing(args: Arguments) -> Json:
        return {"n": 1}

    tools = toolbox(nothing)

    async def timed() -> float:
        began = time.process_time()
        await (raw(plan, nothing) if raw_asyncio else ours(plan, tools))
        return time.process_time() - began

    return asyncio.run(timed()) / len(plan.plan.steps) * 1e6


def measure(steps: int, width: int, repeats: int) -> dict[str, float]:
    """Give the figures of `repeats` turns, ours and raw asyncio in each: medians, and the best.

    On a shared machine the best is nearer to the truth: what else runs can only add.
    """
    plan = execution_plan(layered(steps, width))
    makespans = {True: list[float](), False: list[float]()}
    cpus = {True: list[float](), False: list[float]()}
    for _ in range(repeats):
        for side in (True, False):
            makespans[side].append(makespan(plan, 0.010, raw_asyncio=side))
            cpus[side].append(min(cpu(plan, raw_asyncio=side) for _ in range(3)))
    return {
        "steps": steps,
        "width": width,
        "repeats": repeats,
        "makespan_ratio": round(median(makespans[False]), 4),
        "makespan_ratio_raw_asyncio": round(median(makespans[True]), 4),
        "makespan_ratio_best": round(min(makespans[False]), 4),
        "makespan_ratio_raw_asyncio_best": round(min(makespans[True]), 4),
        "cpu_us_per_step": round(median(cpus[False]), 2),
        "cpu_us_per_step_raw_asyncio": round(median(cpus[True]), 2),
        "cpu_ratio": round(median(cpus[False]) / median(cpus[True]), 2),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m benchmarks.engine")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--width", type=int, default=50, help="steps in a layer")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    found = measure(chosen.steps, chosen.width, chosen.repeats)
    if chosen.json:
        print(json.dumps(found))
        return
    print(f"{chosen.steps} steps in layers of {chosen.width}, median of {chosen.repeats}")
    print("                                     toolplan  raw asyncio")
    print(
        f"makespan / longest path, 10 ms tools {found['makespan_ratio']:9.3f}"
        f" {found['makespan_ratio_raw_asyncio']:12.3f}"
    )
    print(
        f"                   the best of them {found['makespan_ratio_best']:10.3f}"
        f" {found['makespan_ratio_raw_asyncio_best']:12.3f}"
    )
    print(
        f"CPU µs a step, tools that do nothing {found['cpu_us_per_step']:9.2f}"
        f" {found['cpu_us_per_step_raw_asyncio']:12.2f}   ratio {found['cpu_ratio']:.2f}"
    )


if __name__ == "__main__":
    main()
