"""Workers that stand still: what they hold is given to others."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.workers._office import office, plan_of, status, until
from tests.workers.crew import SETTINGS, crew
from toolplan.events import RunState, StepStarted
from toolplan_workers.worker import dispatch_for

_LIMITED = f"{SETTINGS}[limits.everywhere]\nread = 1\n"


@pytest.mark.timeout(120)
async def test_a_worker_that_stands_still_keeps_no_place(url: str, tmp_path: Path) -> None:
    with office(url) as app, crew(url, tmp_path, 2, _LIMITED) as workers:
        workers.wait_ready()
        journal = dispatch_for(app).journal
        plan = plan_of(app, {"id": "a", "tool": "read", "args": {"seconds": 3.0}})
        first = await app.workers.submit(plan)
        await until(lambda: any(isinstance(each, StepStarted) for each in journal.events(first)))
        owner = journal.held()[first]
        pid = int(owner.split("|")[0].rpartition(":")[2])
        os.kill(pid, signal.SIGSTOP)
        stopped_at = time.monotonic()
        try:
            second = await app.workers.submit(plan)
            started = await until(
                lambda: any(
                    isinstance(each, StepStarted)
                    for run in (first, second)
                    if journal.held().get(run, owner) != owner
                    for each in journal.events(run)[-1:]
                ),
                seconds=40,
            )
            assert started
            assert time.monotonic() - stopped_at < 14
            for run in (first, second):
                await until(lambda run=run: status(app, run) is RunState.SUCCEEDED, seconds=40)
            assert f"Worker {owner} is silent" in workers.logs()
        finally:
            os.kill(pid, signal.SIGCONT)
