"""What workers and prunings cost does not grow with the runs that are over."""

import time
from collections.abc import Callable, Generator
from contextlib import closing

import pytest

from tests.postgres import Server
from toolplan.storage.journal.store import COUNTS
from toolplan_workers.journal import SharedJournal
from toolplan_workers.queue.dispatch import Dispatch

_RUNS = 200_000
_GENERATED = """
    INSERT INTO runs
    SELECT md5(n::text), n, 'succeeded', 'd', repeat(md5(n::text), 16), '', 1, now(), 1, 0
    FROM generate_series(1, %s) AS n
"""
_PLACED = "INSERT INTO placements (run, queue) SELECT run, 'q' FROM runs"


@pytest.fixture(scope="module")
def history(postgres: Server) -> Generator[Dispatch]:
    """A journal with many runs that have ended."""
    with closing(SharedJournal(postgres.schema())) as journal:
        dispatch = Dispatch(journal)
        journal.rows(_GENERATED, (_RUNS,))
        journal.rows(_PLACED, ())
        for table in ("runs", "placements"):
            journal.rows(f"VACUUM ANALYZE {table}", ())
        yield dispatch


def seconds(work: Callable[[], object]) -> float:
    """Return how long `work` takes, at best."""
    found: list[float] = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


def test_a_look_for_lost_jobs_reads_open_runs_only(history: Dispatch) -> None:
    assert seconds(lambda: history.put_lost("q")) < 0.01


def test_runs_are_counted_from_an_index(history: Dispatch) -> None:
    assert history.journal.counts()["succeeded"] == _RUNS
    (plan,) = history.journal.rows(f"EXPLAIN (FORMAT JSON) {COUNTS}", ())
    assert "runs_by_status" in str(plan)


def test_one_worker_at_a_time_looks_for_lost_jobs(history: Dispatch) -> None:
    history.journal.rows("UPDATE runs SET status = 'running' WHERE created_at = 1", ())
    other = Dispatch(history.journal)
    with history.journal.transaction() as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (0x746F6F6C776F726B + 1,))
        assert other.put_lost("q") == []
    assert len(other.put_lost("q")) == 1
    history.journal.rows("UPDATE runs SET status = 'failed' WHERE created_at = 1", ())


def test_a_pruning_is_one_pass(history: Dispatch) -> None:
    journal = history.journal
    start = time.perf_counter()
    found = journal.prune(older_than_s=0, keep=_RUNS - 12_000)
    assert len(found.runs) == 12_000
    done = journal.prune(older_than_s=0, keep=_RUNS - 12_000, apply=True)
    assert (done.runs, done.kept) == (found.runs, found.kept)
    assert journal.prune(older_than_s=0, keep=_RUNS).runs == ()
    assert time.perf_counter() - start < 20
