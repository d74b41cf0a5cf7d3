"""The file of a journal: its migrations, its faults, and a count of its synced writes.

Each synced write adds one to the count in the file, and then keeps it in the folder of blobs. The
number there is never ahead of the file, unless the file is an older one: a copy without its `-wal`,
or one that was restored. What such a journal does not know of may have happened.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Final

from toolplan.storage.database_file import DatabaseFile, Store
from toolplan.storage.journal.errors import JournalError

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
    # 4: how many runs have each status, without reading their records
    "CREATE INDEX runs_by_status ON runs (status);",
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


COUNT: Final = "SELECT count FROM writes"
COUNT_FILE: Final = "latest"


class Counter:
    """The count of one journal, whose blobs are in `folder`; opened before the journal is read."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / COUNT_FILE
        self._kept = _read(self._path)
        self.missing = 0

    def compare(self, connection: sqlite3.Connection) -> None:
        """Compare the count in the journal with the one that was kept when this was opened."""
        count = int(connection.execute(COUNT).fetchone()[0])
        self.missing = max(0, self._kept - count)

    @property
    def shortfall(self) -> str:
        """How many writes are missing, in words; empty if none is."""
        return f"{self.missing} writes are missing" if self.missing else ""

    def notes(self, journal: Path) -> tuple[str, ...]:
        """Return a note for the user."""
        error = went_back(journal, self._path.parent)
        return (f"{error} {self.shortfall}. {error.help}",) if self.missing else ()

    def add_to(self, connection: sqlite3.Connection) -> int:
        """Count a write, in its transaction; return the new count."""
        row = connection.execute("UPDATE writes SET count = count + 1 RETURNING count").fetchone()
        return int(row[0])

    def keep(self, count: int) -> None:
        """Keep the count of a write that is on disk; a journal that is behind stays so."""
        with suppress(OSError):  # it only helps to notice
            write_count(self._path.parent, count + self.missing)


def went_back(journal: Path, folder: Path) -> JournalError:
    """Return the error of a journal that is older than it was."""
    return JournalError(
        "journal-older",
        f"The journal {journal} is older than it was: it does not know of calls that were made.",
        "To resume a run here may repeat its effects. Restore the newer file, with its -wal; if"
        f" there is none, delete {folder / COUNT_FILE}.",
    )


def write_count(folder: Path, count: int) -> None:
    """Write the count of the journal with the blobs in `folder`."""
    folder.mkdir(mode=0o700, exist_ok=True)
    text = f"{count:020}\n".encode()
    # in place: file systems write a file that was emptied to the disk at once, which takes long
    file = os.open(folder / COUNT_FILE, os.O_WRONLY | os.O_CREAT, 0o666)
    try:
        os.write(file, text)
        os.ftruncate(file, len(text))
    finally:
        os.close(file)


def _read(path: Path) -> int:
    try:
        return int(path.read_text("utf-8"))
    except (OSError, ValueError):
        return 0
