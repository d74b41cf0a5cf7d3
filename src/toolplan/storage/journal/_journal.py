"""The journal: the events of runs, in one SQLite file."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, cast

from toolplan.events import (
    Event,
    Run,
    RunApproved,
    RunState,
    fold,
)
from toolplan.path import Json
from toolplan.storage.database_file import is_empty, transaction
from toolplan.storage.journal._blobs import BadBlob, Blobs
from toolplan.storage.journal._counter import Counter, went_back
from toolplan.storage.journal._database import STORE
from toolplan.storage.journal._entries import Lease, RunEntry, RunRecord
from toolplan.storage.journal._errors import JournalError, LeaseLost
from toolplan.storage.journal._processes import is_gone, process_text, this_process
from toolplan.storage.journal._records import BadRecord, from_record, to_record
from toolplan.storage.journal._recovery import made_whole
from toolplan.storage.journal._results import results_of
from toolplan.storage.journal._worker import Worker, WriterThread

LEASE_S: Final = 10.0
"""Seconds after its last write for which a process has the lease of a run."""

BLOB_SIZE: Final = 64_000
"""Longer records, in characters, are kept as blobs beside the file."""

KEPT_DURATIONS: Final = 200
"""The number of latest calls whose durations are kept for each tool."""

_SEARCHED_RUNS: Final = 20
"""The number of latest runs that are searched for results of tools."""

_BLOB: Final = '["blob",'
_OPEN: Final = frozenset((RunState.RUNNING, RunState.WAITING, RunState.IN_DOUBT))


class Journal:
    """The events of runs in one SQLite file, large ones in a folder beside it.

    Its methods block on the disk and are thread-safe. `clock` returns seconds since the epoch,
    `owner` names this process, and `worker` does blocking work for event loops. `notes` are
    sentences that the user should know: the file was empty, or is older than it was.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        clock: Callable[[], float] = time.time,
        owner: str = "",
        lease_s: float = LEASE_S,
        worker: Worker | None = None,
    ) -> None:
        """Open the journal at `path`; create it if it does not exist.

        Raises:
            JournalError: the file cannot be opened.
        """
        self.path = Path(path)
        self.lease_s = lease_s
        self.worker: Worker = WriterThread() if worker is None else worker
        self._clock = clock
        self._owner = owner or this_process()
        self._blobs = Blobs(self.path.with_name(self.path.name + "-blobs"))
        self._lock = threading.Lock()
        self._leased: set[str] = set()  # the runs of this process
        was_empty = is_empty(self.path)
        self._counter = Counter(self._blobs.folder)
        self._connection = STORE.connect(self.path)
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
        with self._written(sync=True) as connection:
            known = connection.execute("SELECT 1 FROM runs WHERE run = ?", (run,)).fetchone()
            if known is not None:
                raise JournalError("run-exists", f"There is a run {run!r} already.")
            self._use_approvals(connection, run, events)
            now = self._clock()
            row = (run, now, _status(events), digest, _json(record), self._owner, 1)
            connection.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)", (*row, now + self.lease_s)
            )
            self._insert(connection, Lease(run, 1, 0), texts, _status(events), 0)
        self._leased.add(run)
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
        with self._written(sync=sync) as connection:
            self._insert(connection, lease, texts, None if status is None else status.value, at)

    def take(self, run: str) -> Lease:
        """Take the lease of a run, to resume it.

        Raises:
            JournalError: there is no such run, a running process works on it, or the journal is
                older than it was.
        """
        if self._counter.is_behind:
            raise went_back(self.path, self._blobs.folder)
        with self._written(sync=True) as connection:
            row = connection.execute(
                "SELECT owner, token, lease_until, next_seq FROM runs WHERE run = ?", (run,)
            ).fetchone()
            if row is None:
                raise _unknown(run)
            owner, token, until, at = cast("tuple[str, int, float, int]", row)
            now = self._clock()
            mine = owner == self._owner and run not in self._leased
            if owner and until > now and not mine and not is_gone(owner):
                raise JournalError(
                    "journal-taken",
                    f"Run {run!r} is being worked on by {process_text(owner)}.",
                    "Wait for it, or end it. If it hangs or is gone, its lease ends "
                    f"{self.lease_s:g} s after its last write.",
                )
            connection.execute(
                "UPDATE runs SET owner = ?, token = ?, lease_until = ? WHERE run = ?",
                (self._owner, token + 1, now + self.lease_s, run),
            )
        self._leased.add(run)
        return Lease(run, token + 1, at)

    def approve(self, lease: Lease, event: RunApproved, at: int) -> None:
        """Write an approval, synced, at position `at`; no other run can use it.

        Raises:
            JournalError: it was used, or the file cannot be written.
        """
        with self._written(sync=True) as connection:
            self._use_approvals(connection, lease.run, [event])
            self._insert(connection, lease, [to_record(event)], RunState.RUNNING.value, at)

    def release(self, lease: Lease) -> None:
        """Release the lease.

        Raises:
            JournalError: the file cannot be written; the lease expires by itself.
        """
        self._leased.discard(lease.run)
        with self._written(sync=False) as connection:
            connection.execute(
                "UPDATE runs SET owner = '', lease_until = 0 WHERE run = ? AND token = ?",
                (lease.run, lease.token),
            )

    def forget(self, lease: Lease) -> None:
        """Allow this process to take the run again, even if `release` failed."""
        self._leased.discard(lease.run)

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
        return self._entries("", limit)

    def entry(self, run: str) -> RunEntry:
        """Return the entry of one run.

        Raises:
            JournalError: there is no such run.
        """
        entries = self._entries(run, 1) if run else []
        if not entries:
            raise _unknown(run)
        return entries[0]

    def _entries(self, run: str, limit: int) -> list[RunEntry]:
        """Return the entry of `run`, or of the latest runs if it is empty."""
        rows = self._read(
            "SELECT run, created_at, status, digest, "
            "coalesce(json_extract(record, '$.plan.metadata.query'), ''), coalesce(("
            "SELECT group_concat(tool, ', ') FROM (SELECT json_extract(value, '$.tool') AS tool "
            "FROM json_each(record, '$.plan.steps') LIMIT 3)), ''), owner, lease_until "
            "FROM runs WHERE ? IN ('', run) ORDER BY created_at DESC, run LIMIT ?",
            (run, limit),
        )
        now = self._clock()
        return [
            RunEntry(
                run,
                created,
                RunState(status),
                digest,
                str(question),
                str(used),
                RunState(status) in _OPEN and (not owner or until < now or is_gone(owner)),
            )
            for run, created, status, digest, question, used, owner, until in cast(
                "list[tuple[str, float, str, str, object, object, str, float]]", rows
            )
        ]

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
            raise _unknown(start)
        raise JournalError(
            "unknown-run", f"Several runs begin with {start!r}.", "Type more of the name."
        )

    def record(self, run: str) -> RunRecord:
        """Return what `run` was started with.

        Raises:
            JournalError: there is no such run.
        """
        rows = self._read("SELECT record FROM runs WHERE run = ?", (run,))
        if not rows:
            raise _unknown(run)
        fields = cast("dict[str, Json]", json.loads(str(rows[0][0])))
        return RunRecord(*(fields[name] for name in RunRecord._fields))

    def events(self, run: str) -> list[Event]:
        """Return the events of `run`, in order.

        Raises:
            JournalError: there is no such run, or a record cannot be read.
        """
        events = list(made_whole(self._events(run)))
        if not events:
            raise _unknown(run)
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
            records = (line for _, lines in self._rows(str(run)) for line in lines)
            for tool, output in results_of(self.record(str(run)).plan, wanted, records):
                kept = found.setdefault(tool, [])
                if len(kept) < most and output not in kept:
                    kept.append(output)
        return found

    # Inside

    def _events(self, run: str) -> Iterator[Event]:
        at = 0
        for seq, lines in self._rows(run):
            if seq != at:
                raise _damaged(run, at, "it is missing")
            for place, text in enumerate(lines, seq):
                try:
                    whole = text
                    if text.startswith(_BLOB):
                        whole = self._blobs.read(str(json.loads(text)[1]))
                    yield from_record(whole)
                except (BadRecord, BadBlob) as error:
                    raise _damaged(run, place, str(error)) from None
            at += len(lines)

    def _rows(self, run: str) -> Iterator[tuple[int, list[str]]]:
        """Yield the groups of records of `run`, each with the position of its first record."""
        rows = self._read("SELECT seq, event FROM events WHERE run = ? ORDER BY seq", (run,))
        for seq, text in cast("list[tuple[int, str]]", rows):
            yield seq, text.split("\n")

    def _insert(
        self,
        connection: sqlite3.Connection,
        lease: Lease,
        texts: Sequence[str],
        status: str | None,
        at: int,
    ) -> None:
        row = connection.execute(
            "UPDATE runs SET lease_until = ?, next_seq = next_seq + ?, status = coalesce(?, status)"
            " WHERE run = ? AND token = ? AND (? OR next_seq = ?) RETURNING next_seq",
            (
                self._clock() + self.lease_s,
                len(texts),
                status,
                lease.run,
                lease.token,
                not texts,
                at,
            ),
        ).fetchone()
        if row is None:
            _check_written(connection, lease, at + len(texts))
        elif texts:
            # one row for all: with a row each, every one would wait for the interpreter lock
            connection.execute(
                "INSERT INTO events VALUES (?, ?, ?)",
                (lease.run, at, "\n".join(map(self._kept, texts))),
            )

    def _kept(self, text: str) -> str:
        if len(text) <= BLOB_SIZE:
            return text
        return f'{_BLOB}"{self._blobs.write(text)}",{len(text)}]'

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

    def _read(self, query: str, values: tuple[object, ...]) -> list[tuple[object, ...]]:
        with self._lock:
            try:
                return self._connection.execute(query, values).fetchall()
            except sqlite3.Error as error:
                raise STORE.fault(error, self.path) from None


def _check_written(connection: sqlite3.Connection, lease: Lease, end: int) -> None:
    """Check that the lease is valid, and that the records were written already."""
    row = connection.execute(
        "SELECT next_seq FROM runs WHERE run = ? AND token = ?", (lease.run, lease.token)
    ).fetchone()
    if row is None:
        raise LeaseLost(lease.run)
    if row[0] != end:
        raise JournalError(
            "journal-damaged",
            f"Run {lease.run!r} has {row[0]} records where {end} were expected.",
            "Restore the journal and the folder beside it from a copy.",
        )


def _damaged(run: str, at: int, reason: str) -> JournalError:
    return JournalError(
        "journal-damaged",
        f"Record {at} of run {run!r} cannot be read: {reason}",
        "Restore the journal and the folder beside it from a copy.",
    )


def _json(record: RunRecord) -> str:
    return json.dumps(record._asdict(), ensure_ascii=False, separators=(",", ":"))


def _status(events: Sequence[Event]) -> str:
    return fold(events).status.value


def _unknown(run: str) -> JournalError:
    return JournalError("unknown-run", f"There is no run {run!r}.", "`toolplan runs` lists them.")
