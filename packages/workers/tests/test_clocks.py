"""No clock of a client reaches a schedule, a lease or an order: the server's counts."""

import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest
from procrastinate import utils

from tests.workers._office import office, over, plan_of, until, working
from tests.workers.crew import crew
from toolplan.events import RunState
from toolplan_workers.job_runner import JobRunner
from toolplan_workers.journal import SharedJournal
from toolplan_workers.queue.procrastinate import Again, Job
from toolplan_workers.worker import dispatch_for

_FAKETIME: Final = [*Path("/usr/lib").glob("*/faketime/libfaketime.so.1")]
_SHIFTS: Final = (3_600.0, -3_600.0, 86_400.0, -86_400.0)


@pytest.fixture(params=_SHIFTS)
def shift(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> float:
    """A wrong clock of this process: of the queue, and of everything that asks Python."""
    whole, seconds = utils.utcnow, time.time
    monkeypatch.setattr(utils, "utcnow", lambda: whole() + timedelta(seconds=request.param))
    monkeypatch.setattr(time, "time", lambda: seconds() + request.param)
    return request.param


async def test_a_job_is_put_back_for_now(
    url: str, shift: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is tried again, and one whose worker hangs, are taken within seconds."""
    whole, tries = JobRunner.work, 0

    async def work(runner: JobRunner, job: Job) -> None:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise Again(0.2)
        await whole(runner, job)

    monkeypatch.setattr(JobRunner, "work", work)
    async with working(url) as app:
        dispatch = dispatch_for(app)
        run = await app.workers.submit(
            plan_of(app, {"id": "a", "tool": "read", "args": {"seconds": 3.0}})
        )
        query = "SELECT id FROM procrastinate_jobs WHERE status = 'doing' AND attempts = 2"
        await until(lambda: dispatch.journal.rows(query, ()))
        (job,) = await dispatch.queue.doing()
        assert await dispatch.queue.back(job)
        late = "SELECT max(scheduled_at) <= clock_timestamp() FROM procrastinate_jobs"
        assert dispatch.journal.rows(late, ())[0][0] in (True, None)
        assert (await over(app, run)).status is RunState.SUCCEEDED


async def test_runs_are_in_the_order_of_the_server(url: str, shift: float) -> None:
    with office(url) as app:
        plan = plan_of(app, {"id": "a", "tool": "read"})
        runs = [await app.workers.submit(plan) for _ in range(2)]
        journal = dispatch_for(app).journal
        rows = journal.rows(
            "SELECT abs(created_at - extract(epoch FROM clock_timestamp())) < 10 FROM runs", ()
        )
        assert rows == [(True,), (True,)]
        assert [each.run for each in app.needed_journal().runs()] == runs[::-1]
        journal.rows("UPDATE runs SET status = 'succeeded', created_at = created_at - 1800", ())
        assert journal.prune(older_than_s=2_400, keep=0).runs == ()
        assert journal.prune(older_than_s=1_200, keep=0).runs == tuple(runs)


def test_a_difference_is_named(url: str, shift: float) -> None:
    journal = SharedJournal(url)
    journal.close()
    (note,) = (each for each in journal.notes if "clock" in each)
    assert f"{abs(shift):,.0f} s {'ahead of' if shift > 0 else 'behind'}" in note


@pytest.mark.skipif(not _FAKETIME, reason="libfaketime is not installed (apt: libfaketime)")
async def test_workers_with_wrong_clocks_take_over(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One clock is right; whoever takes over is an hour ahead or behind."""
    monkeypatch.setenv("TOOLPLAN_HOME", str(tmp_path))
    with office(url) as app, crew(url, tmp_path, 1) as workers:
        workers.wait_ready()
        plan = plan_of(app, {"id": "a", "tool": "read", "args": {"seconds": 4.0}})
        runs = [await app.workers.submit(plan) for _ in range(3)]
        journal = dispatch_for(app).journal
        await until(lambda: len(journal.held()) == 3)
        for offset in ("+1h", "-1h"):
            monkeypatch.setenv("LD_PRELOAD", str(_FAKETIME[0]))
            monkeypatch.setenv("FAKETIME", offset)
            monkeypatch.setenv("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            workers.hire()
        monkeypatch.delenv("LD_PRELOAD")
        workers.wait_ready()
        workers.kill_first()
        for run in runs:
            assert (await over(app, run, seconds=60)).status is RunState.SUCCEEDED
        assert workers.logs().count("The clock of this machine is 3,600 s") == 2
    assert "LD_PRELOAD" not in os.environ
