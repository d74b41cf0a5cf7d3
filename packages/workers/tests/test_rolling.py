"""Versions of a toolbox, workers that leave under load, and runs that end their workers."""

import asyncio
from pathlib import Path

import pytest

from tests.postgres import Server
from tests.workers._office import ledger, office, over, plan_of, status, until, working
from tests.workers.crew import crew
from tests.workers.rolling import Upgrade, report_of
from toolplan.app.workers import queue_of
from toolplan.events import RunState
from toolplan.schema.tool import Tool, Toolbox
from toolplan_workers.worker import dispatch_for


def test_another_version_of_a_tool_is_another_queue() -> None:
    one = Toolbox([Tool("t", "Reads.", {"type": "object"}, None)])
    two = Toolbox([Tool("t", "Reads.", {"type": "object"}, {"type": "string"})])
    assert queue_of("office", one) != queue_of("office", two)
    assert queue_of("office", one) == queue_of("office", Toolbox([*one.values()]))
    assert queue_of("office", one) != queue_of("home", one)


async def test_a_worker_whose_tools_are_described_otherwise_continues_a_run(url: str) -> None:
    other = {"toolboxes": {"office": {"tools": ["tests.workers.version_tools:REWORDED"]}}}
    old = {"toolboxes": {"office": {"tools": ["tests.workers.version_tools:READS"]}}}
    with office(url, **old) as app:
        plan = plan_of(app, step := {"id": "a", "tool": "send"})
        run = await app.workers.submit(plan)
        async with working(url, settings=other) as worker:
            assert plan_of(worker, step).digest != plan.digest
            await app.workers.approve(run, plan.digest)
            await until(lambda: status(app, run) is RunState.SUCCEEDED)
        assert app.needed_journal().load(run).digest == plan.digest


async def test_a_worker_with_other_tools_leaves_a_run_alone_and_names_it(url: str) -> None:
    other = {"toolboxes": {"office": {"tools": ["toolplan_demo:TOOLS"]}}}
    with office(url) as app:
        run = await app.workers.submit(plan_of(app, {"id": "a", "tool": "read"}))
        async with working(url, settings=other):
            await asyncio.sleep(1.5)
            assert status(app, run) is RunState.RUNNING
            assert dispatch_for(app).without_worker([run])
        async with working(url):
            assert (await over(app, run)).status is RunState.SUCCEEDED


async def test_workers_leave_one_after_another_under_load(url: str, home: Path) -> None:
    with office(url) as app, crew(url, home, 2) as hired:
        await asyncio.to_thread(hired.wait_ready)
        runs = [
            await app.workers.submit(
                plan_of(
                    app,
                    {"id": "a", "tool": "write", "args": {"x": f"{at}.a", "seconds": 0.3}},
                    {"id": "b", "tool": "write", "args": {"x": f"{at}.b"}, "after": ["a"]},
                ),
                yes=True,
            )
            for at in range(8)
        ]
        await until(lambda: len(ledger(home)) > 4)
        hired.hire(1)
        await asyncio.to_thread(hired.leave_first, 2)
        assert hired.codes[:2] == [0, 0], hired.logs()
        for run in runs:
            assert (await over(app, run)).status is RunState.SUCCEEDED
    begun = [word for word in ledger(home) if word.startswith("begin:")]
    assert sorted(begun) == sorted(f"begin:{at}.{step}" for at in range(8) for step in "ab")


@pytest.mark.timeout(400)
async def test_a_new_version_replaces_the_old_one_under_load(
    postgres: Server, tmp_path: Path
) -> None:
    """`python -m tests.workers --rolling 300` does it with more runs."""
    report = await report_of(postgres, tmp_path, Upgrade(runs=10))
    assert not report.breaches, str(report)
    assert min(report[:-1]) > 0, str(report)


async def test_a_run_that_ends_each_of_its_workers_is_parked_with_the_reason(
    url: str, home: Path
) -> None:
    with office(url) as app:
        dispatch = dispatch_for(app)
        run = await app.workers.submit(plan_of(app, {"id": "d", "tool": "die"}))
        with dispatch.journal.transaction() as connection:  # ten that ended before
            connection.execute("UPDATE placements SET lives = 9, progress = 0")
        with crew(url, home, 2) as hired:
            await asyncio.to_thread(hired.wait_ready, alive=False)
            for _ in range(60):
                placement = dispatch.placement(run)
                if placement is not None and placement.parked:
                    break
                await asyncio.to_thread(hired.replace_dead)
                await asyncio.sleep(0.25)
            found = dispatch.placement(run)
            assert found is not None
            assert "workers in a row ended" in found.parked
            assert status(app, run) is RunState.RUNNING


@pytest.mark.timeout(150)
async def test_a_run_that_ends_its_workers_takes_no_neighbour_along(url: str, home: Path) -> None:
    """Healthy runs beside it succeed, and only the guilty one is parked."""
    with office(url) as app:
        dispatch = dispatch_for(app)
        slow = plan_of(app, {"id": "r", "tool": "read", "args": {"seconds": 2.0}})
        healthy = [await app.workers.submit(slow) for _ in range(4)]
        poison = await app.workers.submit(plan_of(app, {"id": "d", "tool": "die"}))
        with crew(url, home, 2) as hired:

            def succeeded() -> bool:
                hired.replace_dead()
                return all(status(app, run) is RunState.SUCCEEDED for run in healthy)

            await until(succeeded, seconds=90)
            for run in healthy:
                placement = dispatch.placement(run)
                assert placement is not None
                assert not placement.parked
            dispatch.journal.rows("UPDATE placements SET lives = 10 WHERE run = %s", (poison,))

            def is_parked() -> bool:
                hired.replace_dead()
                placement = dispatch.placement(poison)
                return placement is not None and "workers in a row" in placement.parked

            await until(is_parked, seconds=40)
