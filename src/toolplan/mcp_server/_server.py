"""The MCP server: its three tools, and clients that call them over stdio or HTTP."""

from __future__ import annotations

import json
import logging
import secrets
import uuid
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Literal

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
    Tool,
    ToolAnnotations,
)
from msgspec.structs import replace
from starlette.types import ASGIApp

from toolplan.app.app import App
from toolplan.app.settings import home
from toolplan.app.setup import Concurrency
from toolplan.base.errors import ToolplanError
from toolplan.base.extras import own_version
from toolplan.base.threads import in_thread
from toolplan.mcp_server._call import Call, request_key, result
from toolplan.mcp_server._reports import CallRefused, error_report, left_out, sources_line
from toolplan.mcp_server._runs import Backend, Request, Values
from toolplan.mcp_server.http.guard import Guard, Rules
from toolplan.mcp_server.http.serving import checked_rules, kept_secret, serve_http
from toolplan.plan.diagnostics import did_you_mean, near
from toolplan.plan.path import Json
from toolplan.planners.offline import can_plan
from toolplan.policy.approval import Approver
from toolplan.schema import Schema
from toolplan.tools.search import index_of

MOST_QUESTION: Final = 10_000
"""The maximum size of a question, in characters."""

LONGEST_WAIT_S: Final = 86_400

INSTRUCTIONS: Final = (
    "One server in front of all tools below. `search` finds them. `run` makes one call, or a plan "
    "of many: it is checked whole before anything runs, steps that need not wait run at once, and "
    "only what its `output` names comes back; the rest stays here, and `runs` has it by path. "
    "Use a plan for loops, for big results, and for more than one call. What changes something "
    "waits for a person, never for you: show them effects and command of the error."
)

EXAMPLE: Final[Json] = {
    "steps": [
        {"id": "people", "tool": "people_list", "args": {"team": "sales"}},
        {
            "id": "mails",
            "tool": "mail_send",
            "for_each": "${people.data[*].address}",
            "args": {"to": "${item}", "subject": "Offices of ${people.data[0].team}"},
            "when": {"value": "${people.count}", "is": {"minimum": 1}},
        },
    ],
    "output": {"asked": "${people.count}", "sent": "${mails}"},
}
"""A plan with each thing that most plans need; its tools exist nowhere."""

_ACTS: Final = ToolAnnotations(read_only_hint=False, destructive_hint=True)
_SEARCH: Final = (
    "Find tools by words or names; they come as `name(argument: type, optional?: type) -> "
    "type`, with `detail` as JSON Schemas. Without words: the servers."
)
_RUNS: Final = "List runs, show one, read a part of its values by `path`, resume or cancel it."
_RUN: Final = (
    "Run a plan, or one call (`tool`, `args`). A plan, as JSON or as text in any dialect: "
    f"{json.dumps(EXAMPLE, separators=(',', ':'))} "
    "`${step.path}` is a part of an earlier output, `[*]` each item of a list, "
    "`${run:NAME.step.path}` of an earlier run. Steps may have "
    '`after`: [ids], `on_error`: "continue" (then null), `retries`, `timeout_s`. A tool\'s text '
    "is no object: use it whole. `detail` adds all steps and the answer; after `wait_s` seconds "
    "you get the run as it is, and it goes on."
)
_NAME: Final[dict[str, Json]] = {
    "type": "string",
    "description": "A run's name, or its beginning.",
}
_WAIT: Final[Json] = {"type": "number", "minimum": 0, "maximum": LONGEST_WAIT_S}
_DETAIL: Final[Json] = {"type": "boolean"}
_QUESTION: Final[Json] = {
    "type": "string",
    "maxLength": MOST_QUESTION,
    "description": "Words that become a plan.",
}
_SEARCH_INPUT: Final[dict[str, Json]] = {
    "query": {"type": "string", "maxLength": 1_000},
    "detail": _DETAIL,
}
_RUN_INPUT: Final[dict[str, Json]] = {
    "plan": {"type": ["object", "array", "string"]},
    "question": _QUESTION,
    "tool": {"type": "string"},
    "args": {"type": "object"},
    "use": {**_NAME, "description": "A run: equal steps are done."},
    "only_check": {"type": "boolean"},
    "wait_s": _WAIT,
    "detail": _DETAIL,
}
_RUNS_INPUT: Final[dict[str, Json]] = {
    "run": _NAME,
    "path": {
        "type": "string",
        "pattern": "^/",
        "description": "JSON Pointer: /output, /steps/NAME/output/0.",
    },
    "offset": {"type": "integer", "minimum": 0},
    "action": {"enum": ["resume", "cancel"]},
    "wait_s": _WAIT,
    "detail": _DETAIL,
}
_SHOWN_SOURCES: Final = 6
_MOST_FAULTS: Final = 8
PATH: Final = "/mcp"
TOKEN_FILE: Final = "mcp.token"  # noqa: S105 — the name of a file
DEFAULT_PORT: Final = 8722
MOST_SESSIONS: Final = 1_000
"""Maximum number of sessions; one that is idle for half an hour is closed."""


def tools_of(*, plans_questions: bool) -> tuple[Tool, ...]:
    """Return all tools, in the order of the list; `run` takes questions only where one plans."""
    run = {name: each for name, each in _RUN_INPUT.items() if plans_questions or name != "question"}
    return (
        _tool("search", _SEARCH, _SEARCH_INPUT, ToolAnnotations(read_only_hint=True)),
        _tool("run", _RUN, run, _ACTS),
        _tool("runs", _RUNS, _RUNS_INPUT, _ACTS),
    )


def _tool(
    name: str, description: str, properties: dict[str, Json], annotations: ToolAnnotations
) -> Tool:
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return Tool(name=name, description=description, input_schema=schema, annotations=annotations)


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
            faults = self._inputs[params.name].violations(params.arguments or {})
            if faults:
                said = [f"{each.pointer or '/'}: {each.message}" for each in faults[:_MOST_FAULTS]]
                raise CallRefused("bad-arguments", " ".join(said), "`tools/list` has the schema.")
            if self._backend.app.has_news:
                await in_thread(self._backend.app.refresh)
            ended = await call.result()
        except ToolplanError as error:
            ended = result(error_report(error), is_error=True)
        self._backend.answered(call.key)
        return ended

    async def notice(self, ctx: Request, call_next: CallNext) -> HandlerResult:
        """Cancel the run of a cancelled request; a closed connection cancels nothing."""
        if ctx.method == "notifications/cancelled" and ctx.params is not None:
            self._backend.cancel_request(request_key(ctx, ctx.params.get("requestId")))
        return await call_next(ctx)


async def serve(
    app: App,
    *,
    approve: Approver | Values | None = None,
    concurrency: Concurrency | None = None,
    timeout: float | None = None,
    elicit: bool = False,
    studio: str | None = None,
    transport: Literal["stdio", "http"] = "stdio",
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
    limits: dict[str, Any] = {"concurrency": concurrency, "timeout": timeout}
    async with Backend(app, approve=approve, elicit=elicit, studio=studio, **limits) as backend:
        server = make_server(backend)
        if transport == "stdio":
            async with stdio_server() as (incoming, outgoing):
                return await server.run(incoming, outgoing, server.create_initialization_options())
        rules = checked_rules(host, token, hosts, origins)
        rules = replace(rules, token=rules.token or http_token()[0])
        logging.getLogger("mcp").setLevel(logging.ERROR)

        def ready(url: str) -> None:
            if on_ready is not None:
                on_ready(f"{url}{PATH}")

        try:
            await serve_http(http_app(server, rules), host, port, ready)
        finally:
            backend.stop()


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
