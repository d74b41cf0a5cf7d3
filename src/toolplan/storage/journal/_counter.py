"""A count of synced writes beside the journal, by which it notices that it went back in time.

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

from toolplan.storage.journal._errors import JournalError

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
    def is_behind(self) -> bool:
        """Whether the journal is older than it was."""
        return self.missing > 0

    @property
    def shortfall(self) -> str:
        """How many writes are missing, in words; empty if none is."""
        return f"{self.missing} writes are missing" if self.is_behind else ""

    def notes(self, journal: Path) -> tuple[str, ...]:
        """Return what the user should know about it."""
        if not self.is_behind:
            return ()
        error = went_back(journal, self._path.parent)
        return (f"{error} {self.shortfall}. {error.help}",)

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
