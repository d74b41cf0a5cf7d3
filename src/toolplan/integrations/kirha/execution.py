"""Running a plan of the SDK on our engine, and the results in its words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from toolplan.approval import Approver
from toolplan.compiler import compile_plan
from toolplan.diagnostics import Diagnostic
from toolplan.engines import run
from toolplan.events import (
    Event,
    Failure,
    Run,
    StepFailed,
    StepRun,
    StepSkipped,
    StepStarted,
    StepState,
    StepSucceeded,
)
from toolplan.integrations._ledger import CallUsage
from toolplan.integrations.kirha.steps import Status
from toolplan.integrations.kirha.tools import AnyTool, toolbox
from toolplan.path import Json
from toolplan.plan import Plan as TypedPlan
from toolplan.plan import Step as TypedStep
from toolplan.plan_json import dump

OnStatus: TypeAlias = Callable[[str, Status], None]
"""Told the name of a step, and its status."""

UNSATISFIED: Final = "Skipped: dependencies not satisfied"
_UNRESOLVED: Final = frozenset(
    {
        "reference-missing",
        "argument-type",
        "argument-value",
        "missing-argument",
        "unknown-argument",
        "not-a-list",
        "too-many-items",
    }
)


@dataclass(frozen=True, slots=True)
class StepResult:
    """What came of one step.

    Attributes:
        step_id: its name.
        tool_name: what was called, or was to be.
        arguments: what it was called with, references filled in; empty where it was not called. A
            list of such objects where the step made a call for each item of a list.
        output: what the tool gave; None where it gave nothing.
        error: why not; None where it did.
        status: `done`, `failed`, `skipped` or `timeout`.
    """

    step_id: str
    tool_name: str
    arguments: Json
    output: Json
    error: str | None = None
    status: Status = "done"

    def to_json(self) -> dict[str, Json]:
        """Return the wire form; it has no `error` where there was none."""
        told: dict[str, Json] = {
            "stepId": self.step_id,
            "toolName": self.tool_name,
            "arguments": self.arguments,
            "output": self.output,
        }
        return told if self.error is None else {**told, "error": self.error}


async def execute(
    plan: TypedPlan,
    tools: Iterable[AnyTool],
    *,
    approval: Approver | None = None,
    timeout_s: float = 60.0,
    on_status: OnStatus | None = None,
) -> list[StepResult]:
    """Run `plan` and give a result for each step, in the order of the plan.

    A step starts the moment what it refers to is there. A plan that does not pass its check makes
    no call at all: the steps that are wrong say why.

    Args:
        plan: what is run.
        tools: at least the tools that it calls, with their handlers.
        approval: called once with each plan that may change something, before anything
            runs; None refuses all of them. `toolplan.approve` allows them all.
        timeout_s: seconds for each call.
        on_status: told of each step that is `executing`, and what became of it.

    Raises:
        ToolObjectError: one of `tools` is none.
        ApprovalRequired: the plan may change something, and leave for that was not given.
        CannotRun: a tool has no handler.
    """
    known = toolbox(tools)
    compiled = compile_plan(json.dumps(dump(plan)), tools=known)
    if compiled.plan is None:
        return [_refused(step, compiled.diagnostics) for step in plan.steps]
    ledger = CallUsage()
    ended = await run(
        compiled.plan,
        ledger.watch(known.values()),
        approval=approval,
        timeout_s=timeout_s,
        on_event=None if on_status is None else _teller(on_status),
    )
    return [_result(step, ended, ledger) for step in compiled.plan.plan.steps]


def _teller(on_status: OnStatus) -> Callable[[Event], None]:
    def tell(event: Event) -> None:
        match event:
            case StepStarted(step=step):
                on_status(step, "executing")
            case StepSucceeded(step=step, failure=None):
                on_status(step, "done")
            case StepFailed(step=step, failure=failure):
                on_status(step, _told(StepState.FAILED, failure)[0])
            case StepSkipped(step=step):
                on_status(step, "skipped")
            case _:
                pass

    return tell


def _refused(step: TypedStep, diagnostics: Sequence[Diagnostic]) -> StepResult:
    wrong = [each for each in diagnostics if each.blocks and each.step == step.id]
    if any(each.code == "unknown-tool" for each in wrong):
        error = f'Tool "{step.tool}" not found'
    elif wrong:
        error = "Skipped: " + " ".join(each.message for each in wrong)
    else:
        error = UNSATISFIED
    return StepResult(step.id, step.tool, {}, None, error, "skipped")


def _result(step: TypedStep, ended: Run, ledger: CallUsage) -> StepResult:
    at = ended.steps.get(step.id, StepRun())
    arguments = ledger.arguments(step.id)
    called: Json = {} if arguments is None else arguments
    if at.state is StepState.SUCCEEDED and at.error is None:
        return StepResult(step.id, step.tool, called, at.output)
    failure = at.error or Failure("cancelled", "The step was not over when the run ended.")
    status, error = _told(at.state, failure)
    return StepResult(step.id, step.tool, called, None, error, status)


def _told(state: StepState, failure: Failure) -> tuple[Status, str]:
    if state is StepState.SKIPPED:
        return "skipped", UNSATISFIED
    if failure.code in _UNRESOLVED:
        return "skipped", f"Failed to resolve arguments: {failure.message}"
    return "timeout" if failure.code == "timeout" else "failed", failure.message
