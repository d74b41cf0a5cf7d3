"""One SQLite file of ours: whose it is, its version and migrations, and its faults by kind.

The journal, memory and the plan cache each have one. They differ in what they keep and in what a
fault means for the user; how such a file is opened is the same.
"""

from __future__ import annotations

import errno
import sqlite3
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

FaultKind: TypeAlias = Literal["locked", "full", "read-only", "damaged", "unavailable"]
"""What is wrong with a file: somebody holds it, no room, no leave, no database, or all else."""

_SQLITE_KINDS: Final[dict[int, FaultKind]] = {
    sqlite3.SQLITE_BUSY: "locked",
    sqlite3.SQLITE_LOCKED: "locked",
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_READONLY: "read-only",
    sqlite3.SQLITE_PERM: "read-only",
    sqlite3.SQLITE_CORRUPT: "damaged",
    sqlite3.SQLITE_NOTADB: "damaged",
}
_ERRNO_KINDS: Final[dict[int, FaultKind]] = {
    errno.ENOSPC: "full",
    errno.EDQUOT: "full",
    errno.EROFS: "read-only",
    errno.EACCES: "read-only",
    errno.EPERM: "read-only",
}
_RETRY_S: Final = 0.005
_PRIMARY_CODE: Final = 0xFF  # SQLite's extended codes say more in their higher bytes


class ForeignFile(Exception):
    """The file is a database, and not one of this kind."""


class NewerFile(Exception):
    """A newer program has written the file; `version` is its version, `known` the newest here."""

    def __init__(self, version: int, known: int) -> None:
        super().__init__(f"it has version {version}; this program knows {known}")
        self.version = version
        self.known = known


class ForgettableConnection(sqlite3.Connection):
    """A connection that is closed when nobody holds it any more.

    A plan cache or a memory may stand behind a planner whose user never sees it, and so cannot
    close it. From Python 3.13 a connection that is forgotten open warns of that.
    """

    def __del__(self) -> None:
        """Close it, if it was ever opened."""
        with suppress(sqlite3.Error):
            self.close()


@dataclass(frozen=True, slots=True)
class DatabaseFile:
    """A kind of file.

    Attributes:
        application_id: whose file it is, as SQLite's header keeps it.
        migrations: each takes a file from the version before to its own number, counted from 1; a
            version is never changed.
        busy_s: how long a lock is waited for.
        erases: whether what is deleted is overwritten.
    """

    application_id: int
    migrations: Sequence[str]
    busy_s: float
    erases: bool = False

    def connect(self, path: Path | None) -> sqlite3.Connection:
        """Open the file at `path`, made if it is not there, at the newest version.

        It is readable for its owner alone. None gives a database in memory.

        Raises:
            ForeignFile, NewerFile: it is not such a file, or written by a newer program.
            sqlite3.Error, OSError: it cannot be opened.
        """
        if path is not None and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
        connection = sqlite3.connect(
            ":memory:" if path is None else path,
            timeout=self.busy_s,
            isolation_level=None,
            check_same_thread=False,
            factory=ForgettableConnection,
        )
        try:
            with _snapshot(connection):
                self._version(connection)  # what is not ours is left as it is
            self._set_wal(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
            if self.erases:
                connection.execute("PRAGMA secure_delete = ON")
            self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _migrate(self, connection: sqlite3.Connection) -> None:
        newest = len(self.migrations)
        with _snapshot(connection):
            if self._version(connection) == newest:
                return
        with transaction(connection):
            # another process may have made it meanwhile: the version is asked again under the lock
            for number in range(self._version(connection), newest):
                for statement in self.migrations[number].split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number + 1}")
            connection.execute(f"PRAGMA application_id = {self.application_id}")

    def _set_wal(self, connection: sqlite3.Connection) -> None:
        """Let the file be read while it is written; SQLite does not wait for a lock here itself."""
        deadline = time.monotonic() + self.busy_s
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if fault_of(error)[0] != "locked" or time.monotonic() >= deadline:
                    raise
                time.sleep(_RETRY_S)
            else:
                return

    def _version(self, connection: sqlite3.Connection) -> int:
        version = _pragma(connection, "user_version")
        if version == 0:
            if _pragma(connection, "schema_version"):
                raise ForeignFile
        elif _pragma(connection, "application_id") != self.application_id:
            raise ForeignFile
        elif version > len(self.migrations):
            raise NewerFile(version, len(self.migrations))
        return version


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


@contextmanager
def _snapshot(connection: sqlite3.Connection) -> Generator[None]:
    """Read all of what is inside from one state of the file, whoever writes it meanwhile."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def fault_of(error: sqlite3.Error | OSError) -> tuple[FaultKind, str]:
    """Return the kind of `error`, and what the system said."""
    if isinstance(error, OSError):
        reason = error.strerror or type(error).__name__
        return _ERRNO_KINDS.get(error.errno or 0, "unavailable"), reason
    number = getattr(error, "sqlite_errorcode", None)
    primary = number & _PRIMARY_CODE if isinstance(number, int) else -1
    return _SQLITE_KINDS.get(primary, "unavailable"), str(error)


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    row = connection.execute(f"PRAGMA {name}").fetchone()
    return int(row[0])
