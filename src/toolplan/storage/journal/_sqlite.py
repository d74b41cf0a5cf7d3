"""The journal in a file of SQLite, with a folder beside it for large records."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar, cast

from toolplan.storage import shared_file
from toolplan.storage.database_file import is_empty, patiently, transaction
from toolplan.storage.journal import _counter, _statements
from toolplan.storage.journal._blobs import Blobs
from toolplan.storage.journal._database import PATIENCE_S, STORE
from toolplan.storage.journal._driver import Driver
from toolplan.storage.journal._errors import JournalError
from toolplan.storage.journal._leases import LEASE_S, Held, Lease, Leases
from toolplan.storage.journal._reading import Query, Row, run_damaged
from toolplan.storage.journal._rows import KEPT_DURATIONS, Group
from toolplan.storage.journal._store import Store
from toolplan.storage.journal._worker import Worker, WriterThread

_T = TypeVar("_T")

_LOOK_S: Final = 0.05
"""How often the file is looked at by who waits for events."""

_SQL: Final = _statements.Statements(
    _statements.LeaseColumns(
        names="lease_until, boot, beat",
        new="0, ?, ?",
        renewed="boot = ?, beat = ?",
        held="boot, beat",
    )
)


class Journal(Store):
    """The events of runs in one SQLite file, large ones in a folder beside it."""

    _driver: FileDriver

    def __init__(
        self,
        path: Path | str,
        *,
        clock: Callable[[], float] = time.time,
        owner: str = "",
        lease_s: float = LEASE_S,
        worker: Worker | None = None,
        age_clock: Callable[[], float] | None = None,
        boot: str | None = None,
    ) -> None:
        """Open the journal at `path`; create it if it does not exist.

        `clock` returns seconds since the epoch, and `owner` names this process. Leases are measured
        with `age_clock`, in seconds since some moment; `boot` names it, and is equal in all
        processes that see the same clock.

        Raises:
            JournalError: the file cannot be opened.
        """
        self.path = Path(path)
        driver = FileDriver(self.path, Leases(owner, lease_s, age_clock, boot))
        super().__init__(driver, clock, WriterThread() if worker is None else worker)


class FileDriver(Driver):
    """An open file. `notes` say that it was empty, or is older than it was."""

    def __init__(self, path: Path, leases: Leases) -> None:
        self.path = path
        self.sql = _SQL
        self.claims = self._leases = leases
        self.owner = leases.owner
        self._locks = FileLocks(path)
        self.blobs = Blobs(path.with_name(path.name + "-blobs"))
        self._lock = threading.Lock()
        was_empty = is_empty(path)
        self._counter = _counter.Counter(self.blobs.folder)
        self.connection = STORE.connect(path)
        self.connection.text_factory = _text
        self._counter.compare(self.connection)
        self._notes = (
            *((f"The journal {path} was an empty file; it begins anew.",) * was_empty),
            *self._counter.notes(path),
        )

    @property
    def place(self) -> str:
        return str(self.path)

    @property
    def locks(self) -> FileLocks:
        return self._locks

    @property
    def notes(self) -> tuple[str, ...]:
        return self._notes

    def close(self) -> None:
        with self._lock:
            self.connection.close()

    def do(self, work: Callable[[Query], _T], *, sync: bool = True, is_one: bool = False) -> _T:
        with self._written(sync=sync) as connection:
            return work(lambda query, values: connection.execute(query, values).fetchall())

    def read(self, query: str, values: Row, run: str = "") -> list[Row]:
        def read() -> list[Row]:
            with self._lock:
                return self.connection.execute(query, values).fetchall()

        try:
            return patiently(read, PATIENCE_S)
        except sqlite3.Error as error:
            fault = STORE.fault(error, self.path)
            if run and fault.code == "journal-damaged":
                raise run_damaged(run, str(error)) from None
            raise fault from None

    def damage(self) -> str:
        """Return what is wrong with the file; empty if nothing is."""
        found = str(self.read("PRAGMA quick_check(1)", ())[0][0])
        return self._counter.shortfall if found == "ok" else found

    def change(self, query: Query, statement: str, values: Row, group: Group) -> bool:
        is_changed = bool(query(statement, values))
        if is_changed and group.size:
            query("INSERT INTO events VALUES (?, ?, ?, ?)", group.row)
        return is_changed

    def prepare_blobs(self, group: Group) -> None:
        """Write large records before the transaction: a disk may stop, a transaction not."""
        try:
            for text in group.large.values():
                with suppress(FileNotFoundError):  # another process pruned: it is written again
                    self.blobs.write(text)
        except OSError as error:
            raise STORE.fault(error, self.path) from None

    def add_blobs(self, query: Query, group: Group) -> None:
        for text in group.large.values():
            self.blobs.write(text)

    def blob(self, name: str) -> str:
        return self.blobs.read(name)

    def lease_values(self, beat: float) -> Row:
        return self._leases.boot, beat

    def check_free(self, run: str, held: Row, watched: tuple[int, float] | None) -> str:
        return self._leases.check_free(run, _held(held), watched)

    def is_free(self, held: Row) -> bool:
        return self._leases.is_free(_held(held))

    def take_free(self, run: str, beat: float) -> Lease | None:
        """Return None: a transaction that looks costs no more.

        Raises:
            JournalError: the journal is older than it was.
        """
        if self._counter.is_behind:
            raise _counter.went_back(self.path, self.blobs.folder)

    def release(self, lease: Lease) -> None:
        """Release a lease."""
        values = (lease.run, lease.token, self.owner)
        self.do(lambda query: query(_statements.RELEASE, values), sync=False)

    def keep_durations(self, run: str, at: float, seconds: Iterable[tuple[str, float]]) -> None:
        """Keep durations of calls, and remove the oldest of their tools."""
        rows = [(tool, at, each) for tool, each in seconds]
        with self._written(sync=False) as connection:
            connection.executemany("INSERT INTO durations VALUES (?, ?, ?)", rows)
            connection.executemany(
                "DELETE FROM durations WHERE tool = ? AND rowid NOT IN (SELECT rowid FROM "
                "durations WHERE tool = ? ORDER BY rowid DESC LIMIT ?)",
                [(tool, tool, KEPT_DURATIONS) for tool in {row[0] for row in rows}],
            )

    def durations(self, tool: str) -> list[float]:
        query = "SELECT seconds FROM durations WHERE tool = ? ORDER BY rowid DESC"
        return [float(cast("float", seconds)) for (seconds,) in self.read(query, (tool,))]

    def notify(self, run: str) -> None:
        """Do nothing: who waits looks at the file."""

    def wait(self, run: str, has_more: Callable[[], bool], timeout_s: float) -> None:
        until = time.monotonic() + timeout_s
        while not has_more() and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _LOOK_S))

    @contextmanager
    def _written(self, *, sync: bool) -> Generator[sqlite3.Connection]:
        with self._lock:
            connection = self.connection
            try:
                connection.execute(f"PRAGMA synchronous = {'FULL' if sync else 'NORMAL'}")
                with transaction(connection):
                    yield connection
                    count = self._counter.add_to(connection) if sync else None
                if count is not None:
                    self._counter.keep(count)
            except (sqlite3.Error, OSError) as error:
                raise STORE.fault(error, self.path) from None


class FileLocks:
    """Each name is the lock of a file beside the journal's, which ends with its process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held: dict[str, Callable[[], None]] = {}

    def hold(self, name: str) -> bool:
        """Hold `name`, unless it is held already, here or elsewhere; return whether that worked.

        Raises:
            JournalError: the file cannot be made.
        """
        try:
            release = shared_file.try_lock(self._path.with_name(f"{self._path.name}-{name}"))
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise JournalError(
                "journal-unavailable", f"The journal {self._path} cannot be locked: {reason}."
            ) from None
        if release is not None:
            self._held[name] = release
        return release is not None

    def release(self, name: str) -> None:
        """Release `name`."""
        release = self._held.pop(name, None)
        if release is not None:
            release()


def _held(columns: Row) -> Held:
    return Held(*cast("tuple[str, int, str, float]", columns))


def _text(value: bytes) -> str:
    """Return text of the file; a checksum shows what was damaged."""
    return value.decode(errors="replace")
