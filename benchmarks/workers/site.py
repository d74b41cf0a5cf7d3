"""A Postgres server, workers that are processes, and what both of them cost."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import toolplan
from benchmarks.workers.office import FOLDER
from tests.postgres import Server, server
from toolplan.app.app import App
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan_workers.worker import dispatch_for

_SETTINGS: Final[dict[str, Any]] = {
    "toolboxes": {"office": {"tools": ["benchmarks.workers.office:TOOLS"]}}
}
_TABLE: Final = '[toolboxes.office]\ntools = ["benchmarks.workers.office:TOOLS"]\n'
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_OPTIONS: Final = (
    "fsync=on",
    "autovacuum=on",
    "shared_buffers=128MB",
    "shared_preload_libraries='pg_stat_statements'",
)
_ROOT: Final = Path(__file__).parent.parent.parent
_NAME: Final = "worker"
WORKERS: Final = 4


class Costs(NamedTuple):
    """What was spent: CPU in seconds, and what the server counted."""

    workers_s: float
    server_s: float
    statements: float
    commits: float
    syncs: float
    wal_bytes: float

    def since(self, before: Costs) -> Costs:
        """Return what was spent since `before`."""
        return Costs(*(now - then for now, then in zip(self, before, strict=True)))


class Site:
    """A journal in a Postgres server of its own, and processes that work for it."""

    def __init__(self, folder: Path, postgres: Server) -> None:
        self.folder = folder
        self.postgres = postgres
        self.url = postgres.schema()
        self.processes: list[subprocess.Popen[bytes]] = []
        with self.office() as app, dispatch_for(app).journal.transaction() as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")

    @contextmanager
    def office(self) -> Generator[App]:
        """Open an app that submits runs."""
        with toolplan.open(
            toolbox="office",
            journal=self.url,
            settings=_SETTINGS,
            planner="offline",
            on_note=lambda _: None,
        ) as app:
            yield app

    @contextmanager
    def workers(self, count: int = WORKERS, limits: str = "") -> Generator[None]:
        """Have workers that take runs."""
        (self.folder / "toolplan.toml").write_text(_TABLE + limits)
        url = f"{self.url}&application_name={_NAME}"
        command = [sys.executable, "-m", "toolplan", "worker", "office", "--grace", "1"]
        with self.hired(command, count, {"TOOLPLAN_JOURNAL": url}) as logs:
            eventually(lambda: all(b"takes runs" in log.read_bytes() for log in logs))
            # the first moments of a worker are those of its modules
            time.sleep(0.5)
            yield

    @contextmanager
    def hired(
        self, command: Sequence[str], count: int, environment: dict[str, str]
    ) -> Generator[list[Path]]:
        """Run `count` processes; yield the files of what they print."""
        variables = {**os.environ, FOLDER: str(self.folder), **environment}
        logs: list[Path] = []
        mine: list[subprocess.Popen[bytes]] = []
        for _ in range(count):
            logs.append(self.folder / f"log{time.monotonic_ns()}")
            with logs[-1].open("wb") as log:
                mine.append(
                    subprocess.Popen(command, cwd=_ROOT, env=variables, stdout=log, stderr=log)
                )
        self.processes += mine
        try:
            yield logs
        finally:
            self.processes = [each for each in self.processes if each not in mine]
            for each in mine:
                each.terminate()
            for each in mine:
                try:
                    each.wait(20)
                except subprocess.TimeoutExpired:
                    each.kill()
                    each.wait()

    def kill(self, process: int) -> None:
        """Kill one of the processes at once."""
        victim = next(each for each in self.processes if each.pid == process)
        victim.kill()
        victim.wait()

    @contextmanager
    def standing_still(self) -> Generator[None]:
        """Stop all processes for a moment, so that work gathers."""
        self.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.signal(signal.SIGCONT)

    def signal(self, number: int) -> None:
        """Send a signal to all processes."""
        for each in self.processes:
            if each.poll() is None:
                each.send_signal(number)

    def costs(self, app: App) -> Costs:
        """Return what was spent until now by the processes and the server."""
        processes = sum(_cpu(each.pid) for each in self.processes if each.poll() is None)
        main = self.postgres.pid
        theirs = _cpu(main, children=True) + sum(map(_cpu, _children(main)))
        # not itself
        statements, commits, syncs, wal = self.ask(
            app,
            "SELECT (SELECT sum(calls) FROM pg_stat_statements),"
            " (SELECT sum(xact_commit) FROM pg_stat_database), w.wal_sync, w.wal_bytes"
            " FROM pg_stat_wal AS w",
        )[0]
        return Costs(processes, theirs, *map(float, (statements, commits, syncs, wal)))

    def ask(self, app: App, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with dispatch_for(app).journal.transaction() as connection:
            return connection.execute(query.encode()).fetchall()

    def connections(self, app: App) -> int:
        """Return how many connections all workers have."""
        query = f"SELECT count(*) FROM pg_stat_activity WHERE application_name = '{_NAME}'"  # noqa: S608
        return int(self.ask(app, query)[0][0])

    def open_runs(self, app: App) -> int:
        """Return how many runs are not over."""
        query = "SELECT count(*) FROM runs WHERE status NOT IN ('succeeded', 'failed', 'cancelled')"
        return int(self.ask(app, query)[0][0])

    def await_ends(self, app: App, seconds: float = 120) -> None:
        """Wait until all runs are over."""
        eventually(lambda: not self.open_runs(app), seconds)


@contextmanager
def site() -> Generator[Site]:
    """Have a server and a folder for a while."""
    with tempfile.TemporaryDirectory() as folder, server(_OPTIONS) as postgres:
        yield Site(Path(folder), postgres)


def planned(app: App, text: str) -> ExecutionPlan:
    """Return the plan in `text`, checked."""
    checked = app.check(text)
    if checked.plan is None:
        raise RuntimeError(str(checked.diagnostics))
    return checked.plan


async def submitted(app: App, plan: ExecutionPlan, runs: int) -> list[str]:
    """Submit `plan` a number of times, eight at once; return the runs."""
    places = asyncio.Semaphore(8)

    async def one() -> str:
        async with places:
            return await app.workers.submit(plan, yes=True)

    return list(await asyncio.gather(*(one() for _ in range(runs))))


def eventually(happens: Callable[[], object], seconds: float = 60) -> None:
    """Wait until `happens()` is true."""
    until = time.monotonic() + seconds
    while not happens():
        if time.monotonic() > until:
            raise TimeoutError("What is measured did not happen.")
        time.sleep(0.03)


def _cpu(process: int, *, children: bool = False) -> float:
    """Return the seconds of CPU of a process, with `children` also of those that have ended."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return 0.0
    fields = text.rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if children else 13])) / _TICKS


def _children(process: int) -> list[int]:
    return [
        int(name)
        for path in Path(f"/proc/{process}/task").glob("*/children")
        for name in path.read_text().split()
    ]
