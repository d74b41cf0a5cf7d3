"""Servers for the tests: scripted ones over stdio, and SDK servers in this process."""

import asyncio
import json
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import mcp.types as wire
from mcp.server import Server, ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Tool, Toolbox
from toolplan.tools.mcp import LocalServer, McpSource, StdioServer, connected

WIRE_SERVER: Final = Path(__file__).with_name("wire_server.py")
ANYTHING: Final[dict[str, Any]] = {"type": "object", "properties": {}}
READ: Final = {"readOnlyHint": True}


class Scripted:
    """A script in a folder, and the server that follows it."""

    def __init__(self, folder: Path, **script: Any) -> None:
        self.path = folder / "script.json"
        self.script = script
        self.write()

    def write(self, **changes: Any) -> None:
        self.script.update(changes)
        self.path.write_text(json.dumps(self.script), "utf-8")

    def server(self, **fields: Any) -> StdioServer:
        arguments = ("-S", str(WIRE_SERVER), str(self.path))
        return StdioServer(sys.executable, arguments, **fields)

    def sent(self, method: str) -> list[dict[str, Any]]:
        """What the server was asked."""
        log = self.path.with_suffix(".log")
        asked = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
        return [each for each in asked if each.get("method") == method]


@contextmanager
def serving(
    folder: Path,
    *tools: object,
    results: Mapping[str, Any] | None = None,
    server: Mapping[str, Any] = MappingProxyType({}),
    script: Mapping[str, Any] = MappingProxyType({}),
    **options: Any,
) -> Generator[tuple[Scripted, Toolbox, McpSource]]:
    """Start a server `it` with `tools`; `options` are those of `connected`, which trusts it."""
    scripted = Scripted(folder, pages=one_page(*tools), results=results or {}, **script)
    options = {"trusted": ["it"], **options}
    with connected({"it": scripted.server(**server)}, **options) as source:
        yield scripted, source.toolbox(), source


def one_page(*tools: object) -> dict[str, Any]:
    return {"": {"tools": list(tools)}}


def listed_tool(name: str, **fields: Any) -> dict[str, Any]:
    """A tool as a server lists it; by default it only reads."""
    return {
        "name": name,
        "description": f"Does {name}.",
        "inputSchema": ANYTHING,
        "annotations": READ,
        **fields,
    }


def text(*texts: str, **fields: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": each} for each in texts], **fields}


class Changeable:
    """A server in this process, whose tools change while it is used. It counts calls."""

    def __init__(self, *tools: dict[str, Any], version: str = "1") -> None:
        self.tools = {tool["name"]: tool for tool in tools}
        self.calls: list[str] = []
        self._bus = InMemorySubscriptionBus()
        self._server: Server[dict[str, Any]] = Server(
            "changeable",
            version=version,
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_subscriptions_listen=ListenHandler(self._bus),
        )

    def server(self) -> LocalServer:
        return LocalServer(self._server)

    async def announce(self) -> None:
        """Report that the tools have changed, and wait until that has arrived."""
        await self._bus.publish(ToolsListChanged())
        for _ in range(50):
            await asyncio.sleep(0)

    async def _list(
        self, _request: ServerRequestContext[dict[str, Any]], _params: object
    ) -> wire.ListToolsResult:
        return wire.ListToolsResult(
            tools=[wire.Tool.model_validate(tool) for tool in self.tools.values()]
        )

    async def _call(
        self, _request: ServerRequestContext[dict[str, Any]], params: wire.CallToolRequestParams
    ) -> wire.CallToolResult:
        self.calls.append(params.name)
        return wire.CallToolResult(content=[wire.TextContent(text=f"{params.name} was called")])


def call(tools: Mapping[str, Tool], name: str, /, **arguments: Json) -> Json:
    """Call a tool from an event loop of its own."""
    return asyncio.run(called(tools, name, arguments))


async def called(tools: Mapping[str, Tool], name: str, arguments: Arguments) -> Json:
    function = tools[name].call
    assert function is not None
    return await function(arguments)


def names(tools: Toolbox) -> list[str]:
    return list(tools)
