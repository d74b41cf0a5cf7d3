"""Older runs are pruned, and a journal is copied, with the blobs that it refers to."""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from toolplan.storage.database_file import transaction
from toolplan.storage.journal._blobs import Blobs
from toolplan.storage.journal._counter import COUNT, write_count
from toolplan.storage.journal._database import STORE
from toolplan.storage.journal._errors import JournalError
from toolplan.storage.journal._leases import LEASE_S, Held, Leases
from toolplan.storage.journal._reading import BLOB, named_blobs

_PRUNABLE: Final = """
    SELECT run, owner, token, boot, beat FROM runs
    WHERE status IN ('succeeded', 'failed', 'cancelled') AND created_at < ?
    AND run NOT IN (SELECT run FROM runs ORDER BY created_at DESC, run LIMIT ?)
    ORDER BY created_at, run
"""
_WITH_BLOBS: Final = "SELECT event FROM events WHERE instr(event, ?)"
_PAGES: Final = 1_000


class Pruning(NamedTuple):
    """What pruning removes, or has removed.

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


def prune(
    path: Path, *, older_than_s: float, keep: int, apply: bool = False, now: float | None = None
) -> Pruning:
    """Remove the runs that began more than `older_than_s` seconds ago, but not the `keep` latest.

    Only runs that are over are removed: never one that runs, waits, is in doubt or was interrupted.
    Approvals that were used stay used. Without `apply` nothing is removed.

    Raises:
        JournalError: the journal cannot be read or written.
    """
    moment = time.time() if now is None else now
    blobs = _blobs_of(path)
    before = _size(path, blobs)
    with _opened(path) as connection:
        values = (moment - older_than_s, keep)
        if not apply:
            names = _names(connection, values)
        else:
            with transaction(connection):
                names = _names(connection, values)
                rows = [(name,) for name in names]
                connection.executemany("DELETE FROM events WHERE run = ?", rows)
                connection.executemany("DELETE FROM runs WHERE run = ?", rows)
            # Another process writes a blob again that it is about to refer to. After a crash
            # before this, the next pruning deletes them.
            with transaction(connection):
                blobs.sweep(named_blobs(connection.execute(_WITH_BLOBS, (BLOB,))))
            with suppress(sqlite3.OperationalError):  # in use: the next pruning makes it smaller
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        kept = int(connection.execute("SELECT count(*) FROM runs").fetchone()[0])
    if not apply:
        return Pruning(names, kept - len(names), before, before)
    return Pruning(names, kept, before, _size(path, blobs))


def backup(path: Path, copy: Path) -> None:
    """Copy the journal at `path`, which may be in use, to `copy`, and its blobs beside that.

    Raises:
        JournalError: the journal cannot be read, or the copy exists or cannot be written.
    """
    blobs, copied = _blobs_of(path), _blobs_of(copy)
    for place in (copy, copied.folder):
        if place.exists():
            raise JournalError("copy-exists", f"{place} exists already.", "Name another file.")
    partial = copy.with_name(f"{copy.name}.part")
    try:
        partial.touch(mode=0o600)
        with _opened(path) as connection, closing(sqlite3.connect(partial)) as target:
            connection.backup(target, pages=_PAGES)
            target.execute("PRAGMA journal_mode = DELETE")  # one file, and nothing beside it
            copied.folder.mkdir(mode=0o700)
            for name in sorted(named_blobs(target.execute(_WITH_BLOBS, (BLOB,)))):
                shutil.copyfile(blobs.folder / name, copied.folder / name)
            write_count(copied.folder, int(target.execute(COUNT).fetchone()[0]))
        partial.replace(copy)
    except (OSError, sqlite3.Error) as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
            shutil.rmtree(copied.folder, ignore_errors=True)
        reason = getattr(error, "strerror", None) or str(error)
        raise JournalError(
            "unwritable-file", f"The copy {copy} cannot be written: {reason}.", "Name another file."
        ) from None


@contextmanager
def _opened(path: Path) -> Generator[sqlite3.Connection]:
    with closing(STORE.connect(path)) as connection:
        try:
            yield connection
        except sqlite3.Error as error:
            raise STORE.fault(error, path) from None


def _names(connection: sqlite3.Connection, values: tuple[object, ...]) -> tuple[str, ...]:
    leases = Leases("", LEASE_S, None, None)
    rows = connection.execute(_PRUNABLE, values)
    return tuple(str(run) for run, *held in rows if leases.is_free(Held(*held)))


def _blobs_of(path: Path) -> Blobs:
    return Blobs(path.with_name(f"{path.name}-blobs"))


def _size(path: Path, blobs: Blobs) -> int:
    files = [path, path.with_name(f"{path.name}-wal")]
    files += blobs.folder.iterdir() if blobs.folder.is_dir() else ()
    return sum(file.stat().st_size for file in files if file.exists())
