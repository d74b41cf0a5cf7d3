"""The journal in a Postgres database."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Final, TypeAlias, TypeVar, cast

from toolplan.events import Event
from toolplan.storage.journal import BLOB, Pruning, leases, named_blobs
from toolplan.storage.journal.blobs import BadBlob, blob_name
from toolplan.storage.journal.driver import (
    RELEASE,
    Driver,
    Statements,
    add_run,
    new_run,
    run_exists,
)
from toolplan.storage.journal.errors import LeaseHeld
from toolplan.storage.journal.reading import Query, Row, RunRecord, record_text
from toolplan.storage.journal.records import KEPT_DURATIONS, Group
from toolplan.storage.journal.store import Store
from toolplan.storage.journal.worker import Worker, WriterThread
from toolplan_workers.postgres.address import read_address
from toolplan_workers.postgres.connections import Connection, Connections, has_table
from toolplan_workers.postgres.locks import Locks
from toolplan_workers.postgres.notifications import Listener, Notifier
from toolplan_workers.postgres.schema import prepare

_T = TypeVar("_T")

_CLOCK_TOLERANCE_S: Final = 2.0

_TRIM_EVERY: Final = 100
"""Number of runs of this process after which the oldest durations are removed."""

_SQL: Final = Statements(
    names="lease_until",
    new="clock_timestamp() + make_interval(secs => ?)",
    renewed="lease_until = clock_timestamp() + make_interval(secs => ?)",
    held="lease_until <= clock_timestamp()",
    locked=" FOR UPDATE",
)
# The run has no owner, so its earlier one does not matter. One way to the server and back.
_TAKE_FREE: Final = f"{_SQL.take} AND owner = '' RETURNING next_seq, token"
# One statement, so one way to the server and back, and nothing waits in an open transaction.
_CHANGE: Final = (
    "WITH changed AS (CHANGE), kept AS (INSERT INTO events SELECT run, ?, ?, ? FROM changed"
    " WHERE ? > 0) SELECT run FROM changed"
)
_ADD_BLOB: Final = "INSERT INTO blobs VALUES (?, ?) ON CONFLICT (name) DO NOTHING"
_ADD_DURATIONS: Final = (
    "INSERT INTO durations VALUES (?, ?, ?, ?) ON CONFLICT (tool, run) DO UPDATE SET"
    " at = excluded.at, seconds = durations.seconds || excluded.seconds"
)
_TRIM_DURATIONS: Final = (
    "DELETE FROM durations WHERE tool = ? AND at < (SELECT at FROM durations"
    " WHERE tool = ? ORDER BY at DESC OFFSET ? LIMIT 1)"
)

_Durations: TypeAlias = tuple[str, str, float, list[float]]
"""A tool, a run, when it was kept, and the seconds of the tool's calls in the run."""


class PostgresDriver(Driver):
    """Connections to a database, and the durations that this process holds back for it."""

    def __init__(self, connections: Connections, claims: leases.Claims, owner: str) -> None:
        self.connections = connections
        self.sql = _SQL
        self.claims = claims
        # host and process number, the boot of the machine, and a part that no other process has
        self.owner = owner or "|".join(
            (leases.this_process(), leases.this_boot(), secrets.token_hex(8))
        )
        self.place = connections.address.place
        self.locks = self.advisory = Locks(connections)
        self._notifier = Notifier(connections)
        self._listener = Listener(connections)
        self._durations: dict[str, list[_Durations]] = {}
        self._kept = 0
        try:
            notes = connections.do(lambda each: prepare(each, self.place))
            ahead_s = time.time() - connections.now()
        except BaseException:
            connections.close()
            raise
        if abs(ahead_s) > _CLOCK_TOLERANCE_S:
            direction = "ahead of" if ahead_s > 0 else "behind"
            notes += (
                f"The clock of this machine is {abs(ahead_s):,.0f} s {direction} that of the"
                " journal's server. Leases and schedules count on the server's; times in events"
                " are wrong.",
            )
        self.notes = notes

    def close(self) -> None:
        self._notifier.close()
        self._listener.close()
        self.advisory.close()
        self.connections.close()

    def do(self, work: Callable[[Query], _T], *, sync: bool = True, is_one: bool = False) -> _T:
        def done(connection: Connection) -> _T:
            # one statement is a transaction
            with nullcontext() if is_one else connection.transaction():
                return work(query_of(connection))

        return self.connections.do(done)

    def read(self, query: str, values: Row, run: str = "") -> list[Row]:
        return self.connections.rows(query.replace("?", "%s"), values)

    def damage(self) -> str:
        """Return nothing: a server reports unreadable data itself."""
        return ""

    def change(self, query: Query, statement: str, values: Row, group: Group) -> bool:
        whole = _CHANGE.replace("CHANGE", statement)
        return bool(query(whole, (*values, *group.row[1:], group.size)))

    def prepare_blobs(self, group: Group) -> None:
        """Do nothing: large records are rows."""

    def add_blobs(self, query: Query, group: Group) -> None:
        for name, text in group.large.items():
            query(_ADD_BLOB, (name, text))

    def blob(self, name: str) -> str:
        rows = self.read("SELECT content FROM blobs WHERE name = ?", (name,))
        if not rows:
            raise BadBlob(f"Blob {name} is missing.")
        content = str(rows[0][0])
        if blob_name(content) != name:
            raise BadBlob(f"Blob {name} was changed.")
        return content

    def lease_values(self, beat: float) -> Row:
        return (self.claims.lease_s,)

    def check_free(self, run: str, held: Row, watched: tuple[int, float] | None) -> str:
        name, _, is_over = cast("tuple[str, int, bool]", held)
        process, is_here = _process(name)
        text = leases.process_text(process) if ":" in process else process
        if not (is_over or name in ("", self.owner) or (is_here and leases.is_gone(process))):
            raise LeaseHeld(run, text, self.claims.lease_s, None)
        return text if is_here and leases.lives(process) else ""

    def is_free(self, held: Row) -> bool:
        name, _, is_over = cast("tuple[str, int, bool]", held)
        process, is_here = _process(name)
        return not name or is_over or (is_here and leases.is_gone(process))

    def take_free(self, run: str, beat: float) -> leases.Lease | None:
        values = (self.owner, *self.lease_values(beat), run)
        for at, token in self.do(lambda query: query(_TAKE_FREE, values), is_one=True):
            return leases.Lease(run, cast("int", token), cast("int", at))
        return None

    def release(self, lease: leases.Lease) -> None:
        """Release a lease, and write the durations of the run, in one commit."""
        values, rows = (lease.run, lease.token, self.owner), self._durations.pop(lease.run, [])
        trims = self._trims() if rows else False

        def work(connection: Connection) -> None:
            # a pipeline is one transaction until its end, and so is one statement
            with connection.pipeline() if rows else nullcontext():
                _add_durations(connection, rows, trims=trims)
                query_of(connection)(RELEASE, values)

        self.connections.do(work)

    def forget(self, run: str) -> None:
        """Drop the durations that were kept back for the release of `run`."""
        self._durations.pop(run, None)

    def keep_durations(self, run: str, at: float, seconds: Iterable[tuple[str, float]]) -> None:
        """Keep durations of calls of `run`, one row for each tool: many processes write here.

        Those of a run of this process are written with the release of its lease.
        """
        of_tools: dict[str, list[float]] = {}
        for tool, each in seconds:
            of_tools.setdefault(tool, []).append(each)
        # in one order, so that processes do not wait for each other in a ring
        rows = [(tool, run, at, each[-KEPT_DURATIONS:]) for tool, each in sorted(of_tools.items())]
        if self.claims.has(run):
            self._durations[run] = rows
            return
        trims = self._trims()

        def work(connection: Connection) -> None:
            with connection.transaction():
                _add_durations(connection, rows, trims=trims)

        self.connections.do(work)

    def durations(self, tool: str) -> list[float]:
        query = "SELECT seconds FROM durations WHERE tool = ? ORDER BY at DESC LIMIT ?"
        rows = self.read(query, (tool, KEPT_DURATIONS))
        latest = [each for row in rows for each in reversed(cast("list[float]", row[0]))]
        return latest[:KEPT_DURATIONS]

    def notify(self, run: str) -> None:
        self._notifier.notify(run)

    def wait(self, run: str, has_more: Callable[[], bool], timeout_s: float) -> None:
        heard = self._listener.heard(run)
        if not has_more():
            self._listener.wait(run, heard, timeout_s)

    def _trims(self) -> bool:
        """Return whether it is time to remove the oldest durations."""
        self._kept = (self._kept + 1) % _TRIM_EVERY
        return not self._kept


def _process(owner: str) -> tuple[str, bool]:
    """Return the process in the name of an owner, and whether it is of this boot of this machine.

    Hosts and numbers come again, in containers above all; the earlier process has ended then.
    """
    process, boot, _ = owner.split("|") if owner.count("|") == 2 else (owner, "", "")
    return process, bool(boot) and boot == leases.this_boot()


def query_of(connection: Connection) -> Query:
    """Return the function that runs statements of the journal on `connection`."""

    def query(statement: str, values: Row) -> list[Row]:
        done = connection.execute(statement.replace("?", "%s").encode(), values)
        return done.fetchall() if done.description is not None else []

    return query


def _add_durations(connection: Connection, rows: list[_Durations], *, trims: bool) -> None:
    """Write durations; with `trims`, remove the oldest of their tools. The caller commits."""
    query = query_of(connection)
    for row in rows:
        query(_ADD_DURATIONS, row)
    for tool, *_ in rows if trims else ():
        query(_TRIM_DURATIONS, (tool, tool, KEPT_DURATIONS))


# Locked: a run that is cancelled could be resumed just now.
_PRUNABLE: Final = """
    SELECT run FROM runs WHERE status IN ('succeeded', 'failed', 'cancelled') AND created_at < %s
    AND (owner = '' OR lease_until <= clock_timestamp())
    AND (created_at < %s OR created_at = %s AND run > %s)
    ORDER BY created_at, run LIMIT %s
"""
_KEPT: Final = "SELECT created_at, run FROM runs ORDER BY created_at DESC, run OFFSET %s LIMIT 1"
_BATCH: Final = 5_000
_DELETE: Final = {
    "events": "DELETE FROM events WHERE run = ANY(%s)",
    "placements": "DELETE FROM placements WHERE run = ANY(%s)",
    "inbox": "DELETE FROM inbox WHERE run = ANY(%s)",
    "runs": "DELETE FROM runs WHERE run = ANY(%s)",
}
# The time of the server, the size of all tables in bytes, the number of runs.
_STATE: Final = """
    SELECT extract(epoch FROM clock_timestamp())::float8, (
        SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
        WHERE relkind = 'r'
        AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'runs'::regclass)
    ), (SELECT count(*) FROM runs)
"""
_WITH_BLOBS: Final = "SELECT event FROM events WHERE strpos(event, %s) > 0"

WRITERS: Final = 4
"""Threads that write, each with a connection: one would let runs wait for each other's syncs."""


class PostgresJournal(Store):
    """The events of runs in a Postgres database; a `Store` for processes on many machines.

    Every commit is synced. Leases use the clock of the server, and so do the creation times of
    runs, unless `clock` is given. `owner` names this object; the names in `locks` are held until
    the object is closed or its process ends.

    Attributes:
        conninfo: how another client connects to the database.
        transaction: commits all of its block, which has a connection, or nothing.
        rows: returns the rows of one statement, with values at `%s` or `%(name)s`; after a
            lost connection the statement may run twice.
    """

    _driver: PostgresDriver

    def __init__(
        self,
        address: str,
        *,
        clock: Callable[[], float] | None = None,
        owner: str = "",
        lease_s: float = leases.LEASE_S,
        worker: Worker | None = None,
        age_clock: Callable[[], float] = leases.since_boot,
    ) -> None:
        """Open the journal at `address`; make its tables where there are none.

        Raises:
            JournalError: the database cannot be used.
        """
        found = read_address(address)
        connections = Connections(found)
        driver = PostgresDriver(connections, leases.Claims(lease_s, age_clock), owner)
        super().__init__(driver, clock or connections.now, worker or WriterThread(WRITERS))
        self.locks = driver.advisory
        self.conninfo = found.conninfo
        self.transaction, self.rows = connections.transaction, connections.rows

    def submit(
        self, connection: Connection, run: str, digest: str, record: RunRecord, new: Sequence[Event]
    ) -> None:
        """Write a new run without a lease, for another process to take; in `transaction`.

        Raises:
            JournalError: the run exists, or its approval was used.
        """
        made = new_run(run, self._clock(), digest, record_text(record), new)
        if not add_run(query_of(connection), self._driver, made, None):
            raise run_exists(run)

    def forget(self, lease: leases.Lease) -> None:
        """Allow this process to take the run again, even if `release` failed."""
        self._driver.forget(lease.run)
        super().forget(lease)

    def prune(self, *, older_than_s: float, keep: int, apply: bool = False) -> Pruning:
        """Remove the runs that began more than `older_than_s` seconds ago, but not `keep` latest.

        Messages to the runs are removed with them; approvals that were used stay used.
        """
        return _pruned(self, older_than_s, keep, apply=apply)


def _pruned(journal: PostgresJournal, older_than_s: float, keep: int, *, apply: bool) -> Pruning:
    ((now, before, total),) = journal.rows(_STATE, ())
    oldest: tuple[float, str] = (float("inf"), "")
    if keep:
        rows = journal.rows(_KEPT, (keep - 1,))
        oldest = (rows[0][0], rows[0][1]) if rows else (float("-inf"), "")
    values = (now - older_than_s, oldest[0], *oldest)
    if not apply:
        names = tuple(str(row[0]) for row in journal.rows(_PRUNABLE, (*values, None)))
        return Pruning(names, total - len(names), before, before)
    names, batch = (), None
    while batch != ():
        with journal.transaction() as connection:
            rows = connection.execute(f"{_PRUNABLE} FOR UPDATE", (*values, _BATCH)).fetchall()
            batch = tuple(str(row[0]) for row in rows)
            for table, delete in _DELETE.items():
                if has_table(connection, table):
                    connection.execute(delete.encode(), ([*batch],))
        names += batch
    with journal.transaction() as connection:
        # no process may refer to a large record between the two statements
        connection.execute("LOCK TABLE blobs IN EXCLUSIVE MODE")
        named = named_blobs(connection.execute(_WITH_BLOBS, (BLOB,)))
        connection.execute("DELETE FROM blobs WHERE name <> ALL(%s)", ([*named],))
    for table in ("events", "blobs", "runs"):
        journal.rows(f"VACUUM {table}", ())
    ((_, after, _),) = journal.rows(_STATE, ())
    return Pruning(names, total - len(names), before, after)
