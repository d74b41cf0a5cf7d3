"""Jobs that are lost: no run stays behind."""

import pytest

from tests.workers._office import no_job_is_left, office, over, plan_of, status, until, working
from toolplan.app.app import App
from toolplan.events import RunState
from toolplan_workers import watch
from toolplan_workers.queue.dispatch import Dispatch
from toolplan_workers.worker import dispatch_for


def _execute(dispatch: Dispatch, statement: str) -> None:
    with dispatch.journal.transaction() as connection:
        connection.execute(statement.encode())


async def _submit(app: App, *, yes: bool = True) -> str:
    plan = plan_of(app, {"id": "w", "tool": "write", "args": {"x": "one"}})
    return await app.workers.submit(plan, yes=yes)


async def test_a_run_without_a_job_is_put_back_once(url: str) -> None:
    with office(url) as app:
        dispatch, queue = dispatch_for(app), app.workers.queue
        run, parked, waits = await _submit(app), await _submit(app), await _submit(app, yes=False)
        assert dispatch.put_lost(queue) == []
        dispatch.park(parked, "a reason")
        _execute(dispatch, "DELETE FROM procrastinate_jobs")
        assert dispatch.put_lost("office@000000000000") == []
        assert dispatch.put_lost(queue) == [run]
        assert dispatch.put_lost(queue) == []
        await app.workers.approve(waits, app.needed_journal().load(waits).digest)
        _execute(dispatch, "DELETE FROM procrastinate_jobs")
        assert sorted(dispatch.put_lost(queue)) == sorted([run, waits])


async def test_a_worker_finds_a_run_that_has_no_job(
    url: str, home: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    del home
    monkeypatch.setattr(watch, "_LOST_EVERY", 1)
    with office(url) as app:
        run = await _submit(app)
        _execute(dispatch_for(app), "DELETE FROM procrastinate_jobs")
        async with working(url):
            assert (await over(app, run, seconds=90)).status is RunState.SUCCEEDED
            await until(lambda: no_job_is_left(dispatch_for(app)), seconds=90)


async def test_a_job_that_is_to_be_aborted_is_put_back_as_any_other(url: str) -> None:
    """Its worker dies before it reads the message: the next one reads it."""
    with office(url) as app:
        run = await _submit(app)
        dispatch = dispatch_for(app)
        _execute(dispatch, "UPDATE procrastinate_jobs SET status = 'doing'")
        dispatch.send(run, "cancel", None, "")
        assert await dispatch.queue.cancel(run)
        asked = "SELECT abort_requested FROM procrastinate_jobs WHERE status = 'doing'"
        assert dispatch.journal.rows(asked, ()) == [(True,)]
        await dispatch.queue.open()
        try:
            (job,) = await dispatch.queue.doing()
            assert await dispatch.queue.back(job)
            assert not await dispatch.queue.back(job)
        finally:
            await dispatch.queue.close()
        assert status(app, run) is RunState.RUNNING
        async with working(url):
            assert (await over(app, run, seconds=90)).status is RunState.CANCELLED
            await until(lambda: no_job_is_left(dispatch), seconds=90)
