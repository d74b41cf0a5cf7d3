"""`toolplan mcp`."""

from __future__ import annotations

import os
from typing import Annotated, Any, Final

from cyclopts import Parameter

from toolplan.app._open import open
from toolplan.app.wait import run_to_end
from toolplan.cli import options
from toolplan.cli.terminal import CommandError, note
from toolplan.mcp_server import DEFAULT_PORT, CannotServe, http_token, serve
from toolplan.mcp_server.http.guard import is_loopback

GRACE_S: Final = 1.0
"""Seconds to wait after the latest answer, times the share of servers that are missing."""

BEARER: Final = "TOOLPLAN_MCP_TOKEN"


HostOption = Annotated[
    str, Parameter(help="The address to listen on; all but loopback need TOOLPLAN_MCP_TOKEN.")
]
ElicitFlag = Annotated[
    bool,
    Parameter(
        help="Let clients ask their user for approvals. A client that lies can approve by itself."
    ),
]
StudioOption = Annotated[
    str,
    Parameter(help="Where `toolplan studio` is: clients may open its page of a run that waits."),
]
ValuesFlag = Annotated[
    bool,
    Parameter(help="Run what only reads first; each call with effects then waits with its values."),
]


def mcp_command(
    opening: options.PlannerOptions = options.PlannerOptions(),
    limits: options.RunLimits = options.RunLimits(),
    *,
    journal: options.JournalOption = None,
    http: Annotated[bool, Parameter(help="Streamable HTTP instead of stdio.")] = False,
    host: HostOption = "127.0.0.1",
    port: options.PortOption = DEFAULT_PORT,
    approve_values: ValuesFlag = False,
    elicit: ElicitFlag = False,
    studio: StudioOption = "http://127.0.0.1:8321",
) -> None:
    """Serve all tools to MCP clients through three: search, run and runs.

    A client can run a plan or one call, and look at runs. A plan that changes
    something waits for a person: the client gets its digest, and
    `toolplan resume RUN` asks for the approval. With --approve-values what
    only reads runs, and each call with effects waits with its values. With --http clients send
    a token: that of the variable TOOLPLAN_MCP_TOKEN, or the one in mcp.token of the data folder.
    """
    with open(**vars(opening), journal=journal, on_note=note, grace=GRACE_S) as app:
        how: dict[str, Any] = {**vars(limits), "elicit": elicit, "studio": studio}
        if approve_values:
            how["approve"] = "values"
        if http:
            how |= {"transport": "http", "host": host, "port": port, "token": _token(host)}
        try:
            run_to_end(serve(app, **how, on_ready=lambda url: note(f"Listening: {url}")))
        except CannotServe as error:
            help_ = f"{error.help or ''} A token is read from {BEARER}.".strip()
            raise CommandError(error.code, error.message, help_) from None


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
