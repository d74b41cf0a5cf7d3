"""The configuration: what it says, what it may not say, and that secrets stay in it."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolplan.schema.tool import ToolObjectError
from toolplan.tools.mcp import HttpServer, StdioServer, commands, read_servers
from toolplan.tools.mcp.servers import place_of

SECRET = "s3cret-of-the-environment"
ENVIRONMENT = {"TOKEN": SECRET, "PLAIN": "plain"}


def read(**servers: Any) -> dict[str, Any]:
    return dict(read_servers(json.dumps({"mcpServers": servers}), ENVIRONMENT))


def test_a_command_is_a_server_over_stdio() -> None:
    entry = {"command": "uvx", "args": ["mcp-server-git"], "env": {"A": "b"}, "cwd": "/tmp"}
    server = read(git=entry)["git"]
    assert isinstance(server, StdioServer)
    assert (server.command, server.args) == ("uvx", ("mcp-server-git",))
    assert (server.env, server.cwd) == ({"A": "b"}, "/tmp")
    assert server.disabled_tools == ()


@pytest.mark.parametrize("entry", [{"command": "x"}, {"url": "http://localhost/"}])
def test_tools_may_be_left_out(entry: dict[str, Any]) -> None:
    assert read(it={**entry, "disabledTools": ["a"]})["it"].disabled_tools == ("a",)
    with pytest.raises(ToolObjectError, match=r"it\.disabledTools"):
        read(it={**entry, "disabledTools": "a"})


@pytest.mark.parametrize(
    ("stated", "names"), [(True, []), (False, ["it"]), (None, ["it"]), ("true", None), (1, None)]
)
def test_a_server_may_be_left_out(stated: object, names: list[str] | None) -> None:
    if names is not None:
        assert [*read(it={"command": "x", "disabled": stated})] == names
        return
    with pytest.raises(ToolObjectError, match=r"it\.disabled"):
        read(it={"command": "x", "disabled": stated})


@pytest.mark.parametrize(
    ("stated", "transport"),
    [
        (None, "streamable-http"),
        ("http", "streamable-http"),
        ("streamable-http", "streamable-http"),
        ("streamable_http", "streamable-http"),
        ("streamableHttp", "streamable-http"),
        ("sse", "sse"),
    ],
)
def test_an_address_is_a_server_over_http(stated: str | None, transport: str) -> None:
    for field in ("type", "transport"):
        server = read(far={"url": "http://localhost/mcp", field: stated})["far"]
        assert isinstance(server, HttpServer)
        assert server.transport == transport


def test_variables_are_read_from_what_the_caller_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELSEWHERE", "not this")
    near = read(a={"command": "x", "env": {"KEY": "${TOKEN}", "B": "${PLAIN}-${PLAIN}"}})["a"]
    assert near.env == {"KEY": SECRET, "B": "plain-plain"}
    far = read(b={"url": "http://h/", "headers": {"Authorization": "Bearer ${TOKEN}"}})["b"]
    assert far.headers == {"Authorization": f"Bearer {SECRET}"}
    with pytest.raises(ToolObjectError, match="'ELSEWHERE' is not set"):
        read(a={"command": "x", "env": {"KEY": "${ELSEWHERE}"}})


def test_what_a_variable_holds_is_not_looked_into_again() -> None:
    document = json.dumps({"mcpServers": {"a": {"command": "x", "env": {"KEY": "${ONE}"}}}})
    server = read_servers(document, {"ONE": "${TWO}", "TWO": "no"})["a"]
    assert isinstance(server, StdioServer)
    assert server.env == {"KEY": "${TWO}"}


def test_secrets_are_in_no_text_of_a_server() -> None:
    """Behaviours 3.4, 5: secrets stay out of texts, tools and commands."""
    servers = read(
        a={"command": "x", "env": {"API_KEY": "${TOKEN}", "PASSWORD": "written-in-the-file"}},
        b={"url": f"http://u:{SECRET}@h/?k={SECRET}", "headers": {"X": "${TOKEN}"}},
    )
    shown = repr(servers) + repr(commands(servers))
    assert SECRET not in shown
    assert "written-in-the-file" not in shown


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({}, "takes either 'command' (stdio) or 'url' (HTTP)"),
        ({"command": "x", "url": "http://h"}, "takes 'command', not 'url'"),
        ({"command": ""}, "command must be a text"),
        ({"command": "x", "args": "y"}, ".args: Input should be a valid list"),
        ({"command": "x", "args": [1]}, ".args.0: Input should be a valid string"),
        ({"command": "x", "args": ["${TOKEN}"]}, "read only in 'env' and 'headers'"),
        ({"command": "x", "env": {"A": 1}}, ".env.A: Input should be a valid string"),
        ({"command": "x", "env": {"A": "${a b}"}}, "is not a variable"),
        ({"command": "x", "env": {"A": "${"}}, "is not a variable"),
        ({"command": "x", "headers": {"A": "b"}}, "over stdio takes 'command', not 'headers'"),
        ({"url": "http://h", "env": {"A": "b"}}, "over HTTP takes 'url', not 'env'"),
        ({"url": "ftp://h"}, "http or https address"),
        ({"url": "http://"}, "http or https address"),
        ({"url": "http://h", "headers": {"A": "b\r\nC: d"}}, "not a header"),
        ({"url": "http://h", "transport": "carrier-pigeon"}, ".transport: Input should be"),
        ({"command": "x", "type": "http"}, "takes 'url', not 'command'"),
        ({"command": "x", "arg": []}, "'arg' is not known. Did you mean 'args'"),
        ({"command": "x", "timeout_s": 0}, ".timeout_s: Input should be greater than 0"),
        ({"command": "x", "timeout_s": True}, ".timeout_s: Input should be a valid number"),
        ({"command": "x", "env": {"A=B": "c"}}, "'A=B' cannot be a name"),
        ("x", "must be an object"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(entry: object, message: str) -> None:
    """C02, C03: a clear error for unknown fields, transports and absent secrets."""
    with pytest.raises(ToolObjectError, match=r"mcpServers\.it") as raised:
        read(it=entry)
    assert message in str(raised.value)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("name", ["", "1st", "a.b", "a b", "é", "x" * 65, "../x"])
def test_a_servers_name_makes_a_tools_name_that_every_dialect_can_say(name: str) -> None:
    with pytest.raises(ToolObjectError, match="cannot be called"):
        read(**{name: {"command": "x"}})


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("{", "is not JSON"),
        ("[]", 'no object "mcpServers"'),
        ('{"servers": {}}', 'no object "mcpServers"'),
        ("[" * 100_000, "nested too deeply"),
        ('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', "the key 'a' twice"),
        ('{"mcpServers": {"a": {"command": "x", "timeout_s": NaN}}}', "NaN"),
    ],
)
def test_what_is_no_configuration_is_said(document: str, message: str) -> None:
    with pytest.raises(ToolObjectError, match=message):
        read_servers(document, {})


def test_a_file_is_read_and_a_missing_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    with pytest.raises(ToolObjectError, match=r"mcp\.json' cannot be read"):
        read_servers(path, {})
    path.write_text('{"mcpServers": {"a": {"command": "x", "disabled": true}}}', "utf-8")
    assert read_servers(path, {}) == {}


def test_the_example_starts_the_demo() -> None:
    example = Path(__file__).parents[3] / "examples" / "mcp.json"
    [command] = commands(read_servers(example, {}))
    assert command.line == "toolplan demo --mcp"


def test_a_command_shows_all_that_decides_what_runs() -> None:
    entry = {
        "command": "run me",
        "args": ["a b", "c"],
        "env": {"TOKEN": "${TOKEN}", "LD_PRELOAD": "/x.so", "SECRET": "hidden"},
        "cwd": "/a b",
    }
    [command] = commands(read(it=entry, far={"url": "http://h"}))
    assert command.line == (
        "cd '/a b' && TOKEN=${TOKEN} LD_PRELOAD=/x.so SECRET=*** 'run me' 'a b' c"
    )


def test_what_an_option_for_a_secret_is_given_is_not_shown() -> None:
    args = ["--api-key=abc", "--token", "def", "--author", "ghi", "--secret", "-v"]
    server = read(it={"command": "x", "args": args})["it"]
    [command] = commands({"it": server})
    assert command.line == "x '--api-key=***' --token '***' --author ghi --secret -v"
    assert "abc" not in str(place_of(server))


def test_the_digest_of_a_command_changes_with_all_that_decides_what_runs() -> None:
    entry = {"command": "x", "args": ["a"], "env": {"A": "b"}, "cwd": "/"}
    changed: list[dict[str, Any]] = [
        {**entry, "command": "y"},
        {**entry, "args": ["a", ""]},
        {**entry, "env": {"A": "c"}},
        {**entry, "cwd": "/tmp"},
    ]
    digests = {commands(read(it=each))[0].digest for each in [entry, *changed]}
    assert len(digests) == 5
    assert commands(read(it=dict(entry)))[0].digest in digests
