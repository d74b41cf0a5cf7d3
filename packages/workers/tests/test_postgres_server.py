"""The server of the tests: it ends with the tests, however they end."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.postgres import missing

_TESTS = """
import time
from tests.postgres import server
with server() as running:
    print(running.folder, flush=True)
    time.sleep(600)
"""


def test_it_ends_with_tests_that_are_killed() -> None:
    if reason := missing():
        pytest.skip(f"{reason}.")
    root = Path(__file__).parents[3]
    with subprocess.Popen(
        [sys.executable, "-c", _TESTS], cwd=root, stdout=subprocess.PIPE, text=True
    ) as tests:
        assert tests.stdout is not None
        folder = Path(tests.stdout.readline().strip())
        assert (folder / "data" / "postmaster.pid").exists()
        tests.kill()
    end = time.monotonic() + 90
    while folder.exists():
        assert time.monotonic() < end
        time.sleep(0.05)
