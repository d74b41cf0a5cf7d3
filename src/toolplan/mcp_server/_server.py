"""The MCP server: reads the calls of clients, and returns their results."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Final, Self, TypeAlias
from urllib.parse import urlsplit

import anyio
from mcp import MCPError
from mcp.server import Server
from mcp.server.context import CallNext, HandlerResult
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ElicitResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)

from toolplan.app._approve import VALUES
from toolplan.app.app import App
from toolplan.app.limits import Concurrency
from toolplan.approval import Approver
from toolplan.consent import needs_values
from toolplan.diagnostics import did_you_mean, near
from toolplan.events import Run, RunState
from toolplan.execution_plan import ExecutionPlan
from toolplan.mcp_server._errors import CallRefused
from toolplan.mcp_server._plans import CALL, Plans, Wanted
from toolplan.mcp_server._questions import (
    Decision,
    LinkQuestion,
    PlanQuestion,
    Question,
    Questions,
    Request,
    ValuesQuestion,
    can_ask,
    link_question,
    plan_question,
    values_question,
)
from toolplan.mcp_server._reports import (
    MOST_OUTPUT,
    effects_report,
    entry_report,
    page_report,
    run_report,
)
from toolplan.mcp_server._runs import ActiveRun, Runs, Values
from toolplan.mcp_server._search import found_text, left_out, sources_line
from toolplan.mcp_server._tools import INSTRUCTIONS, tools_of
from toolplan.path import Json
from toolplan.planners.offline import can_plan
from toolplan.release import own_version
from toolplan.render.runs_view import SHORT
from toolplan.schema import Schema
from toolplan.threads import in_thread

_SHOWN_SOURCES: Final = 6
_MOST_FAULTS: Final = 8
_LISTED: Final = 20
_BETWEEN_REPORTS_S: Final = 0.05
_PERSON_S: Final = 300
"""How long a call waits for who has opened the studio, if it does not say so."""

_LISTENS_S: Final = 0.3

Arguments: TypeAlias = Mapping[str, Any]


class Backend:
    """The plans and runs of all clients, over one app. Use it with `async with`.

    At the end it waits for the active runs, or cancels them after an exception.

    Attributes:
        app: plans and runs.
        runs: the runs.
        questions: what the users of clients are asked.
        asks_plans: whether forms may ask for the approval of plans.
        asks_values: whether forms may ask about calls with their values.
        studio: the address of the studio, whose page of a run clients may open.
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
        self.questions = Questions()
        self.asks_plans = elicit and approve != VALUES
        self.asks_values = elicit
        self.studio = studio

    async def __aenter__(self) -> Self:
        await self.runs.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.runs.__aexit__(kind, error, trace)


def make_server(backend: Backend) -> Server[str]:
    """Return the MCP server of `backend`."""
    calls, app = _Calls(backend), backend.app
    server: Server[str] = Server(
        "toolplan",
        version=own_version(),
        title="toolplan",
        instructions=f"{INSTRUCTIONS}\n{sources_line(app.tools, _SHOWN_SOURCES)}"
        f"{left_out(app.faults)}",
        lifespan=_connection,
        on_list_tools=calls.offered,
        on_call_tool=calls.call,
    )
    server.middleware.append(calls.notice)
    return server


@asynccontextmanager
async def _connection(_: Server[str]) -> AsyncGenerator[str]:
    """Yield a name for a connection; the numbers of requests are unique within it only."""
    yield uuid.uuid4().hex


class _Calls:
    """The tools. Each method returns the result for the client, or raises `CallRefused`."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._app = backend.app
        self._plans = Plans(backend.app)
        self._tools = tools_of(plans_questions=can_plan(backend.app.planner))
        self._inputs = {tool.name: Schema.load(tool.input_schema) for tool in self._tools}

    async def offered(self, _: Request, __: PaginatedRequestParams | None) -> ListToolsResult:
        """Return all tools."""
        return ListToolsResult(tools=list(self._tools))

    async def call(
        self, request: Request, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        """Answer one call; an error becomes a result with `isError`."""
        if params.name not in self._inputs:
            hint = did_you_mean(near(params.name, self._inputs)) or "`tools/list` lists them."
            raise MCPError(INVALID_PARAMS, f"There is no tool {params.name[:100]!r}. {hint}")
        try:
            arguments = self._checked(params)
            await in_thread(self._app.refresh)
            match params.name:
                case "search":
                    return self._search(arguments)
                case "run":
                    return await self._run(request, params, arguments)
                case _:
                    return await self._runs(request, params, arguments)
        except CallRefused as refused:
            return _result(refused.to_json(), is_error=True)

    async def notice(self, ctx: Request, call_next: CallNext) -> HandlerResult:
        """Cancel the run of a cancelled request; a closed connection cancels nothing."""
        if ctx.method == "notifications/cancelled" and ctx.params is not None:
            self._backend.runs.cancel_request(_key(ctx, ctx.params.get("requestId")))
        return await call_next(ctx)

    def _checked(self, params: CallToolRequestParams) -> Arguments:
        arguments = params.arguments or {}
        faults = self._inputs[params.name].violations(arguments)
        if faults:
            said = [f"{fault.pointer or '/'}: {fault.message}" for fault in faults[:_MOST_FAULTS]]
            raise CallRefused("bad-arguments", " ".join(said), "`tools/list` has the schema.")
        return arguments

    def _search(self, arguments: Arguments) -> CallToolResult:
        text = found_text(
            self._app.tools,
            arguments.get("query", ""),
            self._app.faults,
            detail=arguments.get("detail", False),
        )
        return CallToolResult(content=[TextContent(type="text", text=text)])

    async def _run(
        self, request: Request, params: CallToolRequestParams, arguments: Arguments
    ) -> CallToolResult | InputRequiredResult:
        answered = self._backend.questions.answered(params)
        if answered is not None:
            return await self._answered(request, params, arguments, *answered)
        wanted = await self._plans.wanted(arguments, _key(request, ""))
        if wanted.plan is None:
            return _result(wanted.report)
        if arguments.get("only_check"):
            checked: dict[str, Json] = {
                "runnable": True,
                "effects": effects_report(wanted.plan, self._app.tools),
                "unchecked_references": wanted.plan.unchecked_references,
            }
            return _result(checked | wanted.report)
        return await self._carried_out(request, params, arguments, wanted)

    async def _runs(
        self, request: Request, params: CallToolRequestParams, arguments: Arguments
    ) -> CallToolResult | InputRequiredResult:
        runs, name = self._backend.runs, arguments.get("run")
        if name is None:
            if arguments:
                raise CallRefused("bad-arguments", "/: This is about a run, and names none.")
            return _result({"runs": [entry_report(entry) for entry in await runs.latest(_LISTED)]})
        match arguments.get("action"):
            case "resume":
                answered = self._backend.questions.answered(params)
                if answered is not None:
                    return await self._answered(request, params, arguments, *answered)
                return await self._carried_out(request, params, arguments)
            case "cancel":
                await runs.cancel(name)
            case _:
                pass
        run, plan = await runs.decided(name, arguments.get("wait_s", 0))
        if "path" in arguments:
            whole = self._run_report(run, plan, {"detail": True}, most=None)
            page = page_report(whole, arguments["path"], int(arguments.get("offset", 0)))
            return _result(page)
        return _result(self._run_report(run, plan, arguments))

    async def _carried_out(
        self,
        request: Request,
        params: CallToolRequestParams,
        arguments: Arguments,
        wanted: Wanted | None = None,
        approve: Approver | None = None,
        *,
        decision: Decision | None = None,
    ) -> CallToolResult | InputRequiredResult:
        """Run what is wanted, or resume the run of the arguments, and wait for it and a person."""
        key = _key(request, request.request_id)
        until = asyncio.get_running_loop().time() + arguments.get("wait_s", 0)
        try:
            active = await self._active(request, params, arguments, key, wanted, approve, decision)
            if isinstance(active, InputRequiredResult):
                return active
            undecided = decision is None or not decision.leaves
            run = await self._asked(request, params, arguments, key, active, ask=undecided)
            if isinstance(run, InputRequiredResult):
                return run
            refusal, plan = None, active.plan
        except CallRefused as refused:
            name = refused.more.get("run")
            if "effects" not in refused.more or not isinstance(name, str):
                raise  # it does not wait for a person
            refusal = refused
            run, plan = await self._backend.runs.current(name)
        if run.status is RunState.WAITING:
            found = await self._person(request, params, run.run, until)
            if isinstance(found, InputRequiredResult):
                return found
            run, plan = found
            if run.status is RunState.WAITING and refusal is not None:
                raise refusal
        return self._ended(run, plan, arguments, {} if wanted is None else wanted.report)

    async def _person(
        self, request: Request, params: CallToolRequestParams, run: str, until: float
    ) -> tuple[Run, ExecutionPlan | None] | InputRequiredResult:
        """Offer the studio's page of a run that waits, and wait for a person until `until`.

        Who opens the page is given time to decide, unless the call says how long it waits.
        """
        backend, question = self._backend, None
        if backend.studio is not None and await _listens(backend.studio):
            question = link_question(request, run, backend.studio)
        now = asyncio.get_running_loop().time
        if question is None:
            return await backend.runs.decided(run, until - now())
        answer = await backend.questions.ask(request, params, question)
        if isinstance(answer, InputRequiredResult):
            return answer
        return await backend.runs.decided(run, _patience(answer, params.arguments or {}))

    async def _answered(
        self,
        request: Request,
        params: CallToolRequestParams,
        arguments: Arguments,
        question: Question,
        answer: ElicitResult,
    ) -> CallToolResult | InputRequiredResult:
        """Go on with what the user was asked about."""
        match question:
            case PlanQuestion(wanted=wanted):
                approve = question.approver(answer)
                return await self._carried_out(request, params, arguments, wanted, approve)
            case ValuesQuestion():
                decision = question.decision(answer)
                return await self._carried_out(request, params, arguments, decision=decision)
            case LinkQuestion(run=name):
                seconds = _patience(answer, arguments)
                run, plan = await self._backend.runs.decided(name, seconds)
                return self._ended(run, plan, arguments, {})

    def _ended(
        self,
        run: Run,
        plan: ExecutionPlan | None,
        arguments: Arguments,
        more: dict[str, Json],
    ) -> CallToolResult:
        """Return a run, or what its one call gave."""
        if "tool" in arguments and (blocks := _blocks(run)) is not None:
            return blocks
        report = self._run_report(run, plan, arguments) | more
        return _result(report, is_error=run.status is RunState.FAILED)

    async def _active(
        self,
        request: Request,
        params: CallToolRequestParams,
        arguments: Arguments,
        key: object,
        wanted: Wanted | None,
        approve: Approver | None,
        decision: Decision | None,
    ) -> ActiveRun | InputRequiredResult:
        """Start what is wanted or resume the run of the arguments; or return a question."""
        runs, backend = self._backend.runs, self._backend
        if decision is not None:
            return await runs.resume(decision.run, request=key, decision=decision)
        if wanted is None or wanted.plan is None:
            return await runs.resume(arguments["run"], request=key)
        plan, taken = wanted.plan, wanted.taken
        if not backend.asks_plans or approve is not None or taken.touches(plan.effects):
            return await runs.start(plan, approve=approve, request=key, taken=taken)
        if can_ask(request) and needs_values(plan):
            return await runs.start(plan, values=True, request=key, taken=taken)
        question = plan_question(request, wanted, self._app.tools)
        if question is not None:
            answer = await backend.questions.ask(request, params, question)
            if isinstance(answer, InputRequiredResult):
                return answer
            approve = question.approver(answer)
        return await runs.start(plan, approve=approve, request=key, taken=taken)

    async def _asked(
        self,
        request: Request,
        params: CallToolRequestParams,
        arguments: Arguments,
        key: object,
        active: ActiveRun,
        *,
        ask: bool,
    ) -> Run | InputRequiredResult:
        """Return the run as it is after `wait_s`, or a question about its calls that wait."""
        runs, backend = self._backend.runs, self._backend
        ask = ask and backend.asks_values  # who leaves them is not asked again
        while True:
            run = await self._watched(request, active, arguments)
            question = values_question(request, run) if ask and active.task.done() else None
            if question is None:
                break
            answer = await backend.questions.ask(request, params, question)
            if isinstance(answer, InputRequiredResult):
                runs.answered(key)
                return answer
            decision = question.decision(answer)
            if decision.leaves:
                break
            active = await runs.resume(run.run, request=key, decision=decision)
        runs.answered(key)
        return run

    async def _watched(self, request: Request, active: ActiveRun, arguments: Arguments) -> Run:
        """Report progress until the run is over, or `wait_s` is, and return the run."""
        reporting = asyncio.create_task(_report_progress(request, active))
        try:
            await active.progress.stored.wait()  # what is acknowledged is on disk
            await asyncio.wait({active.task}, timeout=arguments.get("wait_s"))
            if active.task.done():
                await reporting
        finally:
            reporting.cancel()
        over = active.task.done()
        return await self._backend.runs.ended(active) if over else active.progress.run()

    def _run_report(
        self,
        run: Run,
        plan: ExecutionPlan | None,
        arguments: Arguments,
        most: int | None = MOST_OUTPUT,
    ) -> dict[str, Json]:
        return run_report(
            run,
            plan,
            self._app.tools,
            insights=self._app.insights,
            thresholds=self._app.thresholds,
            detail=arguments.get("detail", False),
            most=most,
        )


async def _report_progress(request: Request, active: ActiveRun) -> None:
    """Send each new progress, until the run is over."""
    progress, reported = active.progress, 0.0
    changed = progress.watch()
    try:
        while True:
            over = active.task.done()
            changed.clear()
            if progress.done > reported:
                reported = progress.done
                await request.session.report_progress(reported, progress.total, progress.message)
            if over:
                return
            await changed.wait()
            await asyncio.wait({active.task}, timeout=_BETWEEN_REPORTS_S)
    except (anyio.ClosedResourceError, anyio.BrokenResourceError, MCPError):
        return  # the client has left
    finally:
        progress.unwatch(changed)


def _patience(answer: ElicitResult, arguments: Arguments) -> float:
    """Return how many seconds a call waits after its user was offered a page."""
    waits: float = arguments.get("wait_s", _PERSON_S)
    return waits if answer.action == "accept" else 0


async def _listens(url: str) -> bool:
    """Return whether a server listens at `url`: a link that leads nowhere is not offered."""
    parts = urlsplit(url)
    try:
        async with asyncio.timeout(_LISTENS_S):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


def _key(request: Request, number: object) -> object:
    """Return the name of a request; its number is unique within its connection only."""
    headers = getattr(request.request, "headers", {})
    return request.lifespan_context, headers.get("mcp-session-id"), str(number)


def _blocks(run: Run) -> CallToolResult | None:
    """Return what one call gave, as its own server would; None where that does not say it all."""
    if run.status is RunState.FAILED and (error := run.steps[CALL].error) is not None:
        said = f"{error.message} (run {run.run[:SHORT]})"
        return CallToolResult(content=[TextContent(type="text", text=said)], is_error=True)
    if run.status is not RunState.SUCCEEDED or run.partial:
        return None
    value = run.output
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) > MOST_OUTPUT:
        return None
    structured = value if isinstance(value, dict) else None
    content = TextContent(type="text", text=text)
    return CallToolResult(content=[content], structured_content=structured)


def _result(content: dict[str, Json], *, is_error: bool = False) -> CallToolResult:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=content,
        is_error=is_error,
    )
