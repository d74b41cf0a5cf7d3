"""`toolplan mcp`."""

from __future__ import annotations

import os
from typing import Final

from toolplan.app._open import open
from toolplan.app.wait import run_to_end
from toolplan.cli import options
from toolplan.cli.terminal import CommandError, note
from toolplan.mcp_server import DEFAULT_PORT, CannotServe, http_token, serve
from toolplan.mcp_server.http.guard import is_loopback

GRACE_S: Final = 1.0
"""Seconds to wait after the latest answer, times the share of servers that are missing."""

BEARER: Final = "TOOLPLAN_MCP_TOKEN"


def mcp_command(
    *,
    tools: options.ToolsOption = (),
    base_url: options.BaseUrlOption = None,
    policy: options.PolicyOption = None,
    journal: options.JournalOption = None,
    effects: options.EffectsOption = (),
    concurrency: options.ConcurrencyOption = (),
    timeout: options.TimeoutOption = None,
    planner: options.PlannerOption = "auto",
    model: options.ModelOption = (),
    weeks: options.WeeksOption = "rolling",
    http: bool = False,
    host: str = "127.0.0.1",
    port: options.PortOption = DEFAULT_PORT,
    approve_values: options.ApproveValuesFlag = False,
    elicit: bool = False,
    studio: str = "http://127.0.0.1:8321",
) -> None:
    """Serve all tools to MCP clients through three: search, run and runs.

    A client can run a plan or one call, and look at runs. A plan that changes
    something waits for a person: the client gets its digest, and
    `toolplan resume RUN` asks for the approval. With --approve-values what
    only reads runs, and each call with effects waits with its values. With --http clients send
    a token: that of the variable TOOLPLAN_MCP_TOKEN, or the one in mcp.token of the data folder.

    Args:
        http: Streamable HTTP instead of stdio.
        host: The address to listen on; all but loopback need TOOLPLAN_MCP_TOKEN.
        elicit: Let clients ask their user for approvals. A client that lies can approve by itself.
        studio: Where `toolplan studio` is: clients may open its page of a run that waits.
    """
    with open(
        tools or None, model=model or None, planner=planner, base_url=base_url, policy=policy,
        journal=journal, effects=effects, weeks=weeks, on_note=note, grace=GRACE_S,
    ) as app:  # fmt: skip
        try:
            run_to_end(serve(
                app, concurrency=concurrency, timeout=timeout, elicit=elicit, studio=studio,
                approve="values" if approve_values else None,
                transport="http" if http else "stdio", host=host, port=port,
                token=_token(host) if http else None,
                on_ready=lambda url: note(f"Listening: {url}"),
            ))  # fmt: skip
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
