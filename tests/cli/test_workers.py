"""`submit`, `approve`, `cancel`, `runs` and `resume` with runs that workers take."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.calls import Call
from tests.postgres import Server
from tests.workers.crew import SETTINGS, crew

PLAN = {"toolplan": 1, "steps": [{"id": "w", "tool": "write", "args": {"x": "one"}}]}


@pytest.fixture
def url(postgres: Server, home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the address of a journal, which the commands use, with a toolbox beside it."""
    address = postgres.schema()
    monkeypatch.setenv("TOOLPLAN_JOURNAL", address)
    (home / "toolplan.toml").write_text(SETTINGS)
    return address


@pytest.mark.timeout(120)
def test_a_plan_is_submitted_approved_and_run(
    url: str, home: Path, call: Call, plan_file: Callable[[object], str]
) -> None:
    said = call("submit", plan_file(PLAN), "office", "--json")
    assert said.code == 0, said.err
    submitted = json.loads(said.out)
    run, digest = submitted["run"], submitted["approval"]["digest"]
    assert submitted["queue"].startswith("office@")
    other = call("approve", run, "0" * 64)
    assert other.code == 1
    assert digest in other.err
    assert f"no worker for {submitted['queue']}" in " ".join(call("runs").err.split())
    approved = call("approve", run[:12], digest)
    assert approved.code == 0, approved.err
    assert "This plan changes something" in approved.err
    with crew(url, home, 1) as hired:
        hired.wait_ready()
        waited = call("submit", plan_file(PLAN), "office", "--yes", "--wait", "--json")
        assert waited.code == 0, waited.err
        assert json.loads(waited.out)["output"] == {"w": "one"}
    assert "succeeded" in call("show", run).out


def test_a_run_without_a_worker_is_cancelled(
    url: str, call: Call, plan_file: Callable[[object], str]
) -> None:
    run = json.loads(call("submit", plan_file(PLAN), "office", "--json").out)["run"]
    said = call("cancel", run)
    assert said.code == 0, said.err


@pytest.mark.parametrize("words", [("--allow", "w"), ("--deny", "w"), ("--approve-values",)])
def test_values_are_not_decided_about_where_workers_have_the_run(
    words: tuple[str, ...], url: str, call: Call, plan_file: Callable[[object], str]
) -> None:
    run = json.loads(call("submit", plan_file(PLAN), "office", "--json").out)["run"]
    said = call("resume", run, *words)
    assert said.code == 2
    assert "workers have this run" in " ".join(said.err.split())


@pytest.mark.parametrize("command", ["approve", "cancel"])
def test_a_run_that_is_not_there_is_refused(url: str, call: Call, command: str) -> None:
    more = ("0" * 64,) if command == "approve" else ()
    said = call(command, "nothing", *more)
    assert said.code != 0
    assert "unknown-run" in said.err


def test_a_toolbox_that_is_not_there_is_refused(
    url: str, call: Call, plan_file: Callable[[object], str]
) -> None:
    for words in (("submit", plan_file(PLAN), "offce"), ("worker", "offce")):
        said = call(*words)
        assert said.code == 2
        assert "Did you mean 'office'?" in " ".join(said.err.split())


def test_workers_need_a_journal_in_postgres(
    home: Path, call: Call, plan_file: Callable[[object], str]
) -> None:
    (home / "toolplan.toml").write_text(SETTINGS)
    for words in (("submit", plan_file(PLAN), "office"), ("worker", "office")):
        said = call(*words)
        assert said.code != 0
        assert "journal-not-shared" in said.err
