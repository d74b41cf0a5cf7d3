"""Workers are killed at random (`make crash-workers` does it a thousand times)."""

from pathlib import Path

import pytest

from tests.postgres import Server
from tests.workers.kills import report_of


@pytest.mark.timeout(180)
async def test_killed_workers_lose_and_repeat_nothing(postgres: Server, home: Path) -> None:
    report = await report_of(postgres.schema(), home, kills=5, workers=2, seed=1)
    assert not report.breaches, str(report)
    assert report.kills == 5
    assert report.runs
