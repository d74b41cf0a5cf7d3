"""Memory's file: one SQLite database, its version and its migrations."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from toolplan.memory._faults import MemoryFault, damaged

APPLICATION_ID: Final = 0x7470_6D65  # "tpme": whose file it is, as SQLite's header keeps it

MIGRATIONS: Final = (
    # 1: sessions, their turns, what the turns spoke of, and an index of their words
    """
    CREATE TABLE sessions (
        session TEXT PRIMARY KEY,
        used INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE episodes (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session TEXT NOT NULL,
        timestamp TEXT NOT NULL,
        query TEXT NOT NULL,
        text TEXT NOT NULL,
        plan TEXT,
        pending TEXT
    );
    CREATE INDEX episodes_by_session ON episodes (session, id);
    CREATE TABLE entities (
        session TEXT NOT NULL,
        entity TEXT NOT NULL,
        episode INTEGER NOT NULL,
        PRIMARY KEY (session, entity, episode)
    ) WITHOUT ROWID;
    CREATE INDEX entities_by_episode ON entities (episode);
    CREATE VIRTUAL TABLE words USING fts5 (
        session, text, tokenize = 'porter unicode61 remove_diacritics 2'
    );
    """,
)
"""Each takes a file from the version before to its own number; a version is never changed."""

BUSY_S: Final = 1.0
"""How long SQLite waits for another program's lock before the call fails."""


def connect(path: Path | None) -> sqlite3.Connection:
    """Open the memory at `path`, made if it is not there; None opens one that no file keeps.

    Raises:
        sqlite3.Error, OSError: it cannot be opened.
        MemoryFault: a newer program, or another one, has written it.
    """
    if path is not None and not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)  # what people asked is for nobody else to read
    connection = sqlite3.connect(
        ":memory:" if path is None else path,
        timeout=BUSY_S,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA secure_delete = ON")  # what is forgotten is overwritten
        _migrate(connection, file_name(path))
    except BaseException:
        connection.close()
        raise
    return connection


def file_name(path: Path | None) -> str:
    """Give the name by which messages speak of the memory at `path`."""
    return "(in memory)" if path is None else path.name


def _migrate(connection: sqlite3.Connection, name: str) -> None:
    version = _pragma(connection, "user_version")
    if version == len(MIGRATIONS) and _pragma(connection, "application_id") == APPLICATION_ID:
        return
    if version > len(MIGRATIONS) and _pragma(connection, "application_id") == APPLICATION_ID:
        raise MemoryFault(
            "memory-newer",
            f"The memory {name} has version {version}; this program knows {len(MIGRATIONS)}.",
            "Use the newer toolplan that wrote it.",
        )
    with transaction(connection):
        # another process may have made it meanwhile: the version is asked again under the lock
        version = _pragma(connection, "user_version")
        if version == 0 and _pragma(connection, "schema_version"):
            raise damaged(name, "it is a database of something else")
        if version and _pragma(connection, "application_id") != APPLICATION_ID:
            raise damaged(name, "it is a database of something else")
        for number in range(version, len(MIGRATIONS)):
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
