"""The MCP server: calls of clients taken apart, done, and answered."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final, TypeAlias

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

from toolplan.app.results import AskResult
from toolplan.diagnostics import did_you_mean, near
from toolplan.execution_plan import ExecutionPlan
from toolplan.mcp_server._approval import ApprovalPrompt
from toolplan.mcp_server._offered import INPUTS, OFFERED
from toolplan.mcp_server._options import Options
from toolplan.mcp_server._plans import Plans
from toolplan.mcp_server._refused import CallRefused
from toolplan.mcp_server._runs import RunGuard, Runs
from toolplan.mcp_server._told import (
    diagnostics_report,
    entry_report,
    plan_report,
    plan_text,
    run_report,
)
from toolplan.path import Json
from toolplan.planners import Clarification, Draft, Refusal
from toolplan.render.printable import cut, printable
from toolplan.rules import rule_pages
from toolplan.tools import Toolbox

_INSTRUCTIONS: Final = (
    "Turns questions into plans of tool calls, checks all of a plan before anything runs, and runs "
    "exactly that plan. Use `plan` with a question, or write a plan and `check` it; then `run` "
    "with its digest. A plan that changes something runs only after a person has approved it "
    "outside of this conversation; tell them the effects and the command that the error gives. "
    "Runs go on without you: `runs` tells how they stand, `resume` goes on with one that stopped."
)
_MOST_NAMES: Final = 60
_MOST_NAME: Final = 64
_MOST_FAULTS: Final = 8
_BETWEEN_NEWS_S: Final = 0.05

Request: TypeAlias = ServerRequestContext[str, Any]
Arguments: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Desk:
    """What the calls of all clients work with; `leave` None asks nobody through clients."""

    toolbox: Toolbox
    options: Options
    plans: Plans
    runs: Runs
    leave: ApprovalPrompt | None = None


def make_server(desk: Desk) -> Server[str]:
    """Return the MCP server whose tools work at `desk`."""
    calls = _Calls(desk)
    server: Server[str] = Server(
        "toolplan",
        version=version("toolplan"),
        title="toolplan",
        instructions=f"{_INSTRUCTIONS} {_names(desk.toolbox)}",
        lifespan=_connection,
        on_list_tools=_list_tools,
        on_call_tool=calls.call,
    )
    server.middleware.append(calls.notice)
    return server


@asynccontextmanager
async def _connection(_: Server[str]) -> AsyncGenerator[str]:
    """Name what requests are numbered in, so that two clients' numbers are not mixed up."""
    yield uuid.uuid4().hex


async def _list_tools(_: Request, __: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(tools=list(OFFERED))


def _names(toolbox: Toolbox) -> str:
    names = [cut(printable(name), _MOST_NAME) for name in list(toolbox)[:_MOST_NAMES]]
    more = f" and {len(toolbox) - len(names)} more" if len(toolbox) > len(names) else ""
    return f"Plans can call these tools: {', '.join(names)}{more}."


class _Calls:
    """The six tools, each a method that gives what the client gets, or raises `CallRefused`."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._plain: Mapping[str, Callable[[Arguments], Awaitable[dict[str, Json]]]] = {
            "plan": self._plan,
            "check": self._check,
            "runs": self._runs,
            "explain": self._explain,
        }

    async def call(
        self, request: Request, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        """Do one call. What is wrong with it, or comes of it, is told; only bugs raise."""
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
        """Cancel the run that a cancelled request began; closing a connection cancels nothing."""
        if ctx.method == "notifications/cancelled" and ctx.params is not None:
            self._desk.runs.cancel(_key(ctx, ctx.params.get("requestId")))
        return await call_next(ctx)

    async def _plan(self, arguments: Arguments) -> dict[str, Json]:
        asked = await self._desk.plans.plan(arguments["question"], arguments.get("today"))
        return _told_proposal(asked, self._desk.toolbox)

    async def _check(self, arguments: Arguments) -> dict[str, Json]:
        text, dialect = _text(arguments["plan"]), arguments.get("dialect", "toolplan")
        compiled = await self._desk.plans.check(text, dialect)
        found: dict[str, Json] = {
            "valid": not any(each.severity == "error" for each in compiled.diagnostics),
            "runnable": compiled.plan is not None,
            **diagnostics_report(compiled.diagnostics),
            "unchecked_references": compiled.unchecked_references,
        }
        if compiled.plan is None:
            return {**found, "plan": None, "digest": None}
        return {**found, **plan_report(compiled.plan, self._desk.toolbox)}

    async def _runs(self, arguments: Arguments) -> dict[str, Json]:
        if "run" not in arguments:
            latest = await self._desk.runs.latest(int(arguments.get("limit", 20)))
            return {"runs": [entry_report(entry) for entry in latest]}
        run, plan = await self._desk.runs.standing(arguments["run"])
        outputs = arguments.get("outputs", False)
        insights = self._desk.options.insights
        return {
            "run": run_report(run, plan, self._desk.toolbox, insights=insights, outputs=outputs)
        }

    async def _explain(self, arguments: Arguments) -> dict[str, Json]:
        code, pages = arguments.get("code"), rule_pages()
        if code is None:
            return {"codes": {name: page.partition("\n")[0] for name, page in pages.items()}}
        if code not in pages:
            hint = did_you_mean(near(code, pages)) or "Without a code, all are listed."
            raise CallRefused("unknown-code", f"There is no code {code!r}.", hint)
        return {"code": code, "page": pages[code]}

    async def _run_or_resume(
        self, request: Request, params: CallToolRequestParams, arguments: Arguments
    ) -> CallToolResult | InputRequiredResult:
        runs, leave = self._desk.runs, None
        key = _key(request, request.request_id)
        if params.name == "run":
            plan = await self._chosen(arguments)
            if self._desk.leave is not None:
                leave = await self._desk.leave.ask(request, params, plan)
                if isinstance(leave, InputRequiredResult):
                    return leave
            going = await runs.start(plan, approval=leave, request=key)
        else:
            going = await runs.resume(arguments["run"], request=key)
        told = await self._watched(request, going, arguments)
        runs.answered(key)
        return _result(told)

    async def _chosen(self, arguments: Arguments) -> ExecutionPlan:
        """Return the plan that is to run.

        Raises:
            CallRefused: there is none, it does not pass its check, or it is another one than
                `digest` says.
        """
        digest, plans = arguments.get("digest"), self._desk.plans
        if "plan" not in arguments:
            if digest is None:
                raise CallRefused(
                    "bad-arguments", "Nothing says what to run.", "Give a digest, or a plan."
                )
            return plans.known(digest)
        text, dialect = _text(arguments["plan"]), arguments.get("dialect", "toolplan")
        compiled = await plans.check(text, dialect)
        if compiled.plan is None:
            raise CallRefused(
                "bad-plan",
                "The plan does not pass the check; nothing was run.",
                "Mend what the diagnostics name; `explain` says more of a code.",
                diagnostics_report(compiled.diagnostics),
            )
        if digest is not None and digest != compiled.plan.digest:
            raise CallRefused(
                "digest-mismatch",
                f"The plan has the digest {compiled.plan.digest}, not {digest}; nothing was run.",
                "Read the plan again, and give either the plan or its digest.",
            )
        return compiled.plan

    async def _watched(
        self, request: Request, going: RunGuard, arguments: Arguments
    ) -> dict[str, Json]:
        """Tell progress until the run is over, or for as long as is wanted, and give the run."""
        telling = asyncio.create_task(_report(request, going))
        try:
            await going.progress.kept.wait()  # what is acknowledged is on disk
            await asyncio.wait({going.task}, timeout=arguments.get("wait_s"))
            if going.task.done():
                await telling
        finally:
            telling.cancel()
        over = going.task.done()
        run = await self._desk.runs.ended(going) if over else going.progress.run()
        outputs = arguments.get("outputs", False)
        insights = self._desk.options.insights
        return run_report(run, going.plan, self._desk.toolbox, insights=insights, outputs=outputs)


async def _report(request: Request, going: RunGuard) -> None:
    """Send progress whenever there is more of it, until the run is over."""
    progress, told = going.progress, 0.0
    changed = progress.watch()
    try:
        while True:
            over = going.task.done()
            changed.clear()
            if progress.done > told:
                told = progress.done
                await request.session.report_progress(told, progress.total, progress.message)
            if over:
                return
            await changed.wait()
            await asyncio.wait({going.task}, timeout=_BETWEEN_NEWS_S)
    except (anyio.ClosedResourceError, anyio.BrokenResourceError, MCPError):
        return  # nobody listens any more
    finally:
        progress.leave(changed)


def _key(request: Request, number: object) -> object:
    """Name a request beyond its number, which is only unique on its connection."""
    headers = getattr(request.request, "headers", {})
    return request.lifespan_context, headers.get("mcp-session-id"), str(number)


def _checked(params: CallToolRequestParams) -> Arguments:
    arguments = params.arguments or {}
    faults = INPUTS[params.name].violations(arguments)
    if faults:
        told = [f"{fault.pointer or '/'}: {fault.message}" for fault in faults[:_MOST_FAULTS]]
        raise CallRefused("bad-arguments", " ".join(told), "`tools/list` tells what is taken.")
    return arguments


def _text(plan: Json) -> str:
    try:
        return plan_text(plan)
    except RecursionError:
        raise CallRefused("too-deep", "The plan is nested too deep to be read.") from None


def _told_proposal(asked: AskResult, toolbox: Toolbox) -> dict[str, Json]:
    match asked.proposal:
        case Clarification() as wanted:
            return {
                "outcome": "clarification",
                "clarification": {
                    "question": wanted.question,
                    "options": [*wanted.options],
                    "unexplained": [*wanted.unexplained],
                    "partial_plan": wanted.partial_plan,
                },
            }
        case Refusal(reason=reason):
            return {"outcome": "refusal", "refusal": {"reason": reason}}
        case Draft():
            compiled = asked.compiled
            diagnostics = () if compiled is None else compiled.diagnostics
            told = diagnostics_report(diagnostics)
            if asked.plan is None:
                raise CallRefused(
                    "bad-draft",
                    "The planner proposed a plan that does not pass the check; nothing was run.",
                    "Ask in other words.",
                    told,
                )
            return {"outcome": "plan", **plan_report(asked.plan, toolbox), **told}


def _result(content: dict[str, Json], *, is_error: bool = False) -> CallToolResult:
    text = json.dumps(content, ensure_ascii=False)
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=content,
        is_error=is_error,
    )
