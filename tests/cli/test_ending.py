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

from toolplan.plan.path import Json

ROOT = Path(__file__).parents[2]


def started(folder: Path, steps: Json) -> subprocess.Popen[str]:
    """Start `toolplan run` with a plan of `steps`."""
    file = folder / "plan.json"
    file.write_text(json.dumps({"toolplan": 1, "steps": steps}))
    words = ["run", str(file), "--tools", "tests.doubles.hanging:TOOLS", "--yes", "--json"]
    return subprocess.Popen(
        [sys.executable, "-c", "from toolplan.cli._commands import main; main()", *words],
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
    out, err = started(tmp_path, [hung, good, sql]).communicate(timeout=60)
    done: Any = json.loads(out)
    assert done["steps"]["a"]["output"] == 7, err
    assert done["steps"]["s"]["output"]["data"] == [{"x": 1}]
    assert "Calls that were given up and end with this process: 40." in err


def _journal(folder: Path) -> bytes:
    files = [each for each in folder.glob("runs.sqlite*") if each.is_file()]
    return b"".join(each.read_bytes() for each in files)


TOOLS = '''
import atexit
import toolplan

class Log:
    """Refers to itself, so that only the collector of garbage frees it, and its file."""

    def __init__(self, name):
        self.file = open(name, "w")
        self.own = self.note

    def note(self, text):
        self.file.write(text)

LOG = Log("calls.log")

@toolplan.tool
def price(name: str) -> float:
    """Return the price of a thing."""
    LOG.note(name)
    return 1.0
'''


def test_what_the_users_code_left_in_memory_is_written_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(TOOLS)
    steps = [{"id": "a", "tool": "price", "args": {"name": "tea"}}]
    (tmp_path / "plan.json").write_text(json.dumps({"toolplan": 1, "steps": steps}))
    done = command(tmp_path, "run", "plan.json", "--tools", "mine:*", "--yes")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "calls.log").read_text() == "tea"


def test_a_file_of_the_user_is_not_taken_for_a_part_of_python(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(TOOLS)
    for name in sorted(sys.stdlib_module_names - {"sys", "builtins"}):
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('the {name} of the user')")
    steps = [{"id": "a", "tool": "prise", "args": {"name": "tea"}}]
    (tmp_path / "plan.json").write_text(json.dumps({"toolplan": 1, "steps": steps}))
    done = command(tmp_path, "check", "plan.json", "--tools", "mine:*")
    assert "Did you mean 'price'?" in done.stdout + done.stderr
    assert "of the user" not in done.stdout + done.stderr
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("words", "code"), [(("tools", "--json"), 0), (("check", "-", "--json"), 1), (("check",), 2)]
)
def test_a_command_that_loads_no_other_code_ends_with_its_code_and_all_its_output(
    words: tuple[str, ...], code: int, tmp_path: Path
) -> None:
    done = command(tmp_path, *words, given='{"toolplan": 1, "steps": [{"id": "a"}]}')
    assert done.returncode == code
    if "--json" in words:
        json.loads(done.stdout)


def test_a_program_that_calls_a_command_goes_on(tmp_path: Path) -> None:
    text = (
        "from toolplan.cli import main\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    print('ended with', ended.code)"
    )
    done = command(tmp_path, "tools", program=("-c", text))
    assert done.stdout.endswith("ended with 0\n")


def test_a_profiler_of_a_command_prints_what_it_found(tmp_path: Path) -> None:
    done = command(tmp_path, "tools", program=("-m", "cProfile", "-m", "toolplan"))
    assert "function calls" in done.stdout


MODULE = ("-m", "toolplan")


def command(
    folder: Path, *words: str, given: str = "", program: tuple[str, ...] = MODULE
) -> subprocess.CompletedProcess[str]:
    """Run a command in `folder`; the folder is not where Python looks for modules by itself."""
    return subprocess.run(
        [sys.executable, "-P", *program, *words],
        cwd=folder,
        env={**os.environ, "TOOLPLAN_HOME": str(folder)},
        input=given,
        capture_output=True,
        text=True,
        timeout=60,
    )
