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
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Final, Generic, TypeAlias, TypeVar
from urllib.parse import urlsplit

import anyio
from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
    TextContent,
)
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from toolplan.app.app import App
from toolplan.app.resume import VALUES
from toolplan.app.setup import Concurrency
from toolplan.base.threads import in_thread
from toolplan.events import Run, RunState
from toolplan.mcp_server._plans import CALL, Plans
from toolplan.mcp_server._reports import (
    MOST_OUTPUT,
    CallRefused,
    effects_report,
    found_text,
    page_report,
    run_report,
    short_name,
)
from toolplan.mcp_server._runs import ActiveRun, ApprovalNeeded, Runs, Values
from toolplan.plan.path import Json
from toolplan.policy.approval import Approver, effect_steps, needs_no_approval, said_yes
from toolplan.policy.consent import Effect, effects_of, needs_values
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.show.approval_view import approval_text, effects_text
from toolplan.tools.mcp.media import MEDIA

RUN_IT: Final = "run_it"
MAKE_CALLS: Final = "make_calls"
REASON: Final = "reason"
_YES_TO: Final = {
    RUN_IT: "Run this plan, once, exactly as shown",
    MAKE_CALLS: "Make these calls, exactly as shown",
}
_WHY_NOT: Final = {"type": "string", "title": "If not: why", "maxLength": 1_000}

_MOST_SHOWN: Final = 20_000
"""The maximum size of a form, in characters; longer lists of effects are shown in a terminal."""

_MOST_QUESTIONS: Final = 200

Request: TypeAlias = ServerRequestContext[str, Any]
Shown: TypeAlias = ElicitRequestFormParams | ElicitRequestURLParams
T = TypeVar("T")
_LISTED: Final = 20
_BETWEEN_REPORTS_S: Final = 0.05
_PERSON_S: Final = 300
"""Seconds that a call waits for a person who has opened the studio, without `wait_s`."""
_LISTENS_S: Final = 0.3
Result: TypeAlias = CallToolResult | InputRequiredResult
GoesOn: TypeAlias = Callable[[ElicitResult], Awaitable[Result]]
"""How a call goes on with the answer of its user."""


class Questions(Generic[T]):
    """Asks through clients, and recognises their answers; a `T` is how a call goes on with one.

    An answer counts once, for what was shown, in the request that was asked about.

    Attributes:
        about_plans: whether forms may ask for the approval of plans.
        about_values: whether forms may ask about calls with their values.
        studio: the address of the studio, whose page of a run clients may open.
    """

    def __init__(self, *, about_plans: bool, about_values: bool, studio: str | None) -> None:
        self.about_plans = about_plans
        self.about_values = about_values
        self.studio = studio
        self._asked: OrderedDict[str, tuple[str, T]] = OrderedDict()

    def answered(self, params: CallToolRequestParams) -> tuple[T, ElicitResult] | None:
        """Return how a call goes on with the answer that it brings; None if it brings none."""
        for key, answer in (params.input_responses or {}).items():
            asked = self._asked.pop(key, None)
            if asked is None or asked[0] != _call_text(params):
                continue
            if isinstance(answer, ElicitResult):
                return asked[1], answer
        return None

    async def ask(
        self, request: Request, params: CallToolRequestParams, shown: Shown, goes_on: T
    ) -> ElicitResult | InputRequiredResult:
        """Return the answer, or what the client gets if it answers with another request."""
        if request.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            session, message = request.session, shown.message
            if isinstance(shown, ElicitRequestFormParams):
                form = shown.requested_schema
                return await session.elicit_form(message, form, request.request_id)
            name = shown.elicitation_id or ""
            return await session.elicit_url(message, shown.url, name, request.request_id)
        key = f"ask-{uuid.uuid4().hex}"
        self._asked[key] = _call_text(params), goes_on
        while len(self._asked) > _MOST_QUESTIONS:
            self._asked.popitem(last=False)
        return InputRequiredResult(input_requests={key: ElicitRequest(params=shown)})


def can_ask(request: Request) -> bool:
    """Return whether the client can ask its user by a form."""
    able = request.session.client_capabilities
    if able is None or able.elicitation is None:
        return False
    return able.elicitation.form is not None or able.elicitation.url is None


def form(request: Request, text: str, yes: str) -> ElicitRequestFormParams | None:
    """Return a form that asks `yes` about `text`; None if the client cannot show it."""
    if not can_ask(request) or len(text) > _MOST_SHOWN:
        return None
    fields: dict[str, Any] = {yes: {"type": "boolean", "title": _YES_TO[yes]}}
    if yes == MAKE_CALLS:
        fields[REASON] = _WHY_NOT
    schema = {"type": "object", "properties": fields, "required": [yes]}
    return ElicitRequestFormParams(message=text, requested_schema=schema)


def link(request: Request, run: str, studio: str) -> ElicitRequestURLParams | None:
    """Return the link to the page of a run in the studio; None if the client opens no links."""
    able = request.session.client_capabilities
    if able is None or able.elicitation is None or able.elicitation.url is None:
        return None
    message = "A plan has effects and waits for you. Look at them, and decide, in the studio."
    url = f"{studio.rstrip('/')}/#/approve/{run}"
    return ElicitRequestURLParams(message=message, url=url, elicitation_id=uuid.uuid4().hex)


def _call_text(params: CallToolRequestParams) -> str:
    return json.dumps([params.name, params.arguments or {}], sort_keys=True)


class Backend(AbstractAsyncContextManager["Backend"]):
    """The plans and runs of all clients, over one app. Use it with `async with`.

    At the end it waits for the active runs, or cancels them after an exception.

    Attributes:
        app: plans and runs.
        plans: what calls mean.
        runs: the runs.
        questions: the questions to users of clients.
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
        self.plans = Plans(app)
        self.runs = Runs(app, approve=approve, concurrency=concurrency, timeout=timeout)
        self.questions: Questions[tuple[Call, GoesOn]] = Questions(
            about_plans=elicit and approve != VALUES, about_values=elicit, studio=studio
        )

    async def __aexit__(self, *error: object) -> None:
        await self.runs.__aexit__(*error)


class Call:
    """One call of a tool; it goes on with a later request, where that has its user's answer."""

    def __init__(self, backend: Backend, request: Request, params: CallToolRequestParams) -> None:
        self._app = backend.app
        self._plans = backend.plans
        self._runs = backend.runs
        self._questions = backend.questions
        self._request = request
        self._params = params
        self._arguments: dict[str, Any] = params.arguments or {}
        self._known: dict[str, Json] = {}  # the report on the plan, without a run
        self._needed: ApprovalNeeded | None = None
        self.key = request_key(request, request.request_id)

    async def result(self) -> Result:
        """Return its result, or the question to its user.

        Raises:
            ToolplanError: it cannot be carried out.
        """
        if (answered := self._questions.answered(self._params)) is not None:
            (call, goes_on), answer = answered
            call._request, call.key = self._request, self.key
            return await goes_on(answer)
        match self._params.name:
            case "search":
                return self._search()
            case "run":
                return await self._run()
            case _:
                return await self._about_runs()

    def _search(self) -> CallToolResult:
        query, detail = self._arguments.get("query", ""), self._arguments.get("detail", False)
        text = found_text(self._app.tools, query, self._app.faults, detail=detail)
        return CallToolResult(content=[TextContent(type="text", text=text)])

    async def _run(self) -> Result:
        """Check a plan, a question or one call, and run it, perhaps after a question."""
        wanted = await self._plans.wanted(self._arguments, request_key(self._request, ""))
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
        start = partial(self._runs.start, plan, taken=wanted.taken)
        is_unasked = wanted.taken.touches(plan.effects) or needs_no_approval(plan)
        asks = self._questions.about_plans and not is_unasked
        by_values = asks and needs_values(plan) and can_ask(self._request)
        if asks and plan.effects and not by_values:
            text = approval_text(effect_steps(plan, self._app.tools), plan.digest)
            if (shown := form(self._request, text, RUN_IT)) is not None:
                return await self._ask(shown, partial(self._approved, start, plan.digest))
        return await self._carried_out(start(values=by_values, request=self.key))

    async def _approved(
        self, start: Callable[..., Awaitable[ActiveRun]], digest: str, answer: ElicitResult
    ) -> Result:
        """Start the plan that its user was shown, if the answer is a yes."""
        if answer.action == "accept" and (answer.content or {}).get(RUN_IT) is True:
            return await self._carried_out(start(approve=said_yes(digest), request=self.key))
        raise CallRefused(
            "approval-required",
            "The user did not approve the plan; nothing was run.",
            "Ask the user what to do instead.",
            {"digest": digest},
        )

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
            return await self._carried_out(self._runs.resume(name, request=self.key))
        if arguments.get("action") == "cancel":
            await self._runs.cancel(name)
        run, plan = await self._runs.decided(name, arguments.get("wait_s", 0))
        if "path" not in arguments:
            return result(self._report(run, plan))
        whole = run_report(run, plan, self._app, detail=True, most=None)
        return result(page_report(whole, arguments["path"], int(arguments.get("offset", 0))))

    async def _carried_out(self, starting: Awaitable[ActiveRun]) -> Result:
        """Wait for a run that is started or resumed, and for a person where it waits for one."""
        until = asyncio.get_running_loop().time() + self._arguments.get("wait_s", 0)
        try:
            active = await starting
            run, plan = await self._watched(active), active.plan
        except ApprovalNeeded as needed:
            self._needed = needed
            return await self._person(*await self._runs.current(needed.run), until)
        effects = effects_of(run.waiting)
        if effects and self._questions.about_values and active.task.done():
            shown = form(self._request, effects_text(effects), MAKE_CALLS)
            if shown is not None:
                return await self._ask(shown, partial(self._decided, run.run, effects))
        return await self._person(run, plan, until)

    async def _decided(self, run: str, effects: Sequence[Effect], answer: ElicitResult) -> Result:
        """Go on with a run whose calls its user was shown; without a decision they wait."""
        said = answer.content or {}
        resume = partial(self._runs.resume, run, request=self.key)
        match answer.action, said.get(MAKE_CALLS):
            case "accept", True:
                return await self._carried_out(resume(allow=effects))
            case ("decline", _) | ("accept", False):
                reason = str(said.get(REASON) or "")
                return await self._carried_out(resume(deny=effects, reason=reason))
            case _:  # and they are not asked again
                until = asyncio.get_running_loop().time() + self._arguments.get("wait_s", 0)
                return await self._person(*await self._runs.current(run), until)

    async def _person(self, run: Run, plan: ExecutionPlan | None, until: float) -> Result:
        """Offer the studio's page of a run that waits, or wait for a person until `until`."""
        if run.status is RunState.WAITING:
            studio = self._questions.studio
            shown = None if studio is None else link(self._request, run.run, studio)
            if studio is not None and shown is not None and await _listens(studio):
                return await self._ask(shown, partial(self._opened, run.run))
            seconds = until - asyncio.get_running_loop().time()
            run, plan = await self._runs.decided(run.run, seconds)
        return self._ended(run, plan)

    async def _opened(self, run: str, answer: ElicitResult) -> Result:
        """Wait for the person who opened the page: `wait_s` of the call, or five minutes."""
        opens = answer.action == "accept"
        seconds: float = self._arguments.get("wait_s", _PERSON_S) if opens else 0
        return self._ended(*await self._runs.decided(run, seconds))

    async def _ask(self, shown: Shown, goes_on: GoesOn) -> Result:
        held = (self, goes_on)
        answer = await self._questions.ask(self._request, self._params, shown, held)
        return answer if isinstance(answer, InputRequiredResult) else await goes_on(answer)

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
