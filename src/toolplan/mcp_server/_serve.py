"""Serving over standard input and output, or over HTTP."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Collection
from contextlib import closing
from typing import Any, Final, Literal, TypeAlias

import uvicorn
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from toolplan.app.app import App
from toolplan.app.limits import Concurrency
from toolplan.approval import Approver
from toolplan.mcp_server._connection import Connection
from toolplan.mcp_server._crowd import Bounds
from toolplan.mcp_server._errors import CannotServe
from toolplan.mcp_server._guard import SHORTEST_TOKEN, Guard, Rules, is_loopback
from toolplan.mcp_server._server import Backend, make_server
from toolplan.mcp_server._sessions import Sessions

Transport: TypeAlias = Literal["stdio", "http"]

PATH: Final = "/mcp"
DEFAULT_PORT: Final = 8722

SESSIONS: Final = Bounds(total=200, each=100)
"""The most sessions, of all peers together and of each address."""


async def serve(
    app: App,
    *,
    approve: Approver | None = None,
    concurrency: Concurrency | None = None,
    timeout: float | None = None,
    elicit: bool = False,
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
        approve: called with a plan with effects; without it the run waits for a person.
        concurrency: as for `App.run`.
        timeout: as for `App.run`.
        elicit: whether clients may ask their user for the approval.
        transport: `stdio`, or `http` for streamable HTTP.
        host: the name or address to listen on; any but loopback needs a token.
        port: the port to listen on; 0 selects a free one.
        token: the required `Authorization: Bearer` token, 16 characters or more.
        hosts: more names of the server, for the check of `Host`.
        origins: origins whose pages may use the server.
        on_ready: called with the URL when the server accepts requests.

    Raises:
        CannotServe: the address is not safe or not free, or the token is weak.
        ToolplanError: a limit is not valid, or the journal cannot be opened.
    """
    async with Backend(
        app, approve=approve, concurrency=concurrency, timeout=timeout, elicit=elicit
    ) as backend:
        if transport == "stdio":
            return await _over_stdio(make_server(backend))
        rules = checked_rules(host, token, hosts, origins)
        try:
            await _over_http(make_server(backend), rules, host, port, on_ready)
        finally:
            backend.runs.stop()


def checked_rules(
    host: str, token: str | None, hosts: Collection[str] = (), origins: Collection[str] = ()
) -> Rules:
    """Return the rules for requests to a server that listens on `host`.

    Raises:
        CannotServe: it is not loopback and there is no token, or the token is too short.
    """
    if token is None and not is_loopback(host):
        raise CannotServe(
            "not-loopback",
            f"{host!r} can be reached from other machines, and no token is set.",
            "Set a token, or listen on 127.0.0.1.",
        )
    is_plain = token is None or (token.isascii() and token.isprintable() and " " not in token)
    if token is not None and not (len(token) >= SHORTEST_TOKEN and is_plain):
        raise CannotServe(
            "weak-token",
            f"The token has fewer than {SHORTEST_TOKEN} characters, or some that are not allowed.",
            'Make one: python -c "import secrets; print(secrets.token_urlsafe(32))"',
        )
    return Rules([*hosts, _in_address(host)], origins, token)


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


async def _over_stdio(server: Server[Any]) -> None:
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def _over_http(
    server: Server[str],
    rules: Rules,
    host: str,
    port: int,
    on_ready: Callable[[str], None] | None,
) -> None:
    logging.getLogger("mcp").setLevel(logging.ERROR)
    with closing(_listening(host, port)) as listening:
        config = uvicorn.Config(
            http_app(server, rules),
            http=Connection,
            log_level="error",
            access_log=False,  # addresses may hold private data
            server_header=False,
            ws="none",
            proxy_headers=False,  # a peer is who connects, whatever it says
            timeout_graceful_shutdown=1,
            h11_max_incomplete_event_size=65_536,
        )
        http_server = _ReportingServer(config, lambda: _report(on_ready, host, listening))
        serving = asyncio.create_task(http_server.serve([listening]))
        try:
            await asyncio.shield(serving)
        except asyncio.CancelledError:  # requests are finished first
            http_server.should_exit = True
            await serving
            raise


class _ReportingServer(uvicorn.Server):
    """A uvicorn server that calls `on_ready` when it accepts requests."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept requests."""
        await super().startup(sockets)
        if self.started:
            self._on_ready()


def _report(on_ready: Callable[[str], None] | None, host: str, listening: socket.socket) -> None:
    if on_ready is not None:
        address, port = listening.getsockname()[:2]
        on_ready(f"http://{_in_address(host or address)}:{port}{PATH}")


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _listening(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        CannotServe: the address does not exist, or is in use.
    """
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError, OverflowError):
        raise CannotServe(
            "unknown-address", f"{host!r} is not an address of this machine.", "Try 127.0.0.1."
        ) from None
    listening = socket.socket(family, kind, number)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise CannotServe(
            "port-in-use",
            f"Cannot listen on port {port} of {host!r}: {error.strerror or error}.",
            "Choose another port; 0 selects a free one.",
        ) from None
    listening.setblocking(False)
    return listening
