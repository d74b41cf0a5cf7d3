"""How much a run does at once and how long its calls may take.

--concurrency, --timeout, [limits].
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import get_args

import pytest

from tests.cli.calls import Call
from toolplan.app.settings import read_settings
from toolplan.cli._commands import COMMANDS, commands
from toolplan.storage.journal import Journal

TOOLS = """
import asyncio, os, signal, time
from contextlib import closing
from pathlib import Path
from toolplan import tool

LEDGER = Path(__file__).with_name("ledger")
RUNNING = {"in all": 0, "fetch": 0, "look": 0}


async def work(name):
    for each in ("in all", name):
        RUNNING[each] += 1
        with LEDGER.open("a") as file:
            file.write(f"{each}: {RUNNING[each]}\\n")
    await asyncio.sleep(0.02)
    for each in ("in all", name):
        RUNNING[each] -= 1
    return {"n": 1}


@tool(effects="read")
async def fetch(at: int) -> dict[str, int]:
    \"\"\"Fetches.\"\"\"
    if os.environ.get("DIE") and at == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return await work("fetch")


@tool(effects="read")
async def look(at: int) -> dict[str, int]:
    \"\"\"Looks.\"\"\"
    return await work("look")


@tool(effects="read")
async def hang() -> None:
    \"\"\"Never answers.\"\"\"
    await asyncio.sleep(3600)


TOOLS = [fetch, look, hang]
"""


@pytest.fixture
def folder(tools_folder: Callable[..., Path]) -> Path:
    """A folder with two plans and a module of their tools, which can be imported."""
    plan = {
        "toolplan": 1,
        "steps": [
            {
                "id": name,
                "tool": name,
                "for_each": list(range(6)),
                "max_items": 6,
                "args": {"at": "${item}"},
            }
            for name in ("fetch", "look")
        ],
    }
    folder = tools_folder("limited_tools", TOOLS.replace("\\\\n", "\\n"), plan)
    (folder / "hang.json").write_text('{"toolplan": 1, "steps": [{"id": "h", "tool": "hang"}]}')
    return folder


def words(folder: Path, *more: str, plan: str = "plan.json") -> list[str]:
    return ["run", str(folder / plan), "--tools", "limited_tools:TOOLS", *more]


def most(folder: Path) -> dict[str, int]:
    """The most calls at once, in all and by tool."""
    found: dict[str, int] = {}
    for line in (folder / "ledger").read_text().splitlines():
        name, _, count = line.partition(": ")
        found[name] = max(found.get(name, 0), int(count))
    return found


def settings(home: Path, *lines: str) -> None:
    (home / "toolplan.toml").write_text("\n".join(lines))


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ([], {"in all": 12, "fetch": 6, "look": 6}),
        (["--concurrency", "1"], {"in all": 1, "fetch": 1, "look": 1}),
        (["--concurrency", "fetch=2"], {"in all": 8, "fetch": 2, "look": 6}),
        (
            ["--concurrency", "fetch=2", "--concurrency", "look=1"],
            {"in all": 3, "fetch": 2, "look": 1},
        ),
        (["--concurrency", "python=4"], {"in all": 4}),
        (["--concurrency", "5", "--concurrency", "4"], {"in all": 4}),
    ],
)
def test_no_more_calls_are_made_concurrency_than_was_asked_for(
    folder: Path, call: Call, options: Sequence[str], wanted: dict[str, int]
) -> None:
    assert call(*words(folder, *options)).code == 0
    found = most(folder)
    assert {name: found[name] for name in wanted} == wanted


def test_a_call_has_no_more_time_than_was_asked_for(folder: Path, call: Call) -> None:
    said = call(*words(folder, "--timeout", "0.05", plan="hang.json"), code=1)
    assert "No answer came within 0.05 s." in said.out + said.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--concurrency", "0"], "concurrency '0' is not a valid limit"),
        (["--concurrency", "fetch=-1"], "concurrency 'fetch=-1' is not a valid limit"),
        (["--concurrency", "fetch="], "concurrency 'fetch=' is not a valid limit"),
        (["--concurrency", "99999999"], "is not a valid limit"),
        (["--concurrency", "fetsch=1"], "Did you mean 'fetch'?"),
        (["--concurrency", "zzz=1"], "Sources: 'builtin', 'python'"),
        (["--timeout", "0"], "timeout 0 is not a valid time"),
        (["--timeout", "nan"], "timeout nan is not a valid time"),
        (["--timeout", "1e9"], "is not a valid time"),
    ],
)
def test_what_is_no_limit_is_a_usage_error_and_nothing_runs(
    folder: Path, call: Call, options: Sequence[str], message: str
) -> None:
    said = call(*words(folder, *options), code=2)
    assert message in said.err
    assert not (folder / "ledger").exists()


def test_settings_limit_a_run_unless_the_command_does(folder: Path, home: Path, call: Call) -> None:
    settings(
        home,
        "[limits]",
        "concurrency = 3",
        "timeout = 0.5",
        "[limits.tools]",
        "look = 1",
        "absent = 1",
        "[limits.sources]",
        "elsewhere = 1",
    )
    assert read_settings().models.models == ()  # the table is not theirs, and known to them
    assert call(*words(folder)).code == 0
    found = most(folder)
    assert (found["in all"], found["look"]) == (3, 1)
    (folder / "ledger").unlink()
    assert call(*words(folder, "--concurrency", "9", "--concurrency", "look=2")).code == 0
    assert most(folder) == {"in all": 8, "fetch": 6, "look": 2}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["limits = 3"], "'limits' is not a table"),
        (
            ["[limits]", "concurrency = 0"],
            "[limits] cannot be used: Expected `int` >= 1 - at `$.concurrency`",
        ),
        (
            ["[limits]", "concurrency = true"],
            "[limits] cannot be used: Expected `int | null`, got `bool`",
        ),
        (["[limits]", "timeout = -2"], "[limits] cannot be used: Expected `float` > 0"),
        (
            ["[limits]", "at_onc = 3"],
            "[limits] cannot be used: Object contains unknown field `at_onc`",
        ),
        (
            ["[limits.tools]", 'look = "1"'],
            "[limits] cannot be used: Expected `int`, got `str` - at `$.tools",
        ),
    ],
)
def test_settings_that_are_no_limits_are_a_usage_error(
    folder: Path, home: Path, call: Call, lines: Sequence[str], message: str
) -> None:
    settings(home, *lines)
    said = call(*words(folder), code=2)
    assert message in said.err
    assert "toolplan.toml" in said.err


def test_what_a_plan_is_said_to_take_counts_the_limits(home: Path, call: Call) -> None:
    with closing(Journal(home / "runs.sqlite")) as journal:
        journal.keep_durations("r1", [("shipments_list", 5.0)])
    question = ["plan", "Show me rejected shipments", "--json"]
    assert call(*question).json["metadata"]["estimated_duration_ms"] == 5_000
    settings(home, "[limits]", "timeout = 2")
    assert call(*question).json["metadata"]["estimated_duration_ms"] == 2_000


def test_a_run_that_is_resumed_keeps_its_limits_until_they_are_given_anew(
    folder: Path, call: Call
) -> None:
    command = [sys.executable, "-m", "toolplan", *words(folder, "--concurrency", "fetch=1")]
    for more in ([], ["--concurrency", "fetch=2"]):
        died = subprocess.run(command, env={**os.environ, "DIE": "1"}, capture_output=True)
        assert died.returncode == -signal.SIGKILL
        run = call("runs", "--json").json["runs"][0]["run"]
        (folder / "ledger").unlink(missing_ok=True)
        sys.modules.pop("limited_tools", None)
        assert call("resume", run, *more).code == 0
        assert most(folder)["fetch"] == (2 if more else 1)


WHOLE = [
    (command, argument.name)
    for command in COMMANDS
    for argument in commands(command)[command].assemble_argument_collection()
    if int in (argument.hint, *get_args(argument.hint))
]


def test_the_options_that_are_counts_are_known() -> None:
    assert len(WHOLE) >= 14
    assert {"ask", "demo", "eval", "mcp", "runs", "studio", "worker"} <= {each for each, _ in WHOLE}


@pytest.mark.parametrize(("command", "option"), WHOLE)
@pytest.mark.parametrize("value", ["1.5", "2.0", "x", ""])
def test_a_count_is_whole_never_rounded(command: str, option: str, value: str, call: Call) -> None:
    known = commands(command)[command].assemble_argument_collection()
    words = ["x" for argument in known if argument.required]
    said = call(command, *words, option, value)
    assert (said.code, said.out) == (2, "")
    assert f"Invalid value for {option}: {value!r} is not a whole number." in said.err


def test_a_worker_waits_for_a_number_of_seconds(call: Call) -> None:
    assert call("worker", "depot", "--grace", "nan").code == 2
