"""What a plan costs over bare calls of the SDK: `python -m benchmarks.mcp_overhead [--quick]`.

The same calls of the same tool, one after the other and many at once: by the SDK's own client, and
as a plan through the engine. Arms take turns in one run; a figure is the median of the turns, in
CPU seconds of this process and, over stdio, of the server's. It exits 1 where a ratio is over its
goal. `python -m benchmarks.mcp_overhead --serve` is the server.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import anyio
import mcp.types as wire
from mcp import Client, StdioServerParameters
from mcp.server import Server as SdkServer
from mcp.server import ServerRequestContext
from mcp.server.stdio import stdio_server

from toolplan.compiler import compile_plan
from toolplan.engine import run
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Toolbox
from toolplan.tools.mcp import (
    LocalServer,
    McpSource,
    Server,
    StdioServer,
    connected,
    connected_here,
)

GOAL: Final = 1.3
CONCURRENT: Final = 32

_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
}

Adder: TypeAlias = SdkServer[dict[str, Any]]
Target: TypeAlias = Adder | StdioServerParameters


class Cost(NamedTuple):
    """CPU seconds of one turn: of this process, and of the server's where it has its own."""

    here: float
    there: float

    @property
    def total(self) -> float:
        """What both take."""
        return self.here + self.there


class Row(NamedTuple):
    """One comparison. `goal` None is for information only."""

    name: str
    calls: int
    bare: list[Cost]
    plan: list[Cost]
    goal: float | None

    @property
    def ratio(self) -> float:
        """CPU of the plan over CPU of the bare calls, the median of the turns."""
        return statistics.median(
            p.total / b.total for p, b in zip(self.plan, self.bare, strict=True)
        )

    @property
    def is_met(self) -> bool:
        """Whether the goal is met, where there is one."""
        return self.goal is None or self.ratio <= self.goal

    def __str__(self) -> str:
        bare, plan = (_per_call(costs, self.calls) for costs in (self.bare, self.plan))
        goal = (
            "" if self.goal is None else f"  goal {self.goal:g}{'' if self.is_met else ' MISSED'}"
        )
        return f"{self.name:44} bare {bare}  plan {plan}  ratio {self.ratio:.2f}{goal}"


def main() -> int:
    """Measure and print; give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mcp_overhead", description=__doc__)
    parser.add_argument("--serve", action="store_true", help="be the server, over stdio")
    parser.add_argument("--quick", action="store_true", help="few calls and turns")
    options = parser.parse_args()
    if options.serve:
        anyio.run(_serve)
        return 0
    calls, turns = (200, 3) if options.quick else (1000, 7)
    command = StdioServer(sys.executable, ("-m", "benchmarks.mcp_overhead", "--serve"), cwd=_root())
    bare = StdioServerParameters(command=command.command, args=[*command.args], cwd=_root())
    rows = [
        row
        for way, server, target in (
            ("in process", LocalServer(_adder()), _adder()),
            ("stdio", command, bare),
        )
        for row in _rows(way, server, target, calls, turns)
    ]
    for row in rows:
        print(row)
    return 0 if all(row.is_met for row in rows) else 1


def _rows(way: str, server: Server, target: Target, calls: int, turns: int) -> list[Row]:
    rows: list[Row] = []
    for concurrent in (False, True):
        bare: list[Cost] = []
        here: list[Cost] = []
        thread: list[Cost] = []
        for turn in range(turns + 1):
            found = (
                asyncio.run(_bare(target, calls, concurrent)),
                asyncio.run(_plan_here(server, calls, concurrent)),
                _plan_in_a_thread(server, calls, concurrent),
            )
            if turn:  # the first one warms up
                for costs, cost in zip((bare, here, thread), found, strict=True):
                    costs.append(cost)
        order = f"{CONCURRENT} at once" if concurrent else "one by one"
        rows.append(Row(f"{way}, {order}", calls, bare, here, GOAL))
        rows.append(Row(f"{way}, {order}, through a thread", calls, bare, thread, None))
    return rows


async def _bare(target: Target, calls: int, concurrent: bool) -> Cost:
    async with Client(target) as client:
        await client.call_tool("add", {"n": 0})
        if not concurrent:

            async def one_by_one() -> None:
                for n in range(calls):
                    await client.call_tool("add", {"n": n})

            return await _cost(one_by_one)
        room = asyncio.Semaphore(CONCURRENT)

        async def call(n: int) -> None:
            async with room:
                await client.call_tool("add", {"n": n})

        async def many() -> None:
            await asyncio.gather(*(call(n) for n in range(calls)))

        return await _cost(many)


async def _plan_here(server: Server, calls: int, concurrent: bool) -> Cost:
    async with connected_here({"s": server}) as source:
        return await _ran(await source.tools(), calls, concurrent)


def _plan_in_a_thread(server: Server, calls: int, concurrent: bool) -> Cost:
    source: McpSource
    with connected({"s": server}) as source:
        return asyncio.run(_ran(source.toolbox(), calls, concurrent))


async def _ran(tools: Toolbox, calls: int, concurrent: bool) -> Cost:
    plan = _plan(tools, calls, concurrent)
    await run(_plan(tools, 1, concurrent), tools)

    async def all_of_it() -> None:
        found = await run(plan, tools, concurrency=CONCURRENT)
        if not found.succeeded:
            raise AssertionError("The plan of the benchmark failed.")

    return await _cost(all_of_it)


def _plan(tools: Toolbox, calls: int, concurrent: bool) -> ExecutionPlan:
    steps: list[dict[str, Any]] = [
        {
            "id": f"s{n}",
            "tool": "s.add",
            "args": {"n": n if concurrent or n == 0 else f"${{s{n - 1}.n}}"},
        }
        for n in range(calls)
    ]
    plan = compile_plan(json.dumps({"toolplan": 1, "steps": steps}), tools=tools).plan
    if plan is None:
        raise AssertionError("The plan of the benchmark does not compile.")
    return plan


async def _cost(work: Callable[[], Awaitable[None]]) -> Cost:
    there = _cpu_of_children()
    here = time.process_time()
    await work()
    return Cost(time.process_time() - here, _cpu_of_children() - there)


def _cpu_of_children() -> float:
    """Return the CPU seconds that the living children of this process have taken, where known."""
    listed = Path("/proc/self/task").glob("*/children")
    return sum(_cpu_of(pid) for children in listed for pid in children.read_text().split())


def _cpu_of(pid: str) -> float:
    # nanoseconds, thread by thread: /proc/PID/stat counts in hundredths of a second only
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(each.read_text().split()[0]) for each in threads) / 1e9


def _per_call(costs: list[Cost], calls: int) -> str:
    here = statistics.median(cost.here for cost in costs) / calls * 1e6
    there = statistics.median(cost.there for cost in costs) / calls * 1e6
    return f"{here:4.0f} us" + (f" + {there:4.0f} us" if there else "")


def _adder() -> Adder:
    async def on_list_tools(
        _request: ServerRequestContext[dict[str, Any]], _params: object
    ) -> wire.ListToolsResult:
        tool = wire.Tool(
            name="add",
            description="Gives the number and one.",
            input_schema=_SCHEMA,
            output_schema=_SCHEMA,
            annotations=wire.ToolAnnotations(read_only_hint=True),
        )
        return wire.ListToolsResult(tools=[tool])

    async def on_call_tool(
        _request: ServerRequestContext[dict[str, Any]], params: wire.CallToolRequestParams
    ) -> wire.CallToolResult:
        value = {"n": (params.arguments or {})["n"] + 1}
        text = wire.TextContent(text=json.dumps(value))
        return wire.CallToolResult(content=[text], structured_content=value)

    return SdkServer("adder", version="1", on_list_tools=on_list_tools, on_call_tool=on_call_tool)


async def _serve() -> None:
    server = _adder()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def _root() -> str:
    return str(Path(__file__).parents[1])


if __name__ == "__main__":
    sys.exit(main())
