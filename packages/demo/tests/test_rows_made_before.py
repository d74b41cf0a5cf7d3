"""The demo's rows that were made before are read from their file, which is never written."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from toolplan_demo import cache
from toolplan_demo.database import Database

DAY = datetime.date(2026, 3, 4)
QUERY = "SELECT id, status FROM shipments ORDER BY id LIMIT 3"


def opened() -> Database:
    return Database(lambda: DAY, 200, 7)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the rows of `opened`."""
    monkeypatch.setenv("TOOLPLAN_CACHE", str(tmp_path))
    opened().rows(QUERY)
    (made,) = tmp_path.iterdir()
    return made


def test_rows_that_were_made_before_are_the_same_and_the_file_stays_as_it_is(file: Path) -> None:
    before = file.read_bytes()
    again = opened()
    assert again.count("SELECT count(*) FROM shipments") > 100
    first, *others = again.rows(QUERY)
    again.execute("UPDATE shipments SET status = 'lost' WHERE id = ?", (str(first["id"]),))
    assert again.rows(QUERY) == [{**first, "status": "lost"}, *others]
    assert file.read_bytes() == before
    assert opened().rows(QUERY) == [first, *others]


def test_a_folder_with_signs_of_addresses_in_its_name_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a b?c#d%20"
    monkeypatch.setenv("TOOLPLAN_CACHE", str(folder))
    rows = opened().rows(QUERY)
    assert opened().rows(QUERY) == rows


def test_a_few_bytes_are_no_database(file: Path) -> None:
    rows, content = opened().rows(QUERY), file.read_bytes()
    file.write_bytes(bytes(4))
    assert opened().rows(QUERY) == rows
    assert file.read_bytes() == content


def test_rows_are_made_where_the_file_is_removed_meanwhile(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, find = opened().rows(QUERY), cache.find

    def removed(key: str) -> Path | None:
        found = find(key)
        if found is not None:
            found.unlink()
        return found

    monkeypatch.setattr(cache, "find", removed)
    assert opened().rows(QUERY) == rows
