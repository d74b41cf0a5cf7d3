"""`python -m toolplan.mcp_server --tools MODULE:ATTRIBUTE`: the server without the command line."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from datetime import date
from pathlib import Path
from typing import Final

from toolplan.mcp_server._refused import CannotServe
from toolplan.mcp_server._serve import DEFAULT_PORT, serve
from toolplan.path import Json
from toolplan.planners import GroundedPlanner
from toolplan.sources.named import load_tools
from toolplan.storage.journal import Journal, JournalError
from toolplan.tools import REFERENCE_DAY, ToolObjectError

HOME: Final = "TOOLPLAN_HOME"
BEARER: Final = "TOOLPLAN_MCP_TOKEN"


def main(arguments: list[str] | None = None) -> int:
    """Serve until the client leaves or a signal comes; 0 is fine, 2 usage, 3 storage, 4 a port."""
    given = _parser().parse_args(arguments)
    home = os.environ.get(HOME)
    if given.journal is None and not home:
        return _refuse(f"--journal is missing, and {HOME} names no folder.", 2)
    path = Path(given.journal) if given.journal else Path(str(home)) / "runs.sqlite"
    today = date.today()
    advice: dict[str, Json] = {"tools": given.tools, "today": today.isoformat(), "rows": None}
    try:
        REFERENCE_DAY.set(today)
        toolbox = load_tools(given.tools)
        path.parent.mkdir(parents=True, exist_ok=True)
        journal = Journal(path)
    except ToolObjectError as error:
        return _refuse(str(error), 2)
    except JournalError as error:
        return _refuse(f"{error} {error.help or ''}".rstrip(), 3)
    except OSError as error:
        return _refuse(f"{path.parent} cannot be made: {error.strerror}.", 3)
    running = serve(
        toolbox,
        journal=journal,
        planner=GroundedPlanner(),
        metadata={"run_with": advice},
        transport="http" if given.http else "stdio",
        host=given.host,
        port=given.port,
        token=os.environ.get(BEARER) or None,
        on_ready=lambda url: print(url, file=sys.stderr, flush=True),
    )
    try:
        asyncio.run(running)
    except CannotServe as error:
        return _refuse(f"{error} {error.help}", 4 if error.code == "port-in-use" else 2)
    except KeyboardInterrupt:
        return 130
    finally:
        journal.close()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m toolplan.mcp_server", allow_abbrev=False)
    parser.add_argument("--tools", required=True, help="a JSON file, or MODULE:ATTRIBUTE")
    parser.add_argument("--journal", help=f"the file of runs; else runs.sqlite in {HOME}")
    parser.add_argument("--http", action="store_true", help="HTTP instead of standard input")
    parser.add_argument("--host", default="127.0.0.1", help=f"any but loopback needs {BEARER}")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT)
    return parser


def _refuse(message: str, code: int) -> int:
    print(f"toolplan: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
