"""Deaths of MCP servers in the middle of calls: `python -m benchmarks.mcp_deaths [--quick]`.

A process is killed by SIGKILL as soon as its call stands in a ledger, and a connection over HTTP is
reset in place of an answer. Meanwhile calls continue on a server that lives. It exits 1 where a
death was noticed too late, something was sent twice, or the other server felt it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks import mcp_ledger
from benchmarks.processes import kill_own
from toolplan.compiler import compile_plan
from toolplan.engine import run
from toolplan.events import Run, StepState
from toolplan.policy.approval import approve
from toolplan.schema.tool import Toolbox
from toolplan.tools.mcp import HttpServer, Server, StdioServer, connected

STATED_S: Final = {"stdio": 1.0, "http": 30.0}
"""Seconds within which a death is to be noticed: for HTTP it is the time limit of the call."""

_LOOK_S: Final = 0.0005
_ELSEWHERE: Final = 4


class Deaths(NamedTuple):
    """What came of killing a server many times.

    Attributes:
        way: `stdio` or `http`.
        deaths: how many there were.
        in_doubt: calls with effects that were left to a person.
        noticed_s: for each death, seconds from the kill to the end of the run.
        written: lines in the ledger, one for each time that a call was made.
        twice: calls that were made more than once.
        others: calls on the other server, all of them.
        others_failed: of these, the ones that did not succeed.
    """

    way: str
    deaths: int
    in_doubt: int
    noticed_s: list[float]
    written: int
    twice: int
    others: int
    others_failed: int

    @property
    def is_fine(self) -> bool:
        """Whether all is as it was promised."""
        return (
            self.in_doubt == self.deaths == self.written == len(self.noticed_s)
            and self.twice == 0
            and self.others_failed == 0
            and self.others > 0
            and max(self.noticed_s, default=0.0) < STATED_S[self.way]
        )

    def __str__(self) -> str:
        noticed = sorted(self.noticed_s) or [0.0]
        half, last = noticed[len(noticed) // 2] * 1000, noticed[-1] * 1000
        return (
            f"{self.way:6} deaths {self.deaths:4}  noticed {len(self.noticed_s):4}"
            f" (median {half:.1f} ms, at most {last:.1f} ms; stated {STATED_S[self.way]:g} s)"
            f"  in doubt {self.in_doubt:4}  made {self.written:4}  made twice {self.twice}"
            f"  other server: {self.others} calls, {self.others_failed} failed"
        )


def main() -> int:
    """Kill, and print what came of it; give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mcp_deaths", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the deaths")
    share = 10 if parser.parse_args().quick else 1
    found = [killed(100 // share), reset(20 // share)]
    for deaths in found:
        print(deaths)
    return 0 if all(deaths.is_fine for deaths in found) else 1


def killed(deaths: int) -> Deaths:
    """Kill a server over stdio in the middle of each of so many calls with effects."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder, "ledger")
        return _measure("stdio", _stdio(ledger), ledger, deaths, _stdio(Path(folder, "other")))


def reset(deaths: int) -> Deaths:
    """Reset the connection to a server over HTTP in the middle of each of so many calls."""
    with tempfile.TemporaryDirectory() as folder:
        ledger, other = Path(folder, "ledger"), Path(folder, "other")
        with (
            mcp_ledger.serve_resets(ledger) as address,
            mcp_ledger.serve_resets(other) as unhurt,
        ):
            return _measure("http", HttpServer(address), ledger, deaths, HttpServer(unhurt))


def _measure(way: str, server: Server, ledger: Path, deaths: int, other: Server) -> Deaths:
    with connected({"dies": server, "lives": other}) as source:
        tools = source.toolbox()
        in_doubt = 0
        noticed: list[float] = []
        with _calling_elsewhere(tools) as elsewhere:
            for n in range(deaths):
                with _killer(ledger, n) as killed_at:
                    found = _ran(tools, "dies.charge", n)
                    now = time.time()
                    died_at = killed_at or [mcp_ledger.lines(ledger)[-1]["at"]]
                noticed.append(now - died_at[0])
                in_doubt += found.steps["call"].state is StepState.IN_DOUBT
    lines = mcp_ledger.lines(ledger)
    counts = Counter((line["n"], line["key"]) for line in lines)
    twice = sum(count > 1 for count in counts.values())
    failed = elsewhere.count(False)
    return Deaths(way, deaths, in_doubt, noticed, len(lines), twice, len(elsewhere), failed)


@contextmanager
def _killer(ledger: Path, before: int) -> Generator[list[float], None, None]:
    """Kill the process that adds the next line to the ledger; give when.

    A server in this process is not killed: it resets the connection itself.
    """
    killed_at: list[float] = []
    done = threading.Event()

    def kill() -> None:
        while not done.is_set():
            lines = mcp_ledger.lines(ledger)
            if len(lines) > before:
                if kill_own(lines[-1]["pid"]):
                    killed_at.append(time.time())
                return
            time.sleep(_LOOK_S)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed_at
    finally:
        done.set()
        thread.join()


@contextmanager
def _calling_elsewhere(tools: Toolbox) -> Generator[list[bool], None, None]:
    """Keep calls on the other server under way; give for each whether it succeeded."""
    outcomes: list[bool] = []
    done = threading.Event()

    def work() -> None:
        n = 0
        while not done.is_set():
            found = _ran(tools, "lives.wait", n)
            outcomes.append(found.succeeded and found.steps["call"].output == {"n": n})
            n += 1

    threads = [threading.Thread(target=work) for _ in range(_ELSEWHERE)]
    for thread in threads:
        thread.start()
    try:
        yield outcomes
    finally:
        done.set()
        for thread in threads:
            thread.join()


def _ran(tools: Toolbox, tool: str, n: int) -> Run:
    plan = {"toolplan": 1, "steps": [{"id": "call", "tool": tool, "args": {"n": n}}]}
    compiled = compile_plan(json.dumps(plan), tools=tools).plan
    if compiled is None:
        raise AssertionError("The plan of the benchmark does not compile.")
    approval = approve(compiled) if compiled.effects else None
    return asyncio.run(run(compiled, tools, approval=approval))


def _stdio(ledger: Path) -> StdioServer:
    return StdioServer(sys.executable, ("-S", str(Path(mcp_ledger.__file__)), str(ledger)))


if __name__ == "__main__":
    sys.exit(main())
