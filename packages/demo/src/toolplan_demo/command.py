"""`toolplan demo`, and the MCP server of the demo's tools."""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import date
from importlib.metadata import version
from typing import Annotated, Any, Final, TypeAlias, cast

from cyclopts import Parameter
from mcp import types as wire
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

from toolplan.base.errors import ToolplanError
from toolplan.cli.options import PortOption, whole
from toolplan.mcp_server.http.guard import Guard, Rules
from toolplan.mcp_server.http.serving import serve_http
from toolplan.schema.tool import Effects, Tool, Toolbox, ToolError, ToolObjectError
from toolplan_demo.changes import reset as forget_changes
from toolplan_demo.database import DEFAULT_ROWS
from toolplan_demo.rest import DOCUMENT_PATH, LOOPBACK, serve
from toolplan_demo.tools import demo_tools

NAME: Final = "toolplan-demo"
HTTP_PATH: Final = "/mcp"

DemoServer: TypeAlias = Server[dict[str, Any]]


def demo_server(tools: Toolbox) -> DemoServer:
    """Return an MCP server of `tools`; every result is structured, with the same as JSON text."""

    async def on_list_tools(
        _request: ServerRequestContext[dict[str, Any]], _params: wire.PaginatedRequestParams | None
    ) -> wire.ListToolsResult:
        return wire.ListToolsResult(tools=[_on_the_wire(tool) for tool in tools.values()])

    async def on_call_tool(
        _request: ServerRequestContext[dict[str, Any]], params: wire.CallToolRequestParams
    ) -> wire.CallToolResult:
        tool = tools.get(params.name)
        if tool is None or tool.call is None:
            return _failed(f"There is no tool {params.name!r}.")
        try:
            result = await tool.call(dict(params.arguments or {}))
        except ToolError as error:
            return _failed(str(error))
        text = json.dumps(result, ensure_ascii=False, separators=(",", ":"))
        return wire.CallToolResult(content=[wire.TextContent(text=text)], structured_content=result)

    return Server(
        NAME,
        version=version("toolplan"),
        instructions="Shipments, facilities, contaminants and inspections; generated data.",
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
    )


async def _serve_stdio(tools: Toolbox) -> None:
    """Serve `tools` to the process that started this one, until it closes the input."""
    server = demo_server(tools)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def _serve_mcp(tools: Toolbox, port: int) -> None:
    """Serve `tools` over HTTP; requests for another Host or from another Origin are refused."""
    served = demo_server(tools).streamable_http_app(streamable_http_path=HTTP_PATH, host=LOOPBACK)
    guarded = Guard(served, Rules(hosts=[LOOPBACK]))
    await serve_http(
        guarded, LOOPBACK, port, lambda url: _note(f"The demo's MCP server: {url}{HTTP_PATH}")
    )


def _on_the_wire(tool: Tool) -> wire.Tool:
    return wire.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=cast("dict[str, Any]", tool.raw_input),
        output_schema=cast("dict[str, Any]", tool.raw_output),
        annotations=wire.ToolAnnotations(
            read_only_hint=tool.effects is Effects.READ,
            destructive_hint=tool.effects in (Effects.DESTRUCTIVE, Effects.UNKNOWN),
            idempotent_hint=tool.may_repeat,
            open_world_hint=False,
        ),
    )


def _failed(text: str) -> wire.CallToolResult:
    return wire.CallToolResult(content=[wire.TextContent(text=text)], is_error=True)


DEFAULT_PORT: Final = 8765
_FIRST_YEAR: Final = 1900
_LAST_YEAR: Final = 2999

McpFlag = Annotated[bool, Parameter(name="--mcp", help="An MCP server over stdio; the default.")]
McpHttpFlag = Annotated[
    bool, Parameter(name="--mcp-http", help="An MCP server over streamable HTTP.")
]
HttpFlag = Annotated[bool, Parameter(name="--http", help="A REST API with its OpenAPI document.")]
TodayOption = Annotated[
    date | None, Parameter(name="--today", help="Treat this date as today: YYYY-MM-DD.")
]
RowsOption = Annotated[
    int | None, Parameter(name="--rows", converter=whole, help="The number of shipments, about.")
]
ResetFlag = Annotated[
    bool, Parameter(name="--reset", help="Forget what tools have changed in its data.")
]


def demo_command(
    *,
    mcp: McpFlag = False,
    mcp_http: McpHttpFlag = False,
    http: HttpFlag = False,
    port: PortOption = DEFAULT_PORT,
    today: TodayOption = None,
    rows: RowsOption = None,
    reset: ResetFlag = False,
) -> int:
    """Serve the demo's tools: an MCP server over stdio, or what an option says.

    Use it from another terminal, or let `--tools FILE` start it: FILE is
    an MCP configuration, {"mcpServers": {"demo": {"command": "toolplan",
    "args": ["demo"]}}}. What tools write is kept in TOOLPLAN_HOME;
    --reset forgets it, and serves nothing.
    """
    if reset:
        _note("The demo's data are as generated." if not forget_changes() else "Changes forgotten.")
        return 0
    if mcp + mcp_http + http > 1:
        raise ToolplanError("usage", "--mcp, --mcp-http and --http exclude each other.")
    if today is not None and not _FIRST_YEAR <= today.year <= _LAST_YEAR:
        message = f"--today {today} is not in the years from {_FIRST_YEAR} to {_LAST_YEAR}."
        raise ToolplanError("bad-date", message, "Write YYYY-MM-DD, as in 2025-10-12.")
    try:
        tools = demo_tools(today, DEFAULT_ROWS if rows is None else rows, lasts=True)
    except ToolObjectError as error:
        help_ = "Give another number of rows: --rows."
        raise ToolplanError("bad-tools", str(error), help_) from None
    if http:
        asyncio.run(
            serve(tools, port, lambda url: _note(f"The demo's REST API: {url}{DOCUMENT_PATH}"))
        )
    elif mcp_http:
        asyncio.run(_serve_mcp(tools, port))
    else:
        asyncio.run(_serve_stdio(tools))
    return 0


def _note(text: str) -> None:
    """Print `text` on standard error: standard output is the wire of MCP."""
    print(text, file=sys.stderr, flush=True)
