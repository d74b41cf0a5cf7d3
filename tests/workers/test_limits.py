"""Limits over all machines: never exceeded, whoever comes and goes."""

import asyncio
from itertools import accumulate
from pathlib import Path

from tests.postgres import Server
from tests.workers._office import ledger, office, over, plan_of
from tests.workers.crew import SETTINGS, crew
from toolplan.events import RunState

_LIMITED = f"{SETTINGS}\n[limits.everywhere]\nbusy = 2\n"


def _most(words: list[str]) -> int:
    changes = sorted((int(at), int(change)) for at, _, change in (w.partition(":") for w in words))
    return max(accumulate(change for _, change in changes))


async def test_a_limit_over_workers_is_never_exceeded(postgres: Server, home: Path) -> None:
    url = postgres.schema()
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
