"""`toolplan demo`."""

from __future__ import annotations

import asyncio
import sys
from datetime import date
from typing import Annotated, Final

from cyclopts import Parameter

from toolplan.base.errors import ToolplanError
from toolplan.cli.options import PortOption, whole
from toolplan.schema.tool import ToolObjectError
from toolplan_demo.changes import reset as forget_changes
from toolplan_demo.database import DEFAULT_ROWS
from toolplan_demo.rest import DOCUMENT_PATH, serve
from toolplan_demo.server import HTTP_PATH, serve_mcp, serve_stdio
from toolplan_demo.tools import demo_tools

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
    int | None,
    Parameter(name="--rows", converter=whole, help="The number of shipments, about."),
]
ResetFlag = Annotated[
    bool,
    Parameter(name="--reset", help="Forget what tools have changed in its data."),
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
        said = f"--today {today} is not in the years from {_FIRST_YEAR} to {_LAST_YEAR}."
        raise ToolplanError("bad-date", said, "Write YYYY-MM-DD, as in 2025-10-12.")
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
        asyncio.run(
            serve_mcp(tools, port, lambda url: _note(f"The demo's MCP server: {url}{HTTP_PATH}"))
        )
    else:
        asyncio.run(serve_stdio(tools))
    return 0


def _note(text: str) -> None:
    """Print `text` on standard error: standard output is the wire of MCP."""
    print(text, file=sys.stderr, flush=True)
