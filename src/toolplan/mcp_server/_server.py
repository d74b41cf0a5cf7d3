"""The MCP server: reads the calls of clients, and returns their results."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

import anyio
from mcp import MCPError
from mcp.server import Server, ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)

from toolplan.app._approve import VALUES
from toolplan.app.app import App
from toolplan.app.limits import Concurrency
from toolplan.app.results import AskResult, CheckResult
from toolplan.approval import Approver
from toolplan.consent import needs_values
from toolplan.diagnostics import did_you_mean, near
from toolplan.error_pages import ERROR_PAGES
from toolplan.events import Run, RunState
from toolplan.execution_plan import ExecutionPlan
from toolplan.mcp_server._approval import ApprovalPrompt, can_ask
from toolplan.mcp_server._errors import CallRefused
from toolplan.mcp_server._plans import Plans
from toolplan.mcp_server._reports import (
    MOST_OUTPUT,
    diagnostics_report,
    entry_report,
    page_report,
    plan_report,
    run_report,
    tools_report,
)
from toolplan.mcp_server._runs import ActiveRun, Runs, Values
from toolplan.mcp_server._tools import DEFAULT_TOOLS, INPUTS, TOOLS
from toolplan.mcp_server._values import ValuesPrompt
from toolplan.path import Json
from toolplan.planners import Clarification, Draft, Refusal
from toolplan.release import own_version
from toolplan.render.printable import cut, printable
from toolplan.rules import RULES, SYNTAX_PAGES
from toolplan.tools import Toolbox

PAGES: Final = {**ERROR_PAGES, **SYNTAX_PAGES, **{rule.code: rule.text for rule in RULES}}

_INSTRUCTIONS: Final = (
    "Turns questions into plans of tool calls, checks a whole plan before anything runs, and runs "
    "exactly that plan. Use `plan` with a question. Or write a plan yourself: `tools` has the "
    "signatures of the tools, the input schema of `check` is the form of a plan. `check` it, then "
    "`run` it with its digest. A plan with effects runs only after a person has approved it "
    "outside of this conversation; show them the effects and the command of the error. Runs "
    "continue without you: `runs` shows their progress, `resume` continues one that stopped."
)
_WRITE_IT: Final = (
    "This is about words that the planner of this server does not know; the user need not answer "
    "it. Write the plan yourself: `tools` has the signatures, `check` says what is wrong."
)
_MOST_NAMES: Final = 60
_MOST_NAME: Final = 64
_MOST_FAULTS: Final = 8
_MOST_FAULT: Final = 300
_BETWEEN_REPORTS_S: Final = 0.05

Request: TypeAlias = ServerRequestContext[str, Any]
Arguments: TypeAlias = Mapping[str, Any]


class Backend:
    """The plans and runs of all clients, over one app. Use it with `async with`.

    At the end it waits for the active runs, or cancels them after an exception.

    Attributes:
        app: plans and runs.
        plans: the latest plans.
        runs: the runs.
        prompt: asks the user of a client for approvals, if that is allowed.
        values: asks about calls with their values, likewise.
    """

    def __init__(
        self,
        app: App,
        *,
        approve: Approver | Values | None = None,
        concurrency: Concurrency | None = None,
        timeout: float | None = None,
        elicit: bool = False,
    ) -> None:
        """Prepare plans and runs; the arguments are those of `serve`.

        Raises:
            ToolplanError: the app has no journal, or a limit is not valid.
        """
        self.app = app
        self.plans = Plans(app)
        self.runs = Runs(app, approve=approve, concurrency=concurrency, timeout=timeout)
        self.prompt = ApprovalPrompt(app.tools) if elicit and approve != VALUES else None
        self.values = ValuesPrompt() if elicit else None

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
    calls = _Calls(backend)
    server: Server[str] = Server(
        "toolplan",
        version=own_version(),
        title="toolplan",
        instructions=f"{_INSTRUCTIONS} {_names(backend.app.tools)}{_left_out(backend.app.faults)}",
        lifespan=_connection,
        on_list_tools=_list_tools,
        on_call_tool=calls.call,
    )
    server.middleware.append(calls.notice)
    return server


@asynccontextmanager
async def _connection(_: Server[str]) -> AsyncGenerator[str]:
    """Yield a name for a connection; the numbers of requests are unique within it only."""
    yield uuid.uuid4().hex


async def _list_tools(_: Request, __: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(tools=list(TOOLS))


def _names(toolbox: Toolbox) -> str:
    names = [cut(printable(name), _MOST_NAME) for name in list(toolbox)[:_MOST_NAMES]]
    more = f" and {len(toolbox) - len(names)} more" if len(toolbox) > len(names) else ""
    return f"Plans can call these tools: {', '.join(names)}{more}."


def _left_out(faults: Sequence[str]) -> str:
    """Return what cannot be used: its tools would be missing without a word."""
    shown = [json.dumps(cut(printable(each), _MOST_FAULT)) for each in faults[:_MOST_FAULTS]]
    more = f" and {len(faults) - len(shown)} more" if len(faults) > len(shown) else ""
    return f" Not available (tell the user): {', '.join(shown)}{more}." if shown else ""


class _Calls:
    """The tools. Each method returns the result for the client, or raises `CallRefused`."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._app = backend.app
        self._plain: Mapping[str, Callable[[Arguments], Awaitable[dict[str, Json]]]] = {
            "plan": self._plan,
            "tools": self._tools,
            "check": self._check,
            "runs": self._runs,
            "explain": self._explain,
        }

    async def call(
        self, request: Request, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        """Answer one call; an error becomes a result with `isError`."""
        if params.name not in INPUTS:
            hint = did_you_mean(near(params.name, INPUTS)) or "`tools/list` lists them."
            raise MCPError(INVALID_PARAMS, f"There is no tool {params.name[:100]!r}. {hint}")
        try:
            arguments = _checked(params)
            if params.name in self._plain:
                return _result(await self._plain[params.name](arguments))
            return await self._run_or_resume(request, params, arguments)
        except CallRefused as refused:
            return _result(refused.to_json(), is_error=True)

    async def notice(self, ctx: Request, call_next: CallNext) -> HandlerResult:
        """Cancel the run of a cancelled request; a closed connection cancels nothing."""
        if ctx.method == "notifications/cancelled" and ctx.params is not None:
            self._backend.runs.cancel(_key(ctx, ctx.params.get("requestId")))
        return await call_next(ctx)

    async def _plan(self, arguments: Arguments) -> dict[str, Json]:
        asked = await self._backend.plans.plan(arguments["question"], arguments.get("today"))
        return _proposal_report(asked, self._app.tools)

    async def _tools(self, arguments: Arguments) -> dict[str, Json]:
        limit = int(arguments.get("limit", DEFAULT_TOOLS))
        schemas = bool(arguments.get("schemas"))
        found = tools_report(self._app.tools, arguments.get("query"), limit, schemas=schemas)
        left_out: list[Json] = [cut(printable(each), _MOST_FAULT) for each in self._app.faults]
        return {**found, "unavailable": left_out[:_MOST_FAULTS]} if left_out else found

    async def _check(self, arguments: Arguments) -> dict[str, Json]:
        checked = await self._checked_plan(arguments)
        report: dict[str, Json] = {
            "valid": not any(each.severity == "error" for each in checked.diagnostics),
            "runnable": checked.plan is not None,
            **diagnostics_report(checked.diagnostics),
            "unchecked_references": checked.unchecked_references,
        }
        if checked.plan is None:
            return {**report, "plan": None, "digest": None}
        return {**report, **plan_report(checked.plan, self._app.tools)}

    async def _runs(self, arguments: Arguments) -> dict[str, Json]:
        if "run" not in arguments:
            latest = await self._backend.runs.latest(int(arguments.get("limit", 20)))
            return {"runs": [entry_report(entry) for entry in latest]}
        run, plan = await self._backend.runs.current(arguments["run"])
        if "path" in arguments:
            whole = self._run_report(run, plan, {"outputs": True}, most=None)
            return {"page": page_report(whole, arguments["path"], int(arguments.get("offset", 0)))}
        return {"run": self._run_report(run, plan, arguments)}

    async def _explain(self, arguments: Arguments) -> dict[str, Json]:
        code = arguments.get("code")
        if code is None:
            return {"codes": {name: page.partition("\n")[0] for name, page in PAGES.items()}}
        if code not in PAGES:
            hint = did_you_mean(near(code, PAGES)) or "Without a code, all are listed."
            raise CallRefused("unknown-code", f"There is no code {code!r}.", hint)
        return {"code": code, "page": PAGES[code]}

    async def _run_or_resume(
        self, request: Request, params: CallToolRequestParams, arguments: Arguments
    ) -> CallToolResult | InputRequiredResult:
        key = _key(request, request.request_id)
        loop = asyncio.get_running_loop()
        until = loop.time() + arguments.get("wait_s", 0)
        try:
            run, plan = await self._run_of(request, params, arguments, key)
        except CallRefused as refused:
            name = refused.more.get("run")
            if "effects" not in refused.more or not isinstance(name, str):
                raise  # it does not wait for a person
            run, plan = await self._backend.runs.decided(name, until - loop.time())
            if run.status is RunState.WAITING:
                raise
        else:
            if isinstance(run, Run) and run.status is RunState.WAITING:
                run, plan = await self._backend.runs.decided(run.run, until - loop.time())
        if isinstance(run, InputRequiredResult):
            return run
        report = self._run_report(run, plan, arguments)
        return _result(report, is_error=run.status is RunState.FAILED)

    async def _run_of(
        self,
        request: Request,
        params: CallToolRequestParams,
        arguments: Arguments,
        key: object,
    ) -> tuple[Run | InputRequiredResult, ExecutionPlan | None]:
        """Start or resume the run of the arguments, and return it as it is after `wait_s`.

        What comes back may be a question to the user instead.
        """
        runs, values = self._backend.runs, self._backend.values
        decision = None if values is None else values.answered(params)
        if decision is not None:
            active = await runs.resume(decision.run, request=key, decision=decision)
            values = None if decision.leaves else values  # who leaves them is not asked again
        elif params.name == "run":
            started = await self._started(request, params, arguments, key)
            if isinstance(started, InputRequiredResult):
                return started, None
            active = started
        else:
            active = await runs.resume(arguments["run"], request=key)
        while True:
            run = await self._watched(request, active, arguments)
            asked = None
            if values is not None and active.task.done():
                asked = await values.ask(request, params, run)
            if isinstance(asked, InputRequiredResult):
                runs.answered(key)
                return asked, active.plan
            if asked is None or asked.leaves:
                break
            active = await runs.resume(run.run, request=key, decision=asked)
        runs.answered(key)
        return run, active.plan

    async def _started(
        self, request: Request, params: CallToolRequestParams, arguments: Arguments, key: object
    ) -> ActiveRun | InputRequiredResult:
        """Start the plan of the arguments, or return the question whether it may run."""
        approve, prompt = None, self._backend.prompt
        plan = await self._plan_to_run(arguments)
        if prompt is not None and can_ask(request) and needs_values(plan):
            return await self._backend.runs.start(plan, values=True, request=key)
        if prompt is not None:
            approve = await prompt.ask(request, params, plan)
            if isinstance(approve, InputRequiredResult):
                return approve
        return await self._backend.runs.start(plan, approve=approve, request=key)

    async def _plan_to_run(self, arguments: Arguments) -> ExecutionPlan:
        """Return the plan of the arguments.

        Raises:
            CallRefused: there is none, it does not pass its check, or it has another `digest`.
        """
        digest = arguments.get("digest")
        if "plan" not in arguments:
            if digest is None:
                raise CallRefused(
                    "bad-arguments", "There is no plan to run.", "Pass a digest, or a plan."
                )
            return self._backend.plans.known(digest)
        checked = await self._checked_plan(arguments)
        if checked.plan is None:
            raise CallRefused(
                "bad-plan",
                "The plan does not pass the check; nothing was run.",
                "Fix the problems in the diagnostics; `explain` has a page for each code.",
                diagnostics_report(checked.diagnostics),
            )
        if digest is not None and digest != checked.plan.digest:
            raise CallRefused(
                "digest-mismatch",
                f"The plan has the digest {checked.plan.digest}, not {digest}; nothing was run.",
                "Read the plan again, and pass either the plan or its digest.",
            )
        return checked.plan

    async def _checked_plan(self, arguments: Arguments) -> CheckResult:
        plan = arguments["plan"]
        try:
            text = plan if isinstance(plan, str) else json.dumps(plan, ensure_ascii=False)
        except RecursionError:
            raise CallRefused("too-deep", "The plan is nested too deep to be read.") from None
        return await self._backend.plans.check(text, arguments.get("dialect", "toolplan"))

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
        outputs = arguments.get("outputs", False)
        return run_report(
            run,
            plan,
            self._app.tools,
            insights=self._app.insights,
            thresholds=self._app.thresholds,
            outputs=outputs,
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


def _key(request: Request, number: object) -> object:
    """Return the name of a request; its number is unique within its connection only."""
    headers = getattr(request.request, "headers", {})
    return request.lifespan_context, headers.get("mcp-session-id"), str(number)


def _checked(params: CallToolRequestParams) -> Arguments:
    arguments = params.arguments or {}
    faults = INPUTS[params.name].violations(arguments)
    if faults:
        messages = [f"{fault.pointer or '/'}: {fault.message}" for fault in faults[:_MOST_FAULTS]]
        raise CallRefused("bad-arguments", " ".join(messages), "`tools/list` has the schema.")
    return arguments


def _proposal_report(asked: AskResult, toolbox: Toolbox) -> dict[str, Json]:
    match asked.proposal:
        case Clarification() as clarification:
            return {
                "outcome": "clarification",
                # words that the planner does not know are known to who asks
                **({"help": _WRITE_IT} if clarification.unexplained else {}),
                "clarification": {
                    "question": clarification.question,
                    "options": [*clarification.options],
                    "unexplained": [*clarification.unexplained],
                    "partial_plan": clarification.partial_plan,
                    "examples": [*clarification.examples],
                },
            }
        case Refusal(reason=reason):
            return {"outcome": "refusal", "refusal": {"reason": reason}}
        case Draft():
            compiled = asked.compiled
            report = diagnostics_report(() if compiled is None else compiled.diagnostics)
            if asked.plan is None:
                raise CallRefused(
                    "bad-draft",
                    "The planner proposed a plan that does not pass the check; nothing was run.",
                    "Ask in other words.",
                    report,
                )
            return {"outcome": "plan", **plan_report(asked.plan, toolbox), **report}


def _result(content: dict[str, Json], *, is_error: bool = False) -> CallToolResult:
    text = json.dumps(content, ensure_ascii=False)
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=content,
        is_error=is_error,
    )
