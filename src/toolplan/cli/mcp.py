"""`toolplan mcp`."""

from __future__ import annotations

import asyncio
import os
from contextlib import closing
from datetime import date
from typing import Annotated, Final

from cyclopts import Parameter

from toolplan.cli._home import open_journal, storage
from toolplan.cli._learning import learn_from
from toolplan.cli._limits import ConcurrencyOption, LimitOptions, TimeoutOption
from toolplan.cli._options import (
    BaseUrlOption,
    EffectsOption,
    ModelOption,
    PlannerOption,
    PortOption,
    ToolsOption,
    WeeksOption,
    known_port,
)
from toolplan.cli._planning import planning
from toolplan.cli._terminal import CommandError, Exit, note
from toolplan.cli._toolbox import open_tools
from toolplan.mcp_server import DEFAULT_PORT, CannotServe, serve

BEARER: Final = "TOOLPLAN_MCP_TOKEN"

HttpFlag = Annotated[
    bool, Parameter(name="--http", negative="", help="Streamable HTTP instead of stdio.")
]
HostOption = Annotated[
    str, Parameter(name="--host", help=f"Where to listen; any but loopback needs {BEARER}.")
]
ElicitFlag = Annotated[
    bool,
    Parameter(
        name="--elicit",
        negative="",
        help="Let clients that can ask their user ask for leave; a client that lies can give it.",
    ),
]


def mcp_command(
    *,
    tools: ToolsOption = None,
    base_url: BaseUrlOption = None,
    effects: EffectsOption = (),
    at_once: ConcurrencyOption = (),
    timeout: TimeoutOption = None,
    planner: PlannerOption = "auto",
    llm: ModelOption = (),
    weeks: WeeksOption = "rolling",
    http: HttpFlag = False,
    host: HostOption = "127.0.0.1",
    port: PortOption = DEFAULT_PORT,
    elicit: ElicitFlag = False,
) -> int:
    """Offer planning, checking and running to MCP clients.

    A client can plan, check, run, and look at runs. A plan that changes
    something waits for a person: the client is told its digest, and
    `toolplan resume RUN` asks for leave. With --http clients send the
    token of the variable TOOLPLAN_MCP_TOKEN, if it is set.
    """
    how = planning(planner, llm, weeks)
    with (
        open_tools(tools, date.today(), None, effects, base_url) as toolset,
        closing(open_journal()) as journal,
        storage(),
    ):
        run_options, opened = LimitOptions(at_once, timeout).for_run(toolset)
        try:
            asyncio.run(
                serve(
                    opened.tools,
                    journal=journal,
                    planner=how.planner,
                    run_options=run_options,
                    insights=opened.insights,
                    metadata=opened.advice,
                    transport="http" if http else "stdio",
                    host=host,
                    port=known_port(port),
                    token=os.environ.get(BEARER) or None,
                    elicit=elicit,
                    on_ready=lambda url: note(f"Listening: {url}"),
                    on_ended=lambda plan, run: learn_from(plan.plan, run, opened.tools),
                )
            )
        except CannotServe as error:
            raise CommandError(
                error.code, str(error), f"{error.help} A token is read from {BEARER}.".strip()
            ) from None
    return Exit.FINE.value
