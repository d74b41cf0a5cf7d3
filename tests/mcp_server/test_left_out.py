"""A server that cannot be used is named to the client: its tools are not missing without a word."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

import toolplan
from benchmarks.gateway_servers import BAD as BAD_ONES
from benchmarks.gateway_servers import SERVERS, TOOLS, configuration
from tests.mcp_server.served import text
from tests.sources.mcp.scripts import ANYTHING, WIRE_SERVER, Scripted, one_page
from toolplan.cli.clients import GRACE_S
from toolplan.mcp_server import Backend, make_server

BAD: dict[str, dict[str, Any]] = {
    "not-there": {"command": "/no/such/program"},
    "ends": {"command": sys.executable, "args": ["-c", "raise SystemExit(3)"]},
    "prints": {"command": sys.executable, "args": ["-c", "print('hello')"]},
    "refuses": {"type": "http", "url": "http://127.0.0.1:9/mcp"},
}


async def said(app: toolplan.App) -> tuple[str, str]:
    """Return the instructions of a server over `app`, and its list of tools."""
    async with Backend(app) as backend, Client(make_server(backend)) as client:
        return str(client.instructions), text(await client.call_tool("search", {}))


@pytest.mark.parametrize("name", BAD)
async def test_a_server_that_cannot_be_used_is_named(tmp_path: Path, name: str) -> None:
    good = Scripted(tmp_path, pages=one_page({"name": "age", "inputSchema": ANYTHING}))
    entry = {"command": sys.executable, "args": ["-S", str(WIRE_SERVER), str(good.path)]}
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"good": entry, name: BAD[name]}}), "utf-8")
    with toolplan.open(str(path), journal=str(tmp_path / "runs.sqlite")) as app:
        instructions, tools = await said(app)
    assert "good (1)" in tools
    assert "good.age" in tools
    assert "Not available (tell the user): " in instructions
    assert name in instructions.partition("Not available")[2]
    assert name in tools.partition("Not available (tell the user): ")[2]


async def test_where_all_can_be_used_nothing_is_said(tmp_path: Path) -> None:
    with toolplan.open("toolplan_demo:TOOLS", journal=str(tmp_path / "runs.sqlite")) as app:
        assert app.faults == ()
        instructions, tools = await said(app)
    assert "Not available" not in instructions
    assert "Not available" not in tools


async def test_a_slow_server_is_named_until_its_tools_are_there(tmp_path: Path) -> None:
    switch = tmp_path / "switch"
    entries: dict[str, Any] = {}
    for name, more in (("good", {}), ("slow", {"waits": str(switch)})):
        (tmp_path / name).mkdir()
        page = one_page({"name": f"{name}_age", "inputSchema": ANYTHING})
        script = Scripted(tmp_path / name, pages=page, **more)
        command = ["-S", str(WIRE_SERVER), str(script.path)]
        entries[name] = {"command": sys.executable, "args": command}
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": entries}), "utf-8")
    one: dict[str, Any] = {"tool": "slow.slow_age", "args": {}}
    with toolplan.open(str(path), journal=str(tmp_path / "runs.sqlite"), grace=0.05) as app:
        async with Backend(app) as backend, Client(make_server(backend)) as client:
            found = text(await client.call_tool("search", {}))
            for place in (client.instructions, found, text(await client.call_tool("run", one))):
                assert "'slow' has not answered yet" in str(place)
            assert "slow.slow_age" not in found
            switch.touch()
            while "not answered yet" in (found := text(await client.call_tool("search", {}))):
                pass
            assert "slow.slow_age" in found
            assert "Not available" not in found
            checked = text(await client.call_tool("run", one | {"only_check": True}))
            assert json.loads(checked)["runnable"]


async def test_three_bad_servers_of_forty_hold_up_and_hide_no_tool(tmp_path: Path) -> None:
    path = configuration(tmp_path)
    with toolplan.open(str(path), journal=str(tmp_path / "runs.sqlite"), grace=GRACE_S) as app:
        while any("'server" in fault for fault in app.faults):  # on a busy machine
            app.refresh()
        instructions, tools = await said(app)
        sources = {tool.source for tool in app.tools.values()}
        assert {name for name in BAD_ONES if any(name in each for each in app.faults)} == {
            *BAD_ONES
        }
    assert len([name for name in app.tools if name.startswith("server")]) == TOOLS
    assert len({each for each in sources if each.startswith("server")}) == SERVERS - len(BAD_ONES)
    assert [tool for tool in app.tools.values() if tool.source == "lies" and tool.unusable is None]
    assert "hangs" in instructions.partition("Not available")[2]
    assert "dies" in tools.partition("Not available (tell the user): ")[2]


async def test_known_servers_are_not_waited_for_and_changed_ones_are_noticed(
    tmp_path: Path,
) -> None:
    switch, path = tmp_path / "switch", tmp_path / "mcp.json"
    tool = {"name": "age", "inputSchema": ANYTHING, "annotations": {"readOnlyHint": True}}
    results = {"age": {"content": [{"type": "text", "text": "forty"}]}}
    script = Scripted(tmp_path, pages=one_page(tool), results=results, waits=str(switch))
    entry = {"command": sys.executable, "args": ["-S", str(WIRE_SERVER), str(script.path)]}
    path.write_text(json.dumps({"mcpServers": {"slow": entry}}), "utf-8")
    one: dict[str, Any] = {"tool": "slow.age", "args": {}}
    how: dict[str, Any] = {"effects": {"slow.age": "read"}, "grace": GRACE_S}
    how["journal"] = str(tmp_path / "runs.sqlite")

    @asynccontextmanager
    async def opened() -> AsyncGenerator[Client]:
        with toolplan.open(str(path), **how) as app:
            async with Backend(app) as backend, Client(make_server(backend)) as client:
                yield client

    switch.touch()
    async with opened() as client:  # for the first time: its tools are pinned
        assert "slow.age" in text(await client.call_tool("search", {}))
    switch.unlink()
    async with opened() as client:
        assert "slow.age" in text(await client.call_tool("search", {}))
        calling = asyncio.create_task(client.call_tool("run", one))
        assert "Not available" not in text(await client.call_tool("search", {}))
        switch.touch()  # only the call has waited for its server
        assert text(await calling) == "forty"
    script.write(pages=one_page(tool | {"description": "Now other."}, {**tool, "name": "new"}))
    switch.unlink()
    async with opened() as client:
        assert "slow.new" not in text(await client.call_tool("search", {}))
        calling = asyncio.create_task(client.call_tool("run", one))
        await asyncio.sleep(0)
        switch.touch()
        assert "it is not" in text(await calling)  # as it was checked, or accepted: never made
        while "slow.new" not in text(await client.call_tool("search", {})):
            pass
        changed = text(await client.call_tool("search", {"query": "slow.age"}))
        assert "it is not the tool that was accepted" in changed
    assert len(script.sent("tools/call")) == 1
    entry["args"] = [*entry["args"], "other"]
    path.write_text(json.dumps({"mcpServers": {"slow": entry}}), "utf-8")
    switch.unlink()
    threading.Timer(0.2, switch.touch).start()
    async with opened():  # another command: what it lists is not known, and was waited for
        assert switch.exists()
