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
