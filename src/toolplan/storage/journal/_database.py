"""The journal's file: one SQLite database, its version and its migrations."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from toolplan.storage.database_file import DatabaseFile, ForeignFile, NewerFile
from toolplan.storage.journal._errors import JournalError, journal_error

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

_FILE: Final = DatabaseFile(APPLICATION_ID, MIGRATIONS, BUSY_S)


def connect(path: Path) -> sqlite3.Connection:
    """Open the journal at `path`, made if it is not there, at the newest version.

    Raises:
        JournalError: it cannot be opened, or a newer program has written it.
    """
    place = path.absolute()
    try:
        return _FILE.connect(path)
    except (sqlite3.Error, OSError) as error:
        raise journal_error(error, str(place)) from None
    except NewerFile as newer:
        raise JournalError(
            "journal-newer",
            f"The journal {place} has version {newer.version}; this program knows {newer.known}.",
            "Use the newer toolplan that wrote it.",
        ) from None
    except ForeignFile:
        raise JournalError(
            "journal-damaged",
            f"{place} is a database of something else.",
            "Give the journal a file of its own.",
        ) from None
