"""The executor as Clear AI has it: `await Executor(server).execute(plan)`, on an `App`.

Steps start as soon as their inputs are available, a failed step skips those that need it, a call
that times out is cancelled, and a plan that does not pass its check makes no call.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec.structs import replace

from toolplan.app.app import App
from toolplan.engine import RunOptions
from toolplan.events import (
    Event,
    Failure,
    Run,
    StepCancelled,
    StepFailed,
    StepRun,
    StepSkipped,
    StepState,
    StepSucceeded,
    fold,
)
from toolplan.plan.canonical import MOST_RETRIES
from toolplan.plan.model import Step
from toolplan.plan.path import Json
from toolplan.planners import Proposal, Refusal
from toolplan.policy.approval import Approver, approve_digest
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Toolbox
from toolplan.show.answer import Answer, InsightFunction
from toolplan.show.answer import answer as answer_of
from toolplan.storage.journal import Store
from toolplan_adapters.clear.errors import plan_error
from toolplan_adapters.clear.plan import Plan
from toolplan_adapters.clear.settings import ExecutorConfig
from toolplan_adapters.clear.tools import (
    FAILED,
    AnyTool,
    MCPServer,
    ResultMetadata,
    ToolProblem,
    ToolResult,
    as_tool,
    iso,
    unwrapped,
)

TIMED_OUT: Final = "TIMEOUT"
SKIPPED: Final = "SKIPPED"
CANCELLED: Final = "CANCELLED"
IN_DOUBT: Final = "IN_DOUBT"

OnStep: TypeAlias = Callable[[int, int], None]
"""Called with the number of steps that are over, and of all steps."""

_OVER: Final = (StepSucceeded, StepFailed, StepSkipped, StepCancelled)


class Execution(list[ToolResult]):
    """The list of a plan's results in the order of its steps, with the plan, its run and answer.

    The answer of a run that took too long is about the steps that were over.
    """

    def __init__(
        self,
        results: Iterable[ToolResult],
        plan: ExecutionPlan,
        run: Run,
        answer: Answer | None = None,
    ) -> None:
        super().__init__(results)
        self.plan = plan
        self.run = run
        self.answer = answer


class Executor:
    """Runs plans with tools."""

    def __init__(
        self,
        tools: MCPServer | Toolbox | Iterable[AnyTool],
        config: ExecutorConfig | Mapping[str, object] | None = None,
        *,
        approval: Approver | None = None,
        journal: Store | None = None,
        insights: Sequence[InsightFunction] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Prepare the executor.

        Args:
            tools: the tools that plans may call; those of a server are read for each plan.
            config: settings; a mapping may use either spelling of their names.
            approval: called once, before anything runs, with a plan that has effects; None
                refuses such plans. `toolplan.approve` approves all of them. The time that it takes
                counts as time of the plan.
            journal: keeps the runs, so that `toolplan.resume` can continue them; None keeps them in
                memory.
            insights: functions that find sentences in results (`toolplan.show.answer`).
            clock: returns the seconds since the epoch.
        """
        self.config = ExecutorConfig.of(config)
        if not isinstance(tools, MCPServer | Toolbox):
            tools = Toolbox(map(as_tool, tools))
        self._tools = tools
        self._approval = approval
        self._journal = journal
        self._insights = insights
        self._clock = clock

    @property
    def toolbox(self) -> Toolbox:
        """The tools that plans may call."""
        return self._tools.toolbox if isinstance(self._tools, MCPServer) else self._tools

    async def execute(
        self, plan: object, on_step: OnStep | None = None, *, approve: str = ""
    ) -> Execution:
        """Run `plan` and return a result for each step, in the order of the plan.

        Args:
            plan: a plan of a `PlannerAgent`, or one in Clear AI's form: an object, or its text.
            on_step: called after each step.
            approve: the digest of a plan whose effects are approved, once; no other plan is.

        Raises:
            PlannerError: it is not a plan, or does not pass its check; no call was made.
            ApprovalRequired: it has effects and was not approved.
            CannotRun: a tool has a description only and cannot be called.
            JournalError: the run cannot be saved.
        """
        config = self.config
        options = RunOptions(
            concurrency=config.max_parallel_executions,
            timeout_s=config.tool_timeout / 1000,
            backoff_s=config.retry_delay / 1000,
        )
        app = App(
            self.toolbox,
            _NoPlanner(),
            insights=self._insights,
            options=options,
            journal=self._journal,
            clock=self._clock,
        )
        asked = Plan.from_json(plan).typed
        asked = replace(asked, steps=tuple(self._with_retries(each) for each in asked.steps))
        checked = app.check(asked)
        if checked.plan is None:
            raise plan_error("The plan cannot be run", checked.diagnostics, asked)
        steps = checked.plan.plan.steps
        events: list[Event] = []

        def on_event(event: Event) -> None:
            events.append(event)
            if isinstance(event, _OVER) and on_step is not None:
                on_step(sum(isinstance(each, _OVER) for each in events), len(steps))

        run, answer, unfinished = None, None, CANCELLED
        try:
            async with asyncio.timeout(config.total_timeout / 1000):
                approver = _approver_of(approve) if approve else self._approval
                run = await app.run(checked.plan, approve=approver, on_event=on_event)
                answer = run.answer
        except TimeoutError:
            unfinished = TIMED_OUT
        if run is None:
            run = fold(events)
            answer = answer_of(checked.plan, run, insights=self._insights)
        results = (
            _result(at, step, run.steps.get(step.id, StepRun()), unfinished)
            for at, step in enumerate(steps)
        )
        return Execution(results, checked.plan, run, answer)

    def _with_retries(self, step: Step) -> Step:
        """Return `step` with retries if its call is repeatable and it does not set them itself."""
        tools = self.toolbox
        tool = tools.get(tools.alias(step.tool) or step.tool)
        if step.retries or tool is None or not tool.may_repeat:
            return step
        return replace(step, retries=min(self.config.max_retries - 1, MOST_RETRIES))


class _NoPlanner:
    """The planner of an app that only runs plans."""

    async def propose(self, *_: object, **__: object) -> Proposal:
        return Refusal("An executor makes no plans.")


def _approver_of(digest: str) -> Approver:
    """Return what approves the plan with `digest`, once, and no other."""
    return lambda plan: approve_digest(plan) if plan.digest == digest else None


def _result(at: int, planned: Step, step: StepRun, unfinished: str) -> ToolResult:
    started, ended = step.started_at, step.ended_at
    metadata = ResultMetadata(
        0.0 if started is None or ended is None else round((ended - started) * 1000, 3),
        "" if ended is None else iso(ended),
        max(0, step.attempts - 1),
    )
    if step.state is StepState.SUCCEEDED and step.error is None:
        return ToolResult(True, planned.tool, unwrapped(step.output), None, metadata, at)
    failure = step.error or Failure("cancelled", "The step was not over when the run ended.")
    message = failure.message
    match step.state:
        case StepState.SKIPPED:
            code, message = SKIPPED, f"Skipped: {message}"
        case StepState.IN_DOUBT:
            code = IN_DOUBT
        case StepState.FAILED | StepState.SUCCEEDED:
            code = TIMED_OUT if failure.code == "timeout" else FAILED
        case _:
            code = unfinished
    details: dict[str, Json] = {"code": failure.code, "pointer": failure.pointer}
    problem = ToolProblem(code, message, {name: each for name, each in details.items() if each})
    return ToolResult(False, planned.tool, None, problem, metadata, at)
