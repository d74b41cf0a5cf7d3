"""Runs that are killed, stopped and starved of disk, with real processes and real signals."""

import asyncio
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.crash.chains import Calls, chain, tools
from tests.crash.stream import GIVEN, NEXT, WHOLE
from tests.stores import Files, Stores
from toolplan import ExecutionPlan, Toolbox, approve
from toolplan.engine import Decided, resume, run
from toolplan.events import Run, RunState
from toolplan.plan.path import Json
from toolplan.storage.journal import Journal, JournalError, LeaseLost, Slot

ROOT = Path(__file__).parents[2]


Killed: TypeAlias = subprocess.CompletedProcess[str]


def python(code: str, *words: str) -> Killed:
    # the harness forks, which a process with threads such as the test runner's must not
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


def kills(stores: Stores, count: int, *, before: str = "", **options: bool) -> Killed:
    """Have runs killed in a process of its own, after the code `before`; the labels are printed."""
    words = "".join(f", {name}={value}" for name, value in options.items())
    return python(
        f"import sys\n{before}\nfrom tests.crash.__main__ import kill\n"
        f"found = kill({count}, 1, quiet=True, place=sys.argv[1]{words})\n"
        "print(*found.elements(), sep='\\n')",
        stores.place,
    )


def test_killed_runs_lose_nothing_and_repeat_no_effect(stores: Stores) -> None:
    count = 60 if isinstance(stores, Files) else 20
    done = kills(stores, count)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= count


def test_runs_that_are_killed_while_their_plan_is_written_leave_no_traces(stores: Stores) -> None:
    done = kills(stores, 25, streams=True)
    assert done.returncode == 0, done.stderr
    labels = set(done.stdout.splitlines())
    assert {NEXT, GIVEN, WHOLE, "accept: before"} <= labels
    assert any(label.startswith("approval: ") for label in labels)
    assert any(label.startswith("call: ") for label in labels)


def test_calls_that_are_approved_with_their_values_survive_kills_at_every_stage(
    stores: Stores,
) -> None:
    count = 20 if isinstance(stores, Files) else 8
    done = kills(stores, count, values=True)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= count


@pytest.mark.parametrize(
    ("sabotage", "breach"),
    [
        # an engine that does not let calls wait
        (
            "_staged.Stage.lets = _staged.Stage.agrees = lambda self, call: True",
            "that nobody has approved|refused call was made",
        ),
        # one that takes a refusal for an approval
        (
            "from msgspec.structs import replace\n"
            "whole = _staged.Stage._note\n"
            "_staged.Stage._note = lambda self, given: whole(self, replace(given, allowed=True))",
            "refused call was made",
        ),
        # one that makes calls before their approval is on disk
        (
            "from toolplan.engine import _recorder\n"
            "async def no_sync(self): pass\n"
            "_recorder.EventRecorder.synced = no_sync",
            "before its approval was on disk|times",
        ),
    ],
)
def test_an_engine_that_asks_wrongly_is_found_out(
    sabotage: str, breach: str, stores: Stores
) -> None:
    before = f"from toolplan.engine import _staged\n{sabotage}"
    done = kills(stores, 200, before=before, values=True)
    assert "Breach: seed" in done.stderr
    assert re.search(breach, done.stderr)


@pytest.mark.parametrize(
    ("sabotage", "breach"),
    [
        # an engine that forgets that it was about to do something does it again
        (
            "from toolplan.engine import _runs\n"
            "whole = _runs.recover\n"
            "_runs.recover = lambda events: replace(whole(events), intents={})",
            "times",
        ),
        # one that forgets what is over
        (
            "from toolplan.engine import _runs\n"
            "whole = _runs.recover\n"
            "_runs.recover = lambda events: replace(whole(events), over={}, items={})",
            "called again",
        ),
        # one that makes calls before their intent is on disk
        (
            "from toolplan.engine import _recorder\n"
            "async def no_sync(self): pass\n"
            "_recorder.EventRecorder.synced = no_sync",
            "times",
        ),
    ],
)
def test_an_engine_that_is_wrong_is_found_out(sabotage: str, breach: str, stores: Stores) -> None:
    done = kills(stores, 400, before=f"from msgspec.structs import replace\n{sabotage}")
    assert "Breach: seed" in done.stderr
    assert breach in done.stderr


@pytest.mark.parametrize(
    ("sabotage", "breach"),
    [
        # an engine that does not hold effects back
        (
            "from toolplan.engine import _effects, _steps\n"
            "whole = _steps.Scheduler.admit\n"
            "_steps.Scheduler.admit = lambda self, steps, needs, hold_effects=False: "
            "whole(self, steps, needs)\n"
            "_effects.EffectCalls.take = lambda self, slot: None",
            "before the plan was whole",
        ),
        # one that takes every tool for one that only reads
        (
            "from toolplan.schema.tool import Tool\n"
            "Tool.has_effects = property(lambda self: False)",
            # by where the first kill meets it
            r"is not in the journal|was called \d+ times",
        ),
        # one that does not have the run accepted
        (
            "from toolplan.engine import _recorder\n"
            "async def later(self, run, digest, record): pass\n"
            "_recorder.EventRecorder.accept = later",
            "is not in the journal",
        ),
    ],
)
def test_an_engine_that_streams_wrongly_is_found_out(
    sabotage: str, breach: str, stores: Stores
) -> None:
    done = kills(stores, 100, before=sabotage, streams=True)
    assert "Breach: seed" in done.stderr
    assert re.search(breach, done.stderr)


def test_a_process_that_hung_and_wakes_up_after_another_took_over_changes_nothing(
    stores: Stores, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger"
    code = """
import asyncio, sys
from pathlib import Path
from tests.crash import chains
from toolplan.policy.approval import approve
from toolplan.engine import run
from toolplan.storage.journal import Journal
from toolplan_workers.journal import SharedJournal
class Ledger(list):
    def append(self, x):
        with Path(sys.argv[2]).open("a") as file:
            file.write(f"{x}\\n")
box = chains.tools(Ledger(), pause_s=0.1)
plan = chains.chain(box, 20)
kind = SharedJournal if "://" in sys.argv[1] else Journal
journal = kind(sys.argv[1], lease_s=0.6)
asyncio.run(run(plan, box, journal=journal, approval=approve(plan), run_id="r",
                journal_timeout_s=1))
"""
    hung = subprocess.Popen(
        [sys.executable, "-c", code, stores.place, str(ledger)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 60
    while not (ledger.exists() and len(ledger.read_text().split()) >= 3):
        assert time.monotonic() < end
        time.sleep(0.01)
    hung.send_signal(signal.SIGSTOP)
    before = ledger.read_text().split()
    time.sleep(0.8)

    calls: list[Json] = []
    box = tools(calls)
    plan = chain(box, 20)
    journal = stores.open(lease_s=0.6)
    done = asyncio.run(resume(plan, box, "r", journal=journal))
    assert done.status is RunState.IN_DOUBT  # the call that was under way
    hung.send_signal(signal.SIGCONT)
    _, said = hung.communicate(timeout=60)
    assert "LeaseLost" in said
    # it may make no call that it had not begun
    assert ledger.read_text().split() == before
    assert [int(x) for x in before] == list(range(len(before)))
    assert calls == []


async def ended(
    journal: Journal, plan: ExecutionPlan, box: Toolbox, timeout_s: float = 30.0
) -> Run:
    return await run(
        plan, box, journal=journal, approval=approve(plan), run_id="r", journal_timeout_s=timeout_s
    )


def test_a_run_continues_by_itself_when_another_program_releases_the_file(tmp_path: Path) -> None:
    calls = Calls()
    box = tools(calls)
    plan = chain(box, 5)
    journal = Journal(tmp_path / "runs.sqlite")
    other = sqlite3.connect(tmp_path / "runs.sqlite", isolation_level=None)

    async def test() -> Run:
        going = asyncio.ensure_future(ended(journal, plan, box, timeout_s=60))
        await calls.third.wait()
        other.execute("BEGIN IMMEDIATE")
        await asyncio.sleep(0.2)
        seen = len(calls)
        await asyncio.sleep(0.2)
        assert len(calls) == seen < 5  # nothing is done that cannot be kept
        other.execute("ROLLBACK")
        return await going

    assert asyncio.run(test()).status is RunState.SUCCEEDED
    assert calls == [0, 1, 2, 3, 4]
    assert journal.load("r").status is RunState.SUCCEEDED
    journal.close()
    other.close()


@pytest.mark.parametrize(
    ("trouble", "remedy", "code"),
    [
        ("PRAGMA max_page_count = 1", "PRAGMA max_page_count = 100000000", "journal-full"),
        ("PRAGMA query_only = ON", "PRAGMA query_only = OFF", "journal-read-only"),
    ],
)
def test_a_disk_that_is_full_or_read_only_is_named_and_the_run_can_be_resumed(
    tmp_path: Path, trouble: str, remedy: str, code: str
) -> None:
    calls = Calls()
    box = tools(calls)
    plan = chain(box, 8)

    class Starved(Journal):
        def pragma(self, text: str) -> None:
            self._driver.connection.execute(text)

    journal = Starved(tmp_path / "runs.sqlite")

    async def starve() -> None:
        going = asyncio.ensure_future(ended(journal, plan, box, timeout_s=0.2))
        await calls.third.wait()
        journal.pragma(trouble)
        await going

    with pytest.raises(JournalError) as caught:
        asyncio.run(starve())
    assert caught.value.code == code
    assert not isinstance(caught.value, LeaseLost)
    made = len(calls)
    assert calls == list(range(made))
    journal.pragma(remedy)
    decisions: dict[Slot, Decided] = {}
    resumed = asyncio.run(resume(plan, box, "r", journal=journal))
    if resumed.status is RunState.IN_DOUBT:  # what was under way when the disk failed
        assert len(calls) == made
        decisions[f"s{made - 1}", None] = Decided("resolve", {"x": made - 1, "text": ""})
        resumed = asyncio.run(resume(plan, box, "r", journal=journal, decisions=decisions))
    assert resumed.status is RunState.SUCCEEDED
    assert calls == list(range(8))
    journal.close()


def test_a_journal_that_refuses_a_new_run_lets_no_call_be_made(tmp_path: Path) -> None:
    calls: list[Json] = []
    box = tools(calls)
    plan = chain(box, 2)
    journal = Journal(tmp_path / "runs.sqlite")
    journal.close()
    with pytest.raises(JournalError):
        asyncio.run(ended(journal, plan, box))
    assert calls == []
    assert os.path.exists(tmp_path / "runs.sqlite")
