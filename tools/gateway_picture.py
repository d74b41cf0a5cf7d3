"""Draw what an assistant does with the gateway: `python tools/gateway_picture.py`.

The picture is docs/gateway.svg. The calls are made for this, over the demo's tools as they are on
one day: what stands in the picture is what the server answered.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from datetime import date
from io import StringIO
from pathlib import Path
from typing import Any, Final

from mcp import Client
from mcp.types import TextContent
from rich.console import Console
from rich.markup import escape

import toolplan
from toolplan.mcp_server import Backend, make_server
from toolplan.mcp_server._reports import terminal_command
from toolplan.testing import ScriptedPlanner
from toolplan_demo import demo_tools

PICTURE: Final = Path(__file__).parents[1] / "docs" / "gateway.svg"
DAY: Final = date(2026, 11, 23)
WIDTH: Final = 104
MOST_LINES: Final = 5

LATE: Final[dict[str, Any]] = {
    "id": "late",
    "tool": "shipments_list",
    "args": {"status": "pending", "has_contaminants": True},
}
WHERE: Final[dict[str, Any]] = {
    "id": "where",
    "tool": "sql",
    "args": {
        "sql": "SELECT facility_id, count(*) AS n FROM late GROUP BY 1 ORDER BY n DESC, 1 LIMIT 3",
        "tables": {"late": "${late.data}"},
    },
}
SITES: Final[dict[str, Any]] = {
    "id": "sites",
    "tool": "facilities_get",
    "for_each": "${where.data[*].facility_id}",
    "args": {"id": "${item}"},
}
UPDATE: Final[dict[str, Any]] = {
    "id": "reject",
    "tool": "shipments_update",
    "for_each": "${late.data[*].id}",
    "args": {"id": "${item}", "status": "rejected"},
}
OUTPUT: Final = {"late": "${late.count}", "most at": "${sites[*].data.name}"}


def plan(*steps: dict[str, Any], output: object) -> dict[str, Any]:
    """Return a plan of `steps`."""
    return {"toolplan": 1, "steps": [*steps], "output": output}


async def exchanges() -> list[tuple[str, str, str]]:
    """Return calls of an assistant, each with what it is for and what came back."""
    tools = demo_tools(today=DAY)
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "runs.sqlite"
        app = toolplan.open(tools, planner=ScriptedPlanner("{}"), journal=journal)
        async with app, Backend(app) as backend, Client(make_server(backend)) as client:
            found: list[tuple[str, str, str]] = []

            async def call(why: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
                result = await client.call_tool(tool, arguments)
                texts = [each.text for each in result.content if isinstance(each, TextContent)]
                found.append((why, f"{tool} {json.dumps(arguments)}", "\n".join(texts)))
                return result.structured_content or {}

            await call("It finds tools", "search", {"query": "facilities"})
            read = await call(
                "One plan, many calls; only the output comes back",
                "run",
                {"plan": plan(LATE, WHERE, SITES, output=OUTPUT)},
            )
            late = f"${{run:{read['run'][:8]}.late.data[*].id}}"
            await call(
                "A later plan reads the earlier result; what changes something waits for a person",
                "run",
                {"plan": plan({**UPDATE, "for_each": late}, output="${reject}")},
            )
            return found


def main() -> None:
    """Write the picture."""
    console = Console(record=True, width=WIDTH, file=StringIO())
    command = terminal_command().rstrip() + " "
    for why, called, answer in asyncio.run(exchanges()):
        console.print(f"[bold cyan]{escape(why)}[/]")
        console.print(f"[green]→[/] {escape(called)}")
        lines = answer.replace(command, "toolplan ").splitlines()
        shown = "\n".join(lines[:MOST_LINES])[: WIDTH * MOST_LINES]
        more = " …" if len(shown) < len(answer) else ""
        console.print(f"[dim]← {escape(shown)}{more}[/]\n")
    svg = console.export_svg(title="toolplan mcp", unique_id="gateway")
    fonts = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # they would come from the network
    PICTURE.write_text(fonts.sub("", svg), "utf-8")


if __name__ == "__main__":
    main()
