"""The file of the plan cache: its schema, its version, and its faults in words."""

from __future__ import annotations

import sqlite3
from typing import Final, TypeAlias

from toolplan.storage.database_file import DatabaseFile, FaultKind, ForeignFile, NewerFile, fault_of

APPLICATION_ID: Final = 0x7470_7063  # "tppc", in the header of the SQLite file
BUSY_S: Final = 0.25
"""The longest wait for a lock: planning again is cheaper than a question that hangs."""

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
    # 2: their planners
    "ALTER TABLE entries ADD COLUMN planner TEXT NOT NULL DEFAULT ''",
    # 3: by key only
    """
ALTER TABLE entries RENAME TO entries_2;
CREATE TABLE entries (
    key TEXT PRIMARY KEY,
    question TEXT NOT NULL,
    today TEXT NOT NULL,
    text TEXT NOT NULL,
    dialect TEXT NOT NULL,
    planner TEXT NOT NULL,
    created_at REAL NOT NULL,
    used INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO entries SELECT key, question, today, text, dialect, planner, created_at, used
FROM entries_2;
DROP TABLE entries_2;
CREATE INDEX entries_by_use ON entries (used);
    """,
)
"""Each migrates a file from the version before to its own number; none is ever changed."""

_FAULTS: Final[dict[FaultKind, str]] = {
    "locked": "another program holds its lock",
    "full": "the disk is full",
    "read-only": "it is read-only",
    "damaged": "it is damaged, or not a plan cache; delete it, or name another file",
}

FILE: Final = DatabaseFile(APPLICATION_ID, MIGRATIONS, BUSY_S)

Fault: TypeAlias = sqlite3.Error | OSError | ForeignFile | NewerFile
"""The errors of opening and using the file."""


def reason_of(error: Fault) -> str:
    """Return what `error` means for the file, as the end of a sentence."""
    if isinstance(error, NewerFile):
        return f"{error}; delete it"
    if isinstance(error, ForeignFile):
        return "it belongs to another program; name another file"
    kind, reason = fault_of(error)
    return reason if isinstance(error, OSError) else _FAULTS.get(kind, reason)
