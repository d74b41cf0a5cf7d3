"""The journal, whatever keeps it: a file of one machine, or a database of many."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, TypeAlias

from toolplan.events import Event, RunApproved, RunState
from toolplan.storage.journal import _statements as sql
from toolplan.storage.journal._driver import Driver
from toolplan.storage.journal._entries import RunRecord
from toolplan.storage.journal._errors import LeaseHeld, LeaseLost, RecordsLost
from toolplan.storage.journal._leases import Lease
from toolplan.storage.journal._reading import Query, record_text
from toolplan.storage.journal._readings import Readings
from toolplan.storage.journal._records import to_record
from toolplan.storage.journal._recovery import Whole
from toolplan.storage.journal._rows import group_of
from toolplan.storage.journal._worker import Worker, WriterThread
from toolplan.storage.journal._writing import (
    add_group,
    add_run,
    is_written,
    new_run,
    run_exists,
    take_lease,
    use_approvals,
)
from toolplan.threads import in_thread

_WAIT_S: Final = 1.0
"""How long a wait for events is at most; a notice of new ones may get lost."""

Connection: TypeAlias = Any
"""A connection of the database's own driver, inside a transaction."""


class Store(Readings):
    """A journal: the events of runs, and which process may write them.

    Its methods block and are thread-safe. Event loops give them to `worker`. All of them raise
    `JournalError` when the journal cannot be read or written.

    Attributes:
        lease_s: seconds after its last write for which a process has the lease of a run.
        owner: the name under which this object has leases, different for each process.
        worker: does blocking work for event loops.
        place: where the journal is, in messages: without a password.
        locks: names for what only one process on this journal does at a time.
        notes: sentences that the user should know when the journal is opened.
        records_lost: the reason, by run, why this process gave a run up: acknowledged records
            were lost.
    """

    def __init__(self, driver: Driver, clock: Callable[[], float], worker: Worker) -> None:
        super().__init__(driver)
        self.lease_s = driver.claims.lease_s
        self.owner = driver.owner
        self.worker = worker
        self.place, self.locks, self.notes = driver.place, driver.locks, driver.notes
        self.records_lost: dict[str, str] = {}
        self._claims = driver.claims
        self._clock = clock
        self._unsure: set[str] = set()  # new runs, until it is seen that they are committed

    def close(self) -> None:
        """Close the journal, and end its threads."""
        if isinstance(self.worker, WriterThread):
            self.worker.stop()
        self._driver.close()

    def accept(self, run: str, digest: str, record: RunRecord, events: Sequence[Event]) -> Lease:
        """Write a new run with its first events, synced, and return its lease.

        Raises:
            JournalError: the run exists, or its approval was used.
        """
        beat = self._claims.now()
        new = new_run(run, self._clock(), digest, record_text(record), events)
        self._driver.prepare_blobs(new.group)

        def work(query: Query) -> None:
            if add_run(query, self._driver, new, beat):
                self._unsure.add(run)
            elif run not in self._unsure or not is_written(query, self._driver, new):
                raise run_exists(run)

        with self._claims.claimed(run, run_exists(run)):
            self._driver.do(work)
        self._unsure.discard(run)
        self._claims.renew(run, beat)
        self._driver.notify(run)
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

        With `sync` they survive a power cut when this returns, otherwise the end of the process. A
        journal may sync all of them. Records that were written although a failure was reported are
        not written twice: retry with the same records at the same position.

        Raises:
            LeaseLost: the run belongs to another process; nothing was written.
        """
        self._write(lease, texts, at, status, sync=sync)

    def approve(self, lease: Lease, event: RunApproved, at: int) -> None:
        """Write an approval, synced, at position `at`; no other run can use it.

        Raises:
            JournalError: it was used.
        """
        self._write(lease, [to_record(event)], at, RunState.RUNNING, [event])

    def take(self, run: str, watched: tuple[int, float] | None = None) -> Lease:
        """Take the lease of a run, to resume it.

        `watched` is the mark of a `LeaseHeld` that was raised as long ago as a lease lasts.

        Raises:
            LeaseHeld: a running process works on it, or may do so.
            JournalError: there is no such run, or the journal is older than it was.
        """
        beat = self._claims.now()
        with self._claims.claimed(run, LeaseHeld(run, "this process", self.lease_s, None)):
            lease = self._driver.take_free(run, beat) or self._driver.do(
                lambda query: take_lease(query, self._driver, run, watched, beat)
            )
            if lease is None:
                raise self._unknown(run)
        self._claims.renew(run, beat)
        return lease

    def release(self, lease: Lease) -> None:
        """Release the lease. If this fails, the lease expires by itself."""
        self._driver.release(lease)
        self._claims.drop(lease.run)  # not before: another task could take it, and then lose it

    def forget(self, lease: Lease) -> None:
        """Allow this process to take the run again, even if `release` failed. It does not block."""
        self._claims.drop(lease.run)

    def revoke(self, run: str, owner: str) -> bool:
        """End the lease that `owner`, which is gone for certain, has of `run`.

        What it would still write is refused from then on. Return whether it had the lease.
        """
        return bool(self._driver.do(lambda query: query(sql.REVOKE, (run, owner)), is_one=True))

    def is_current(self, lease: Lease) -> bool:
        """Return whether no other process can have taken the run over until now.

        It is asked right before each call with effects, and does not block: a process that stood
        still does not know.
        """
        return self._claims.is_current(lease.run)

    def keep_durations(self, run: str, seconds: Iterable[tuple[str, float]]) -> None:
        """Keep durations of calls of `run`: pairs of a tool's name and seconds."""
        self._driver.keep_durations(run, self._clock(), seconds)

    def _write(
        self,
        lease: Lease,
        texts: Sequence[str],
        at: int,
        status: RunState | None,
        approved: Sequence[RunApproved] = (),
        *,
        sync: bool = True,
    ) -> None:
        """Write records to the run of `lease`, with approvals that it uses, and renew the lease."""
        group, beat = group_of(lease.run, texts, at), self._claims.now()
        self._driver.prepare_blobs(group)

        def work(query: Query) -> None:
            use_approvals(query, lease.run, approved)
            add_group(query, self._driver, lease, group, status, beat)

        try:
            self._driver.do(work, sync=sync, is_one=not group.large and not approved)
        except LeaseLost as error:
            if isinstance(error, RecordsLost):
                self.records_lost[lease.run] = str(error)
            self._claims.drop(lease.run)
            raise
        self._claims.renew(lease.run, beat)
        self._driver.notify(lease.run)


class SharedJournal(Store):
    """A journal in a database that queues can share.

    Attributes:
        conninfo: how another client connects to the database.
        transaction: commits all of its block, which has a connection, or nothing.
        rows: returns the rows of one statement, with values at `%s` or `%(name)s`; it may be done
            twice.
    """

    locks: Any
    conninfo: str
    transaction: Callable[[], AbstractContextManager[Any]]
    rows: Callable[[str, Sequence[object] | Mapping[str, object]], list[tuple[Any, ...]]]
    _query_of: Callable[[Any], Query]

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
        new = new_run(run, self._clock(), digest, record_text(record), events)
        if not add_run(self._query_of(connection), self._driver, new, None):
            raise run_exists(run)


async def follow(journal: Store, run: str, at: int = 0) -> AsyncGenerator[Event]:
    """Yield the events of `run` in the journal, and then each one that is written, without end.

    The first `at` of them are left out. Who follows stops at the event that it waits for.

    Raises:
        JournalError: there is no such run, or the journal cannot be read.
    """
    await in_thread(journal.entry, run)
    whole, seen = Whole(), 0
    while True:
        events = await in_thread(journal.tail, run, seen)
        for event in map(whole.add, events):
            seen += 1
            if seen > at:
                yield event
        if not events:
            await in_thread(journal.wait, run, seen, _WAIT_S)
