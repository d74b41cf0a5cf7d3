"""The executor as Clear AI has it: `await Executor(server).execute(plan)`, on our engine.

Steps start as soon as their inputs are available, a failed step skips those that need it, a call
that times out is cancelled, and a plan that does not pass its check makes no call.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from msgspec.structs import replace

from toolplan.approval import Approver
from toolplan.compiler import compile_plan, output_schemas
from toolplan.diagnostics import Diagnostic
from toolplan.engines import run
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
from toolplan.tools import Toolbox
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


class Execution(list[ToolResult]):
    """The list of a plan's results in the order of its steps, with the plan and its run.

    `plan` and `run` are None if the plan did not pass its check, and no call was made. The outputs
    in `run` hold the `data` of results only. `schemas` are the known output schemas of its steps,
    by their ids.
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

    @property
    def toolbox(self) -> Toolbox:
        """The tools that plans may call."""
        return self._tools.toolbox if isinstance(self._tools, MCPServer) else self._tools

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
        """
        asked, tools = Plan.from_json(plan).typed, self.toolbox
        retried = _with_retries(asked, tools, self.config.max_retries)
        compiled = compile_plan(json.dumps(dump(retried)), tools=tools)
        if compiled.plan is None:
            blocking = [each for each in compiled.diagnostics if each.blocks]
            if any(each.step is None or each.code in _STRUCTURE for each in blocking):
                raise plan_error("The plan cannot be run", blocking, compiled.draft)
            return Execution(_refused(at, step, blocking) for at, step in enumerate(asked.steps))
        total = self.config.total_timeout
        limit = asyncio.timeout(min(total, total if within_ms is None else within_ms) / 1000)
        approval = _approved if approve == compiled.plan.digest else self._approval
        log = CallLog()
        recorded = log.record(tools.values())
        ended, unfinished = await self._run(compiled.plan, recorded, on_step, limit, approval)
        steps = compiled.plan.plan.steps
        results = [
            _result(at, step, ended.steps.get(step.id, StepRun()), unfinished, log)
            for at, step in enumerate(steps)
        ]
        outputs = {
            step.id: replace(ended.steps[step.id], output=data_only(ended.steps[step.id].output))
            for step in steps
            if step.id in ended.steps and tools[step.tool].source == SOURCE
        }
        shown = replace(ended, steps={**ended.steps, **outputs})
        return Execution(results, compiled.plan, shown, output_schemas(compiled.plan.plan, tools))

    async def _run(
        self,
        plan: ExecutionPlan,
        tools: Toolbox,
        on_step: OnStep | None,
        limit: asyncio.Timeout,
        approval: Approver | None,
    ) -> tuple[Run, str]:
        """Run `plan`; return the run, and the code of steps that were not over when it ended."""
        events: list[Event] = []

        def on_event(event: Event) -> None:
            events.append(event)
            if isinstance(event, _OVER) and on_step is not None:
                on_step(sum(isinstance(each, _OVER) for each in events), len(plan.plan.steps))

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
            return ended, CANCELLED
        except TimeoutError:
            return fold(events), TIMED_OUT


def _approved(_: ExecutionPlan) -> bool:
    return True


def _with_retries(plan: TypedPlan, tools: Toolbox, tries: int) -> TypedPlan:
    """Return `plan` with retries for repeatable calls, where it does not set them itself."""

    def retried(step: Step) -> Step:
        tool = tools.get(tools.alias(step.tool) or step.tool)
        is_set = step.retries or tool is None or not tool.may_repeat
        return step if is_set else replace(step, retries=min(tries - 1, MOST_RETRIES))

    return replace(plan, steps=tuple(map(retried, plan.steps)))


def _refused(at: int, step: Step, diagnostics: Iterable[Diagnostic]) -> ToolResult:
    """Return the result of a step of a plan that made no call, because of `diagnostics`."""
    found = [each for each in diagnostics if each.step == step.id]
    if any(each.code == "unknown-tool" for each in found):
        problem = ToolProblem(FAILED, f"Tool not found: {step.tool}")
    elif found:
        problem = ToolProblem(FAILED, " ".join(each.message for each in found))
    else:
        problem = ToolProblem(REFUSED, "Not called: another step of the plan is wrong.")
    return ToolResult(False, step.tool, error=problem, step_index=at)


def _result(at: int, planned: Step, step: StepRun, unfinished: str, log: CallLog) -> ToolResult:
    started, ended = step.started_at, step.ended_at
    metadata = ResultMetadata(
        0.0 if started is None or ended is None else round((ended - started) * 1000, 3),
        "" if ended is None else iso(ended),
        max(0, step.attempts - 1),
    )
    params = log.arguments(planned.id)
    if step.state is StepState.SUCCEEDED and step.error is None:
        data = unwrapped(step.output)
        return ToolResult(True, planned.tool, data, None, metadata, at, params)
    problem = _problem(step, unfinished, log.failures.get((planned.id, None)))
    return ToolResult(False, planned.tool, None, problem, metadata, at, params)


def _problem(step: StepRun, unfinished: str, raised: Exception | None) -> ToolProblem:
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
            code = unfinished
    details: dict[str, Json] = {"code": failure.code, "pointer": failure.pointer}
    return ToolProblem(code, message, {name: value for name, value in details.items() if value})
