"""Faults in the user's own tools: where they are, their traceback, and no other traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.calls import Call

TOOLS = """
import asyncio, gc, json, sys, time
import toolplan

@toolplan.tool(effects="read")
def bug(n: int = 1) -> int:
    return inner({})

def inner(record: dict) -> int:
    return record["key"]

@toolplan.tool(effects="read")
def library(n: int = 1) -> int:
    return json.loads("{")

@toolplan.tool(effects="read")
async def caused(n: int = 1) -> int:
    try:
        return inner({})
    except KeyError as error:
        raise ValueError("first\\x1b[31m\\nsecond") from error

@toolplan.tool(effects="read")
async def group(n: int = 1) -> int:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(asyncio.to_thread(inner, {}))
    return 1

@toolplan.tool(effects="read")
def refuses(n: int = 1) -> int:
    raise toolplan.ToolError("There is no such record.")

@toolplan.tool(effects="read")
async def stop_loop(n: int = 1) -> int:
    asyncio.get_running_loop().stop()
    await asyncio.sleep(1)
    return 1

@toolplan.tool(effects="read")
def stop_from_thread(n: int = 1) -> int:
    for each in gc.get_objects():
        if isinstance(each, asyncio.AbstractEventLoop) and each.is_running():
            each.call_soon_threadsafe(each.stop)
    time.sleep(0.2)
    return 1

@toolplan.tool(effects="read")
async def cancel_all(n: int = 1) -> int:
    for each in asyncio.all_tasks():
        each.cancel()
    await asyncio.sleep(1)
    return 1

@toolplan.tool(effects="read")
async def cancel_others(n: int = 1) -> int:
    for each in asyncio.all_tasks() - {asyncio.current_task()}:
        each.cancel()
    return 1
"""


def plan(tool: str, **more: object) -> object:
    return {"toolplan": 1, "steps": [{"id": "a", "tool": tool, **more}]}


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tools_folder: Callable[..., Path]) -> Run:
    """Run a plan of one tool in a process of its own."""

    def run(tool: str, *words: str, **more: object) -> subprocess.CompletedProcess[str]:
        folder = tools_folder("faulty", TOOLS, plan(tool, **more))
        command = [sys.executable, "-m", "toolplan", "run", "plan.json", "--tools", "faulty:*"]
        return subprocess.run(
            [*command, *words], cwd=folder, capture_output=True, text=True, check=False
        )

    return run


@pytest.mark.parametrize(
    ("tool", "line"),
    [
        ("bug", "In the tool bug, faulty.py:10: KeyError: 'key'. --debug shows the traceback."),
        ("library", "In the tool library, faulty.py:14: json.decoder.JSONDecodeError: Expecting"),
        ("caused", "In the tool caused, faulty.py:21: "),
        ("group", "In the tool group, faulty.py:10: KeyError: 'key'."),
    ],
)
def test_a_fault_is_one_line_with_its_place(run: Run, tool: str, line: str) -> None:
    """A9: the tool, FILE:LINE of the user's code, and --debug."""
    done = run(tool)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stderr
    found = [each for each in done.stderr.splitlines() if each.startswith("In the tool")]
    assert len(found) == 1
    assert found[0].startswith(line)


def test_debug_shows_own_frames_only(run: Run) -> None:
    for words in (("--debug",), ("--debug", "--json")):
        text = run("caused", *words).stderr
        assert text.count("Traceback (most recent call last):") == 2
        assert '  File "' in text
        assert 'faulty.py", line 10, in inner\n    return record["key"]' in text
        assert "The above exception was the direct cause" in text
        assert "asyncio" not in text
        assert "toolplan/" not in text
        assert "\x1b" not in text


def test_a_fault_is_reported_once_however_often_it_happens(run: Run) -> None:
    done = run("bug", for_each=[1, 2, 3], retries=2, on_error="continue", args={"n": "${item}"})
    assert done.stderr.count("In the tool bug, faulty.py:10") == 1


def test_what_a_tool_says_itself_is_no_fault(run: Run) -> None:
    done = run("refuses", "--debug")
    assert "There is no such record." in done.stdout
    assert "In the tool" not in done.stderr
    assert "Traceback" not in done.stderr


def test_json_is_not_mixed_with_lines(run: Run) -> None:
    done = run("bug", "--json")
    assert json.loads(done.stdout)["status"] == "failed"
    assert "In the tool" not in done.stderr


def test_a_module_that_fails_has_its_own_traceback(tools_folder: Callable[..., Path]) -> None:
    folder = tools_folder("broken_at_import", "\n\ndef f():\n    1 / 0\n\nf()\n", plan("f"))
    for words, count in ((), 0), (("--debug",), 1):
        done = subprocess.run(
            [sys.executable, "-m", "toolplan", "tools", "--tools", "broken_at_import:*", *words],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert "broken_at_import.py:4; --debug shows the traceback" in done.stderr
        assert done.stderr.count("Traceback (most recent call last):") == count
        assert "importlib" not in done.stderr


def test_a_question_may_be_about_debug(call: Call) -> None:
    assert "--debug" not in call("plan", "Get facilities in Berlin", "--debug").err
    assert call("plan", "--", "--debug").code == 1  # it is a question


@pytest.mark.parametrize("tool", ["stop_loop", "stop_from_thread", "cancel_all", "cancel_others"])
@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_tool_that_stops_the_run_gives_no_traceback(
    run: Run, tool: str, words: tuple[str, ...]
) -> None:
    """D18: the run is kept, and the error names it."""
    done = run(tool, *words)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "run-stopped" in done.stderr
    assert "`toolplan show " in done.stderr
    assert "never awaited" not in done.stderr
