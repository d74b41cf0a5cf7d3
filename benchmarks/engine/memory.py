"""By how much the peak of resident memory grows during a run, each run in a process of its own.

Plan and tools are there before the run begins. The peak is that of the process's own memory: what
`getrusage` reports is inherited from whoever started the process, and would hide any growth behind
the memory that the starter once had.
"""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.engine.fan import FanOut, most_tasks
from benchmarks.engine.graphs import execution_plan, layered, nothing, ours, toolbox
from benchmarks.engine.rows import Row

_STATUS: Final = Path("/proc/self/status")
_ROOT: Final = Path(__file__).parents[2]


class Growth(NamedTuple):
    """Bytes by which the peak grew, and the most tasks that there were at once (0: not counted)."""

    grown: float
    tasks: int = 0


def rows(quick: bool) -> Iterator[Row]:
    """Yield the figures for a large plan, and for a step with many items."""
    steps = 2_000 if quick else 100_000
    grown = measured("steps", steps).grown
    yield Row(
        f"growth of peak memory, {steps:,} steps, bytes a step",
        grown / steps,
        None if quick else 3_000,
        beside=f"{grown / 2**20:.1f} MB",
    )
    items = 500 if quick else 10_000
    found = measured("items", items)
    yield Row(
        f"growth of peak memory, for_each over {items:,}, bytes an item",
        found.grown / items,
        beside=f"{found.grown / 2**20:.1f} MB",
    )
    yield Row("  most tasks at once, 50 calls at once", found.tasks, 60)


def measured(what: str, count: int) -> Growth:
    """Return the growth during a plan of `count` "steps", or one step over `count` "items"."""
    command = [sys.executable, "-m", "benchmarks.engine.memory", what, str(count)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, cwd=_ROOT)
    return Growth(*json.loads(said.stdout))


def peak_bytes() -> int:
    """Return the peak of this process's resident memory."""
    if _STATUS.exists():
        for line in _STATUS.read_text("ascii").splitlines():
            name, _, rest = line.partition(":")
            if name == "VmHWM":
                return int(rest.split()[0]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _steps(count: int) -> Growth:
    tools = toolbox(nothing)
    plan = execution_plan(layered(count), tools)
    asyncio.run(ours(execution_plan(layered(50), tools), tools))
    gc.collect()
    before = peak_bytes()
    asyncio.run(ours(plan, tools))
    return Growth(peak_bytes() - before)


def _items(count: int) -> Growth:
    asyncio.run(FanOut(50, 50).ours())
    fan = FanOut(count, 50)
    gc.collect()
    before = peak_bytes()
    tasks = asyncio.run(most_tasks(fan))
    return Growth(peak_bytes() - before, tasks)


if __name__ == "__main__":
    kind, number = sys.argv[1:]
    print(json.dumps((_steps if kind == "steps" else _items)(int(number))))
