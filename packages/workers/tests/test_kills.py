"""Workers are killed at random (`make crash-workers` does it a thousand times)."""

from pathlib import Path

import pytest

from tests.postgres import Server
from tests.workers.kills import Trouble, report_of


@pytest.mark.timeout(300)
async def test_dead_workers_lose_and_repeat_nothing(postgres: Server, home: Path) -> None:
    """60 kills, and a server that loses its memory; calls in doubt are decided by a person."""
    report = await report_of(postgres, home, Trouble(kills=60, restarts=1, workers=3, seed=1))
    assert not report.breaches, str(report)
    assert report.decided
    assert report.approved
    assert report.allowed


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("sabotage", "breach"),
    [
        ("forget_intents", "was paid"),
        ("end_jobs_first", "is lost: it is running"),
        ("drop_messages", "is lost: it is waiting"),
        ("call_before_the_disk_knows", "was paid"),
        ("look_at_nobody", "is lost: it is running"),
    ],
)
async def test_workers_that_are_wrong_are_found_out(
    sabotage: str, breach: str, postgres: Server, home: Path
) -> None:
    trouble = Trouble(kills=8, workers=2, seed=2, sabotage=sabotage, patience_s=20.0)
    report = await report_of(postgres, home, trouble)
    assert breach in str(report)
