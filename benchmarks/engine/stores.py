"""The journal in a file beside the journal in Postgres, in turns.

The address of the database is in the variable POSTGRES_URL; without it there are no rows. A server
of its own is started by `python -m tests.postgres python -m benchmarks.engine --only stores`.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.engine.graphs import execution_plan, layered, nothing, ours, toolbox
from benchmarks.engine.rows import Row
from toolplan.schema.tool import Effects
from toolplan.storage.journal import Store, open_journal

_VARIABLE: Final = "POSTGRES_URL"
_TURNS: Final = 5
_AT_ONCE: Final = 32


def rows(quick: bool) -> Iterator[Row]:
    """Yield runs and steps a second with each journal, and how they compare."""
    url = os.environ.get(_VARIABLE)
    if not url:
        return
    runs, steps = (20, 50) if quick else (200, 1_000)
    with tempfile.TemporaryDirectory() as folder:
        places = {"SQLite": str(Path(folder) / "runs.sqlite"), "Postgres": url}
        many = {name: list[float]() for name in places}
        one = {name: list[float]() for name in places}
        for turn in range(_TURNS + 1):
            for name, place in places.items():
                with closing(open_journal(place)) as journal:
                    a, b = asyncio.run(_many(journal, runs)), asyncio.run(_one(journal, steps))
                if turn:  # the first is not counted
                    many[name].append(runs / a)
                    one[name].append(steps / b)
    yield from _compared("runs of 10 steps a second, all with effects", many)
    yield from _compared(f"steps a second, one run of {steps:,} reads", one)


def _compared(name: str, found: dict[str, list[float]]) -> Iterator[Row]:
    for place, each in found.items():
        beside = f"{min(each):,.0f} to {max(each):,.0f}"
        yield Row(f"{name}, {place}", median(each), beside=beside)
    turns = zip(found["Postgres"], found["SQLite"], strict=True)
    yield Row("  Postgres / SQLite, median of the turns", median(a / b for a, b in turns))


async def _many(journal: Store, runs: int) -> float:
    tools = toolbox(nothing, Effects.WRITE)
    plan = execution_plan(layered(10, width=2), tools)
    places = asyncio.Semaphore(_AT_ONCE)

    async def one() -> None:
        async with places:
            await ours(plan, tools, journal=journal)

    start = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(runs)))
    return time.perf_counter() - start


async def _one(journal: Store, steps: int) -> float:
    tools = toolbox(nothing)
    plan = execution_plan(layered(steps), tools)
    start = time.perf_counter()
    await ours(plan, tools, journal=journal)
    return time.perf_counter() - start
