"""The MCP server: it reads the calls of clients over stdio or HTTP, and returns their results."""

from __future__ import annotations

import logging
import secrets
import uuid
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final, Literal

from mcp import MCPError
from mcp.server import Server
from mcp.server.context import CallNext, HandlerResult
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
)
from msgspec.structs import replace
from starlette.types import ASGIApp

from toolplan.app.home import home
from toolplan.base.errors import ToolplanError
from toolplan.base.release import own_version
from toolplan.base.threads import in_thread
from toolplan.mcp_server._call import Backend, Call, request_key, result
from toolplan.mcp_server._questions import Request
from toolplan.mcp_server._reports import CallRefused, error_report
from toolplan.mcp_server._search import left_out, sources_line
from toolplan.mcp_server._tools import INSTRUCTIONS, tools_of
from toolplan.mcp_server.http.guard import Guard, Rules
from toolplan.mcp_server.http.secret_file import kept_secret
from toolplan.mcp_server.http.serving import checked_rules, serve_http
from toolplan.plan.diagnostics import did_you_mean, near
from toolplan.planners.offline import can_plan
from toolplan.schema import Schema
from toolplan.tools.search import index_of

_SHOWN_SOURCES: Final = 6
_MOST_FAULTS: Final = 8

PATH: Final = "/mcp"
TOKEN_FILE: Final = "mcp.token"  # noqa: S105 — the name of a file
DEFAULT_PORT: Final = 8722

MOST_SESSIONS: Final = 1_000
"""The most sessions; one that is idle for half an hour is closed."""


def make_server(backend: Backend) -> Server[str]:
    """Return the MCP server of `backend`."""
    tools, app = _Tools(backend), backend.app
    index_of(app.tools)  # so that the first search need not wait for it
    server: Server[str] = Server(
        "toolplan",
        version=own_version(),
        title="toolplan",
        instructions=f"{INSTRUCTIONS}\n{sources_line(app.tools, _SHOWN_SOURCES)}"
        f"{left_out(app.faults)}",
        lifespan=_connection,
        on_list_tools=tools.listed,
        on_call_tool=tools.call,
    )
    server.middleware.append(tools.notice)
    return server


@asynccontextmanager
async def _connection(_: Server[str]) -> AsyncGenerator[str]:
    """Yield a name for a connection; the numbers of requests are unique within it only."""
    yield uuid.uuid4().hex


class _Tools:
    """The tools of the server."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._tools = tools_of(plans_questions=can_plan(backend.app.planner))
        self._inputs = {tool.name: Schema.load(tool.input_schema) for tool in self._tools}

    async def listed(self, _: Request, __: PaginatedRequestParams | None) -> ListToolsResult:
        """Return all tools."""
        return ListToolsResult(tools=list(self._tools))

    async def call(
        self, request: Request, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        """Answer one call; an error becomes a result with `isError`."""
        if params.name not in self._inputs:
            hint = did_you_mean(near(params.name, self._inputs)) or "`tools/list` lists them."
            raise MCPError(INVALID_PARAMS, f"There is no tool {params.name[:100]!r}. {hint}")
        call = Call(self._backend, request, params)
        try:
            self._check(params)
            await in_thread(self._backend.app.refresh)
            ended = await call.result()
        except ToolplanError as error:
            ended = result(error_report(error), is_error=True)
        self._backend.runs.answered(call.key)
        return ended

    async def notice(self, ctx: Request, call_next: CallNext) -> HandlerResult:
        """Cancel the run of a cancelled request; a closed connection cancels nothing."""
        if ctx.method == "notifications/cancelled" and ctx.params is not None:
            self._backend.runs.cancel_request(request_key(ctx, ctx.params.get("requestId")))
        return await call_next(ctx)

    def _check(self, params: CallToolRequestParams) -> None:
        faults = self._inputs[params.name].violations(params.arguments or {})
        if faults:
            said = [f"{fault.pointer or '/'}: {fault.message}" for fault in faults[:_MOST_FAULTS]]
            raise CallRefused("bad-arguments", " ".join(said), "`tools/list` has the schema.")


async def serve(
    backend: Backend,
    *,
    transport: Literal["stdio", "http"] = "stdio",
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    token: str | None = None,
    hosts: Collection[str] = (),
    origins: Collection[str] = (),
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Serve `backend` over MCP until the client leaves (stdio) or the process gets a signal.

    A run continues when its client leaves. Over stdio the server ends after its runs when the input
    ends; over HTTP a signal cancels the runs, and each can be resumed.

    Args:
        backend: the plans and runs of all clients.
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
    """
    async with backend:
        server = make_server(backend)
        if transport == "stdio":
            async with stdio_server() as (incoming, outgoing):
                return await server.run(incoming, outgoing, server.create_initialization_options())
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
        max_sessions=MOST_SESSIONS,
        # the guard checks Host and Origin, more strictly
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return Guard(app, rules)


def _report(on_ready: Callable[[str], None] | None, url: str) -> None:
    if on_ready is not None:
        on_ready(f"{url}{PATH}")
