"""The demo domain as an MCP server: over stdio, and over streamable HTTP on loopback.

The tools go over the wire as they are, hints and output schemas included, so that a plan over this
server is the plan over the tools themselves.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any, Final, TypeAlias, cast

from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp.types import Tool as WireTool
from starlette.types import ASGIApp

from toolplan.mcp_server.http.guard import Guard, Rules
from toolplan.mcp_server.http.serving import serve_http
from toolplan.plan.path import Json
from toolplan.schema.tool import Effects, Tool, Toolbox, ToolError

NAME: Final = "toolplan-demo"
HTTP_PATH: Final = "/mcp"
LOOPBACK: Final = "127.0.0.1"

DemoServer: TypeAlias = Server[dict[str, Any]]


def demo_server(tools: Toolbox) -> DemoServer:
    """Return an MCP server of `tools`; every result is structured, with the same as JSON text."""

    async def on_list_tools(
        _request: ServerRequestContext[dict[str, Any]], _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=[_on_the_wire(tool) for tool in tools.values()])

    async def on_call_tool(
        _request: ServerRequestContext[dict[str, Any]], params: CallToolRequestParams
    ) -> CallToolResult:
        return await _answer(tools, params.name, params.arguments or {})

    return Server(
        NAME,
        version=version("toolplan"),
        instructions="Shipments, facilities, contaminants and inspections; generated data.",
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
    )


async def serve_stdio(tools: Toolbox) -> None:
    """Serve `tools` to the process that started this one, until it closes the input."""
    server = demo_server(tools)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def http_app(tools: Toolbox, host: str = LOOPBACK) -> ASGIApp:
    """Return the server of `tools` at `host` as an ASGI application."""
    served = demo_server(tools).streamable_http_app(streamable_http_path=HTTP_PATH, host=host)
    return Guard(served, Rules(hosts=[host]))


async def serve_mcp(
    tools: Toolbox, port: int, on_ready: Callable[[str], None] | None = None
) -> None:
    """Serve `tools` at `http://127.0.0.1:PORT/mcp` until the process is asked to end.

    Requests for another Host or from another Origin are refused.

    Raises:
        CannotServe: the port is in use.
    """
    await serve_http(http_app(tools), LOOPBACK, port, on_ready)


def _on_the_wire(tool: Tool) -> WireTool:
    return WireTool(
        name=tool.name,
        description=tool.description,
        input_schema=cast("dict[str, Any]", tool.raw_input),
        output_schema=cast("dict[str, Any]", tool.raw_output),
        annotations=ToolAnnotations(
            read_only_hint=tool.effects is Effects.READ,
            destructive_hint=tool.effects in (Effects.DESTRUCTIVE, Effects.UNKNOWN),
            idempotent_hint=tool.may_repeat,
            open_world_hint=False,
        ),
    )


async def _answer(tools: Toolbox, name: str, arguments: Mapping[str, Json]) -> CallToolResult:
    tool = tools.get(name)
    if tool is None or tool.call is None:
        return _failed(f"There is no tool {name!r}.")
    try:
        result = await tool.call(dict(arguments))
    except ToolError as error:
        return _failed(str(error))
    text = json.dumps(result, ensure_ascii=False, separators=(",", ":"))
    return CallToolResult(content=[TextContent(text=text)], structured_content=result)


def _failed(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], is_error=True)
