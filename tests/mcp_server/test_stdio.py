"""The server in a process of its own, over standard input and output."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters

from benchmarks.processes import kill_own
from tests.cli.test_approve_terminal import Terminal
from tests.mcp_server.served import content, error, text
from toolplan.cli import main
from toolplan.events import RunState, StepState
from toolplan.storage.journal import Journal

TOOLS = '''
import asyncio
import os
from pathlib import Path

from toolplan import Toolbox, tool

HERE = Path(__file__).parent


def write(line: str) -> None:
    with (HERE / "ledger").open("a") as file:
        file.write(line + "\\n")


@tool(effects="read")
async def look(name: str) -> dict:
    """Looks something up; `slow` waits for a file."""
    print("this goes to standard output")
    write(f"look {name}")
    if name == "slow":
        (HERE / "pid").write_text(str(os.getpid()))
    while name == "slow" and not (HERE / "go").exists():
        await asyncio.sleep(0.05)
    return {"found": name}


@tool(effects="write")
async def send(to: str) -> dict:
    """Sends mail."""
    write(f"send {to}")
    return {"sent": to}


TOOLS = Toolbox([look, send])
'''

SLOW: dict[str, Any] = {
    "toolplan": 1,
    "steps": [
        {"id": "quick", "tool": "look", "args": {"name": "quick"}},
        {"id": "slow", "tool": "look", "args": {"name": "slow"}, "after": ["quick"]},
    ],
}
SENDS: dict[str, Any] = {
    "toolplan": 1,
    "steps": [{"id": "mail", "tool": "send", "args": {"to": "ann"}}],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "slow_tools.py").write_text(TOOLS)
    return tmp_path


def parameters(folder: Path) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "toolplan", "mcp", "--tools", "slow_tools:TOOLS"],
        cwd=str(folder),
        env={**os.environ, "TOOLPLAN_HOME": str(folder / "home")},
    )


def ledger(folder: Path) -> list[str]:
    path = folder / "ledger"
    return path.read_text().splitlines() if path.exists() else []


def server_of(folder: Path) -> int:
    """Wait until the slow tool is under way, and what is over on disk; give their process."""
    path = folder / "pid"
    while not (path.exists() and path.read_text()):
        time.sleep(0.02)
    with closing(Journal(folder / "home" / "runs.sqlite")) as journal:
        (entry,) = journal.runs()
        while journal.load(entry.run).steps["quick"].state is not StepState.SUCCEEDED:
            time.sleep(0.02)
    return int(path.read_text())


def approved(folder: Path, result: Any) -> None:
    """Do what the error says that a person does: at a terminal, with the word that is shown."""
    line = result["error"]["help"].partition("asks: ")[2].partition("\n")[0]
    assert f"TOOLPLAN_HOME={folder / 'home'} " in line
    command = ["resume", result["run"][:8]]
    assert line.endswith(" ".join(command))
    with closing(Terminal(command, folder)) as terminal:
        terminal.until("to run it: ")
        word = re.findall(r"Type (\S+) to run it: ", terminal.shown)
        terminal.type(f"{word[0]}\n")
        assert terminal.ended() == 0, terminal.shown


async def test_a_foreign_client_lists_plans_checks_runs_and_is_refused_an_effect(
    folder: Path,
) -> None:
    """What waits is approved on the command line. H28: who leaves does not stop their run."""
    async with Client(parameters(folder)) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["search", "run", "runs"]
        found = await client.call_tool("search", {"query": "send mail"})
        assert text(found).startswith("send(to: str)")
        one = await client.call_tool("run", {"tool": "look", "args": {"name": "kiwi"}})
        assert content(one) == {"found": "kiwi"}
        (folder / "ledger").unlink()
        result = error(await client.call_tool("run", {"plan": SENDS}))
        assert result["error"]["code"] == "approval-required"
        assert result["effects"][0]["args"] == {"to": "ann"}
        assert ledger(folder) == []
        await asyncio.to_thread(approved, folder, result)
        assert ledger(folder) == ["send ann"]
        sent = content(await client.call_tool("runs", {"run": result["run"]}))
        assert sent["status"] == "succeeded"
        (folder / "go").touch()
        ran = content(await client.call_tool("run", {"plan": SLOW, "detail": True}))
        assert ran["steps"]["slow"]["output"] == {"found": "slow"}
        left = content(await client.call_tool("run", {"plan": SLOW, "wait_s": 0}))
    with closing(Journal(folder / "home" / "runs.sqlite")) as journal:
        assert journal.load(journal.find(left["run"])).status is RunState.SUCCEEDED


async def test_a_run_of_a_killed_server_is_gone_on_with_by_the_next(folder: Path) -> None:
    """What is over is not done again. Another server cannot cancel the run while it is active."""
    async with Client(parameters(folder)) as client, Client(parameters(folder)) as other:
        running = asyncio.create_task(client.call_tool("run", {"plan": SLOW}))
        server = await asyncio.to_thread(server_of, folder)
        (entry,) = content(await other.call_tool("runs", {}))["runs"]
        run = {"run": entry["run"]}
        refused = error(await other.call_tool("runs", {**run, "action": "cancel"}))
        assert refused["error"]["code"] == "journal-taken"
        assert kill_own(server)
        with pytest.raises(MCPError):
            await running
    (folder / "go").touch()
    async with Client(parameters(folder)) as client:
        (entry,) = content(await client.call_tool("runs", {}))["runs"]
        assert (entry["status"], entry["is_left"]) == ("running", True)
        ended = content(await client.call_tool("runs", {**run, "action": "resume"}))
        assert ended["status"] == "succeeded"
    assert ledger(folder) == ["look quick", "look slow", "look slow"]


@pytest.mark.parametrize(
    ("arguments", "variables", "code", "said"),
    [
        (["--tools", "nothing:HERE"], {}, 2, "no module"),
        (["--tools", "slow_tools:TOOLS", "--http", "--host", "0.0.0.0"], {}, 2, "no token is set"),
        (
            ["--tools", "slow_tools:TOOLS", "--http", "--host", "0.0.0.0"],
            {"TOOLPLAN_MCP_TOKEN": "short"},
            2,
            "fewer than 16",
        ),
        (["--tools", "slow_tools:TOOLS"], {"TOOLPLAN_HOME": "/dev/null/x"}, 3, "cannot be"),
    ],
)
def test_a_server_that_cannot_start_says_why(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    variables: dict[str, str],
    code: int,
    said: str,
) -> None:
    """C09."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    monkeypatch.delitem(sys.modules, "slow_tools", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        main(["mcp", *arguments])
    assert ended.value.code == code
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.out == ""
