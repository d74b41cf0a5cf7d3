"""What a terminal shows of a resumed run: the whole run, not only the rest of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.calls import Call

TOOLS = """
import os, signal
from toolplan import Effects, Toolbox, tool


@tool(effects=Effects.READ)
def people() -> list[str]:
    return ["ann", "bob", "cyd", "dan"]


@tool(effects=Effects.WRITE)
def send(to: str) -> str:
    # the intent of this call is on disk, and with it all that happened before
    if to == os.environ.get("DIE_AT"):
        os.kill(os.getpid(), signal.SIGKILL)
    return to


@tool(effects=Effects.READ)
def tidy() -> str:
    return "tidied"


TOOLS = Toolbox([people, send, tidy])
"""
PLAN = {
    "toolplan": 1,
    "steps": [
        {"id": "p", "tool": "people"},
        {"id": "s", "tool": "send", "for_each": "${p}", "max_items": 9, "args": {"to": "${item}"}},
        {"id": "t", "tool": "tidy", "after": ["s"]},
    ],
}


@pytest.fixture
def run(tools_folder: Callable[..., Path], call: Call) -> str:
    """The name of a run that died at the third of four mails."""
    folder = tools_folder("mail_tools", TOOLS, PLAN)
    words = ["run", str(folder / "plan.json"), "--tools", "mail_tools:TOOLS", "--yes"]
    died = subprocess.run(
        [sys.executable, "-m", "toolplan", *words, "--concurrency", "1"],
        env={**os.environ, "DIE_AT": "cyd"},
        capture_output=True,
    )
    assert died.returncode == -signal.SIGKILL
    (kept,) = call("runs", "--json").json["runs"]
    return str(kept["run"])


@pytest.fixture
def terminal(run: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The run, with what goes to standard error shown as on a terminal."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    return run


def table(shown: str) -> list[str]:
    """Return the words of each line of the table that stays on the terminal; none is no table."""
    # a view begins with hiding the cursor, and ends with showing it
    _, _, view = shown.partition("\x1b[?25l")
    last = view.partition("\x1b[?25h")[0].split("\x1b[2K")[-1]
    for style in ("\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[1;2m"):
        last = last.replace(style, "")
    return [" ".join(line.split()) for line in last.splitlines() if line.strip()]


def test_what_was_done_before_a_run_was_killed_counts_in_its_table(
    terminal: str, call: Call
) -> None:
    people, send, *_, tidy, counts = table(call("resume", terminal).err)
    assert people.startswith("✓ p people succeeded")
    assert send.startswith("? s send in doubt 3/4")
    assert tidy == "· t tidy pending"
    assert counts == "in doubt: 1 pending, 1 succeeded, 1 in doubt"


def test_a_run_in_doubt_that_is_decided_about_ends_in_a_table_of_the_whole(
    terminal: str, call: Call
) -> None:
    assert call("resume", terminal).code == 1
    said = call("resume", terminal, "--resolve", 's:2="cyd"')
    people, send, tidy, counts = table(said.err)
    assert people.startswith("✓ p people succeeded")
    assert send.startswith("✓ s send succeeded 4/4")
    assert tidy.startswith("✓ t tidy succeeded")
    assert counts == "succeeded: 3 succeeded"
    assert "tidied" in said.out
    assert "tidied" not in said.err


def test_where_nothing_more_happens_there_is_no_table(terminal: str, call: Call) -> None:
    wrong = call("resume", terminal, "--resolve", "s:3=1")
    assert "error[cannot-run]" in wrong.err
    assert table(wrong.err) == []

    assert call("resume", terminal, "--resolve", 's:2="cyd"').code == 0
    again = call("resume", terminal, code=0)
    assert "tidied" in again.out
    assert again.err == ""


def test_elsewhere_what_happened_before_is_not_shown_again(run: str, call: Call) -> None:
    lines = call("resume", run, "--resolve", 's:2="cyd"').err.splitlines()
    assert lines[:3] == ["s[2]: decided: resolve", "run: resumed", "s: started, 4 items"]
    assert not [line for line in lines if line.startswith("p:")]
    assert call("resume", run).err == ""


def test_the_answer_of_ask_stays_on_standard_output_beside_a_table(
    terminal: str, call: Call
) -> None:
    del terminal
    said = call("ask", "Get contaminated shipments from last week", "--today", "2025-10-12")
    assert said.code == 0
    assert table(said.err)
    assert "shipments were found" in said.out
    assert "shipments were found" not in said.err
