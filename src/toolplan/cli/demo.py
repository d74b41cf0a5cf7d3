"""`toolplan demo`."""

from __future__ import annotations

import asyncio
import socket
from typing import Annotated, Final

from cyclopts import Parameter

from toolplan.app._decisions import read_day
from toolplan.cli._options import PortOption, TodayOption, known_port
from toolplan.cli._terminal import CommandError, Exit, note
from toolplan.demo.changes import reset as forget_changes
from toolplan.demo.database import DEFAULT_ROWS
from toolplan.demo.rest import DOCUMENT_PATH
from toolplan.demo.rest import server as rest_server
from toolplan.demo.server import HTTP_PATH, LOOPBACK, serve_http, serve_stdio
from toolplan.demo.tools import demo_tools
from toolplan.tools import ToolObjectError

DEFAULT_PORT: Final = 8765

McpFlag = Annotated[bool, Parameter(name="--mcp", help="An MCP server over stdio; the default.")]
McpHttpFlag = Annotated[
    bool, Parameter(name="--mcp-http", help="An MCP server over streamable HTTP.")
]
HttpFlag = Annotated[bool, Parameter(name="--http", help="A REST API with its OpenAPI document.")]
ResetFlag = Annotated[
    bool,
    Parameter(name="--reset", help="Forget what tools have changed in its data."),
]
RowsOption = Annotated[int | None, Parameter(name="--rows", help="The number of shipments, about.")]


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
        note("The demo's data are as generated." if not forget_changes() else "Changes forgotten.")
        return Exit.FINE.value
    if http or mcp_http:
        _see_that_it_is_free(known_port(port))
    if mcp + mcp_http + http > 1:
        raise CommandError("usage", "--mcp, --mcp-http and --http exclude each other.")
    try:
        ends = None if today is None else read_day(today)
        tools = demo_tools(ends, DEFAULT_ROWS if rows is None else rows, lasts=True)
    except ToolObjectError as error:
        raise CommandError(
            "bad-tools", str(error), "Give another number of rows: --rows."
        ) from None
    if http:
        note(f"The demo's REST API: http://{LOOPBACK}:{port}{DOCUMENT_PATH}")
        rest_server(tools, port).run()
    elif mcp_http:
        note(f"The demo's MCP server: http://{LOOPBACK}:{port}{HTTP_PATH}")
        asyncio.run(serve_http(tools, port))
    else:
        asyncio.run(serve_stdio(tools))
    return Exit.FINE.value


def _see_that_it_is_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            raise CommandError(
                "port-in-use",
                f"Port {port} of {LOOPBACK} cannot be listened on: {error.strerror}.",
                "Name another one: --port.",
            ) from None
