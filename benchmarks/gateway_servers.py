"""The gateway over 40 servers with 2,000 tools: `python -m benchmarks.gateway_servers`.

One of them hangs, one dies whenever it is started, one lies about its schemas. Measured are the
start with and without these three, and searches through the gateway. Exits 1 where a server is
missing without a word, or the median of a search is over 50 ms.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from mcp import Client

import toolplan
from toolplan.app.app import App
from toolplan.cli.clients import GRACE_S
from toolplan.mcp_server import Backend, make_server

SERVERS: Final = 40
TOOLS: Final = 2_000
BAD: Final = ("hangs", "dies", "lies")
MOST_SEARCH_S: Final = 0.05
RUNS: Final = 3

_SERVER: Final = """
import json, sys
tools = json.load(open(sys.argv[1]))
info = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
        "serverInfo": {"name": "many", "version": "1"}}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    said = {"initialize": {"result": info}, "tools/list": {"result": {"tools": tools}}}.get(
        asked["method"], {"error": {"code": -32601, "message": "Method not found"}})
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}), flush=True)
"""
_SUBJECTS: Final = (
    "invoice",
    "shipment",
    "ticket",
    "customer",
    "file",
    "branch",
    "meeting",
    "part",
)
_WORK: Final = ("list", "find", "close", "count", "compare", "export", "archive", "rename")
_LIES: Final[tuple[Any, ...]] = (
    {"type": "object", "properties": {"a": {"$ref": "#/$defs/nowhere"}}},
    {"type": "object", "properties": {"a": {"type": "words"}}},
    {"type": "array"},
    "no schema at all",
)


def configuration(folder: Path, bad: tuple[str, ...] = BAD) -> Path:
    """Write an MCP configuration of 40 servers, `bad` among them, and return its path."""
    program = folder / "server.py"
    program.write_text(_SERVER, "utf-8")
    good = SERVERS - len(BAD)
    entries: dict[str, Any] = {}
    for at in range(good):
        tools = folder / f"tools-{at}.json"
        listed = [_tool(number) for number in range(at, TOOLS, good)]
        tools.write_text(json.dumps(listed), "utf-8")
        entries[f"server{at}"] = _entry("-S", str(program), str(tools))
    lies = folder / "lies.json"
    listed = [_tool(at) | {"inputSchema": schema} for at, schema in enumerate(_LIES)]
    lies.write_text(json.dumps([*listed, _tool(len(_LIES))]), "utf-8")
    kinds = {
        "hangs": _entry("-S", "-c", "import sys; sys.stdin.read()"),
        "dies": _entry("-S", "-c", "raise SystemExit(3)"),
        "lies": _entry("-S", str(program), str(lies)),
    }
    path = folder / "mcp.json"
    entries |= {name: kinds[name] for name in bad}
    path.write_text(json.dumps({"mcpServers": entries}), "utf-8")
    return path


def _entry(*arguments: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": [*arguments]}


def _tool(number: int) -> dict[str, Any]:
    work, subject = _WORK[number % 8], _SUBJECTS[number // 8 % 8]
    return {
        "name": f"{work}_{subject}_{number}",
        "description": f"{work.title()} each {subject} of the department {number}.",
        "inputSchema": {
            "type": "object",
            "properties": {subject: {"type": "string"}, "limit": {"type": "integer"}},
            "required": [subject],
        },
    }


def opened(path: Path) -> tuple[App, float]:
    """Return an app over the servers as `toolplan mcp` opens it, and the seconds it took."""
    began = time.perf_counter()
    app = toolplan.open(
        str(path), journal=str(path.with_suffix(".sqlite")), grace=GRACE_S, on_note=lambda _: None
    )
    return app, time.perf_counter() - began


async def searches(app: App) -> list[float]:
    """Return the seconds of each search through the gateway."""
    taken: list[float] = []
    async with Backend(app) as backend, Client(make_server(backend)) as client:
        for work in _WORK:
            for subject in _SUBJECTS:
                began = time.perf_counter()
                await client.call_tool("search", {"query": f"{work} a {subject} by its number"})
                taken.append(time.perf_counter() - began)
    return taken


def main() -> int:
    """Measure and print; return the exit code."""
    starts: dict[str, list[float]] = {"without": [], "with": []}
    faults: tuple[str, ...] = ()
    taken: list[float] = []
    count = 0
    for _ in range(RUNS):
        for kind, bad in (("without", ()), ("with", BAD)):
            with tempfile.TemporaryDirectory() as folder:
                os.environ["TOOLPLAN_HOME"] = folder
                app, seconds = opened(configuration(Path(folder), bad))
                with app:
                    starts[kind].append(seconds)
                    if bad:
                        taken = asyncio.run(searches(app))
                        faults, count = app.faults, len(app.tools)
    good, both = (statistics.median(starts[kind]) for kind in ("without", "with"))
    print(f"{SERVERS} servers, {count} tools; medians of {RUNS} starts")
    print(f"start: {good:.2f} s without the bad ones, {both:.2f} s with them ({both / good:.2f} x)")
    print(f"search: median {statistics.median(taken) * 1e3:.1f} ms, at most {max(taken) * 1e3:.1f}")
    for fault in faults:
        print(f"  {fault}")
    named = all(any(name in fault for fault in faults) for name in BAD)
    return 0 if named and statistics.median(taken) <= MOST_SEARCH_S else 1


if __name__ == "__main__":
    sys.exit(main())
