"""Older runs are pruned, journals are copied, and one that went back in time says so."""

import shutil
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from toolplan.events import Event, RunApproved, RunEnded, RunStarted, RunState, StepSucceeded
from toolplan.storage.journal import Journal, JournalError, RunRecord, backup, to_record
from toolplan.storage.journal._database import COUNT_FILE

DAY = 86_400.0
LARGE = 100_000
RECORD = RunRecord({"steps": []}, [], None)


class Clock:
    def __init__(self) -> None:
        self.now = 100 * DAY

    def __call__(self) -> float:
        return self.now


def keep_run(
    journal: Journal, name: str, status: RunState | None, *, size: int = 10, release: bool = True
) -> None:
    """Keep a run that ended with `status`; None: it is not over."""
    events: list[Event] = [RunStarted(name, "digest", ("a",), 1.0)]
    lease = journal.accept(name, "digest", RECORD, events)
    more: list[Event] = [StepSucceeded("a", name * size, 1, None, 3.0)]
    if status is not None:
        more.append(RunEnded(status, None, 4.0))
    journal.append(lease, [to_record(each) for each in more], lease.at, sync=True, status=status)
    if release:
        journal.release(lease)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def journal(tmp_path: Path, clock: Clock) -> Journal:
    """Return a journal with a run a day for ten days, r0 the oldest."""
    opened = Journal(tmp_path / "runs.sqlite", clock=clock)
    for day in range(10):
        clock.now = (100 + day) * DAY
        keep_run(opened, f"r{day}", RunState.SUCCEEDED, size=LARGE)
    return opened


def names(journal: Journal) -> list[str]:
    return [entry.run for entry in journal.runs()]


@pytest.mark.parametrize(
    ("days", "keep", "expected"),
    [
        (5, 0, ["r0", "r1", "r2", "r3"]),
        (0, 3, ["r0", "r1", "r2", "r3", "r4", "r5", "r6"]),
        (5, 8, ["r0", "r1"]),
        (5, 20, []),
        (50, 0, []),
    ],
)
def test_old_runs_are_pruned_and_the_latest_kept(
    journal: Journal, clock: Clock, days: int, keep: int, expected: list[str]
) -> None:
    """A16: dry first, then the same runs."""
    with closing(journal):
        dry = journal.prune(older_than_s=days * DAY, keep=keep)
        assert list(dry.runs) == expected
        assert len(names(journal)) == 10
        done = journal.prune(older_than_s=days * DAY, keep=keep, apply=True)
        assert done.runs == dry.runs
        assert done.kept == dry.kept == 10 - len(expected)
        assert sorted(names(journal)) == sorted({f"r{n}" for n in range(10)} - {*expected})
        for name in names(journal):
            assert journal.load(name).succeeded  # its blobs are there
        assert done.size_after <= done.size
        if expected:
            assert done.size_after < done.size * (11 - len(expected)) / 10


@pytest.mark.parametrize("status", [RunState.WAITING, RunState.IN_DOUBT, RunState.RUNNING, None])
def test_an_open_run_is_never_pruned(tmp_path: Path, clock: Clock, status: RunState | None) -> None:
    with closing(Journal(tmp_path / "j", clock=clock)) as journal:
        keep_run(journal, "open", None)
        with closing(sqlite3.connect(journal.path)) as other:
            other.execute("UPDATE runs SET status = ?", (status.value if status else "running",))
            other.commit()
        keep_run(journal, "over", RunState.FAILED)
        clock.now += 1000 * DAY
        assert journal.prune(older_than_s=0, keep=0, apply=True).runs == ("over",)
        assert names(journal) == ["open"]


def test_a_run_that_a_process_works_on_is_not_pruned(tmp_path: Path, clock: Clock) -> None:
    with closing(Journal(tmp_path / "j", clock=clock)) as journal:
        keep_run(journal, "leased", RunState.CANCELLED, release=False)
        assert journal.prune(older_than_s=-DAY, keep=0, apply=True).runs == ()


def test_a_used_approval_stays_used(tmp_path: Path, clock: Clock) -> None:
    with closing(Journal(tmp_path / "j", clock=clock)) as journal:
        started = RunStarted("first", "digest", ("a",), 1.0)
        approved = RunApproved("the approval", "digest", 1.5)
        lease = journal.accept("first", "digest", RECORD, [started, approved])
        ended = to_record(RunEnded(RunState.SUCCEEDED, None, 4.0))
        journal.append(lease, [ended], lease.at, sync=True, status=RunState.SUCCEEDED)
        journal.release(lease)
        journal.prune(older_than_s=-DAY, keep=0, apply=True)
        assert names(journal) == []
        again = [RunStarted("second", "digest", ("a",), 1.0), approved]
        with pytest.raises(JournalError, match="used by run 'first'"):
            journal.accept("second", "digest", RECORD, again)


def test_what_a_crash_left_is_swept(journal: Journal, clock: Clock) -> None:
    folder = Path(f"{journal.path}-blobs")
    orphan, partial, other = folder / ("0" * 64), folder / f"{'1' * 64}.77.part", folder / "mine"
    for path in (orphan, partial, other):
        path.write_text("x", "utf-8")
    with closing(journal):
        journal.prune(older_than_s=1000 * DAY, keep=10, apply=True)
        assert not orphan.exists()
        assert not partial.exists()
        assert other.exists()
        assert len(names(journal)) == 10


def test_pruning_while_another_process_writes(tmp_path: Path) -> None:
    path = tmp_path / "j"
    code = f"""
import sys
import time
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.journal.test_retention import Journal, RunState, keep_run
journal = Journal({str(path)!r})
journal._driver.connection.execute("PRAGMA busy_timeout = 20000")  # a run retries by itself
for at in range(40):
    keep_run(journal, f"{{sys.argv[1]}}{{at}}", RunState.SUCCEEDED, size=40_000)
"""
    journal = Journal(path)
    writers = [subprocess.Popen([sys.executable, "-c", code, name]) for name in "ab"]
    while any(writer.poll() is None for writer in writers):
        journal.prune(older_than_s=-DAY, keep=5, apply=True)
        time.sleep(0.1)
    assert [writer.wait() for writer in writers] == [0, 0]
    journal.prune(older_than_s=-DAY, keep=5, apply=True)
    journal.close()
    with closing(Journal(path)) as journal:
        assert len(names(journal)) == 5
        for name in names(journal):
            assert journal.load(name).succeeded
        assert journal.notes == ()


def test_a_backup_has_what_is_in_the_wal_and_the_blobs(journal: Journal, tmp_path: Path) -> None:
    """D12: the copy of a journal in use loses nothing."""
    copy = tmp_path / "copy.sqlite"
    with closing(journal):
        assert Path(f"{journal.path}-wal").stat().st_size > 0
        backup(journal.path, copy)
        assert not Path(f"{copy}-wal").exists()
        if sys.platform != "win32":
            assert stat.S_IMODE(copy.stat().st_mode) == 0o600
        with closing(Journal(copy)) as copied:
            assert names(copied) == names(journal)
            for name in names(journal):
                assert copied.events(name) == journal.events(name)
            assert copied.notes == ()
        with pytest.raises(JournalError, match="exists already"):
            backup(journal.path, copy)


def test_a_backup_that_fails_leaves_nothing(journal: Journal, tmp_path: Path) -> None:
    with closing(journal):
        for blob in Path(f"{journal.path}-blobs").iterdir():
            blob.unlink()
        with pytest.raises(JournalError, match="cannot be written"):
            backup(journal.path, tmp_path / "copy")
        with pytest.raises(JournalError, match="cannot be written"):
            backup(journal.path, tmp_path / "no folder" / "copy")
    assert [path.name for path in tmp_path.iterdir() if "copy" in path.name] == []


def test_a_copy_without_its_wal_says_so_and_resumes_nothing(tmp_path: Path, clock: Clock) -> None:
    """D12: a resumed copy would repeat effects."""
    path, copy = tmp_path / "runs.sqlite", tmp_path / "copied" / "runs.sqlite"
    with closing(Journal(path, clock=clock)) as journal:
        keep_run(journal, "before", RunState.SUCCEEDED)
        with closing(sqlite3.connect(path)) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        keep_run(journal, "after", None)
        copy.parent.mkdir()
        shutil.copy(path, copy)
        shutil.copytree(f"{path}-blobs", f"{copy}-blobs")
    with closing(Journal(copy, clock=clock)) as copied:
        assert names(copied) == ["before"]
        assert "is older than it was" in copied.notes[0]
        with pytest.raises(JournalError) as raised:
            copied.take("before")
        assert raised.value.code == "journal-older"
        keep_run(copied, "new", RunState.SUCCEEDED)  # new runs are no danger
    with closing(Journal(copy, clock=clock)) as copied:
        assert copied.notes  # until the user says that nothing newer is there
    Path(f"{copy}-blobs", COUNT_FILE).unlink()
    with closing(Journal(copy, clock=clock)) as copied:
        assert copied.notes == ()
        copied.take("before")


def test_a_restored_older_file_is_noticed(tmp_path: Path, clock: Clock) -> None:
    path, older = tmp_path / "runs.sqlite", tmp_path / "older.sqlite"
    with closing(Journal(path, clock=clock)) as journal:
        keep_run(journal, "before", RunState.SUCCEEDED)
        backup(path, older)
        keep_run(journal, "after", RunState.SUCCEEDED)
    for each in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        each.unlink(missing_ok=True)
    shutil.copy(older, path)
    with closing(Journal(path, clock=clock)) as restored:
        assert "2 writes are missing" in restored.notes[0]
    # with the folder of the backup, as the page says, it is a whole
    shutil.rmtree(f"{path}-blobs")
    shutil.copytree(f"{older}-blobs", f"{path}-blobs")
    with closing(Journal(path, clock=clock)) as restored:
        assert restored.notes == ()


def test_a_journal_in_use_is_never_behind(tmp_path: Path) -> None:
    path = tmp_path / "j"
    with closing(Journal(path)) as journal:
        for at in range(30):
            keep_run(journal, f"r{at}", RunState.SUCCEEDED)
            with closing(Journal(path)) as other:
                assert other.notes == ()


def test_an_empty_file_is_reported(tmp_path: Path) -> None:
    """D18: it may have been a journal once."""
    path = tmp_path / "runs.sqlite"
    path.touch()
    with closing(Journal(path)) as journal:
        assert "was an empty file" in journal.notes[0]
    with closing(Journal(path)) as journal:
        assert journal.notes == ()
    with closing(Journal(tmp_path / "new.sqlite")) as journal:
        assert journal.notes == ()
