"""The executor as Clear AI has it: `await Executor(server).execute(plan)`, on our engine.

Steps start the moment their inputs are there, a failed step skips those that need it, a call that
is given up is cancelled, and a plan that does not pass its check makes no call at all.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

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
from toolplan.integrations._ledger import CallUsage
from toolplan.integrations.clear.errors import plan_error
from toolplan.integrations.clear.plan import Plan
from toolplan.integrations.clear.settings import ExecutorConfig
from toolplan.integrations.clear.tools import (
    FAILED,
    TIMED_OUT,
    AnyTool,
    MCPServer,
    ResultMetadata,
    ToolFailed,
    ToolProblem,
    ToolResult,
    as_tool,
    iso,
    unwrapped,
)
from toolplan.path import Json
from toolplan.plan import Plan as TypedPlan
from toolplan.plan import Step
from toolplan.plan_json import MOST_RETRIES, dump
from toolplan.storage.journal import Journal
from toolplan.tools import Tool, Toolbox

SKIPPED: Final = "SKIPPED"
CANCELLED: Final = "CANCELLED"
IN_DOUBT: Final = "IN_DOUBT"
REFUSED: Final = "PLAN_REFUSED"

OnStep: TypeAlias = Callable[[int, int], None]
"""Told how many steps are over, and how many there are."""

_OVER: Final = (StepSucceeded, StepFailed, StepSkipped, StepCancelled)
_STRUCTURE: Final = frozenset({"cycle", "self-reference", "unknown-step"})


class ExecutionError(Exception):
    """A step failed, and the run was to end with the first that does."""


class Execution(NamedTuple):
    """A plan that was run, its run, and the results in the order of the plan.

    `plan` is None where the plan did not pass its check, and nothing was called. `schemas` are the
    output schemas of its steps, by their ids, as far as the tools say them.
    """

    results: list[ToolResult]
    plan: ExecutionPlan | None = None
    run: Run | None = None
    schemas: Mapping[str, Json] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class _Ended:
    """How a run went, and whether it was given up because of the time or a failure."""

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
        journal: Journal | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Hold what plans are run with.

        Args:
            tools: what plans may call; of a server, what is registered when a plan is run.
            config: settings; a mapping may use either spelling of their names.
            approval: called once with each plan that may change something, before anything
                runs; None refuses all of them. `toolplan.approve` allows them all. The time that
                it takes counts as time of the plan.
            journal: where runs are kept, so that `toolplan.resume` can go on with them; None keeps
                them in memory.
            clock: seconds since the epoch.
        """
        self.config = ExecutorConfig.of(config)
        if not isinstance(tools, MCPServer | Toolbox):
            tools = Toolbox(map(as_tool, tools))
        self._tools = tools
        self._approval = approval
        self._journal = journal
        self._clock = clock

    async def execute(self, plan: object) -> list[ToolResult]:
        """Run `plan`, and give a result for each step, in the order of the plan.

        `plan` is what a `PlannerAgent` gave, or a plan in Clear AI's form: an object, or its text.

        Raises:
            PlannerError: it is no plan, or its steps wait for each other or for none that there is.
            ApprovalRequired: it may change something, and leave for that was not given.
            CannotRun: only the description of a tool is known, so it cannot be called.
            JournalError: the run cannot be kept.
            ExecutionError: a step failed, and `fail_fast` is set.
        """
        return (await self.carry_out(plan)).results

    async def carry_out(
        self, plan: object, on_step: OnStep | None = None, *, within_ms: float | None = None
    ) -> Execution:
        """Do what `execute` does, and give the plan and its run besides.

        Args:
            plan: as for `execute`.
            on_step: told of each step that is over.
            within_ms: the time for all of it, where the settings allow more.

        Raises:
            PlannerError, ApprovalRequired, CannotRun, JournalError, ExecutionError: as for
                `execute`.
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
        ledger = CallUsage()
        most = self.config.total_timeout if within_ms is None else within_ms
        limit = asyncio.timeout(min(most, self.config.total_timeout) / 1000)
        ended = await self._run(compiled.plan, ledger.watch(tools.values()), on_step, limit)
        results = [
            _result(index, step.tool, ended, ledger, step.id)
            for index, step in enumerate(compiled.plan.plan.steps)
        ]
        if self.config.fail_fast and ended.failed_at is not None:
            at = [step.id for step in compiled.plan.plan.steps].index(ended.failed_at)
            problem = results[at].error
            raise ExecutionError(f"Step {at} failed: {'' if problem is None else problem.message}")
        schemas = output_schemas(compiled.plan.plan, tools)
        return Execution(results, compiled.plan, ended.run, schemas)

    @property
    def toolbox(self) -> Toolbox:
        """What plans may call at the moment."""
        return self._tools.toolbox if isinstance(self._tools, MCPServer) else self._tools

    async def _run(
        self,
        plan: ExecutionPlan,
        tools: Toolbox,
        on_step: OnStep | None,
        limit: asyncio.Timeout,
    ) -> _Ended:
        """Run `plan` until it is over, or it is given up because of the time or a failure."""
        events: list[Event] = []
        failed_at: str | None = None
        over = 0

        def take(event: Event) -> None:
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
                    approval=self._approval,
                    on_event=take,
                    clock=self._clock,
                    concurrency=self.config.max_parallel_executions,
                    timeout_s=self.config.tool_timeout / 1000,
                    backoff_s=self.config.retry_delay / 1000,
                )
            return _Ended(ended, False, failed_at)
        except TimeoutError:
            return _Ended(fold(events), failed_at is None or not self.config.fail_fast, failed_at)


def _with_retries(plan: TypedPlan, tools: Mapping[str, Tool], tries: int) -> TypedPlan:
    """Let calls that may be made again be tried so often, where the plan does not say it."""

    def tried(step: Step) -> Step:
        says_more = step.retries or not tools[step.tool].may_repeat
        return step if says_more else replace(step, retries=min(tries - 1, MOST_RETRIES))

    return replace(plan, steps=tuple(map(tried, plan.steps)))


def _refused(plan: TypedPlan, diagnostics: Sequence[Diagnostic]) -> list[ToolResult]:
    """Return the results of a plan of which nothing was called, because of `diagnostics`."""
    results: list[ToolResult] = []
    for index, step in enumerate(plan.steps):
        wrong = [each for each in diagnostics if each.step == step.id]
        if any(each.code == "unknown-tool" for each in wrong):
            problem = ToolProblem(FAILED, f"Tool not found: {step.tool}")
        elif wrong:
            problem = ToolProblem(FAILED, " ".join(each.message for each in wrong))
        else:
            problem = ToolProblem(REFUSED, "Not called: another step of the plan is wrong.")
        results.append(ToolResult(False, step.tool, error=problem, step_index=index))
    return results


def _result(index: int, tool: str, ended: _Ended, ledger: CallUsage, name: str) -> ToolResult:
    step = ended.run.steps.get(name, StepRun())
    took = 0.0
    if step.started_at is not None and step.ended_at is not None:
        took = round((step.ended_at - step.started_at) * 1000, 3)
    metadata = ResultMetadata(
        took, "" if step.ended_at is None else iso(step.ended_at), max(0, step.attempts - 1)
    )
    params = ledger.arguments(name)
    if step.state is StepState.SUCCEEDED and step.error is None:
        data = unwrapped(step.output)
        return ToolResult(True, tool, data, None, metadata, index, params)
    problem = _problem(step, ended.timed_out, ledger.failures.get((name, None)))
    return ToolResult(False, tool, None, problem, metadata, index, params)


def _problem(step: StepRun, timed_out: bool, raised: Exception | None) -> ToolProblem:
    failure = step.error or Failure("cancelled", "The step was not over when the run ended.")
    match step.state:
        case StepState.SKIPPED:
            return ToolProblem(SKIPPED, f"Skipped: {failure.message}", _details(failure))
        case StepState.IN_DOUBT:
            return ToolProblem(IN_DOUBT, failure.message, _details(failure))
        case StepState.FAILED | StepState.SUCCEEDED:
            pass
        case _:
            code = TIMED_OUT if timed_out else CANCELLED
            return ToolProblem(code, failure.message, _details(failure))
    if failure.code == "tool-error" and isinstance(raised, ToolFailed):
        return raised.problem
    code = TIMED_OUT if failure.code == "timeout" else FAILED
    return ToolProblem(code, failure.message, _details(failure))


def _details(failure: Failure) -> Json:
    details: dict[str, Json] = {"code": failure.code, "pointer": failure.pointer}
    return {name: value for name, value in details.items() if value}
