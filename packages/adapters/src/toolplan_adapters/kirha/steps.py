"""Steps as the SDK writes them; references are objects with `$fromStep`, or templates.

    {"$fromStep": "0", "$outputKey": "coins.0.id"}
    {"$fromTemplateString": "Weather in {0}", "$values": [{"$fromStep": …, "$outputKey": …}]}

A text that is only one reference is written in the first form, so it keeps the type of the value.
In a template `{{0}}` is the text `{0}`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar, Final, TypeAlias
from typing import Literal as Choice

from msgspec import Struct

from toolplan.base.errors import ToolplanError
from toolplan.plan.diagnostics import Diagnostic
from toolplan.plan.model import Array, Literal, Object, Ref, Template, Value
from toolplan.plan.model import Step as TypedStep
from toolplan.plan.path import Json, Path, copied, print_path

_NUMBER: Final = re.compile(r"(?<![\w.])-?[0-9]+")


class PlannerError(ToolplanError):
    """There is no plan. `diagnostics` say why, if there was a reply to read."""

    CODE: ClassVar[str] = "no-plan"

    def __init__(
        self, message: str, diagnostics: Sequence[Diagnostic] = (), help: str | None = None
    ) -> None:
        super().__init__(self.CODE, message, help)
        self.diagnostics = tuple(diagnostics)


class PlanParseError(PlannerError):
    """The reply has a `<plan>` tag, but its content is not a plan."""

    CODE: ClassVar[str] = "bad-plan"


def missing_step(number: str) -> str:
    """Return the message for a reference to a step that does not exist."""
    return f"Invalid dependency reference: step {number} not found"


def parse_fault(diagnostic: Diagnostic) -> str:
    """Return the message of a diagnostic, in the words of the SDK where it has some."""
    message = diagnostic.message.rstrip(".")
    if diagnostic.code == "unknown-step":
        found = _NUMBER.search(message)
        return missing_step(found[0]) if found else message
    if diagnostic.code in ("syntax", "too-large", "too-deep", "bad-encoding", "field-type"):
        return f"invalid json parsing: {message}"
    return message


_LOOKS_LIKE_A_PLACE: Final = re.compile(r"\{([0-9]+)\}")

Status: TypeAlias = Choice["pending", "executing", "done", "failed", "skipped", "timeout"]


class Step(Struct, frozen=True):
    """One step of a plan, before it runs: the status after the run is in the `StepResult`.

    `step_id` is its position in the plan, counted from 0; references in `arguments` are objects
    (`$fromStep`). `typed` is the step that runs.
    """

    typed: TypedStep
    step_id: str
    tool_name: str
    arguments: dict[str, Any]
    thought: str | None = None
    status: Status = "pending"

    @classmethod
    def of(cls, typed: TypedStep) -> Step:
        """Return a step of a plan as the SDK writes it."""
        arguments = {name: shown(value) for name, value in typed.args.items()}
        return cls(typed, typed.id, typed.tool, arguments, typed.thought)

    def to_json(self) -> dict[str, Json]:
        """Return the wire form."""
        document: dict[str, Json] = {
            "stepId": self.step_id,
            "toolName": self.tool_name,
            "arguments": copied(self.arguments),
            "status": self.status,
        }
        return document if self.thought is None else {**document, "thought": self.thought}


def shown(value: Value) -> Json:
    """Return `value` as the SDK writes it."""
    match value:
        case Literal(constant):
            return copied(constant)
        case Ref(step, path):
            return {"$fromStep": step, "$outputKey": output_key(path)}
        case Template(parts):
            text, values = "", list[Json]()
            for part in parts:
                if isinstance(part, Ref):
                    text += f"{{{len(values)}}}"
                    values.append(shown(part))
                else:
                    text += _LOOKS_LIKE_A_PLACE.sub(r"{{\1}}", part)
            return {"$fromTemplateString": text, "$values": values}
        case Array(items):
            return [shown(item) for item in items]
        case Object(fields):
            return {key: shown(inner) for key, inner in fields}


def output_key(path: Path) -> str:
    """Return a path as an `$outputKey`: `items[0].name`; the whole output is the empty text."""
    return print_path(path).removeprefix(".")
