"""`toolplan worker TOOLBOX`."""

from __future__ import annotations

import asyncio
import signal
from typing import Annotated

from cyclopts import Parameter

from toolplan.app._open import open
from toolplan.app.app import App
from toolplan.app.home import home
from toolplan.app.limits import limits_everywhere
from toolplan.app.settings import Settings, read_settings
from toolplan.app.wait import run_to_end
from toolplan.cli.options import JournalOption
from toolplan.cli.terminal import CommandError, Exit, note
from toolplan.engines import Leaving
from toolplan.workers import DEFAULT_CONCURRENCY, work

ToolboxArgument = Annotated[
    str, Parameter(help="The toolbox: a table [toolboxes.NAME] of the settings.")
]
RunsOption = Annotated[int, Parameter(name="--concurrency", help="The most runs at the same time.")]
GraceOption = Annotated[
    float,
    Parameter(name="--grace", help="How many seconds calls have to end when the worker leaves."),
]


def worker_command(
    toolbox: ToolboxArgument,
    *,
    concurrency: RunsOption = DEFAULT_CONCURRENCY,
    grace: GraceOption = 20.0,
    journal: JournalOption = None,
) -> int:
    """Run plans that others submit, with the tools of a toolbox.

    The journal is in Postgres; any number of workers on any machines
    share it. SIGTERM or Ctrl-C makes the worker leave: it starts no
    more calls, waits for those that run, and others continue its runs.
    """
    if concurrency < 1 or grace < 0:
        raise CommandError("usage", "--concurrency is at least 1, and --grace at least 0.")
    settings = read_settings(home())
    with open(
        toolbox=toolbox, journal=journal, settings=settings, planner="offline", on_note=note
    ) as app:
        run_to_end(_work(app, settings, concurrency, grace))
    note("The worker has left.")
    return Exit.FINE.value


async def _work(app: App, settings: Settings, concurrency: int, grace_s: float) -> None:
    leaving, loop = Leaving(grace_s), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, leaving.ask)
    await work(
        app,
        concurrency=concurrency,
        everywhere=limits_everywhere(settings, app.tools),
        leaving=leaving,
        on_ready=lambda queue: note(f"The worker takes runs for {queue}, {concurrency} at once."),
    )
