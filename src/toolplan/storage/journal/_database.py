"""The file of the journal: its migrations, and what its faults mean for the user."""

from __future__ import annotations

from typing import Final

from toolplan.storage.database_file import DatabaseFile, Store
from toolplan.storage.journal._errors import JournalError

APPLICATION_ID: Final = 0x7470_6A6C  # "tpjl": in the header of the file

MIGRATIONS: Final = (
    # 1: runs, their events, used approvals, durations of calls
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
    # 2: the number of synced writes
    """
    CREATE TABLE writes (count INTEGER NOT NULL);
    INSERT INTO writes VALUES (0);
    """,
    # 3: leases by their age, on a clock that the file names; checksums of records. Rows of
    # earlier versions have none.
    """
    ALTER TABLE runs ADD COLUMN boot TEXT NOT NULL DEFAULT '';
    ALTER TABLE runs ADD COLUMN beat REAL NOT NULL DEFAULT 0;
    ALTER TABLE runs ADD COLUMN checksum INTEGER;
    ALTER TABLE events ADD COLUMN checksums TEXT;
    """,
)
"""Each migrates a file from the version before; a released version is never changed."""

BUSY_S: Final = 1.0
"""How long SQLite waits for a lock; who reads or writes tries again after that."""

PATIENCE_S: Final = 30.0
"""How long opening and reading wait for a locked file, in seconds; runs have an option for it."""

_AGAIN: Final = "try again; a run that had started can be resumed."
_RESTORE: Final = (
    "Set the file aside and restore it from a copy. Without a copy, move it away, and with it the"
    " folder NAME-blobs beside it: the runs in it are lost, and a new journal is made."
)

STORE: Final = Store(
    "journal",
    DatabaseFile(APPLICATION_ID, MIGRATIONS, BUSY_S, patience_s=PATIENCE_S),
    JournalError,
    {
        "locked": f"Another program has locked the file; end it, or wait, and {_AGAIN}",
        "full": f"Make room on the disk, and {_AGAIN}",
        "read-only": "Make the file and its folder writable, or set TOOLPLAN_HOME elsewhere.",
        "unavailable": f"Check the disk, the file and its folder, and {_AGAIN}",
        "damaged": _RESTORE,
    },
)
