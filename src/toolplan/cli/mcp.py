"""`toolplan mcp`."""

from __future__ import annotations

import os
from typing import Annotated, Final

from cyclopts import Parameter

from toolplan.app._open import open
from toolplan.app.wait import run_to_end
from toolplan.cli.options import (
    ApproveValuesFlag,
    BaseUrlOption,
    ConcurrencyOption,
    EffectsOption,
    JournalOption,
    ModelOption,
    PlannerOption,
    PolicyOption,
    PortOption,
    TimeoutOption,
    ToolsOption,
    WeeksOption,
    known_port,
)
from toolplan.cli.terminal import CommandError, Exit, note
from toolplan.http_server.guard import is_loopback
from toolplan.mcp_server import DEFAULT_PORT, CannotServe, http_token, serve

GRACE_S: Final = 0.5
"""Seconds after the latest answer of a server in which the others are waited for."""

BEARER: Final = "TOOLPLAN_MCP_TOKEN"

HttpFlag = Annotated[bool, Parameter(name="--http", help="Streamable HTTP instead of stdio.")]
HostOption = Annotated[
    str,
    Parameter(name="--host", help=f"The address to listen on; all but loopback need {BEARER}."),
]
ElicitFlag = Annotated[
    bool,
    Parameter(
        name="--elicit",
        help="Let clients ask their user for approvals. A client that lies can approve by itself.",
    ),
]
StudioOption = Annotated[
    str,
    Parameter(
        name="--studio",
        help="Where `toolplan studio` is: clients may open its page of a run that waits.",
    ),
]


def mcp_command(
    *,
    tools: ToolsOption = (),
    base_url: BaseUrlOption = None,
    policy: PolicyOption = None,
    journal: JournalOption = None,
    effects: EffectsOption = (),
    concurrency: ConcurrencyOption = (),
    timeout: TimeoutOption = None,
    planner: PlannerOption = "auto",
    model: ModelOption = (),
    weeks: WeeksOption = "rolling",
    http: HttpFlag = False,
    host: HostOption = "127.0.0.1",
    port: PortOption = DEFAULT_PORT,
    approve_values: ApproveValuesFlag = False,
    elicit: ElicitFlag = False,
    studio: StudioOption = "http://127.0.0.1:8321",
) -> int:
    """Serve all tools to MCP clients through three: search, run and runs.

    A client can run a plan or one call, and look at runs. A plan that changes
    something waits for a person: the client gets its digest, and
    `toolplan resume RUN` asks for the approval. With --approve-values what
    only reads runs, and each call with effects waits with its values. With --http clients send
    a token: that of the variable TOOLPLAN_MCP_TOKEN, or the one in mcp.token of the data folder.
    """
    with open(
        tools or None,
        model=model or None,
        planner=planner,
        base_url=base_url,
        policy=policy,
        journal=journal,
        effects=effects,
        weeks=weeks,
        on_note=note,
        grace=GRACE_S,
    ) as app:
        try:
            run_to_end(
                serve(
                    app,
                    concurrency=concurrency,
                    timeout=timeout,
                    approve="values" if approve_values else None,
                    elicit=elicit,
                    studio=studio,
                    transport="http" if http else "stdio",
                    host=host,
                    port=known_port(port),
                    token=_token(host) if http else None,
                    on_ready=lambda url: note(f"Listening: {url}"),
                )
            )
        except CannotServe as error:
            help_ = f"{error.help or ''} A token is read from {BEARER}.".strip()
            raise CommandError(error.code, error.message, help_) from None
    return Exit.FINE.value


def _token(host: str) -> str | None:
    """Return the token that clients send; a new one is shown once."""
    given = os.environ.get(BEARER) or None
    if given is not None or not is_loopback(host):
        return given
    token, path, is_new = http_token()
    if is_new:
        note(f"Authorization: Bearer {token}", wrap=False)
    note(f"Clients send the token in {path}.", wrap=False)
    return token
