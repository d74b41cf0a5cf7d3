"""The orchestrator as Clear AI has it: `await Orchestrator(planner, executor).handle_query(query)`.

If a stage fails, the others continue: without the planner the offline planner plans, without memory
there is no context, without the analysis the results are counted. The response lists each such
failure.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias, TypeVar, TypeVarTuple

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from toolplan.app.app import App
from toolplan.approval import ApprovalRequired, ApprovalUsed
from toolplan.engines import CannotRun
from toolplan.path import Json
from toolplan.planners import Proposal, Question, Refusal
from toolplan.planners.context import PlannerContext
from toolplan.planners.conversation import episode_of
from toolplan.planners.offline import offline_planner
from toolplan.storage.journal import JournalError
from toolplan.storage.memory import Memory
from toolplan_adapters._calls import call_user
from toolplan_adapters.clear.analysis import Analysis, Analyzer, basic
from toolplan_adapters.clear.errors import ClarificationNeeded, PlannerError
from toolplan_adapters.clear.executor import Execution, Executor
from toolplan_adapters.clear.plan import Plan
from toolplan_adapters.clear.planner import planned
from toolplan_adapters.clear.settings import OrchestratorConfig
from toolplan_adapters.clear.tools import iso

Stage: TypeAlias = Literal[
    "context-loading", "planning", "executing", "analyzing", "summarizing", "storing", "complete"
]
Status: TypeAlias = Literal[
    "answered", "clarification", "approval-required", "failed", "timed-out", "cancelled"
]


class Progress(NamedTuple):
    """The progress of a query: its stage, and 0 to 100 percent."""

    request_id: str
    stage: Stage
    percent: int
    message: str


OnProgress: TypeAlias = Callable[[Progress], None]


class ResponseMetadata(Struct, frozen=True):
    """Metadata of a response.

    Attributes:
        request_id: the name of the query; `cancel_query` takes it.
        total_duration_ms: from the question to the answer.
        timestamp: the time of the answer: ISO 8601 in UTC.
        error: whether there is no answer.
        degraded: the parts that failed and were replaced or left out, a sentence each.
    """

    request_id: str = ""
    total_duration_ms: float = 0.0
    timestamp: str = ""
    error: bool = False
    degraded: tuple[str, ...] = ()


class Response(Struct, frozen=True):
    """The response to a query.

    Attributes:
        message: the text for the user.
        status: whether it is an answer, a question to the user, or why it is neither.
        metadata: times and errors.
        tools_used: the tools of the steps that succeeded, in order, with repetitions.
        data: the outputs of these steps, in the same order.
        analysis: the analysis of the results.
        plan: the plan.
        options: possible answers, if the message is a question to the user.
        digest: what to approve, if the plan needs an approval.
    """

    message: str
    status: Status
    metadata: ResponseMetadata = ResponseMetadata()
    tools_used: tuple[str, ...] = ()
    data: tuple[Json, ...] = ()
    analysis: Analysis | None = None
    plan: Plan | None = None
    options: tuple[str, ...] = ()
    digest: str = ""

    def to_json(self) -> dict[str, Json]:
        """Return the wire form, without the plan."""
        metadata: dict[str, Json] = to_builtins(self.metadata)
        return {
            "message": self.message,
            "status": self.status,
            "tools_used": [*self.tools_used],
            "data": [*self.data],
            "analysis": None if self.analysis is None else self.analysis.to_json(),
            "options": [*self.options],
            "digest": self.digest,
            "metadata": {**metadata, "degraded": [*self.metadata.degraded]},
        }


_PERCENT: Final[Mapping[Stage, int]] = {
    "context-loading": 10,
    "planning": 20,
    "executing": 40,
    "analyzing": 70,
    "summarizing": 85,
    "storing": 95,
    "complete": 100,
}
_NO_RUN: Final = (PlannerError, CannotRun, ApprovalUsed, JournalError)
"""Errors of a plan that was not run to its end, except for a missing approval."""

Given = TypeVarTuple("Given")
Result = TypeVar("Result")


class PlanMaker(Protocol):
    """Makes plans; a `PlannerAgent` is one."""

    async def plan(self, query: str, context: Json = None) -> object:
        """Return a plan: a `Plan`, or one in Clear AI's form."""
        ...


class AnalysisMaker(Protocol):
    """Analyses results; an `Analyzer` is one. `analyze` may be a coroutine function."""

    def analyze(self, execution: Execution, /) -> Analysis | Awaitable[Analysis]:
        """Return the analysis."""
        ...


class SummaryMaker(Protocol):
    """Puts an analysis into words. `summarize` may be a coroutine function."""

    def summarize(self, analysis: Analysis, /) -> str | Awaitable[str]:
        """Return the text for the user."""
        ...


class _Request(Struct):
    """A query that is being answered."""

    id: str
    question: Question
    session: str
    on_progress: OnProgress | None
    limit: asyncio.Timeout
    loop: asyncio.AbstractEventLoop
    is_cancelled: bool = False
    degraded: list[str] = field(default_factory=list[str])

    def report(self, stage: Stage, message: str, percent: int | None = None) -> None:
        """Report progress, until the listener fails or the query ends."""
        if self.on_progress is None or self.limit.expired():
            return
        try:
            self.on_progress(Progress(self.id, stage, percent or _PERCENT[stage], message))
        except Exception as error:  # a listener may raise anything, and the query continues
            self.on_progress = None
            self.degraded.append(f"Progress reports stopped: {type(error).__name__}.")

    def stop(self) -> None:
        """End it now; called in the loop's own thread."""
        if not self.limit.expired():
            self.is_cancelled = True
            self.limit.reschedule(self.loop.time())

    async def attempt(
        self,
        within_ms: float,
        failure: str,
        function: Callable[[*Given], Awaitable[Result] | Result],
        *given: *Given,
    ) -> Result | None:
        """Return the result of user code; if it fails or is too slow, note `failure`."""
        try:
            async with asyncio.timeout(within_ms / 1000):
                return await call_user(function, *given)
        except Exception as error:  # user code may raise anything; its text may hold a secret
            self.degraded.append(f"{failure}: {type(error).__name__}.")
            return None


class Orchestrator:
    """Answers queries: loads context, plans, runs, analyses, summarises, saves."""

    def __init__(
        self,
        planner: PlanMaker,
        executor: Executor,
        *,
        analyzer: AnalysisMaker | None = None,
        summarizer: SummaryMaker | None = None,
        memory: Memory | None = None,
        config: OrchestratorConfig | Mapping[str, object] | None = None,
        clock: Callable[[], float] = time.time,
        today: Callable[[], date] = date.today,
        new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        """Prepare the stages.

        Args:
            planner: makes plans; if it fails, the offline planner does, with the same tools.
            executor: runs them.
            analyzer: analyses results; by default an `Analyzer`.
            summarizer: puts the analysis into words; by default its own text is used.
            memory: the earlier questions; used only for queries with a session.
            config: settings; a mapping may use either spelling of their names.
            clock: returns the seconds since the epoch.
            today: returns the date for the offline planner.
            new_id: returns the name of a query that comes without one.
        """
        self.config = OrchestratorConfig.of(config)
        self._planner = planner
        self._executor = executor
        self._analyzer = Analyzer() if analyzer is None else analyzer
        self._summarizer = summarizer
        self._memory = memory
        self._clock = clock
        self._today = today
        self._new_id = new_id
        self._offline = offline_planner(PlannerContext(Path()))
        self._open: dict[str, _Request] = {}

    async def handle_query(
        self,
        query: str,
        *,
        session: str = "",
        request_id: str = "",
        on_progress: OnProgress | None = None,
        approve: str = "",
    ) -> Response:
        """Answer `query`; the response reports all errors.

        Args:
            query: the question.
            session: the name of the conversation, one for each conversation of each user; without
                it nothing is loaded and nothing is saved.
            request_id: a name for `cancel_query`; a new one by default.
            on_progress: called with the progress.
            approve: the `digest` of a response with the status `approval-required`: its plan may
                have its effects, once. If another plan is made, that one needs an approval.

        Raises:
            ValueError: a query with that `request_id` is being answered.
        """
        name = request_id or self._new_id()
        if name in self._open:
            raise ValueError(f"A query {name!r} is already being answered.")
        loop = asyncio.get_running_loop()
        began = loop.time()
        limit = asyncio.timeout(self.config.timeout / 1000)
        question = Question(query, self._today().isoformat())
        request = self._open[name] = _Request(name, question, session, on_progress, limit, loop)
        try:
            async with limit:
                response = await self._handle(request, approve)
        except TimeoutError:
            if request.is_cancelled:
                response = Response("The query was cancelled.", "cancelled")
            else:
                seconds = self.config.timeout / 1000
                response = Response(f"The query took longer than {seconds:g} s.", "timed-out")
        finally:
            del self._open[name]
        metadata = ResponseMetadata(
            name,
            round((loop.time() - began) * 1000, 3),
            iso(self._clock()),
            response.status not in ("answered", "clarification"),
            tuple(request.degraded),
        )
        return replace(response, metadata=metadata)

    def cancel_query(self, request_id: str) -> bool:
        """Cancel a query and its calls, from any thread, and return whether there was such a query.

        Its response has the status `cancelled`.
        """
        request = self._open.get(request_id)
        if request is None:
            return False
        request.loop.call_soon_threadsafe(request.stop)
        return True

    async def _handle(self, request: _Request, approve: str) -> Response:
        request.report("context-loading", "Looking up what was said before.")
        config, plan = self.config, None
        memory = self._memory if request.session else None
        background: Json = None
        proposal: Proposal | None = None
        if memory is not None and config.enable_context_loading:
            failure = "The earlier conversation could not be loaded"
            given = request.session, request.question.text
            background = await request.attempt(
                config.memory_timeout, failure, memory.recall, *given
            )
        request.report("planning", "Making a plan.")
        try:
            plan = await self._plan(background, request)
            request.report("executing", f"Running {len(plan.steps)} steps.")
            execution = await self._executor.execute(
                plan,
                lambda over, steps: request.report(
                    "executing", f"{over} of {steps} steps are over.", 40 + 30 * over // steps
                ),
                within_ms=config.execution_timeout,
                approve=approve,
            )
        except ClarificationNeeded as needed:
            proposal = needed.clarification
            response = Response(needed.question, "clarification", options=needed.options)
        except ApprovalRequired as required:
            message = f"{required} Look at its steps, then ask with approve={required.digest!r}."
            response = Response(message, "approval-required", digest=required.digest)
        except _NO_RUN as error:
            response = _failed(str(error))
        else:
            response = await self._response(execution, request)
        request.report("storing", "Saving the question.")
        if memory is not None and config.enable_memory:
            episode = await call_user(
                lambda: episode_of(
                    request.question,
                    proposal or Refusal(response.message),
                    timestamp=iso(self._clock()),
                    # without the results: tools made them, and a model reads the context
                    plan=plan.typed if plan and response.status == "answered" else None,
                )
            )
            failure = "The question could not be saved"
            remember = memory.remember
            await request.attempt(
                config.memory_timeout, failure, remember, request.session, episode
            )
        request.report("complete", "Done.")
        return replace(response, plan=plan)

    async def _plan(self, background: Json, request: _Request) -> Plan:
        """Return the planner's plan, or that of the offline planner if the planner fails."""
        query = request.question.text
        try:
            async with asyncio.timeout(self.config.planning_timeout / 1000):
                return Plan.from_json(await self._planner.plan(query, background))
        except ClarificationNeeded:
            raise
        except Exception as error:  # a planner may raise anything; its text may hold a secret
            is_ours = isinstance(error, PlannerError)
            why = str(error).rstrip(".") if is_ours else type(error).__name__
            request.degraded.append(f"The planner failed, and the offline planner was used: {why}.")
            tools, notes = self._executor.toolbox, {"query": query}
            app = App(tools, self._offline, attempts=1, metadata=notes, clock=self._clock)
            return planned(await app.plan(query, today=request.question.today))

    async def _response(self, execution: Execution, request: _Request) -> Response:
        """Return the response to a plan that was run."""
        within_ms = self.config.analysis_timeout
        request.report("analyzing", "Looking at the results.")
        failure = "The results were counted, not analysed"
        analyze = self._analyzer.analyze
        analysis = await request.attempt(within_ms, failure, analyze, execution) or basic(execution)
        request.report("summarizing", "Putting it into words.")
        done = [result for result in execution if result.success]
        if not done:
            return replace(_failed(basic(execution).text), analysis=analysis)
        text = None
        if self._summarizer is not None:
            failure, summarize = "The summary failed", self._summarizer.summarize
            text = await request.attempt(within_ms, failure, summarize, analysis)
        return Response(
            analysis.text if text is None else text,
            "answered",
            tools_used=tuple(result.tool for result in done),
            data=tuple(result.data for result in done),
            analysis=analysis,
        )


def _failed(why: str) -> Response:
    return Response(f"I encountered an error processing your request: {why}", "failed")
