"""The file of memory: its migrations, and what its faults mean for the user."""

from __future__ import annotations

from typing import Final

from toolplan.errors import ToolplanError
from toolplan.storage.database_file import DatabaseFile, Store

APPLICATION_ID: Final = 0x7470_6D65  # "tpme": in the header of the file

MIGRATIONS: Final = (
    # 1: sessions, their turns, entities of the turns, and an index of their words
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
"""Each migrates a file from the version before; a released version is never changed."""

BUSY_S: Final = 1.0
"""How long SQLite waits for another program's lock before the call fails."""


class MemoryFault(ToolplanError):
    """Memory cannot be read or written.

    Codes: `memory-locked`, `memory-full`, `memory-read-only`, `memory-unavailable`,
    `memory-damaged`, `memory-newer`.
    """


STORE: Final = Store(
    "memory",
    # what people asked is private: what is forgotten is overwritten
    DatabaseFile(APPLICATION_ID, MIGRATIONS, BUSY_S, erases=True),
    MemoryFault,
    {
        "locked": "Another program has locked the file; end it, or wait.",
        "full": "Make room on the disk.",
        "read-only": "Make the file and its folder writable, or set TOOLPLAN_HOME elsewhere.",
        "unavailable": "Check the disk and the folder.",
        "damaged": "Delete the file: memory then starts empty, and no run is lost.",
    },
)
