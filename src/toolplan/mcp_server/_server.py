"""The MCP server: reads the calls of clients, and returns their results."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from mcp import MCPError
from mcp.server import Server
from mcp.server.context import CallNext, HandlerResult
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
)

from toolplan.app._approve import VALUES
from toolplan.app.app import App
from toolplan.app.limits import Concurrency
from toolplan.approval import Approver
from toolplan.diagnostics import did_you_mean, near
from toolplan.errors import ToolplanError
from toolplan.mcp_server._call import Call, request_key, result
from toolplan.mcp_server._errors import CallRefused, error_report
from toolplan.mcp_server._plans import Plans
from toolplan.mcp_server._questions import InputRequired, Questions, Request
from toolplan.mcp_server._runs import Runs, Values
from toolplan.mcp_server._search import left_out, sources_line
from toolplan.mcp_server._tools import INSTRUCTIONS, tools_of
from toolplan.planners.offline import can_plan
from toolplan.release import own_version
from toolplan.schema import Schema
from toolplan.threads import in_thread

_SHOWN_SOURCES: Final = 6
_MOST_FAULTS: Final = 8


class Backend(AbstractAsyncContextManager["Backend"]):
    """The plans and runs of all clients, over one app. Use it with `async with`.

    At the end it waits for the active runs, or cancels them after an exception.

    Attributes:
        app: plans and runs.
        runs: the runs.
        questions: what the users of clients are asked.
    """

    def __init__(
        self,
        app: App,
        *,
        approve: Approver | Values | None = None,
        concurrency: Concurrency | None = None,
        timeout: float | None = None,
        elicit: bool = False,
        studio: str | None = None,
    ) -> None:
        """Prepare plans and runs; the arguments are those of `serve`.

        Raises:
            ToolplanError: the app has no journal, or a limit is not valid.
        """
        self.app = app
        self.runs = Runs(app, approve=approve, concurrency=concurrency, timeout=timeout)
        self.questions = Questions(
            about_plans=elicit and approve != VALUES, about_values=elicit, studio=studio
        )

    async def __aexit__(self, *error: object) -> None:
        await self.runs.__aexit__(*error)


def make_server(backend: Backend) -> Server[str]:
    """Return the MCP server of `backend`."""
    tools, app = _Tools(backend), backend.app
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
        self._plans = Plans(backend.app)
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
        backend = self._backend
        call = Call(backend.app, self._plans, backend.runs, backend.questions, request, params)
        answers = {"search": call.search, "run": call.run, "runs": call.runs}
        try:
            self._check(params)
            await in_thread(backend.app.refresh)
            ended = await answers[params.name]()
        except InputRequired as asked:
            ended = asked.result
        except ToolplanError as error:
            ended = result(error_report(error), is_error=True)
        backend.runs.answered(call.key)
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
