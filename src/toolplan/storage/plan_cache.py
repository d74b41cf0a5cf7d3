"""The plan cache: a bounded store of drafts that worked, by key, which processes may share."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import asdict, astuple

from toolplan.plan.path import Json
from toolplan.storage.database_file import (
    DatabaseFile,
    FaultKind,
    ForeignFile,
    NewerFile,
    fault_of,
    transaction,
)

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


DEFAULT_SIZE: Final = 100
DEFAULT_TTL_S: Final = 3600.0

_T = TypeVar("_T")


class Entry(Struct, frozen=True):
    """A draft that worked, and the question that it was made for."""

    key: str  # of the question and everything that the draft depends on
    question: str
    today: str  # the day of the question, ISO 8601
    text: str  # of the draft, in the dialect
    dialect: str
    planner: str = ""  # that made the draft; empty where it is not known


class CacheStats(Struct, frozen=True):
    """The entries in the file that are not expired, and how often this object had a plan."""

    size: int
    max_size: int
    utilization_percent: float
    hits: int
    misses: int
    evictions: int  # entries that were removed to make room

    def to_json(self) -> dict[str, Json]:
        """Return the wire form."""
        return asdict(self)


_BY_KEY: Final = """
SELECT key, question, today, text, dialect, planner FROM entries
WHERE key = ? AND created_at > ?
"""
_KEEP: Final = """
INSERT OR REPLACE INTO entries
(key, question, today, text, dialect, planner, created_at, used)
VALUES (?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(used), 0) + 1 FROM entries))
"""
_TOUCH: Final = """
UPDATE entries SET used = (SELECT coalesce(max(used), 0) + 1 FROM entries) WHERE key = ?
"""
_MAKE_ROOM: Final = """
DELETE FROM entries WHERE key IN (SELECT key FROM entries ORDER BY used DESC LIMIT -1 OFFSET ?)
"""
_SIZE: Final = "SELECT count(*) FROM entries WHERE created_at > ?"


class PlanCache:
    """Stores drafts in an SQLite file that several processes may share.

    No method fails because of the file: if it is locked, damaged, full or read-only, nothing is
    found or stored, and `note` says why. The least recently used entry is removed first. All
    methods may be called from any thread, and wait at most a quarter of a second for the lock of
    another process.
    """

    def __init__(
        self,
        path: Path | str | None = None,
        *,
        max_size: int = DEFAULT_SIZE,
        ttl_s: float = DEFAULT_TTL_S,
        clock: Callable[[], float] = time.time,
        on_note: Callable[[str], None] | None = None,
    ) -> None:
        """Use the file at `path`, which is opened when it is first needed; None is in memory.

        An entry expires after `ttl_s` seconds, and with 0 none is ever returned. `on_note` is
        called once for each different reason why the file could not be used.

        Raises:
            ValueError: `max_size` or `ttl_s` is out of range.
        """
        if max_size < 1 or not ttl_s >= 0:
            raise ValueError("max_size must be at least 1, and ttl_s at least 0.")
        self.max_size = max_size
        self.ttl_s = ttl_s
        self.note: str | None = None
        self._path = None if path is None else Path(path)
        self._clock = clock
        self._on_note = on_note
        self._connection: sqlite3.Connection | None = None
        self._unusable = False
        self._reported: set[str] = set()
        self._lock = threading.Lock()
        self._hits = self._misses = self._evictions = 0

    def get(self, key: str) -> Entry | None:
        """Return the entry with `key`, or None; counted as a hit or a miss."""
        with self._lock:
            rows = self._do(_BY_KEY, (key, self._clock() - self.ttl_s))
            if not rows:
                self._misses += 1
                return None
            self._hits += 1
            self._do(_TOUCH, (key,))
            return Entry(*rows[0])

    def put(self, entry: Entry) -> None:
        """Store `entry`, in place of one with its key; the least recently used are removed."""
        now = self._clock()

        def put(connection: sqlite3.Connection) -> int:
            with transaction(connection):
                old = "DELETE FROM entries WHERE created_at <= ?"
                connection.execute(old, (now - self.ttl_s,))
                connection.execute(_KEEP, (*astuple(entry), now))
                return connection.execute(_MAKE_ROOM, (self.max_size,)).rowcount

        with self._lock:
            self._evictions += self._try(put, 0)

    def delete(self, key: str) -> None:
        """Delete the entry with `key`, if there is one."""
        with self._lock:
            self._do("DELETE FROM entries WHERE key = ?", (key,))

    def clear(self) -> None:
        """Delete all entries, and reset the counts."""
        with self._lock:
            self._do("DELETE FROM entries")
            self._hits = self._misses = self._evictions = 0

    def stats(self) -> CacheStats:
        """Return the size of the cache, and the counts since this object was made."""
        with self._lock:
            rows = self._do(_SIZE, (self._clock() - self.ttl_s,))
            size = int(rows[0][0]) if rows else 0
            return CacheStats(
                size=size,
                max_size=self.max_size,
                utilization_percent=round(100 * size / self.max_size, 1),
                hits=self._hits,
                misses=self._misses,
                evictions=self._evictions,
            )

    def close(self) -> None:
        """Close the file; it is opened again when it is next needed."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _do(self, query: str, values: tuple[object, ...] = ()) -> list[Any]:
        return self._try(lambda connection: connection.execute(query, values).fetchall(), [])

    def _try(self, work: Callable[[sqlite3.Connection], _T], otherwise: _T) -> _T:
        if self._unusable:
            return otherwise
        try:
            if self._connection is None:
                self._connection = FILE.connect(self._path)
            return work(self._connection)
        except (sqlite3.Error, OSError, ForeignFile, NewerFile) as error:
            self._unusable = isinstance(error, ForeignFile | NewerFile)
            name = "in memory" if self._path is None else self._path.name
            self.note = f"The plan cache {name} was not used: {reason_of(error)}."
            if self._on_note is not None and self.note not in self._reported:
                self._reported.add(self.note)
                self._on_note(self.note)
        return otherwise
