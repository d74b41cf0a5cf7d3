"""What a step costs whose tool does nothing: CPU and wall time, in memory and with a journal.

All ways of running the same plan take turns in one process, so that what else the machine does
falls on each of them. Plans and tools are made, and each way has had a turn, before any is timed.
"""

from __future__ import annotations

import asyncio
import gc
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from benchmarks.engine.graphs import execution_plan, layered, nothing, ours, raw, toolbox
from benchmarks.engine.rows import Row
from toolplan.events import Event
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Effects, Toolbox
from toolplan.storage.journal import Journal

RAW: Final = "raw asyncio"
MEMORY: Final = "in memory"
LISTED: Final = "each event listed"
JOURNAL: Final = "journal"
EFFECTS: Final = "effects"

_TURNS: Final = {1_000: 45, 10_000: 9, 100_000: 3}


class Cost(NamedTuple):
    """Microseconds a step, and CPU time as a multiple of that of raw asyncio in the same turn.

    The multiple is not that of two medians: what else the machine does slows a whole turn.
    """

    cpu_us: float
    wall_us: float
    over_raw: float = 1.0


def rows(quick: bool) -> Iterator[Row]:
    """Yield the figures for plans of each size; quick ones are too small to have goals."""
    if quick:
        found = costs(300, 3, journaled=True)
        yield from _without_goals([*_in_memory(300, found, 0.0), *_journaled(found)])
        yield _chain(50)
        return
    for steps, goal in ((1_000, 4.0), (10_000, 4.0), (100_000, 5.0)):
        found = costs(steps, _TURNS[steps], journaled=steps < 100_000)
        yield from _in_memory(steps, found, goal)
        if JOURNAL in found:
            yield from _journaled(found)
    yield _chain(1_000)


def costs(steps: int, turns: int, *, journaled: bool) -> Mapping[str, Cost]:
    """Return what a step costs in a layered plan of `steps`, by way: each the median of `turns`."""
    tools = toolbox(nothing)
    plan = execution_plan(layered(steps), tools)
    ways: dict[str, Callable[[], Cost]] = {
        RAW: partial(_timed, steps, partial(raw, plan, nothing)),
        MEMORY: partial(_timed, steps, partial(ours, plan, tools)),
        LISTED: partial(_listed, plan, tools, steps),
    }
    if journaled:
        writing = toolbox(nothing, Effects.WRITE)
        changing = execution_plan(layered(steps), writing)
        ways[JOURNAL] = partial(_on_disk, plan, tools, steps)
        ways[EFFECTS] = partial(_on_disk, changing, writing, steps)
    for way in ways.values():
        way()
    found: dict[str, list[Cost]] = {name: [] for name in ways}
    for _ in range(turns):
        for name, way in ways.items():
            found[name].append(way())
    return {
        name: Cost(
            median(each.cpu_us for each in taken),
            median(each.wall_us for each in taken),
            median(a.cpu_us / b.cpu_us for a, b in zip(taken, found[RAW], strict=True)),
        )
        for name, taken in found.items()
    }


def sync_us(times: int = 100) -> float:
    """Return the median time in µs of adding one page to a file and syncing it.

    A database that writes over pages that are there already may be faster than that.
    """
    page, taken = bytes(4096), list[float]()
    with tempfile.TemporaryFile(buffering=0) as file:
        for _ in range(times):
            start = time.perf_counter()
            file.write(page)
            os.fsync(file.fileno())
            taken.append((time.perf_counter() - start) * 1e6)
    return median(taken)


def _in_memory(steps: int, found: Mapping[str, Cost], goal: float) -> Iterator[Row]:
    bare, memory, listed = found[RAW], found[MEMORY], found[LISTED]
    beside = f"{memory.cpu_us:.1f} µs, raw asyncio {bare.cpu_us:.1f} µs"
    yield Row(f"CPU a step, {steps:,} steps, × raw", memory.over_raw, goal, beside=beside)
    yield Row(
        "  the same, each event kept in a list, × raw",
        listed.over_raw,
        beside=f"{listed.cpu_us:.1f} µs",
    )


def _journaled(found: Mapping[str, Cost]) -> Iterator[Row]:
    journal, effects = found[JOURNAL], found[EFFECTS]
    beside = f"{journal.cpu_us:.1f} µs"
    yield Row("  the same, journal on disk, × raw", journal.over_raw, 8.0, beside=beside)
    yield Row("  steps a second, journal on disk", 1e6 / journal.wall_us, 10_000, False)
    yield Row(
        "  steps a second, effects, each intent synced",
        1e6 / effects.wall_us,
        1_000,
        False,
        f"{effects.cpu_us:.1f} µs CPU a step",
    )


def _chain(steps: int) -> Row:
    """Return the figure where no two syncs can be one: each step needs the one before."""
    tools = toolbox(nothing, Effects.WRITE)
    plan = execution_plan(layered(steps, width=1), tools)
    wall_us = median(_on_disk(plan, tools, steps).wall_us for _ in range(3))
    beside = f"a sync alone takes {sync_us():.0f} µs"
    return Row(f"steps a second, chain of {steps:,}, effects", 1e6 / wall_us, beside=beside)


def _without_goals(rows: Iterable[Row]) -> Iterator[Row]:
    return (row._replace(goal=None) for row in rows)


def _listed(plan: ExecutionPlan, tools: Toolbox, steps: int) -> Cost:
    events: list[Event] = []
    return _timed(steps, partial(ours, plan, tools, on_event=events.append))


def _on_disk(plan: ExecutionPlan, tools: Toolbox, steps: int) -> Cost:
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "runs.sqlite")
        try:
            return _timed(steps, partial(ours, plan, tools, journal=journal))
        finally:
            journal.close()


def _timed(steps: int, run: Callable[[], Awaitable[object]]) -> Cost:
    async def timed() -> Cost:
        gc.collect()
        cpu, wall = time.process_time(), time.perf_counter()
        await run()
        spent = (time.process_time() - cpu, time.perf_counter() - wall)
        return Cost(*(each / steps * 1e6 for each in spent))

    return asyncio.run(timed())
