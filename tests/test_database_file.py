"""SQLite files of ours: whose they are, and many that open one at once."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from toolplan.storage.database_file import (
    DatabaseFile,
    ForeignFile,
    ForgettableConnection,
    NewerFile,
    fault_of,
    transaction,
)

KIND = DatabaseFile(77, ("CREATE TABLE a (n); CREATE TABLE b (n);", "CREATE TABLE c (n);"), 5.0)


def tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}


def test_a_new_file_is_made_at_the_newest_version_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    with closing(KIND.connect(path)) as connection:
        assert tables(connection) == {"a", "b", "c"}
    assert path.stat().st_mode & 0o077 == 0


def test_an_older_file_is_brought_up(tmp_path: Path) -> None:
    older = DatabaseFile(77, KIND.migrations[:1], 1.0)
    older.connect(tmp_path / "file").close()
    with closing(KIND.connect(tmp_path / "file")) as connection:
        assert tables(connection) == {"a", "b", "c"}
    with pytest.raises(NewerFile):
        older.connect(tmp_path / "file")


def test_what_is_not_ours_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (n)")
    before = path.read_bytes()
    with pytest.raises(ForeignFile):
        KIND.connect(path)
    assert path.read_bytes() == before
    with pytest.raises(ForeignFile):
        DatabaseFile(78, KIND.migrations, 1.0).connect(path)


def test_a_fault_has_its_kind(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"nothing" * 1000)
    with pytest.raises(sqlite3.DatabaseError) as caught:
        KIND.connect(tmp_path / "file")
    assert fault_of(caught.value)[0] == "damaged"
    assert fault_of(PermissionError(13, "no"))[0] == "read-only"


def test_many_may_open_a_new_file_at_once(tmp_path: Path) -> None:
    def open_and_write(path: Path) -> None:
        with closing(KIND.connect(path)) as connection, transaction(connection):
            connection.execute("INSERT INTO a VALUES (1)")

    with ThreadPoolExecutor(4) as pool:
        for at in range(40):
            path = tmp_path / f"file{at}"
            for done in [pool.submit(open_and_write, path) for _ in range(4)]:
                done.result()
            with closing(KIND.connect(path)) as connection:
                assert connection.execute("SELECT count(*) FROM a").fetchone() == (4,)


def test_a_connection_that_is_forgotten_is_closed(tmp_path: Path) -> None:
    """Python 3.13 warns of one that is forgotten open, and here warnings are errors."""
    connection = KIND.connect(tmp_path / "file")
    assert isinstance(connection, ForgettableConnection)
    connection.__del__()  # as garbage collection does, at a known moment
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")
    never_opened = ForgettableConnection.__new__(ForgettableConnection)
    never_opened.__del__()
