"""Runs a second, and what a run costs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Final

from benchmarks.engine.rows import Row
from benchmarks.workers import dbos_steps
from benchmarks.workers.office import TOOLS, layered
from benchmarks.workers.site import WORKERS, Costs, Site, planned, submitted
from toolplan.app.app import App
from toolplan.engine import run
from toolplan.policy.approval import approve
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Toolbox
from toolplan.storage.journal import open_journal

_AT_ONCE: Final = 32


def rows(site: Site, quick: bool) -> Iterator[Row]:
    """Yield runs a second of workers beside the local engine, and what a run costs."""
    runs = 40 if quick else 400
    for name, tool in (("reads", "step"), ("effects", "change")):
        with site.office() as app:
            plan = planned(app, layered(10, tool))
            with site.workers():
                asyncio.run(measured(site, app, plan, runs // 4))  # not counted
                seconds, costs = asyncio.run(measured(site, app, plan, runs))
                connections = site.connections(app)
            local = asyncio.run(_local(site, plan, runs))
        yield from _rows(name, runs, seconds, costs, local)
        yield Row("  connections a worker", connections / WORKERS, 8)
        if name == "reads":
            yield from dbos_steps.rows(site, runs // 2, runs / seconds)


def _rows(name: str, runs: int, seconds: float, costs: Costs, local: float) -> Iterator[Row]:
    goal = 90 if name == "reads" else None
    yield Row(f"runs of 10 {name} a second, {WORKERS} workers", runs / seconds, goal, False)
    share = (runs / seconds) / (runs / local)
    yield Row(
        "  beside the local engine, same journal", share, 0.3, False, f"{runs / local:.1f} a second"
    )
    yield Row("  ms of CPU of workers for a run", 1_000 * costs.workers_s / runs)
    yield Row("  ms of CPU of the server for a run", 1_000 * costs.server_s / runs)
    yield Row("  statements of a run", costs.statements / runs)
    yield Row("  transactions of a run", costs.commits / runs)
    yield Row("  syncs of a run", costs.syncs / runs)
    yield Row("  kB of write-ahead log for a run", costs.wal_bytes / runs / 1_000)


async def measured(site: Site, app: App, plan: ExecutionPlan, runs: int) -> tuple[float, Costs]:
    """Return how long workers take for runs that wait for them, and what that costs."""
    with site.standing_still():
        await submitted(app, plan, runs)
        before, start = site.costs(app), time.perf_counter()
    await asyncio.to_thread(site.await_ends, app)
    return time.perf_counter() - start, site.costs(app).since(before)


async def _local(site: Site, plan: ExecutionPlan, runs: int) -> float:
    """Return the seconds that the engine takes in this process, with the same journal."""
    tools = Toolbox(TOOLS)
    places = asyncio.Semaphore(_AT_ONCE)

    async def one() -> None:
        async with places:
            await run(
                plan, tools, journal=journal, approval=approve(plan) if plan.effects else None
            )

    with closing(open_journal(site.url)) as journal:
        start = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(runs)))
        return time.perf_counter() - start
