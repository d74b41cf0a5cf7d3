"""A worker of DBOS whose workflow is the plan of ten steps, each of them a step of DBOS.

`python -m benchmarks.workers.dbos_steps URL` runs one; `rows` measures four of them.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from benchmarks.engine.rows import Row
from benchmarks.workers.site import WORKERS, Site, eventually
from toolplan_workers.worker import dispatch_for

_QUEUE: Final = "runs"
_WORKFLOW: Final = "ten"
_DATABASE: Final = "dbos"
_POLL_S: Final = 0.2
"""As it comes it is one second, with which it does less."""


def rows(site: Site, runs: int, ours: float) -> Iterator[Row]:
    """Yield runs a second of workflows of DBOS beside `ours`, where it is installed."""
    if find_spec("dbos") is None:
        return
    with site.office() as app:
        dispatch_for(app).journal.rows(f"CREATE DATABASE {_DATABASE}", ())
    url = site.postgres.url(name=_DATABASE).replace("postgres://", "postgresql://", 1)
    command = [sys.executable, "-m", "benchmarks.workers.dbos_steps", url]
    library: Any = import_module("dbos")
    with site.hired(command, WORKERS, {}) as logs:
        eventually(lambda: all(b"ready" in log.read_bytes() for log in logs))
        client = library.DBOSClient(system_database_url=url)
        try:
            _seconds(site, client, runs // 4)  # not counted
            theirs = runs / _seconds(site, client, runs)
        finally:
            client.destroy()
    yield Row("  beside DBOS, each call a step of it", ours / theirs, 4, False, f"{theirs:.1f}")


def _seconds(site: Site, client: Any, runs: int) -> float:  # noqa: ANN401 — of DBOS
    with site.standing_still():
        options = {"queue_name": _QUEUE, "workflow_name": _WORKFLOW}
        names = [client.enqueue(options).workflow_id for _ in range(runs)]
        start = time.perf_counter()
    eventually(
        lambda: all(each.status == "SUCCESS" for each in client.list_workflows(workflow_ids=names)),
        300,
    )
    return time.perf_counter() - start


def _main(url: str) -> None:
    library: Any = import_module("dbos").DBOS
    library(
        config={
            "name": "toolplan-benchmark",
            "system_database_url": url,
            "application_version": "1",
            "executor_id": str(os.getpid()),
            "log_level": "ERROR",
            "console_log_level": "ERROR",
        }
    )

    async def call(key: str, left: int = 0, right: int = 0) -> int:
        return len(key) + left + right

    step: Callable[..., Awaitable[int]] = library.step()(call)

    async def ten() -> int:
        """Run the layers of `office.layered`; the steps of a layer begin in a fixed order."""
        left, right = await asyncio.gather(step("s0"), step("s1"))
        for at in range(2, 10, 2):
            left, right = await asyncio.gather(
                step(f"s{at}", left, right), step(f"s{at + 1}", left, right)
            )
        return left + right

    library.workflow(name=_WORKFLOW)(ten)
    library.launch()
    library.register_queue(_QUEUE, worker_concurrency=16, polling_interval_sec=_POLL_S)
    print("ready", flush=True)
    signal.sigwait([signal.SIGTERM])
    library.destroy()


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    _main(sys.argv[1])
