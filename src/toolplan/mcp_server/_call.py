"""One call of a client: what it asks for is checked, carried out, and reported."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
from mcp import MCPError
from mcp.types import CallToolRequestParams, CallToolResult, ElicitResult, TextContent

from toolplan.app._approve import VALUES
from toolplan.app.app import App
from toolplan.app.limits import Concurrency
from toolplan.base.threads import in_thread
from toolplan.events import Run, RunState
from toolplan.mcp_server._errors import CallRefused
from toolplan.mcp_server._plans import CALL, Plans, Wanted
from toolplan.mcp_server._questions import (
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
from toolplan.mcp_server._runs import ActiveRun, ApprovalNeeded, Runs, Values
from toolplan.mcp_server._search import found_text
from toolplan.plan.path import Json
from toolplan.policy.approval import Approver
from toolplan.policy.consent import needs_values
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.show.runs_view import SHORT

_LISTED: Final = 20
_BETWEEN_REPORTS_S: Final = 0.05
_PERSON_S: Final = 300
"""How long a call waits for a person who has opened the studio, if it does not say so."""
_LISTENS_S: Final = 0.3


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


class Call:
    """One call of a tool. `search`, `run` and `runs` return its result, or raise `CallRefused`."""

    def __init__(
        self, backend: Backend, plans: Plans, request: Request, params: CallToolRequestParams
    ) -> None:
        self._app = backend.app
        self._plans = plans
        self._runs = backend.runs
        self._questions = backend.questions
        self._request = request
        self._params = params
        self._arguments: dict[str, Any] = params.arguments or {}
        self.key = request_key(request, request.request_id)

    async def search(self) -> CallToolResult:
        """Return the tools that match."""
        query, detail = self._arguments.get("query", ""), self._arguments.get("detail", False)
        text = found_text(self._app.tools, query, self._app.faults, detail=detail)
        return CallToolResult(content=[TextContent(type="text", text=text)])

    async def run(self) -> CallToolResult:
        """Check a plan, a question or one call, and run it."""
        if (answered := self._questions.answered(self._params)) is not None:
            return await self._answered(*answered)
        wanted = await self._plans.wanted(self._arguments, request_key(self._request, ""))
        if wanted.plan is None:
            return result(wanted.report)
        if self._arguments.get("only_check"):
            checked: dict[str, Json] = {
                "runnable": True,
                "effects": effects_report(wanted.plan, self._app.tools),
                "unchecked_references": wanted.plan.unchecked_references,
            }
            return result(checked | wanted.report)
        return await self._carried_out(self._started(wanted, wanted.plan), wanted.report)

    async def runs(self) -> CallToolResult:
        """List runs; show, resume or cancel one."""
        arguments, name = self._arguments, self._arguments.get("run")
        if name is None:
            if arguments:
                raise CallRefused("bad-arguments", "/: This is about a run, and names none.")
            latest = await in_thread(self._app.runs, _LISTED)
            return result({"runs": [entry_report(entry) for entry in latest]})
        if arguments.get("action") == "resume":
            if (answered := self._questions.answered(self._params)) is not None:
                return await self._answered(*answered)
            return await self._carried_out(self._runs.resume(name, request=self.key))
        if arguments.get("action") == "cancel":
            await self._runs.cancel(name)
        run, plan = await self._runs.decided(name, arguments.get("wait_s", 0))
        if "path" not in arguments:
            return result(self._report(run, plan))
        whole = run_report(run, plan, self._app, detail=True, most=None)
        return result(page_report(whole, arguments["path"], int(arguments.get("offset", 0))))

    async def _started(self, wanted: Wanted, plan: ExecutionPlan) -> ActiveRun:
        """Start a plan, after the question that the client may ask its user about it."""
        approve: Approver | None = None
        by_values = False
        if self._questions.about_plans and not wanted.taken.touches(plan.effects):
            by_values = can_ask(self._request) and needs_values(plan)
            question = plan_question(self._request, wanted, plan, self._app.tools)
            if question is not None and not by_values:
                approve = question.approver(await self._ask(question))
        return await self._runs.start(
            plan, approve=approve, values=by_values, request=self.key, taken=wanted.taken
        )

    async def _carried_out(
        self,
        starting: Awaitable[ActiveRun],
        report: dict[str, Json] | None = None,
        *,
        ask: bool = True,
    ) -> CallToolResult:
        """Wait for a run that is started or resumed, and for a person; `report` is known before."""
        until = asyncio.get_running_loop().time() + self._arguments.get("wait_s", 0)
        needed: ApprovalNeeded | None = None
        try:
            active = await starting
            run, plan = await self._decided(active, ask=ask), active.plan
        except ApprovalNeeded as error:
            needed = error
            run, plan = await self._runs.current(error.run)
        if run.status is RunState.WAITING:
            run, plan = await self._person(run.run, until)
            if run.status is RunState.WAITING and needed is not None:
                raise needed
        return self._ended(run, plan, report)

    async def _decided(self, active: ActiveRun, *, ask: bool) -> Run:
        """Return the run as it is after `wait_s`; its user is asked about calls that wait."""
        while True:
            run = await self._watched(active)
            if not (ask and self._questions.about_values and active.task.done()):
                return run
            question = values_question(self._request, run)
            if question is None:
                return run
            decision = question.decision(await self._ask(question))
            if decision.leaves:
                return run
            active = await self._runs.resume(run.run, request=self.key, decision=decision)

    async def _person(self, run: str, until: float) -> tuple[Run, ExecutionPlan | None]:
        """Offer the studio's page of a run that waits, and wait for a person until `until`.

        A person who opens the page is given time to decide, unless the call says how long it waits.
        """
        studio, question = self._questions.studio, None
        if studio is not None and await _listens(studio):
            question = link_question(self._request, run, studio)
        if question is None:
            return await self._runs.decided(run, until - asyncio.get_running_loop().time())
        return await self._runs.decided(run, self._patience(await self._ask(question)))

    async def _answered(self, question: Question, answer: ElicitResult) -> CallToolResult:
        """Continue with what the user was asked about."""
        match question:
            case PlanQuestion(wanted=wanted, plan=plan):
                approve = question.approver(answer)
                starting = self._runs.start(
                    plan, approve=approve, request=self.key, taken=wanted.taken
                )
                return await self._carried_out(starting, wanted.report)
            case ValuesQuestion():
                decision = question.decision(answer)
                starting = self._runs.resume(decision.run, request=self.key, decision=decision)
                # a person who leaves the calls waiting is not asked again
                return await self._carried_out(starting, ask=not decision.leaves)
            case LinkQuestion(run=name):
                return self._ended(*await self._runs.decided(name, self._patience(answer)))

    async def _ask(self, question: Question) -> ElicitResult:
        return await self._questions.ask(self._request, self._params, question)

    def _patience(self, answer: ElicitResult) -> float:
        """Return how many seconds the call waits after its user was offered a page."""
        waits: float = self._arguments.get("wait_s", _PERSON_S)
        return waits if answer.action == "accept" else 0

    def _ended(
        self, run: Run, plan: ExecutionPlan | None, report: dict[str, Json] | None = None
    ) -> CallToolResult:
        """Return a run, or what its one call gave."""
        if "tool" in self._arguments and (blocks := _blocks(run)) is not None:
            return blocks
        whole = self._report(run, plan) | (report or {})
        return result(whole, is_error=run.status is RunState.FAILED)

    def _report(self, run: Run, plan: ExecutionPlan | None) -> dict[str, Json]:
        return run_report(run, plan, self._app, detail=self._arguments.get("detail", False))

    async def _watched(self, active: ActiveRun) -> Run:
        """Report progress until the run is over, or `wait_s` is, and return the run."""
        reporting = asyncio.create_task(_report_progress(self._request, active))
        try:
            await active.progress.stored.wait()  # what is acknowledged is on disk
            await asyncio.wait({active.task}, timeout=self._arguments.get("wait_s"))
            if active.task.done():
                await reporting
        finally:
            reporting.cancel()
        over = active.task.done()
        return await self._runs.ended(active) if over else active.progress.run()


def request_key(request: Request, number: object) -> object:
    """Return the name of a request; its number is unique within its connection only."""
    headers = getattr(request.request, "headers", {})
    return request.lifespan_context, headers.get("mcp-session-id"), str(number)


def result(content: dict[str, Json], *, is_error: bool = False) -> CallToolResult:
    """Return `content` as the result of a call."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=content,
        is_error=is_error,
    )


async def _report_progress(request: Request, active: ActiveRun) -> None:
    """Send each new progress, until the run is over."""
    progress, reported, is_over = active.progress, 0.0, False
    try:
        while not is_over:
            await asyncio.wait({active.task}, timeout=_BETWEEN_REPORTS_S)
            is_over = active.task.done()
            if progress.done > reported:
                reported = progress.done
                await request.session.report_progress(reported, progress.total, progress.message)
    except (anyio.ClosedResourceError, anyio.BrokenResourceError, MCPError):
        return  # the client has left


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
