"""A command ends, whatever the tools that it called still do."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from toolplan.path import Json

ROOT = Path(__file__).parents[2]


def started(folder: Path, steps: Json) -> subprocess.Popen[str]:
    """Start `toolplan run` with a plan of `steps`."""
    file = folder / "plan.json"
    file.write_text(json.dumps({"toolplan": 1, "steps": steps}))
    words = ["run", str(file), "--tools", "tests.doubles.hanging:TOOLS", "--yes", "--json"]
    return subprocess.Popen(
        [sys.executable, "-c", "from toolplan.cli._app import main; main()", *words],
        cwd=ROOT,
        env={**os.environ, "TOOLPLAN_HOME": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


HANGING = ("deaf", "deaf_write", "blocked", "to_thread", "own_pool", "leaves_a_task")


@pytest.mark.timeout(90)
@pytest.mark.parametrize("name", HANGING)
def test_a_run_with_a_tool_that_does_not_end_is_reported_and_the_process_ends(
    name: str, tmp_path: Path
) -> None:
    call: Json = {"id": "b", "tool": name, "args": {"n": 1}, "timeout_s": 0.5}
    good: Json = {"id": "a", "tool": "good", "args": {"n": 7}}
    process = started(tmp_path, [good, call])
    out, err = process.communicate(timeout=60)
    done: Any = json.loads(out)
    assert done["steps"]["a"]["output"] == 7, err
    match name:
        case "leaves_a_task":
            assert (process.returncode, done["status"]) == (0, "succeeded")
        case "deaf_write":
            assert (process.returncode, done["status"]) == (1, "in_doubt")
        case _:
            assert (process.returncode, done["status"]) == (1, "failed")
            assert done["steps"]["b"]["error"]["code"] == "timeout"
    assert "Traceback" not in err
    if name in ("deaf", "deaf_write"):
        assert "ignore that they were cancelled, and still run: 1 (b)" in err
    if name == "blocked":
        assert "was given up and still runs in its thread" in err


@pytest.mark.timeout(90)
@pytest.mark.parametrize("name", HANGING[:-1])
def test_an_interrupt_ends_a_command_whose_tool_does_not_end(name: str, tmp_path: Path) -> None:
    marker = tmp_path / "runs.sqlite"
    process = started(tmp_path, [{"id": "b", "tool": name, "args": {"n": 1}}])
    while not marker.exists() or b"step-started" not in _journal(tmp_path):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Interrupted. `toolplan show" in err
    assert "Traceback" not in err


@pytest.mark.timeout(90)
def test_calls_that_hang_do_not_stop_other_calls(tmp_path: Path) -> None:
    hung: Json = {
        "id": "h",
        "tool": "blocked",
        "args": {"n": "${item}"},
        "for_each": list(range(40)),
        "timeout_s": 0.5,
        "on_error": "continue",
    }
    good: Json = {"id": "a", "tool": "good", "args": {"n": 7}, "after": ["h"], "timeout_s": 20}
    sql: Json = {"id": "s", "tool": "sql", "args": {"sql": "SELECT 1 AS x"}, "after": ["h"]}
    process = started(tmp_path, [hung, good, sql])
    out, err = process.communicate(timeout=60)
    done: Any = json.loads(out)
    assert done["steps"]["a"]["output"] == 7, err
    assert done["steps"]["s"]["output"]["data"] == [{"x": 1}]
    assert "Calls that were given up and end with this process: 40." in err


def _journal(folder: Path) -> bytes:
    files = [each for each in folder.glob("runs.sqlite*") if each.is_file()]
    return b"".join(each.read_bytes() for each in files)
