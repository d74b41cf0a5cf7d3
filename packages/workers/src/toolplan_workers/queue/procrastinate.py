"""Queues of procrastinate, in the database of the journal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Generator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import procrastinate
from msgspec import Struct
from procrastinate import utils
from procrastinate.exceptions import ConnectorException, ProcrastinateException
from procrastinate.job_context import JobContext
from procrastinate.jobs import DeleteJobCondition, Status
from procrastinate.jobs import Job as TheirJob
from procrastinate.manager import JobManager
from procrastinate.retry import BaseRetryStrategy, RetryDecision
from procrastinate.schema import SchemaManager
from psycopg_pool import AsyncConnectionPool

from toolplan.base.errors import ToolplanError
from toolplan.storage.journal import JournalError
from toolplan_workers.postgres.connections import Connection, has_table

TASK: Final = "toolplan.run"
_POLL_S: Final = 0.4
"""Seconds between a worker's looks for jobs that were put back, of which there is no notice."""
_ABORT_S: Final = 1.0
_MOST: Final = 2
"""Maximum number of connections, beside the one that listens: all queries are short."""
_TRIES: Final = 10
_PAUSE_S: Final = 0.5
_HEARTBEAT_S: Final = 2.0
_GONE: Final = "was not found"
_LEAST: Final = "03.04.00_50_post_add_retry_failed_job_procedure.sql"
"""The last migration of the least version that is admitted, 3.10."""
_POST: Final = "_post_"
"""Part of the names of migrations that earlier versions of the library do not work with."""
_NO_ABORT: Final = (
    "UPDATE procrastinate_jobs SET abort_requested = false"
    " WHERE id = %(number)s AND status = 'doing' AND abort_requested"
)


class Job(Struct, frozen=True):
    """A run in a queue that a worker has taken.

    Attributes:
        number: the number of the job; a run may have several, one after another.
        run: the name of the run.
        worker: the number of the worker in the queue; empty if the queue does not know it any more.
        tries: the number of earlier workers that did not finish the job.
    """

    number: int
    run: str
    worker: str
    tries: int


class Again(ToolplanError):
    """A job cannot be finished now, and is tried again after `pause_s` seconds."""

    def __init__(self, pause_s: float = 0.2) -> None:
        super().__init__("try-again", "The run cannot be worked on now; it is tried again.")
        self.pause_s = pause_s


Handle: TypeAlias = Callable[[Job], Awaitable[None]]
"""Works on a run until it ends or waits; a cancellation says that a message may cancel the run."""


class ProcrastinateQueue:
    """Assigns runs to workers; jobs of one run are worked on one after another.

    It may be wrong about dead workers: the journal refuses writes of a worker after its lease. Its
    tables are in the first schema of the connection's search path.
    """

    with_job: Final = "SELECT lock AS run FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._sender = procrastinate.App(
            connector=procrastinate.SyncPsycopgConnector(conninfo=conninfo)
        )
        self._app: procrastinate.App | None = None
        self._worker: Any = None
        self.mine: set[int] = set()
        """The numbers of the jobs that this process works on."""

    @staticmethod
    def migrate(connection: Connection, *, is_idle: bool) -> bool:
        """Make the tables, or apply one migration of this version of the library.

        A last migration that earlier versions do not work with waits until the queue `is_idle`.
        Return whether another step is needed.

        Raises:
            JournalError: a later version of the library has changed the tables.
        """
        known = migrations()
        if not has_table(connection, "procrastinate_jobs"):
            connection.execute(SchemaManager.get_schema().encode())
            done = {*known}
        elif not has_table(connection, "queue_migrations"):
            done = {name for name in known if name <= _LEAST}
        else:
            rows = connection.execute("SELECT name FROM queue_migrations").fetchall()
            done = {str(name) for (name,) in rows}
            if later := sorted(name for name in done - known.keys() if _POST in name):
                raise JournalError(
                    "journal-newer",
                    f"A newer procrastinate has changed the tables of the queue ({later[-1]}).",
                    "Install the newest toolplan and procrastinate here.",
                )
            pending = [name for name in known if name not in done]
            while pending and _POST in pending[-1] and not is_idle:
                pending.pop()
            if pending:
                connection.execute(known[pending[0]].read_bytes())
                connection.execute("INSERT INTO queue_migrations VALUES (%s)", (pending[0],))
            return len(pending) > 1
        connection.execute("CREATE TABLE queue_migrations (name text PRIMARY KEY)")
        query = "INSERT INTO queue_migrations SELECT unnest(%s::text[])"
        connection.execute(query, (sorted(done),))
        return done != {*known}

    def put(self, connection: Connection, run: str, queue: str) -> None:
        """Put a run into a queue, in the transaction of `connection`."""
        with _faults():
            deferred = self._sender.configure_task(
                TASK, allow_unknown=True, lock=run, queue=queue, connection=connection
            )
            deferred.defer(run=run)

    async def open(self) -> None:
        """Open the connections of a worker, or of a reader of jobs."""
        if self._app is None:
            app = self._new_app(_MOST)
            with _faults():
                await app.open_async()
            app.job_manager = _Jobs(app.job_manager.connector)
            self._app = app

    async def close(self) -> None:
        """Close the connections."""
        app, self._app = self._app, None
        if app is not None:
            with _faults():
                await app.close_async()

    async def work(
        self, queue: str, handle: Handle, concurrency: int, joined: Callable[[str], Awaitable[None]]
    ) -> None:
        """Take jobs of `queue` until `stop`, or until the database is lost."""
        await self.open()
        app = self._needed()
        app.job_manager = _Jobs(app.job_manager.connector, joined)
        mine = self.mine

        @app.task(name=TASK, pass_context=True, retry=_Retry(), queue=queue)
        async def work(context: JobContext, run: str) -> None:
            job = _job(context.job)
            mine.add(job.number)
            try:
                await handle(job)
            finally:
                mine.discard(job.number)

        del work
        with _faults():
            worker = app._worker(  # pyright: ignore[reportPrivateUsage] — `run_worker_async` has no `stop`
                queues=[queue],
                concurrency=concurrency,
                fetch_job_polling_interval=_POLL_S,
                abort_job_polling_interval=_ABORT_S,
                delete_jobs=DeleteJobCondition.ALWAYS,
                install_signal_handlers=False,
                update_heartbeat_interval=_HEARTBEAT_S,
            )
            self._worker = worker
            try:
                await worker.run()
            finally:
                self._worker = None
                cast("Any", app).tasks.pop(TASK, None)

    def stop(self) -> None:
        """Take no more jobs."""
        if self._worker is not None:
            self._worker.stop()

    async def cancel(self, run: str) -> bool:
        """Cancel the job of `run` that a worker has, if there is one.

        The connection is its own: this process may be a worker, which keeps those of `open`.
        """
        with _faults():
            async with self._new_app(1).open_async() as app:
                manager = app.job_manager
                jobs = await manager.list_jobs_async(lock=run, status=Status.DOING.value)
                numbers = [each.id for each in jobs if each.id]
                asked = [await manager.cancel_job_by_id_async(n, abort=True) for n in numbers]
        return any(asked)

    def outside(self, queues: Collection[str]) -> dict[str, str]:
        """Return the runs that are in other queues than `queues`, with the queue."""
        connector = procrastinate.SyncPsycopgConnector(
            conninfo=self._conninfo, min_size=1, max_size=1
        )
        with _faults(), procrastinate.App(connector=connector).open() as app:
            manager = app.job_manager
            names = [str(each["name"]) for each in manager.list_queues(task=TASK)]
            return {
                _job(job).run: name
                for name in names
                if name not in queues
                for job in manager.list_jobs(queue=name, task=TASK)
            }

    async def doing(self) -> list[Job]:
        """Return the jobs that workers have."""
        with _faults():
            manager = self._needed().job_manager
            jobs = await manager.list_jobs_async(task=TASK, status=Status.DOING.value)
        return [_job(each) for each in jobs]

    async def stalled(self, silent_s: float) -> list[Job]:
        """Return the jobs whose workers are not known, or were silent for so long."""
        with _faults():
            manager = self._needed().job_manager
            jobs = await manager.get_stalled_jobs(seconds_since_heartbeat=silent_s)
        return [_job(each) for each in jobs]

    async def back(self, job: Job) -> bool:
        """Put a job back that a worker has; return False if it has it no more."""
        try:
            await self._needed().job_manager.retry_job_by_id_async(job.number, utils.utcnow())
        except ProcrastinateException as error:
            if _is_gone(error):
                return False
            raise _fault(error) from None
        return True

    def _new_app(self, most: int) -> procrastinate.App:
        """Return an app with at most `most` connections, beside the one that listens."""
        return procrastinate.App(
            connector=procrastinate.PsycopgConnector(
                conninfo=self._conninfo,
                min_size=1,
                max_size=most,
                configure=_autocommit,
                pool_factory=_pool,
            )
        )

    def _needed(self) -> procrastinate.App:
        if self._app is None:
            raise RuntimeError("The queue is not open.")
        return self._app


class _Retry(BaseRetryStrategy):
    def get_retry_decision(self, *, exception: BaseException, job: TheirJob) -> RetryDecision:
        pause = exception.pause_s if isinstance(exception, Again) else 1.0
        return RetryDecision(retry_in={"milliseconds": int(1_000 * pause)})


class _Jobs(JobManager):
    """Passes on a worker's number before it takes jobs, and ends jobs that others have taken."""

    def __init__(
        self,
        connector: Any,  # noqa: ANN401
        joined: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__(connector)
        self._joined = joined

    async def register_worker(self) -> int:
        number = await super().register_worker()
        if self._joined is not None:
            await self._joined(str(number))
        return number

    async def finish_job(self, job: TheirJob, status: Status, delete_job: bool) -> None:
        await _kept(partial(super().finish_job, job, status, delete_job))

    async def retry_job(self, job: TheirJob, *args: Any, **named: Any) -> None:  # noqa: ANN401
        await _kept(partial(super().retry_job, job, *args, **named))

    async def retry_job_by_id_async(
        self,
        job_id: int,
        retry_at: datetime,
        priority: int | None = None,
        queue: str | None = None,
        lock: str | None = None,
    ) -> None:
        # a job that is to be aborted would fail; its next worker reads the message to the run
        await self.connector.execute_query_async(_NO_ABORT, number=job_id)
        # the clock of this machine may be wrong: it only says how long the pause is
        pause = retry_at - utils.utcnow()
        row = await self.connector.execute_query_one_async("SELECT clock_timestamp() AS now")
        await super().retry_job_by_id_async(job_id, row["now"] + pause, priority, queue, lock)


async def _kept(work: Callable[[], Awaitable[None]]) -> None:
    """Report how a job ended, again where the connection was lost."""
    for left in reversed(range(_TRIES)):
        try:
            return await work()
        except ProcrastinateException as error:
            if _is_gone(error):  # it was put back meanwhile: its worker was taken for dead
                return None
            if not left or not isinstance(error, ConnectorException):
                raise
        await asyncio.sleep(_PAUSE_S)
    return None


async def _autocommit(connection: Any) -> None:  # noqa: ANN401 — psycopg's
    """Let each statement be a transaction, in one way to the server, and prepare it soon."""
    await connection.set_autocommit(True)
    connection.prepare_threshold = 1


def _pool(*, check: object, **named: Any) -> AsyncConnectionPool[Any]:  # noqa: ANN401 — of theirs
    """Return a pool that does not ask the server before each use: failed calls are tried again."""
    del check
    return AsyncConnectionPool(**named)


def _job(job: TheirJob) -> Job:
    worker = "" if job.worker_id is None else str(job.worker_id)
    return Job(job.id or 0, str(cast("Any", job.task_kwargs)["run"]), worker, job.attempts)


def _is_gone(error: BaseException) -> bool:
    cause = error.__cause__
    return _GONE in str(error) or (cause is not None and _GONE in str(cause))


@contextmanager
def _faults() -> Generator[None]:
    try:
        yield
    except ProcrastinateException as error:
        raise _fault(error) from None


def _fault(error: BaseException) -> JournalError:
    kind = type(error.__cause__ or error).__name__
    return JournalError("journal-unavailable", f"The queue cannot be used: {kind}.")


def migrations() -> dict[str, Path]:
    """Return the files of the library's migrations by name, in order."""
    files = Path(SchemaManager.get_migrations_path()).glob("*.sql")
    return {each.name: each for each in sorted(files)}


def try_queue() -> str:
    """Make the SQL of the queue's tables, which needs no database; return a statement about it."""
    SchemaManager.get_schema()
    return "the queue's tables can be made"
