"""How much longer a run takes than its longest path, where tools take their time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final, NamedTuple

from benchmarks.engine.graphs import execution_plan, layered, ours, raw, toolbox
from benchmarks.engine.rows import Row
from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments

TOOL_S: Final = 0.010
_CHAIN_S: Final = 0.005
_TURN_S: Final = 0.002
_OTHERS: Final = 10
"""So many other tasks share a turn of `_TURN_S` of the loop."""


class Makespan(NamedTuple):
    """Of one run.

    Attributes:
        wall_s: its wall time.
        over_path: that over the longest path of its calls' own durations.
        first_s: the time before the first call.
    """

    wall_s: float
    over_path: float
    first_s: float


def rows(quick: bool) -> Iterator[Row]:
    """Yield the figure for tools of 10 ms, raw asyncio in every other turn."""
    steps, turns = (200, 2) if quick else (1_000, 15)
    engine, bare = list[Makespan](), list[Makespan]()
    for _ in range(turns):
        bare.append(makespan(steps, TOOL_S, is_raw=True))
        engine.append(makespan(steps, TOOL_S, is_raw=False))
    yield Row(
        f"makespan over longest path, {steps:,} steps of 10 ms",
        median(each.over_path for each in engine),
        None if quick else 1.03,
        beside=f"{_figures(engine)}; raw asyncio {_figures(bare)}",
    )
    yield _busy(5 if quick else 40, turns=1 if quick else 5)


def _busy(steps: int, *, turns: int) -> Row:
    """Return the figure for a chain in a loop that has other work, as that of a server has."""
    engine, bare = list[float](), list[float]()
    for _ in range(turns):
        bare.append(_busy_s(steps, is_raw=True))
        engine.append(_busy_s(steps, is_raw=False))
    return Row(
        f"chain of {steps} calls of 5 ms in a loop whose turns take 2 ms, × raw asyncio",
        median(engine) / median(bare),
        beside=f"{median(engine) * 1e3:.0f} ms, raw asyncio {median(bare) * 1e3:.0f} ms",
    )


def _busy_s(steps: int, *, is_raw: bool) -> float:
    async def sleep(args: Arguments) -> Json:
        await asyncio.sleep(_CHAIN_S)
        return {"n": 1}

    async def other() -> None:
        while True:
            until = time.perf_counter() + _TURN_S / _OTHERS
            while time.perf_counter() < until:
                pass
            await asyncio.sleep(0)

    tools = toolbox(sleep)
    plan = execution_plan(layered(steps, width=1), tools)

    async def timed() -> float:
        others = [asyncio.ensure_future(other()) for _ in range(_OTHERS)]
        began = time.perf_counter()
        await (raw(plan, sleep) if is_raw else ours(plan, tools))
        took = time.perf_counter() - began
        for each in others:
            each.cancel()
        return took

    return asyncio.run(timed())


def _figures(found: Sequence[Makespan]) -> str:
    over, wall_ms, first_ms = (
        median(each.over_path for each in found),
        median(each.wall_s for each in found) * 1e3,
        median(each.first_s for each in found) * 1e3,
    )
    return f"{over:.3f} ({wall_ms:.0f} ms, first call at {first_ms:.1f} ms)"


def makespan(steps: int, seconds: float, *, is_raw: bool) -> Makespan:
    """Run a layered plan of `steps` whose tools sleep for `seconds`, and give how long it took."""
    begins, spans = dict[str, float](), dict[str, float]()

    async def sleep(args: Arguments) -> Json:
        key = str(args["key"])
        begins[key] = time.perf_counter()
        await asyncio.sleep(seconds)
        spans[key] = time.perf_counter() - begins[key]
        return {"n": 1}

    tools = toolbox(sleep)
    plan = execution_plan(layered(steps), tools)

    async def timed() -> tuple[float, float]:
        began = time.perf_counter()
        await (raw(plan, sleep) if is_raw else ours(plan, tools))
        return began, time.perf_counter()

    began, ended = asyncio.run(timed())
    ends: dict[str, float] = {}
    for name in plan.order:
        ends[name] = max((ends[each] for each in plan.needs[name]), default=0.0) + spans[name]
    wall_s = ended - began
    return Makespan(wall_s, wall_s / max(ends.values()), min(begins.values()) - began)
