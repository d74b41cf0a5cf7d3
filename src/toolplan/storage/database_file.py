"""SQLite files of toolplan: their versions, migrations and faults.

The journal, memory, the plan cache and learned schemas each have a file. They are opened here, in
the same way.
"""

from __future__ import annotations

import errno
import sqlite3
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Literal, TypeAlias, TypeVar

from msgspec import Struct

from toolplan.base.errors import ToolplanError

FaultKind: TypeAlias = Literal["locked", "full", "read-only", "damaged", "unavailable"]
"""Why a file cannot be used."""

_T = TypeVar("_T")

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
_CREATION_S: Final = 0.5
_PAUSE_S: Final = 0.05
_PRIMARY_CODE: Final = 0xFF  # SQLite's extended codes say more in their higher bytes


class ForeignFile(Exception):
    """The file is a database of another program or kind."""


class NewerFile(Exception):
    """A newer program wrote the file: it has `version`, the newest here is `known`."""

    def __init__(self, version: int, known: int) -> None:
        super().__init__(f"it has version {version}; this program knows {known}")
        self.version = version
        self.known = known


class ForgettableConnection(sqlite3.Connection):
    """A connection that closes when it is garbage-collected.

    The owner of a plan cache or a memory may be a planner, which its user does not close. From
    Python 3.13 a connection that is collected open gives a warning.
    """

    def __del__(self) -> None:
        """Close the connection, if it was opened."""
        with suppress(sqlite3.Error):
            self.close()


class DatabaseFile(Struct, frozen=True):
    """A kind of file: its id in the header, and the statements that make it."""

    application_id: int
    migrations: Sequence[str]  # each from the version before, counted from 1
    busy_s: float  # how long to wait for a lock
    erases: bool = False  # whether deleted rows are overwritten
    patience_s: float = 0.0  # how long opening tries again while the file is locked

    def connect(self, path: Path | None) -> sqlite3.Connection:
        """Open the file at `path` at the newest version; create it if it does not exist.

        Only its owner can read it. None opens a database in memory.

        Raises:
            ForeignFile, NewerFile: it is not such a file, or a newer program wrote it.
            sqlite3.Error, OSError: it cannot be opened.
        """
        if path is not None and not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.touch(mode=0o600)
        return patiently(lambda: self._connect(path), self.patience_s)

    def _connect(self, path: Path | None) -> sqlite3.Connection:
        connection = sqlite3.connect(
            ":memory:" if path is None else path,
            timeout=self.busy_s,
            isolation_level=None,
            check_same_thread=False,
            factory=ForgettableConnection,
        )
        try:
            with _snapshot(connection):
                self._version(connection)  # a foreign file is not changed
            # readers do not block then; SQLite does not wait for this lock itself
            wal = "PRAGMA journal_mode = WAL"
            patiently(lambda: connection.execute(wal), self.busy_s, _RETRY_S)
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
            # another process may have migrated it meanwhile: read the version again under the lock
            for number in range(self._version(connection), newest):
                for statement in self.migrations[number].split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number + 1}")
            connection.execute(f"PRAGMA application_id = {self.application_id}")

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


def patiently(work: Callable[[], _T], patience_s: float, pause_s: float = _PAUSE_S) -> _T:
    """Return what `work` returns; try again for `patience_s` seconds while a file is locked."""
    until = time.monotonic() + patience_s
    while True:
        try:
            return work()
        except sqlite3.OperationalError as error:
            if fault_of(error)[0] != "locked" or time.monotonic() >= until:
                raise
        time.sleep(pause_s)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """Commit all of the block or nothing; the write lock is taken at the start."""
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
    """Read everything in the block from one state of the file."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def is_empty(path: Path) -> bool:
    """Return whether there is a file at `path` with nothing in it.

    A file that another process is just creating is empty for a moment, which is waited for.
    """
    try:
        end = time.monotonic() + _CREATION_S
        while path.stat().st_size == 0:
            if time.monotonic() >= end:
                return True
            time.sleep(_RETRY_S)
    except OSError:
        pass  # there is none, or opening it says what is wrong
    return False


def fault_of(error: sqlite3.Error | OSError) -> tuple[FaultKind, str]:
    """Return the kind of `error`, and what the system said."""
    if isinstance(error, OSError):
        reason = error.strerror or type(error).__name__
        return _ERRNO_KINDS.get(error.errno or 0, "unavailable"), reason
    number = getattr(error, "sqlite_errorcode", None)
    primary = number & _PRIMARY_CODE if isinstance(number, int) else -1
    return _SQLITE_KINDS.get(primary, "unavailable"), str(error)


class Store(Struct, frozen=True):
    """A file whose faults are errors of its own, with codes as `journal-full`."""

    name: str  # its name in messages
    file: DatabaseFile
    error: type[ToolplanError]
    help: Mapping[FaultKind, str]  # what the user can do; NAME stands for the file's name

    def connect(self, path: Path | None) -> sqlite3.Connection:
        """Open the file at `path`, as `DatabaseFile.connect` does, with errors of this store."""
        place = None if path is None else path.absolute()
        try:
            return self.file.connect(path)
        except (sqlite3.Error, OSError) as error:
            raise self._error(*fault_of(error), str(place)) from None
        except ForeignFile:
            reason = "it is a database of something else"
            raise self._error("damaged", reason, str(place)) from None
        except NewerFile as newer:
            message = f"The {self.name} {place} cannot be used: {newer}."
            help_ = "Use the newer toolplan that wrote it."
            raise self.error(f"{self.name}-newer", message, help_) from None

    def fault(self, error: sqlite3.Error | OSError, path: Path | None) -> ToolplanError:
        """Return `error`, raised while the file at `path` was used, as an error of this store."""
        return self.error_of(*fault_of(error), path)

    def error_of(self, kind: FaultKind, reason: str, path: Path | None) -> ToolplanError:
        """Return the error of a fault of `kind`; `reason` is a clause."""
        return self._error(kind, reason, "(in memory)" if path is None else path.name)

    def _error(self, kind: FaultKind, reason: str, place: str) -> ToolplanError:
        message = f"The {self.name} {place} cannot be used: {reason}."
        help_ = self.help[kind].replace("NAME", Path(place).name)
        return self.error(f"{self.name}-{kind}", message, help_)


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    row = connection.execute(f"PRAGMA {name}").fetchone()
    return int(row[0])
