"""What a journal is, whatever keeps it: a file of one machine, or a database of many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from toolplan.events import Event, Run, RunApproved, RunState
from toolplan.path import Json
from toolplan.storage.journal._entries import RunEntry, RunRecord
from toolplan.storage.journal._leases import Lease
from toolplan.storage.journal._worker import Worker


class Locks(Protocol):
    """Names that one process at a time holds, at most as long as it lives."""

    def hold(self, name: str) -> bool:
        """Hold `name`, unless it is held already, here or elsewhere; return whether that worked."""
        ...

    def release(self, name: str) -> None:
        """Release `name`."""


@runtime_checkable
class Store(Protocol):
    """A journal: the events of runs, and which process may write them.

    Its methods block and are thread-safe. Event loops give them to `worker`. All of them raise
    `JournalError` when the journal cannot be read or written.
    """

    lease_s: float
    """Seconds after its last write for which a process has the lease of a run."""
    worker: Worker
    """Does blocking work for event loops."""
    notes: tuple[str, ...]
    """Sentences that the user should know when the journal is opened."""

    @property
    def place(self) -> str:
        """Where the journal is, in messages: without a password."""
        ...

    @property
    def locks(self) -> Locks:
        """Names for what only one process on this journal does at a time."""
        ...

    @property
    def owner(self) -> str:
        """The name under which this object has leases, different for each process."""
        ...

    def close(self) -> None:
        """Close the journal."""

    # Writing

    def accept(self, run: str, digest: str, record: RunRecord, events: Sequence[Event]) -> Lease:
        """Write a new run with its first events, synced, and return its lease.

        Raises:
            JournalError: the run exists, or its approval was used.
        """
        ...

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

        With `sync` they survive a power cut when this returns. A journal may sync all of them.
        Records that were written although a failure was reported are not written twice: retry with
        the same records at the same position.

        Raises:
            LeaseLost: the run belongs to another process; nothing was written.
        """

    def take(self, run: str, watched: tuple[int, float] | None = None) -> Lease:
        """Take the lease of a run, to resume it.

        `watched` is the mark of a `LeaseHeld` that was raised as long ago as a lease lasts.

        Raises:
            LeaseHeld: a running process works on it, or may do so.
            JournalError: there is no such run.
        """
        ...

    def approve(self, lease: Lease, event: RunApproved, at: int) -> None:
        """Write an approval, synced, at position `at`; no other run can use it.

        Raises:
            JournalError: it was used.
        """

    def release(self, lease: Lease) -> None:
        """Release the lease. If this fails, the lease expires by itself."""

    def forget(self, lease: Lease) -> None:
        """Allow this process to take the run again, even if `release` failed. It does not block."""

    def revoke(self, run: str, owner: str) -> bool:
        """End the lease that `owner`, which is gone for certain, has of `run`.

        What it would still write is refused from then on. Return whether it had the lease.
        """
        ...

    def is_current(self, lease: Lease) -> bool:
        """Return whether no other process can have taken the run over until now.

        It is asked right before each call with effects, and does not block.
        """
        ...

    def keep_durations(self, run: str, seconds: Iterable[tuple[str, float]]) -> None:
        """Keep durations of calls of `run`: pairs of a tool's name and seconds."""

    # Reading

    def held(self) -> Mapping[str, str]:
        """Return the owner of the lease of each run that is not over and has one.

        A lease may have expired, and its owner may be gone.
        """
        ...

    def runs(self, limit: int = 50, after: str = "") -> list[RunEntry]:
        """Return the latest runs, newest first; with the cursor of a run, those after it.

        Raises:
            ToolplanError: `after` is no cursor.
        """
        ...

    def entry(self, run: str) -> RunEntry:
        """Return the entry of one run.

        Raises:
            JournalError: there is no such run.
        """
        ...

    def waiting(self, digest: str) -> str | None:
        """Return the first run of the plan `digest` that waits for a person, or None."""
        ...

    def users(self, digest: str) -> list[str]:
        """Return the runs that an approval by `digest` was used for, in the order of use."""
        ...

    def find(self, start: str) -> str:
        """Return the name of the one run whose name begins with `start`.

        Raises:
            JournalError: there is none or more than one.
        """
        ...

    def record(self, run: str) -> RunRecord:
        """Return what `run` was started with.

        Raises:
            JournalError: there is no such run.
        """
        ...

    def events(self, run: str) -> list[Event]:
        """Return the events of `run`, in order.

        Raises:
            JournalError: there is no such run, or a record cannot be read.
        """
        ...

    def whole(self, run: str) -> tuple[RunRecord, list[Event]]:
        """Return what `run` was started with, and its events in order, at one moment.

        Raises:
            JournalError: there is no such run, or a record cannot be read.
        """
        ...

    def tail(self, run: str, at: int) -> list[Event]:
        """Return the events of `run` from position `at` on; empty where there are none yet.

        A step with `for_each` succeeds with the output None here: its `ItemEnded` have it.
        `follow` puts the two together.

        Raises:
            JournalError: a record cannot be read.
        """
        ...

    def wait(self, run: str, at: int, timeout_s: float) -> None:
        """Return when `run` may have events from position `at` on, at the latest after a while."""

    def load(self, run: str) -> Run:
        """Return the state of `run`.

        Raises:
            JournalError: there is no such run, or a record cannot be read.
        """
        ...

    def durations(self, tools: Iterable[str]) -> dict[str, list[float]]:
        """Return the durations of the latest calls of each of `tools` in seconds, latest first."""
        ...

    def recordings(self, tools: Iterable[str], most: int = 3) -> dict[str, list[Json]]:
        """Return at most `most` different results of each of `tools`, latest first.

        They are from the latest runs, without large ones. Tools without results are left out.
        """
        ...
