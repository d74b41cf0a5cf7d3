"""A server that cannot be used is named to the client: its tools are not missing without a word."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

import toolplan
from tests.mcp_server.served import in_loop, text
from tests.sources.mcp.scripts import ANYTHING, WIRE_SERVER, Scripted, one_page
from toolplan.mcp_server import Backend, make_server

BAD: dict[str, dict[str, Any]] = {
    "not-there": {"command": "/no/such/program"},
    "ends": {"command": sys.executable, "args": ["-c", "raise SystemExit(3)"]},
    "prints": {"command": sys.executable, "args": ["-c", "print('hello')"]},
    "refuses": {"type": "http", "url": "http://127.0.0.1:9/mcp"},
}


def said(app: toolplan.App) -> tuple[str, str]:
    """Return the instructions of a server over `app`, and its list of tools."""
    found: list[Any] = []

    async def work() -> None:
        async with Backend(app) as backend, Client(make_server(backend)) as client:
            found.append(client.instructions)
            found.append(text(await client.call_tool("search", {})))

    in_loop(work)
    return str(found[0]), str(found[1])


@pytest.mark.parametrize("name", BAD)
def test_a_server_that_cannot_be_used_is_named(tmp_path: Path, name: str) -> None:
    good = Scripted(tmp_path, pages=one_page({"name": "age", "inputSchema": ANYTHING}))
    entry = {"command": sys.executable, "args": ["-S", str(WIRE_SERVER), str(good.path)]}
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"good": entry, name: BAD[name]}}), "utf-8")
    with toolplan.open(str(path), journal=str(tmp_path / "runs.sqlite")) as app:
        instructions, tools = said(app)
    assert "good (1)" in tools
    assert "good.age" in tools
    assert "Not available (tell the user): " in instructions
    assert name in instructions.partition("Not available")[2]
    assert name in tools.partition("Not available (tell the user): ")[2]


def test_where_all_can_be_used_nothing_is_said(tmp_path: Path) -> None:
    with toolplan.open("toolplan_demo:TOOLS", journal=str(tmp_path / "runs.sqlite")) as app:
        assert app.faults == ()
        instructions, tools = said(app)
    assert "Not available" not in instructions
    assert "Not available" not in tools
