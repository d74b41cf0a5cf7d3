"""Steps as the SDK writes them; references are objects with `$fromStep`, or templates.

    {"$fromStep": "0", "$outputKey": "coins.0.id"}
    {"$fromTemplateString": "Weather in {0}", "$values": [{"$fromStep": …, "$outputKey": …}]}

A text that is only one reference is written in the first form, so it keeps the type of the value.
In a template `{{0}}` is the text `{0}`. An object with only one of the two keys is data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias
from typing import Literal as Choice

from msgspec import Struct, field, to_builtins

from toolplan.dialects.paths import without_gaps
from toolplan.errors import ToolplanError
from toolplan.path import Json, Path, PathSyntaxError, copied, parse_path, print_path
from toolplan.plan import (
    Array,
    Literal,
    Object,
    Ref,
    Template,
    Value,
    array,
    escape_pointer,
    object_,
    template,
)
from toolplan.plan import Plan as TypedPlan
from toolplan.plan import Step as TypedStep
from toolplan_adapters._convert import Misfit, convert

_PLACE: Final = re.compile(r"\{\{(?P<text>[0-9]+)\}\}|\{(?P<at>[0-9]+)\}")
_LOOKS_LIKE_A_PLACE: Final = re.compile(r"\{([0-9]+)\}")
_REF: Final = frozenset({"$fromStep", "$outputKey"})
_TEMPLATE: Final = frozenset({"$fromTemplateString", "$values"})
_FORMS: Final = (
    "a reference is {'$fromStep': id, '$outputKey': path}, and a template"
    " {'$fromTemplateString': text, '$values': [references]}"
)


class ValueSyntaxError(ToolplanError):
    """Not a valid structured reference. `place` is the path to it in the value."""

    def __init__(self, message: str, place: Path) -> None:
        super().__init__("reference-syntax", message)
        self.place = place


def shown(value: Value) -> Json:
    """Return `value` as the SDK writes it."""
    match value:
        case Literal(constant):
            return copied(constant)
        case Ref() as ref:
            return _shown_ref(ref)
        case Template(parts):
            return _shown_template(parts)
        case Array(items):
            return [shown(item) for item in items]
        case Object(fields):
            return {key: shown(inner) for key, inner in fields}


def read(value: Json, place: Path = ()) -> Value:
    """Return the value that the SDK writes as `value`, which stands at `place`.

    Raises:
        ValueSyntaxError: an object that looks like a reference is not valid.
    """
    match value:
        case {"$fromStep": str() | int() as step, "$outputKey": str(key), **more} if (
            not more and not isinstance(step, bool)
        ):
            try:
                path = parse_path(without_gaps(key if key[:1] in ("", ".", "[") else f".{key}"))
            except PathSyntaxError as error:
                raise ValueSyntaxError(f"{key!r} is not a path: {error}", place) from None
            return Ref(str(step), path)
        case {"$fromTemplateString": str(text), "$values": list(values), **more} if (
            not more and all(isinstance(each, dict) and each.keys() >= _REF for each in values)
        ):
            refs = [read(each, place) for each in values]
            return _read_template(text, [each for each in refs if isinstance(each, Ref)])
        case dict() if value.keys() >= _REF or isinstance(
            value.get("$values") if value.keys() >= _TEMPLATE else None, list
        ):
            raise ValueSyntaxError(_FORMS, place)
        case dict():
            return object_(tuple((key, read(inner, (*place, key))) for key, inner in value.items()))
        case list():
            return array(tuple(read(inner, (*place, at)) for at, inner in enumerate(value)))
        case _:
            return Literal(value)


def output_key(path: Path) -> str:
    """Return a path as an `$outputKey`: `items[0].name`; the whole output is the empty text."""
    return print_path(path).removeprefix(".")


def _shown_ref(ref: Ref) -> dict[str, Json]:
    return {"$fromStep": ref.step, "$outputKey": output_key(ref.path)}


def _shown_template(parts: tuple[str | Ref, ...]) -> Json:
    text, values = "", list[Json]()
    for part in parts:
        if isinstance(part, Ref):
            text += f"{{{len(values)}}}"
            values.append(_shown_ref(part))
        else:
            text += _LOOKS_LIKE_A_PLACE.sub(r"{{\1}}", part)
    return {"$fromTemplateString": text, "$values": values}


def _read_template(text: str, refs: Sequence[Ref]) -> Value:
    parts: list[str | Ref] = []
    end = 0
    for found in _PLACE.finditer(text):
        parts.append(text[end : found.start()])
        at = found["at"]
        if at is None:
            parts.append(f"{{{found['text']}}}")
        else:
            parts.append(refs[int(at)] if int(at) < len(refs) else found[0])
        end = found.end()
    return template((*parts, text[end:]))


Status: TypeAlias = Choice["pending", "executing", "done", "failed", "skipped", "timeout"]


class Step(Struct, frozen=True, rename="camel"):
    """One step of a plan, before it runs.

    Attributes:
        step_id: the step's name: its position in the plan, counted from 0.
        tool_name: the tool that it calls.
        arguments: the arguments; references are objects (`$fromStep`).
        thought: the model's note on the step; it is never executed.
        status: always `pending`: the status after the run is in the `StepResult`.
    """

    step_id: str
    tool_name: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    thought: str | None = None
    status: Status = "pending"

    @classmethod
    def of(cls, typed: TypedStep) -> Step:
        """Return a step of a plan as the SDK writes it."""
        arguments = {name: shown(value) for name, value in typed.args.items()}
        return cls(typed.id, typed.tool, arguments, typed.thought)

    def to_json(self) -> dict[str, Json]:
        """Return the wire form."""
        document: dict[str, Json] = to_builtins(self)
        return {name: value for name, value in document.items() if value is not None}


AnyStep: TypeAlias = Step | Mapping[str, Json]
"""A step, or its wire form."""


class StepProblem(NamedTuple):
    """A part of a step that cannot be read.

    `step` is its name or position, `argument` the path to the bad argument, and `pointer` the
    place in the plan.
    """

    message: str
    step: str
    pointer: str
    tool: str | None = None
    argument: str | None = None


def read_steps(steps: Sequence[AnyStep]) -> tuple[TypedPlan, list[StepProblem]]:
    """Return the plan of these steps, and all that could not be read.

    What could not be read is null in the plan, or a step without a tool.
    """
    problems: list[StepProblem] = []

    def typed(at: int, step: AnyStep) -> TypedStep:
        place = f"/steps/{at}"
        try:
            found = step if isinstance(step, Step) else convert({"stepId": f"{at}", **step}, Step)
        except Misfit as error:
            name = step.get("stepId") if isinstance(step, Mapping) else None
            name = name if isinstance(name, str) else str(at)
            problems.append(StepProblem(str(error), name, place))
            return TypedStep(name, "")
        args: dict[str, Value] = {}
        for argument, value in found.arguments.items():
            try:
                args[argument] = read(value, (argument,))
            except ValueSyntaxError as error:
                args[argument] = Literal(None)
                pointer = f"{place}/args/{escape_pointer(argument)}"
                where = output_key(error.place)
                given = found.step_id, pointer, found.tool_name, where
                problems.append(StepProblem(f"{error}.", *given))
        return TypedStep(found.step_id, found.tool_name, args, thought=found.thought)

    return TypedPlan(tuple(typed(at, step) for at, step in enumerate(steps))), problems
