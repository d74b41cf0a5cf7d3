"""A toolbox of the tests, and workers that run in the test's own event loop."""

import asyncio
import json
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import toolplan
from toolplan.app.app import App
from toolplan.engine import Leaving
from toolplan.events import Run, RunState
from toolplan.plan.path import Json
from toolplan_workers import work
from toolplan_workers.queue.dispatch import Dispatch

SETTINGS: dict[str, Any] = {"toolboxes": {"office": {"tools": ["tests.workers.tools:TOOLS"]}}}


@contextmanager
def office(url: str, **settings: Any) -> Generator[App]:
    """Open the office of the tests with a journal of its own."""
    with toolplan.open(
        toolbox="office",
        journal=url,
        settings={**SETTINGS, **settings},
        planner="offline",
        on_note=lambda _: None,
    ) as app:
        yield app


@asynccontextmanager
async def working(
    url: str, leaving: Leaving | None = None, settings: Any = None, **more: Any
) -> AsyncGenerator[App]:
    """Run a worker for a while, which leaves at the end."""
    leaving = Leaving(2.0) if leaving is None else leaving
    ready = asyncio.Event()
    with office(url, **(settings or {})) as app:
        task = asyncio.create_task(
            work(app, leaving=leaving, on_ready=lambda _: ready.set(), **more)
        )
        waiting = asyncio.create_task(ready.wait())
        await asyncio.wait([task, waiting], return_when=asyncio.FIRST_COMPLETED)
        try:
            yield app
        finally:
            waiting.cancel()
            leaving.ask()
            await task


def plan_of(app: App, *steps: dict[str, Json]) -> Any:
    """Return a checked plan."""
    checked = app.check(json.dumps({"toolplan": 1, "steps": list(steps)}))
    assert checked.plan is not None, checked.diagnostics
    return checked.plan


async def over(app: App, run: str, *, seconds: float = 30) -> Run:
    """Wait until a run has ended or waits, and return it."""
    async with asyncio.timeout(seconds):
        async for _ in app.workers.follow(run):
            pass
    return app.needed_journal().load(run)


async def until(happens: Any, *, seconds: float = 30) -> Any:
    """Wait until `happens()` is true, and return it."""
    async with asyncio.timeout(seconds):
        while True:
            found = await asyncio.to_thread(happens)
            if found:
                return found
            await asyncio.sleep(0.05)


def status(app: App, run: str) -> RunState:
    """Return the state of a run."""
    return app.needed_journal().entry(run).status


def no_job_is_left(dispatch: Dispatch) -> bool:
    """Return whether the queue has nothing more to do."""
    with dispatch.journal.transaction() as connection:
        return connection.execute("SELECT count(*) FROM procrastinate_jobs").fetchone() == (0,)


def ledger(folder: Path) -> list[str]:
    """Return what the tools of the tests have noted, in order."""
    file = folder / "ledger"
    return file.read_text().split() if file.exists() else []
