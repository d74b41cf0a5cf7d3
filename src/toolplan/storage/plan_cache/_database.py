"""The cache's file: one SQLite database, its version, and what is wrong with it in words."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from toolplan.storage.database_file import DatabaseFile, FaultKind, ForeignFile, NewerFile, fault_of

APPLICATION_ID: Final = 0x7470_7063  # "tppc": whose file it is, as SQLite's header keeps it
BUSY_S: Final = 0.25
"""How long a lock is waited for: a plan that is made anew is cheaper than a question that hangs."""

MIGRATIONS: Final = (
    # 1: drafts, by key and by shape
    """
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
    """,
    # 2: who wrote them
    "ALTER TABLE entries ADD COLUMN planner TEXT NOT NULL DEFAULT ''",
)
"""Each takes a file from the version before to its own number; a version is never changed."""

_FAULTS: Final[dict[FaultKind, str]] = {
    "locked": "another program holds its lock",
    "full": "the disk is full",
    "read-only": "it may only be read",
    "damaged": "it is damaged, or no database of the plan cache; delete it, or name another file",
}

_FILE: Final = DatabaseFile(APPLICATION_ID, MIGRATIONS, BUSY_S)


class Unusable(Exception):
    """The file cannot serve as a cache, and trying again will not change that."""


def connect(path: Path | None) -> sqlite3.Connection:
    """Open the cache at `path`, made if it is not there; None gives one in memory.

    Raises:
        Unusable: the file is something else's, or a newer program has written it.
        sqlite3.Error, OSError: it cannot be opened.
    """
    try:
        return _FILE.connect(path)
    except NewerFile as newer:
        raise Unusable(f"{newer}; delete it") from None
    except ForeignFile:
        raise Unusable("it is a database of something else; name another file") from None


def fault(error: sqlite3.Error | OSError | Unusable) -> str:
    """Say what `error` means for the file, in words that end no sentence."""
    if isinstance(error, Unusable):
        return str(error)
    kind, reason = fault_of(error)
    return reason if isinstance(error, OSError) else _FAULTS.get(kind, reason)
