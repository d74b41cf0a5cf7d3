"""The stable output of `--json`: each form, from real runs of each command.

The other tests of the commands hold theirs to the schemas too: `tests/cli/conftest.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calls import Call
from tests.cli.outputs import problems
from toolplan.cli._commands import COMMANDS, SERVERS
from toolplan.cli.schema import OUTPUTS, UNSTABLE, forms, output_schema
from toolplan.plan.canonical import json_schema
from toolplan.plan.path import Json

TODAY = ("--today", "2025-10-12")
TOOLS = '''
from toolplan import tool


@tool(effects="read")
def mails() -> list[dict[str, str]]:
    """Return the mails."""
    return [{"sender": "ada@example.com"}, {"sender": "bob@example.com"}]


@tool(effects="read")
def broken(at: int) -> str:
    """Return nothing."""
    raise ValueError("broken")


@tool(effects="write")
def send(to: str) -> dict:
    """Sends mail."""
    return {"sent": to}


TOOLS = [mails, broken, send]
'''
MAILS = {"id": "m", "tool": "mails"}
SEND = {"id": "s", "tool": "send", "args": {"to": "${item.sender}"}, "for_each": "${m[*]}"}
BROKEN = {"id": "b", "tool": "broken", "args": {"at": 1}}


def plan(*steps: object) -> str:
    return json.dumps({"toolplan": 1, "steps": steps})


@pytest.fixture
def said(
    call: Call, tools_folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Call a command with a plan and the tools; return its output, or the error."""
    folder = tools_folder("output_tools", TOOLS, {})
    monkeypatch.chdir(folder)

    def run(code: int, command: str, *words: str, steps: str = "") -> Any:
        if steps:
            Path("plan.json").write_text(steps, "utf-8")
            words = ("plan.json", "--tools", "output_tools:TOOLS", *words)
        ended = call(command, *words, "--json", code=code)
        return json.loads(ended.out or ended.err.splitlines()[-1])

    return run


def at(document: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


def test_every_command_with_json_says_whether_it_is_stable() -> None:
    assert {*OUTPUTS} - {"error"} | {*UNSTABLE} | {"schema", *SERVERS} == {*COMMANDS}
    assert not {*OUTPUTS} & {*UNSTABLE}
    shown = {name for names in OUTPUTS.values() for name in names}
    assert shown <= forms().keys()
    reached = {part for name in OUTPUTS for part in at(output_schema(name), ("$defs",))}
    assert reached == forms().keys()


def test_runs_that_succeed_fail_and_wait(said: Callable[..., Any]) -> None:
    done = said(0, "run", steps=plan(MAILS))
    assert done["status"] == "succeeded"
    failed = said(1, "run", steps=plan(BROKEN))
    assert failed["steps"]["b"]["error"]["code"] == "tool-error"
    waits = said(1, "run", "--approve-values", steps=plan(MAILS, SEND))
    assert len(waits["steps"]["s"]["calls_waiting"]) == 2
    for each in (done, failed, waits):
        assert problems("show", said(0, "show", each["run"])) == []
    assert said(1, "resume", waits["run"])["status"] == "waiting"
    sent = said(0, "resume", waits["run"], "--allow", "s")
    assert sent["output"] == {"s": [{"sent": "ada@example.com"}, {"sent": "bob@example.com"}]}
    assert said(0, "cancel", waits["run"])["run"] == waits["run"]


def test_errors_have_their_details(said: Callable[..., Any]) -> None:
    unapproved = said(1, "run", steps=plan(MAILS, SEND))["error"]
    assert (unapproved["code"], len(unapproved["effects"])) == ("approval-required", 1)
    refused = said(1, "run", steps=plan({**MAILS, "tool": "frobnicate"}))["error"]
    assert refused["diagnostics"][0]["code"] == "unknown-tool"
    assert said(2, "run", "missing.json")["error"]["code"]
    assert said(2, "show", "missing")["error"]["code"] == "unknown-run"


def test_plans_checks_and_comparisons(said: Callable[..., Any]) -> None:
    assert said(0, "check", steps=plan(MAILS))["valid"]
    found = said(1, "check", steps=plan(MAILS, {**SEND, "args": {"too": "${item.sender}"}}))
    assert found["diagnostics"]
    assert said(0, "policy", "check", "plan.json", "--tools", "output_tools:TOOLS")["flows"]
    assert said(0, "show", steps=plan(MAILS))["steps"][0]["id"] == "m"
    run = said(0, "run", steps=plan(MAILS))["run"]
    assert said(0, "diff", run, "plan.json")["same"]
    Path("other.json").write_text(plan(MAILS, BROKEN), "utf-8")
    assert said(1, "diff", "plan.json", "other.json")["steps"][0]["kind"] == "added"
    assert said(0, "convert", "plan.json", "--to", "llmcompiler")["dialect"] == "llmcompiler"
    assert said(0, "convert", "plan.json")["steps"] == [MAILS]
    assert len(said(0, "tools", "--tools", "output_tools:TOOLS")) == 4  # and `sql`


@pytest.mark.parametrize("command", ["plan", "ask"])
def test_questions_with_a_plan_and_without(said: Callable[..., Any], command: str) -> None:
    assert said(0, command, "facilities in Berlin", *TODAY)
    assert said(1, command, "weather in Berlin", *TODAY)["clarification"]["unexplained"]
    assert said(1, command, "delete all shipments", *TODAY)["refusal"]["reason"]


def test_a_part_of_a_list_says_so() -> None:
    part: Json = {
        "step": "m",
        "rows": 10,
        "total": None,
        "reason": "next-page",
        "text": "10 of more",
    }
    step: dict[str, Json] = dict.fromkeys(("output", "error", "started_at", "ended_at"))
    partial: dict[str, Json] = {"complete": False, "partial": [part]}
    run: dict[str, Json] = {
        "run": "r",
        "status": "succeeded",
        "steps": {"m": {"state": "succeeded", "attempts": 1, **step, **partial}},
        "output": [],
        "answer": None,
        **partial,
    }
    assert problems("run", run) == []
    assert problems("run", {**run, "complete": True})


def test_a_field_that_comes_or_goes_is_noticed(said: Callable[..., Any]) -> None:
    waits = said(1, "run", "--approve-values", steps=plan(MAILS, SEND))
    call_ = ("steps", "s", "calls_waiting", 0)
    refused = said(1, "check", steps=plan({**MAILS, "args": {"x": 1}}))
    cases: list[tuple[str, Any, tuple[str | int, ...]]] = [
        *(("run", waits, path) for path in ((), ("answer",), call_)),
        ("run", waits, ("answer", "problems", 0)),
        ("run", said(0, "run", steps=plan(MAILS)), ("answer", "sections", 0)),
        ("show", said(0, "show", waits["run"]), ()),
        *(("runs", said(0, "runs"), path) for path in ((), ("runs", 0))),
        ("error", said(1, "run", steps=plan(MAILS, SEND)), ("error", "effects", 0)),
        *(("check", refused, path) for path in ((), ("diagnostics", 0))),
        ("plan", said(1, "plan", "weather in Berlin", *TODAY), ("clarification",)),
        ("ask", said(1, "ask", "delete all shipments", *TODAY), ("refusal",)),
        ("tools", said(0, "tools", "--tools", "output_tools:TOOLS"), (0,)),
    ]
    for name, document, path in cases:
        inside = at(document, path)
        assert problems(name, document) == []
        for field in [*inside]:
            value = inside.pop(field)
            assert problems(name, document), (name, path, field)
            inside[field] = value
        inside["surprise"] = 1
        assert problems(name, document), (name, path)
        del inside["surprise"]


@pytest.mark.parametrize("name", OUTPUTS)
def test_schema_prints_the_schema_of_a_command(call: Call, name: str) -> None:
    assert call("schema", name).json == output_schema(name)


def test_schema_of_something_else_is_refused(call: Call) -> None:
    for words in (("doctor",), ("rum",), ("run", "--tools", "toolplan_demo:TOOLS")):
        assert call("schema", *words, "--json").code == 2


def test_the_schema_is_printed(call: Call) -> None:
    assert call("schema").json == json_schema()
    said = call("schema", "--tools", "toolplan_demo:TOOLS", "--json")
    assert "facilities_list" in said.json["$defs"]["step"]["properties"]["tool"]["enum"]
