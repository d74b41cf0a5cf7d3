"""`--approve DIGEST`: another plan's digest keeps no run, and leaves alone one that waits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.calls import Call
from tests.doubles.model_server import ScriptedModelServer
from tests.named_tools import load_tools
from toolplan import ExecutionPlan, compile_plan
from toolplan.engines import run
from toolplan.storage.journal import Journal

TOOLS = '''
from pathlib import Path
from toolplan import tool

LEDGER = Path(__file__).with_name("ledger")


@tool(effects="write")
def send(to: str) -> dict:
    """Sends mail."""
    with LEDGER.open("a") as file:
        file.write(to)
    return {"sent": to}


TOOLS = [send]
'''
PLAN = {"toolplan": 1, "steps": [{"id": "s", "tool": "send", "args": {"to": "ann"}}]}
TEXT = json.dumps(PLAN)
WRONG = "0" * 64


@pytest.fixture
def folder(tools_folder: Callable[..., Path]) -> Path:
    """A folder with a plan and a module of its tools."""
    return tools_folder("approved_tools", TOOLS, PLAN)


@pytest.fixture
def plan(folder: Path) -> ExecutionPlan:
    compiled = compile_plan(TEXT, tools=load_tools("approved_tools:TOOLS", folder)).plan
    assert compiled is not None
    return compiled


@pytest.fixture
def waiting(folder: Path, home: Path, plan: ExecutionPlan) -> str:
    """A run that waits for approval: who was asked did not answer."""

    async def silent(_: ExecutionPlan) -> None:
        raise ConnectionError

    tools = load_tools("approved_tools:TOOLS", folder)
    with closing(Journal(home / "runs.sqlite")) as journal, pytest.raises(ConnectionError):
        asyncio.run(run(plan, tools, journal=journal, approval=silent, run_id="w" * 8))
    return "w" * 8


def words(folder: Path, *more: str) -> list[str]:
    return ["run", str(folder / "plan.json"), "--tools", "approved_tools:TOOLS", *more]


@pytest.mark.parametrize("digest", ["", " "])
@pytest.mark.parametrize("more", [(), ("--yes",), ("--json",)])
def test_an_empty_digest_is_a_usage_error_of_every_command(
    folder: Path, call: Call, digest: str, more: tuple[str, ...]
) -> None:
    for command in (words(folder), ["ask", "Send mail to ann"], ["resume", "ww"]):
        said = call(*command, "--approve", digest, *more)
        assert said.code == 2
        assert "is not the digest of a plan" in said.err
    assert not (folder / "ledger").exists()
    assert call("runs", "--json").json["runs"] == []


@pytest.mark.parametrize("more", [(), ("--yes",), ("--json",)])
def test_a_wrong_digest_keeps_no_run(
    folder: Path, plan: ExecutionPlan, call: Call, more: tuple[str, ...]
) -> None:
    said = call(*words(folder, "--approve", WRONG, *more))
    assert said.code == 1
    assert f"Its digest is {plan.digest}, not {WRONG}." in said.err
    assert call("runs", "--json").json["runs"] == []
    assert not (folder / "ledger").exists()
    assert call(*words(folder, "--approve", plan.digest)).code == 0
    assert (folder / "ledger").read_text() == "ann"


@pytest.mark.parametrize("more", [(), ("--eager",), ("--replan",)])
def test_a_wrong_digest_keeps_no_run_of_a_question_either(
    folder: Path, plan: ExecutionPlan, call: Call, more: tuple[str, ...]
) -> None:
    question = ["ask", "Frobnicate ann", "--tools", "approved_tools:TOOLS", *more]
    with ScriptedModelServer(TEXT) as server:
        said = call(*question, "--model", server.spec, "--approve", WRONG)
        assert said.code == 1
        assert f"Its digest is {plan.digest}, not {WRONG}." in said.err
        assert call("runs", "--json").json["runs"] == []
        assert not (folder / "ledger").exists()
        said = call(*question, "--model", server.spec, "--approve", plan.digest)
    assert said.code == 0, said.err
    assert (folder / "ledger").read_text() == "ann"


def test_a_plan_that_only_reads_needs_no_digest(folder: Path, call: Call) -> None:
    assert call(*words(folder, "--effects", "send=read", "--approve", WRONG)).code == 0


def test_a_run_that_waits_still_waits_after_a_wrong_digest(
    folder: Path, waiting: str, plan: ExecutionPlan, call: Call
) -> None:
    tools = ("--tools", "approved_tools:TOOLS")
    said = call("resume", waiting, *tools, "--approve", WRONG)
    assert said.code == 1
    assert f"Its digest is {plan.digest}, not {WRONG}." in said.err
    assert [each["status"] for each in call("runs", "--json").json["runs"]] == ["waiting"]
    assert call("resume", waiting, *tools, "--approve", plan.digest).code == 0
    assert (folder / "ledger").read_text() == "ann"


def test_a_program_that_gives_a_digest_is_shown_the_effects_too(
    folder: Path, waiting: str, plan: ExecutionPlan, call: Call
) -> None:
    said = call("resume", waiting, "--tools", "approved_tools:TOOLS", "--approve", plan.digest)
    assert said.code == 0
    assert 'to = "ann"' in said.err


def test_json_steers_no_terminal(tools_folder: Callable[..., Path], call: Call) -> None:
    """It reads as before: the escapes are JSON's."""
    hostile = "a\x7f\x9b31m\u202eb\u2066\u200f\ufeffé"
    plan = {"toolplan": 1, "steps": [{"id": "s", "tool": "send", "args": {"to": hostile}}]}
    file = str(tools_folder("hostile_tools", TOOLS, plan) / "plan.json")
    tools = ("--tools", "hostile_tools:TOOLS", "--json")
    ran = call("run", file, *tools, "--yes")
    assert hostile in ran.json["steps"]["s"]["output"].values()
    for text in (
        ran.out,
        call("check", file, *tools).out,
        call("convert", file, "--to", "toolplan").out,
    ):
        assert not set(hostile) & set(text) - {"a", "b", "é", "3", "1", "m"}
