"""What a model reads of the gateway: `python -m benchmarks.gateway [--json]`.

First what stands in every context, the definitions and instructions, over 20, 200 and 2,000 tools
of 40 servers, and over the same tools directly. Then tasks over the tools of the demo: the plan or
the call that a model writes and what it reads back, against the calls and results of a direct
client. Tokens are those of SmolLM2 (`benchmarks.llama`), each text counted once; texts are those
that go over the wire. No model is asked: plans and calls are written here.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from mcp import Client
from mcp.types import TextContent

from benchmarks.llama import llama_server, versions
from toolplan.app.app import App
from toolplan.mcp_server import Backend, make_server
from toolplan.schema.tool import Tool, Toolbox
from toolplan.testing import ScriptedPlanner
from toolplan_demo import TOOLS

COUNTS: Final = (20, 200, 2_000)
SERVERS: Final = 40


class CallFailed(Exception):
    """A call of a task failed; no figure would be right."""


class Task(NamedTuple):
    """What is searched for, the plan or the one call, and the calls that a direct client makes."""

    name: str
    query: str
    run: dict[str, Any]
    direct: tuple[tuple[str, dict[str, Any]], ...]


def tasks() -> tuple[Task, ...]:
    """Return two tasks of one call each, and two of many."""
    get = ("facilities_get", {"id": "F1"})
    rate: tuple[str, dict[str, Any]] = ("analytics_contamination_rate", {})
    rows: dict[str, Any] = {
        "id": "rows",
        "tool": "shipments_list",
        "args": {"has_contaminants": True},
    }
    each: dict[str, Any] = {
        "id": "each",
        "tool": "facilities_get",
        "for_each": "${all.data[*].id}",
        "args": {"id": "${item}"},
    }
    everything: dict[str, Any] = {"id": "all", "tool": "facilities_list", "args": {}}
    ids = [f"F{at}" for at in range(1, 20)]
    return (
        Task("one facility", get[0], {"tool": get[0], "args": get[1]}, (get,)),
        Task("one rate", rate[0], {"tool": rate[0], "args": {}}, (rate,)),
        Task(
            "how many shipments have contaminants",
            "shipments_list",
            {"plan": {"steps": [rows], "output": "${rows.count}"}},
            (("shipments_list", rows["args"]),),
        ),
        Task(
            "the names of all facilities, each read by its id",
            "facilities_list, facilities_get",
            {
                "plan": {
                    "steps": [everything, each],
                    "output": "${each[*].data.name}",
                }
            },
            (("facilities_list", {}), *(("facilities_get", {"id": name}) for name in ids)),
        ),
    )


def many(count: int) -> Toolbox:
    """Return tools with the schemas of the demo's under other names."""
    known = list(TOOLS.values())
    return Toolbox(
        Tool(
            name=f"server{at % SERVERS}.tool_{at}",
            description=known[at % len(known)].description,
            raw_input=known[at % len(known)].raw_input,
            raw_output=known[at % len(known)].raw_output,
            source=f"server{at % SERVERS}",
        )
        for at in range(count)
    )


def listed(tools: Toolbox) -> str:
    """Return the definitions of `tools` as a server of theirs lists them."""
    return json.dumps(
        [
            {"name": tool.name, "description": tool.description, "inputSchema": tool.raw_input}
            for tool in tools.values()
        ]
    )


async def context(client: Client) -> str:
    """Return what a client puts into every context."""
    found = (await client.list_tools()).tools
    tools = [each.model_dump(by_alias=True, exclude_none=True) for each in found]
    return f"{client.instructions}\n{json.dumps(tools)}"


async def exchange(client: Client, tool: str, arguments: dict[str, Any]) -> tuple[str, str]:
    """Return a call as a model writes it, and its result as a model reads it.

    Raises:
        CallFailed: the call failed.
    """
    result = await client.call_tool(tool, arguments)
    said = "".join(block.text for block in result.content if isinstance(block, TextContent))
    if result.is_error:
        raise CallFailed(f"{tool} {json.dumps(arguments)[:300]} failed: {said}")
    return json.dumps({"name": tool, "arguments": arguments}), said


async def measured(tools: Toolbox, count: Callable[[str], int], folder: Path) -> dict[str, Any]:
    """Return tokens of the context, and of each task where `tools` are the demo's."""
    app = App(tools, ScriptedPlanner("{}"), journal=folder / f"{len(tools)}.sqlite")
    found: dict[str, Any] = {"tools": len(tools), "direct": count(listed(tools)), "tasks": []}
    async with app, Backend(app) as backend, Client(make_server(backend)) as client:
        found["gateway"] = count(await context(client))
        for task in tasks() if tools is TOOLS else ():
            search = count("\n".join(await exchange(client, "search", {"query": task.query})))
            run = count("\n".join(await exchange(client, "run", task.run)))
            direct = 0
            for name, arguments in task.direct:
                one = {"tool": name, "args": arguments}
                _, said = await exchange(client, "run", one)
                direct += count(f"{json.dumps({'name': name, 'arguments': arguments})}\n{said}")
            row = {"task": task.name, "search": search, "run": run, "direct": direct}
            row["calls"] = len(task.direct)
            cast("list[dict[str, Any]]", found["tasks"]).append(row)
    return found


async def figures(count: Callable[[str], int]) -> list[dict[str, Any]]:
    """Return what is measured over the demo and over 20, 200 and 2,000 tools."""
    with tempfile.TemporaryDirectory() as folder:
        boxes = (TOOLS, *(many(each) for each in COUNTS))
        return [await measured(box, count, Path(folder)) for box in boxes]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.gateway", description=__doc__)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with llama_server() as server:
        found = asyncio.run(figures(server.tokens))
    if given.json:
        print(json.dumps({"tokenizer": versions(), "figures": found}))
        return
    print(f"tokenizer: {versions()}")
    for each in found:
        print(f"{each['tools']:>5} tools: gateway {each['gateway']}, direct {each['direct']}")
        for row in each["tasks"]:
            print(
                f"      {row['task']}: search {row['search']}, run {row['run']}; "
                f"direct {row['direct']} in {row['calls']} calls"
            )


if __name__ == "__main__":
    main()
