"""The orchestrator as Clear AI has it: `await Orchestrator(planner, executor).handle_query(query)`.

If the model cannot be reached, the offline planner plans, and the response says so.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from toolplan.base.errors import ToolplanError
from toolplan.events import Run
from toolplan.plan.path import Json
from toolplan.planners.context import PlannerContext
from toolplan.planners.offline import offline_planner
from toolplan.policy.approval import ApprovalRequired
from toolplan.providers import ModelError
from toolplan.show.answer import Answer
from toolplan.show.summary.summariser import Summariser
from toolplan.storage.memory import Memory
from toolplan_adapters.clear.errors import ClarificationNeeded
from toolplan_adapters.clear.executor import Executor
from toolplan_adapters.clear.plan import Plan
from toolplan_adapters.clear.planner import PlannerAgent, planned
from toolplan_adapters.clear.settings import OrchestratorConfig
from toolplan_adapters.clear.tools import iso

_ENDING_S: Final = 0.05
"""The time of a query that is kept from its summary, so that its answer is returned."""

Stage: TypeAlias = Literal["planning", "executing", "summarizing", "complete"]
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
    """Metadata of a response; `timestamp` is the time of the answer, ISO 8601 in UTC.

    `cancel_query` takes the `request_id`. `error` says that there is no answer, `degraded` which
    parts failed and were replaced, a sentence each.
    """

    request_id: str = ""
    total_duration_ms: float = 0.0
    timestamp: str = ""
    error: bool = False
    degraded: tuple[str, ...] = ()


class Response(Struct, frozen=True):
    """The response to a query: an answer, a question to the user, or why it is neither.

    Attributes:
        tools_used: the tools of the steps that succeeded, in order, with repetitions.
        data: the outputs of these steps, in the same order.
        answer: the computed answer, with its figures and their sources.
        options: possible answers, if the message is a question to the user.
        digest: what to approve, if the plan needs an approval.
    """

    message: str
    status: Status
    metadata: ResponseMetadata = ResponseMetadata()
    tools_used: tuple[str, ...] = ()
    data: tuple[Json, ...] = ()
    answer: Answer | None = None
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
            "answer": None if self.answer is None else self.answer.to_json(),
            "options": [*self.options],
            "digest": self.digest,
            "metadata": {**metadata, "degraded": [*self.metadata.degraded]},
        }


class _Request(Struct):
    """A query that is being answered."""

    id: str
    query: str
    session: str | None
    approve: str
    on_progress: OnProgress | None
    limit: asyncio.Timeout
    loop: asyncio.AbstractEventLoop
    is_cancelled: bool = False
    plan: Plan | None = None
    degraded: list[str] = field(default_factory=list[str])

    def report(self, stage: Stage, percent: int, message: str) -> None:
        """Report progress, until the listener fails or the query ends."""
        if self.on_progress is None or self.limit.expired():
            return
        try:
            self.on_progress(Progress(self.id, stage, percent, message))
        except Exception as error:  # a listener may raise anything, and the query continues
            self.on_progress = None
            self.degraded.append(f"Progress reports stopped: {type(error).__name__}.")

    def stop(self) -> None:
        """End it now; called in the loop's own thread."""
        if not self.limit.expired():
            self.is_cancelled = True
            self.limit.reschedule(self.loop.time())


class Orchestrator:
    """Answers queries: plans, runs, summarises, and remembers them."""

    def __init__(
        self,
        planner: PlannerAgent,
        executor: Executor,
        *,
        summarizer: Summariser | None = None,
        memory: Memory | None = None,
        config: OrchestratorConfig | Mapping[str, object] | None = None,
    ) -> None:
        """Prepare the stages.

        Args:
            planner: makes plans; if its model fails, the offline planner does.
            executor: runs them.
            summarizer: puts the answer into words; by default its own text is used.
            memory: the earlier questions; used only for queries with a session.
            config: settings; a mapping may use either spelling of their names.
        """
        self.config = OrchestratorConfig.of(config)
        self._planner = planner
        self._executor = executor
        self._summarizer = summarizer
        self._memory = memory
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
        """Answer `query`; the response reports what fails.

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
        name = request_id or str(uuid.uuid4())
        if name in self._open:
            raise ValueError(f"A query {name!r} is already being answered.")
        loop = asyncio.get_running_loop()
        began, seconds = loop.time(), self.config.timeout / 1000
        limit = asyncio.timeout(seconds)
        remembered = None if self._memory is None else session or None
        request = _Request(name, query, remembered, approve, on_progress, limit, loop)
        self._open[name] = request
        try:
            async with limit:
                response = await self._handle(request)
        except TimeoutError:
            response = Response(f"The query took longer than {seconds:g} s.", "timed-out")
            if request.is_cancelled:
                response = Response("The query was cancelled.", "cancelled")
        except ClarificationNeeded as needed:
            response = Response(needed.question, "clarification", options=needed.options)
        except ApprovalRequired as required:
            message = f"{required} Look at its steps, then ask with approve={required.digest!r}."
            response = Response(message, "approval-required", digest=required.digest)
        except ToolplanError as error:
            response = _failed(error.with_help)
        finally:
            del self._open[name]
        request.report("complete", 100, "Done.")
        metadata = ResponseMetadata(
            name,
            round((loop.time() - began) * 1000, 3),
            iso(self._planner.clock()),
            response.status not in ("answered", "clarification"),
            tuple(request.degraded),
        )
        return replace(response, metadata=metadata, plan=request.plan)

    def cancel_query(self, request_id: str) -> bool:
        """Cancel a query and its calls, from any thread, and return whether there was such a query.

        Its response has the status `cancelled`.
        """
        request = self._open.get(request_id)
        if request is None:
            return False
        request.loop.call_soon_threadsafe(request.stop)
        return True

    async def _handle(self, request: _Request) -> Response:
        request.report("planning", 20, "Making a plan.")
        request.plan = await self._plan(request)
        steps = len(request.plan.steps)
        request.report("executing", 40, f"Running {steps} steps.")

        def on_step(over: int, steps: int) -> None:
            percent = 40 + 30 * over // steps
            request.report("executing", percent, f"{over} of {steps} steps are over.")

        execution = await self._executor.execute(request.plan, on_step, approve=request.approve)
        done = [result for result in execution if result.success]
        errors = " ".join(f"{each.tool}: {each.error.message}" for each in execution if each.error)
        response = _failed(errors)
        if done:
            message = errors if execution.answer is None else execution.answer.text
            response = Response(message, "answered")
        response = replace(
            response,
            tools_used=tuple(result.tool for result in done),
            data=tuple(result.data for result in done),
            answer=execution.answer,
        )
        return await self._in_words(request, response, execution.run)

    async def _in_words(self, request: _Request, response: Response, run: Run) -> Response:
        """Return `response` in the words of the summariser; calls that were made stay answered."""
        if response.answer is None or response.status != "answered":
            return response
        request.report("summarizing", 85, "Putting it into words.")
        if self._summarizer is None:
            return response
        left = (request.limit.when() or request.loop.time()) - request.loop.time()
        try:
            async with asyncio.timeout(max(left - _ENDING_S, 0)):
                summary = await self._summarizer.summarise(response.answer, run, request.query)
        except Exception as error:  # a model may raise anything, and be slow
            request.degraded.append(f"The summary failed: {type(error).__name__}.")
            return response
        return replace(response, message=summary.text)

    async def _plan(self, request: _Request) -> Plan:
        agent, query = self._planner, request.query
        today, session = agent.today(), request.session
        try:
            asked = await agent.app(query, memory=self._memory).plan(
                query, today=today, conversation=session
            )
        except Exception as error:  # a model and a memory of others may raise anything
            if isinstance(error, ToolplanError) and not isinstance(error, ModelError):
                raise
            what, reason, memory = "The model", "", self._memory
            if isinstance(error, ModelError):
                reason = error.with_help
            else:  # the memory may be what failed
                what, reason, memory, session = "Planning", type(error).__name__, None, None
            request.degraded.append(f"{what} failed, and the offline planner was used: {reason}")
            asked = await agent.app(query, self._offline, memory).plan(
                query, today=today, conversation=session
            )
        return planned(asked)


def _failed(reason: str) -> Response:
    return Response(f"I encountered an error processing your request: {reason}", "failed")
