"""The demo domain as a real MCP server; `tests/cli/test_sources.py` asks it questions."""

import datetime
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Mapping
from typing import Any, Final

import pytest

from tests.sources.mcp.scripts import call
from toolplan.schema.tool import Tool, ToolError
from toolplan.tools.mcp import LocalServer, connected
from toolplan_demo import demo_tools
from toolplan_demo.command import demo_server

TODAY: Final = datetime.date(2025, 10, 12)
ROWS: Final = 2_000
ARGUMENTS: Final = (
    *("-m", "toolplan", "demo"),
    *("--today", TODAY.isoformat(), "--rows", str(ROWS)),
)


@pytest.fixture(scope="module")
def address() -> Generator[str, None, None]:
    """Where the demo is served over HTTP, by a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, *ARGUMENTS, "--mcp-http", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until_open(port)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(10)


def until_open(port: int) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError(f"Nothing listens at port {port}.")


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("Host", "evil.example"),
        ("Host", "localhost."),
        ("Origin", "http://evil.example"),
        ("Origin", "http://localhost:1"),
        ("Origin", "http://127.0.0.1"),
        ("Origin", "null"),
    ],
)
def test_a_web_page_of_elsewhere_cannot_use_the_demo(header: str, value: str, address: str) -> None:
    """H04, H05: Host and Origin on loopback."""
    accepted = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    request = urllib.request.Request(address, data=b"{}", headers={**accepted, header: value})
    with pytest.raises(urllib.error.HTTPError) as raised:
        urllib.request.urlopen(request, timeout=10)
    assert raised.value.code in (403, 421)
    raised.value.close()


def test_tools_come_over_the_wire_as_they_are() -> None:
    """Hints of schemas, output schemas and effects; only names and aliases are added."""
    own = demo_tools(TODAY, ROWS)
    with connected({"demo": LocalServer(demo_server(own))}, trusted=["demo"]) as source:
        wired = source.toolbox()
    assert len(wired) == len(own) == 19
    for name, tool in own.items():
        other = wired[f"demo.{name}"]
        assert other.effects is tool.effects
        assert other.may_repeat == tool.may_repeat
        assert other.description == tool.description
        assert other.raw_output == tool.raw_output
        assert without_aliases(other) == without_aliases(tool)
        assert other.aliases == (name, *tool.aliases)


def without_aliases(tool: Tool) -> Mapping[str, Any]:
    assert isinstance(tool.raw_input, dict)
    return {key: value for key, value in tool.raw_input.items() if key != "x-aliases"}


def test_failures_of_the_demo_are_failures_of_calls() -> None:
    with connected({"demo": LocalServer(demo_server(demo_tools(TODAY, ROWS)))}) as source:
        tools = source.toolbox()
        with pytest.raises(ToolError, match="Facility 'F999' not found"):
            call(tools, "demo.facilities_get", id="F999")
        with pytest.raises(ToolError, match="There is no argument 'colour'"):
            call(tools, "demo.facilities_list", colour="red")
