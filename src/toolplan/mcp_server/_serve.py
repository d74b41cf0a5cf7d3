"""The server on its way: over standard input and output, or over HTTP."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

import uvicorn
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from toolplan.answer import InsightFunction
from toolplan.approval import Approver, Policy
from toolplan.engines import RunOptions
from toolplan.events import Run
from toolplan.execution_plan import ExecutionPlan
from toolplan.mcp_server._approval import ApprovalPrompt
from toolplan.mcp_server._connection import Connection
from toolplan.mcp_server._guard import SHORTEST_TOKEN, Guard, Rules, is_loopback
from toolplan.mcp_server._options import Options
from toolplan.mcp_server._plans import Plans
from toolplan.mcp_server._refused import CannotServe
from toolplan.mcp_server._runs import Runs
from toolplan.mcp_server._server import Desk, make_server
from toolplan.path import Json
from toolplan.plan import Limits
from toolplan.planners import Planner
from toolplan.storage.journal import Journal
from toolplan.tools import Toolbox

Transport: TypeAlias = Literal["stdio", "http"]

PATH: Final = "/mcp"
DEFAULT_PORT: Final = 8722

_MOST_SESSIONS: Final = 200
_AT_ONCE: Final = 64


async def serve(
    toolbox: Toolbox,
    *,
    journal: Journal,
    planner: Planner,
    policy: Policy = Policy(),
    limits: Limits = Limits(),
    run_options: RunOptions = RunOptions(),
    insights: Sequence[InsightFunction] = (),
    metadata: Mapping[str, Json] = MappingProxyType({}),
    approval: Approver | None = None,
    on_ended: Callable[[ExecutionPlan, Run], None] | None = None,
    elicit: bool = False,
    transport: Transport = "stdio",
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    token: str | None = None,
    hosts: Collection[str] = (),
    origins: Collection[str] = (),
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Serve `toolbox` as plans over MCP until the client leaves (stdio) or the process is told to.

    A run goes on when its client leaves. Over stdio the end of input ends the server after its
    runs; over HTTP a signal ends these too, and each can be resumed.

    Args:
        toolbox: what plans may call.
        journal: where runs are kept; clients see all runs in it.
        planner: what proposes plans.
        policy: what plans may use.
        limits: the limits of plans and runs.
        run_options: concurrency and timeouts of each run.
        insights: functions that find more in rows than holds for any rows.
        metadata: advice that is put into every plan.
        approval: called with each plan with effects; None lets the run wait for a person.
        on_ended: called in a thread with every run that is over, and its plan.
        elicit: whether that leave may be asked of the user through clients that can do so.
        transport: `stdio`, or `http` for streamable HTTP.
        host: the name or address to listen on; any but loopback needs a token.
        port: the port to listen on; 0 takes a free one.
        token: what clients must send as `Authorization: Bearer`, 16 characters or more.
        hosts: more names under which the server is reached, for the check of `Host`.
        origins: origins whose pages may use the server.
        on_ready: called with the URL when requests are taken.

    Raises:
        CannotServe: the address is not safe or not free, or the token is weak.
    """
    options = Options(policy, limits, run_options, insights, metadata, approval, on_ended)
    async with Runs(toolbox, journal=journal, options=options) as runs:
        plans = Plans(toolbox, journal=journal, planner=planner, options=options)
        desk = Desk(toolbox, options, plans, runs, ApprovalPrompt(toolbox) if elicit else None)
        if transport == "stdio":
            return await _over_stdio(make_server(desk))
        rules = checked_rules(host, token, hosts, origins)
        try:
            await _over_http(make_server(desk), rules, host, port, on_ready)
        finally:
            runs.stop()


def checked_rules(
    host: str, token: str | None, hosts: Collection[str] = (), origins: Collection[str] = ()
) -> Rules:
    """Return what is let through by a server that listens on `host`.

    Raises:
        CannotServe: it is not loopback and there is no token, or the token is too short.
    """
    if token is None and not is_loopback(host):
        raise CannotServe(
            "not-loopback",
            f"{host!r} can be reached from other machines, and no token is set.",
            "Set a token, or listen on 127.0.0.1.",
        )
    if token is not None and not (len(token) >= SHORTEST_TOKEN and _is_plain(token)):
        raise CannotServe(
            "weak-token",
            f"The token has fewer than {SHORTEST_TOKEN} characters, or some that no header takes.",
            'Make one: python -c "import secrets; print(secrets.token_urlsafe(32))"',
        )
    return Rules([*hosts, _in_address(host)], origins, token)


def http_app(server: Server[str], rules: Rules) -> ASGIApp:
    """Return the ASGI application that serves MCP at `/mcp`, behind the guard."""
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=rules.most_body,
        max_sessions=_MOST_SESSIONS,
        # the guard has looked at Host and Origin, more closely
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return Guard(app, rules)


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
            access_log=False,  # addresses may hold what is nobody's business
            server_header=False,
            ws="none",
            limit_concurrency=_AT_ONCE,
            timeout_graceful_shutdown=1,
            h11_max_incomplete_event_size=65_536,
        )
        running = _Told(config, lambda: _report(on_ready, host, listening))
        going = asyncio.create_task(running.serve([listening]))
        try:
            await asyncio.shield(going)
        except asyncio.CancelledError:  # it ends what it has begun, then it ends
            running.should_exit = True
            await going
            raise


class _Told(uvicorn.Server):
    """A uvicorn server that says when it takes requests."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to take requests, and say so."""
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
    """Return a socket that listens.

    Raises:
        CannotServe: the address is not there, or taken.
    """
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError, OverflowError):
        raise CannotServe(
            "unknown-address", f"{host!r} is no address of this machine.", "Try 127.0.0.1."
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
            f"Port {port} of {host!r} cannot be listened on: {error.strerror or error}.",
            "Choose another port; 0 takes a free one.",
        ) from None
    listening.setblocking(False)
    return listening


def _is_plain(token: str) -> bool:
    return token.isascii() and token.isprintable() and " " not in token
