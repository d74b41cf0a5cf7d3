"""The journal's file: one SQLite database, its version and its migrations."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from toolplan.journal._errors import JournalError, journal_error

APPLICATION_ID: Final = 0x7470_6A6C  # "tpjl": whose file it is, as SQLite's header keeps it

MIGRATIONS: Final = (
    # 1: runs, their events, approvals that were used, and how long calls took
    """
    CREATE TABLE runs (
        run TEXT PRIMARY KEY,
        created_at REAL NOT NULL,
        status TEXT NOT NULL,
        digest TEXT NOT NULL,
        record TEXT NOT NULL,
        owner TEXT NOT NULL,
        token INTEGER NOT NULL,
        lease_until REAL NOT NULL,
        next_seq INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX runs_by_time ON runs (created_at);
    CREATE TABLE events (
        run TEXT NOT NULL,
        seq INTEGER NOT NULL,
        event TEXT NOT NULL,
        PRIMARY KEY (run, seq)
    ) WITHOUT ROWID;
    CREATE TABLE approvals (
        approval TEXT PRIMARY KEY,
        run TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE durations (
        tool TEXT NOT NULL,
        at REAL NOT NULL,
        seconds REAL NOT NULL
    );
    CREATE INDEX durations_by_tool ON durations (tool, at);
    """,
)
"""Each takes a file from the version before to its own number; a version is never changed."""

BUSY_S: Final = 1.0
"""How long SQLite itself waits for a lock; the writer tries again after that."""


def connect(path: Path) -> sqlite3.Connection:
    """Open the journal at `path`, made if it is not there, at the newest version.

    Raises:
        JournalError: it cannot be opened, or a newer program has written it.
    """
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
        connection = sqlite3.connect(
            path, timeout=BUSY_S, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            _migrate(connection, path)
        except BaseException:
            connection.close()
            raise
    except (sqlite3.Error, OSError) as error:
        raise journal_error(error, path.name) from None
    return connection


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    version = _pragma(connection, "user_version")
    if version == len(MIGRATIONS):
        return
    if version > len(MIGRATIONS):
        raise JournalError(
            "journal-newer",
            f"The journal {path.name} has version {version}; this program knows {len(MIGRATIONS)}.",
            "Use the newer toolplan that wrote it.",
        )
    if version == 0 and _pragma(connection, "schema_version"):
        raise JournalError(
            "journal-damaged",
            f"{path.name} is a database of something else.",
            "Give the journal a file of its own.",
        )
    with transaction(connection):
        for number in range(_pragma(connection, "user_version"), len(MIGRATIONS)):
            for statement in MIGRATIONS[number].split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number + 1}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    row = connection.execute(f"PRAGMA {name}").fetchone()
    return int(row[0])


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """Do all of what is inside, or nothing; the write lock is held from the start."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
