"""A disk that really is full is named, and what was accepted continues when there is room."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.full_disk import LONG, SHORT, STORIES

ROOT = Path(__file__).parents[2]
IN_ITS_OWN_NAMESPACE = ("unshare", "-rm")


def why_not(folder: Path) -> str:
    """Say why no disk can be mounted here; nothing where one can."""
    if shutil.which("unshare") is None:
        return "there is no `unshare`"
    mount = ("mount", "-t", "tmpfs", "none", str(folder))
    tried = subprocess.run(
        [*IN_ITS_OWN_NAMESPACE, *mount], capture_output=True, text=True, check=False
    )
    return tried.stderr.strip()


@pytest.mark.parametrize("times", [SHORT, LONG], ids=["in the file", "beside the file"])
@pytest.mark.parametrize("story", STORIES)
def test_a_full_disk_loses_nothing_and_repeats_nothing(
    tmp_path: Path, story: str, times: int
) -> None:
    if reason := why_not(tmp_path):
        pytest.skip(f"A small disk cannot be mounted here: {reason}")
    command = [sys.executable, "-m", "tests.crash.full_disk", str(tmp_path), story, str(times)]
    done = subprocess.run(
        [*IN_ITS_OWN_NAMESPACE, *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
