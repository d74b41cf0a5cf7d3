"""What the journal needs of the place that keeps it: transactions, leases, blobs and notices."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from toolplan.storage.journal._leases import Claims, Lease
from toolplan.storage.journal._reading import Query, Row
from toolplan.storage.journal._rows import Group
from toolplan.storage.journal._statements import Statements

_T = TypeVar("_T")


class Locks(Protocol):
    """Names that one process at a time holds, at most as long as it lives."""

    def hold(self, name: str) -> bool:
        """Hold `name`, unless it is held already, here or elsewhere; return whether that worked."""
        ...

    def release(self, name: str) -> None:
        """Release `name`."""


class Driver(Protocol):
    """A file of SQLite or a database of Postgres.

    Attributes:
        sql: its statements.
        claims: the runs of this process.
        owner: the name under which this process has leases.
        place: where it is, in messages: without a password.
        locks: names that one process at a time holds there.
        notes: sentences that the user should know when it is opened.

    All methods raise `JournalError` when it cannot be read or written.
    """

    sql: Statements
    claims: Claims
    owner: str

    @property
    def place(self) -> str: ...
    @property
    def locks(self) -> Locks: ...
    @property
    def notes(self) -> tuple[str, ...]: ...

    def close(self) -> None:
        """Close all connections."""

    def do(self, work: Callable[[Query], _T], *, sync: bool = True, is_one: bool = False) -> _T:
        """Return what `work` returns, in one transaction; it may be done again on a lost one.

        With `sync` it survives a power cut when this returns. `is_one` says that `work` is one
        statement.
        """
        ...

    def read(self, query: str, values: Row, run: str = "") -> list[Row]:
        """Return the rows of `query`, which is about `run`."""
        ...

    def damage(self) -> str:
        """Return what is wrong with the place of the journal; empty if nothing is."""
        ...

    def change(self, query: Query, statement: str, values: Row, group: Group) -> bool:
        """Do `statement`, which returns the run, and add `group` to it; return whether it did."""
        ...

    def prepare_blobs(self, group: Group) -> None:
        """Write large records before the transaction, if they are not in it."""

    def add_blobs(self, query: Query, group: Group) -> None:
        """Write large records in the transaction of the group."""

    def blob(self, name: str) -> str:
        """Return the large record with this name.

        Raises:
            BadBlob: it is missing or was changed.
        """
        ...

    def lease_values(self, beat: float) -> Row:
        """Return the values of the lease's columns, of a write that began at `beat`."""
        ...

    def check_free(self, run: str, held: Row, watched: tuple[int, float] | None) -> str:
        """Check that the lease of `run` is free, and return the process that had it, if it lives.

        Raises:
            LeaseHeld: it is not, or it is not known.
        """
        ...

    def is_free(self, held: Row) -> bool:
        """Return whether nobody works for certain on a run with these columns."""
        ...

    def take_free(self, run: str, beat: float) -> Lease | None:
        """Take the lease of `run`, if that needs no look at who has it.

        Raises:
            JournalError: none can be taken.
        """
        ...

    def release(self, lease: Lease) -> None:
        """Release a lease, and write what was kept back until then."""

    def keep_durations(self, run: str, at: float, seconds: Iterable[tuple[str, float]]) -> None:
        """Keep durations of calls of `run` at the time `at`."""

    def durations(self, tool: str) -> list[float]:
        """Return the durations of the latest calls of `tool` in seconds, latest first."""
        ...

    def notify(self, run: str) -> None:
        """Notify those who wait for records of `run`."""

    def wait(self, run: str, has_more: Callable[[], bool], timeout_s: float) -> None:
        """Return when `run` may have more records, at the latest after a while."""
