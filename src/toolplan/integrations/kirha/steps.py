"""Steps as the SDK has them, and the plan that they form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal as Choice
from typing import TypeAlias

from msgspec import Struct

from toolplan.errors import ToolplanError
from toolplan.integrations.kirha.values import ValueSyntaxError, output_key, read, shown
from toolplan.path import Json, json_type
from toolplan.plan import Literal, Value, escape_pointer
from toolplan.plan import Plan as TypedPlan
from toolplan.plan import Step as TypedStep

Status: TypeAlias = Choice["pending", "executing", "done", "failed", "skipped", "timeout"]


class Step(Struct, frozen=True):
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
    """Not a valid step.

    `step` is its name or position, `tool` its tool, `argument` the path to the bad argument, and
    `pointer` the place in the plan that could not be read.
    """

    def __init__(
        self, message: str, step: str, pointer: str, tool: str | None = None, argument: str = ""
    ) -> None:
        super().__init__("bad-step", message)
        self.step = step
        self.pointer = pointer
        self.tool = tool
        self.argument = argument


def typed_plan(steps: Sequence[AnyStep]) -> TypedPlan:
    """Return the plan of these steps.

    Raises:
        StepSyntaxError: one of them is not a step.
    """
    plan, errors = read_steps(steps)
    for error in errors:
        raise error
    return plan


def read_steps(steps: Sequence[AnyStep]) -> tuple[TypedPlan, tuple[StepSyntaxError, ...]]:
    """Return the plan of these steps, and all that could not be read.

    What could not be read is null in the plan, or a step without a tool.
    """
    errors: list[StepSyntaxError] = []
    typed = tuple(_typed(step, at, errors) for at, step in enumerate(steps))
    return TypedPlan(typed), tuple(errors)


def _typed(step: AnyStep, at: int, errors: list[StepSyntaxError]) -> TypedStep:
    if isinstance(step, Step):
        return step.typed
    place = f"/steps/{at}"
    name, tool = step.get("stepId", str(at)), step.get("toolName")
    arguments, thought = step.get("arguments", {}), step.get("thought")
    if not isinstance(name, str):
        said = f"'stepId' is {json_type(name)}, not a string."
        name = str(at)
        errors.append(StepSyntaxError(said, name, f"{place}/id"))
    if not isinstance(tool, str):
        said = f"'toolName' is {json_type(tool)}, not a string."
        tool = ""
        errors.append(StepSyntaxError(said, name, place))
    if not isinstance(arguments, Mapping):
        said = f"'arguments' is {json_type(arguments)}, not an object."
        arguments = {}
        errors.append(StepSyntaxError(said, name, f"{place}/args", tool))
    args: dict[str, Value] = {}
    for argument, value in arguments.items():
        try:
            args[argument] = read(value, (argument,))
        except ValueSyntaxError as error:
            args[argument] = Literal(None)
            pointer = f"{place}/args/{escape_pointer(argument)}"
            where = output_key(error.place)
            errors.append(StepSyntaxError(f"{error}.", name, pointer, tool, where))
    return TypedStep(name, tool, args, thought=thought if isinstance(thought, str) else None)
