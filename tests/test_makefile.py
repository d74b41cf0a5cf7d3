"""`make ask Q=…`: the question reaches the command as it was written, whatever is in it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
QUESTIONS = [
    "shipments of `touch stolen`",
    "shipments of $(touch stolen)",
    "$(shell touch stolen) and ${PATH} and $HOME and $$ and $(Q)",
    '5" pipe',
    "it's a; touch stolen #b \\",
    "a & touch stolen | cat > stolen",
    "--yes",
    "%s %d",
    "two\nlines",
]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a folder with the Makefile, and a command that writes its arguments to a file."""
    folder = tmp_path / "clone"
    (folder / ".venv/bin").mkdir(parents=True)
    shutil.copy(ROOT / "Makefile", folder)
    command = folder / ".venv/bin/toolplan"
    command.write_text('#!/bin/sh\nprintf "%s\\0" "$@" > arguments\n', "utf-8")
    command.chmod(0o755)
    (folder / ".venv/bin/python").touch()
    for at, name in enumerate(("pyproject.toml", "constraints.txt", ".venv/.ask")):
        (folder / name).touch()
        os.utime(folder / name, (2_000_000_000 + at, 2_000_000_000 + at))
    os.utime(folder / ".venv/bin/python", (1_000_000_000, 1_000_000_000))
    return folder


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("by_environment", [False, True])
def test_a_question_is_no_code(clone: Path, question: str, *, by_environment: bool) -> None:
    """A7: neither make nor the shell reads the question."""
    words = ["make", "ask"] if by_environment else ["make", "ask", f"Q={question}"]
    environment = {**os.environ, **({"Q": question} if by_environment else {})}
    done = subprocess.run(
        words, cwd=clone, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (clone / "arguments").read_text("utf-8").split("\0") == ["ask", "--", question, ""]
    assert not (clone / "stolen").exists()
