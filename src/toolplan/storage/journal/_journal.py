"""The journal: the events of runs, in one SQLite file."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, cast

from toolplan.events import Event, RunApproved, RunState, fold
from toolplan.storage.database_file import is_empty, patiently, transaction
from toolplan.storage.journal import _checksums, _counter
from toolplan.storage.journal._blobs import Blobs
from toolplan.storage.journal._database import PATIENCE_S, STORE
from toolplan.storage.journal._entries import RunRecord
from toolplan.storage.journal._errors import JournalError
from toolplan.storage.journal._leases import LEASE_S, Held, Lease, Leases
from toolplan.storage.journal._locks import FileLocks
from toolplan.storage.journal._reading import Row, record_text, run_damaged
from toolplan.storage.journal._readings import Readings
from toolplan.storage.journal._records import to_record
from toolplan.storage.journal._rows import (
    Change,
    Group,
    add_durations,
    add_group,
    durations_of,
    group_of,
    use_approvals,
    write_blobs,
    write_group,
)
from toolplan.storage.journal._worker import Worker, WriterThread

_LOOK_S: Final = 0.05
"""How often the file is looked at by who waits for events."""


_ENTRIES: Final = (
    "SELECT run, status, created_at, digest, checksum, record, owner, token, boot, beat"
    " FROM runs WHERE ? IN ('', run) AND (created_at < ? OR (created_at = ? AND run > ?))"
    " ORDER BY created_at DESC, run LIMIT ?"
)


class Journal(Readings):
    """The events of runs in one SQLite file, large ones in a folder beside it.

    Its methods block on the disk and are thread-safe. `clock` returns seconds since the epoch,
    `owner` names this process, and `worker` does blocking work for event loops. `notes` say that
    the file was empty, or is older than it was. Leases are measured with `age_clock`, in seconds
    since some moment; `boot` names it, and is equal in all processes that see the same clock.
    """

    entries = _ENTRIES

    def __init__(
        self,
        path: Path | str,
        *,
        clock: Callable[[], float] = time.time,
        owner: str = "",
        lease_s: float = LEASE_S,
        worker: Worker | None = None,
        age_clock: Callable[[], float] | None = None,
        boot: str | None = None,
    ) -> None:
        """Open the journal at `path`; create it if it does not exist.

        Raises:
            JournalError: the file cannot be opened.
        """
        self.path = Path(path)
        self.locks = FileLocks(self.path)
        self.lease_s = lease_s
        self.worker: Worker = WriterThread() if worker is None else worker
        self._clock = clock
        self.leases = Leases(owner, lease_s, age_clock, boot)
        self._blobs = Blobs(self.path.with_name(self.path.name + "-blobs"))
        self._lock = threading.Lock()
        was_empty = is_empty(self.path)
        self._counter = _counter.Counter(self._blobs.folder)
        self._connection = STORE.connect(self.path)
        self._connection.text_factory = _text
        self._counter.compare(self._connection)
        self.notes: tuple[str, ...] = (
            *((f"The journal {self.path} was an empty file; it begins anew.",) * was_empty),
            *self._counter.notes(self.path),
        )

    @property
    def place(self) -> str:
        """The path of the file."""
        return str(self.path)

    @property
    def owner(self) -> str:
        """The name of this process."""
        return self.leases.owner

    def close(self) -> None:
        """Close the file, and end its thread."""
        if isinstance(self.worker, WriterThread):
            self.worker.stop()
        with self._lock:
            self._connection.close()

    # Writing

    def accept(self, run: str, digest: str, record: RunRecord, events: Sequence[Event]) -> Lease:
        """Write a new run with its first events, synced, and return its lease.

        Raises:
            JournalError: the run exists, its approval was used, or the file cannot be written.
        """
        texts = [to_record(event) for event in events]
        group, status = self._group(run, texts, 0), _status(events)
        text, leases = record_text(record), self.leases
        created, beat = self._clock(), leases.now()
        checksum = _checksums.run_checksum(run, created, digest, text)
        written = (leases.owner, len(texts), leases.boot)
        with self._written(sync=True) as connection:
            known = connection.execute("SELECT 1 FROM runs WHERE run = ?", (run,)).fetchone()
            if known is not None:
                raise JournalError("run-exists", f"There is a run {run!r} already.")
            use_approvals(connection, run, events)
            connection.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, 1, 0, ?, ?, ?, ?)",
                (run, created, status, digest, text, *written, beat, checksum),
            )
            write_group(connection, self._blobs, group)
        leases.renew(run, beat)
        return Lease(run, 1, len(texts))

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

        With `sync` they survive a power cut when this returns, otherwise the end of the process.
        Records that a commit has written although it reported a failure are not written twice.

        Raises:
            LeaseLost: the run belongs to another process; nothing was written.
            JournalError: the file cannot be written. Retry with the same records.
        """
        group, beat = self._group(lease.run, texts, at), self.leases.now()
        state = None if status is None else status.value
        change = Change(at, len(texts), state, self.leases.boot, beat)
        with self._written(sync=sync) as connection:
            add_group(connection, self._blobs, lease, group, change)
        self.leases.renew(lease.run, beat)

    def take(self, run: str, watched: tuple[int, float] | None = None) -> Lease:
        """Take the lease of a run, to resume it.

        `watched` is the mark of a `LeaseHeld` that was raised as long ago as a lease lasts.

        Raises:
            LeaseHeld: a running process works on it, or may do so.
            JournalError: there is no such run, or the journal is older than it was.
        """
        if self._counter.is_behind:
            raise _counter.went_back(self.path, self._blobs.folder)
        leases, beat = self.leases, self.leases.now()
        with self._written(sync=True) as connection:
            row = connection.execute(
                "SELECT next_seq, owner, token, boot, beat FROM runs WHERE run = ?", (run,)
            ).fetchone()
            known = cast("tuple[int, str, int, str, float]", row or (0, "", 0, "", 0.0))
            at, before = known[0], Held(*known[1:])
            living = leases.check_free(run, before, watched)
            connection.execute(
                "UPDATE runs SET owner = ?, token = ?, boot = ?, beat = ? WHERE run = ?",
                (leases.owner, before.token + 1, leases.boot, beat, run),
            )
        if row is None:
            raise self._unknown(run)
        leases.renew(run, beat)
        return Lease(run, before.token + 1, at, living)

    def approve(self, lease: Lease, event: RunApproved, at: int) -> None:
        """Write an approval, synced, at position `at`; no other run can use it.

        Raises:
            JournalError: it was used, or the file cannot be written.
        """
        group, beat = self._group(lease.run, [to_record(event)], at), self.leases.now()
        change = Change(at, 1, RunState.RUNNING.value, self.leases.boot, beat)
        with self._written(sync=True) as connection:
            use_approvals(connection, lease.run, [event])
            add_group(connection, self._blobs, lease, group, change)
        self.leases.renew(lease.run, beat)

    def release(self, lease: Lease) -> None:
        """Release the lease.

        Raises:
            JournalError: the file cannot be written; the lease expires by itself.
        """
        self.leases.forget(lease.run)
        with self._written(sync=False) as connection:
            connection.execute(
                "UPDATE runs SET owner = '' WHERE run = ? AND token = ?",
                (lease.run, lease.token),
            )

    def forget(self, lease: Lease) -> None:
        """Allow this process to take the run again, even if `release` failed."""
        self.leases.forget(lease.run)

    def revoke(self, run: str, owner: str) -> bool:
        """End the lease that `owner`, which is gone for certain, has of `run`.

        What it would still write is refused from then on. Return whether it had the lease.
        """
        with self._written(sync=True) as connection:
            revoked = connection.execute(
                "UPDATE runs SET owner = '', token = token + 1 WHERE run = ? AND owner = ?",
                (run, owner),
            )
            return revoked.rowcount > 0

    def is_current(self, lease: Lease) -> bool:
        """Return whether no other process can have taken the run over until now.

        It is asked right before each call with effects: a process that stood still does not know.
        """
        return self.leases.is_current(lease.run)

    def keep_durations(self, run: str, seconds: Iterable[tuple[str, float]]) -> None:
        """Keep durations of calls of `run`: pairs of a tool's name and seconds."""
        with self._written(sync=False) as connection:
            add_durations(connection, self._clock(), seconds)

    # Reading

    def durations(self, tools: Iterable[str]) -> dict[str, list[float]]:
        """Return the durations of the latest calls of each of `tools` in seconds, latest first."""
        return durations_of(self._read, tools)

    def wait(self, run: str, at: int, timeout_s: float) -> None:
        """Return when `run` may have events from position `at` on, at the latest after a while."""
        until = time.monotonic() + timeout_s
        query = "SELECT 1 FROM runs WHERE run = ? AND next_seq > ?"
        while not self._read(query, (run, at)) and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _LOOK_S))

    # Inside

    def _group(self, run: str, texts: Sequence[str], at: int) -> Group:
        """Return records for the file, the large ones in blobs."""
        group = group_of(run, texts, at)
        try:
            write_blobs(self._blobs, group)
        except OSError as error:
            raise STORE.fault(error, self.path) from None
        return group

    @contextmanager
    def _written(self, *, sync: bool) -> Generator[sqlite3.Connection]:
        with self._lock:
            connection = self._connection
            try:
                connection.execute(f"PRAGMA synchronous = {'FULL' if sync else 'NORMAL'}")
                with transaction(connection):
                    yield connection
                    count = self._counter.add_to(connection) if sync else None
                if count is not None:
                    self._counter.keep(count)
            except (sqlite3.Error, OSError) as error:
                raise STORE.fault(error, self.path) from None

    def _read(self, query: str, values: Row, run: str = "") -> list[Row]:
        """Return the rows of `query`, which is about `run`; wait while the file is locked."""

        def read() -> list[Row]:
            with self._lock:
                return self._connection.execute(query, values).fetchall()

        try:
            return patiently(read, PATIENCE_S)
        except sqlite3.Error as error:
            fault = STORE.fault(error, self.path)
            if run and fault.code == "journal-damaged":
                raise run_damaged(run, str(error)) from None
            raise fault from None

    def _blob(self, name: str) -> str:
        return self._blobs.read(name)

    def _is_free(self, held: Row) -> bool:
        return self.leases.is_free(Held(*cast("tuple[str, int, str, float]", held)))

    def _damage(self) -> str:
        found = str(self._read("PRAGMA quick_check(1)", ())[0][0])
        return self._counter.shortfall if found == "ok" else found


def _status(events: Sequence[Event]) -> str:
    return fold(events).status.value


def _text(value: bytes) -> str:
    """Return text of the file; a checksum shows what was damaged."""
    return value.decode(errors="replace")
