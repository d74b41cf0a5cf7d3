"""Rows of the journal in Postgres, written in the transaction of who has the connection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

from toolplan.events import Event, RunApproved, fold
from toolplan.storage.journal._blobs import BadBlob, blob_name
from toolplan.storage.journal._checksums import run_checksum
from toolplan.storage.journal._entries import RunRecord
from toolplan.storage.journal._errors import JournalError, LeaseHeld, LeaseLost, RecordsLost
from toolplan.storage.journal._leases import Lease
from toolplan.storage.journal._reading import Row, record_text, run_damaged
from toolplan.storage.journal._records import to_record
from toolplan.storage.journal._rows import KEPT_DURATIONS, Group, group_of, use_approval
from toolplan.storage.journal.postgres import _statements as statements
from toolplan.storage.journal.postgres._connections import Connection
from toolplan.storage.journal.postgres._owner import Owner

DurationsRow: TypeAlias = tuple[str, str, float, list[float]]
"""A tool, a run, when it was kept, and the seconds of the tool's calls in the run."""


class Holder(NamedTuple):
    """Who has leases, and for how many seconds after each write; an empty owner is nobody."""

    owner: str
    lease_s: float


class NewRun(NamedTuple):
    """A run as it is first written; `record` is a `RunRecord` as JSON."""

    run: str
    created_at: float
    digest: str
    record: str
    events: Sequence[Event]


def new_run(
    run: str, created_at: float, digest: str, record: RunRecord, events: Sequence[Event]
) -> NewRun:
    """Return the run `run`, made at `created_at`, with its first events."""
    return NewRun(run, created_at, digest, record_text(record), events)


def write_run(connection: Connection, new: NewRun, holder: Holder, token: int) -> bool:
    """Write a new run, in a transaction; return False if there is one with its name.

    Raises:
        JournalError: another run has used its approval.
    """
    run, created, digest, record, events = new
    group = group_of(run, [to_record(event) for event in events], 0)
    use_approvals(connection, run, events)
    _write_blobs(connection, group)
    values = {
        "run": run,
        "created": created,
        "status": fold(events).status.value,
        "digest": digest,
        "record": record,
        "owner": holder.owner,
        "token": token,
        "lease_s": holder.lease_s,
        "size": len(events),
        "checksum": run_checksum(run, created, digest, record),
        "event": group.row[2],
        "checksums": group.row[3],
    }
    return _count(connection, statements.ADD_RUN, values) > 0


def is_written(connection: Connection, new: NewRun, holder: Holder) -> bool:
    """Return whether `new` is there, written by `holder`."""
    query = "SELECT owner, record FROM runs WHERE run = %s"
    return connection.execute(query, (new.run,)).fetchone() == (holder.owner, new.record)


def run_exists(run: str) -> JournalError:
    """Return the error of a new run whose name another has."""
    return JournalError("run-exists", f"There is a run {run!r} already.")


def add_group(
    connection: Connection,
    lease: Lease,
    holder: Holder,
    group: Group,
    size: int,
    status: str | None,
) -> None:
    """Write a group of `size` records to the run of `lease`, unless it was written already.

    Raises:
        LeaseLost: the run belongs to another process, or the server has lost records.
    """
    _write_blobs(connection, group)
    _, at, event, sums = group.row
    values = {
        "run": lease.run,
        "token": lease.token,
        "owner": holder.owner,
        "lease_s": holder.lease_s,
        "at": at,
        "size": size,
        "status": status,
        "event": event,
        "checksums": sums,
    }
    if _count(connection, statements.ADD_GROUP, values):
        return
    row = connection.execute(statements.FIND_HELD, values).fetchone()
    if row is None:
        raise LeaseLost(lease.run)
    if row[0] < at + size:  # the server lost what it had acknowledged
        raise RecordsLost(lease.run, at - row[0])
    if row[0] > at + size:
        expected = f"it has {row[0]} records where {at + size} were expected"
        raise run_damaged(lease.run, expected)


def take_lease(connection: Connection, run: str, holder: Holder) -> Lease | None:
    """Assign the lease of `run` to `holder`, and return it; None where there is no such run.

    Raises:
        LeaseHeld: another process has it.
    """
    taken = connection.execute(statements.TAKE_FREE, (*holder, run)).fetchone()
    if taken is not None:
        at, token = cast("tuple[int, int]", taken)
        return Lease(run, token, at)
    with connection.transaction():
        row = connection.execute(statements.LOOK_AT_LEASE, (run,)).fetchone()
        if row is None:
            return None
        at, name, token, is_over = cast("tuple[int, str, int, bool]", row)
        before = Owner.read(name)
        if not (is_over or name in ("", holder.owner) or before.is_gone):
            raise LeaseHeld(run, before.text, holder.lease_s, None)
        connection.execute(statements.TAKE, (*holder, run))
    return Lease(run, token + 1, at, before.text if name and before.lives else "")


def use_approvals(connection: Connection, run: str, events: Iterable[Event]) -> None:
    """Let `run` use the approvals in `events`.

    Raises:
        JournalError: another run has used one.
    """

    def used_by(name: str) -> str:
        connection.execute(statements.ADD_APPROVAL, (name, run))
        query = "SELECT run FROM approvals WHERE approval = %s"
        row = connection.execute(query, (name,)).fetchone()
        return str(cast("tuple[Any]", row)[0])

    for event in events:
        if isinstance(event, RunApproved):
            use_approval(event.approval, run, used_by)


def durations_rows(run: str, at: float, seconds: Iterable[tuple[str, float]]) -> list[DurationsRow]:
    """Return durations of calls, pairs of a tool's name and seconds, as one row for each tool."""
    of_tools: dict[str, list[float]] = {}
    for tool, each in seconds:
        of_tools.setdefault(tool, []).append(each)
    # in one order, so that processes do not wait for each other in a ring
    return [(tool, run, at, each[-KEPT_DURATIONS:]) for tool, each in sorted(of_tools.items())]


def add_durations(connection: Connection, rows: list[DurationsRow], *, trims: bool) -> None:
    """Write durations; with `trims`, remove the oldest of their tools. The caller commits."""
    for row in rows:
        connection.execute(statements.ADD_DURATIONS, row)
    for tool, *_ in rows if trims else ():
        connection.execute(statements.TRIM_DURATIONS, {"tool": tool, "kept": KEPT_DURATIONS})


def release_lease(
    connection: Connection,
    lease: Lease,
    holder: Holder,
    durations: list[DurationsRow],
    *,
    trims: bool,
) -> None:
    """Release the lease, and write durations, in one commit."""
    values = (lease.run, lease.token, holder.owner)
    if not durations:
        connection.execute(statements.RELEASE, values)
        return
    with connection.pipeline():  # until it is left it is one transaction
        add_durations(connection, durations, trims=trims)
        connection.execute(statements.RELEASE, values)


def durations_of(
    query: Callable[[str, Row], list[Row]], tools: Iterable[str]
) -> dict[str, list[float]]:
    """Return the durations of each of `tools`, latest first."""
    of_tool = "SELECT seconds FROM durations WHERE tool = ? ORDER BY at DESC LIMIT ?"
    found: dict[str, list[float]] = {}
    for tool in tools:
        rows = query(of_tool, (tool, KEPT_DURATIONS))
        latest = [each for row in rows for each in reversed(cast("list[float]", row[0]))]
        found[tool] = latest[:KEPT_DURATIONS]
    return found


def read_blob(query: Callable[[str, Row], list[Row]], name: str) -> str:
    """Return the large record with this name.

    Raises:
        BadBlob: it is missing or was changed.
    """
    rows = query("SELECT content FROM blobs WHERE name = ?", (name,))
    if not rows:
        raise BadBlob(f"Blob {name} is missing.")
    content = str(rows[0][0])
    if blob_name(content) != name:
        raise BadBlob(f"Blob {name} was changed.")
    return content


def _write_blobs(connection: Connection, group: Group) -> None:
    for name, text in group.large.items():
        connection.execute(statements.ADD_BLOB, (name, text))


def _count(connection: Connection, query: str, values: Mapping[str, object]) -> int:
    row = connection.execute(query.encode(), values).fetchone()
    return int(cast("tuple[Any]", row)[0])
