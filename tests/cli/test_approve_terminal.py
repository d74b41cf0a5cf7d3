"""Approval by a person at a terminal: what they see, and what counts as their answer."""

import asyncio
import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.test_approve import TOOLS
from tests.named_tools import load_tools
from toolplan import ExecutionPlan, Journal, compile_plan, run

LAST = "the last word"
PLAN = {
    "toolplan": 1,
    "steps": [{"id": "s", "tool": "send", "args": {"to": "p\u0430y " * 600 + LAST}}],
}
QUESTION = "Run it? [y/N]"
_PATIENCE = 120


class Terminal:
    """A command at a terminal of 80 columns."""

    def __init__(self, words: Sequence[str], folder: Path, stderr: int | None = None) -> None:
        self.shown = ""
        self.main, side = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "toolplan", *words],
            stdin=side,
            stdout=side,
            stderr=side if stderr is None else stderr,
            cwd=folder,
            env={
                **os.environ, "TERM": "dumb", "COLUMNS": "80", "LINES": "24", "PAGER": "cat",
                "PYTHONPATH": str(folder), "TOOLPLAN_HOME": str(folder / "home"),
            },
        )  # fmt: skip
        os.close(side)

    def type(self, text: str) -> None:
        os.write(self.main, text.encode())

    def until(self, words: str, times: int = 1) -> None:
        """Read until `words` are shown, so many times."""
        end = time.monotonic() + _PATIENCE
        while self.shown.count(words) < times:
            assert time.monotonic() < end, self.shown
            assert self._read(), self.shown

    def ended(self) -> int:
        """Return the exit code, having read everything."""
        while self._read():
            pass
        return self._process.wait(_PATIENCE)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self.main)

    def _read(self) -> bool:
        if not select.select([self.main], [], [], _PATIENCE)[0]:
            return False
        try:
            read = os.read(self.main, 65_536)
        except OSError:  # the command has ended
            return False
        self.shown += read.decode("utf-8", "replace")
        return bool(read)


At = Callable[..., Terminal]


@pytest.fixture
def folder(tools_folder: Callable[..., Path]) -> Path:
    return tools_folder("terminal_tools", TOOLS, PLAN)


@pytest.fixture
def plan(folder: Path) -> ExecutionPlan:
    compiled = compile_plan(json.dumps(PLAN), tools=load_tools("terminal_tools:TOOLS", folder)).plan
    assert compiled is not None
    return compiled


@pytest.fixture
def waiting(folder: Path, plan: ExecutionPlan) -> str:
    """A run that waits for an approval."""

    async def leaves(_: ExecutionPlan) -> None:
        raise ConnectionError

    tools = load_tools("terminal_tools:TOOLS", folder)
    (folder / "home").mkdir()
    journal = Journal(folder / "home" / "runs.sqlite")
    with closing(journal), pytest.raises(ConnectionError):
        asyncio.run(run(plan, tools, journal=journal, approval=leaves, run_id="w" * 8))
    return "w" * 8


@pytest.fixture
def at(folder: Path) -> Iterator[At]:
    opened: list[Terminal] = []

    def start(*words: str, stderr: int | None = None) -> Terminal:
        opened.append(Terminal([*words, "--tools", "terminal_tools:TOOLS"], folder, stderr))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


def sent(folder: Path) -> bool:
    return (folder / "ledger").exists()


def test_what_was_typed_before_the_question_is_no_answer(folder: Path, at: At) -> None:
    terminal = at("run", "plan.json")
    terminal.type("y\ny\n")
    terminal.until(QUESTION)
    assert not sent(folder)
    time.sleep(0.3)
    terminal.type("n\n")
    assert terminal.ended() == 1
    assert "was not approved" in terminal.shown
    assert not sent(folder)


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_digest_approves_only_after_its_effects_were_seen(
    folder: Path, waiting: str, plan: ExecutionPlan, at: At, more: tuple[str, ...]
) -> None:
    terminal = at("resume", waiting, "--approve", plan.digest, *more)
    terminal.until(QUESTION)
    before = terminal.shown.rpartition(QUESTION)[0]
    assert r"p\u0430y" in before
    assert LAST in before.replace('"\r\n         "', "")
    assert not sent(folder)
    terminal.type("y\n")
    assert terminal.ended() == 0
    assert sent(folder)


def test_a_run_of_a_file_asks_too_and_no_is_no(folder: Path, plan: ExecutionPlan, at: At) -> None:
    terminal = at("run", "plan.json", "--approve", plan.digest)
    terminal.until(QUESTION)
    terminal.type("n\n")
    assert terminal.ended() == 1
    assert f"not {plan.digest}" not in terminal.shown
    assert not sent(folder)


@pytest.mark.parametrize(("then", "code"), [("y", 0), ("", 1), ("no", 1)])
def test_what_is_no_answer_is_asked_again(folder: Path, at: At, then: str, code: int) -> None:
    terminal = at("run", "plan.json")
    terminal.until(QUESTION)
    terminal.type("maybe\n")
    terminal.until(QUESTION, 2)
    assert "'maybe' is not an answer." in terminal.shown
    assert not sent(folder)
    terminal.type(f"{then}\n")
    assert terminal.ended() == code
    assert sent(folder) == (code == 0)


def test_yes_is_not_asked_but_shown(
    folder: Path, waiting: str, plan: ExecutionPlan, at: At
) -> None:
    terminal = at("resume", waiting, "--approve", plan.digest, "--yes")
    assert terminal.ended() == 0
    assert "This plan changes something" in terminal.shown
    assert QUESTION not in terminal.shown
    assert sent(folder)


def test_a_digest_approves_nothing_where_the_effects_cannot_be_seen(
    folder: Path, plan: ExecutionPlan, at: At
) -> None:
    log = os.open(folder / "log", os.O_CREAT | os.O_WRONLY)
    try:
        assert at("run", "plan.json", "--approve", plan.digest, stderr=log).ended() == 1
    finally:
        os.close(log)
    assert "The effects cannot be shown" in (folder / "log").read_text()
    assert not sent(folder)
