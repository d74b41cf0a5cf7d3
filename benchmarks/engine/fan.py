"""A `for_each` over many items: how long it takes beside the ideal, and whether order is kept.

In the ideal all places are always taken, by calls that take as long as they really took. Raw
asyncio is as many workers as there are places, which take one item after the other.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from benchmarks.engine.rows import Row
from toolplan.engine import run
from toolplan.plan.model import Limits, Literal, Plan, Ref, Step, needs
from toolplan.plan.path import Json
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Arguments, Effects, Tool, Toolbox

_INPUT: Json = {"type": "object", "properties": {"at": {"type": "integer"}}, "required": ["at"]}


class Turn(NamedTuple):
    """Of one run: its wall time, that over the ideal, and whether its outputs are in order."""

    wall_s: float
    over_ideal: float
    in_order: bool


def rows(quick: bool) -> Iterator[Row]:
    """Yield the figure for calls of 1 to 5 ms, raw asyncio in every other turn."""
    items, turns = (500, 1) if quick else (10_000, 5)
    fan = FanOut(items, 50)
    engine, bare = list[Turn](), list[Turn]()
    for _ in range(turns):
        bare.append(asyncio.run(fan.raw()))
        engine.append(asyncio.run(fan.ours()))
    walls = [median(each.wall_s for each in found) for found in (engine, bare)]
    others = median(each.over_ideal for each in bare)
    yield Row(
        f"for_each over {items:,}, 50 at once, time over the ideal",
        median(each.over_ideal for each in engine),
        None if quick else 1.1,
        beside=f"raw asyncio {others:.3f}; {walls[0] * 1e3:.0f} ms, raw {walls[1] * 1e3:.0f} ms",
    )
    disordered = sum(not each.in_order for each in engine)
    yield Row("  runs whose outputs are not in the order of the items", disordered, 0)


class FanOut:
    """One step over `items`, and its tool; can be run any number of times."""

    def __init__(self, items: int, concurrency: int, seed: int = 7) -> None:
        chance = random.Random(seed)
        self._naps = [0.001 + 0.004 * chance.random() for _ in range(items)]
        self._concurrency = concurrency
        self._spent = 0.0
        self.is_counting = False
        self.tasks = 0
        tool = Tool(
            "nap", "Naps.", _INPUT, {"type": "integer"}, effects=Effects.READ, call=self._nap
        )
        each = Literal(list(range(items)))
        step = Step("each", "nap", {"at": Ref("item")}, for_each=each, max_items=items)
        self._tools = Toolbox([tool])
        needed = {step.id: needs(step)}
        self._plan = ExecutionPlan(Plan((step,)), (step.id,), needed, {}, (), "benchmark")

    async def ours(self) -> Turn:
        """Run it on the engine."""
        count = len(self._naps)
        self._spent, began = 0.0, time.perf_counter()
        done = await run(
            self._plan,
            self._tools,
            concurrency=self._concurrency,
            limits=Limits(items=count, calls=count),
        )
        return self._turn(time.perf_counter() - began, done.steps["each"].output)

    async def raw(self) -> Turn:
        """Run it on raw asyncio."""
        outputs: list[Json] = [None] * len(self._naps)
        items = iter(range(len(self._naps)))

        async def work() -> None:
            for at in items:
                outputs[at] = await self._nap({"at": at})

        self._spent, began = 0.0, time.perf_counter()
        await asyncio.gather(*(work() for _ in range(self._concurrency)))
        return self._turn(time.perf_counter() - began, outputs)

    def _turn(self, wall_s: float, outputs: Json) -> Turn:
        ideal_s = self._spent / self._concurrency
        return Turn(wall_s, wall_s / ideal_s, outputs == list(range(len(self._naps))))

    async def _nap(self, args: Arguments) -> Json:
        at = args["at"]
        if not isinstance(at, int):
            raise TypeError("An item is its own number.")
        if self.is_counting:
            self.tasks = max(self.tasks, len(asyncio.all_tasks()))
        began = time.perf_counter()
        await asyncio.sleep(self._naps[at])
        self._spent += time.perf_counter() - began
        return at


async def most_tasks(fan: FanOut) -> int:
    """Run `fan` on the engine, and give the most tasks that there were at once in the loop."""
    fan.is_counting = True
    await fan.ours()
    return fan.tasks
