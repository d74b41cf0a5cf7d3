"""What holds for the journal in Postgres alone: its server, its connections, its clock."""

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, TypeVar

import psycopg
import pytest

from tests.postgres import Server
from tests.stores import Tables
from toolplan.events import (
    Event,
    RunApproved,
    RunEnded,
    RunStarted,
    RunState,
    StepStarted,
    StepSucceeded,
)
from toolplan.storage.journal import JournalError, LeaseHeld, LeaseLost, RunRecord, to_record
from toolplan_workers.journal import SharedJournal
from toolplan_workers.postgres import connections, schema
from toolplan_workers.postgres.connections import Connection, Connections, has_table
from toolplan_workers.postgres.schema import MIGRATIONS

RECORD = RunRecord({"steps": []}, [], None)
STARTED = [to_record(StepStarted("a", None, 2.0))]
_T = TypeVar("_T")


@pytest.fixture
def tables(postgres: Server) -> Generator[Tables]:
    found = Tables(postgres)
    with found.opened:
        yield found


def opened(tables: Tables, **options: Any) -> SharedJournal:
    journal = tables.open(**options)
    assert isinstance(journal, SharedJournal)
    return journal


def first(run: str = "r") -> list[Event]:
    return [RunStarted(run, "digest", ("a",), 1.0)]


@pytest.mark.parametrize("what", ["do", "now"])
def test_a_journal_that_cannot_be_opened_closes_its_connections(
    what: str, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[Connections] = []
    close = Connections.close

    def failing(*_: object) -> float:
        raise JournalError("journal-unavailable", "It is gone.", "Try again.")

    def closing_(self: Connections) -> None:
        closed.append(self)
        close(self)

    monkeypatch.setattr(Connections, what, failing)
    monkeypatch.setattr(Connections, "close", closing_)
    with pytest.raises(JournalError, match="It is gone"):
        opened(tables)
    assert len(closed) == 1


# Its library, its address


def test_the_library_is_loaded_only_for_an_address(tmp_path: Any) -> None:
    code = (
        "import sys\nfrom toolplan.storage.journal import open_journal\n"
        f"open_journal({str(tmp_path / 'j')!r}).close()\nimport toolplan.cli\n"
        "print([m for m in sys.modules if m.startswith(('psycopg', 'procrastinate'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("postgres://ann:{}@127.0.0.1:1/runs", "journal-unavailable"),
        ("postgresql://ann:{}@127.0.0.1:1/runs", "journal-unavailable"),
        ("postgres://127.0.0.1:1/runs?user=ann&password={}", "journal-unavailable"),
        ("postgres://ann:{}@127.0.0.1:99999999/runs", "journal-unavailable"),
        ("postgres://ann:{}%zz@127.0.0.1/runs", "journal-address"),
        ("postgres://ann:x/{}@127.0.0.1/runs", "journal-address"),
        ("postgres://ann:12/{}@127.0.0.1/runs", "journal-address"),
        ("postgres://ann:12?{}@127.0.0.1:1/runs", "journal-unavailable"),
        ("postgres://ann:@{}@127.0.0.1:1/runs", "journal-address"),
        ("postgres://ann:{}@[::1/runs", "journal-address"),
        ("postgres://ann@127.0.0.1:1/runs?pass={}", "journal-address"),
    ],
)
def test_errors_show_no_password(address: str, code: str, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(JournalError) as caught:
        SharedJournal(address.format("s3cret"))
    assert caught.value.code == code
    said = repr((caught.value, str(caught.value), caught.value.help, caught.value.__context__))
    assert "s3cret" not in said + caplog.text
    assert caught.value.__cause__ is None
    assert caught.value.help


def test_a_server_that_does_not_run_is_named(postgres: Server, tables: Tables) -> None:
    journal = opened(tables)
    lease = journal.accept("r", "digest", RECORD, first())
    postgres.stop("immediate")
    try:
        with pytest.raises(JournalError) as caught:
            journal.append(lease, STARTED, lease.at, sync=True)
        assert caught.value.code == "journal-unavailable"
        assert journal.place in str(caught.value)
    finally:
        postgres.start()
    journal.append(lease, STARTED, lease.at, sync=True)
    assert len(journal.events("r")) == 2


# Its tables


def test_newer_versions_and_tables_of_others_are_refused(postgres: Server, tables: Tables) -> None:
    opened(tables).close()
    tables.execute(f"UPDATE toolplan_schema SET version = {len(MIGRATIONS) + 1}")
    with pytest.raises(JournalError, match="this program knows") as caught:
        opened(tables)
    assert caught.value.code == "journal-newer"
    other = Tables(postgres)
    schema = other.place.rpartition("%3D")[2]
    other.execute(f"CREATE SCHEMA {schema}")
    other.execute("CREATE TABLE runs (x int)")
    with pytest.raises(JournalError, match="something else"):
        opened(other)
    assert other.execute("SELECT * FROM runs") == []


def test_processes_that_open_it_together_make_the_tables_once(tables: Tables) -> None:
    with ThreadPoolExecutor(8) as threads:
        journals = [*threads.map(opened, [tables] * 8)]
    for at, journal in enumerate(journals):
        journal.accept(f"r{at}", "digest", RECORD, first())
    assert len(journals[0].runs()) == 8


def test_tables_that_another_process_makes_between_two_looks_are_ours(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, looks = has_table, list[str]()

    def late(connection: Connection, name: str) -> bool:
        found = look(connection, name)
        looks.append(name)
        if len(looks) == 1:
            opened(tables)
        return found

    monkeypatch.setattr(schema, "has_table", late)
    opened(tables).accept("r", "digest", RECORD, first())
    assert len(looks) > 2


def test_its_tables_stand_in_a_schema_of_their_own(postgres: Server) -> None:
    with closing(SharedJournal(postgres.url())) as journal:
        journal.accept("r", "digest", RECORD, first())
    with psycopg.connect(postgres.url()) as connection:
        rows = connection.execute("SELECT run FROM toolplan.runs").fetchall()
        connection.execute("DROP SCHEMA toolplan CASCADE")
    assert rows == [("r",)]


def test_records_are_kept_as_they_are(tables: Tables) -> None:
    journal = opened(tables)
    output = json.loads('{"b": "nul \\u0000", "a": 1.10, "z": 1e300, "n": 12345678901234567890}')
    lease = journal.accept("r", "digest", RECORD, first())
    event = StepSucceeded("a", output, 1, None, 3.0)
    journal.append(lease, [to_record(event)], lease.at, sync=True)
    (read,) = journal.tail("r", 1)
    assert isinstance(read, StepSucceeded)
    assert json.dumps(read.output) == json.dumps(output)  # the order of keys too


def test_durations_take_one_row_for_a_tool_and_a_run(tables: Tables) -> None:
    journal = opened(tables)
    for run in ("r1", "r2"):
        journal.keep_durations(run, [("t", float(at)) for at in range(150)] + [("u", 1.0)])
    journal.keep_durations("r2", [("u", 2.0)])  # resumed
    assert tables.execute("SELECT count(*) FROM durations") == [(4,)]
    found = journal.durations(["t", "u"])
    assert found["t"] == [*map(float, range(149, -1, -1)), *map(float, range(149, 99, -1))]
    assert found["u"] == [2.0, 1.0, 1.0]
    for at in range(300):
        journal.keep_durations(f"x{at}", [("t", 1.0)])
    assert tables.execute("SELECT count(*) < 301 FROM durations WHERE tool = 't'") == [(True,)]


def test_durations_of_one_run_do_not_wait_for_those_of_another(tables: Tables) -> None:
    """Pitfall 14: workers do not write the same row."""
    journal = opened(tables)
    journal.keep_durations("r1", [("t", 1.0)])
    with psycopg.connect(tables.place) as other:
        other.execute("SELECT 1 FROM durations WHERE run = 'r1' FOR UPDATE")
        journal.keep_durations("r2", [("t", 2.0)])  # would wait for ever
        other.rollback()
    assert journal.durations(["t"])["t"] == [2.0, 1.0]


def test_large_records_are_rows(tables: Tables, home: Path) -> None:
    """Pitfall 12: another machine, which shares no folder with this one, reads them."""
    journal = opened(tables)
    lease = journal.accept("r", "digest", RECORD, first())
    large = StepSucceeded("a", "x" * 1_000_000, 1, None, 3.0)
    journal.append(lease, [to_record(large)], 1, sync=True)
    assert not [*home.rglob("*")]
    assert opened(tables).events("r")[1] == large


# Its leases


def test_a_release_that_is_not_written_yet_gives_nothing_up(tables: Tables) -> None:
    journal = opened(tables)
    lease = journal.accept("r", "digest", RECORD, first())
    with psycopg.connect(tables.place) as other:
        other.execute("SELECT 1 FROM runs WHERE run = 'r' FOR UPDATE")
        releasing = threading.Thread(target=journal.release, args=(lease,))
        releasing.start()
        with pytest.raises(LeaseHeld):
            journal.take("r")
        other.rollback()
    releasing.join()
    assert journal.take("r").token > lease.token


def test_leases_count_on_the_clock_of_the_server(tables: Tables) -> None:
    """Pitfall 5: clocks of machines, their processes and their boots do not count."""
    one = opened(tables, clock=lambda: 0.0, lease_s=300.0)
    two = opened(tables, clock=lambda: 1e12, age_clock=lambda: 1e12, lease_s=0.001)
    lease = one.accept("r", "digest", RECORD, first())
    assert one.owner != two.owner  # of one process
    assert not two.entry("r").is_left
    with pytest.raises(LeaseHeld):
        two.take("r")
    tables.end_lease("r")
    assert one.entry("r").is_left
    two.take("r")
    with pytest.raises(LeaseLost):
        one.append(lease, [], lease.at, sync=True)
    assert not one.is_current(lease)


def test_a_process_of_this_machine_that_has_ended_is_not_waited_for(tables: Tables) -> None:
    code = (
        "import os\nfrom toolplan.storage.journal import RunRecord, open_journal\n"
        "from toolplan.events import RunStarted\n"
        f"journal = open_journal({tables.place!r})\n"
        "journal.accept('r', 'd', RunRecord({}, [], None), [RunStarted('r', 'd', (), 1.0)])\n"
        "os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    journal = opened(tables)
    assert journal.entry("r").is_left
    assert journal.take("r").token == 2


def test_runs_do_not_wait_for_one_that_stands(tables: Tables) -> None:
    """Pitfall 6: there are several writers, each with a connection."""
    journal = opened(tables)

    async def write() -> None:
        loop = asyncio.get_running_loop()
        leases = [journal.accept(name, "digest", RECORD, first(name)) for name in ("a", "b")]
        done = [loop.create_future() for _ in leases]
        with psycopg.connect(tables.place) as other:
            other.execute("SELECT 1 FROM runs WHERE run = 'a' FOR UPDATE")
            for lease, future in zip(leases, done, strict=True):

                def append(lease: Any = lease) -> None:
                    journal.append(lease, STARTED, lease.at, sync=True)

                journal.worker.submit(loop, append, future.set_result)
            assert await done[1] is None
            assert not done[0].done()
            other.rollback()
        assert await done[0] is None

    asyncio.run(write())


# Its connections


class _Lossy(Connections):
    """Loses each connection once right after a commit, and before its answer."""

    losses = 0
    is_over = False

    def do(self, work: Callable[[Connection], _T]) -> _T:
        """Do `work`, and once more."""
        is_lost = False

        def done(connection: Connection) -> _T:
            nonlocal is_lost
            result = work(connection)
            if not is_lost:
                is_lost = True
                self.losses += 1
                connection.close()
                raise psycopg.OperationalError("server closed the connection unexpectedly")
            return result

        return super().do(done)


def test_what_was_committed_unseen_is_not_written_twice(tables: Tables) -> None:
    journal = opened(tables)
    lossy = _Lossy(journal._driver.connections.address)  # pyright: ignore[reportPrivateUsage]
    journal._driver.connections.close()  # pyright: ignore[reportPrivateUsage]
    journal._driver.connections = lossy  # pyright: ignore[reportPrivateUsage]
    lease = journal.accept("r", "digest", RECORD, first())
    large = to_record(StepSucceeded("a", "x" * 100_000, 1, None, 3.0))
    journal.append(lease, STARTED, 1, sync=True)
    journal.append(lease, [large], 2, sync=True)
    journal.approve(lease, RunApproved("approval", "digest", 2.0), 3)
    journal.append(lease, [], 4, sync=True)
    journal.keep_durations("r", [("t", 1.0)])
    journal.release(lease)
    lease = journal.take("r")
    end = [to_record(RunEnded(RunState.SUCCEEDED, {}, 4.0))]
    journal.append(lease, end, lease.at, sync=True, status=RunState.SUCCEEDED)
    assert len(journal.events("r")) == 5
    assert lossy.losses > 8
    lossy.close()
    with pytest.raises(JournalError) as caught:
        opened(tables).accept("r", "digest", RECORD, first())
    assert caught.value.code == "run-exists"


def test_a_taken_name_of_a_run_is_refused_although_a_connection_was_lost(tables: Tables) -> None:
    opened(tables).accept("r", "digest", RECORD, first())
    journal = opened(tables)
    tables.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        " AND backend_type = 'client backend'"
    )
    with pytest.raises(JournalError) as caught:
        journal.accept("r", "digest", RECORD, first())
    assert caught.value.code == "run-exists"


def test_a_restart_between_two_calls_is_not_noticed(postgres: Server, tables: Tables) -> None:
    journal = opened(tables)
    lease = journal.accept("r", "digest", RECORD, first())
    for at in range(1, 4):
        postgres.stop("immediate")
        postgres.start()
        journal.append(lease, STARTED, at, sync=True)
    assert len(journal.events("r")) == 4


def test_each_commit_is_synced_whatever_the_server_is_set_to(postgres: Server) -> None:
    """Pitfall 2: a restart loses what was not synced, while the process lives on."""
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute("ALTER ROLE toolplan SET synchronous_commit = off")
    try:
        tables = Tables(postgres)
        with tables.opened:
            journal = opened(tables)
            lease = journal.accept("r", "digest", RECORD, first())
            for at in range(1, 20):
                journal.append(lease, STARTED, at, sync=False)
            postgres.stop("immediate")
            postgres.start()
            assert len(journal.events("r")) == 20
    finally:
        with psycopg.connect(postgres.url(), autocommit=True) as connection:
            connection.execute("ALTER ROLE toolplan RESET synchronous_commit")


# What workers need


def test_a_run_and_what_belongs_to_it_are_committed_together(tables: Tables) -> None:
    journal = opened(tables)

    with journal.transaction() as connection:
        journal.submit(connection, "r", "digest", RECORD, first())
        raise psycopg.Rollback
    assert journal.runs() == []
    with journal.transaction() as connection:
        journal.submit(connection, "r", "digest", RECORD, first())
        connection.execute("CREATE TABLE jobs AS SELECT 'r' AS run")
    assert journal.entry("r").is_left
    assert journal.held() == {}
    assert journal.take("r").at == 1
    with pytest.raises(JournalError) as caught, journal.transaction() as connection:
        journal.submit(connection, "r", "digest", RECORD, first())
    assert caught.value.code == "run-exists"


def test_connections_are_lent_to_a_bound(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_PATIENCE_S", 0.01)
    journal = opened(tables)
    with ExitStack() as lent:
        for _ in range(connections.MOST):
            lent.enter_context(journal.transaction())
        with pytest.raises(JournalError, match="all connections") as caught:
            journal.runs()
    assert caught.value.code == "journal-locked"
    assert journal.runs() == []


def test_a_server_that_started_again_is_used_at_once(tables: Tables) -> None:
    """All connections that were kept are lost with it: none of them is tried after the first."""
    journal = opened(tables)
    with ExitStack() as lent:
        ids = [
            lent.enter_context(journal.transaction()).info.backend_pid
            for _ in range(connections.MOST)
        ]
    for each in ids:
        tables.execute(f"SELECT pg_terminate_backend({each})")
    while tables.execute(f"SELECT 1 FROM pg_stat_activity WHERE pid = ANY (ARRAY{ids})"):
        time.sleep(0.01)
    assert journal.runs() == []
    assert journal.runs() == []


def test_a_name_is_held_once_and_until_the_session_ends(postgres: Server, tables: Tables) -> None:
    """Pitfall 10: a session would hold it again without complaint."""
    one, two = opened(tables).locks, opened(tables).locks
    assert one.hold("a")
    assert not one.hold("a")
    assert not two.hold("a")
    assert two.free(["a", "b"]) == {"b"}
    one.release("a")
    assert two.hold("a")
    assert two.has("a")
    postgres.stop("immediate")
    postgres.start()
    with pytest.raises(JournalError):
        two.free(["b"])
    assert not two.has("a")
    with pytest.raises(JournalError):
        one.free(["a"])
    assert one.free(["a"]) == {"a"}
    assert two.hold("a")
    two.close()
    assert one.free(["a"]) == {"a"}
