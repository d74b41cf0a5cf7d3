"""Memory's file: one SQLite database, its version and its migrations."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from toolplan.storage.database_file import DatabaseFile, ForeignFile, NewerFile
from toolplan.storage.memory._faults import MemoryFault, damaged

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

# what people asked is for nobody else to read, and what is forgotten is overwritten
_FILE: Final = DatabaseFile(APPLICATION_ID, MIGRATIONS, BUSY_S, erases=True)


def connect(path: Path | None) -> sqlite3.Connection:
    """Open the memory at `path`, made if it is not there; None opens one that no file keeps.

    Raises:
        sqlite3.Error, OSError: it cannot be opened.
        MemoryFault: a newer program, or another one, has written it.
    """
    try:
        return _FILE.connect(path)
    except NewerFile as newer:
        raise MemoryFault(
            "memory-newer",
            f"The memory {file_name(path)} has version {newer.version}; this program knows"
            f" {newer.known}.",
            "Use the newer toolplan that wrote it.",
        ) from None
    except ForeignFile:
        raise damaged(file_name(path), "it is a database of something else") from None


def file_name(path: Path | None) -> str:
    """Return the name by which messages speak of the memory at `path`."""
    return "(in memory)" if path is None else path.name
