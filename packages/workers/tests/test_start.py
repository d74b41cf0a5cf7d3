"""Workers that start before their database does."""

import time
from pathlib import Path

import pytest

from tests.postgres import server
from tests.workers.crew import crew


@pytest.mark.timeout(90)
def test_a_worker_waits_for_its_database(tmp_path: Path) -> None:
    with server() as own:
        own.stop()
        with crew(own.schema(), tmp_path, 1) as workers:
            end = time.monotonic() + 40
            while "The worker waits for it." not in workers.logs():
                assert time.monotonic() < end, workers.logs()
                assert workers.codes == [None], workers.logs()
                time.sleep(0.1)
            own.start()
            workers.wait_ready()
