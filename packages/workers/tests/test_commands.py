"""`submit`, `approve`, `cancel`, `runs` and `resume` with runs that workers take."""

import json
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from tests.cli.calls import Call
from tests.postgres import Server
from tests.workers.crew import SETTINGS, crew
from toolplan.events import RunEnded, RunStarted, RunState
from toolplan.storage.journal import RunRecord, to_record
from toolplan_workers.journal import SharedJournal

PLAN = {"toolplan": 1, "steps": [{"id": "w", "tool": "write", "args": {"x": "one"}}]}


@pytest.fixture
def url(postgres: Server, home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the address of a journal, which the commands use, with a toolbox beside it."""
    address = postgres.schema()
    monkeypatch.setenv("TOOLPLAN_JOURNAL", address)
    (home / "toolplan.toml").write_text(SETTINGS)
    return address


@pytest.fixture
def submit(call: Call, plan_file: Callable[[object], str]) -> Call:
    """Submit the plan of these tests."""
    return partial(call, "submit", plan_file(PLAN), "office")


@pytest.mark.timeout(120)
def test_a_plan_is_submitted_approved_and_run(
    url: str, home: Path, call: Call, submit: Call
) -> None:
    said = submit("--json", code=0)
    submitted = json.loads(said.out)
    run, digest = submitted["run"], submitted["approval"]["digest"]
    assert submitted["queue"].startswith("office@")
    other = call("approve", run, "0" * 64, code=1)
    assert digest in other.err
    assert f"no worker for {submitted['queue']}" in " ".join(call("runs").err.split())
    assert "This plan changes something" in call("approve", run[:12], digest, code=0).err
    with crew(url, home, 1) as hired:
        hired.wait_ready()
        waited = submit("--yes", "--wait", "--json", code=0)
        assert json.loads(waited.out)["output"] == {"w": "one"}
    assert "succeeded" in call("show", run).out


def test_a_run_without_a_worker_is_cancelled(url: str, call: Call, submit: Call) -> None:
    run = submit("--json").json["run"]
    said = call("cancel", run, code=0)
    assert f"Run {run[:8]} is cancelled." in said.err
    assert "no worker" not in call("runs").err


@pytest.mark.timeout(120)
def test_runs_without_a_worker_are_named_wherever_one_looks(
    url: str, call: Call, submit: Call, plan_file: Callable[[object], str]
) -> None:
    def said_of(*words: str) -> str:
        said = call(*words)
        return " ".join((said.out + said.err).split())

    assert "need" not in said_of("doctor")  # nothing was given to workers yet
    older, run = (submit("--yes", "--json").json["run"] for _ in range(2))
    for words in (("runs", "--limit", "1"), ("doctor",)):
        text = said_of(*words)
        assert "which 2 runs need" in text
        assert older[:8] in text
    assert call("doctor").code == 1
    shown = said_of("show", run)
    assert f"which 1 run needs: {run[:8]}. Start `toolplan worker office`" in shown
    assert "was interrupted" not in shown
    waits = submit("--json").json
    text = said_of("show", waits["run"])
    assert f"toolplan approve {waits['run'][:8]} {waits['approval']['digest']}" in text
    assert "interrupted" not in text
    queue = call("show", run, "--json").json["without_worker"]
    assert queue.startswith("office@")
    assert [each["without_worker"] for each in call("runs", "--json").json["runs"]] == [queue] * 3
    assert "There is no worker for" in said_of("submit", plan_file(PLAN), "office")
    assert "There is no worker for" in said_of("resume", run)


def test_values_are_not_asked_about_where_workers_have_the_run(
    url: str, call: Call, submit: Call
) -> None:
    run = submit("--json").json["run"]
    said = call("resume", run, "--approve-values", code=2)
    assert "workers have this run" in " ".join(said.err.split())
    said = call("resume", run, "--leave-out", "w:1", code=2)
    assert "workers have this run" in " ".join(said.err.split())
    for word in ("--allow", "--deny"):
        said = call("resume", run, word, "w")
        assert said.code != 0
        assert "No call of step 'w' waits" in " ".join(said.err.split())
    said = submit("--approve-values", "--approve", "0" * 64, code=2)


@pytest.mark.timeout(120)
def test_calls_are_allowed_with_their_values(
    url: str, home: Path, call: Call, submit: Call
) -> None:
    with crew(url, home, 1) as hired:
        hired.wait_ready()
        said = submit("--approve-values", "--wait", "--json")
        run = json.loads(said.out)["run"]
        shown = call("show", run)
        assert "one" in shown.err
        assert f"toolplan resume {run[:8]} --allow w" in " ".join(shown.err.split())
        call("resume", run, "--allow", "w", code=0)
        until = time.monotonic() + 90
        while "succeeded" not in call("show", run).out:
            assert time.monotonic() < until
            time.sleep(0.1)


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
        said = call(*words, code=2)
        assert "Did you mean 'office'?" in " ".join(said.err.split())


def test_workers_need_postgres(home: Path, call: Call, plan_file: Callable[[object], str]) -> None:
    (home / "toolplan.toml").write_text(SETTINGS)
    for words in (("submit", plan_file(PLAN), "office"), ("worker", "office")):
        said = call(*words)
        assert said.code != 0
        assert "journal-not-shared" in said.err


def test_older_runs_are_removed_from_a_database(url: str, call: Call) -> None:
    with closing(SharedJournal(url)) as journal:
        for at in range(6):
            started = RunStarted(f"r{at}", "digest", ("a",), 1.0)
            record = RunRecord({"steps": []}, [], None)
            lease = journal.accept(f"r{at}", "digest", record, [started])
            ended = to_record(RunEnded(RunState.SUCCEEDED, None, 1.0))
            journal.append(lease, [ended], lease.at, sync=True, status=RunState.SUCCEEDED)
            journal.release(lease)
        said = call("runs", "--prune", "--keep", "4", code=0)
        assert "2 runs would be removed, 4 kept" in said.out
        assert len(journal.runs()) == 6
        removed = json.loads(call("runs", "--prune", "--keep", "4", "--yes", "--json").out)
        assert len(removed["runs"]) == 2
        assert len(journal.runs()) == 4
    said = call("runs", "--backup", "copy.sqlite", code=2)
    assert "pg_dump copies it" in " ".join(said.err.split())
