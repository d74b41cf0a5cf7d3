"""One call of a client: what it asks for is checked, carried out, and reported.

On the way the person behind the client may be asked about the effects of a plan or about calls with
their values, or be given a page to open. A form is shown only where the server trusts its clients
to ask a person and not a model (`elicit`). A link approves nothing: who opens it decides in the
studio, with a session of its own.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import anyio
from mcp import MCPError
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitationCapability,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
    TextContent,
)
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from toolplan.base.threads import in_thread
from toolplan.events import Run, RunState
from toolplan.mcp_server._plans import CALL
from toolplan.mcp_server._reports import (
    MOST_OUTPUT,
    CallRefused,
    effects_report,
    found_text,
    page_report,
    run_report,
    short_name,
)
from toolplan.mcp_server._runs import ActiveRun, ApprovalNeeded, Backend, Request, Result
from toolplan.plan.path import Json
from toolplan.policy.approval import effect_steps, needs_no_approval, said_yes
from toolplan.policy.consent import Effect, effects_of, needs_values
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.show.approval_view import approval_text, effects_text
from toolplan.tools.mcp.results import MEDIA

RUN_IT: Final = "run_it"
MAKE_CALLS: Final = "make_calls"
REASON: Final = "reason"
_YES_TO: Final = {
    RUN_IT: "Run this plan, once, exactly as shown",
    MAKE_CALLS: "Make these calls, exactly as shown",
}
_WHY_NOT: Final = {"type": "string", "title": "If not: why", "maxLength": 1_000}

_IN_STUDIO: Final = "A plan has effects and waits for you. Look at them, and decide, in the studio."

_MOST_SHOWN: Final = 20_000
"""The maximum size of a form, in characters; longer lists of effects are shown in a terminal."""

_Answered: TypeAlias = Callable[[ElicitResult], Awaitable[Result]]
_LISTED: Final = 20
_BETWEEN_REPORTS_S: Final = 0.05
_PERSON_S: Final = 300
"""Seconds that a call waits for a person who has opened the studio, without `wait_s`."""
_LISTENS_S: Final = 0.3


def can_ask(request: Request) -> bool:
    """Return whether the client can ask its user by a form."""
    able = _elicitation(request)
    return able is not None and (able.form is not None or able.url is None)


def _elicitation(request: Request) -> ElicitationCapability | None:
    able = request.session.client_capabilities
    return None if able is None else able.elicitation


class Call:
    """One call of a tool; it goes on with a later request, where that has its user's answer."""

    def __init__(self, backend: Backend, request: Request, params: CallToolRequestParams) -> None:
        self._backend = backend
        self._app = backend.app
        self._request = request
        self._params = params
        self._arguments: dict[str, Any] = params.arguments or {}
        self._known: dict[str, Json] = {}  # the report on the plan, without a run
        self._needed: ApprovalNeeded | None = None
        self._until = 0.0  # when it no longer waits for a person
        self.key = request_key(request, request.request_id)

    async def result(self) -> Result:
        """Return its result, or the question to its user.

        Raises:
            ToolplanError: it cannot be carried out.
        """
        if (asked := self._backend.asked(self._params)) is not None:
            goes_on, answer = asked
            return await goes_on(self._request, answer)
        match self._params.name:
            case "search":
                query, detail = (
                    self._arguments.get("query", ""),
                    self._arguments.get("detail", False),
                )
                text = found_text(self._app.tools, query, self._app.faults, detail=detail)
                return CallToolResult(content=[TextContent(type="text", text=text)])
            case "run":
                return await self._run()
            case _:
                return await self._about_runs()

    async def _run(self) -> Result:
        """Check a plan, a question or one call, and run it, perhaps after a question."""
        wanted = await self._backend.plans.wanted(self._arguments, request_key(self._request, ""))
        self._known, plan = wanted.report, wanted.plan
        if plan is None:
            return result(self._known)
        if self._arguments.get("only_check"):
            checked: dict[str, Json] = {
                "runnable": True,
                "effects": effects_report(plan, self._app.tools),
                "unchecked_references": plan.unchecked_references,
            }
            return result(checked | self._known)
        start, digest = partial(self._backend.start, plan, taken=wanted.taken), plan.digest
        is_unasked = wanted.taken.touches(plan.effects) or needs_no_approval(plan)
        asks = self._backend.elicit and not self._backend.by_values and not is_unasked
        by_values = asks and needs_values(plan) and can_ask(self._request)
        text = ""
        if asks and plan.effects and not by_values:
            text = approval_text(effect_steps(plan, self._app.tools), digest)

        async def approved(answer: ElicitResult) -> Result:
            if answer.action == "accept" and (answer.content or {}).get(RUN_IT) is True:
                return await self._carried_out(start(approve=said_yes(digest), request=self.key))
            raise CallRefused(
                "approval-required",
                "The user did not approve the plan; nothing was run.",
                "Ask the user what to do instead.",
                {"digest": digest},
            )

        if text and self._fits_a_form(text):
            return await self._ask_in_form(text, RUN_IT, approved)
        return await self._carried_out(start(values=by_values, request=self.key))

    async def _about_runs(self) -> Result:
        """List runs; show, resume or cancel one."""
        arguments, name = self._arguments, self._arguments.get("run")
        if name is None:
            if arguments:
                raise CallRefused("bad-arguments", "/: This is about a run, and names none.")
            latest = await in_thread(self._app.runs, _LISTED)
            listed = [entry.to_json() for entry in latest]
            for entry in listed:
                del entry["digest"]  # no digest helps a model: it cannot approve
            return result({"runs": [*listed]})
        if arguments.get("action") == "resume":
            return await self._carried_out(self._backend.resume(name, request=self.key))
        if arguments.get("action") == "cancel":
            await self._backend.cancel(name)
        run, plan = await self._backend.decided(name, arguments.get("wait_s", 0))
        if "path" not in arguments:
            return result(self._report(run, plan))
        whole = run_report(run, plan, self._app, detail=True, most=None)
        return result(page_report(whole, arguments["path"], int(arguments.get("offset", 0))))

    async def _carried_out(self, starting: Awaitable[ActiveRun]) -> Result:
        """Wait for a run that is started or resumed, and for a person where it waits for one."""
        self._until = asyncio.get_running_loop().time() + self._arguments.get("wait_s", 0)
        try:
            active = await starting
            run = await self._watched(active)
        except ApprovalNeeded as needed:
            self._needed = needed
            return await self._person(*await self._backend.current(needed.run))
        effects = effects_of(run.waiting)
        if effects and self._backend.elicit and active.task.done():
            text = effects_text(effects)
            if self._fits_a_form(text):
                return await self._ask_in_form(
                    text, MAKE_CALLS, partial(self._decided, run.run, effects)
                )
        return await self._person(run, active.plan)

    async def _decided(self, run: str, effects: Sequence[Effect], answer: ElicitResult) -> Result:
        """Go on with a run whose calls its user was shown; without a decision they wait."""
        said = answer.content or {}
        resume = partial(self._backend.resume, run, request=self.key)
        match answer.action, said.get(MAKE_CALLS):
            case "accept", True:
                return await self._carried_out(resume(allow=effects))
            case ("decline", _) | ("accept", False):
                reason = str(said.get(REASON) or "")
                return await self._carried_out(resume(deny=effects, reason=reason))
            case _:  # and they are not asked again
                self._until = asyncio.get_running_loop().time() + self._arguments.get("wait_s", 0)
                return await self._person(*await self._backend.current(run))

    async def _person(self, run: Run, plan: ExecutionPlan | None) -> Result:
        """Offer the studio's page of a run that waits, or wait for a person."""
        if run.status is not RunState.WAITING:
            return self._ended(run, plan)
        name, studio = run.run, self._backend.studio
        able = _elicitation(self._request)
        if studio is None or able is None or able.url is None or not await _listens(studio):
            seconds = self._until - asyncio.get_running_loop().time()
            return self._ended(*await self._backend.decided(name, seconds))

        async def opened(answer: ElicitResult) -> Result:
            opens = answer.action == "accept"
            waits_s: float = self._arguments.get("wait_s", _PERSON_S) if opens else 0
            return self._ended(*await self._backend.decided(name, waits_s))

        shown = ElicitRequestURLParams(
            message=_IN_STUDIO,
            url=f"{studio.rstrip('/')}/#/approve/{name}",
            elicitation_id=uuid.uuid4().hex,
        )
        return await self._ask(shown, opened)

    def _fits_a_form(self, text: str) -> bool:
        return can_ask(self._request) and len(text) <= _MOST_SHOWN

    async def _ask_in_form(self, text: str, yes: str, goes_on: _Answered) -> Result:
        """Ask for the `yes` to `text`."""
        fields: dict[str, Any] = {yes: {"type": "boolean", "title": _YES_TO[yes]}}
        if yes == MAKE_CALLS:
            fields[REASON] = _WHY_NOT
        schema = {"type": "object", "properties": fields, "required": [yes]}
        shown = ElicitRequestFormParams(message=text, requested_schema=schema)
        return await self._ask(shown, goes_on)

    async def _ask(
        self, shown: ElicitRequestFormParams | ElicitRequestURLParams, goes_on: _Answered
    ) -> Result:
        """Ask the user, whose answer comes at once or, in newer protocols, with another request."""
        session, number = self._request.session, self._request.request_id
        if self._request.protocol_version in MODERN_PROTOCOL_VERSIONS:

            async def later(request: Request, answer: ElicitResult) -> Result:
                self._request, self.key = request, request_key(request, request.request_id)
                return await goes_on(answer)

            key = self._backend.hold(self._params, later)
            return InputRequiredResult(input_requests={key: ElicitRequest(params=shown)})
        if isinstance(shown, ElicitRequestFormParams):
            answer = await session.elicit_form(shown.message, shown.requested_schema, number)
        else:
            name = shown.elicitation_id or ""
            answer = await session.elicit_url(shown.message, shown.url, name, number)
        return await goes_on(answer)

    def _ended(self, run: Run, plan: ExecutionPlan | None) -> CallToolResult:
        """Return a run, or the result of its one call."""
        if self._needed is not None and run.status is RunState.WAITING:
            raise self._needed
        if "tool" in self._arguments and (blocks := _blocks(run)) is not None:
            return blocks
        whole = self._report(run, plan) | self._known
        return result(whole, is_error=run.status is RunState.FAILED)

    def _report(self, run: Run, plan: ExecutionPlan | None) -> dict[str, Json]:
        return run_report(run, plan, self._app, detail=self._arguments.get("detail", False))

    async def _watched(self, active: ActiveRun) -> Run:
        """Report progress until the run is over, or `wait_s` is, and return the run."""
        reporting = asyncio.create_task(_report_progress(self._request, active))
        try:
            await active.progress.stored.wait()  # an acknowledged run is on disk
            await asyncio.wait({active.task}, timeout=self._arguments.get("wait_s"))
            if active.task.done():
                await reporting
        finally:
            reporting.cancel()
        over = active.task.done()
        return await self._backend.ended(active) if over else active.progress.run()


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
    """Return the result of one call as its own server would; None where that is incomplete."""
    if run.status is RunState.FAILED and (error := run.steps[CALL].error) is not None:
        message = f"{error.message} (run {short_name(run.run)})"
        return CallToolResult(content=[TextContent(type="text", text=message)], is_error=True)
    if run.status is not RunState.SUCCEEDED or run.partial:
        return None
    value = run.output
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) > MOST_OUTPUT:
        return None
    structured = value if isinstance(value, dict) else None
    content = [TextContent(type="text", text=text), *MEDIA.of(value)]
    return CallToolResult(content=content, structured_content=structured)
