"""A journal that is locked for a while is waited for, by every write, read and opening."""

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.crash.chains import chain, tools
from toolplan.engine import resume, run
from toolplan.events import RunState
from toolplan.plan.path import Json
from toolplan.policy.approval import approve
from toolplan.storage.journal import Journal, JournalError, Lease

ROOT = Path(__file__).parents[2]
HELD_S = 2.5
"""Longer than SQLite waits by itself."""


@contextmanager
def held(path: Path, statement: str = "BEGIN EXCLUSIVE") -> Generator[None]:
    """Let another connection hold the file at `path` for a while."""
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute(statement)
    if "locking_mode" in statement:
        other.execute("CREATE TABLE IF NOT EXISTS other (x)")
    release = threading.Timer(HELD_S, other.close)
    release.start()
    try:
        yield
    finally:
        release.join()


LOCKS = ["BEGIN EXCLUSIVE", "PRAGMA locking_mode = EXCLUSIVE"]


@pytest.mark.parametrize("statement", LOCKS)
def test_opening_reading_and_writing_wait(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "runs.sqlite"
    box = tools([])
    plan = chain(box, 2)
    Journal(path).close()
    with held(path, statement), closing(Journal(path)) as journal:
        assert journal.runs() == []
        running = run(plan, box, journal=journal, approval=approve(plan), run_id="r")
        assert asyncio.run(running).status is RunState.SUCCEEDED
    with closing(Journal(path)) as journal, held(path):
        again = asyncio.run(resume(plan, box, "r", journal=journal))
        assert again.status is RunState.SUCCEEDED


def test_an_interrupt_does_not_wait_for_a_locked_journal_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    box = tools([])
    plan = chain(box, 2)
    with closing(Journal(path)) as journal, held(path):
        running = run(
            plan, box, journal=journal, approval=approve(plan), run_id="r", journal_timeout_s=0.1
        )
        before = time.monotonic()
        with pytest.raises(JournalError, match="locked"):
            asyncio.run(running)
        assert time.monotonic() - before < HELD_S + 1


NOT_KEPT = "The end of run r could not be kept in the journal: It is locked."
NOT_RELEASED = "The lease of run r could not be released, and will expire: It is locked."


@pytest.mark.parametrize(
    ("name", "timeout_s", "said"),
    [
        ("append", 0.2, NOT_KEPT), ("keep_durations", 0.2, NOT_KEPT), ("release", 0.2, NOT_KEPT),
        ("keep_durations", 3600.0, NOT_RELEASED), ("release", 3600.0, NOT_RELEASED),
    ],
)  # fmt: skip
def test_the_result_of_a_run_is_reported_although_its_end_is_not_kept(
    tmp_path: Path, name: str, timeout_s: float, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[Json] = []
    box = tools(calls)
    plan = chain(box, 3)

    class Failing(Journal):
        def _fail(self, of: str) -> None:
            if of == name and len(calls) == 3 and self.is_ending:
                raise JournalError("journal-locked", "It is locked.")

        is_ending = False

        def append(self, lease: Lease, texts: Sequence[str], at: int, **how: Any) -> None:
            """Fail at the last records."""
            self.is_ending = self.is_ending or any("run-ended" in text for text in texts)
            self._fail("append")
            super().append(lease, texts, at, **how)

        def keep_durations(self, run: str, seconds: Iterable[tuple[str, float]]) -> None:
            """Fail."""
            self._fail("keep_durations")
            super().keep_durations(run, seconds)

        def release(self, lease: Lease) -> None:
            """Fail."""
            self._fail("release")
            super().release(lease)

    with closing(Failing(tmp_path / "runs.sqlite")) as journal:
        running = run(
            plan,
            box,
            journal=journal,
            approval=approve(plan),
            run_id="r",
            journal_timeout_s=timeout_s,
        )
        done = asyncio.run(running)
        kept = journal.entry("r").status
    assert done.status is RunState.SUCCEEDED
    assert said in caplog.text
    assert (kept is RunState.SUCCEEDED) == (name != "append")


@pytest.mark.timeout(120)
def test_twenty_commands_at_once_all_end_well(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text('{"toolplan": 1, "steps": [{"id": "a", "tool": "good", "args": {"n": 7}}]}')
    words = ["run", str(plan), "--tools", "tests.doubles.hanging:TOOLS", "--json"]
    started = [
        subprocess.Popen(
            [sys.executable, "-c", "from toolplan.cli._commands import main; main()", *words],
            cwd=ROOT,
            env={**os.environ, "TOOLPLAN_HOME": str(tmp_path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(20)
    ]
    ended = [(process.communicate(), process.returncode) for process in started]
    assert [(code, err) for (_, err), code in ended if code] == []
    assert all('"succeeded"' in out for (out, _), _ in ended)
