"""What a journal needs of the database that keeps it, and its transactions there.

The SQL is for SQLite and Postgres: values stand at question marks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from string import Template
from typing import Final, Protocol, TypeVar, cast

from msgspec import Struct

from toolplan.events import Event, RunApproved, RunState, fold
from toolplan.policy.approval import used_words, uses
from toolplan.storage.journal.errors import JournalError, LeaseLost, RecordsLost
from toolplan.storage.journal.leases import Claims, Lease
from toolplan.storage.journal.reading import Query, Row, run_damaged
from toolplan.storage.journal.records import Group, group_of, run_checksum, to_record


class Statements:
    """The statements of a store; stores differ in how a row says until when its lease lasts."""

    def __init__(self, *, names: str, new: str, renewed: str, held: str, locked: str = "") -> None:
        """Write the statements.

        Args:
            names: the columns of the lease in a new row.
            new: their values; each question mark takes one of `Driver.lease_values`.
            renewed: the same, as assignments.
            held: what `Driver.check_free` and `Driver.is_free` take, after the owner and the token.
            locked: what follows a query whose rows no other transaction may change.
        """
        self.add_run = _ADD_RUN.substitute(names=names, new=new)
        self.add_group = _ADD_GROUP.substitute(renewed=renewed)
        self.look = _LOOK.substitute(held=held, locked=locked)
        self.take = _TAKE.substitute(renewed=renewed)
        self.entries = _ENTRIES.substitute(held=held)


_ADD_RUN: Final = Template(
    "INSERT INTO runs"
    " (run, created_at, digest, record, checksum, status, next_seq, owner, token, $names)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, $new) ON CONFLICT (run) DO NOTHING RETURNING run"
)
# Who released the run may still renew its lease: the run is free then. A token may come again only
# after the journal lost records; with the owner it is refused all the same.
_ADD_GROUP: Final = Template(
    "UPDATE runs SET $renewed, next_seq = next_seq + ?, status = coalesce(?, status)"
    " WHERE run = ? AND token = ? AND owner IN (?, '') AND (? = 0 OR next_seq = ?) RETURNING run"
)
_LOOK: Final = Template("SELECT next_seq, owner, token, $held FROM runs WHERE run = ?$locked")
_TAKE: Final = Template("UPDATE runs SET owner = ?, token = token + 1, $renewed WHERE run = ?")
_ENTRIES: Final = Template(
    "SELECT run, status, created_at, digest, checksum, record, owner, token, $held"
    " FROM runs WHERE ? IN ('', run) AND (created_at < ? OR (created_at = ? AND run > ?))"
    " ORDER BY created_at DESC, run LIMIT ?"
)

FIND_HELD: Final = "SELECT next_seq FROM runs WHERE run = ? AND token = ? AND owner IN (?, '')"
ADD_APPROVAL: Final = "INSERT INTO approvals VALUES (?, ?) ON CONFLICT (approval) DO NOTHING"
FIND_APPROVAL: Final = "SELECT run FROM approvals WHERE approval = ?"
RELEASE: Final = "UPDATE runs SET owner = '' WHERE run = ? AND token = ? AND owner = ?"
REVOKE: Final = (
    "UPDATE runs SET owner = '', token = token + 1 WHERE run = ? AND owner = ? RETURNING run"
)
HAS_MORE: Final = "SELECT 1 FROM runs WHERE run = ? AND next_seq > ?"


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
    place: str
    locks: Locks
    notes: tuple[str, ...]

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
        """Return whether a run with these columns is certainly free."""
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


class NewRun(Struct, frozen=True):
    """A run as it is first written; `record` is a `RunRecord` as JSON, `group` has `events`."""

    run: str
    created_at: float
    digest: str
    record: str
    events: Sequence[Event]
    group: Group


def new_run(
    run: str, created_at: float, digest: str, record: str, events: Sequence[Event]
) -> NewRun:
    """Return the run `run`, made at `created_at`, with its first events."""
    group = group_of(run, [to_record(event) for event in events], 0)
    return NewRun(run, created_at, digest, record, events, group)


def add_run(query: Query, driver: Driver, new: NewRun, beat: float | None) -> bool:
    """Add a new run; return False if there is one with its name.

    `beat` is when the write of its first lease began; without it the run is free.

    Raises:
        JournalError: another run has used its approval.
    """
    owner, token = ("", 0) if beat is None else (driver.owner, 1)
    use_approvals(query, new.run, new.events)
    driver.add_blobs(query, new.group)
    started = (new.run, new.created_at, new.digest, new.record)
    values = (
        *started,
        run_checksum(*started),
        fold(new.events).status.value,
        len(new.events),
        owner,
        token,
        *driver.lease_values(beat or 0.0),
    )
    return driver.change(query, driver.sql.add_run, values, new.group)


def run_exists(run: str) -> JournalError:
    """Return the error of a new run whose name another has."""
    return JournalError("run-exists", f"There is a run {run!r} already.")


def add_group(
    query: Query, driver: Driver, lease: Lease, group: Group, status: RunState | None, beat: float
) -> None:
    """Add a group to the run of `lease`, unless it was added already.

    Raises:
        LeaseLost: the run belongs to another process, or records were lost.
    """
    driver.add_blobs(query, group)
    at, size, held = group.row[1], group.size, (lease.run, lease.token, driver.owner)
    state = None if status is None else status.value
    values = (*driver.lease_values(beat), size, state, *held, size, at)
    if driver.change(query, driver.sql.add_group, values, group):
        return
    rows = query(FIND_HELD, held)
    if not rows:
        raise LeaseLost(lease.run)
    end = cast("int", rows[0][0])
    if end < at:  # earlier records had been acknowledged
        raise RecordsLost(lease.run, at - end)
    if end != at + size:
        raise run_damaged(lease.run, f"it has {end} records where {at + size} were expected")


def take_lease(
    query: Query, driver: Driver, run: str, watched: tuple[int, float] | None, beat: float
) -> Lease | None:
    """Take the lease of `run`, and return it; None where there is no such run.

    Raises:
        LeaseHeld: another process has it.
    """
    for at, *held in query(driver.sql.look, (run,)):
        before = driver.check_free(run, tuple(held), watched)
        query(driver.sql.take, (driver.owner, *driver.lease_values(beat), run))
        return Lease(run, cast("int", held[1]) + 1, cast("int", at), before)
    return None


def use_approvals(query: Query, run: str, events: Iterable[Event]) -> None:
    """Let `run` use the approvals in `events`, each under its first name that no other run has.

    Raises:
        JournalError: other runs have used all names of one.
    """
    for event in events:
        if isinstance(event, RunApproved):
            user = ""
            for name in uses(event.approval):
                query(ADD_APPROVAL, (name, run))
                user = str(query(FIND_APPROVAL, (name,))[0][0])
                if user == run:
                    break
            else:
                raise JournalError("approval-used", *used_words(event.approval, user))
