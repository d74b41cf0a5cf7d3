"""The journal: the events of runs, in one SQLite file."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple, cast

from toolplan.events import (
    Event,
    Run,
    RunApproved,
    RunState,
    fold,
)
from toolplan.path import Json
from toolplan.storage.database_file import is_empty, patiently, transaction
from toolplan.storage.journal._blobs import Blobs, blob_name
from toolplan.storage.journal._checksums import checksums, run_checksum
from toolplan.storage.journal._counter import Counter, went_back
from toolplan.storage.journal._database import PATIENCE_S, STORE
from toolplan.storage.journal._entries import RunEntry, RunRecord
from toolplan.storage.journal._errors import JournalError, LeaseLost
from toolplan.storage.journal._leases import LEASE_S, Held, Lease, Leases
from toolplan.storage.journal._reading import (
    BLOB,
    Query,
    read_entries,
    read_events,
    read_groups,
    read_record,
    record_text,
    run_damaged,
    unknown,
)
from toolplan.storage.journal._records import to_record
from toolplan.storage.journal._recovery import made_whole
from toolplan.storage.journal._results import results_of
from toolplan.storage.journal._worker import Worker, WriterThread

BLOB_SIZE: Final = 64_000
"""Longer records, in characters, are kept as blobs beside the file."""

KEPT_DURATIONS: Final = 200
"""The number of latest calls whose durations are kept for each tool."""

_SEARCHED_RUNS: Final = 20
"""The number of latest runs that are searched for results of tools."""


class _Group(NamedTuple):
    """Records that are committed together, as a row, and the large ones by the names of blobs."""

    row: tuple[str, int, str, str]
    large: dict[str, str]


class Journal:
    """The events of runs in one SQLite file, large ones in a folder beside it.

    Its methods block on the disk and are thread-safe. `clock` returns seconds since the epoch,
    `owner` names this process, and `worker` does blocking work for event loops. `notes` are
    sentences that the user should know: the file was empty, or is older than it was. Leases are
    measured with `age_clock`, in seconds since some moment; `boot` names it, and is equal in all
    processes that see the same clock.
    """

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
        self.lease_s = lease_s
        self.worker: Worker = WriterThread() if worker is None else worker
        self._clock = clock
        self.leases = Leases(owner, lease_s, age_clock, boot)
        self._blobs = Blobs(self.path.with_name(self.path.name + "-blobs"))
        self._lock = threading.Lock()
        was_empty = is_empty(self.path)
        self._counter = Counter(self._blobs.folder)
        self._connection = STORE.connect(self.path)
        self._connection.text_factory = _text
        self._counter.compare(self._connection)
        self.notes: tuple[str, ...] = (
            *((f"The journal {self.path} was an empty file; it begins anew.",) * was_empty),
            *self._counter.notes(self.path),
        )

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
        row, status = self._row_of(run, texts, 0), _status(events)
        text, leases = record_text(record), self.leases
        created, beat = self._clock(), leases.now()
        checksum = run_checksum(run, created, digest, text)
        written = (leases.owner, len(texts), leases.boot)
        with self._written(sync=True) as connection:
            known = connection.execute("SELECT 1 FROM runs WHERE run = ?", (run,)).fetchone()
            if known is not None:
                raise JournalError("run-exists", f"There is a run {run!r} already.")
            self._use_approvals(connection, run, events)
            connection.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, 1, 0, ?, ?, ?, ?)",
                (run, created, status, digest, text, *written, beat, checksum),
            )
            self._write_row(connection, row)
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
        row, beat = self._row_of(lease.run, texts, at), self.leases.now()
        with self._written(sync=sync) as connection:
            written = None if status is None else status.value
            self._insert(connection, lease, row, len(texts), written, at, beat)
        self.leases.renew(lease.run, beat)

    def take(self, run: str, watched: tuple[int, float] | None = None) -> Lease:
        """Take the lease of a run, to resume it.

        `watched` is the mark of a `LeaseHeld` that was raised as long ago as a lease lasts.

        Raises:
            LeaseHeld: a running process works on it, or may do so.
            JournalError: there is no such run, or the journal is older than it was.
        """
        if self._counter.is_behind:
            raise went_back(self.path, self._blobs.folder)
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
            raise unknown(run, self._read)
        leases.renew(run, beat)
        return Lease(run, before.token + 1, at, living)

    def approve(self, lease: Lease, event: RunApproved, at: int) -> None:
        """Write an approval, synced, at position `at`; no other run can use it.

        Raises:
            JournalError: it was used, or the file cannot be written.
        """
        row, beat = self._row_of(lease.run, [to_record(event)], at), self.leases.now()
        with self._written(sync=True) as connection:
            self._use_approvals(connection, lease.run, [event])
            self._insert(connection, lease, row, 1, RunState.RUNNING.value, at, beat)
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

    def is_current(self, lease: Lease) -> bool:
        """Return whether no other process can have taken the run over until now.

        It is asked right before each call with effects: a process that stood still does not know.
        """
        return self.leases.is_current(lease.run)

    def keep_durations(self, seconds: Iterable[tuple[str, float]]) -> None:
        """Keep durations of calls: pairs of a tool's name and seconds."""
        at = self._clock()
        rows = [(tool, at, each) for tool, each in seconds]
        with self._written(sync=False) as connection:
            connection.executemany("INSERT INTO durations VALUES (?, ?, ?)", rows)
            for tool in {tool for tool, _, _ in rows}:
                connection.execute(
                    "DELETE FROM durations WHERE tool = ? AND rowid NOT IN (SELECT rowid FROM "
                    "durations WHERE tool = ? ORDER BY rowid DESC LIMIT ?)",
                    (tool, tool, KEPT_DURATIONS),
                )

    # Reading

    def runs(self, limit: int = 50) -> list[RunEntry]:
        """Return the latest runs, newest first."""
        return read_entries("", limit, self._read, self.leases)

    def entry(self, run: str) -> RunEntry:
        """Return the entry of one run.

        Raises:
            JournalError: there is no such run.
        """
        entries = read_entries(run, 1, self._read, self.leases) if run else []
        if not entries:
            raise unknown(run, self._read)
        return entries[0]

    def waiting(self, digest: str) -> str | None:
        """Return the first run of the plan `digest` that waits for a person, or None."""
        query = "SELECT run FROM runs WHERE status = 'waiting' AND digest = ? ORDER BY created_at"
        rows = self._read(f"{query} LIMIT 1", (digest,))
        return str(rows[0][0]) if rows else None

    def find(self, start: str) -> str:
        """Return the name of the one run whose name begins with `start`.

        Raises:
            JournalError: there is none or more than one.
        """
        rows = self._read(
            "SELECT run FROM runs WHERE substr(run, 1, length(?)) = ? ORDER BY run LIMIT 2",
            (start, start),
        )
        names = [str(row[0]) for row in rows]
        if start in names or len(names) == 1:
            return start if start in names else names[0]
        if not names or not start:
            raise unknown(start, self._read)
        raise JournalError(
            "unknown-run", f"Several runs begin with {start!r}.", "Type more of the name."
        )

    def record(self, run: str) -> RunRecord:
        """Return what `run` was started with.

        Raises:
            JournalError: there is no such run.
        """
        query = "SELECT created_at, digest, checksum, record FROM runs WHERE run = ?"
        rows = self._read(query, (run,), run)
        if not rows:
            raise unknown(run, self._read)
        return read_record(run, rows[0])

    def events(self, run: str) -> list[Event]:
        """Return the events of `run`, in order.

        Raises:
            JournalError: there is no such run, or a record cannot be read.
        """
        events = list(made_whole(read_events(run, self._reader_of(run), self._blobs)))
        if not events:
            raise unknown(run, self._read)
        return events

    def load(self, run: str) -> Run:
        """Return the state of `run`.

        Raises:
            JournalError: there is no such run, or a record cannot be read.
        """
        return fold(self.events(run))

    def durations(self, tools: Iterable[str]) -> dict[str, list[float]]:
        """Return the durations of the latest calls of each of `tools` in seconds, latest first."""
        return {
            tool: [
                float(cast("float", row[0]))
                for row in self._read(
                    "SELECT seconds FROM durations WHERE tool = ? ORDER BY rowid DESC", (tool,)
                )
            ]
            for tool in tools
        }

    def recordings(self, tools: Iterable[str], most: int = 3) -> dict[str, list[Json]]:
        """Return at most `most` different results of each of `tools`, latest first.

        They are from the latest runs, without the large ones in blobs. Tools without results are
        left out.

        Raises:
            JournalError: the journal cannot be read.
        """
        wanted = set(tools)
        found: dict[str, list[Json]] = {}
        for (run,) in self._read(
            "SELECT run FROM runs ORDER BY created_at DESC LIMIT ?", (_SEARCHED_RUNS,)
        ):
            groups = read_groups(str(run), self._read)
            records = (line for _, lines in groups for line in lines)
            try:
                results = [*results_of(self.record(str(run)).plan, wanted, records)]
            except JournalError as error:
                if error.code != "journal-damaged":
                    raise
                continue  # other runs have results too
            for tool, output in results:
                kept = found.setdefault(tool, [])
                if len(kept) < most and output not in kept:
                    kept.append(output)
        return found

    # Inside

    def _row_of(self, run: str, texts: Sequence[str], at: int) -> _Group:
        """Return records for the file, large ones in blobs: a disk may stop, a transaction not.

        One row for all: with a row each, every one would wait for the interpreter lock.
        """
        large = {blob_name(text): text for text in texts if len(text) > BLOB_SIZE}
        try:
            for text in large.values():
                with suppress(FileNotFoundError):  # another process pruned: it is written again
                    self._blobs.write(text)
        except OSError as error:
            raise STORE.fault(error, self.path) from None
        lines = [_line(text) for text in texts]
        return _Group((run, at, "\n".join(lines), checksums(run, at, lines)), large)

    def _insert(
        self,
        connection: sqlite3.Connection,
        lease: Lease,
        row: _Group,
        count: int,
        status: str | None,
        at: int,
        beat: float,
    ) -> None:
        written = connection.execute(
            "UPDATE runs SET beat = ?, boot = ?, next_seq = next_seq + ?,"
            " status = coalesce(?, status)"
            " WHERE run = ? AND token = ? AND (? OR next_seq = ?) RETURNING next_seq",
            (beat, self.leases.boot, count, status, lease.run, lease.token, not count, at),
        ).fetchone()
        if written is None:
            _check_written(connection, lease, at + count)
        elif count:
            self._write_row(connection, row)

    def _write_row(self, connection: sqlite3.Connection, group: _Group) -> None:
        for text in group.large.values():
            self._blobs.write(text)  # it is there, unless another process has pruned meanwhile
        connection.execute("INSERT INTO events VALUES (?, ?, ?, ?)", group.row)

    def _use_approvals(
        self, connection: sqlite3.Connection, run: str, events: Iterable[Event]
    ) -> None:
        for event in events:
            if isinstance(event, RunApproved):
                connection.execute(
                    "INSERT OR IGNORE INTO approvals VALUES (?, ?)", (event.approval, run)
                )
                row = connection.execute(
                    "SELECT run FROM approvals WHERE approval = ?", (event.approval,)
                ).fetchone()
                if row[0] != run:
                    raise JournalError(
                        "approval-used",
                        f"The approval was used by run {row[0]!r}.",
                        "An approval is valid for one run: approve the plan again.",
                    )

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

    def _read(
        self, query: str, values: tuple[object, ...], run: str = ""
    ) -> list[tuple[object, ...]]:
        """Return the rows of `query`, which is about `run`; wait while the file is locked."""

        def read() -> list[tuple[object, ...]]:
            with self._lock:
                return self._connection.execute(query, values).fetchall()

        try:
            return patiently(read, PATIENCE_S)
        except sqlite3.Error as error:
            fault = STORE.fault(error, self.path)
            if run and fault.code == "journal-damaged":
                raise run_damaged(run, str(error)) from None
            raise fault from None

    def _reader_of(self, run: str) -> Query:
        """Return `_read` for queries about `run`."""
        return lambda query, values: self._read(query, values, run)


def _check_written(connection: sqlite3.Connection, lease: Lease, end: int) -> None:
    """Check that the lease is valid, and that the records were written already."""
    row = connection.execute(
        "SELECT next_seq FROM runs WHERE run = ? AND token = ?", (lease.run, lease.token)
    ).fetchone()
    if row is None:
        raise LeaseLost(lease.run)
    if row[0] != end:
        raise run_damaged(lease.run, f"it has {row[0]} records where {end} were expected")


def _line(text: str) -> str:
    return text if len(text) <= BLOB_SIZE else f'{BLOB}"{blob_name(text)}",{len(text)}]'


def _status(events: Sequence[Event]) -> str:
    return fold(events).status.value


def _text(value: bytes) -> str:
    """Return text of the file; a checksum shows what was damaged."""
    return value.decode(errors="replace")
