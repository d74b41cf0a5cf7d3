"""The journal in a file of SQLite, with a folder beside it for large records."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final, TypeVar, cast

from toolplan.storage import shared_file
from toolplan.storage.database_file import is_empty, patiently, transaction
from toolplan.storage.journal._database import (
    COUNT,
    PATIENCE_S,
    STORE,
    Counter,
    went_back,
    write_count,
)
from toolplan.storage.journal.blobs import Blobs
from toolplan.storage.journal.driver import RELEASE, Driver, Statements
from toolplan.storage.journal.errors import JournalError
from toolplan.storage.journal.leases import LEASE_S, Held, Lease, Leases
from toolplan.storage.journal.reading import Query, Row, named_blobs, run_damaged
from toolplan.storage.journal.records import BLOB, KEPT_DURATIONS, Group
from toolplan.storage.journal.store import Pruning, Store
from toolplan.storage.journal.worker import Worker, WriterThread

_T = TypeVar("_T")

_LOOK_S: Final = 0.05
"""How often the file is looked at by who waits for events."""

_SQL: Final = Statements(
    names="lease_until, boot, beat", new="0, ?, ?", renewed="boot = ?, beat = ?", held="boot, beat"
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

    def prune(self, *, older_than_s: float, keep: int, apply: bool = False) -> Pruning:
        """Remove older runs that are over."""
        path, blobs = self.path, self._driver.blobs
        before = _size(path, blobs)
        with _opened(path) as connection:
            values = (self._clock() - older_than_s, keep)
            if not apply:
                names = _names(connection, values)
            else:
                with transaction(connection):
                    names = _names(connection, values)
                    rows = [(name,) for name in names]
                    connection.executemany("DELETE FROM events WHERE run = ?", rows)
                    connection.executemany("DELETE FROM runs WHERE run = ?", rows)
                # Another process writes a blob again that it is about to refer to. After a crash
                # before this, the next pruning deletes them.
                with transaction(connection):
                    blobs.sweep(named_blobs(connection.execute(_WITH_BLOBS, (BLOB,))))
                with suppress(sqlite3.OperationalError):  # in use: the next pruning shrinks it
                    connection.execute("VACUUM")
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            kept = int(connection.execute("SELECT count(*) FROM runs").fetchone()[0])
        if not apply:
            return Pruning(names, kept - len(names), before, before)
        return Pruning(names, kept, before, _size(path, blobs))


class FileDriver(Driver):
    """An open file. `notes` say that it was empty, or is older than it was."""

    def __init__(self, path: Path, leases: Leases) -> None:
        self.path = path
        self.sql = _SQL
        self.claims = self._leases = leases
        self.owner = leases.owner
        self.place = str(path)
        self.locks = FileLocks(path)
        self.blobs = _blobs_of(path)
        self._lock = threading.Lock()
        was_empty = is_empty(path)
        self._counter = Counter(self.blobs.folder)
        self.connection = STORE.connect(path)
        # a checksum shows what was damaged
        self.connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        self._counter.compare(self.connection)
        self.notes = (
            *((f"The journal {path} was an empty file; it begins anew.",) * was_empty),
            *self._counter.notes(path),
        )

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
        if self._counter.missing:
            raise went_back(self.path, self.blobs.folder)

    def release(self, lease: Lease) -> None:
        """Release a lease."""
        values = (lease.run, lease.token, self.owner)
        self.do(lambda query: query(RELEASE, values), sync=False)

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


_PRUNABLE: Final = """
    SELECT run, owner, token, boot, beat FROM runs
    WHERE status IN ('succeeded', 'failed', 'cancelled') AND created_at < ?
    AND run NOT IN (SELECT run FROM runs ORDER BY created_at DESC, run LIMIT ?)
    ORDER BY created_at, run
"""
_WITH_BLOBS: Final = "SELECT event FROM events WHERE instr(event, ?)"
_PAGES: Final = 1_000


def backup(path: Path, copy: Path) -> None:
    """Copy the journal at `path`, which may be in use, to `copy`, and its blobs beside that.

    Raises:
        JournalError: the journal cannot be read, or the copy exists or cannot be written.
    """
    blobs, copied = _blobs_of(path), _blobs_of(copy)
    for place in (copy, copied.folder):
        if place.exists():
            raise JournalError("copy-exists", f"{place} exists already.", "Name another file.")
    partial = copy.with_name(f"{copy.name}.part")
    try:
        partial.touch(mode=0o600)
        with _opened(path) as connection, closing(sqlite3.connect(partial)) as target:
            connection.backup(target, pages=_PAGES)
            target.execute("PRAGMA journal_mode = DELETE")  # one file, and nothing beside it
            copied.folder.mkdir(mode=0o700)
            for name in sorted(named_blobs(target.execute(_WITH_BLOBS, (BLOB,)))):
                shutil.copyfile(blobs.folder / name, copied.folder / name)
            write_count(copied.folder, int(target.execute(COUNT).fetchone()[0]))
        partial.replace(copy)
    except (OSError, sqlite3.Error) as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
            shutil.rmtree(copied.folder, ignore_errors=True)
        reason = getattr(error, "strerror", None) or str(error)
        raise JournalError(
            "unwritable-file", f"The copy {copy} cannot be written: {reason}.", "Name another file."
        ) from None


@contextmanager
def _opened(path: Path) -> Generator[sqlite3.Connection]:
    with closing(STORE.connect(path)) as connection:
        try:
            yield connection
        except sqlite3.Error as error:
            raise STORE.fault(error, path) from None


def _names(connection: sqlite3.Connection, values: tuple[object, ...]) -> tuple[str, ...]:
    leases = Leases("", LEASE_S, None, None)
    rows = connection.execute(_PRUNABLE, values)
    return tuple(str(run) for run, *held in rows if leases.is_free(Held(*held)))


def _blobs_of(path: Path) -> Blobs:
    return Blobs(path.with_name(f"{path.name}-blobs"))


def _size(path: Path, blobs: Blobs) -> int:
    files = [path, path.with_name(f"{path.name}-wal")]
    files += blobs.folder.iterdir() if blobs.folder.is_dir() else ()
    return sum(file.stat().st_size for file in files if file.exists())
