"""A server whose disk is full is named, and what workers had goes on when there is room."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.postgres import missing
from tests.workers.crew import ROOT


def _why_not() -> str:
    if shutil.which("unshare") is None:
        return "there is no `unshare`"
    if os.geteuid():
        return "only root may mount a disk for another user"
    tried = subprocess.run(
        ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"],
        capture_output=True,
        text=True,
        check=False,
    )
    return tried.stderr.strip()


@pytest.mark.timeout(400)
def test_a_full_disk_of_the_server_loses_and_repeats_nothing(tmp_path: Path) -> None:
    if reason := missing() or _why_not():
        pytest.skip(f"A server cannot have a small disk here: {reason}.")
    command = [sys.executable, "-m", "tests.workers.full_server", str(tmp_path)]
    done = subprocess.run(
        ["unshare", "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
