"""The plan cache as storage: bounds, age, sharing, and files that cannot be used."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from toolplan.storage.plan_cache import APPLICATION_ID, CacheStats, Entry, PlanCache

ENTRY = Entry("k", "rejected shipments", "2025-10-12", "{}", "toolplan")


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def entry(key: str, **changes: str) -> Entry:
    return replace(ENTRY, key=key, **changes)


def keys_of(cache: PlanCache, *asked: str) -> list[str]:
    return [key for key in asked if cache.get(key) is not None]


def test_what_is_kept_is_given_for_its_key() -> None:
    """F003-18: a hit gives the plan. C-17: no aliasing (only what is immutable has a hash)."""
    cache = PlanCache()
    cache.put(ENTRY)
    assert {cache.get("k"), cache.get("k")} == {ENTRY}
    assert cache.get("other") is None


def test_an_entry_that_is_too_old_is_not_given() -> None:
    """F003-18: expiry."""
    clock = Clock()
    cache = PlanCache(ttl_s=60, clock=clock)
    cache.put(ENTRY)
    clock.now += 59
    assert cache.get("k") is not None
    clock.now += 1
    assert cache.get("k") is None
    assert cache.stats().size == 0
    never = PlanCache(ttl_s=0)
    never.put(ENTRY)
    assert never.get("k") is None


def test_three_questions_in_a_cache_for_two_leave_two() -> None:
    """F003-19: size, maximum and utilization."""
    cache = PlanCache(max_size=2)
    for key in ("a", "b", "c"):
        cache.put(entry(key))
    cache.get("c")
    cache.get("none")
    assert cache.stats() == CacheStats(
        size=2, max_size=2, utilization_percent=100.0, hits=1, misses=1, evictions=1
    )
    assert cache.stats().to_json()["utilization_percent"] == 100.0


def test_keeping_again_replaces_and_pushes_nothing_out() -> None:
    cache = PlanCache(max_size=2)
    cache.put(entry("a"))
    cache.put(entry("b"))
    cache.put(entry("a", text="new"))
    found = cache.get("a")
    assert found is not None
    assert found.text == "new"
    assert cache.stats().size == 2
    assert cache.stats().evictions == 0


def test_what_expired_makes_room_before_what_is_fresh() -> None:
    clock = Clock()
    cache = PlanCache(max_size=2, ttl_s=60, clock=clock)
    cache.put(entry("old"))
    clock.now += 60
    cache.put(entry("a"))
    cache.put(entry("b"))
    assert keys_of(cache, "a", "b") == ["a", "b"]
    assert cache.stats().evictions == 0


def test_entries_can_be_deleted_and_clearing_forgets_the_counts_too() -> None:
    cache = PlanCache()
    cache.put(entry("a"))
    cache.put(entry("b"))
    cache.delete("a")
    cache.delete("never there")
    assert keys_of(cache, "a", "b") == ["b"]
    cache.clear()
    stats = cache.stats()
    assert (stats.size, stats.hits, stats.misses) == (0, 0, 0)


@pytest.mark.parametrize(("size", "ttl"), [(0, 1.0), (1, -1.0), (1, float("nan"))])
def test_a_cache_without_room_or_with_a_nonsensical_age_is_refused(size: int, ttl: float) -> None:
    with pytest.raises(ValueError, match="at least"):
        PlanCache(max_size=size, ttl_s=ttl)


def test_a_file_outlives_the_object_that_made_it(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "plans.db"
    first = PlanCache(path)
    first.put(ENTRY)
    first.close()
    assert PlanCache(path).get("k") == ENTRY
    assert first.get("k") == ENTRY  # opened again
    assert path.stat().st_mode & 0o077 == 0


def test_what_was_used_least_recently_makes_room_for_all_who_share_a_file(tmp_path: Path) -> None:
    """C-17: least recently used, not first in."""
    one, other = (PlanCache(tmp_path / "plans.db", max_size=2) for _ in range(2))
    one.put(entry("a"))
    other.put(entry("b"))
    assert one.get("a") is not None
    other.put(entry("c"))
    assert keys_of(one, "a", "b", "c") == ["a", "c"]
    assert (one.stats().evictions, other.stats().evictions) == (0, 1)


_WRITER = """
import sys
from toolplan.storage.plan_cache import Entry, PlanCache
cache = PlanCache(sys.argv[1], max_size=20)
for at in range(30):
    key = f"{sys.argv[2]}-{at}"
    cache.put(Entry(key, "q", "2025-10-12", "{}", "toolplan"))
    cache.get(key)
"""


def test_several_processes_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "plans.db"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(path), str(at)], stderr=subprocess.PIPE, text=True
        )
        for at in range(3)
    ]
    for writer in writers:
        _, said = writer.communicate(timeout=50)
        assert (writer.returncode, said) == (0, "")
    cache = PlanCache(path, max_size=20)
    assert 0 < cache.stats().size <= 20
    assert cache.note is None
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_threads_share_an_object() -> None:
    cache = PlanCache(max_size=50)

    def work(name: str) -> None:
        for at in range(40):
            cache.put(entry(f"{name}{at}"))
            cache.get(f"{name}{at}")

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, "abc"))
    stats = cache.stats()
    assert stats.size == 50
    assert stats.hits + stats.misses == 120
    assert stats.evictions == 70


def _change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def _make_newer(path: Path) -> None:
    PlanCache(path).put(ENTRY)
    _change(path, "PRAGMA user_version = 99")


def _make_foreign(path: Path) -> None:
    _change(path, "CREATE TABLE entries (theirs TEXT)")


@pytest.mark.parametrize(
    ("make", "place", "note"),
    [
        (partial(Path.write_bytes, data=b"no database at all" * 100), ".", "damaged"),
        (partial(Path.write_bytes, data=b"SQLite format 3\x00" + b"x" * 999), ".", "damaged"),
        (_make_foreign, ".", "another program"),
        (_make_newer, ".", "version 99"),
        (Path.mkdir, ".", "was not used"),
        (Path.touch, "below", "was not used"),
    ],
)
def test_a_file_that_cannot_be_used_is_a_miss_and_a_note_and_left_alone(
    tmp_path: Path, make: Callable[[Path], object], place: str, note: str
) -> None:
    path = tmp_path / "plans.db"
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    cache = PlanCache(path / place)
    cache.put(ENTRY)
    assert cache.get("k") is None
    cache.delete("k")
    cache.clear()
    assert cache.stats().size == 0
    cache.close()
    assert note in (cache.note or "")
    assert "was not used" in (cache.note or "")
    assert path.is_dir() or path.read_bytes() == before


def test_a_file_damaged_while_it_is_used_is_a_miss_and_a_note(tmp_path: Path) -> None:
    path = tmp_path / "plans.db"
    first = PlanCache(path)
    for at in range(200):
        first.put(entry(str(at), text="x" * 500))
    first.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    cache = PlanCache(path)
    assert cache.get("5") is None
    cache.put(ENTRY)
    assert cache.note is not None
    assert "damaged" in cache.note


_OLD = """
CREATE TABLE entries (
    key TEXT PRIMARY KEY, scope TEXT NOT NULL, shape TEXT NOT NULL, question TEXT NOT NULL,
    today TEXT NOT NULL, text TEXT NOT NULL, dialect TEXT NOT NULL, created_at REAL NOT NULL,
    used INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX entries_by_shape ON entries (scope, shape, used);
CREATE INDEX entries_by_use ON entries (used);
INSERT INTO entries
VALUES ('k', 'tools', 'form', 'rejected shipments', '2025-10-12', '{}', 'toolplan', 900, 1);
"""
_WITH_PLANNERS = "ALTER TABLE entries ADD COLUMN planner TEXT NOT NULL DEFAULT ''"


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_file_is_migrated_with_its_entries(tmp_path: Path, version: int) -> None:
    path = tmp_path / "plans.db"
    statements = [*_OLD.split(";"), *[_WITH_PLANNERS] * (version == 2)]
    pragmas = [f"PRAGMA user_version = {version}", f"PRAGMA application_id = {APPLICATION_ID}"]
    _change(path, *statements, *pragmas)
    cache = PlanCache(path, clock=Clock())
    assert cache.get("k") == ENTRY
    cache.put(entry("more", planner="llm"))
    assert cache.get("more") == entry("more", planner="llm")
    assert cache.note is None


def test_a_file_that_others_write_is_not_written_and_still_read(tmp_path: Path) -> None:
    path = tmp_path / "plans.db"
    notes: list[str] = []
    cache = PlanCache(path, on_note=notes.append)
    cache.put(ENTRY)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    cache.put(entry("while locked"))
    cache.put(entry("while still locked"))
    assert cache.get("k") == ENTRY
    holder.execute("ROLLBACK")
    holder.close()
    assert notes == ["The plan cache plans.db was not used: another program holds its lock."]
    cache.put(entry("afterwards"))
    assert keys_of(cache, "k", "while locked", "afterwards") == ["k", "afterwards"]


def test_a_locked_file_is_a_miss_until_it_is_free(tmp_path: Path) -> None:
    path = tmp_path / "plans.db"
    first = PlanCache(path)
    first.put(ENTRY)
    first.close()
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    cache = PlanCache(path)
    assert cache.get("k") is None
    assert cache.note == "The plan cache plans.db was not used: another program holds its lock."
    holder.execute("ROLLBACK")
    holder.close()
    assert cache.get("k") == ENTRY


def test_a_file_that_may_only_be_read_is_a_note_at_most(tmp_path: Path) -> None:
    """The file system may let the owner, or root, write all the same: SQLite opens it read-only."""
    path = tmp_path / "plans.db"
    PlanCache(path).put(ENTRY)
    cache = ReadOnlyCache(path)
    assert cache.get("k") == ENTRY
    cache.put(entry("more"))
    assert cache.note == "The plan cache plans.db was not used: it is read-only."
    assert cache.get("more") is None


class ReadOnlyCache(PlanCache):
    """A cache whose connection is not allowed to write."""

    def get(self, key: str) -> Entry | None:
        found = super().get(key)
        if self._connection is not None:
            self._connection.execute("PRAGMA query_only = ON")
        return found
