"""A run that is killed: `python -m packages.adapters.tests.network.killed FOLDER STATE AGENT`.

Every call is written into a file in the folder before it is made. When the agent AGENT is called,
and what was done before is on disk, the process is killed.
"""

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path

from msgspec.structs import replace

from toolplan import App, Journal, Toolbox
from toolplan.events import StepState, fold
from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Call, Tool
from toolplan_adapters.contract import ContractPlanner
from toolplan_adapters.network import NETWORK_CONTRACTS, NETWORK_TOOLS

RUN = "assessment"
JOURNAL = "runs.sqlite"
CALLS = "calls.txt"


def noted(folder: Path, kill: str = "") -> Toolbox:
    """Return the demo's tools, whose calls are written down; at the call of `kill` it is over."""

    def calls(tool: Tool) -> Call:
        made = tool.call
        assert made is not None

        async def call(arguments: Arguments) -> Json:
            with (folder / CALLS).open("a") as file:
                file.write(f"{tool.name}\n")
                file.flush()
                os.fsync(file.fileno())
            if tool.name == kill:
                await asyncio.to_thread(_wait, folder)
                os.kill(os.getpid(), signal.SIGKILL)
            return await made(arguments)

        return call

    return Toolbox(replace(tool, call=calls(tool)) for tool in NETWORK_TOOLS.values())


def _wait(folder: Path) -> None:
    """Wait until the calls before the last are on disk: reads get there a little later."""
    before = len((folder / CALLS).read_text().split()) - 1
    while _done(folder) < before:
        time.sleep(0.01)


def _done(folder: Path) -> int:
    """Return how many steps the journal on disk knows to have succeeded."""
    journal = Journal(folder / JOURNAL)
    steps = fold(journal.events(RUN)).steps.values()
    journal.close()
    return sum(step.state is StepState.SUCCEEDED for step in steps)


def main(folder: Path, state: Json, kill: str) -> None:
    """Begin the run."""
    journal = Journal(folder / JOURNAL)
    planner = ContractPlanner(NETWORK_CONTRACTS, knowledge="always")
    app = App(noted(folder, kill), planner, journal=journal, new_id=lambda: RUN)
    asyncio.run(app.ask("Assess it.", today="2026-11-01", context={"state": state}))
    journal.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3])
