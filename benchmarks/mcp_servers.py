"""MCP servers of others, several at once in one plan: `python -m benchmarks.mcp_servers`.

Each is installed from the package index that pip is set up with, into a virtual environment of its
own in a temporary folder (`--folder` keeps it). It is skipped, with the reason, where it cannot be
installed; with fewer than three the whole is skipped. It exits 1 where the plan does not do what it
should.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import venv
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, NamedTuple

from toolplan.compiler import compile_plan
from toolplan.engine import run
from toolplan.events import Run
from toolplan.policy.approval import approve
from toolplan.schema.tool import Toolbox
from toolplan.tools.mcp import Notice, ServerStarted, StdioServer, commands, connected
from toolplan.tools.pins import FILE_NAME, Pins

LEAST: Final = 3
PAGE: Final = "<html><body><h1>A page</h1><p>Nine tons of glass.</p></body></html>"
INSTALL_S: Final = 600


class Package(NamedTuple):
    """A server on the package index, what else it needs, and how it is started."""

    name: str
    needs: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()


def packages(folder: Path) -> dict[str, Package]:
    """Return the servers, by the names that their tools get."""
    return {
        "time": Package("mcp-server-time", arguments=("--local-timezone", "Europe/Berlin")),
        "git": Package("mcp-server-git", arguments=("--repository", str(folder / "repository"))),
        "fetch": Package(
            "mcp-server-fetch", arguments=("--ignore-robots-txt", "--allow-private-ips")
        ),
        # written for the older SDK, and does not say so
        "sqlite": Package(
            "mcp-server-sqlite", ("mcp<2",), ("--db-path", str(folder / "notes.sqlite"))
        ),
    }


def steps_of(folder: Path, address: str) -> dict[str, list[dict[str, Any]]]:
    """Return the steps of the plan, by the server that they need besides `time`."""
    repository = str(folder / "repository")
    table = "CREATE TABLE IF NOT EXISTS seen (at TEXT, page TEXT)"
    insert = "INSERT INTO seen VALUES ('${now.datetime}', 'a page')"
    return {
        "time": [
            {"id": "now", "tool": "get_current_time", "args": {"timezone": "Europe/Berlin"}},
            {
                "id": "tokyo",
                "tool": "time.convert_time",
                "args": {
                    "source_timezone": "${now.timezone}",
                    "time": "12:00",
                    "target_timezone": "Asia/Tokyo",
                },
            },
        ],
        "git": [
            {"id": "status", "tool": "git.git_status", "args": {"repo_path": repository}},
            {"id": "log", "tool": "git_log", "args": {"repo_path": repository, "max_count": 1}},
        ],
        "fetch": [{"id": "page", "tool": "fetch.fetch", "args": {"url": address}}],
        "sqlite": [
            {"id": "table", "tool": "sqlite.create_table", "args": {"query": table}},
            {
                "id": "note",
                "tool": "sqlite.write_query",
                "args": {"query": insert},
                "after": ["table"],
            },
            {
                "id": "notes",
                "tool": "sqlite.read_query",
                "args": {"query": "SELECT page FROM seen"},
                "after": ["note"],
            },
        ],
    }


EXPECTED: Final[Mapping[str, str]] = {
    "now": "Europe/Berlin",
    "tokyo": "Asia/Tokyo",
    "status": "nothing to commit",
    "log": "A first commit",
    "page": "Nine tons of glass",
    "notes": "a page",
}
"""What stands in the output of a step."""


def main() -> int:
    """Install, plan, check, run, and print what came of it; give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mcp_servers", description=__doc__)
    parser.add_argument("--folder", type=Path, help="keep the environments here")
    kept: Path | None = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) if kept is None else kept.absolute()
        folder.mkdir(parents=True, exist_ok=True)
        servers = _installed(folder)
        if len(servers) < LEAST:
            print(f"Skipped: {len(servers)} servers could be installed; {LEAST} are needed.")
            return 0
        _make_repository(folder / "repository")
        return _measure(folder, servers)


def _installed(folder: Path) -> dict[str, StdioServer]:
    servers: dict[str, StdioServer] = {}
    for name, package in packages(folder).items():
        place = folder / name
        command = place / "bin" / package.name
        fault = "" if command.exists() else install(package, place)
        if fault:
            print(f"{name}: skipped, {package.name} cannot be installed: {fault}")
        else:
            servers[name] = StdioServer(str(command), package.arguments)
    return servers


def install(package: Package, place: Path) -> str:
    """Install a package into a virtual environment; return why it failed, or an empty text."""
    try:
        venv.create(place, with_pip=True)
        done = subprocess.run(
            [place / "bin" / "python", "-m", "pip", "install", "-q", package.name, *package.needs],
            capture_output=True,
            text=True,
            timeout=INSTALL_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"{type(error).__name__}"
    if done.returncode == 0:
        return ""
    return (done.stderr.strip().splitlines() or ["no reason given"])[-1]


def _measure(folder: Path, servers: Mapping[str, StdioServer]) -> int:
    for command in commands(servers):
        print(f"would start {command.server}: {command.line}")
    notices: list[Notice] = []
    with _page() as address, connected(servers, on_event=notices.append) as source:
        tools = source.toolbox()
        for notice in notices:
            if isinstance(notice, ServerStarted):
                count = sum(tool.source == notice.server for tool in tools.values())
                print(
                    f"{notice.server}: {notice.name} {notice.version}, protocol {notice.protocol},"
                    f" {count} tools"
                )
        for name, fault in source.faults.items():
            print(f"{name}: {fault}")
        steps = [
            step
            for name, group in steps_of(folder, address).items()
            if name in servers and name not in source.faults
            for step in group
        ]
        return _checked_and_run(folder, tools, steps)


def _checked_and_run(folder: Path, tools: Toolbox, steps: list[dict[str, Any]]) -> int:
    pins = Pins(folder / FILE_NAME).accept(tools)
    pins.save()
    wrong = json.dumps({"toolplan": 1, "steps": steps}).replace("now.timezone", "now.zone")
    codes = [each.code for each in compile_plan(wrong, tools=tools).diagnostics if not each.fixed]
    print(f"a plan with a wrong reference: {', '.join(codes)}")
    compiled = compile_plan(json.dumps({"toolplan": 1, "steps": steps}), tools=pins.guarded(tools))
    for diagnostic in compiled.diagnostics:
        print(f"  {diagnostic.severity.value}: {diagnostic.message}")
    if compiled.plan is None:
        return 1
    plan = compiled.plan
    print(f"steps with effects, approved: {', '.join(plan.effects) or 'none'}")
    found = asyncio.run(run(plan, tools, approval=approve(plan) if plan.effects else None))
    return 0 if _is_as_expected(found) and "unknown-output" in codes else 1


def _is_as_expected(found: Run) -> bool:
    is_fine = found.succeeded
    for name, step in found.steps.items():
        text = json.dumps(step.output, ensure_ascii=False)
        holds = EXPECTED.get(name, "") in text
        is_fine = is_fine and holds
        shown = text if step.error is None else step.error.message
        print(f"{name:7} {step.state.value:9} {'as expected' if holds else 'NOT'}: {shown[:100]}")
    print(f"run: {found.status.value}")
    return is_fine


def _make_repository(place: Path) -> None:
    if place.exists():
        return
    git = shutil.which("git") or "git"
    who = ["-c", "user.name=Nobody", "-c", "user.email=nobody@example.org"]
    for words in (
        ["init", "-q", str(place)],
        ["-C", str(place), *who, "commit", "-q", "--allow-empty", "-m", "A first commit"],
    ):
        subprocess.run([git, *words], check=True)


@contextmanager
def _page() -> Generator[str, None, None]:
    """Serve a page on loopback; give its address."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = PAGE.encode()
            self.send_response(200)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


if __name__ == "__main__":
    sys.exit(main())
