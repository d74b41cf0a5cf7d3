"""Rows of the journal's file, written in the transaction of who has it open."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Final, cast

from msgspec import Struct

from toolplan.approval import used_words, uses
from toolplan.events import Event, RunApproved
from toolplan.storage.journal import _checksums
from toolplan.storage.journal._blobs import Blobs, blob_name
from toolplan.storage.journal._errors import JournalError, LeaseLost
from toolplan.storage.journal._leases import Lease
from toolplan.storage.journal._reading import BLOB, Row, run_damaged

BLOB_SIZE: Final = 64_000
"""Longer records, in characters, are kept as blobs."""

KEPT_DURATIONS: Final = 200
"""The number of latest calls whose durations are kept for each tool."""


class Group(Struct, frozen=True):
    """Records that are committed together, as a row, and the large ones by the names of blobs."""

    row: tuple[str, int, str, str]
    large: dict[str, str]


class Change(Struct, frozen=True):
    """What a group changes in the row of its run.

    Attributes:
        at: the position of its first record.
        size: how many records it has.
        status: the state of the run from now on; None leaves it.
        boot: the clock of `beat`.
        beat: when it was written.
    """

    at: int
    size: int
    status: str | None
    boot: str
    beat: float


def group_of(run: str, texts: Sequence[str], at: int) -> Group:
    """Return the group of records `texts`, the first of them at position `at`.

    One row for all: with a row each, every one would wait for the interpreter lock.
    """
    large = {blob_name(text): text for text in texts if len(text) > BLOB_SIZE}
    lines = [_line(text) for text in texts]
    return Group((run, at, "\n".join(lines), _checksums.checksums(run, at, lines)), large)


def write_blobs(blobs: Blobs, group: Group) -> None:
    """Write the large records before the transaction: a disk may stop, a transaction not.

    Raises:
        OSError: they cannot be written.
    """
    for text in group.large.values():
        with suppress(FileNotFoundError):  # another process pruned: it is written again
            blobs.write(text)


def write_group(connection: sqlite3.Connection, blobs: Blobs, group: Group) -> None:
    """Write a group whose blobs were written."""
    for text in group.large.values():
        blobs.write(text)  # it is there, unless another process has pruned meanwhile
    connection.execute("INSERT INTO events VALUES (?, ?, ?, ?)", group.row)


def add_group(
    connection: sqlite3.Connection, blobs: Blobs, lease: Lease, group: Group, change: Change
) -> None:
    """Write a group to the run of `lease`, unless it was written already.

    Raises:
        LeaseLost: the run belongs to another process.
    """
    at, count, status = change.at, change.size, change.status
    boot, beat = change.boot, change.beat
    written = connection.execute(
        "UPDATE runs SET beat = ?, boot = ?, next_seq = next_seq + ?,"
        " status = coalesce(?, status)"
        " WHERE run = ? AND token = ? AND (? OR next_seq = ?) RETURNING next_seq",
        (beat, boot, count, status, lease.run, lease.token, not count, at),
    ).fetchone()
    if written is None:
        _check_written(connection, lease, at + count)
    elif count:
        write_group(connection, blobs, group)


def use_approvals(connection: sqlite3.Connection, run: str, events: Iterable[Event]) -> None:
    """Let `run` use the approvals in `events`.

    Raises:
        JournalError: another run has used one.
    """

    def used_by(name: str) -> str:
        connection.execute("INSERT OR IGNORE INTO approvals VALUES (?, ?)", (name, run))
        query = "SELECT run FROM approvals WHERE approval = ?"
        return str(connection.execute(query, (name,)).fetchone()[0])

    for event in events:
        if isinstance(event, RunApproved):
            use_approval(event.approval, run, used_by)


def use_approval(approval: str, run: str, used_by: Callable[[str], str]) -> None:
    """Let `run` use an approval, under the first of its names that no other run has.

    `used_by` records the run under a name that is free, and returns the run that has the name.

    Raises:
        JournalError: other runs have used all of them.
    """
    user = ""
    for name in uses(approval):
        user = used_by(name)
        if user == run:
            return
    raise JournalError("approval-used", *used_words(approval, user))


def add_durations(
    connection: sqlite3.Connection, at: float, seconds: Iterable[tuple[str, float]]
) -> None:
    """Write durations of calls at the time `at`, and remove the oldest of their tools."""
    rows = [(tool, at, each) for tool, each in seconds]
    connection.executemany("INSERT INTO durations VALUES (?, ?, ?)", rows)
    for tool in {tool for tool, _, _ in rows}:
        connection.execute(
            "DELETE FROM durations WHERE tool = ? AND rowid NOT IN (SELECT rowid FROM "
            "durations WHERE tool = ? ORDER BY rowid DESC LIMIT ?)",
            (tool, tool, KEPT_DURATIONS),
        )


def durations_of(
    query: Callable[[str, Row], list[Row]], tools: Iterable[str]
) -> dict[str, list[float]]:
    """Return the durations of each of `tools`, latest first."""
    of_tool = "SELECT seconds FROM durations WHERE tool = ? ORDER BY rowid DESC"
    return {
        tool: [float(cast("float", row[0])) for row in query(of_tool, (tool,))] for tool in tools
    }


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
