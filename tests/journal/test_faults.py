"""Journals that cannot be used: the message names the place, and the help is one that works."""

import sqlite3
from pathlib import Path

import pytest

from toolplan.storage.journal import Journal, JournalError


def opened(path: Path) -> JournalError:
    with pytest.raises(JournalError) as caught:
        Journal(path)
    return caught.value


def test_a_damaged_journal_is_named_with_its_folder_and_both_remedies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.sqlite"
    path.write_bytes(b"this is no database" * 100)
    error = opened(path)
    assert error.code == "journal-damaged"
    assert f"The journal {path} cannot be used: " in str(error)
    assert "from a copy" in (error.help or "")
    assert "mine.sqlite-blobs" in (error.help or "")
    assert "the runs in it are lost" in (error.help or "")
    monkeypatch.chdir(tmp_path)
    assert str(path) in str(opened(Path("mine.sqlite")))  # the whole path, however it was named


def test_a_folder_in_its_place_is_reported_without_a_run_to_resume(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    path.mkdir()
    error = opened(path)
    assert error.code == "journal-unavailable"
    assert str(path) in str(error)
    assert "resume the run" not in (error.help or "")
    assert "try again" in (error.help or "")


@pytest.mark.parametrize(("version", "code"), [(0, "journal-damaged"), (99, "journal-newer")])
def test_a_journal_of_something_else_or_of_a_newer_program_is_named_with_its_folder(
    tmp_path: Path, version: int, code: str
) -> None:
    path = tmp_path / "runs.sqlite"
    connection = sqlite3.connect(path)
    if version:
        connection.execute("PRAGMA application_id = 0x74706A6C")
        connection.execute(f"PRAGMA user_version = {version}")
    connection.execute("CREATE TABLE other (x)")
    connection.commit()
    connection.close()
    error = opened(path)
    assert error.code == code
    assert str(path) in str(error)


@pytest.mark.parametrize("held", [sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL])
def test_a_journal_that_is_held_or_full_has_help_for_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    def fails(*_: object, **__: object) -> sqlite3.Connection:
        error = sqlite3.OperationalError("no")
        error.sqlite_errorcode = held
        raise error

    monkeypatch.setattr(sqlite3, "connect", fails)
    error = opened(tmp_path / "runs.sqlite")
    assert error.code in ("journal-locked", "journal-full")
    assert "resume the run" not in (error.help or "")
    assert "try again" in (error.help or "")
