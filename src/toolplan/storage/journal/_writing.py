"""What is written to the journal in one transaction, through its driver."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from msgspec import Struct

from toolplan.approval import used_words, uses
from toolplan.events import Event, RunApproved, RunState, fold
from toolplan.storage.journal import _statements as sql
from toolplan.storage.journal._checksums import run_checksum
from toolplan.storage.journal._driver import Driver
from toolplan.storage.journal._errors import JournalError, LeaseLost, RecordsLost
from toolplan.storage.journal._leases import Lease
from toolplan.storage.journal._reading import Query, run_damaged
from toolplan.storage.journal._records import to_record
from toolplan.storage.journal._rows import Group, group_of


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

    `beat` is when the write of its first lease began; without it nobody has the run.

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


def is_written(query: Query, driver: Driver, new: NewRun) -> bool:
    """Return whether `new` is there, written by this process."""
    rows = query("SELECT owner, record FROM runs WHERE run = ?", (new.run,))
    return rows == [(driver.owner, new.record)]


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
    rows = query(sql.FIND_HELD, held)
    if not rows:
        raise LeaseLost(lease.run)
    end = cast("int", rows[0][0])
    if end < at + size:  # what had been acknowledged
        raise RecordsLost(lease.run, at - end)
    if end > at + size:
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
                query(sql.ADD_APPROVAL, (name, run))
                user = str(query(sql.FIND_APPROVAL, (name,))[0][0])
                if user == run:
                    break
            else:
                raise JournalError("approval-used", *used_words(event.approval, user))
