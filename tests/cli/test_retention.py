"""`toolplan runs --prune` and `--backup`, and what a command says about an odd journal."""

import json
import stat
from pathlib import Path

import pytest

from tests.cli.calls import Call

QUESTION = "Get facilities in Berlin"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "a new home"
    monkeypatch.setenv("TOOLPLAN_HOME", str(folder))
    return folder


def test_pruning_is_dry_until_it_is_confirmed(home: Path, call: Call) -> None:
    for _ in range(3):
        assert call("ask", QUESTION).code == 0
    said = call("runs", "--prune", "--keep", "1", code=0)
    assert "2 runs would be removed, 1 kept" in said.out
    assert "--yes removes them" in said.out
    assert len(call("runs", "--json").json["runs"]) == 3
    assert "0 runs would be removed, 3 kept" in call("runs", "--prune").out
    done = call("runs", "--prune", "--keep", "1", "--apply", "--json").json
    assert len(done["runs"]) == 2
    assert done["removed"] is True
    assert len(call("runs", "--json").json["runs"]) == 1


def test_the_settings_say_what_may_be_pruned(home: Path, call: Call) -> None:
    for _ in range(3):
        call("ask", QUESTION)
    (home / "toolplan.toml").write_text("[retention]\nkeep = 2\n", "utf-8")
    assert "1 run would be removed" in call("runs", "--prune").out
    assert "2 runs would be removed" in call("runs", "--prune", "--keep", "1").out
    (home / "toolplan.toml").write_text('[retention]\nolder_than = "1d"\n', "utf-8")
    assert "0 runs would be removed" in call("runs", "--prune").out
    for text in ('older_than = "1 year"', "keep = -1", "keep = true", "kept = 3", "keep = '3'"):
        (home / "toolplan.toml").write_text(f"[retention]\n{text}\n", "utf-8")
        said = call("runs", "--prune", code=2)
        assert "[retention] cannot be used" in said.err
        assert "older_than = " in said.err


@pytest.mark.parametrize(
    "words",
    [
        ("--older-than", "30d"),
        ("--keep", "3"),
        ("--yes",),
        ("--prune", "--older-than", "30"),
        ("--prune", "--older-than", "-1d"),
        ("--prune", "--older-than", "30d\n"),
        ("--prune", "--keep", "-1"),
        ("--prune", "--backup", "copy"),
    ],
)
def test_nonsensical_options_are_refused(home: Path, call: Call, words: tuple[str, ...]) -> None:
    call("ask", QUESTION)
    assert call("runs", *words).code == 2
    assert len(call("runs", "--json").json["runs"]) == 1


def test_without_a_journal_there_is_nothing_to_prune_or_copy(home: Path, call: Call) -> None:
    assert call("runs", "--prune").code == 2
    assert call("runs", "--backup", str(home / "copy")).code == 2
    assert not home.exists()


def test_a_backup_is_a_whole_home(
    home: Path, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call("ask", QUESTION)
    other = tmp_path / "other"
    other.mkdir()
    assert call("runs", "--backup", str(other / "runs.sqlite")).code == 0
    again = call("runs", "--backup", str(other / "runs.sqlite"), code=2)
    assert "exists already" in again.err
    listed = call("runs", "--json").json["runs"]
    monkeypatch.setenv("TOOLPLAN_HOME", str(other))
    assert call("runs", "--json").json["runs"] == listed
    assert call("show", listed[0]["run"]).err == ""


def test_a_journal_that_went_back_says_so_and_resumes_nothing(home: Path, call: Call) -> None:
    call("ask", QUESTION)
    call("runs", "--backup", str(home / "older"))
    run = call("runs", "--json").json["runs"][0]["run"]
    call("ask", QUESTION)
    for name in ("runs.sqlite-wal", "runs.sqlite-shm"):
        (home / name).unlink(missing_ok=True)
    (home / "older").replace(home / "runs.sqlite")
    for words in (("runs",), ("show", run), ("ask", QUESTION)):
        said = call(*words, code=0)
        assert "is older than it was" in said.err
        assert "latest" in said.err
    said = call("resume", run)
    assert said.code != 0


def test_a_home_is_for_its_owner_alone(home: Path, call: Call) -> None:
    """D18: the journal has results of tools in it."""
    call("ask", QUESTION, "--conversation", "c")
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    for path in home.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_an_empty_journal_is_reported(home: Path, call: Call) -> None:
    home.mkdir()
    (home / "runs.sqlite").touch()
    assert "was an empty file" in call("ask", QUESTION).err
    assert "was an empty file" not in call("runs").err
    assert json.loads(call("runs", "--json").out)["runs"]
