"""Runs that are kept: listed, shown, approved, interrupted, resumed, decided about."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calls import Call

TOOLS = '''
import os, signal
from pathlib import Path
from toolplan import Effects, Toolbox, tool

LEDGER = Path(__file__).with_name("ledger")


@tool(effects=Effects.READ)
def people(team: str) -> dict:
    """Lists people."""
    return {"data": [{"mail": "ann"}, {"mail": "bob"}]}


@tool(effects=Effects.WRITE)
def send(to: str) -> dict:
    """Sends mail."""
    if to == os.environ.get("REFUSE"):
        raise ValueError("no such mailbox")
    with LEDGER.open("a") as file:
        file.write(to + "\\\\n")
    if os.environ.get("DIE"):
        os.kill(os.getpid(), signal.SIGKILL)
    return {"sent": to}


@tool
def erase(name: str) -> dict:
    """Does not say what it changes."""
    return {}


TOOLS = Toolbox([people, send, erase])
'''.replace("\\\\n", "\\n")
# A fork of this process, which has threads, could hang before it came to run anything else. Where
# the tests run in the background, Ctrl-C is ignored, by what they start as well.
ON_ITS_TERMINAL = """
import fcntl, os, signal, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
PLAN = {
    "toolplan": 1,
    "steps": [
        {"id": "p", "tool": "people", "args": {"team": "a"}},
        {
            "id": "s",
            "tool": "send",
            "for_each": "${p.data}",
            "max_items": 5,
            "args": {"to": "${item.mail}"},
        },
    ],
}

SAID = {
    "toolplan": 1,
    "steps": [
        {"id": "a", "tool": "send", "args": {"to": "ann"}},
        {"id": "b", "tool": "send", "args": {"to": "bob"}, "after": ["a"]},
    ],
}
"""Its values stand in the plan: values that tools give are asked about when they are known."""


@pytest.fixture
def folder(tools_folder: Callable[..., Path]) -> Path:
    """A folder with a plan and a module of its tools, which can be imported."""
    return tools_folder("office_tools", TOOLS, PLAN)


def words(folder: Path, *more: str) -> list[str]:
    return ["run", str(folder / "plan.json"), "--tools", "office_tools:TOOLS", *more]


def ledger(folder: Path) -> list[str]:
    path = folder / "ledger"
    return sorted(path.read_text().split()) if path.exists() else []


def killed_run(folder: Path, call: Call) -> str:
    """Run the plan in a process that dies in the middle of an effect, and give the run's name."""
    command = [sys.executable, "-m", "toolplan", *words(folder, "--yes")]
    died = subprocess.run(command, env={**os.environ, "DIE": "1"}, capture_output=True)
    assert died.returncode == -signal.SIGKILL
    (run,) = call("runs", "--json").json["runs"]
    assert (run["status"], run["is_left"]) == ("running", True)
    return str(run["run"])


def test_a_run_is_listed_and_shown(call: Call) -> None:
    assert "No run yet" in call("runs").err
    question = "Get contaminated shipments from last week"
    assert call("ask", question, "--today", "2025-10-12").code == 0
    (run,) = call("runs", "--json").json["runs"]
    assert (run["status"], run["question"], run["is_left"]) == ("succeeded", question, False)
    listed = call("runs").out
    assert run["run"][:8] in listed
    assert question in listed
    shown = call("show", run["run"][:6])
    assert f"run {run['run']}: succeeded" in shown.out
    assert "shipments_list  succeeded in" in shown.out
    assert call("show", run["run"], "--json").json["steps"]["shipments"]["state"] == "succeeded"
    again = call("resume", run["run"][:8], "--json")
    assert (again.code, again.json["status"]) == (0, "succeeded")


def test_a_list_of_runs_says_when_there_are_more(call: Call) -> None:
    for _ in range(3):
        assert call("ask", "Get contaminated shipments", "--today", "2025-10-12").code == 0
    for form in ((), ("--json",)):
        assert "There are older runs: --after " in call("runs", "--limit", "2", *form).err
        assert "older runs" not in call("runs", "--limit", "3", *form).err


def test_a_cursor_goes_through_all_runs_once(call: Call) -> None:
    for _ in range(3):
        assert call("ask", "Get contaminated shipments", "--today", "2025-10-12").code == 0
    every = call("runs", "--json").json
    assert every["next"] is None
    found: list[dict[str, Any]] = []
    after = ""
    while after is not None:
        page = call("runs", "--json", "--limit", "1", "--after", after).json
        found += page["runs"]
        after = page["next"]
    assert found == every["runs"]
    assert len({each["run"] for each in found}) == 3


@pytest.mark.parametrize("cursor", ["x", ":", "1.5", "1.5:", "nan:a", "inf:a", "a:1.5"])
def test_what_is_no_cursor_is_refused(call: Call, cursor: str) -> None:
    assert "is no cursor" in call("runs", "--after", cursor, code=2).err


def test_without_a_terminal_a_plan_with_effects_exits_1_and_names_its_digest(
    folder: Path, call: Call
) -> None:
    said = call(*words(folder), code=1)
    assert "This plan changes something: 1 step, at most 5 calls." in said.err
    assert "to <- ${item.mail}" in said.err
    details = json.loads(call(*words(folder, "--json")).err)["error"]
    assert details["digest"] in said.err
    assert [each["step"] for each in details["effects"]] == ["s"]
    assert ledger(folder) == []
    assert call("runs", "--json").json["runs"] == []

    wrong = call(*words(folder, "--approve", "0" * 64), code=1)
    assert f"not {'0' * 64}" in wrong.err
    assert ledger(folder) == []

    assert call(*words(folder, "--approve", details["digest"])).code == 0
    assert ledger(folder) == ["ann", "bob"]


@pytest.mark.parametrize(
    ("typed", "code", "sent"), [(b"y\n", 0, 2), (b"n\n", 1, 0), (b"\n", 1, 0), (b"\x03", 130, 0)]
)
def test_on_a_terminal_the_person_is_asked_once(
    folder: Path, typed: bytes, code: int, sent: int
) -> None:
    (folder / "plan.json").write_text(json.dumps(SAID))
    terminal, inside = pty.openpty()
    command = [sys.executable, "-c", ON_ITS_TERMINAL, "-m", "toolplan", *words(folder)]
    process = subprocess.Popen(
        command, stdin=inside, stdout=inside, stderr=inside, start_new_session=True
    )
    os.close(inside)
    said = b""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                part = os.read(terminal, 4096)
            except OSError:  # what Linux says where others say that the end is reached
                break
            if not part:
                break
            said += part
            if b"[y/N]" in part:
                os.write(terminal, typed)
    os.close(terminal)
    assert process.wait(30) == code
    assert said.count(b"[y/N]") == 1
    assert b"This plan changes something" in said
    assert (b"toolplan resume" in said) == (code == 130)
    assert len(ledger(folder)) == sent


def test_a_killed_run_stops_for_a_person_who_has_three_choices(folder: Path, call: Call) -> None:
    run = killed_run(folder, call)
    assert "interrupted" in call("runs").out
    before = ledger(folder)
    doubted = call("resume", run[:8], code=1)
    assert ledger(folder) == before
    shown = call("show", run)
    assert "in doubt" in shown.out
    places = [line.split()[-1] for line in doubted.err.splitlines() if "--retry" in line]
    assert len(places) == 1
    for way in ("--retry", "--resolve", "--abort"):
        assert way in doubted.err
    for said in (doubted, shown):
        for mail in before:
            assert f'send(to="{mail}")' in said.err

    steps = call("show", run, "--json").json["steps"]
    calls = [(each["tool"], each["args"]["to"]) for each in steps["s"]["calls_in_doubt"]]
    assert {("send", mail) for mail in before} <= {*calls}
    assert len(calls) == len(steps["s"]["in_doubt"])
    assert call("resume", run[:8], "--json").json["steps"]["s"]["calls_in_doubt"]
    decisions: list[str] = []
    for item in steps["s"]["in_doubt"]:
        decisions += ["--resolve", f's:{item}={{"sent": "by hand"}}']
    ended = call("resume", run[:8], "--json", *decisions)
    assert ended.json["status"] == "succeeded"
    assert {"sent": "by hand"} in ended.json["output"]["s"] or ended.code == 0


CHARGING = """
from pathlib import Path
from toolplan import Toolbox, tool

LEDGER = Path(__file__).with_name("ledger")


@tool(effects="write")
def charge(eur: int) -> dict[str, int]:
    \"\"\"Charges a card.\"\"\"
    with LEDGER.open("a") as file:
        file.write("charged ")
    return {"id": "ch_1"}


TOOLS = Toolbox([charge])
"""


@pytest.mark.parametrize("on_error", ["fail", "continue"])
def test_a_result_that_cannot_be_used_is_shown_to_the_person_who_decides(
    tools_folder: Callable[..., Path], call: Call, on_error: str
) -> None:
    step = {"id": "pay", "tool": "charge", "args": {"eur": 5}, "on_error": on_error}
    folder = tools_folder("charging_tools", CHARGING, {"toolplan": 1, "steps": [step]})
    plan = str(folder / "plan.json")
    ran = call("run", plan, "--tools", "charging_tools:TOOLS", "--yes", "--json")
    assert (ran.code, ran.json["status"]) == (1, "in_doubt")
    run = str(ran.json["run"])
    (doubt,) = ran.json["steps"]["pay"]["calls_in_doubt"]
    assert doubt["result"] == {"json": {"id": "ch_1"}}
    for said in (call("show", run), call("resume", run)):
        assert "charge(eur=5)" in said.err
        assert '{"id": "ch_1"}' in said.err
    ended = call("resume", run, "--resolve", 'pay={"id": "ch_1"}', "--json")
    assert ended.json["status"] == "succeeded"
    assert ended.json["steps"]["pay"]["output"] == {"id": "ch_1"}
    assert ledger(folder) == ["charged"]


def test_decisions_that_make_no_sense_change_nothing(folder: Path, call: Call) -> None:
    run = killed_run(folder, call)
    for decision, code in (
        (("--retry", "s:77"), "cannot-run"),
        (("--retry", "s:x"), "usage"),
        (("--resolve", "s:0"), "usage"),
        (("--resolve", "s:0={"), "usage"),
        (("--resolve", "s:0=1", "--retry", "s:0"), "usage"),
    ):
        said = call("resume", run[:8], *decision, code=2)
        assert f"error[{code}]" in said.err


def test_the_users_labels_win_over_what_a_source_says(folder: Path, home: Path, call: Call) -> None:
    assert call(*words(folder, "--effects", "send=read")).code == 0
    assert call(*words(folder, "--effects", "nothing=read")).code == 2
    assert call(*words(folder, "--effects", "send=harmless")).code == 2
    (home / "toolplan.toml").write_text('[effects]\nsend = "read"\nsome_other_tool = "write"\n')
    assert call(*words(folder)).code == 0
    (home / "toolplan.toml").write_text('[effects]\nsend = "often"\n')
    assert "error[bad-settings]" in call(*words(folder), code=2).err


def test_a_resumed_run_has_the_labels_that_it_was_started_with(folder: Path, call: Call) -> None:
    assert call(*words(folder, "--effects", "people=write", "--yes")).code == 0
    (run,) = call("runs", "--json").json["runs"]
    assert call("resume", run["run"], "--json").json["status"] == "succeeded"


def test_a_journal_that_cannot_be_written_is_exit_3(
    folder: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    blocked = folder / "a-file"
    blocked.write_text("no folder")
    monkeypatch.setenv("TOOLPLAN_HOME", str(blocked / "home"))
    assert "error[journal-unavailable]" in call(*words(folder, "--yes"), code=3).err
    assert ledger(folder) == []


def test_a_damaged_journal_is_exit_3(folder: Path, home: Path, call: Call) -> None:
    (home / "runs.sqlite").write_bytes(b"this is no database" * 100)
    assert "error[journal-damaged]" in call(*words(folder, "--yes"), code=3).err
    assert ledger(folder) == []


def test_a_dry_run_calls_nothing_and_says_what_would_go_wrong(folder: Path, call: Call) -> None:
    said = call(*words(folder, "--dry-run"), code=0)
    assert "Unchecked" in said.out  # people declares no output schema
    assert "send, write, at most 5 calls" in said.out
    assert ledger(folder) == []
    assert call("runs", "--json").json["runs"] == []

    assert call(*words(folder, "--yes")).code == 0  # its results stand in for what is not declared
    assert "no fault; no tool was called" in call(*words(folder, "--dry-run")).out
    plan = json.loads((folder / "plan.json").read_text())
    plan["steps"][1]["for_each"] = "${p.rows}"
    (folder / "plan.json").write_text(json.dumps(plan))
    risky = call(*words(folder, "--dry-run", "--json"), code=0)
    assert risky.json["faults"] == []
    (risk,) = risky.json["may_fail"]
    assert (risk["step"], risk["pointer"], risk["tools"]) == ("s", "/for_each", ["people"])
    assert "with earlier results of people, step s" in call(*words(folder, "--dry-run")).out

    plan["steps"][1]["for_each"] = [{"mail": "ann"}]
    plan["steps"][1]["args"] = {"to": "${item.nothing}"}
    (folder / "plan.json").write_text(json.dumps(plan))
    (fault,) = call(*words(folder, "--dry-run", "--json"), code=1).json["faults"]
    assert fault["step"] == "s"
    assert ledger(folder) == ["ann", "bob"]


def test_what_a_run_will_take_is_shown_when_its_tools_are_known(folder: Path, call: Call) -> None:
    assert "Expected" not in call(*words(folder, "--yes")).err
    again = call(*words(folder, "--yes"))
    assert "Expected: about" in again.err
    assert "were expected" in again.err
    shown = call("show", call("runs", "--json").json["runs"][0]["run"])
    assert "expected: about" in shown.out


def test_a_decision_about_a_run_that_is_over_is_refused(folder: Path, call: Call) -> None:
    assert call(*words(folder, "--yes")).code == 0
    run = call("runs", "--json").json["runs"][0]["run"]
    for option in (["--abort", "s:1"], ["--retry", "nosuch"], ["--resolve", "s:0=1", "--json"]):
        said = call("resume", run, *option, code=2)
        assert "There is no call in doubt for" in said.err + said.out
        assert "the run is succeeded" in said.err + said.out
    assert call("resume", run).code == 0


def test_a_run_whose_process_is_gone_is_shown_as_interrupted(folder: Path, call: Call) -> None:
    run = killed_run(folder, call)
    said = call("show", run)
    assert f"run {run}: interrupted" in said.out
    assert f"`toolplan resume {run[:8]}` resumes it" in said.err
    assert call("show", run, "--json").json["is_left"]


def test_a_run_that_is_gone_on_with_is_no_longer_listed_as_in_doubt(
    folder: Path, call: Call
) -> None:
    run = killed_run(folder, call)
    doubted = call("resume", run, "--json").json
    assert doubted["status"] == call("runs", "--json").json["runs"][0]["status"] == "in_doubt"
    command = [sys.executable, "-m", "toolplan", "resume", run, "--retry", "s:0"]
    died = subprocess.run(command, env={**os.environ, "DIE": "1"}, capture_output=True)
    assert died.returncode == -signal.SIGKILL
    (entry,) = call("runs", "--json").json["runs"]
    assert (entry["status"], entry["is_left"]) == ("running", True)
    assert "interrupted" in call("show", run).out


def test_a_failed_step_shows_which_items_did_their_work(
    folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFUSE", "bob")
    assert call(*words(folder, "--yes")).code == 1
    assert ledger(folder) == ["ann"]
    run = call("runs", "--json").json["runs"][0]["run"]
    said = call("show", run)
    assert "failed, 1 of 2 items" in said.out
    assert "s: item 0 succeeded; item 1 failed." in said.err
    assert call("show", run, "--json").json["items"] == {
        "s": [{"item": 0, "state": "succeeded"}, {"item": 1, "state": "failed"}]
    }
