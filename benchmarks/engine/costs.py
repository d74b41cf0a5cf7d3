"""What a step costs whose tool does nothing: CPU and wall time, in memory and with a journal."""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.engine.graphs import execution_plan, layered, nothing, ours, raw, toolbox
from toolplan.execution_plan import ExecutionPlan
from toolplan.journal import Journal
from toolplan.tools import Effects, Toolbox


class Cost(NamedTuple):
    """Microseconds a step."""

    cpu_us: float
    wall_us: float


class Costs(NamedTuple):
    """What a step costs, each the median of several turns with raw asyncio in the same run."""

    raw: Cost
    memory: Cost
    disk: Cost | None = None
    effects: Cost | None = None

    @property
    def ratio(self) -> float:
        """CPU beside raw asyncio, in memory."""
        return self.memory.cpu_us / self.raw.cpu_us

    @property
    def disk_ratio(self) -> float | None:
        """CPU beside raw asyncio, with a journal."""
        return None if self.disk is None else self.disk.cpu_us / self.raw.cpu_us


def costs(steps: int, repeats: int, *, journaled: bool) -> Costs:
    """Give what a step costs in a layered plan of `steps`."""
    tools, writing = toolbox(nothing), toolbox(nothing, Effects.WRITE)
    plan = execution_plan(layered(steps), tools)
    changing = execution_plan(layered(steps), writing) if journaled else None
    found: dict[str, list[Cost]] = {"raw": [], "memory": [], "disk": [], "effects": []}
    for _ in range(repeats):
        found["raw"].append(_timed(steps, lambda: raw(plan, nothing)))
        found["memory"].append(_timed(steps, lambda: ours(plan, tools)))
        if changing is None:
            continue
        found["disk"].append(_journaled(steps, plan, tools))
        found["effects"].append(_journaled(steps, changing, writing))
    middle = {name: _median(each) for name, each in found.items() if each}
    return Costs(middle["raw"], middle["memory"], middle.get("disk"), middle.get("effects"))


def _journaled(steps: int, plan: ExecutionPlan, tools: Toolbox) -> Cost:
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "runs.sqlite")
        cost = _timed(steps, lambda: ours(plan, tools, journal))
        journal.close()
    return cost


def growth(steps: int) -> float:
    """Give by how many bytes a step the peak of resident memory grows during a run.

    The run is in a process of its own; plan and tools are there before it begins.
    """
    command = [sys.executable, "-m", "benchmarks.engine.costs", str(steps)]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(said.stdout))


def _timed(steps: int, run: Callable[[], Awaitable[None]]) -> Cost:
    async def timed() -> Cost:
        gc.collect()
        cpu, wall = time.process_time(), time.perf_counter()
        await run()
        spent = (time.process_time() - cpu, time.perf_counter() - wall)
        return Cost(*(each / steps * 1e6 for each in spent))

    return asyncio.run(timed())


def _median(costs: list[Cost]) -> Cost:
    return Cost(median(each.cpu_us for each in costs), median(each.wall_us for each in costs))


def _grown(steps: int) -> float:
    tools = toolbox(nothing)
    plan = execution_plan(layered(steps), tools)
    asyncio.run(ours(execution_plan(layered(50), tools), tools))
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    asyncio.run(ours(plan, tools))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (after - before) * 1024 / steps


if __name__ == "__main__":
    print(json.dumps(_grown(int(sys.argv[1]))))
