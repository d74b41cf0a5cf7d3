"""The journal, whatever keeps it: a file of one machine, or a database of many."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from toolplan.base.threads import in_thread
from toolplan.events import Event, Run, RunApproved, RunState, fold
from toolplan.plan.path import Json
from toolplan.storage.journal.driver import (
    HAS_MORE,
    REVOKE,
    Driver,
    add_group,
    add_run,
    new_run,
    run_exists,
    take_lease,
    use_approvals,
)
from toolplan.storage.journal.errors import JournalError, LeaseHeld, LeaseLost, RecordsLost
from toolplan.storage.journal.leases import Lease
from toolplan.storage.journal.reading import (
    Query,
    Row,
    RunEntry,
    RunRecord,
    groups_from,
    groups_of,
    read_counts,
    read_cursor,
    read_entry,
    read_events,
    read_record,
    read_rows,
    record_text,
    recordings_of,
    results_of,
    unknown,
)
from toolplan.storage.journal.records import group_of, to_record
from toolplan.storage.journal.recovery import Whole
from toolplan.storage.journal.worker import Worker, WriterThread
from toolplan.storage.journal.worker_runs import WorkerRuns

_SEARCHED_RUNS: Final = 20
"""The number of latest runs that are searched for results of tools."""

_WAITING: Final = (
    "SELECT run FROM runs WHERE status = 'waiting' AND digest = ? ORDER BY created_at LIMIT 1"
)
_USERS: Final = (
    "SELECT run FROM approvals WHERE approval LIKE ? ORDER BY length(approval), approval"
)
COUNTS: Final = "SELECT status, count(*) FROM runs GROUP BY status"
_HELD: Final = "SELECT run, owner FROM runs WHERE owner <> '' AND status IN ('running', 'waiting')"


class Pruning(NamedTuple):
    """The runs that pruning removes, and the sizes before and after.

    Attributes:
        runs: the names of the runs, oldest first.
        kept: how many runs stay.
        size: the bytes of the journal and its blobs before.
        size_after: the same afterwards; before, where nothing is removed yet.
    """

    runs: tuple[str, ...]
    kept: int
    size: int
    size_after: int


_WAIT_S: Final = 1.0
"""Maximum seconds of one wait for events: a notice of new ones may get lost."""


class Store(ABC):
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
        self._driver = driver
        self._read = driver.read
        self.lease_s = driver.claims.lease_s
        self.owner = driver.owner
        self.worker = worker
        self.place, self.locks, self.notes = driver.place, driver.locks, driver.notes
        self.records_lost: dict[str, str] = {}
        self._claims = driver.claims
        self._clock = clock
        self._unsure: set[str] = set()  # new runs, until it is seen that they are committed

    def runs(self, limit: int = 50, after: str = "") -> list[RunEntry]:
        """Return the latest runs, newest first; with the cursor of a run, those after it.

        Raises:
            ToolplanError: `after` is no cursor.
        """
        return self._entries("", limit, after)

    def counts(self) -> dict[str, int]:
        """Return the number of runs in each status; a damaged one is in doubt, as in `runs`."""
        return read_counts(self._read(COUNTS, ()))

    def entry(self, run: str) -> RunEntry:
        """Return the entry of one run.

        Raises:
            JournalError: there is no such run.
        """
        entries = self._entries(run, 1) if run else []
        if not entries:
            raise self._unknown(run)
        return entries[0]

    def waiting(self, digest: str) -> str | None:
        """Return the first run of the plan `digest` that waits for a person, or None."""
        rows = self._read(_WAITING, (digest,))
        return str(rows[0][0]) if rows else None

    def users(self, digest: str) -> list[str]:
        """Return the runs that an approval by `digest` was used for, in the order of use."""
        return [str(run) for (run,) in self._read(_USERS, (f"{digest}/%",))]

    def held(self) -> dict[str, str]:
        """Return the owner of the lease of each run that is not over and has one.

        A lease may have expired, and its owner may be gone.
        """
        return {str(run): str(owner) for run, owner in self._read(_HELD, ())}

    def find(self, start: str) -> str:
        """Return the name of the one run whose name begins with `start`.

        Raises:
            JournalError: there is none or more than one.
        """
        query = "SELECT run FROM runs WHERE substr(run, 1, length(?)) = ? ORDER BY run LIMIT 2"
        names = [str(row[0]) for row in self._read(query, (start, start))]
        if start in names:
            return start
        if not names or not start:
            raise self._unknown(start)
        if len(names) > 1:
            message = f"Several runs begin with {start!r}."
            raise JournalError("unknown-run", message, "Type more of the name.")
        return names[0]

    def record(self, run: str) -> RunRecord:
        """Return what `run` was started with.

        Raises:
            JournalError: there is no such run.
        """
        query = "SELECT created_at, digest, checksum, record FROM runs WHERE run = ?"
        rows = self._read(query, (run,), run)
        if not rows:
            raise self._unknown(run)
        return read_record(run, rows[0])

    def events(self, run: str) -> list[Event]:
        """Return the events of `run`, in order.

        Raises:
            JournalError: there is no such run, or a record cannot be read.
        """
        return self._events(run, read_rows(run, self._reader_of(run)))

    def whole(self, run: str) -> tuple[RunRecord, list[Event]]:
        """Return what `run` was started with, and its events in order, at one moment.

        Raises:
            JournalError: there is no such run, or a record cannot be read.
        """
        rows = read_rows(run, self._reader_of(run))
        if not rows:
            raise self._unknown(run)
        return read_record(run, rows[0][4:]), self._events(run, rows)

    def tail(self, run: str, at: int) -> list[Event]:
        """Return the events of `run` from position `at` on, or empty if there is none yet.

        A step with `for_each` succeeds with the output None here: its `ItemEnded` have it.
        `follow` puts the two together.

        Raises:
            JournalError: a record cannot be read.
        """
        return list(read_events(run, groups_from(run, at, self._reader_of(run)), self._driver.blob))

    def wait(self, run: str, at: int, timeout_s: float) -> None:
        """Return when `run` may have events from position `at` on, at the latest after a while."""
        self._driver.wait(run, lambda: bool(self._read(HAS_MORE, (run, at))), timeout_s)

    def load(self, run: str) -> Run:
        """Return the state of `run`.

        Raises:
            JournalError: there is no such run, or a record cannot be read.
        """
        return fold(self.events(run))

    def durations(self, tools: Iterable[str]) -> dict[str, list[float]]:
        """Return the durations of the latest calls of each of `tools` in seconds, latest first."""
        return {tool: self._driver.durations(tool) for tool in tools}

    def recordings(self, tools: Iterable[str], most: int = 3) -> dict[str, list[Json]]:
        """Return at most `most` different results of each of `tools`, latest first.

        They are from the latest runs, without the large ones in blobs. Tools without results are
        left out.

        Raises:
            JournalError: the journal cannot be read.
        """
        query = "SELECT run FROM runs ORDER BY created_at DESC LIMIT ?"
        names = [str(row[0]) for row in self._read(query, (_SEARCHED_RUNS,))]
        return recordings_of(names, self._results, set(tools), most)

    def worker_runs(self, *, make: bool = False) -> WorkerRuns | None:
        """Return the runs that workers take; None before they share it, which `make` begins."""
        return None

    @abstractmethod
    def prune(self, *, older_than_s: float, keep: int, apply: bool = False) -> Pruning:
        """Remove the runs that began more than `older_than_s` seconds ago, but not `keep` latest.

        Only runs that are over are removed: never one that runs, waits, is in doubt or was
        interrupted. Approvals that were used stay used. Without `apply` nothing is removed.
        """

    def close(self) -> None:
        """Close the journal, and end its threads."""
        if isinstance(self.worker, WriterThread):
            self.worker.stop()
        self._driver.close()

    def accept(
        self, run: str, digest: str, record: RunRecord, events: Sequence[Event], sync: bool = True
    ) -> Lease:
        """Write a new run with its first events, and return its lease; `sync` as for `append`.

        Raises:
            JournalError: the run exists, or its approval was used.
        """
        beat = self._claims.now()
        new = new_run(run, self._clock(), digest, record_text(record), events)
        self._driver.prepare_blobs(new.group)

        def work(query: Query) -> None:
            if add_run(query, self._driver, new, beat):
                self._unsure.add(run)
                return
            # a write whose commit was not reported may have happened
            rows = query("SELECT owner, record FROM runs WHERE run = ?", (run,))
            if run not in self._unsure or rows != [(self.owner, new.record)]:
                raise run_exists(run)

        with self._claims.claimed(run, run_exists(run)):
            self._driver.do(work, sync=sync)
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
        """End the lease of `owner`, which is gone and writes no more; return whether it had it."""
        return bool(self._driver.do(lambda query: query(REVOKE, (run, owner)), is_one=True))

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

    def _results(self, run: str, wanted: Collection[str]) -> Iterator[tuple[str, Json]]:
        groups = groups_of(run, read_rows(run, self._reader_of("")))
        lines = [line for _, lines in groups for line in lines]
        return results_of(self.record(run).plan, lines, wanted)

    def _events(self, run: str, rows: list[Row]) -> list[Event]:
        found = [*map(Whole().add, read_events(run, groups_of(run, rows), self._driver.blob))]
        if not found:
            raise self._unknown(run)
        return found

    def _entries(self, run: str, limit: int, after: str = "") -> list[RunEntry]:
        rows = self._read(self._driver.sql.entries, (run, *read_cursor(after), limit))
        return [read_entry(row, self._driver.is_free) for row in rows]

    def _unknown(self, run: str) -> JournalError:
        return unknown(run, self._reader_of(""), self._driver.damage)

    def _reader_of(self, run: str) -> Query:
        """Return `_read` for queries about `run`."""
        return lambda query, values: self._read(query, values, run)


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
