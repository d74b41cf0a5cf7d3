"""Serving over standard input and output, or over HTTP."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from msgspec.structs import replace
from starlette.types import ASGIApp

from toolplan.app.app import App
from toolplan.app.home import home
from toolplan.app.limits import Concurrency
from toolplan.approval import Approver
from toolplan.http_server.crowd import Bounds
from toolplan.http_server.guard import Guard, Rules
from toolplan.http_server.secret_file import kept_secret
from toolplan.http_server.serving import checked_rules, serve_http
from toolplan.mcp_server._runs import Values
from toolplan.mcp_server._server import Backend, make_server
from toolplan.mcp_server._sessions import Sessions

Transport: TypeAlias = Literal["stdio", "http"]

PATH: Final = "/mcp"
TOKEN_FILE: Final = "mcp.token"  # noqa: S105 — the name of a file
DEFAULT_PORT: Final = 8722

SESSIONS: Final = Bounds(total=200, each=100)
"""The most sessions, of all peers together and of each address."""


async def serve(
    app: App,
    *,
    approve: Approver | Values | None = None,
    concurrency: Concurrency | None = None,
    timeout: float | None = None,
    elicit: bool = False,
    studio: str | None = None,
    transport: Transport = "stdio",
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    token: str | None = None,
    hosts: Collection[str] = (),
    origins: Collection[str] = (),
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Serve `app` over MCP until the client leaves (stdio) or the process gets a signal.

    A run continues when its client leaves. Over stdio the server ends after its runs when the input
    ends; over HTTP a signal cancels the runs, and each can be resumed.

    Args:
        app: plans and runs; clients see all runs of its journal.
        approve: called with a plan with effects; without it the run waits for a person. `values`:
            what only reads runs, then each call with effects waits with its values.
        concurrency: as for `App.run`.
        timeout: as for `App.run`.
        elicit: whether clients may ask their user for the approval, of plans or of values.
        studio: where a studio on the same journal is; clients may open its page of a run.
        transport: `stdio`, or `http` for streamable HTTP.
        host: the name or address to listen on; any but loopback needs a `token`.
        port: the port to listen on; 0 selects a free one.
        token: the required `Authorization: Bearer` token, 16 characters or more; None: the one
            that is kept in the user's data folder.
        hosts: more names of the server, for the check of `Host`.
        origins: origins whose pages may use it.
        on_ready: called with the URL when the server accepts requests.

    Raises:
        CannotServe: the address is not safe or not free, or the token is weak.
        ToolplanError: a limit is not valid, or the journal cannot be opened.
    """
    async with Backend(
        app,
        approve=approve,
        concurrency=concurrency,
        timeout=timeout,
        elicit=elicit,
        studio=studio,
    ) as backend:
        server = make_server(backend)
        if transport == "stdio":
            return await _over_stdio(server)
        rules = checked_rules(host, token, hosts, origins)
        rules = replace(rules, token=rules.token or http_token()[0])
        logging.getLogger("mcp").setLevel(logging.ERROR)
        try:
            await serve_http(http_app(server, rules), host, port, partial(_report, on_ready))
        finally:
            backend.runs.stop()


def http_token() -> tuple[str, Path, bool]:
    """Return the token of servers that were given none, its file, and whether it is new.

    Any process of this machine can connect to a port, so there is always one. The file is in the
    user's data folder, and only the user can read it.

    Raises:
        ToolplanError: the file cannot be used.
    """
    path = home() / TOKEN_FILE
    kept, is_new = kept_secret(path, secrets.token_urlsafe(32).encode())
    return kept.decode("ascii", "replace").strip(), path, is_new


def http_app(server: Server[str], rules: Rules) -> ASGIApp:
    """Return the ASGI application that serves MCP at `/mcp`, behind the guard."""
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=rules.most_body,
        max_sessions=SESSIONS.total + 8,  # for sessions that are opened at the same moment
        # the guard checks Host and Origin, more strictly
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return Guard(Sessions(app, SESSIONS, PATH), rules)


def _report(on_ready: Callable[[str], None] | None, url: str) -> None:
    if on_ready is not None:
        on_ready(f"{url}{PATH}")


async def _over_stdio(server: Server[Any]) -> None:
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
