"""`toolplan login` and `logout`, and what the other commands say of sign-ins."""

import json
import re
import subprocess
import sys
import webbrowser
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.authority import Authority, authority, browse, guarded
from tests.cli.calls import Call


@pytest.fixture
def state() -> Generator[Authority]:
    with authority() as found:
        yield found


@pytest.fixture
def tools(state: Authority, tmp_path: Path) -> Generator[str]:
    with guarded(state) as address:
        path = tmp_path / "mcp.json"
        path.write_text(json.dumps({"mcpServers": {"tickets": {"url": address}}}))
        yield str(path)


def test_login_tools_logout(
    call: Call, tools: str, state: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webbrowser, "open", browse)
    said = call("login", "tickets", "--tools", tools, code=0)
    assert f"Sign in at:\n{state.url}/authorize?" in said.err
    assert f"Signed in to tickets at {state.url}." in said.err
    said = call("tools", "--tools", tools)
    end = r"until \d{4}-\d\d-\d\d \d\d:\d\d UTC \(renewed by itself\)"
    signed_in = rf"tickets: 4 tools, signed in at {re.escape(state.url)}, for read, {end}\n"
    assert re.search(signed_in, said.err)
    assert f"Tools: 4 pinned in {Path(tools).with_name('toolplan.lock.json')}." in said.err
    assert "tickets.add" in said.out
    findings = call("doctor", "--tools", tools, "--json").json["findings"]
    (server,) = (each for each in findings if each["subject"] == "server tickets")
    assert server["state"] == "fine"
    assert re.fullmatch(signed_in, f"tickets: {server['text']}\n")
    listed, together = findings[-2:]
    assert f", 4 pinned in {Path(tools).parent}" in listed["text"]
    assert together["subject"].endswith(", together")
    said = call("logout", "tickets", "--tools", tools, "--json")
    assert said.json == {"server": "tickets", "was_signed_in": True}
    said = call("logout", "tickets", "--tools", tools)
    assert "There was no sign-in to tickets." in said.err


def test_a_plan_without_a_sign_in_says_what_to_do(
    call: Call, tools: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webbrowser, "open", pytest.fail)
    said = call("ask", "Add one", "--tools", tools, "--json", code=2)
    error = json.loads(said.err.splitlines()[-1])["error"]
    assert error["code"] == "sign-in-needed"
    assert "The server 'tickets'" in error["message"]
    assert f"`toolplan login tickets --tools {tools}`" in error["message"]


def test_one_server_without_a_sign_in_leaves_the_others(
    call: Call, tools: str, tmp_path: Path
) -> None:
    document = json.loads(Path(tools).read_text())
    document["mcpServers"]["demo"] = {
        "command": sys.executable,
        "args": ["-m", "toolplan", "demo", "--mcp"],
    }
    Path(tools).write_text(json.dumps(document))
    said = call("tools", "--tools", tools, code=0)
    assert "demo.facilities_list" in said.out
    assert "tickets: not signed in. toolplan login tickets --tools" in said.err
    said = call("doctor", "--tools", tools, "--json")
    states = {each["subject"]: each for each in said.json["findings"]}
    assert (said.code, states["server demo"]["state"]) == (1, "fine")
    assert states["server tickets"]["state"] == "faulty"
    assert f"toolplan login tickets --tools {tools}" in states["server tickets"]["text"]


def test_without_a_browser_the_address_is_printed(tools: str, state: Authority) -> None:
    command = [sys.executable, "-m", "toolplan", "login", "tickets", "--tools", tools]
    with subprocess.Popen(
        [*command, "--no-browser", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline().strip() == b"Sign in at:"
        browse(process.stderr.readline().decode().strip())
        out, rest = process.communicate(timeout=30)
    assert json.loads(out)["issuer"] == state.url, rest


@pytest.mark.parametrize(
    ("server", "code", "message"),
    [
        ("tikets", "unknown-server", "Did you mean 'tickets'?"),
        ("local", "no-sign-in", "it is a process on this machine"),
    ],
)
def test_what_cannot_be_signed_in_to(
    call: Call, tmp_path: Path, server: str, code: str, message: str
) -> None:
    path = tmp_path / "mcp.json"
    entries = {"tickets": {"url": "https://tickets.example.org/mcp"}, "local": {"command": "x"}}
    path.write_text(json.dumps({"mcpServers": entries}))
    for command in ("login", "logout"):
        said = call(command, server, "--tools", str(path), "--json")
        error = json.loads(said.err)["error"]
        assert (said.code, error["code"]) == (2, code)
        assert message in f"{error['message']} {error['help']}"


def test_a_configuration_that_is_not_there(call: Call, tmp_path: Path) -> None:
    said = call("login", "x", "--tools", str(tmp_path / "none.json"), code=2)
    assert "error[bad-tools]" in said.err
    said = call("login", "x", code=2)
    assert "--tools" in said.err
