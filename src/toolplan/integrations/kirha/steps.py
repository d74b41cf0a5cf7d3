"""Steps as the SDK has them, and the plan that they form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolplan.errors import ToolplanError
from toolplan.integrations.kirha.values import ValueSyntaxError, read, shown
from toolplan.path import Json, json_type
from toolplan.plan import Plan as TypedPlan
from toolplan.plan import Step as TypedStep
from toolplan.plan import Value

Status: TypeAlias = Literal["pending", "executing", "done", "failed", "skipped", "timeout"]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a plan, before it runs. `typed` is the step that runs."""

    typed: TypedStep

    @property
    def step_id(self) -> str:
        """The step's name: its position in the plan, counted from 0."""
        return self.typed.id

    @property
    def tool_name(self) -> str:
        """The tool that it calls."""
        return self.typed.tool

    @property
    def arguments(self) -> dict[str, Json]:
        """The arguments; references are objects (`toolplan.integrations.kirha.values`)."""
        return {name: shown(value) for name, value in self.typed.args.items()}

    @property
    def thought(self) -> str | None:
        """The model's note on the step; it is never executed."""
        return self.typed.thought

    @property
    def status(self) -> Status:
        """Always `pending`: the status after the run is in the `StepResult`."""
        return "pending"

    def to_json(self) -> dict[str, Json]:
        """Return the wire form."""
        document: dict[str, Json] = {
            "stepId": self.step_id,
            "toolName": self.tool_name,
            "arguments": self.arguments,
            "status": self.status,
        }
        return document if self.thought is None else {**document, "thought": self.thought}


AnyStep: TypeAlias = Step | Mapping[str, Json]
"""A step, or its wire form."""


class StepSyntaxError(ToolplanError):
    """Not a valid step. `step` is its name or position, `argument` the place in it."""

    def __init__(self, message: str, step: str, argument: str = "") -> None:
        super().__init__("bad-step", message)
        self.step = step
        self.argument = argument


def typed_plan(steps: Sequence[AnyStep]) -> TypedPlan:
    """Return the plan of these steps.

    Raises:
        StepSyntaxError: one of them is not a step.
    """
    return TypedPlan(tuple(_typed(step, at) for at, step in enumerate(steps)))


def _typed(step: AnyStep, at: int) -> TypedStep:
    if isinstance(step, Step):
        return step.typed
    name, tool = step.get("stepId", str(at)), step.get("toolName")
    arguments, thought = step.get("arguments", {}), step.get("thought")
    if not isinstance(name, str):
        raise StepSyntaxError(f"'stepId' is {json_type(name)}, not a string.", str(at))
    if not isinstance(tool, str):
        raise StepSyntaxError(f"'toolName' is {json_type(tool)}, not a string.", name)
    if not isinstance(arguments, Mapping):
        raise StepSyntaxError(f"'arguments' is {json_type(arguments)}, not an object.", name)
    args: dict[str, Value] = {}
    for argument, value in arguments.items():
        try:
            args[argument] = read(value)
        except ValueSyntaxError as error:
            raise StepSyntaxError(f"{error}.", name, argument) from None
    return TypedStep(name, tool, args, thought=thought if isinstance(thought, str) else None)
