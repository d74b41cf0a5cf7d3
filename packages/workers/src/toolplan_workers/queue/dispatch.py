"""Runs that workers take: the queue of each, the messages to it, and the workers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from toolplan.events import Event
from toolplan.plan.path import Json
from toolplan.storage.journal import JournalError, RunRecord
from toolplan.storage.journal.worker_runs import Placement
from toolplan_workers.postgres import PostgresJournal
from toolplan_workers.postgres.connections import has_table
from toolplan_workers.queue.places import PLACES_TABLES, Places
from toolplan_workers.queue.procrastinate import ProcrastinateQueue

_LOCK: Final = 0x746F6F6C776F726B  # "toolwork": one process at a time makes the tables
_LOST_LOCK: Final = _LOCK + 1  # one at a time looks for lost jobs

_TABLES: Final = """
    CREATE TABLE placements (
        run text PRIMARY KEY,
        queue text NOT NULL,
        lives int NOT NULL DEFAULT 0,
        progress bigint NOT NULL DEFAULT -1,
        parked text NOT NULL DEFAULT ''
    );
    CREATE TABLE inbox (
        number bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
        run text NOT NULL,
        kind text NOT NULL,
        content text NOT NULL,
        who text NOT NULL,
        at timestamptz NOT NULL DEFAULT clock_timestamp(),
        answer text
    );
    CREATE INDEX inbox_by_run ON inbox (run, number);
    CREATE INDEX inbox_open ON inbox (run) WHERE answer IS NULL;
    CREATE TABLE workers (
        name text NOT NULL,
        number text NOT NULL,
        queue text NOT NULL,
        PRIMARY KEY (name, number)
    );
"""

# Since when which server, and on which timeline: a standby that takes over begins another one.
_FENCE_TABLES: Final = """
    CREATE TABLE servers (
        number bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
        identity text NOT NULL,
        since timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    ALTER TABLE placements ADD COLUMN fence text NOT NULL DEFAULT '';
"""
_IDENTITY: Final = (
    "(SELECT system_identifier || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)"
    " FROM pg_control_system())"
)
_MAY_IDENTIFY: Final = (
    "SELECT has_function_privilege('pg_control_system()', 'execute')"
    " AND has_function_privilege('pg_walfile_name(pg_lsn)', 'execute')"
)
_LATEST: Final = "coalesce((SELECT identity FROM servers ORDER BY number DESC LIMIT 1), '')"
_FENCED: Final = (
    "The database has moved to another server or timeline, which may not know the latest calls of"
    " this run."
)

_WAITING: Final = """
    coalesce(nullif(fence, ''), parked), number, kind, content, who, answer
    FROM placements AS p LEFT JOIN inbox AS i ON i.run = p.run AND i.answer IS NULL
    WHERE p.run = %s ORDER BY number
"""

_WITHOUT_JOB: Final = """
    SELECT run FROM placements AS p JOIN runs AS r USING (run)
    WHERE status IN ('running', 'waiting', 'in_doubt') AND queue = %s AND parked = '' AND fence = ''
        AND (owner = '' OR lease_until < clock_timestamp())
        AND (status = 'running' OR status IN ('waiting', 'in_doubt') AND EXISTS (
            SELECT 1 FROM inbox AS i WHERE i.run = p.run AND answer IS NULL
        )) AND NOT EXISTS (SELECT 1 FROM """


class Message(NamedTuple):
    """A message to a run: `approve`, `decide`, `consent`, `cancel`; its content and its sender.

    `answer` says whether it counted, or why it was refused; None while no worker has read it.
    """

    number: int
    kind: str
    content: Json
    who: str
    answer: str | None


class Dispatch:
    """The runs of a journal that workers take.

    Its methods block, and raise `JournalError` where the database cannot be used. Each next action
    of a run is a row and a job, in one transaction: no approval is lost with a job, and no job is
    there without its row.
    """

    def __init__(self, journal: PostgresJournal) -> None:
        """Use `journal` and a queue beside it; make their tables, or migrate them."""
        self.journal = journal
        self.queue = ProcrastinateQueue(journal.conninfo)
        self.places = Places(journal)
        with journal.transaction() as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            if not has_table(connection, "placements"):
                connection.execute(_TABLES)
            if not has_table(connection, "servers"):
                connection.execute(_FENCE_TABLES)
            if not has_table(connection, "places"):
                connection.execute(PLACES_TABLES)
            ((allowed,),) = connection.execute(_MAY_IDENTIFY).fetchall()
        self._identity = _IDENTITY if allowed else "''"
        while self._migrate():
            pass
        self.look_for_failover()

    def _migrate(self) -> bool:
        """Do one step for the tables of the queue; return whether another one is needed."""
        with self.journal.transaction() as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            rows = connection.execute("SELECT FROM workers LIMIT 1").fetchall()
            return self.queue.migrate(connection, is_idle=not rows)

    # Sending

    def submit(
        self,
        run: str,
        digest: str,
        record: RunRecord,
        events: Sequence[Event],
        queue: str,
        *,
        starts: bool,
    ) -> None:
        """Write a new run for `queue`, and its job if it `starts` without an approval.

        Raises:
            JournalError: the run exists, its approval was used, or nothing can be written.
        """
        with self.journal.transaction() as connection:
            self.journal.submit(connection, run, digest, record, events)
            connection.execute("INSERT INTO placements VALUES (%s, %s)", (run, queue))
            if starts:
                self.queue.put(connection, run, queue)

    def send(self, run: str, kind: str, content: Json, who: str) -> int:
        """Send a message to a run, and have a worker read it; return its number.

        Raises:
            JournalError: no worker takes this run, or nothing can be written.
        """
        with self.journal.transaction() as connection:
            row = connection.execute(
                "UPDATE placements SET parked = '', lives = 0,"
                " fence = CASE WHEN %s THEN '' ELSE fence END WHERE run = %s"
                " RETURNING queue, fence",
                (kind == "cancel", run),
            ).fetchone()
            if row is None:
                raise JournalError(
                    "not-placed",
                    f"Run {run!r} was not given to workers.",
                    f"`toolplan resume {run}` runs it here.",
                )
            if row[1]:
                raise JournalError(
                    "journal-failover",
                    f"Run {run!r} is parked: {row[1]}",
                    f"Look at what it has done: `toolplan show {run}`. Then let workers continue"
                    f" it: `toolplan resume {run} --after-failover`.",
                )
            ((number,),) = connection.execute(
                "INSERT INTO inbox (run, kind, content, who) VALUES (%s, %s, %s, %s)"
                " RETURNING number",
                (run, kind, json.dumps(content), who),
            ).fetchall()
            self.queue.put(connection, run, str(row[0]))
        return int(number)

    def put_again(self, run: str, queue: str) -> None:
        """Put a run that its worker leaves into its queue again."""
        with self.journal.transaction() as connection:
            self.queue.put(connection, run, queue)

    def put_lost(self, queue: str) -> list[str]:
        """Put runs of `queue` that must be continued and have no job into it again.

        Each has one unless the tables of the queue were lost or changed. Return the runs.
        """
        with self.journal.transaction() as connection:
            lock = "SELECT pg_try_advisory_xact_lock(%s)"
            ((is_mine,),) = connection.execute(lock, (_LOST_LOCK,)).fetchall()
            if not is_mine:  # another worker looks just now
                return []
            query = _WITHOUT_JOB + "(" + self.queue.with_job + ") AS j WHERE j.run = p.run)"
            runs = [str(row[0]) for row in connection.execute(query.encode(), (queue,)).fetchall()]
            for run in runs:
                self.queue.put(connection, run, queue)
        return runs

    async def interrupt(self, run: str) -> bool:
        """Have the worker of `run` read its messages now; return whether one has it."""
        return await self.queue.cancel(run)

    # Reading

    def messages(self, run: str, *, answered: bool = False) -> list[Message]:
        """Return the messages of `run` without an answer, or all of them, in order."""
        rows = self.journal.rows(
            "SELECT number, kind, content, who, answer FROM inbox"
            " WHERE run = %s AND (answer IS NULL OR %s) ORDER BY number",
            (run, answered),
        )
        return [_message(row) for row in rows]

    def to_cancel(self, runs: Sequence[str]) -> set[str]:
        """Return the `runs` that are to be cancelled."""
        rows = self.journal.rows(
            "SELECT run FROM inbox WHERE answer IS NULL AND kind = 'cancel' AND run = ANY(%s)",
            (list(runs),),
        )
        return {str(row[0]) for row in rows}

    def waiting_for(self, run: str) -> tuple[str, list[Message]]:
        """Return why `run` was parked, and its messages without an answer, in one question."""
        query = f"SELECT {_LATEST} <> {self._identity}, {_WAITING}"
        rows = self.journal.rows(query, (run,))
        if rows and rows[0][0]:
            self.look_for_failover()
            rows = self.journal.rows(query, (run,))
        found = [_message(row[2:]) for row in rows if row[2] is not None]
        return str(rows[0][1]) if rows else "", found

    def placement(self, run: str) -> Placement | None:
        """Return where `run` was put; None if no worker is to take it."""
        rows = self.journal.rows(
            "SELECT queue, coalesce(nullif(fence, ''), parked), fence <> '' FROM placements"
            " WHERE run = %s",
            (run,),
        )
        return Placement(*rows[0]) if rows else None

    def waits(self, run: str) -> str:
        """Return a text on the places that `run` waits for and their holders; empty without any."""
        return self.places.waits(run)

    def worked(self) -> list[str]:
        """Return the queue of each worker that lives, in order; one that hangs is one of them.

        A worker that died is known until another one looks; so its lock is asked for.
        """
        workers = {name: queue for name, _, queue in self.workers()}
        dead = self.journal.locks.free([lock_of(name) for name in workers])
        return sorted(queue for name, queue in workers.items() if lock_of(name) not in dead)

    def without_worker(self, runs: Sequence[str]) -> dict[str, str]:
        """Return those of `runs` whose queue has no worker, with the queue."""
        rows = self.journal.rows(
            "SELECT run, queue FROM placements WHERE run = ANY(%s) AND queue <> ALL(%s)",
            (list(runs), self.worked()),
        )
        return {str(run): str(queue) for run, queue in rows}

    def stranded(self) -> dict[str, str]:
        """Return the runs that a worker is to continue and whose queue has none, with the queue.

        Runs that wait for a person are left out.
        """
        found = self.queue.outside(self.worked())
        rows = self.journal.rows(
            "SELECT run FROM runs WHERE run = ANY(%s)"
            " AND status IN ('running', 'waiting', 'in_doubt') ORDER BY created_at, run",
            (list(found),),
        )
        return {str(run): found[str(run)] for (run,) in rows}

    # Working

    def answer(self, answers: Sequence[tuple[int, str]]) -> None:
        """Write the answers to messages, by their numbers."""
        if answers:
            numbers, texts = [each[0] for each in answers], [each[1] for each in answers]
            self.journal.rows(
                "UPDATE inbox SET answer = new.said FROM unnest(%s::bigint[], %s::text[])"
                " AS new (message, said) WHERE number = new.message AND answer IS NULL",
                (numbers, texts),
            )

    def note_life(self, run: str, progress: int) -> int:
        """Note that a worker takes `run`; return the number of takes in a row without progress."""
        rows = self.journal.rows(
            "UPDATE placements SET progress = %s,"
            " lives = CASE WHEN progress = %s THEN lives + 1 ELSE 1 END"
            " WHERE run = %s RETURNING lives",
            (progress, progress, run),
        )
        return int(rows[0][0]) if rows else 1

    def lives(self, run: str) -> int:
        """Return the number of consecutive workers that died while holding `run`."""
        rows = self.journal.rows("SELECT lives FROM placements WHERE run = %s", (run,))
        return int(rows[0][0]) if rows else 0

    def note_end_of_life(self, run: str) -> None:
        """Note that the worker of the last `note_life` did not end while it had the run."""
        self.journal.rows(
            "UPDATE placements SET lives = greatest(lives - 1, 0) WHERE run = %s", (run,)
        )

    def park(self, run: str, reason: str) -> None:
        """Let no worker take `run` before something is sent to it, and say why."""
        self.journal.rows("UPDATE placements SET parked = %s WHERE run = %s", (reason, run))

    # Failover

    def look_for_failover(self) -> None:
        """Fence the open runs if the server or its timeline has changed."""
        with self.journal.transaction() as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            query = f"SELECT {_LATEST}, {self._identity}"
            ((before, now),) = connection.execute(query.encode()).fetchall()
            if before == now:
                return
            connection.execute("INSERT INTO servers (identity) VALUES (%s)", (now,))
            if before and now:  # else it is the first that is known
                connection.execute(
                    "UPDATE placements SET fence = %s WHERE fence = '' AND run IN"
                    " (SELECT run FROM runs WHERE status IN ('running', 'waiting', 'in_doubt'))",
                    (_FENCED,),
                )

    def fence(self, run: str, reason: str) -> None:
        """Fence `run`: workers skip it until `continue_after_failover`."""
        self.journal.rows("UPDATE placements SET fence = %s WHERE run = %s", (reason, run))

    def fenced(self) -> list[str]:
        """Return the open runs with a fence, oldest first."""
        rows = self.journal.rows(
            "SELECT run FROM placements JOIN runs USING (run) WHERE fence <> ''"
            " AND status IN ('running', 'waiting', 'in_doubt') ORDER BY created_at, run"
        )
        return [str(row[0]) for row in rows]

    def continue_after_failover(self, run: str) -> bool:
        """Remove the fence of `run` and queue it; return whether there was a fence."""
        with self.journal.transaction() as connection:
            row = connection.execute(
                "UPDATE placements AS p SET fence = '' FROM (SELECT run, fence FROM placements"
                " WHERE run = %s FOR UPDATE) AS o WHERE p.run = o.run RETURNING queue, o.fence",
                (run,),
            ).fetchone()
            if row is None or not row[1]:
                return False
            self.queue.put(connection, run, str(row[0]))
        return True

    def replication(self) -> tuple[str, int]:
        """Return the synchronous standbys, as configured, and the number of connected standbys."""
        ((names, count),) = self.journal.rows(
            "SELECT current_setting('synchronous_standby_names'),"
            " (SELECT count(*) FROM pg_stat_replication)"
        )
        return str(names), int(count)

    def join(self, name: str, number: str, queue: str) -> None:
        """Note that the worker `name` has a number in the queue's own books."""
        self.journal.rows(
            "INSERT INTO workers VALUES (%s, %s, %s) ON CONFLICT (name, number) DO NOTHING",
            (name, number, queue),
        )

    def leave(self, name: str) -> None:
        """Note that the worker `name` is gone, and has nothing any more."""
        self.places.drop(name)
        self.journal.rows("DELETE FROM workers WHERE name = %s", (name,))

    def workers(self) -> list[tuple[str, str, str]]:
        """Return the name, the number and the queue of each worker."""
        rows = self.journal.rows("SELECT name, number, queue FROM workers")
        return [(str(name), str(number), str(queue)) for name, number, queue in rows]


def lock_of(worker: str) -> str:
    """Return the name of the lock that a worker holds while it lives."""
    return f"worker {worker}"


def _message(row: tuple[Any, ...]) -> Message:
    number, kind, content, who, answer = row
    return Message(number, kind, json.loads(content), who, answer)
