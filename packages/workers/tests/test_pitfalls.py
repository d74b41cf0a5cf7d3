"""The mistakes that prototypes of workers made, and the test of each.

`PITFALLS` is the table: what went wrong in some system, and the tests that it does not go wrong
here. Those that had no test elsewhere stand below.
"""

import ast
import asyncio
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec.structs import replace

from tests.workers._office import (
    ledger,
    no_job_is_left,
    office,
    over,
    plan_of,
    status,
    until,
    working,
)
from toolplan.app.app import App
from toolplan.engine import resume
from toolplan.events import CallIntended, RunEnded, RunState, StepStarted, StepSucceeded
from toolplan.storage.journal import JournalError, Lease
from toolplan.storage.journal.worker_runs import COUNTED
from toolplan_workers.postgres import PostgresJournal
from toolplan_workers.queue import procrastinate as queues
from toolplan_workers.queue.dispatch import Dispatch, lock_of
from toolplan_workers.worker import dispatch_for

HERE: Final = Path(__file__).parent

PITFALLS: Final[Mapping[str, tuple[str, ...]]] = {
    "1. an approval that only a job carried was lost with it": (
        "test_pitfalls.py::test_an_approval_waits_for_a_lease_that_another_has",
        "test_runs.py::test_a_run_whose_end_was_not_kept_is_run_to_its_end_by_another",
        "test_kills.py::test_workers_that_are_wrong_are_found_out",
    ),
    "2. a server lost what it had acknowledged, while its client lived on": (
        "test_pitfalls.py::test_a_run_of_which_a_server_lost_records_waits_for_a_person",
        "../../../tests/journal/test_stores.py::test_a_journal_that_lost_records_loses_the_run_to_what_is_there",
        "test_postgres.py::test_each_commit_is_synced_whatever_the_server_is_set_to",
        "test_restarts.py::test_a_crash_of_the_server_loses_nothing_and_repeats_nothing",
    ),
    "3. a worker took runs before others could know it, and died": (
        "test_pitfalls.py::test_a_worker_has_its_lock_before_it_takes_anything",
        "test_kills.py::test_workers_that_are_wrong_are_found_out",
    ),
    "4. two tasks of one process took one run": (
        "../../../tests/journal/test_stores.py::test_a_run_belongs_to_one_task_of_a_process",
        "test_postgres.py::test_a_release_that_is_not_written_yet_gives_nothing_up",
    ),
    "5. clocks of machines differ, and numbers of processes come again": (
        "test_postgres.py::test_leases_count_on_the_clock_of_the_server",
        "test_postgres.py::test_a_process_of_this_machine_that_has_ended_is_not_waited_for",
        "test_pitfalls.py::test_a_worker_that_was_taken_for_dead_calls_nothing_more",
    ),
    "6. all runs of a worker waited for one sync after another": (
        "test_postgres.py::test_runs_do_not_wait_for_one_that_stands",
    ),
    "7. a run that ends its workers was tried for ever (DBOS)": (
        "test_rolling.py::test_a_run_that_ends_each_of_its_workers_is_parked_with_the_reason",
        "test_limits.py::test_a_limit_over_workers_is_never_exceeded",
    ),
    "8. a job was put back under its worker, or never; jobs that are over stayed (procrastinate)": (
        "test_runs.py::test_a_job_that_is_put_back_to_a_worker_that_has_it_harms_nothing",
        "test_runs.py::test_a_job_whose_end_was_lost_is_put_back",
        "test_lost_jobs.py::test_a_run_without_a_job_is_put_back_once",
    ),
    "9. a worker that was full slept although runs waited (PgQueuer)": (
        "test_pitfalls.py::test_a_full_worker_takes_what_waits",
    ),
    "10. a session holds its own lock twice without complaint": (
        "test_postgres.py::test_a_name_is_held_once_and_until_the_session_ends",
    ),
    "11. jsonb refuses some text, and changes numbers and the order of keys": (
        "test_postgres.py::test_records_are_kept_as_they_are",
    ),
    "12. large records in files are on one machine": (
        "test_postgres.py::test_large_records_are_rows",
        "../../../tests/journal/test_stores.py::test_damage_to_large_results_is_named",
    ),
    "13. a run was paused after too many tries, and nobody could wake it (Restate)": (
        "test_pitfalls.py::test_a_run_that_is_parked_is_woken_by_a_person",
    ),
    "14. one row for each call was written by all workers at once": (
        "test_postgres.py::test_durations_take_one_row_for_a_tool_and_a_run",
        "test_postgres.py::test_durations_of_one_run_do_not_wait_for_those_of_another",
    ),
    "a call that waits for a slot was left in doubt": (
        "test_pitfalls.py::test_a_call_that_waits_for_a_slot_has_no_intent",
    ),
}


@pytest.mark.parametrize("pitfall", PITFALLS)
def test_each_pitfall_has_its_tests(pitfall: str) -> None:
    for test in PITFALLS[pitfall]:
        file, _, name = test.partition("::")
        tree = ast.parse((HERE / file).read_text())
        names = {getattr(each, "name", "") for each in tree.body}
        assert name in names, test


async def test_an_approval_waits_for_a_lease_that_another_has(url: str, home: Path) -> None:
    with office(url) as other:
        plan = plan_of(other, {"id": "w", "tool": "write", "args": {"x": "one"}})
        run = await other.workers.submit(plan)
        journal = other.needed_journal()
        lease = journal.take(run)
        async with working(url) as app:
            await app.workers.approve(run, plan.digest)
            dispatch = dispatch_for(app)
            query = "SELECT attempts > 0 FROM procrastinate_jobs"  # a worker could not have it
            await until(lambda: dispatch.journal.rows(query, ()) == [(True,)], seconds=90)
            assert ledger(home) == []
            journal.release(lease)
            await until(lambda: status(app, run) is RunState.SUCCEEDED, seconds=90)
            await until(lambda: no_job_is_left(dispatch), seconds=90)
            (message,) = dispatch.messages(run, answered=True)
            assert message.answer == COUNTED
    assert ledger(home) == ["begin:one", "end:one"]


async def test_calls_of_which_a_server_lost_the_intent_are_in_doubt(url: str, home: Path) -> None:
    async with working(url) as app:
        dispatch = dispatch_for(app)
        plan = plan_of(
            app,
            {"id": "w", "tool": "write", "args": {"x": "one"}},
            {"id": "i", "tool": "write", "for_each": ["two"], "args": {"x": "${item}"}},
            {"id": "r", "tool": "read", "args": {"seconds": 4.0}, "after": ["w", "i"]},
        )
        run = await app.workers.submit(plan, yes=True)
        await until(lambda: app.needed_journal().load(run).steps["r"].started_at, seconds=90)
        _lose(app, run, 2)
        await until(lambda: dispatch.fenced() == [run], seconds=90)
        placement = dispatch.placement(run)
        assert placement is not None
        assert placement.parked.endswith("Calls whose outcome is not known: w, i:0.")
        assert dispatch.continue_after_failover(run)
        await until(lambda: status(app, run) is RunState.IN_DOUBT, seconds=90)
        assert app.needed_journal().load(run).steps["i"].in_doubt == (0,)
        await app.workers.decide(run, resolve={"w": "one"}, retry=["i:0"])
        await until(lambda: status(app, run) is RunState.SUCCEEDED, seconds=90)
    begun = [word for word in ledger(home) if word.startswith("begin:")]
    assert sorted(begun) == ["begin:one", "begin:two", "begin:two"]


def _lose(app: App, run: str, kept: int) -> None:
    """Lose the records of a run from the position `kept` on, as a standby that was behind."""
    with dispatch_for(app).journal.transaction() as connection:
        query = "DELETE FROM events WHERE run = %s AND seq >= %s RETURNING seq"
        lost = [int(row[0]) for row in connection.execute(query, (run, kept)).fetchall()]
        assert lost
        connection.execute("UPDATE runs SET next_seq = %s WHERE run = %s", (min(lost), run))


async def test_a_run_of_which_a_server_lost_records_waits_for_a_person(url: str) -> None:
    """As after a failover to a standby that was behind: no worker may repeat what was done."""
    async with working(url) as app:
        plan = plan_of(
            app,
            {"id": "a", "tool": "read", "args": {"x": 1}},
            {"id": "b", "tool": "read", "args": {"x": "${a}", "seconds": 3.0}},
        )
        run = await app.workers.submit(plan)

        def ended() -> list[str]:
            events = app.needed_journal().events(run)
            return [each.step for each in events if isinstance(each, StepSucceeded)]

        await until(lambda: ended() == ["a"], seconds=90)
        _lose(app, run, 1)
        assert ended() == []
        dispatch = dispatch_for(app)
        await until(lambda: dispatch.fenced() == [run], seconds=90)
        await until(lambda: no_job_is_left(dispatch), seconds=90)
        placement = dispatch.placement(run)
        assert placement is not None
        assert "The journal has lost" in placement.parked
        with pytest.raises(JournalError, match="parked: The journal has lost"):
            await app.workers.decide(run)
        assert dispatch.continue_after_failover(run)
        await until(lambda: status(app, run) is RunState.SUCCEEDED, seconds=90)
        assert app.needed_journal().load(run).output == {"b": 1}
        events = app.needed_journal().events(run)
        assert sum(isinstance(each, RunEnded) for each in events) == 1
        assert sorted(ended()) == ["a", "b"]
        await until(lambda: no_job_is_left(dispatch_for(app)), seconds=90)


@pytest.mark.parametrize("is_trusting", [False, True])
async def test_a_worker_that_was_taken_for_dead_calls_nothing_more(
    url: str, home: Path, monkeypatch: pytest.MonkeyPatch, is_trusting: bool
) -> None:
    """One that does not look at its token would make the call of its successor again."""
    whole, one_at_a_time = PostgresJournal.append, threading.Lock()

    def append(
        journal: PostgresJournal, lease: Lease, texts: Sequence[str], at: int, **named: Any
    ) -> None:
        query = "SELECT owner, token, greatest(next_seq, %s) FROM runs WHERE run = %s"
        with one_at_a_time:
            ((owner, token, end),) = journal.rows(query, (at, lease.run))
            driver = journal._driver  # pyright: ignore[reportPrivateUsage]
            monkeypatch.setattr(driver, "owner", owner)
            whole(journal, replace(lease, token=token), texts, end, **named)

    if is_trusting:
        monkeypatch.setattr(PostgresJournal, "append", append)
    with office(url) as other:
        plan = plan_of(
            other,
            {"id": "a", "tool": "read", "args": {"seconds": 2.0}},
            {"id": "w", "tool": "write", "args": {"x": "one"}, "after": ["a"]},
        )
        journal = other.needed_journal()
        async with working(url):
            run = await other.workers.submit(plan, yes=True)

            def has_begun() -> bool:
                return any(isinstance(each, StepStarted) for each in journal.events(run))

            await until(has_begun, seconds=90)
            assert journal.revoke(run, journal.held()[run])
            done = await resume(plan, other.tools, run, journal=journal)
            assert done.status is RunState.SUCCEEDED
            await until(lambda: no_job_is_left(dispatch_for(other)), seconds=90)
    assert ledger(home).count("begin:one") == (2 if is_trusting else 1)


async def test_a_worker_has_its_lock_before_it_takes_anything(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    whole = Dispatch.join

    def join(dispatch: Dispatch, name: str, number: str, queue: str) -> None:
        seen.append(dispatch.journal.locks.has(lock_of(name)))
        seen.append(not dispatch.journal.rows("SELECT 1 FROM workers", ()))
        whole(dispatch, name, number, queue)

    monkeypatch.setattr(Dispatch, "join", join)
    async with working(url) as app:
        run = await app.workers.submit(plan_of(app, {"id": "a", "tool": "read"}))
        assert (await over(app, run, seconds=90)).status is RunState.SUCCEEDED
    assert seen == [True, True]


async def test_a_full_worker_takes_what_waits(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not wait for its next look, or for a notice, which came while it was full."""
    monkeypatch.setattr(queues, "_POLL_S", 3600.0)
    async with working(url, concurrency=1) as app:
        plan = plan_of(app, {"id": "a", "tool": "read", "args": {"seconds": 0.2}})
        runs = [await app.workers.submit(plan) for _ in range(5)]
        for run in runs:
            assert (await over(app, run, seconds=90)).status is RunState.SUCCEEDED


async def test_a_run_that_is_parked_is_woken_by_a_person(url: str) -> None:
    with office(url) as app:
        run = await app.workers.submit(plan_of(app, {"id": "a", "tool": "read"}))
        dispatch_for(app).park(run, "a reason")
        async with working(url):
            await until(lambda: no_job_is_left(dispatch_for(app)), seconds=90)
            assert status(app, run) is RunState.RUNNING
            await app.workers.decide(run)
            assert (await over(app, run, seconds=90)).status is RunState.SUCCEEDED


async def test_a_call_that_waits_for_a_slot_has_no_intent(url: str, home: Path) -> None:
    """Who dies meanwhile leaves nothing in doubt."""
    with office(url) as other:
        dispatch = dispatch_for(other)
        assert dispatch.places.take("write", 1) == 0
        dispatch.journal.rows("UPDATE places SET until = 'infinity'", ())
        async with working(url, everywhere={"write": 1}) as app:
            plan = plan_of(app, {"id": "w", "tool": "write", "args": {"x": "one"}})
            run = await app.workers.submit(plan, yes=True)
            await until(lambda: run in dispatch_for(app).journal.held(), seconds=90)
            await asyncio.sleep(0.5)
            events = app.needed_journal().events(run)
            assert not any(isinstance(each, CallIntended) for each in events)
            assert ledger(home) == []
            dispatch.places.release("write", 0)
            await until(lambda: status(app, run) is RunState.SUCCEEDED, seconds=90)
    assert ledger(home) == ["begin:one", "end:one"]
