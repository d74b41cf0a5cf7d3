"""The gateway over five servers of others: `python -m benchmarks.gateway.servers FOLDER [--json]`.

The servers are installed into FOLDER where they are not yet there: mcp-server-git, mcp-server-time
and mcp-server-sqlite by pip, each in a virtual environment of its own, the filesystem and memory
servers of the Model Context Protocol by npm. Then twenty tasks (`tasks.py`) are done twice: by the
calls of a client that reads each result, and by one `run` of the gateway. A program of code mode
is not run: it is written, and prints what the plan returns; its definitions are those below.

Counted are tokens of SmolLM2 (`benchmarks.llama`), each text once: the definitions of tools and the
instructions, which stand in every context; the search that a model needs who does not know the
tools; calls or plan or program; and results. The second part is the time of a call through the
gateway beside the same call by a client, one after the other, with the CPU time that this process
takes for each; and the time until the first search is answered where no server runs yet, beside the
slowest server's own start: for the first time, when tools are known from that time, and then from
the start of `toolplan mcp` as a process, which has to be imported. All are medians.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from mcp import Client, StdioServerParameters

import toolplan
from benchmarks.gateway.__main__ import CallFailed, context, exchange
from benchmarks.gateway.tasks import Task, tasks, world
from benchmarks.llama import llama_server, versions
from benchmarks.mcp_servers import Package, install
from toolplan.cli.clients import GRACE_S
from toolplan.mcp_server import Backend, make_server
from toolplan.policy.approval import approve
from toolplan.tools.pins import FILE_NAME

PYTHON: Final = {
    "time": Package("mcp-server-time"),
    "git": Package("mcp-server-git"),
    # written for the older SDK, and does not say so
    "db": Package("mcp-server-sqlite", ("mcp<2",)),
}
NODE: Final = {"files": "server-filesystem", "memory": "server-memory"}
CODE_MODE: Final = """search(query: string): Finds tools; returns their TypeScript signatures.
execute(code: string): Runs a program in TypeScript in a sandbox without network. Each server is an
object with its tools as async functions: `await files.read_text_file({ path })`. Only what the
program prints with console.log comes back. Search for the tools that you need first, then write one
program that does the whole task; use Promise.all for calls that need not wait for each other."""
CALLS: Final = 200
STARTS: Final = 3
Servers: TypeAlias = "dict[str, StdioServerParameters]"
READS: Final = {"db.read_query": "read", "db.describe_table": "read"}


class Row(NamedTuple):
    """Tokens of one task; definitions are not in them. `output` is what the plan returned."""

    name: str
    is_small: bool
    calls: int
    search: int
    run: int
    program: int
    direct: int
    output: str


def installed(folder: Path) -> Servers:
    """Install what is missing; return how each server is started."""
    found: dict[str, str] = {}
    for name, package in PYTHON.items():
        found[name] = str(folder / name / "bin" / package.name)
        if not Path(found[name]).exists() and (fault := install(package, folder / name)):
            raise SystemExit(f"{package.name} cannot be installed: {fault}")
    for name, server in NODE.items():
        found[name] = str(folder / "node_modules" / ".bin" / f"mcp-{server}")
        if not Path(found[name]).exists():
            whole = f"@modelcontextprotocol/{server}"
            npm = shutil.which("npm") or "npm"
            subprocess.run([npm, "install", "--silent", whole], cwd=folder, check=True)
    data = folder / "world"
    arguments: dict[str, list[str]] = {
        "time": ["--local-timezone", "Europe/Berlin"],
        "git": ["--repository", str(data / "repository")],
        "db": ["--db-path", str(data / "orders.sqlite")],
        "files": [str(data / "reports")],
        "memory": [],
    }
    memory = {"MEMORY_FILE_PATH": str(data / "memory.jsonl")}
    return {
        name: StdioServerParameters(
            command=command, args=arguments[name], env=memory if name == "memory" else None
        )
        for name, command in found.items()
    }


@asynccontextmanager
async def gateway(folder: Path, servers: Servers) -> AsyncGenerator[Client]:
    """Start the gateway over all servers; a person approves each plan at once."""
    entries = {
        name: {"command": each.command, "args": each.args, "env": each.env or {}}
        for name, each in servers.items()
    }
    configuration = folder / "mcp.json"
    configuration.write_text(json.dumps({"mcpServers": entries}), "utf-8")
    app = toolplan.open(
        str(configuration),
        journal=str(folder / "runs.sqlite"),
        effects=READS,
        grace=GRACE_S,
        on_note=lambda _: None,
        on_claim=lambda _: True,
    )
    async with (
        app,
        Backend(app, approve=approve) as backend,
        Client(make_server(backend)) as client,
    ):
        yield client


@asynccontextmanager
async def directly(servers: Servers) -> AsyncGenerator[dict[str, Client]]:
    """Start a client of each server."""
    async with AsyncExitStack() as opened:
        yield {
            name: await opened.enter_async_context(Client(parameters))
            for name, parameters in servers.items()
        }


def leaf(group: BaseExceptionGroup[CallFailed]) -> BaseException:
    """Return the first exception of nested groups."""
    found: BaseException = group
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found


async def by_calls(clients: dict[str, Client], task: Task) -> str:
    """Make the calls of a task; return them and their results."""
    texts: list[str] = []
    for name, arguments in task.calls:
        server, _, tool = name.partition(".")
        texts += await exchange(clients[server], tool, arguments)
    return "\n".join(texts)


async def measured(
    client: Client, clients: dict[str, Client], task: Task, count: Callable[[str], int]
) -> Row:
    """Do a task in both ways and count."""
    _, found = await exchange(client, "search", {"query": task.query})
    call, result = await exchange(client, "run", task.run)
    output = result if task.is_small else json.dumps(json.loads(result)["output"])
    return Row(
        task.name,
        task.is_small,
        len(task.calls),
        count(found),
        count(f"{call}\n{result}"),
        count(f"{json.dumps({'name': 'execute', 'arguments': {'code': task.program}})}\n{output}"),
        count(await by_calls(clients, task)),
        output,
    )


async def overhead(client: Client, clients: dict[str, Client]) -> dict[str, list[float]]:
    """Return the seconds and CPU seconds of one call: through the gateway, and by a client."""
    arguments = {"timezone": "Asia/Tokyo"}
    ways: tuple[tuple[Client, str, dict[str, Any]], ...] = (
        (client, "run", {"tool": "time.get_current_time", "args": arguments}),
        (clients["time"], "get_current_time", arguments),
    )
    taken: list[list[tuple[float, float]]] = [[], []]
    for _ in range(CALLS):
        for (way, tool, given), times in zip(ways, taken, strict=True):
            began, cpu = time.perf_counter(), time.process_time()
            await exchange(way, tool, given)
            times.append((time.perf_counter() - began, time.process_time() - cpu))
    wall, cpu_s = ([statistics.median(e[at] for e in times) for times in taken] for at in (0, 1))
    return {"one call and a client's own, s": wall, "CPU of the two, s": cpu_s}


async def starts(folder: Path, servers: Servers) -> dict[str, float]:
    """Return seconds to the first search over servers that do not run, and of the slowest alone."""
    taken: dict[str, list[float]] = {}

    async def searched(name: str, opened: AbstractAsyncContextManager[Client]) -> None:
        began = time.perf_counter()
        async with opened as client:
            await exchange(client, "search", {"query": "read a file"})
            taken.setdefault(name, []).append(time.perf_counter() - began)

    for _ in range(STARTS):
        own: list[float] = []
        for parameters in servers.values():
            began = time.perf_counter()
            async with Client(parameters) as client:
                await client.list_tools()
                own.append(time.perf_counter() - began)
        taken.setdefault("the slowest server", []).append(max(own))
        (folder / FILE_NAME).unlink(missing_ok=True)
        await searched("for the first time", gateway(folder, servers))
        await searched("tools known", gateway(folder, servers))
        runs = ["--journal", str(folder / "runs.sqlite")]
        arguments = ["-m", "toolplan", "mcp", "--tools", str(folder / "mcp.json"), *runs]
        process = StdioServerParameters(
            command=sys.executable, args=arguments, env=dict(os.environ)
        )
        await searched("tools known, as a process", Client(process))
    return {name: statistics.median(each) for name, each in taken.items()}


async def figures(folder: Path, count: Callable[[str], int]) -> dict[str, Any]:
    """Return everything that is measured."""
    servers = installed(folder)
    first = await starts(folder / "world", servers)
    async with gateway(folder / "world", servers) as client, directly(servers) as clients:
        listed = [
            {**tool.model_dump(by_alias=True, exclude_none=True), "name": f"{name}.{tool.name}"}
            for name, each in clients.items()
            for tool in (await each.list_tools()).tools
        ]
        rows = [await measured(client, clients, each, count) for each in tasks(folder / "world")]
        times = await overhead(client, clients)
        info = [each.server_info for each in clients.values()]
        return {
            "servers": [f"{each.name} {each.version}" for each in info if each],
            "definitions": {
                "direct": count(json.dumps(listed)),
                "gateway": count(await context(client)),
                "code mode": count(CODE_MODE),
            },
            "tools": len(listed),
            "tasks": [each._asdict() for each in rows],
            "first search, s": first,
            **times,
        }


def main() -> None:
    """Install, measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gateway.servers", description=__doc__
    )
    parser.add_argument("folder", type=Path, help="where servers are installed, and kept")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    folder: Path = given.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder / "world", ignore_errors=True)
    (folder / "world").mkdir()
    world(folder / "world")
    os.environ["TOOLPLAN_HOME"] = str(folder / "world" / "home")
    with llama_server() as server:
        try:
            found = asyncio.run(figures(folder, server.tokens))
        except* CallFailed as group:
            raise SystemExit(str(leaf(group))) from None
    if given.json:
        print(json.dumps({"tokenizer": versions(), **found}))
        return
    print(
        f"tokenizer: {versions()}\nservers: {', '.join(found['servers'])}; {found['tools']} tools"
    )
    shown(found)


def shown(found: dict[str, Any]) -> None:
    """Print the tasks, and what they cost together beside the two other ways."""
    definitions = found["definitions"]
    print(f"in every context: {definitions}")
    for is_small in (True, False):
        rows = [each for each in found["tasks"] if each["is_small"] is is_small]
        for each in rows:
            print(
                f"  {each['name']}: search {each['search']}, run {each['run']}; program "
                f"{each['program']}; direct {each['direct']} in {each['calls']} calls"
            )
        run, program, direct, search = (
            sum(each[key] for each in rows) for key in ("run", "program", "direct", "search")
        )
        known = f"{run / direct:.2f} x direct, {run / program:.2f} x code mode"
        ours, theirs, code = (
            each + len(rows) * definitions[key]
            for each, key in (
                (run + search, "gateway"), (direct, "direct"), (program + search, "code mode"),
            )
        )  # fmt: skip
        print(f"{len(rows)} {'small' if is_small else 'multi-step'} tasks, tools known: {known}")
        print(
            f"  each in a context of its own, with definitions and search: "
            f"{ours / theirs:.2f} x direct, {ours / code:.2f} x code mode"
        )
    slowest = found["first search, s"].pop("the slowest server")
    print(f"the slowest server's own start: {slowest:.2f} s; first search beside it:")
    for name, seconds in found["first search, s"].items():
        print(f"  {name}: {seconds:.2f} s, {seconds / slowest:.2f} x")
    for name in ("one call and a client's own, s", "CPU of the two, s"):
        ours, own = found[name]
        print(f"{name[:-3]}: {ours * 1e3:.1f} ms, {own * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
