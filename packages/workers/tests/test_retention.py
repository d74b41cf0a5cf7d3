"""Older runs are removed from a journal in Postgres."""

import time
from collections.abc import Generator
from contextlib import closing

import pytest

from tests.postgres import Server
from toolplan.events import Event, RunApproved, RunEnded, RunStarted, RunState, StepSucceeded
from toolplan.storage.journal import JournalError, RunRecord, to_record
from toolplan_workers.journal import SharedJournal
from toolplan_workers.queue.dispatch import Dispatch

DAY = 86_400.0
RECORD = RunRecord({"steps": []}, [], None)
OVER = (RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED)


@pytest.fixture
def url(postgres: Server) -> str:
    return postgres.schema()


@pytest.fixture
def dispatch(url: str) -> Generator[Dispatch]:
    """Return a journal with a run a day for ten days, r0 the oldest, each with a message."""
    days = iter(range(10))
    with closing(SharedJournal(url, clock=lambda: next(days, 99) * DAY)) as journal:
        found = Dispatch(journal)
        for day in range(10):
            keep_run(found, f"r{day}", OVER[day % 3], f"{'x' * 100_000}{day // 2}")
        yield found


def keep_run(dispatch: Dispatch, name: str, status: RunState | None, output: str) -> None:
    started = RunStarted(name, "digest", ("a",), 1.0)
    approved = RunApproved(f"approval of {name}", "digest", 1.0)
    dispatch.submit(name, "digest", RECORD, [started, approved], "q", starts=False)
    dispatch.send(name, "resume", None, "anna")
    journal = dispatch.journal
    lease = journal.take(name)
    more: list[Event] = [StepSucceeded("a", output, 1, None, 3.0)]
    if status is not None:
        more.append(RunEnded(status, None, 4.0))
    journal.append(lease, [to_record(each) for each in more], lease.at, sync=True, status=status)
    journal.release(lease)


def test_older_runs_are_removed_with_all_that_belongs_to_them(dispatch: Dispatch) -> None:
    journal = dispatch.journal
    shown = journal.prune(older_than_s=time.time() - 4.5 * DAY, keep=2)
    assert (shown.runs, shown.kept) == (("r0", "r1", "r2", "r3", "r4"), 5)
    assert len(journal.runs()) == 10
    done = journal.prune(older_than_s=time.time() - 4.5 * DAY, keep=2, apply=True)
    assert done.runs == shown.runs
    assert [each.run for each in journal.runs()] == ["r9", "r8", "r7", "r6", "r5"]
    for name in done.runs:
        assert dispatch.placement(name) is None
        assert not dispatch.messages(name)
        with pytest.raises(JournalError):
            journal.events(name)
    # r4 and r5 had the same large result
    assert journal.load("r5").steps["a"].output == f"{'x' * 100_000}2"
    assert journal.rows("SELECT count(*) FROM blobs", ()) == [(3,)]
    with pytest.raises(JournalError) as caught:
        journal.accept("new", "digest", RECORD, [RunApproved("approval of r0", "digest", 1.0)])
    assert caught.value.code == "approval-used"


def test_runs_that_are_open_or_worked_on_stay(url: str, dispatch: Dispatch) -> None:
    assert len(dispatch.journal.runs()) == 10
    with closing(SharedJournal(url, clock=lambda: 0.0)) as journal:
        open_ = Dispatch(journal)
        for status in (None, RunState.WAITING, RunState.IN_DOUBT):
            keep_run(open_, f"open {status and status.value}", status, "")
        held = journal.take("r0")
        assert len(journal.prune(older_than_s=0, keep=0, apply=True).runs) == 9
        journal.release(held)
        left = {each.run for each in journal.runs()}
    assert left == {"r0", "open None", "open waiting", "open in_doubt"}
