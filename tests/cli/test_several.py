"""`--tools` given more than once: each command has all of them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from tests.cli.calls import Call

MAIL = """
import toolplan

@toolplan.tool(effects="read")
def send(to: str) -> str:
    return f"mailed {to}"

@toolplan.tool(effects="read", hints={"x-entity": "letter", "x-verb": "list"})
def letters_list() -> list[str]:
    return ["one", "two"]
"""
CHAT = """
import toolplan

@toolplan.tool(effects="read")
def send(to: str) -> str:
    return f"chatted {to}"
"""
BOTH = ("--tools", "post_mail:*", "--tools", "post_chat:*")
TURNED = ("--tools", "post_chat:*", "--tools", "post_mail:*")
QUESTION = "List letters"


def _plan(tool: str) -> dict[str, object]:
    return {"steps": [{"id": "a", "tool": tool, "args": {"to": "Ada"}}]}


@pytest.fixture(autouse=True)
def folder(
    tmp_path: Path, tools_folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> Path:
    monkeypatch.chdir(tools_folder("post_mail", MAIL, _plan("post_mail.send")))
    tools_folder("post_chat", CHAT, _plan("post_mail.send"))
    Path("short.json").write_text(json.dumps(_plan("send")))
    Path("letters.yaml").write_text(
        "tools: ['post_mail:*', 'post_chat:*']\n"
        f"tests: [{{question: {QUESTION}, expect: {{tools: [letters_list]}}}}]\n"
    )
    return tmp_path


COMMANDS = {
    "ask": (["ask", QUESTION, "--json"], "succeeded"),
    "plan": (["plan", QUESTION, "--json"], "letters_list"),
    "run": (["run", "plan.json", "--json"], "mailed Ada"),
    "dry run": (["run", "plan.json", "--dry-run"], "post_mail.send"),
    "check": (["check", "plan.json", "--json"], '"valid": true'),
    "tools": (["tools", "--json"], "post_chat.send"),
    "one tool": (["tools", "post_chat.send", "--json"], "post_chat.send"),
    "convert": (["convert", "plan.json", "--to", "toolplan", "--json"], "post_mail.send"),
    "show": (["show", "plan.json", "--json"], "post_mail.send"),
    "diff": (["diff", "plan.json", "plan.json", "--json"], "same"),
    "policy": (["policy", "check", "plan.json", "--json"], "valid"),
    "policy init": (["policy", "init"], "post_chat.send"),
    "schema": (["schema"], "post_mail.send"),
    "test": (["test", "letters.yaml", "--json"], "letters_list"),
    "doctor": (["doctor"], "all tools, together"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_take_several_sources(call: Call, command: str) -> None:
    words, expected = COMMANDS[command]
    said = call(*words, *BOTH)
    assert said.code in (0, 1) if command == "doctor" else said.code == 0, said.err
    assert expected in said.out


@pytest.mark.parametrize("command", ["check", "tools", "schema", "policy init"])
def test_their_order_changes_nothing(call: Call, command: str) -> None:
    words, _ = COMMANDS[command]
    assert call(*words, *BOTH).out == call(*words, *TURNED).out


@pytest.mark.parametrize("words", [["run"], ["check"], ["run", "--dry-run"]])
def test_the_short_name_is_refused_with_both_full_names(call: Call, words: list[str]) -> None:
    said = call(*words, "short.json", *BOTH)
    assert said.code != 0
    assert "'post_chat.send' and 'post_mail.send'" in said.out + said.err


def test_a_run_is_resumed_with_the_same_sources(call: Call) -> None:
    plan = {
        "steps": [
            {"id": "a", "tool": "post_chat.send", "args": {"to": "Ada"}},
            {"id": "b", "tool": "post_mail.send", "args": {"to": "${a}"}},
        ]
    }
    Path("two.json").write_text(json.dumps(plan))
    ran = call("run", "two.json", "--json", *BOTH)
    assert ran.json["output"] == {"b": "mailed chatted Ada"}
    again = call("resume", ran.json["run"], "--json")
    assert again.json["output"] == {"b": "mailed chatted Ada"}
    assert "post_chat.send" in call("runs", "--json").out


def test_a_test_file_names_several(call: Call) -> None:
    assert call("test", "letters.yaml").code == 0
    Path("wrong.yaml").write_text("tools: [1]\ntests: [List letters]\n")
    said = call("test", "wrong.yaml", code=2)
    assert "Expected `str`, got `int` - at `$.tools[0]`" in said.err


@pytest.mark.parametrize("servers", [{"one": {}}, {"two": {}}])
def test_login_finds_the_file_of_the_server(call: Call, servers: dict[str, object]) -> None:
    for file in ("a.json", "b.json"):
        url = {"url": "https://192.0.2.1/mcp"}
        Path(file).write_text(json.dumps({"mcpServers": {"both": url, f"only_{file[0]}": url}}))
    twice = call("logout", "both", "--tools", "a.json", "--tools", "b.json", code=2)
    assert "a.json and b.json each have a server 'both'" in twice.err
    assert call("logout", "only_b", "--tools", "a.json", "--tools", "b.json").code == 0
    none = call("logout", *servers, "--tools", "a.json", "--tools", "b.json", code=2)
    assert "a.json and b.json" in none.err


async def test_an_mcp_client_sees_all_of_them() -> None:
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "toolplan", "mcp", *BOTH], env={**os.environ}
    )
    async with Client(server) as client:
        short = await client.call_tool("run", {"plan": _plan("send"), "only_check": True})
        ran = (await client.call_tool("run", {"plan": _plan("post_mail.send")})).structured_content
    assert "'post_chat.send' and 'post_mail.send'" in json.dumps(short.structured_content)
    assert ran is not None
    assert ran["output"] == {"a": "mailed Ada"}


@pytest.mark.parametrize("command", [["mcp"], ["studio", "--no-open"]])
def test_servers_open_each_of_them(call: Call, command: list[str]) -> None:
    said = call(*command, "--tools", "post_mail:*", "--tools", "nowhere.json", code=2)
    assert "nowhere.json" in said.err


def test_an_address_is_for_one_document(call: Call) -> None:
    said = call("tools", *BOTH, "--base-url", "http://localhost:1", code=2)
    assert "one OpenAPI document" in said.err
