"""What was damaged in a journal is named, and never a value; older journals are read."""

import asyncio
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.crash.chains import chain, tools
from toolplan import approve, run
from toolplan.events import Run, RunStarted, StepSucceeded, to_json
from toolplan.storage.journal import Journal, JournalError, LeaseHeld, RunRecord, to_record

RUN = "aafe31c1f0c14b5d"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a closed journal with one run."""
    path = tmp_path_factory.mktemp("journal") / "runs.sqlite"
    box = tools([])
    plan = chain(box, 5)
    with closing(Journal(path)) as journal:
        asyncio.run(run(plan, box, journal=journal, approval=approve(plan), run_id=RUN))
    return path


def read(path: Path) -> tuple[Run, RunRecord]:
    with closing(Journal(path)) as journal:
        name = journal.find(RUN[:4])
        return journal.load(name), journal.record(name)


def flipped(path: Path, to: Path, chance: random.Random) -> Path:
    content = bytearray(path.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    to.write_bytes(content)
    return to


def test_a_flipped_bit_is_named_and_never_a_wrong_value(written: Path, tmp_path: Path) -> None:
    chance = random.Random(1)
    whole, record = read(written)
    named = 0
    for number in range(400):
        path = flipped(written, tmp_path / f"{number}.sqlite", chance)
        error: JournalError | None = None
        try:
            found, kept = read(path)
            assert (to_json(found), kept) == (to_json(whole), record)
        except JournalError as raised:
            error = raised
        assert error is None or error.code in ("journal-damaged", "journal-newer")
        named += error is not None and RUN in str(error)
        path.unlink()
    assert named


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET event = replace(event, 's1', 's2')",
        "UPDATE events SET event = replace(event, '\"x\":1', '\"x\":7')",
        "UPDATE events SET seq = seq + 1 WHERE seq > 3",
        "UPDATE events SET run = 'other' WHERE seq > 3",
        "DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)",
        "UPDATE events SET checksums = replace(checksums, ' ', '')",
        "UPDATE events SET event = CAST(x'ff' AS TEXT) WHERE seq = 0",
        "UPDATE runs SET run = 'b'",
    ],
)
def test_a_changed_record_is_named(written: Path, tmp_path: Path, statement: str) -> None:
    path = Path(shutil.copy(written, tmp_path))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute(statement).rowcount
        connection.commit()
    with pytest.raises(JournalError, match=RUN) as caught:
        read(path)
    assert caught.value.code == "journal-damaged"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE runs SET record = replace(record, 's1', 's7')",
        "UPDATE runs SET digest = 'x'",
        "UPDATE runs SET record = substr(record, 2)",
        "UPDATE runs SET created_at = created_at + 1",
    ],
)
def test_a_changed_plan_is_named_and_the_list_shows_no_value_of_it(
    written: Path, tmp_path: Path, statement: str
) -> None:
    path = Path(shutil.copy(written, tmp_path))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute(statement).rowcount
        connection.commit()
    with closing(Journal(path)) as journal:
        with pytest.raises(JournalError, match=RUN):
            journal.record(RUN)
        (entry,) = journal.runs()
        assert "damaged" in entry.question
        assert entry.tools == ""


V1 = """
    CREATE TABLE runs (
        run TEXT PRIMARY KEY, created_at REAL NOT NULL, status TEXT NOT NULL, digest TEXT NOT NULL,
        record TEXT NOT NULL, owner TEXT NOT NULL, token INTEGER NOT NULL,
        lease_until REAL NOT NULL, next_seq INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX runs_by_time ON runs (created_at);
    CREATE TABLE events (
        run TEXT NOT NULL, seq INTEGER NOT NULL, event TEXT NOT NULL, PRIMARY KEY (run, seq)
    ) WITHOUT ROWID;
    CREATE TABLE approvals (approval TEXT PRIMARY KEY, run TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE durations (tool TEXT NOT NULL, at REAL NOT NULL, seconds REAL NOT NULL);
    CREATE INDEX durations_by_tool ON durations (tool, at);
    PRAGMA user_version = 1;
    PRAGMA application_id = 0x74706A6C;
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Return a journal of version 1 with a run that was interrupted."""
    path = tmp_path / "old.sqlite"
    events = [RunStarted("r", "d", ("a",), 1.0), StepSucceeded("a", {"x": 1}, 1, None, 2.0)]
    text = "\n".join(map(to_record, events))
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(V1)
        record = '{"plan":{"toolplan":1,"steps":[]},"tools":[],"policy":{}}'
        row = ("r", 1.0, "running", "d", record, "gone:1", 3, 5.0, 2)
        connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        connection.execute("INSERT INTO events VALUES ('r', 0, ?)", (text,))
        connection.commit()
    return path


def test_a_journal_of_an_older_version_is_read_and_written(old: Path) -> None:
    with closing(Journal(old)) as journal:
        assert journal.load("r").steps["a"].output == {"x": 1}
        assert journal.record("r").plan == {"toolplan": 1, "steps": []}
        with pytest.raises(LeaseHeld) as caught:
            journal.take("r")  # its clock is not known: somebody must watch
        lease = journal.take("r", caught.value.mark)
        more = to_record(StepSucceeded("b", 2, 1, None, 3.0))
        journal.append(lease, [more], lease.at, sync=True)
        assert journal.load("r").steps["b"].output == 2


def test_a_run_lost_with_a_damaged_wal_is_not_called_unknown(tmp_path: Path) -> None:
    """SQLite ignores what comes after the first damaged page of a `-wal`: whole runs are gone."""
    folder = tmp_path / "written"
    folder.mkdir()
    with closing(Journal(folder / "runs.sqlite")) as journal:
        for name in ("first", "last"):
            lease = journal.accept(
                name, "digest", RunRecord({}, {}, None), [RunStarted(name, "d", (), 1.0)]
            )
            journal.release(lease)
        shutil.copytree(folder, tmp_path / "killed")  # as after a SIGKILL: nothing was moved yet
    chance, codes = random.Random(2), list[str]()
    for number in range(60):
        copy = tmp_path / str(number)
        shutil.copytree(tmp_path / "killed", copy)
        (copy / "runs.sqlite-shm").unlink()
        flipped(copy / "runs.sqlite-wal", copy / "runs.sqlite-wal", chance)
        with closing(Journal(copy / "runs.sqlite")) as damaged:
            error: JournalError | None = None
            try:
                assert damaged.load("last").run == "last"
            except JournalError as raised:
                error = raised
                codes.append(error.code)
                with pytest.raises(JournalError):
                    damaged.take("last")
            assert error is None or (damaged.notes and "'last'" in str(error))
        shutil.rmtree(copy)
    assert set(codes) == {"journal-damaged"}
