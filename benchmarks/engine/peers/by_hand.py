"""What one writes by hand without a system: `graphlib` with asyncio, and a task group of anyio."""

from __future__ import annotations

import asyncio
from graphlib import TopologicalSorter
from importlib import import_module
from typing import Any, Final

from benchmarks.engine.graphs import Work
from benchmarks.engine.peers.peer import Peer, Prepare, always_open, prepared
from toolplan.policy.execution_plan import ExecutionPlan


def _sorted(plan: ExecutionPlan, work: Work) -> Prepare:
    async def run() -> None:
        sorter = TopologicalSorter(plan.needs)
        sorter.prepare()
        ended: asyncio.Queue[str] = asyncio.Queue()
        running: dict[str, asyncio.Task[None]] = {}  # the loop itself holds tasks but weakly

        async def step(name: str) -> None:
            await work({"key": name})
            ended.put_nowait(name)

        while sorter.is_active():
            for name in sorter.get_ready():
                running[name] = asyncio.create_task(step(name))
            name = await ended.get()
            del running[name]
            sorter.done(name)

    return prepared(run)


def _grouped(plan: ExecutionPlan, work: Work) -> Prepare:
    library: Any = import_module("anyio")
    dependents: dict[str, list[str]] = {name: [] for name in plan.order}
    for name, needed in plan.needs.items():
        for each in needed:
            dependents[each].append(name)

    async def run() -> None:
        waiting = {name: len(needed) for name, needed in plan.needs.items()}

        async with library.create_task_group() as group:

            async def step(name: str) -> None:
                await work({"key": name})
                for each in dependents[name]:
                    waiting[each] -= 1
                    if not waiting[each]:
                        group.start_soon(step, each)

            for name in plan.order:
                if not plan.needs[name]:
                    group.start_soon(step, name)

    return prepared(run)


GRAPHLIB: Final = Peer("graphlib", always_open(_sorted), "the sorter and a task a step")
ANYIO: Final = Peer("anyio", always_open(_grouped), "a task group", ("anyio",))
