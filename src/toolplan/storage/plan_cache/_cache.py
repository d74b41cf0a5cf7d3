"""Drafts that worked, by key and by shape: bounded, ageing, and shared between processes."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Final, TypeVar

from toolplan.path import Json
from toolplan.storage.database_file import transaction
from toolplan.storage.plan_cache._database import Unusable, connect, fault

DEFAULT_SIZE: Final = 100
DEFAULT_TTL_S: Final = 3600.0
MOST_ALIKE: Final = 8
"""How many entries of one shape are looked at: the latest of them."""

_Given = TypeVar("_Given")


@dataclass(frozen=True, slots=True)
class Entry:
    """A draft that worked, with the question that it was made for. Frozen, so nobody shares it.

    Attributes:
        key: what finds it for the same question.
        scope: what must be the same for any question that it may serve: tools, planner, policy.
        shape: what it has in common with questions that differ only in wording or in values;
            empty where it serves its own question only.
        question: as it was asked.
        today: the day of asking, ISO 8601.
        text: the draft's.
        dialect: the draft's.
        planner: who wrote it, where that is known.
    """

    key: str
    scope: str
    shape: str
    question: str
    today: str
    text: str
    dialect: str
    planner: str = ""


@dataclass(frozen=True, slots=True)
class CacheStats:
    """How full the cache is, and what it was good for.

    Attributes:
        size: entries in the file that are not too old.
        max_size: the most that are kept.
        utilization_percent: `size` of `max_size`, 0 to 100.
        hits: questions for which this object had a plan, `template_hits` among them.
        misses: questions for which it had none.
        template_hits: hits by a plan that was made for other words.
        evictions: entries that this object pushed out to make room.
    """

    size: int
    max_size: int
    utilization_percent: float
    hits: int
    misses: int
    template_hits: int
    evictions: int

    def to_json(self) -> dict[str, Json]:
        """Return the wire form."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


_BY_KEY: Final = """
SELECT key, scope, shape, question, today, text, dialect, planner FROM entries
WHERE key = ? AND created_at > ?
"""
_BY_SHAPE: Final = """
SELECT key, scope, shape, question, today, text, dialect, planner FROM entries
WHERE scope = ? AND shape = ? AND created_at > ? ORDER BY used DESC LIMIT ?
"""
_KEEP: Final = """
INSERT OR REPLACE INTO entries
(key, scope, shape, question, today, text, dialect, planner, created_at, used)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(used), 0) + 1 FROM entries))
"""
_TOUCH: Final = """
UPDATE entries SET used = (SELECT coalesce(max(used), 0) + 1 FROM entries) WHERE key = ?
"""
_MAKE_ROOM: Final = """
DELETE FROM entries WHERE key IN (SELECT key FROM entries ORDER BY used DESC LIMIT -1 OFFSET ?)
"""


class PlanCache:
    """Keeps drafts in an SQLite file that several processes may share.

    Nothing here ever fails for the one who asks: a file that is locked, damaged, full or only to be
    read means that nothing is found or kept, and `note` says why. The least recently used entry
    goes first; an entry older than `ttl_s` is not given. All methods may be called from any thread
    and wait at most a quarter of a second for another process's lock.
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
        """Say where entries are kept; the file is opened when it is first needed.

        Args:
            path: the file, made where there is none; None keeps entries in memory.
            max_size: the most entries, 1 or more.
            ttl_s: how old an entry may be, in seconds; with 0 none is ever given.
            clock: seconds since the epoch.
            on_note: told once of each different reason why the file could not be used.

        Raises:
            ValueError: a bound is out of its range.
        """
        if max_size < 1 or not ttl_s >= 0:
            raise ValueError("A plan cache needs room for an entry, and an age from 0.")
        self.max_size = max_size
        self.ttl_s = ttl_s
        self.note: str | None = None
        self._path = None if path is None else Path(path)
        self._clock = clock
        self._on_note = on_note
        self._connection: sqlite3.Connection | None = None
        self._unusable = False
        self._told: set[str] = set()
        self._lock = threading.Lock()
        self._hits = self._misses = self._template_hits = self._evictions = 0

    def get(self, key: str) -> Entry | None:
        """Return the entry with `key`, and count it as a hit, or None, counted as a miss."""
        with self._lock:
            found = self._try(lambda connection: self._find(connection, key), None)
            if found is None:
                self._misses += 1
                return None
            self._hits += 1
            self._try(lambda connection: _touch(connection, key), None)
            return found

    def alike(self, scope: str, shape: str) -> tuple[Entry, ...]:
        """Return the latest entries of `scope` that have `shape`, at most 8; nothing is counted."""
        if not shape:
            return ()
        with self._lock:
            return self._try(lambda connection: self._alike(connection, scope, shape), ())

    def count_template(self, entry: Entry) -> None:
        """Note that the question last asked for, a miss so far, was served by way of `entry`."""
        with self._lock:
            self._misses -= 1
            self._hits += 1
            self._template_hits += 1
            self._try(lambda connection: _touch(connection, entry.key), None)

    def put(self, entry: Entry) -> None:
        """Keep `entry`, in place of one with its key; the least recently used make room."""
        with self._lock:
            self._evictions += self._try(lambda connection: self._put(connection, entry), 0)

    def delete(self, key: str) -> None:
        """Forget the entry with `key`, if there is one."""

        def forget(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM entries WHERE key = ?", (key,))

        with self._lock:
            self._try(forget, None)

    def clear(self) -> None:
        """Forget all entries, and all that was counted."""

        def forget(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM entries")

        with self._lock:
            self._try(forget, None)
            self._hits = self._misses = self._template_hits = self._evictions = 0

    def stats(self) -> CacheStats:
        """Say how full the cache is, and how often it had a plan since this object was made."""
        with self._lock:
            size = self._try(self._size, 0)
            return CacheStats(
                size=size,
                max_size=self.max_size,
                utilization_percent=round(100 * size / self.max_size, 1),
                hits=self._hits,
                misses=self._misses,
                template_hits=self._template_hits,
                evictions=self._evictions,
            )

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _try(self, work: Callable[[sqlite3.Connection], _Given], otherwise: _Given) -> _Given:
        if self._unusable:
            return otherwise
        try:
            if self._connection is None:
                self._connection = connect(self._path)
            return work(self._connection)
        except Unusable as error:
            self._unusable = True
            self._report(fault(error))
        except (sqlite3.Error, OSError) as error:
            self._report(fault(error))
        return otherwise

    def _report(self, reason: str) -> None:
        name = "in memory" if self._path is None else self._path.name
        self.note = f"The plan cache {name} was not used: {reason}."
        if self._on_note is not None and reason not in self._told:
            self._told.add(reason)
            self._on_note(self.note)

    def _oldest(self) -> float:
        return self._clock() - self.ttl_s

    def _find(self, connection: sqlite3.Connection, key: str) -> Entry | None:
        row = connection.execute(_BY_KEY, (key, self._oldest())).fetchone()
        return None if row is None else Entry(*row)

    def _alike(self, connection: sqlite3.Connection, scope: str, shape: str) -> tuple[Entry, ...]:
        rows: Sequence[tuple[str, ...]] = connection.execute(
            _BY_SHAPE, (scope, shape, self._oldest(), MOST_ALIKE)
        ).fetchall()
        return tuple(Entry(*row) for row in rows)

    def _put(self, connection: sqlite3.Connection, entry: Entry) -> int:
        with transaction(connection):
            connection.execute("DELETE FROM entries WHERE created_at <= ?", (self._oldest(),))
            connection.execute(_KEEP, (*astuple(entry), self._clock()))
            return connection.execute(_MAKE_ROOM, (self.max_size,)).rowcount

    def _size(self, connection: sqlite3.Connection) -> int:
        row = connection.execute(
            "SELECT count(*) FROM entries WHERE created_at > ?", (self._oldest(),)
        ).fetchone()
        return int(row[0])


def _touch(connection: sqlite3.Connection, key: str) -> None:
    connection.execute(_TOUCH, (key,))
