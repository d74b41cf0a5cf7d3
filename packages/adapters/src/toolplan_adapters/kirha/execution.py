"""Running a plan of the SDK on our engine, with results in the SDK's words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from toolplan.compiler import compile_plan
from toolplan.engine import run
from toolplan.events import Failure, Run, StepRun, StepState
from toolplan.plan.canonical import dump
from toolplan.plan.diagnostics import Diagnostic
from toolplan.plan.model import Plan as TypedPlan
from toolplan.plan.model import Step as TypedStep
from toolplan.plan.path import Json, copied
from toolplan.policy.approval import Approver
from toolplan.schema.tool import Arguments, Toolbox
from toolplan.schema.tool import Tool as TypedTool
from toolplan.schema.tool_call import current_call
from toolplan_adapters.kirha.steps import Status, Step
from toolplan_adapters.kirha.tools import AnyTool, toolbox

UNSATISFIED: Final = "Skipped: dependencies not satisfied"
_UNRESOLVED: Final = frozenset(
    {"reference-missing", "argument-type", "argument-value", "missing-argument"}
    | {"unknown-argument", "not-a-list", "too-many-items", "value-too-large"}
)


class StepResult(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The result of one step.

    Attributes:
        step_id: the step's name.
        tool_name: the tool that it calls.
        arguments: the arguments of the call, references filled in; a list of objects if the step
            made a call for each item of a list. A step that is skipped because of another one has
            them as they were planned. All others that made no call have none.
        output: the tool's output, or None.
        error: why there is no output, or None.
        status: `done`, `failed`, `skipped` or `timeout`.
    """

    step_id: str
    tool_name: str
    arguments: Json
    output: Json
    error: str | None = None
    status: Status = "done"

    def to_json(self) -> dict[str, Json]:
        """Return the wire form, without `error` if there is none."""
        fields: dict[str, Json] = to_builtins(self)
        return {name: value for name, value in fields.items() if name != "status"}


async def execute(
    plan: TypedPlan,
    tools: Iterable[AnyTool],
    *,
    approval: Approver | None = None,
    timeout_s: float = 60.0,
) -> list[StepResult]:
    """Run `plan` and return a result for each step, in the order of the plan.

    A step starts as soon as its references are available. A plan that does not pass its check makes
    no call: the results of the faulty steps say why.

    Args:
        plan: the plan.
        tools: at least the tools that it calls, with their handlers.
        approval: called once, before anything runs, with a plan that has effects; None refuses
            such plans. `toolplan.approve` approves all of them.
        timeout_s: seconds for each call.

    Raises:
        ToolObjectError: one of `tools` is not a tool.
        ApprovalRequired: the plan has effects and was not approved.
        CannotRun: a tool has no handler.
    """
    known = toolbox(tools)
    compiled = compile_plan(json.dumps(dump(plan)), tools=known)
    if compiled.plan is None:
        return [_refused(step, compiled.diagnostics) for step in plan.steps]
    # the arguments of each call of the run, by step and item; events hold outputs only
    made: dict[str, dict[int | None, Arguments]] = {}
    recorded = Toolbox(_recorded(tool, made) for tool in known.values())
    run_ = await run(compiled.plan, recorded, approval=approval, timeout_s=timeout_s)
    return [
        _result(planned, step, run_, made.get(step.id, {}))
        for planned, step in zip(plan.steps, compiled.plan.plan.steps, strict=True)
    ]


def _refused(step: TypedStep, diagnostics: Sequence[Diagnostic]) -> StepResult:
    found = [each for each in diagnostics if each.blocks and each.step == step.id]
    if any(each.code == "unknown-tool" for each in found):
        error = f'Tool "{step.tool}" not found'
        return StepResult(step.id, step.tool, {}, None, error, "skipped")
    error = "Skipped: " + " ".join(each.message for each in found) if found else UNSATISFIED
    return StepResult(step.id, step.tool, Step.of(step).arguments, None, error, "skipped")


def _recorded(tool: TypedTool, made: dict[str, dict[int | None, Arguments]]) -> TypedTool:
    """Return `tool` with the arguments of its calls added to `made`."""
    call = tool.call
    if call is None:
        return tool

    async def recorded(arguments: Arguments) -> Json:
        current = current_call()
        if current is not None:
            made.setdefault(current.step, {})[current.item] = dict(arguments)
        return await call(arguments)

    return replace(tool, call=recorded)


def _result(
    planned: TypedStep, step: TypedStep, run_: Run, made: Mapping[int | None, Arguments]
) -> StepResult:
    ended = run_.steps.get(step.id, StepRun())
    given: Json = [copied(made[item]) for item in sorted(at for at in made if at is not None)]
    given = copied(made[None]) if None in made else given or None
    if ended.state is StepState.SUCCEEDED and ended.error is None:
        return StepResult(step.id, step.tool, {} if given is None else given, ended.output)
    failure = ended.error or Failure("cancelled", "The step was not over when the run ended.")
    status, error = _status(ended.state, failure)
    if given is None:
        given = Step.of(planned).arguments if error == UNSATISFIED else {}
    return StepResult(step.id, step.tool, given, None, error, status)


def _status(state: StepState, failure: Failure) -> tuple[Status, str]:
    if state is StepState.SKIPPED:
        return "skipped", UNSATISFIED
    if failure.code in _UNRESOLVED:
        return "skipped", f"Failed to resolve arguments: {failure.message}"
    return "timeout" if failure.code == "timeout" else "failed", failure.message
