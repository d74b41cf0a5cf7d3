"""`--approve DIGEST`: good for one run, `--times N` for N; another digest keeps no run."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import toolplan
from tests.cli.calls import Call
from tests.doubles.model_server import ScriptedModelServer
from tests.named_tools import load_tools
from toolplan import Approval, ApprovalUsed, ExecutionPlan, approve, compile_plan, run
from toolplan.events import RunApproved
from toolplan.policy.approval import approve_digest, uses
from toolplan.storage.journal import Journal, JournalError

TOOLS = '''
from pathlib import Path
from toolplan import tool

LEDGER = Path(__file__).with_name("ledger")


@tool(effects="write")
def send(to: str) -> dict:
    """Sends mail."""
    with LEDGER.open("a") as file:
        file.write(to + "\\n")
    return {"sent": to}


TOOLS = [send]
'''
NAMED = ("--tools", "digest_tools:TOOLS")
WRONG = "0" * 64


def document(to: str = "ann", thought: str = "") -> dict[str, object]:
    step: dict[str, object] = {"id": "s", "tool": "send", "args": {"to": to}}
    return {"toolplan": 1, "steps": [{**step, "thought": thought} if thought else step]}


@pytest.fixture
def folder(tools_folder: Callable[..., Path]) -> Path:
    """A folder with a plan and a module of its tools."""
    return tools_folder("digest_tools", TOOLS, document())


@pytest.fixture
def plan(folder: Path) -> ExecutionPlan:
    compiled = compile_plan(json.dumps(document()), tools=load_tools(NAMED[1], folder)).plan
    assert compiled is not None
    return compiled


def sent(folder: Path) -> int:
    """Return how many mails were sent."""
    ledger = folder / "ledger"
    return len(ledger.read_text().splitlines()) if ledger.exists() else 0


@pytest.fixture
def waiting(folder: Path, home: Path, plan: ExecutionPlan) -> str:
    """A run that waits for approval: who was asked did not answer."""

    async def silent(_: ExecutionPlan) -> None:
        raise ConnectionError

    tools = load_tools(NAMED[1], folder)
    with closing(Journal(home / "runs.sqlite")) as journal, pytest.raises(ConnectionError):
        asyncio.run(run(plan, tools, journal=journal, approval=silent, run_id="w" * 8))
    return "w" * 8


def words(folder: Path, *more: str) -> list[str]:
    return ["run", str(folder / "plan.json"), *NAMED, *more]


@pytest.mark.parametrize("more", [(), ("--yes",), ("--json",), ("--times", "1"), ("--strict",)])
def test_a_second_run_with_the_digest_is_refused(
    folder: Path, plan: ExecutionPlan, call: Call, more: tuple[str, ...]
) -> None:
    assert call(*words(folder, "--approve", plan.digest)).code == 0
    kept = call("runs", "--json").json["runs"]
    said = call(*words(folder, "--approve", plan.digest, *more), code=1)
    assert f"was used to approve 1 run '{kept[0]['run']}'" in " ".join(said.err.split())
    assert "--times 2 allows 2 runs" in " ".join(said.err.split())
    assert sent(folder) == 1
    assert call("runs", "--json").json["runs"] == kept


@pytest.mark.parametrize("more", [(), ("--eager",), ("--replan",), ("--json",)])
def test_a_question_whose_plan_has_the_digest_is_refused_too(
    folder: Path, plan: ExecutionPlan, call: Call, more: tuple[str, ...]
) -> None:
    assert call(*words(folder, "--approve", plan.digest)).code == 0
    with ScriptedModelServer(json.dumps(document())) as server:
        given = ("--model", server.spec, "--approve", plan.digest, *more)
        said = call("ask", "Frobnicate ann", *NAMED, *given)
        assert (said.code, sent(folder)) == (1, 1), said.err
        assert "was used to approve 1 run" in " ".join(said.err.split())
        again = call("ask", "Frobnicate ann", *NAMED, *given, "--times", "2")
    assert (again.code, sent(folder)) == (0, 2), again.err


def test_the_same_steps_with_other_thoughts_have_the_same_uses(
    folder: Path, plan: ExecutionPlan, call: Call
) -> None:
    assert call(*words(folder, "--approve", plan.digest)).code == 0
    (folder / "plan.json").write_text(json.dumps(document(thought="Now.")))
    assert call(*words(folder, "--approve", plan.digest)).code == 1
    assert sent(folder) == 1


def test_a_number_of_runs_is_counted_down(folder: Path, plan: ExecutionPlan, call: Call) -> None:
    given = ("--approve", plan.digest, "--times", "3")
    for left in (2, 1, 0):
        said = call(*words(folder, *given), code=0)
        assert f"was used for {3 - left} of 3 runs: {left} left." in " ".join(said.err.split())
    said = call(*words(folder, *given))
    assert (said.code, sent(folder)) == (1, 3)
    assert "was used to approve 3 runs" in " ".join(said.err.split())
    assert call(*words(folder, *given[:2])).code == 1
    assert call(*words(folder, *given[:3], "4")).code == 0
    assert sent(folder) == 4


@pytest.mark.parametrize(
    "more",
    [
        ("--times", "2"),
        ("--times", "2", "--yes"),
        ("--times", "0", "--approve", "0" * 64),
        ("--times", "-1", "--approve", "0" * 64),
        ("--times", "1001", "--approve", "0" * 64),
        ("--times", "many", "--approve", "0" * 64),
        ("--times", "1.5", "--approve", "0" * 64),
        ("--times", "2", "--approve-values"),
    ],
)
def test_a_count_needs_a_digest_and_bounds(folder: Path, call: Call, more: tuple[str, ...]) -> None:
    assert call(*words(folder, *more)).code == 2
    assert sent(folder) == 0


def test_other_ways_to_approve_do_not_count(folder: Path, plan: ExecutionPlan, call: Call) -> None:
    for _ in range(2):
        assert call(*words(folder, "--yes")).code == 0
    assert call(*words(folder, "--approve", plan.digest)).code == 0
    assert call(*words(folder, "--yes")).code == 0
    assert sent(folder) == 4


def test_another_plan_has_its_own_use(folder: Path, plan: ExecutionPlan, call: Call) -> None:
    assert call(*words(folder, "--approve", plan.digest)).code == 0
    (folder / "plan.json").write_text(json.dumps(document("ben")))
    refused = call(*words(folder, "--approve", plan.digest)).err
    digest = re.findall("[0-9a-f]{64}", refused.split("Its digest is")[1])[0]
    assert call(*words(folder, "--approve", digest)).code == 0
    assert sent(folder) == 2


def test_a_failed_run_has_used_the_digest(folder: Path, call: Call, plan: ExecutionPlan) -> None:
    (folder / "ledger").mkdir()
    assert call(*words(folder, "--approve", plan.digest)).code == 1
    (folder / "ledger").rmdir()
    assert "was used to approve" in call(*words(folder, "--approve", plan.digest)).err


@pytest.mark.parametrize("times", [1, 2])
def test_two_processes_at_once_do_not_both_use_it(
    folder: Path, plan: ExecutionPlan, times: int, call: Call
) -> None:
    command = [sys.executable, "-m", "toolplan", *words(folder, "--approve", plan.digest)]
    more = ["--times", str(times)]
    started = [
        subprocess.Popen([*command, *more], cwd=folder, env=dict(os.environ), stderr=-1, stdout=-1)
        for _ in range(times + 1)
    ]
    codes = [(each.communicate(), each.returncode)[1] for each in started]
    assert sorted(codes) == [0] * times + [1]
    assert sent(folder) == times
    assert "waiting" not in {each["status"] for each in call("runs", "--json").json["runs"]}


def test_a_run_that_waits_waits_on_where_its_digest_was_used(
    folder: Path, waiting: str, plan: ExecutionPlan, call: Call
) -> None:
    assert call(*words(folder, "--approve", plan.digest)).code == 0
    said = call("resume", waiting, *NAMED, "--approve", plan.digest)
    assert (said.code, sent(folder)) == (1, 1)
    assert "waiting" in {each["status"] for each in call("runs", "--json").json["runs"]}
    assert call("resume", waiting, *NAMED, "--approve", plan.digest, "--times", "2").code == 0
    assert call("resume", waiting, *NAMED, "--approve", plan.digest).code == 0  # it is over
    assert sent(folder) == 2


async def test_a_digest_in_python_is_good_for_one_run(
    folder: Path, home: Path, plan: ExecutionPlan
) -> None:
    async with toolplan.open(load_tools(NAMED[1], folder), journal=home / "p.sqlite") as app:
        assert (await app.run(plan, approve=plan.digest)).succeeded
        with pytest.raises(ApprovalUsed, match="was used to approve 1 run"):
            await app.run(plan, approve=plan.digest)
        assert (await app.run(plan, approve=approve(plan))).succeeded
    async with toolplan.open(load_tools(NAMED[1], folder), journal=home / "p.sqlite") as app:
        with pytest.raises(ApprovalUsed):
            await app.run(plan, approve=plan.digest)
    assert sent(folder) == 2


async def test_the_journal_decides_where_nobody_looked_before(
    folder: Path, home: Path, plan: ExecutionPlan
) -> None:
    tools = load_tools(NAMED[1], folder)
    with closing(Journal(home / "p.sqlite")) as journal:
        for at in range(2):
            given = approve_digest(plan, 2)
            await run(plan, tools, journal=journal, approval=given, run_id=f"r{at}")

        def asked(plan: ExecutionPlan) -> Approval:
            return approve_digest(plan, 2)

        for given in (approve_digest(plan, 2), asked):
            with pytest.raises(JournalError, match="was used to approve 2 runs"):
                await run(plan, tools, journal=journal, approval=given)
        assert journal.users(plan.digest) == ["r0", "r1"]
        used = [each for each in journal.events("r1") if isinstance(each, RunApproved)]
        assert [each.approval for each in used] == [f"{plan.digest}/2"]
        assert "waiting" not in {each.status.value for each in journal.runs()}
    assert sent(folder) == 2


@pytest.mark.parametrize(
    ("approval", "names"),
    [
        ("abc", ("abc",)),
        ("", ("",)),
        ("a/b", ("a/b",)),
        ("a/", ("a/",)),
        ("a/²", ("a/²",)),
        ("a/1", ("a/1",)),
        ("a/3", ("a/1", "a/2", "a/3")),
    ],
)
def test_only_approvals_by_digest_have_several_uses(approval: str, names: tuple[str, ...]) -> None:
    assert uses(approval) == names


@pytest.mark.parametrize("digest", ["", " "])
@pytest.mark.parametrize("more", [(), ("--yes",), ("--json",)])
def test_an_empty_digest_is_a_usage_error_of_every_command(
    folder: Path, call: Call, digest: str, more: tuple[str, ...]
) -> None:
    for command in (words(folder), ["ask", "Send mail to ann"], ["resume", "ww"]):
        said = call(*command, "--approve", digest, *more, code=2)
        assert "is not the digest of a plan" in said.err
    assert not (folder / "ledger").exists()
    assert call("runs", "--json").json["runs"] == []


@pytest.mark.parametrize("more", [(), ("--yes",), ("--json",)])
def test_a_wrong_digest_keeps_no_run(
    folder: Path, plan: ExecutionPlan, call: Call, more: tuple[str, ...]
) -> None:
    said = call(*words(folder, "--approve", WRONG, *more), code=1)
    assert f"Its digest is {plan.digest}, not {WRONG}." in said.err
    assert call("runs", "--json").json["runs"] == []
    assert not (folder / "ledger").exists()
    assert call(*words(folder, "--approve", plan.digest)).code == 0
    assert (folder / "ledger").read_text() == "ann\n"


@pytest.mark.parametrize("more", [(), ("--eager",), ("--replan",)])
def test_a_wrong_digest_keeps_no_run_of_a_question_either(
    folder: Path, plan: ExecutionPlan, call: Call, more: tuple[str, ...]
) -> None:
    question = ["ask", "Frobnicate ann", *NAMED, *more]
    with ScriptedModelServer(json.dumps(document())) as server:
        said = call(*question, "--model", server.spec, "--approve", WRONG, code=1)
        assert f"Its digest is {plan.digest}, not {WRONG}." in said.err
        assert call("runs", "--json").json["runs"] == []
        assert not (folder / "ledger").exists()
        said = call(*question, "--model", server.spec, "--approve", plan.digest)
    assert said.code == 0, said.err
    assert (folder / "ledger").read_text() == "ann\n"


def test_a_plan_that_only_reads_needs_no_digest(folder: Path, call: Call) -> None:
    assert call(*words(folder, "--effects", "send=read", "--approve", WRONG)).code == 0


def test_a_run_that_waits_still_waits_after_a_wrong_digest(
    folder: Path, waiting: str, plan: ExecutionPlan, call: Call
) -> None:
    said = call("resume", waiting, *NAMED, "--approve", WRONG, code=1)
    assert f"Its digest is {plan.digest}, not {WRONG}." in said.err
    assert [each["status"] for each in call("runs", "--json").json["runs"]] == ["waiting"]
    assert call("resume", waiting, *NAMED, "--approve", plan.digest).code == 0
    assert (folder / "ledger").read_text() == "ann\n"


def test_a_program_that_gives_a_digest_is_shown_the_effects_too(
    folder: Path, waiting: str, plan: ExecutionPlan, call: Call
) -> None:
    said = call("resume", waiting, *NAMED, "--approve", plan.digest, code=0)
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
