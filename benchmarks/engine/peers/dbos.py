"""DBOS: one workflow on SQLite, as it comes; each step's output is committed as it ends."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from benchmarks.engine.graphs import Work
from benchmarks.engine.peers.peer import Peer, Prepare, prepared
from toolplan.plan.path import Json
from toolplan.policy.execution_plan import ExecutionPlan


@contextmanager
def _launched(plan: ExecutionPlan, work: Work) -> Generator[Prepare, None, None]:
    library: Any = import_module("dbos").DBOS
    with tempfile.TemporaryDirectory() as folder:
        library(
            config={
                "name": "toolplan-benchmark",
                "system_database_url": f"sqlite:///{Path(folder).as_posix()}/system.sqlite",
                "log_level": "ERROR",
                "console_log_level": "ERROR",
            }
        )
        try:
            workflow = _workflow(plan, work)
            library.launch()
            yield prepared(workflow)
        finally:  # also the registry, which would keep the workflow of this plan
            library.destroy(destroy_registry=True)


def _workflow(plan: ExecutionPlan, work: Work) -> Callable[[], Awaitable[None]]:
    """Return a workflow that numbers its steps in plan order, and starts each after its needs."""
    library: Any = import_module("dbos").DBOS

    async def call(name: str) -> Json:
        return await work({"key": name})

    step: Callable[[str], Awaitable[Json]] = library.step()(call)

    async def calls() -> None:
        begun: dict[str, asyncio.Task[Json]] = {}

        async def after_needs(name: str, numbered: Awaitable[Json]) -> Json:
            for each in plan.needs[name]:
                await begun[each]
            return await numbered

        for name in plan.order:
            # DBOS numbers a step where its function is called, and a recovery goes by the number
            begun[name] = asyncio.create_task(after_needs(name, step(name)))
        await asyncio.gather(*begun.values())

    workflow: Callable[[], Awaitable[None]] = library.workflow()(calls)
    return workflow


DBOS: Final = Peer(
    "dbos", _launched, "durable: SQLite, each output committed", ("dbos",), is_busy_while_open=True
)
