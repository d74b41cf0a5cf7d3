"""Steps as the SDK has them, and the plan that they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolplan.integrations.kirha.values import ValueSyntaxError, read, shown
from toolplan.path import Json, json_type
from toolplan.plan import Plan as TypedPlan
from toolplan.plan import Step as TypedStep
from toolplan.plan import Value

Status: TypeAlias = Literal["pending", "executing", "done", "failed", "skipped", "timeout"]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a plan, before it runs. `typed` is our step, which is what runs."""

    typed: TypedStep

    @property
    def step_id(self) -> str:
        """Its name: its position in the plan, counted from 0."""
        return self.typed.id

    @property
    def tool_name(self) -> str:
        """What is called."""
        return self.typed.tool

    @property
    def arguments(self) -> dict[str, Json]:
        """What it is called with; references are objects (`toolplan.integrations.kirha.values`)."""
        return {name: shown(value) for name, value in self.typed.args.items()}

    @property
    def thought(self) -> str | None:
        """What the model thought of it; it is never executed."""
        return self.typed.thought

    @property
    def status(self) -> Status:
        """Always `pending`: what became of a step is told by its result."""
        return "pending"

    def to_json(self) -> dict[str, Json]:
        """Return the wire form."""
        told: dict[str, Json] = {
            "stepId": self.step_id,
            "toolName": self.tool_name,
            "arguments": self.arguments,
            "status": self.status,
        }
        return told if self.thought is None else {**told, "thought": self.thought}


AnyStep: TypeAlias = Step | Mapping[str, Json]
"""A step, or its wire form."""


class StepSyntaxError(ValueError):
    """What was given is no step; `step` is its name or position, `argument` the place in it."""

    def __init__(self, message: str, step: str, argument: str = "") -> None:
        super().__init__(message)
        self.step = step
        self.argument = argument


def typed_plan(steps: Sequence[AnyStep]) -> TypedPlan:
    """Return the plan that `steps` say.

    Raises:
        StepSyntaxError: one of them is none.
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
    return TypedStep(
        name,
        tool,
        {key: _value(key, value, name) for key, value in arguments.items()},
        thought=thought if isinstance(thought, str) else None,
    )


def _value(argument: str, value: Json, step: str) -> Value:
    try:
        return read(value)
    except ValueSyntaxError as error:
        raise StepSyntaxError(f"{error}.", step, argument) from None
