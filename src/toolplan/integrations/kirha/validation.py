"""Holding a plan against its tools, told in the six codes of the SDK.

    tool_not_found             there is no such tool
    schema_parse_error         a tool's schema cannot be used
    dependency_step_missing    a reference is to no step, to its own, or part of a circle
    input_key_missing          an argument that the tool lacks, or that it needs and is not given
    output_key_missing         a path that the step's output does not have
    type_mismatch              a value or a reference of another type than is taken

All errors are collected. What our check finds besides (a secret written out, say) keeps its own
code, with underscores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final

from toolplan.compiler import mend
from toolplan.diagnostics import Diagnostic
from toolplan.integrations.kirha.errors import missing_step
from toolplan.integrations.kirha.steps import AnyStep, StepSyntaxError, typed_plan
from toolplan.integrations.kirha.tools import AnyTool, toolbox
from toolplan.integrations.kirha.values import output_key
from toolplan.path import Json
from toolplan.plan import Literal, Ref, split_pointer, value_at
from toolplan.rules import PlanContext
from toolplan.schema import Absent, Schema, at, types_of

_CODES: Final[Mapping[str, str]] = {
    "unknown-tool": "tool_not_found",
    "tool-not-allowed": "tool_not_found",
    "tool-schema": "schema_parse_error",
    "output-schema": "schema_parse_error",
    "unknown-step": "dependency_step_missing",
    "self-reference": "dependency_step_missing",
    "cycle": "dependency_step_missing",
    "unknown-argument": "input_key_missing",
    "missing-argument": "input_key_missing",
    "unknown-output": "output_key_missing",
    "not-a-list": "output_key_missing",
    "argument-type": "type_mismatch",
    "argument-value": "type_mismatch",
    "list-into-scalar": "type_mismatch",
    "reference-type": "type_mismatch",
}
_WIRE_NAMES: Final[Mapping[str, str]] = {
    "step_id": "stepId",
    "tool_name": "toolName",
    "argument_path": "argumentPath",
    "from_step_id": "fromStepId",
    "output_path": "outputPath",
    "expected_type": "expectedType",
    "actual_type": "actualType",
}


@dataclass(frozen=True, slots=True)
class PlanValidationError:
    """One thing that is wrong with a plan.

    Attributes:
        code: one of the six codes.
        message: what is wrong, as a sentence.
        step_id: the step that it is in.
        tool_name: what that step calls.
        argument_path: where in its arguments: `where.city`.
        from_step_id: the step that is referred to.
        output_path: the part of its output that is referred to.
        expected_type: the JSON types that are taken there: `string`, `number | null`.
        actual_type: the JSON types of what is given.
    """

    code: str
    message: str
    step_id: str | None = None
    tool_name: str | None = None
    argument_path: str | None = None
    from_step_id: str | None = None
    output_path: str | None = None
    expected_type: str | None = None
    actual_type: str | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the wire form, without what is not known."""
        told: dict[str, Json] = {}
        for each in fields(self):
            value: str | None = getattr(self, each.name)
            if value is not None:
                told[_WIRE_NAMES.get(each.name, each.name)] = value
        return told


@dataclass(frozen=True, slots=True)
class PlanValidationResult:
    """Whether a plan is valid, and all that is wrong with it."""

    valid: bool
    errors: tuple[PlanValidationError, ...]

    def to_json(self) -> dict[str, Json]:
        """Return the wire form."""
        return {"valid": self.valid, "errors": [each.to_json() for each in self.errors]}


def is_valid_plan(steps: Sequence[AnyStep], tools: Iterable[AnyTool]) -> PlanValidationResult:
    """Hold `steps` against `tools`, and give all that is wrong.

    What can be mended without a doubt (`"5"` for a number, say) is no error: `execute` mends it.

    Raises:
        ToolObjectError: one of `tools` is none.
    """
    known = toolbox(tools)
    try:
        plan = typed_plan(steps)
    except StepSyntaxError as error:
        argument = error.argument or None
        wrong = PlanValidationError("type_mismatch", str(error), error.step, None, argument)
        return PlanValidationResult(False, (wrong,))
    context = PlanContext(plan, known)
    errors = tuple(
        _error(each, context)
        for each in mend(plan, known).diagnostics
        if each.blocks or each.code == "output-schema"
    )
    return PlanValidationResult(not errors, errors)


def _error(diagnostic: Diagnostic, context: PlanContext) -> PlanValidationError:
    code = _CODES.get(diagnostic.code, diagnostic.code.replace("-", "_"))
    tokens = split_pointer(diagnostic.pointer)
    step = context.steps.get(diagnostic.step or "")
    tool = None if step is None else step.tool
    place = tokens[3:] if tokens[2:3] == ("args",) else ()
    argument = ".".join(place) or None
    used = next((u for u in context.uses if u.pointer == diagnostic.pointer), None)
    if used is not None:
        named = [
            u for u in context.uses if u.pointer == used.pointer and u.text in diagnostic.message
        ]
        used = (named or [used])[0]
    if used is None:
        taken = _taken(context, tool, place)
        given = value_at(context.plan, diagnostic.pointer) if place else None
        actual = _types(_constant(given.value)) if isinstance(given, Literal) else None
        is_typed = code == "type_mismatch"
        return PlanValidationError(
            code,
            _message(diagnostic, tool, None),
            diagnostic.step,
            tool,
            argument,
            expected_type=_types(taken) if is_typed else None,
            actual_type=actual if is_typed else None,
        )
    return PlanValidationError(
        code,
        _message(diagnostic, tool, used.ref),
        diagnostic.step,
        tool,
        argument,
        used.ref.step,
        output_key(used.ref.path),
        _types(used.taken) if code == "type_mismatch" else None,
        (_types(used.given) if used.whole else "string") if code == "type_mismatch" else None,
    )


def _message(diagnostic: Diagnostic, tool: str | None, ref: Ref | None) -> str:
    if diagnostic.code == "unknown-tool":
        return f'Tool "{tool}" not found'
    if diagnostic.code == "unknown-step" and ref is not None:
        return missing_step(ref.step)
    return diagnostic.message


def _taken(
    context: PlanContext, tool: str | None, place: tuple[str, ...]
) -> Schema | Absent | None:
    known = None if tool is None or context.tools is None else context.tools.get(tool)
    if known is None or known.unusable is not None:
        return None
    path = tuple(int(token) if token.isdigit() else token for token in place)
    return at(known.input, path)


def _constant(value: Json) -> Schema:
    return Schema.load({"const": value})


def _types(schema: Schema | Absent | None) -> str | None:
    if not isinstance(schema, Schema):
        return None
    types = {str(each) for each in types_of(schema)}
    return " | ".join(sorted(types - {"integer"} if "number" in types else types))
