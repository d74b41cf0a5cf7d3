"""The executor as Clear AI has it: `await Executor(server).execute(plan)`, on our engine.

Steps start as soon as their inputs are available, a failed step skips those that need it, a call
that times out is cancelled, and a plan that does not pass its check makes no call.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from toolplan.approval import Approver
from toolplan.compiler import compile_plan, output_schemas
from toolplan.diagnostics import Diagnostic
from toolplan.engines import run
from toolplan.errors import ToolplanError
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
from toolplan.execution_plan import ExecutionPlan
from toolplan.path import Json
from toolplan.plan import Plan as TypedPlan
from toolplan.plan import Step
from toolplan.plan_json import MOST_RETRIES, dump
from toolplan.storage.journal import Store
from toolplan.tools import Tool, Toolbox
from toolplan_adapters._calls import CallLog
from toolplan_adapters.clear.errors import plan_error
from toolplan_adapters.clear.plan import Plan
from toolplan_adapters.clear.settings import ExecutorConfig
from toolplan_adapters.clear.tools import (
    FAILED,
    SOURCE,
    TIMED_OUT,
    AnyTool,
    MCPServer,
    ResultMetadata,
    ToolFailed,
    ToolProblem,
    ToolResult,
    as_tool,
    data_only,
    iso,
    unwrapped,
)

SKIPPED: Final = "SKIPPED"
CANCELLED: Final = "CANCELLED"
IN_DOUBT: Final = "IN_DOUBT"
REFUSED: Final = "PLAN_REFUSED"

OnStep: TypeAlias = Callable[[int, int], None]
"""Called with the number of steps that are over, and of all steps."""

_OVER: Final = (StepSucceeded, StepFailed, StepSkipped, StepCancelled)
_STRUCTURE: Final = frozenset({"cycle", "self-reference", "unknown-step"})


class ExecutionError(ToolplanError):
    """A step failed, and `fail_fast` is set."""

    def __init__(self, message: str) -> None:
        super().__init__("step-failed", message)


class Execution(list[ToolResult]):
    """The list of a plan's results in the order of its steps, with the plan and its run.

    `plan` and `run` are None if the plan did not pass its check, and no call was made. The outputs
    in `run` hold the `data` of results only. `schemas`
    are the known output schemas of its steps, by their ids.
    """

    def __init__(
        self,
        results: Iterable[ToolResult],
        plan: ExecutionPlan | None = None,
        run: Run | None = None,
        schemas: Mapping[str, Json] = MappingProxyType({}),
    ) -> None:
        super().__init__(results)
        self.plan = plan
        self.run = run
        self.schemas = schemas


class _Ended(Struct, frozen=True):
    """A run, whether its time was over, and the first step that failed."""

    run: Run
    timed_out: bool
    failed_at: str | None


class Executor:
    """Runs plans with tools."""

    def __init__(
        self,
        tools: MCPServer | Toolbox | Iterable[AnyTool],
        config: ExecutorConfig | Mapping[str, object] | None = None,
        *,
        approval: Approver | None = None,
        journal: Store | None = None,
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
            clock: returns the seconds since the epoch.
        """
        self.config = ExecutorConfig.of(config)
        if not isinstance(tools, MCPServer | Toolbox):
            tools = Toolbox(map(as_tool, tools))
        self._tools = tools
        self._approval = approval
        self._journal = journal
        self._clock = clock

    async def execute(
        self,
        plan: object,
        on_step: OnStep | None = None,
        *,
        within_ms: float | None = None,
        approve: str = "",
    ) -> Execution:
        """Run `plan` and return a result for each step, in the order of the plan.

        The list also holds the plan and its run, so that an `Analyzer` takes it as it is.

        Args:
            plan: a plan of a `PlannerAgent`, or one in Clear AI's form: an object, or its text.
            on_step: called after each step.
            within_ms: the time limit, if it is shorter than that of the settings.
            approve: the digest of a plan whose effects are approved, once; no other plan is.

        Raises:
            PlannerError: it is not a plan, or it has a cycle or a dependency that does not exist.
            ApprovalRequired: it has effects and was not approved.
            CannotRun: a tool has a description only and cannot be called.
            JournalError: the run cannot be saved.
            ExecutionError: a step failed, and `fail_fast` is set.
        """
        asked = Plan.from_json(plan)
        tools = self.toolbox
        compiled = compile_plan(json.dumps(dump(asked.typed)), tools=tools)
        if compiled.plan is not None:
            retried = _with_retries(compiled.plan.plan, tools, self.config.max_retries)
            compiled = compile_plan(json.dumps(dump(retried)), tools=tools)
        if compiled.plan is None:
            blocking = [each for each in compiled.diagnostics if each.blocks]
            if any(each.step is None or each.code in _STRUCTURE for each in blocking):
                raise plan_error("The plan cannot be run", blocking, compiled.draft)
            return Execution(_refused(asked.typed, blocking))
        log = CallLog()
        most = self.config.total_timeout if within_ms is None else within_ms
        limit = asyncio.timeout(min(most, self.config.total_timeout) / 1000)
        approval = _approved if approve == compiled.plan.digest else self._approval
        recorded = log.record(tools.values())
        ended = await self._run(compiled.plan, recorded, on_step, limit, approval)
        steps = compiled.plan.plan.steps
        results = [_result(index, step, ended, log) for index, step in enumerate(steps)]
        if self.config.fail_fast and ended.failed_at is not None:
            at = [step.id for step in steps].index(ended.failed_at)
            problem = results[at].error
            raise ExecutionError(f"Step {at} failed: {'' if problem is None else problem.message}")
        schemas = output_schemas(compiled.plan.plan, tools)
        return Execution(results, compiled.plan, _with_data(ended.run, steps, tools), schemas)

    @property
    def toolbox(self) -> Toolbox:
        """The tools that plans may call."""
        return self._tools.toolbox if isinstance(self._tools, MCPServer) else self._tools

    async def _run(
        self,
        plan: ExecutionPlan,
        tools: Toolbox,
        on_step: OnStep | None,
        limit: asyncio.Timeout,
        approval: Approver | None,
    ) -> _Ended:
        """Run `plan` until it is over, its time is over, or a step fails under `fail_fast`."""
        events: list[Event] = []
        failed_at: str | None = None
        over = 0

        def on_event(event: Event) -> None:
            nonlocal failed_at, over
            events.append(event)
            if isinstance(event, _OVER):
                over += 1
                if on_step is not None:
                    on_step(over, len(plan.plan.steps))
            if isinstance(event, StepFailed) and failed_at is None and not limit.expired():
                failed_at = event.step
                if self.config.fail_fast:
                    limit.reschedule(asyncio.get_running_loop().time())

        try:
            async with limit:
                ended = await run(
                    plan,
                    tools,
                    journal=self._journal,
                    approval=approval,
                    on_event=on_event,
                    clock=self._clock,
                    concurrency=self.config.max_parallel_executions,
                    timeout_s=self.config.tool_timeout / 1000,
                    backoff_s=self.config.retry_delay / 1000,
                )
            return _Ended(ended, False, failed_at)
        except TimeoutError:
            return _Ended(fold(events), failed_at is None or not self.config.fail_fast, failed_at)


def _approved(_: ExecutionPlan) -> bool:
    return True


def _with_data(ran: Run, steps: Sequence[Step], tools: Mapping[str, Tool]) -> Run:
    """Return `ran` with the data of results, for whom success, tool and times are in the way."""
    known = {step.id: tools[step.tool].source for step in steps}
    outcomes = {
        name: replace(step, output=data_only(step.output)) if known.get(name) == SOURCE else step
        for name, step in ran.steps.items()
    }
    return replace(ran, steps=outcomes)


def _with_retries(plan: TypedPlan, tools: Mapping[str, Tool], tries: int) -> TypedPlan:
    """Return `plan` with retries for repeatable calls, where it does not set them itself."""

    def retried(step: Step) -> Step:
        is_set = step.retries or not tools[step.tool].may_repeat
        return step if is_set else replace(step, retries=min(tries - 1, MOST_RETRIES))

    return replace(plan, steps=tuple(map(retried, plan.steps)))


def _refused(plan: TypedPlan, diagnostics: Sequence[Diagnostic]) -> list[ToolResult]:
    """Return the results of a plan that made no call, because of `diagnostics`."""
    results: list[ToolResult] = []
    for index, step in enumerate(plan.steps):
        found = [each for each in diagnostics if each.step == step.id]
        if any(each.code == "unknown-tool" for each in found):
            problem = ToolProblem(FAILED, f"Tool not found: {step.tool}")
        elif found:
            problem = ToolProblem(FAILED, " ".join(each.message for each in found))
        else:
            problem = ToolProblem(REFUSED, "Not called: another step of the plan is wrong.")
        results.append(ToolResult(False, step.tool, error=problem, step_index=index))
    return results


def _result(index: int, planned: Step, ended: _Ended, log: CallLog) -> ToolResult:
    step = ended.run.steps.get(planned.id, StepRun())
    took = 0.0
    if step.started_at is not None and step.ended_at is not None:
        took = round((step.ended_at - step.started_at) * 1000, 3)
    metadata = ResultMetadata(
        took, "" if step.ended_at is None else iso(step.ended_at), max(0, step.attempts - 1)
    )
    params = log.arguments(planned.id)
    if step.state is StepState.SUCCEEDED and step.error is None:
        data = unwrapped(step.output)
        return ToolResult(True, planned.tool, data, None, metadata, index, params)
    problem = _problem(step, ended.timed_out, log.failures.get((planned.id, None)))
    return ToolResult(False, planned.tool, None, problem, metadata, index, params)


def _problem(step: StepRun, timed_out: bool, raised: Exception | None) -> ToolProblem:
    failure = step.error or Failure("cancelled", "The step was not over when the run ended.")
    message = failure.message
    match step.state:
        case StepState.SKIPPED:
            code, message = SKIPPED, f"Skipped: {message}"
        case StepState.IN_DOUBT:
            code = IN_DOUBT
        case StepState.FAILED | StepState.SUCCEEDED:
            if failure.code == "tool-error" and isinstance(raised, ToolFailed):
                return raised.problem
            code = TIMED_OUT if failure.code == "timeout" else FAILED
        case _:
            code = TIMED_OUT if timed_out else CANCELLED
    details: dict[str, Json] = {"code": failure.code, "pointer": failure.pointer}
    return ToolProblem(code, message, {name: value for name, value in details.items() if value})
