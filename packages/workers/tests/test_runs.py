"""Runs that are given to workers: taken, approved, decided about, cancelled, left."""

import asyncio
from pathlib import Path

import pytest

from tests.workers._office import (
    ledger,
    no_job_is_left,
    office,
    over,
    plan_of,
    status,
    until,
    working,
)
from toolplan import App, ApprovalRequired, JournalError
from toolplan.engine import CannotRun, Leaving
from toolplan.events import CallDecided, RunApproved, RunEnded, RunState
from toolplan_workers.queue.dispatch import lock_of
from toolplan_workers.watch import Watch
from toolplan_workers.worker import dispatch_for


async def test_a_run_is_taken_by_a_worker(url: str) -> None:
    async with working(url) as app:
        assert not app.workers.stranded()
        plan = plan_of(
            app,
            {"id": "a", "tool": "read", "args": {"x": 1}},
            {"id": "b", "tool": "read", "args": {"x": "${a}"}},
        )
        run = await app.workers.submit(plan)
        events = [event async for event in app.workers.follow(run)]
        assert isinstance(events[-1], RunEnded)
        assert app.needed_journal().load(run).output == {"b": 1}
        await until(lambda: no_job_is_left(dispatch_for(app)))


async def test_an_approval_from_elsewhere_starts_a_run_that_waits(url: str, home: Path) -> None:
    async with working(url) as app:
        plan = plan_of(app, {"id": "w", "tool": "write", "args": {"x": "one"}})
        run = await app.workers.submit(plan)
        assert (await over(app, run)).status is RunState.WAITING
        with office(url) as elsewhere:
            with pytest.raises(ApprovalRequired):
                await elsewhere.workers.approve(run, "0" * 64)
            await elsewhere.workers.approve(run, plan.digest, who="anna")
        await until(lambda: status(app, run) is RunState.SUCCEEDED)
        with pytest.raises(JournalError, match="waits for no approval"):
            await app.workers.approve(run, plan.digest)
        await until(lambda: no_job_is_left(dispatch_for(app)))
        (message,) = dispatch_for(app).messages(run, answered=True)
        assert (message.who, message.answer) == ("anna", "counted")
        events = app.needed_journal().events(run)
        assert [each.by for each in events if isinstance(each, RunApproved)] == ["anna"]
    assert ledger(home) == ["begin:one", "end:one"]


async def test_a_run_is_cancelled_from_elsewhere_wherever_it_is(url: str, home: Path) -> None:
    with office(url) as app:
        plan = plan_of(app, {"id": "r", "tool": "read", "args": {"seconds": 60}})
        waiting = await app.workers.submit(plan)
        await app.workers.cancel(waiting)  # no worker is there yet
        running = await app.workers.submit(plan)
        async with working(url):
            await until(lambda: "r" in _started(app, running))
            await app.workers.cancel(running)
            for run in (waiting, running):
                await until(lambda run=run: status(app, run) is RunState.CANCELLED)
            await until(lambda: no_job_is_left(dispatch_for(app)))
        for run in (waiting, running):
            assert [each.answer for each in dispatch_for(app).messages(run, answered=True)] == [
                "counted"
            ]


async def test_a_run_without_a_worker_is_cancelled_here(url: str) -> None:
    with office(url) as app:
        plan = plan_of(app, {"id": "a", "tool": "read"})
        runs = [await app.workers.submit(plan) for _ in range(2)]
        assert [*dispatch_for(app).stranded()] == runs
        await app.workers.cancel(runs[0], who="anna")
        assert status(app, runs[0]) is RunState.CANCELLED
        (message,) = dispatch_for(app).messages(runs[0], answered=True)
        assert (message.who, message.answer) == ("anna", "counted")
        assert [*dispatch_for(app).stranded()] == runs[1:]


async def test_a_process_that_works_cancels_runs_and_works_on(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The connections of its queue are those of the worker: `cancel` closes none of them."""
    async with working(url) as app:
        dispatch = dispatch_for(app)
        plan = plan_of(app, {"id": "r", "tool": "read", "args": {"seconds": 60}})
        runs = [await app.workers.submit(plan) for _ in range(3)]
        await until(lambda: all("r" in _started(app, run) for run in runs), seconds=90)
        before = dispatch.workers()
        await asyncio.gather(*[app.workers.cancel(run) for run in runs])
        for run in runs:
            await until(lambda run=run: status(app, run) is RunState.CANCELLED, seconds=90)
        short = await app.workers.submit(plan_of(app, {"id": "r", "tool": "read"}))
        assert (await over(app, short, seconds=90)).succeeded
        await dispatch.queue.doing()  # its connections are open
        assert dispatch.workers() == before
        await until(lambda: no_job_is_left(dispatch), seconds=90)
    assert not [each for each in caplog.records if each.name.startswith("toolplan_workers")]


async def test_a_worker_that_leaves_hands_its_run_to_another(url: str, home: Path) -> None:
    leaving = Leaving(10.0)
    with office(url) as app:
        plan = plan_of(
            app,
            {"id": "a", "tool": "write", "args": {"x": "a", "seconds": 1.0}},
            {"id": "b", "tool": "write", "args": {"x": "b"}, "after": ["a"]},
        )
        async with working(url, leaving):
            run = await app.workers.submit(plan, yes=True)
            await until(lambda: ledger(home) == ["begin:a"])
            leaving.ask()
        assert ledger(home) == ["begin:a", "end:a"]
        assert status(app, run) is RunState.RUNNING
        async with working(url):
            assert (await over(app, run)).status is RunState.SUCCEEDED
    assert ledger(home) == ["begin:a", "end:a", "begin:b", "end:b"]


async def test_a_run_whose_end_was_not_kept_is_run_to_its_end_by_another(url: str) -> None:
    """Its engine knows the result, and its lease was lost before that was written."""
    async with working(url) as app:
        plan = plan_of(app, {"id": "r", "tool": "read", "args": {"x": 1, "seconds": 1.0}})
        run = await app.workers.submit(plan)
        await until(lambda: "r" in _started(app, run))
        journal = dispatch_for(app).journal
        assert await until(lambda: journal.revoke(run, journal.held().get(run, "nobody")))
        done = await until(lambda: (found := app.needed_journal().load(run)).succeeded and found)
        assert done.output == {"r": 1}
        await until(lambda: no_job_is_left(dispatch_for(app)))


async def test_a_job_that_is_put_back_to_a_worker_that_has_it_harms_nothing(url: str) -> None:
    """Watches may be wrong about who is dead, and put a job back twice."""
    async with working(url) as app:
        dispatch = dispatch_for(app)
        plan = plan_of(app, {"id": "r", "tool": "read", "args": {"x": 1, "seconds": 3.0}})
        run = await app.workers.submit(plan)
        await until(lambda: "r" in _started(app, run))
        for job in await dispatch.queue.doing():
            assert await dispatch.queue.back(job)
        assert (await over(app, run)).output == {"r": 1}
        await until(lambda: no_job_is_left(dispatch))
        placement = dispatch.placement(run)
        assert placement is not None
        assert not placement.parked


async def test_a_decision_about_no_call_in_doubt_is_refused(url: str) -> None:
    with office(url) as app:
        plan = plan_of(app, {"id": "w", "tool": "write", "args": {"x": "one"}})
        run = await app.workers.submit(plan)
        with pytest.raises(CannotRun, match="no call in doubt"):
            await app.workers.decide(run, retry=["w"])
        assert not dispatch_for(app).messages(run)


async def test_a_call_in_doubt_is_decided_from_elsewhere(url: str, home: Path) -> None:
    leaving = Leaving(0.0)
    with office(url) as app:
        plan = plan_of(app, {"id": "w", "tool": "write", "args": {"x": "a", "seconds": 30}})
        async with working(url, leaving):
            run = await app.workers.submit(plan, yes=True)
            await until(lambda: ledger(home) == ["begin:a"])
            leaving.ask()
        async with working(url):
            await until(lambda: status(app, run) is RunState.IN_DOUBT)
            await app.workers.decide(run, resolve={"w": "by hand"}, who="anna")
            done = await until(
                lambda: (found := app.needed_journal().load(run)).succeeded and found
            )
            assert done.output == {"w": "by hand"}
            events = app.needed_journal().events(run)
            assert [each.by for each in events if isinstance(each, CallDecided)] == ["anna"]
    assert ledger(home) == ["begin:a"]


async def test_a_run_without_a_worker_is_named(url: str) -> None:
    with office(url) as app:
        plan = plan_of(app, {"id": "a", "tool": "read"})
        run = await app.workers.submit(plan)
        found = dispatch_for(app).without_worker([run])
        assert found == {run: app.workers.queue}
        assert found[run].startswith("office@")
        assert dispatch_for(app).stranded() == found


async def test_a_run_of_workers_that_died_unseen_is_named(url: str) -> None:
    """Nobody was there to see that the last of them died."""
    with office(url) as app:
        dispatch = dispatch_for(app)
        run = await app.workers.submit(plan_of(app, {"id": "a", "tool": "read"}))
        dispatch.join("gone", "7", app.workers.queue)
        dispatch.join("here", "8", "office@000000000000")
        with office(url) as elsewhere:
            assert dispatch_for(elsewhere).journal.locks.hold(lock_of("here"))
            assert dispatch.worked() == ["office@000000000000"]
            (said,) = app.workers.stranded()
            assert run[:8] in said.text
            assert "The workers for office@000000000000 have other tools." in said.text
        assert dispatch.stranded() == dispatch.without_worker([run]) == {run: app.workers.queue}


async def test_a_job_whose_end_was_lost_is_put_back(url: str) -> None:
    with office(url) as app:
        dispatch = dispatch_for(app)
        run = await app.workers.submit(plan_of(app, {"id": "a", "tool": "read"}))
        with dispatch.journal.transaction() as connection:
            query = "SELECT * FROM procrastinate_register_worker_v1()"
            ((number,),) = connection.execute(query).fetchall()
            connection.execute(
                "UPDATE procrastinate_jobs SET status = 'doing', worker_id = %s", (number,)
            )
        dispatch.join("me", str(number), app.workers.queue)
        await dispatch.queue.open()
        try:
            (job,) = await dispatch.queue.doing()
            assert job.run == run
            watch = Watch(dispatch, "me", app.workers.queue)
            for busy in ({job.number}, {job.number}, set[int]()):
                await watch.look_for_forgotten(busy)
                assert await dispatch.queue.doing()  # it may have been taken just now
            await watch.look_for_forgotten(set())
            assert not await dispatch.queue.doing()
        finally:
            await dispatch.queue.close()


async def test_a_worker_has_few_connections(url: str) -> None:
    async with working(f"{url}&application_name=counted") as app:
        plan = plan_of(app, {"id": "a", "tool": "read", "args": {"seconds": 0.05}})
        with office(url) as elsewhere:
            runs = [await elsewhere.workers.submit(plan) for _ in range(40)]
            for run in runs:
                assert (await over(elsewhere, run)).status is RunState.SUCCEEDED
            with dispatch_for(elsewhere).journal.transaction() as connection:
                query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'counted'"
                assert connection.execute(query).fetchall()[0][0] <= 8


def _started(app: App, run: str) -> str:
    loaded = app.needed_journal().load(run)
    return " ".join(name for name, step in loaded.steps.items() if step.state == "running")


async def test_the_start_of_a_worker_without_a_shared_journal_is_refused(tmp_path: Path) -> None:
    with office(str(tmp_path / "runs.sqlite")) as app, pytest.raises(JournalError) as raised:
        await asyncio.to_thread(dispatch_for, app)
    assert raised.value.code == "journal-not-shared"
