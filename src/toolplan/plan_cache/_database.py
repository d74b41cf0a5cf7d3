"""The cache's file: one SQLite database, its version, and what is wrong with it in words."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

APPLICATION_ID: Final = 0x7470_7063  # "tppc": whose file it is, as SQLite's header keeps it
VERSION: Final = 1
BUSY_S: Final = 0.25
"""How long a lock is waited for: a plan that is made anew is cheaper than a question that hangs."""

_TABLES: Final = """
CREATE TABLE entries (
    key TEXT PRIMARY KEY,
    scope TEXT NOT NULL,
    shape TEXT NOT NULL,
    question TEXT NOT NULL,
    today TEXT NOT NULL,
    text TEXT NOT NULL,
    dialect TEXT NOT NULL,
    created_at REAL NOT NULL,
    used INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX entries_by_shape ON entries (scope, shape, used);
CREATE INDEX entries_by_use ON entries (used);
"""

_FAULTS: Final = {
    sqlite3.SQLITE_BUSY: "another program holds its lock",
    sqlite3.SQLITE_LOCKED: "another program holds its lock",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it may only be read",
    sqlite3.SQLITE_PERM: "it may only be read",
    sqlite3.SQLITE_CORRUPT: "it is damaged; delete it, and a new one is made",
    sqlite3.SQLITE_NOTADB: "it is no database of the plan cache; delete it, or name another file",
}


class Unusable(Exception):
    """The file cannot serve as a cache, and trying again will not change that."""


def connect(path: Path | None) -> sqlite3.Connection:
    """Open the cache at `path`, made if it is not there; None gives one in memory.

    Raises:
        Unusable: the file is something else's, or a newer program has written it.
        sqlite3.Error, OSError: it cannot be opened.
    """
    if path is not None and not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)  # questions are nobody else's business
    connection = sqlite3.connect(
        ":memory:" if path is None else path,
        timeout=BUSY_S,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        _prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection) -> None:
    version = _pragma(connection, "user_version")
    if version == VERSION and _pragma(connection, "application_id") == APPLICATION_ID:
        return
    if version == 0 and not _pragma(connection, "schema_version"):
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        with transaction(connection):
            if _pragma(connection, "user_version") == 0:  # nobody else was quicker
                for statement in _TABLES.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {VERSION}")
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        return
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise Unusable("it is a database of something else; name another file")
    raise Unusable(f"it has version {version}, and this program knows {VERSION}; delete it")


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


def fault(error: sqlite3.Error | OSError | Unusable) -> str:
    """Say what `error` means for the file, in words that end no sentence."""
    if isinstance(error, Unusable):
        return str(error)
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    number = getattr(error, "sqlite_errorcode", None)
    primary = number & 0xFF if isinstance(number, int) else -1
    return _FAULTS.get(primary, str(error))
