"""The orchestrator as Clear AI has it: `await Orchestrator(planner, executor).handle_query(query)`.

A stage that is down does not take the answer down with it: without the planner the offline planner
plans, without memory the question stands for itself, without the analysis the results are counted.
Each time the response says so.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final, NamedTuple, Protocol

from toolplan.app import Session
from toolplan.approval import ApprovalRequired, ApprovalUsed
from toolplan.engines import CannotRun
from toolplan.integrations._calls import called
from toolplan.integrations.clear.analysis import Analysis, Analyzer, basic
from toolplan.integrations.clear.errors import ClarificationNeeded, PlannerError
from toolplan.integrations.clear.executor import Execution, ExecutionError, Executor
from toolplan.integrations.clear.plan import Plan
from toolplan.integrations.clear.response import (
    OnProgress,
    Progress,
    Response,
    ResponseMetadata,
    Stage,
    Status,
)
from toolplan.integrations.clear.settings import OrchestratorConfig
from toolplan.integrations.clear.tools import ToolResult, iso
from toolplan.path import Json
from toolplan.planners import Clarification, GroundedPlanner, Question, Refusal
from toolplan.planners.grounded.dialogue.turns import episode_of
from toolplan.storage.journal import JournalError
from toolplan.storage.memory import Episode, Memory

_PERCENT: Final[Mapping[Stage, int]] = {
    "context-loading": 10,
    "planning": 20,
    "executing": 40,
    "analyzing": 70,
    "summarizing": 85,
    "storing": 95,
    "complete": 100,
}


_NO_RUN: Final = (PlannerError, ExecutionError, CannotRun, ApprovalUsed, JournalError)
"""What keeps a plan from being run to its end, besides that leave is missing."""


class PlanMaker(Protocol):
    """What makes plans; a `PlannerAgent` is one."""

    async def plan(self, query: str, context: Json = None) -> object:
        """Return a plan: a `Plan`, or one in Clear AI's form."""
        ...


class AnalysisMaker(Protocol):
    """What analyses results; an `Analyzer` is one. It may be a coroutine function."""

    def analyze(self, execution: Execution, /) -> Analysis | Awaitable[Analysis]:
        """Return what the results say."""
        ...


class SummaryMaker(Protocol):
    """What puts an analysis into words. It may be a coroutine function."""

    def summarize(self, analysis: Analysis, /) -> str | Awaitable[str]:
        """Return what the user reads."""
        ...


class _Said(NamedTuple):
    """What is answered, before it is known how long that took."""

    message: str
    status: Status
    results: Sequence[ToolResult] = ()
    analysis: Analysis | None = None
    plan: Plan | None = None
    asked: Clarification | None = None


@dataclass(slots=True)
class _Request:
    """A query that is under way."""

    id: str
    on_progress: OnProgress | None
    limit: asyncio.Timeout
    loop: asyncio.AbstractEventLoop
    began: float
    is_cancelled: bool = False
    degraded: list[str] = field(default_factory=list[str])

    def tell(self, stage: Stage, message: str, percent: int | None = None) -> None:
        """Tell how far it is, until whoever listens fails, or the query is given up."""
        if self.on_progress is None or self.limit.expired():
            return
        try:
            self.on_progress(Progress(self.id, stage, percent or _PERCENT[stage], message))
        except Exception as error:  # who listens may raise anything, and the query goes on
            self.on_progress = None
            self.degraded.append(f"Progress is not told any more: {_named(error)}.")

    def stop(self) -> None:
        """End it now; in the loop's own thread."""
        if not self.limit.expired():
            self.is_cancelled = True
            self.limit.reschedule(self.loop.time())


class Orchestrator:
    """Answers queries: loads context, plans, runs, analyses, summarises, remembers."""

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
        """Hold the stages.

        Args:
            planner: makes plans; where it fails, the offline planner does, with the same tools.
            executor: runs them.
            analyzer: finds what there is to say; by default an `Analyzer`.
            summarizer: puts it into words; by default the text of the analysis stands.
            memory: what was said before. It is asked only for queries that name their session.
            config: settings; a mapping may use either spelling of their names.
            clock: seconds since the epoch.
            today: the day that the offline planner reckons from.
            new_id: gives the name of a query that comes without one.
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
        self._offline = GroundedPlanner()
        self._open: dict[str, _Request] = {}

    async def handle_query(
        self,
        query: str,
        *,
        session: str = "",
        request_id: str = "",
        on_progress: OnProgress | None = None,
    ) -> Response:
        """Answer `query`; whatever goes wrong is told by the response.

        Args:
            query: what is asked.
            session: the conversation that it belongs to, one name for each conversation of each
                user; without one nothing is looked up and nothing is remembered.
            request_id: a name by which it can be cancelled; a new one by default.
            on_progress: told how far it is.

        Raises:
            ValueError: a query of that `request_id` is under way.
        """
        name = request_id or self._new_id()
        if name in self._open:
            raise ValueError(f"A query {name!r} is under way.")
        loop = asyncio.get_running_loop()
        limit = asyncio.timeout(self.config.timeout / 1000)
        request = _Request(name, on_progress, limit, loop, loop.time())
        self._open[name] = request
        try:
            async with limit:
                said = await self._handle(query, session, request)
        except TimeoutError:
            seconds = self.config.timeout / 1000
            said = (
                _Said("The query was cancelled.", "cancelled")
                if request.is_cancelled
                else _Said(f"The query took longer than {seconds:g} s.", "timed-out")
            )
        finally:
            del self._open[name]
        return self._response(said, request)

    def cancel_query(self, request_id: str) -> bool:
        """End a query, with every call that it has under way; from any thread.

        Gives whether there was such a query. It answers with the status `cancelled`.
        """
        request = self._open.get(request_id)
        if request is None:
            return False
        request.loop.call_soon_threadsafe(request.stop)
        return True

    async def _handle(self, query: str, session: str, request: _Request) -> _Said:
        """Go through the stages."""
        request.tell("context-loading", "Looking up what was said before.")
        background = await self._recalled(query, session, request)
        request.tell("planning", "Making a plan.")
        plan: Plan | None = None
        try:
            plan = await self._planned(query, background, request)
            request.tell("executing", f"Running {len(plan.steps)} steps.")
            execution = await self._executor.carry_out(
                plan,
                lambda over, steps: request.tell(
                    "executing", f"{over} of {steps} steps are over.", 40 + 30 * over // steps
                ),
                within_ms=self.config.execution_timeout,
            )
        except ClarificationNeeded as asked:
            said = _Said(asked.question, "clarification", asked=asked.clarification)
        except ApprovalRequired as required:
            message = f"{required} Its digest is {required.digest}."
            said = _Said(f"I encountered an error processing your request: {message}", "failed")
        except _NO_RUN as error:
            said = _Said(f"I encountered an error processing your request: {error}", "failed")
        else:
            said = await self._told(execution, plan, request)
        request.tell("storing", "Remembering the question.")
        await self._remembered(query, session, said._replace(plan=plan), request)
        request.tell("complete", "Done.")
        return said._replace(plan=plan)

    async def _recalled(self, query: str, session: str, request: _Request) -> Json:
        """Return what was said before, as far as memory can tell."""
        memory = self._memory
        if memory is None or not session or not self.config.enable_context_loading:
            return None
        try:
            async with asyncio.timeout(self.config.memory_timeout / 1000):
                return await called(memory.recall, session, query)
        except Exception as error:  # memory may be any object, and the question stands without it
            request.degraded.append(f"What was said before is not known: {_named(error)}.")
            return None

    async def _planned(self, query: str, background: Json, request: _Request) -> Plan:
        """Return the planner's plan, or that of the offline planner where the planner fails."""
        try:
            async with asyncio.timeout(self.config.planning_timeout / 1000):
                return Plan.from_json(await self._planner.plan(query, background))
        except ClarificationNeeded:
            raise
        except Exception as error:  # a planner may raise anything
            why = str(error).rstrip(".") if isinstance(error, PlannerError) else _named(error)
            request.degraded.append(f"The planner failed, and the offline one planned: {why}.")
            return await self._grounded(query, error)

    async def _grounded(self, query: str, cause: Exception) -> Plan:
        session = Session(
            self._executor.toolbox,
            self._offline,
            attempts=1,
            metadata={"query": query},
            clock=self._clock,
        )
        asked = await session.plan(query, today=self._today())
        match asked.proposal:
            case Clarification() as clarification:
                raise ClarificationNeeded(clarification) from cause
            case Refusal(reason=reason):
                raise PlannerError(reason) from cause
            case _ if asked.plan is not None:
                return Plan(asked.plan.plan)
            case _:
                raise PlannerError(str(cause)) from cause

    async def _told(self, execution: Execution, plan: Plan, request: _Request) -> _Said:
        """Return what the results say, in words."""
        results = execution.results
        request.tell("analyzing", "Looking at the results.")
        analysis = await self._analysed(execution, request)
        request.tell("summarizing", "Putting it into words.")
        if not any(result.success for result in results):
            message = f"I encountered an error processing your request: {basic(results).text}"
            return _Said(message, "failed", results, analysis)
        return _Said(await self._worded(analysis, request), "answered", results, analysis)

    async def _analysed(self, execution: Execution, request: _Request) -> Analysis:
        try:
            async with asyncio.timeout(self.config.analysis_timeout / 1000):
                return await called(self._analyzer.analyze, execution)
        except Exception as error:  # an analyser may raise anything; the results are there
            request.degraded.append(f"The results were counted, not analysed: {_named(error)}.")
            return basic(execution.results)

    async def _worded(self, analysis: Analysis, request: _Request) -> str:
        if self._summarizer is None:
            return analysis.text
        try:
            async with asyncio.timeout(self.config.analysis_timeout / 1000):
                return await called(self._summarizer.summarize, analysis)
        except Exception as error:  # a summariser may raise anything; the analysis has a text
            request.degraded.append(f"The analysis stands as it is: {_named(error)}.")
            return analysis.text

    async def _remembered(self, query: str, session: str, said: _Said, request: _Request) -> None:
        memory = self._memory
        if memory is None or not session or not self.config.enable_memory:
            return
        episode = await called(self._episode, query, said)
        try:
            async with asyncio.timeout(self.config.memory_timeout / 1000):
                await called(memory.remember, session, episode)
        except Exception as error:  # memory may be any object, and the answer stands without it
            request.degraded.append(f"The question is not remembered: {_named(error)}.")

    def _episode(self, query: str, said: _Said) -> Episode:
        """Return what is kept of a turn: its plan only where that gave an answer.

        What was asked.
        """
        is_answer = said.status == "answered" and said.plan is not None
        return episode_of(
            Question(query, self._today().isoformat()),
            said.asked or Refusal(said.message),
            self._offline.catalogue(self._executor.toolbox),
            timestamp=iso(self._clock()),
            # not what was found: it is made of what tools gave, and a model reads the context
            plan=said.plan.typed if is_answer and said.plan is not None else None,
        )

    def _response(self, said: _Said, request: _Request) -> Response:
        done = [result for result in said.results if result.success]
        took = round((request.loop.time() - request.began) * 1000, 3)
        is_error = said.status not in ("answered", "clarification")
        return Response(
            said.message,
            said.status,
            ResponseMetadata(
                request.id, took, iso(self._clock()), is_error, tuple(request.degraded)
            ),
            tuple(result.tool for result in done),
            tuple(result.data for result in done),
            said.analysis,
            said.plan,
            () if said.asked is None else said.asked.options,
        )


def _named(error: Exception) -> str:
    """Say what was raised; the text of a foreign exception may hold anything, so only its kind."""
    return type(error).__name__
