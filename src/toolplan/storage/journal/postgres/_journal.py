"""The journal: the events of runs, in a Postgres database."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Final

from toolplan.events import Event, RunApproved, RunState
from toolplan.storage.journal._entries import RunRecord
from toolplan.storage.journal._errors import LeaseHeld, LeaseLost, RecordsLost
from toolplan.storage.journal._leases import LEASE_S, Lease
from toolplan.storage.journal._processes import since_boot
from toolplan.storage.journal._reading import Row
from toolplan.storage.journal._readings import Readings
from toolplan.storage.journal._records import to_record
from toolplan.storage.journal._rows import group_of
from toolplan.storage.journal._worker import Worker, WriterThread
from toolplan.storage.journal.postgres import _statements as statements
from toolplan.storage.journal.postgres._address import read_address
from toolplan.storage.journal.postgres._claims import Claims
from toolplan.storage.journal.postgres._connections import Connection, Connections
from toolplan.storage.journal.postgres._locks import Locks
from toolplan.storage.journal.postgres._notifications import Listener, Notifier
from toolplan.storage.journal.postgres._owner import Owner
from toolplan.storage.journal.postgres._rows import (
    DurationsRow,
    Holder,
    add_durations,
    add_group,
    durations_of,
    durations_rows,
    is_written,
    new_run,
    read_blob,
    release_lease,
    run_exists,
    take_lease,
    use_approvals,
    write_run,
)
from toolplan.storage.journal.postgres._schema import prepare

WRITERS: Final = 4
"""Threads that write, each with a connection: one would let runs wait for each other's syncs."""

_CLOCK_TOLERANCE_S: Final = 2.0

_TRIM_EVERY: Final = 100
"""After so many runs of this process the oldest durations are removed."""


class PostgresJournal(Readings):
    """The events of runs in a Postgres database; a `Store` for processes on many machines.

    Its methods block and are thread-safe. Every commit is synced, and leases count on the server's
    clock, as do the times at which runs are made unless `clock` returns them. `owner` names this
    object, and `locks` are names that are held until this object is closed or its process ends.
    """

    entries = statements.ENTRIES

    def __init__(
        self,
        address: str,
        *,
        clock: Callable[[], float] | None = None,
        owner: str = "",
        lease_s: float = LEASE_S,
        worker: Worker | None = None,
        age_clock: Callable[[], float] = since_boot,
    ) -> None:
        """Open the journal at `address`; make its tables where there are none.

        Raises:
            JournalError: the database cannot be used.
        """
        self._address = read_address(address)
        self.conninfo = self._address.conninfo  # for another client of the database
        self._connections = Connections(self._address)
        self.transaction = self._connections.transaction
        self.rows = self._connections.rows
        self.lease_s = lease_s
        self.worker: Worker = WriterThread(WRITERS) if worker is None else worker
        self.locks = Locks(self._connections)
        self._holder = Holder(owner or Owner.new().name, lease_s)
        self._clock = self._connections.now if clock is None else clock
        self._claims = Claims(lease_s, age_clock)
        self._notifier = Notifier(self._connections)
        self._listener = Listener(self._connections)
        self._unsure: set[str] = set()  # new runs, until it is seen that they are committed
        self.records_lost: dict[str, str] = {}  # by run, in words
        self._durations: dict[str, list[DurationsRow]] = {}
        self._kept = 0
        with self._connections.closed_on_error():
            self.notes = self._connections.do(lambda each: prepare(each, self.place))
            self.notes += _clock_notes(time.time() - self._connections.now())

    @property
    def place(self) -> str:
        """The address, without a password."""
        return self._address.place

    @property
    def owner(self) -> str:
        """The name under which this object has leases."""
        return self._holder.owner

    def close(self) -> None:
        """Close the connections and end the threads."""
        if isinstance(self.worker, WriterThread):
            self.worker.stop()
        self._notifier.close()
        self._listener.close()
        self.locks.close()
        self._connections.close()

    # Writing

    def submit(
        self,
        connection: Connection,
        run: str,
        digest: str,
        record: RunRecord,
        events: Sequence[Event],
    ) -> None:
        """Write a new run that nobody has, for another process to take; in `transaction`.

        Raises:
            JournalError: the run exists, or its approval was used.
        """
        new = new_run(run, self._clock(), digest, record, events)
        if not write_run(connection, new, Holder("", self.lease_s), 0):
            raise run_exists(run)

    def accept(self, run: str, digest: str, record: RunRecord, events: Sequence[Event]) -> Lease:
        """Write a new run with its first events, synced, and return its lease.

        Raises:
            JournalError: the run exists, its approval was used, or it cannot be written.
        """
        new = new_run(run, self._clock(), digest, record, events)
        beat = self._claims.now()

        def work(connection: Connection) -> None:
            with connection.transaction():
                if write_run(connection, new, self._holder, 1):
                    self._unsure.add(run)
                elif run not in self._unsure or not is_written(connection, new, self._holder):
                    raise run_exists(run)

        with self._claims.claimed(run, run_exists(run)):
            self._connections.do(work)
        self._unsure.discard(run)
        self._claims.renew(run, beat)
        self._notifier.notify(run)
        return Lease(run, 1, len(events))

    def append(
        self,
        lease: Lease,
        texts: Sequence[str],
        at: int,
        *,
        sync: bool,
        status: RunState | None = None,
    ) -> None:
        """Write records of `to_record`, the first of them at position `at`, and renew the lease.

        They are synced. Records that were written although a failure was reported, or although the
        connection was lost, are not written twice.

        Raises:
            LeaseLost: the run belongs to another process; nothing was written.
            JournalError: they cannot be written. Retry with the same records.
        """
        group = group_of(lease.run, texts, at)
        state = None if status is None else status.value

        def work(connection: Connection) -> None:
            # without large records it is one statement, which is a transaction
            with connection.transaction() if group.large else nullcontext():
                add_group(connection, lease, self._holder, group, len(texts), state)

        self._write(lease, work)

    def approve(self, lease: Lease, event: RunApproved, at: int) -> None:
        """Write an approval, synced, at position `at`; no other run can use it.

        Raises:
            JournalError: it was used, or it cannot be written.
        """
        group = group_of(lease.run, [to_record(event)], at)

        def work(connection: Connection) -> None:
            with connection.transaction():
                use_approvals(connection, lease.run, [event])
                add_group(connection, lease, self._holder, group, 1, RunState.RUNNING.value)

        self._write(lease, work)

    def take(self, run: str, watched: tuple[int, float] | None = None) -> Lease:
        """Take the lease of a run, to resume it. `watched` is not needed: there is one clock.

        Raises:
            LeaseHeld: a running process works on it, or may do so.
            JournalError: there is no such run.
        """
        beat = self._claims.now()

        with self._claims.claimed(run, LeaseHeld(run, "this process", self.lease_s, None)):
            lease = self._connections.do(lambda each: take_lease(each, run, self._holder))
            if lease is None:
                raise self._unknown(run)
        self._claims.renew(run, beat)
        return lease

    def release(self, lease: Lease) -> None:
        """Release the lease.

        Raises:
            JournalError: it cannot be written; the lease expires by itself.
        """
        rows = self._durations.pop(lease.run, [])
        trims = self._trims() if rows else False
        self._connections.do(
            lambda each: release_lease(each, lease, self._holder, rows, trims=trims)
        )
        self._claims.drop(lease.run)  # not before: another task could take it, and then lose it

    def forget(self, lease: Lease) -> None:
        """Allow this process to take the run again, even if `release` failed."""
        self._durations.pop(lease.run, None)
        self._claims.drop(lease.run)

    def revoke(self, run: str, owner: str) -> bool:
        """End the lease that `owner`, which is gone for certain, has of `run`.

        What it would still write is refused from then on. Return whether it had the lease.
        """
        values = (run, owner)
        done = self._connections.do(lambda each: each.execute(statements.REVOKE, values))
        return done.rowcount > 0

    def is_current(self, lease: Lease) -> bool:
        """Return whether no other process can have taken the run over until now."""
        return self._claims.is_current(lease.run)

    def keep_durations(self, run: str, seconds: Iterable[tuple[str, float]]) -> None:
        """Keep durations of calls of `run`, one row for each tool: many processes write here.

        Those of a run of this process are written with the release of its lease.
        """
        rows = durations_rows(run, self._clock(), seconds)
        if self._claims.has(run):
            self._durations[run] = rows
            return
        trims = self._trims()

        def work(connection: Connection) -> None:
            with connection.transaction():
                add_durations(connection, rows, trims=trims)

        self._connections.do(work)

    # Reading

    def durations(self, tools: Iterable[str]) -> dict[str, list[float]]:
        """Return the durations of the latest calls of each of `tools` in seconds, latest first."""
        return durations_of(self._read, tools)

    def wait(self, run: str, at: int, timeout_s: float) -> None:
        """Return when `run` may have events from position `at` on, at the latest after a while."""
        heard = self._listener.heard(run)
        if not self._read("SELECT 1 FROM runs WHERE run = ? AND next_seq > ?", (run, at)):
            self._listener.wait(run, heard, timeout_s)

    # Inside

    def _trims(self) -> bool:
        """Return whether it is time to remove the oldest durations."""
        self._kept = (self._kept + 1) % _TRIM_EVERY
        return not self._kept

    def _write(self, lease: Lease, work: Callable[[Connection], None]) -> None:
        """Do `work` for a run that this process has, which renews its lease."""
        beat = self._claims.now()
        try:
            self._connections.do(work)
        except LeaseLost as error:
            if isinstance(error, RecordsLost):
                self.records_lost[lease.run] = str(error)
            self._claims.drop(lease.run)
            raise
        self._claims.renew(lease.run, beat)
        self._notifier.notify(lease.run)

    def _read(self, query: str, values: Row, run: str = "") -> list[Row]:
        return self._connections.rows(query.replace("?", "%s"), values)

    def _blob(self, name: str) -> str:
        return read_blob(self._read, name)

    def _is_free(self, held: Row) -> bool:
        return not held[0] or bool(held[1]) or Owner.read(str(held[0])).is_gone

    def _damage(self) -> str:
        return ""


def _clock_notes(ahead_s: float) -> tuple[str, ...]:
    """Return a warning about clock skew; `ahead_s` is this machine's time minus the server's."""
    if abs(ahead_s) <= _CLOCK_TOLERANCE_S:
        return ()
    direction = "ahead of" if ahead_s > 0 else "behind"
    return (
        f"The clock of this machine is {abs(ahead_s):,.0f} s {direction} that of the journal's"
        " server. Leases and schedules count on the server's; times in events are wrong.",
    )
