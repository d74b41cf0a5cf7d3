"""Limits over all machines: never exceeded, whoever comes and goes."""

import asyncio
from itertools import accumulate
from pathlib import Path

from tests.cli.calls import Call
from tests.workers._office import ledger, office, over, plan_of, status, until, working
from tests.workers.crew import SETTINGS, crew
from toolplan.events import RunState
from toolplan_workers.queue.places import Places
from toolplan_workers.worker import dispatch_for

_LIMITED = f"{SETTINGS}\n[limits.everywhere]\nbusy = 2\n"


def _most(words: list[str]) -> int:
    changes = sorted((int(at), int(change)) for at, _, change in (w.partition(":") for w in words))
    return max(accumulate(change for _, change in changes))


async def test_a_limit_over_workers_is_never_exceeded(url: str, home: Path) -> None:
    with office(url) as app, crew(url, home, 3, _LIMITED) as hired:
        plan = plan_of(
            app,
            {
                "id": "b",
                "tool": "busy",
                "for_each": [str(at) for at in range(10)],
                "args": {"name": "${item}", "seconds": 0.02},
            },
        )
        await asyncio.to_thread(hired.wait_ready)
        runs = [await app.workers.submit(plan) for _ in range(6)]
        for run in runs:
            assert (await over(app, run)).status is RunState.SUCCEEDED
    words = ledger(home)
    assert len(words) == 2 * 60
    assert _most(words) == 2


async def test_a_run_that_waits_for_a_place_says_which_and_who_has_it(url: str, call: Call) -> None:
    with office(url) as app:
        places = dispatch_for(app).places
        plan = plan_of(app, {"id": "a", "tool": "read", "args": {"seconds": 6.0}})
        async with working(url, everywhere={"read": 1}):
            runs = [await app.workers.submit(plan) for _ in range(2)]
            await until(lambda: any(places.waits(run) for run in runs))
            (said,) = [found for run in runs if (found := places.waits(run))]
            ((since,),) = dispatch_for(app).journal.rows("SELECT since FROM places", ())
            assert said.startswith("a place of read, held by the worker in process ")
            assert f" since {since.astimezone():%Y-%m-%d %H:%M:%S}." in said
            for run in runs:
                shown = await asyncio.to_thread(call, "show", run, "--journal", url)
                text = " ".join(shown.err.split())
                assert (f"Run {run[:8]} waits for {said}" in text) == bool(places.waits(run)), text
            for run in runs:
                await until(lambda run=run: status(app, run) is RunState.SUCCEEDED)
            await until(lambda: not any(places.waits(run) for run in runs))
        assert dispatch_for(app).journal.rows("SELECT * FROM places", ()) == []


async def test_places_are_leases(url: str) -> None:
    with office(url) as one, office(url) as two:
        journal = dispatch_for(one).journal
        first, second = dispatch_for(one).places, Places(dispatch_for(two).journal)
        taken = {first.take("t", 2), first.take("t", 2)}
        assert taken == {0, 1}
        assert second.take("t", 2) is None
        assert first.keep([("t", 0), ("t", 1)]) == {("t", 0), ("t", 1)}
        # one that lapsed is taken by others, and by its holder never twice
        journal.rows("UPDATE places SET until = clock_timestamp() WHERE slot = 1", ())
        assert first.take("t", 2) is None
        assert second.take("t", 2) == 1
        assert first.keep([("t", 0), ("t", 1)]) == {("t", 0)}
        first.release("t", 1)  # it is the other's
        assert first.take("t", 2) is None
        # one that its holder has forgotten is free again
        journal.rows("UPDATE places SET until = clock_timestamp() WHERE slot = 0", ())
        assert first.keep([]) == set()
        assert first.take("t", 2) == 0
        second.drop(journal.owner)
        assert first.take("t", 2) == 0
