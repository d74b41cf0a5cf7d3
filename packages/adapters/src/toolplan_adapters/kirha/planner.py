"""The planner as the SDK has it: `await Planner(base_url).generate_plan(query, tools=tools)`.

Its plans run on our engine, with results in the SDK's words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import cached_property
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from toolplan.compiler import compile_plan, parse, to_text
from toolplan.engine import run
from toolplan.events import Failure, Run, StepRun, StepState
from toolplan.plan.canonical import dump
from toolplan.plan.diagnostics import Diagnostic
from toolplan.plan.model import Plan as TypedPlan
from toolplan.plan.model import Step as TypedStep
from toolplan.plan.model import rename_steps
from toolplan.plan.path import Json, copied
from toolplan.planners import Question
from toolplan.planners.llm import kirha_messages
from toolplan.policy.approval import Approver
from toolplan.providers import Model, ModelError, ModelRequest, complete, open_model
from toolplan.schema.tool import Arguments, Toolbox
from toolplan.schema.tool import Tool as TypedTool
from toolplan.schema.tool_call import current_call
from toolplan.tools.search import relevant
from toolplan_adapters.kirha.steps import PlannerError, PlanParseError, Status, Step, parse_fault
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
    status: Status = "timeout" if failure.code == "timeout" else "failed"
    error = failure.message
    if ended.state is StepState.SKIPPED:
        status, error = "skipped", UNSATISFIED
    elif failure.code in _UNRESOLVED:
        status, error = "skipped", f"Failed to resolve arguments: {error}"
    if given is None:
        given = Step.of(planned).arguments if error == UNSATISFIED else {}
    return StepResult(step.id, step.tool, given, None, error, status)


DIALECT = "kirha"
_THINKING = re.compile(r"\s*<think(ing)?>.*?</think(ing)?>", re.DOTALL)
_MARKS = ("<plan>", "toolName")
"""One of these is in every reply that has a plan."""


class Plan(Struct, frozen=True, dict=True):
    """A plan that can be shown, validated and executed. `typed` is the plan that runs."""

    typed: TypedPlan

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps, in the order in which they were written."""
        return tuple(map(Step.of, self.typed.steps))

    @property
    def think(self) -> str | None:
        """The model's thinking before the plan."""
        notes = self.typed.metadata.get("notes")
        return notes if isinstance(notes, str) else None

    async def execute(
        self,
        *,
        tools: Iterable[AnyTool],
        approval: Approver | None = None,
        timeout_s: float = 60.0,
    ) -> list[StepResult]:
        """Run the plan: see `toolplan_adapters.kirha.execute` for arguments and errors."""
        return await execute(self.typed, tools, approval=approval, timeout_s=timeout_s)

    def to_json(self) -> list[Json]:
        """Return the wire form: the list of steps."""
        return [step.to_json() for step in self.steps]

    @property
    def text(self) -> str:
        """The plan in the canonical form, for `toolplan check`, `show` and `run`."""
        return to_text(self.typed)


def parse_plan(text: str) -> Plan | None:
    """Read a model's reply, `<think>…</think><plan>[…]</plan>`; None if no plan is written in it.

    Of several plans the first is read. A list of steps without the tag is a plan too.

    Raises:
        PlannerError: the plan has no steps.
        PlanParseError: the tag holds no plan, or the plan refers to a step that does not exist.
    """
    said = _THINKING.sub("", text)
    if not any(mark in said for mark in _MARKS):
        return None
    parsed = parse(text, DIALECT)
    if parsed.plan is None or any(each.blocks for each in parsed.diagnostics):
        blocking = [each for each in parsed.diagnostics if each.blocks]
        if any(each.code == "empty-plan" for each in blocking):
            raise PlannerError("No plan generated", blocking)
        raise PlanParseError("; ".join(dict.fromkeys(map(parse_fault, blocking))), blocking)
    names = {step.id: str(at) for at, step in enumerate(parsed.plan.steps)}
    return Plan(rename_steps(parsed.plan, names))


DEFAULT_MODEL: Final = "kirha/planner"
MAX_TOKENS: Final = 10_000


class Planner:
    """Asks a model that was trained for planning for a whole plan, in one call."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        model: str = DEFAULT_MODEL,
        *,
        endpoint: Model | None = None,
        today: Callable[[], date] = date.today,
    ) -> None:
        """Open the endpoint.

        Args:
            base_url: of any endpoint that is compatible with OpenAI: `http://localhost:8080/v1`.
            api_key: its key, if it needs one.
            model: the model's name at the endpoint.
            endpoint: a model to use in place of the one at `base_url`.
            today: returns the date of the question.

        Raises:
            ModelError: the address is not valid.
        """
        self.model = model
        if endpoint is None:
            address = urlsplit(base_url)
            keys = {f"{address.scheme}://{address.netloc}": api_key} if api_key else {}
            endpoint = open_model(f"{base_url}#{model}", keys=keys)
        self._endpoint = endpoint
        self._today = today

    async def generate_plan(
        self,
        query: str,
        *,
        tools: Iterable[AnyTool],
        instructions: str | None = None,
        temperature: float = 0.0,
        max_tokens: int = MAX_TOKENS,
    ) -> Plan | None:
        """Return the model's plan for `query` as it was written, or None if it wrote none.

        The plan was parsed, but not compared with the tools: use `is_valid_plan`. `execute` runs
        only a plan that passes.

        Args:
            query: the question.
            tools: the tools that the plan may call.
            instructions: more instructions for the model.
            temperature: of the model; 0 for the most likely words.
            max_tokens: the maximum number of tokens of its reply.

        Raises:
            PlannerError: there was no response ("No response from model"), or it or its plan is
                empty ("No plan generated").
            PlanParseError: the plan's tag holds no plan.
            ModelError: the endpoint failed.
        """
        question = Question(query, self._today().isoformat())
        shown = relevant(toolbox(tools), query)
        messages = kirha_messages(question, shown, (), instructions=instructions or "")
        request = ModelRequest(messages, None, temperature, max_tokens)
        try:
            reply = await complete(self._endpoint, request)
        except ModelError as error:
            if error.code != "llm-bad-response":  # an answer without choices, for instance
                raise
            raise PlannerError("No response from model", help=error.with_help) from error
        if not reply.text.strip():
            raise PlannerError("No plan generated")
        return parse_plan(reply.text)
