"""Checking a plan against its tools, with the six error codes of the SDK.

    tool_not_found             the tool does not exist
    schema_parse_error         a tool's schema cannot be used
    dependency_step_missing    a reference to no step, to its own step, or in a cycle
    input_key_missing          an unknown argument, or a required one that is missing
    output_key_missing         a path that the step's output does not have
    type_mismatch              a value or a reference of the wrong type

All errors are collected. Other diagnostics (such as a secret in an argument) keep their own code,
with underscores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct, to_builtins

from toolplan.compiler import fix
from toolplan.compiler.rules import PlanContext
from toolplan.plan.diagnostics import Diagnostic
from toolplan.plan.model import Plan, object_, split_pointer, value_inside
from toolplan.plan.path import Json, Path
from toolplan.schema import Absent, Schema, at, types_of
from toolplan_adapters.kirha.steps import Step, missing_step, output_key, shown
from toolplan_adapters.kirha.tools import AnyTool, toolbox

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


class PlanValidationError(Struct, frozen=True, rename="camel", omit_defaults=True):
    """One error of a plan.

    `argument_path` is the place in the arguments of the step (`items[0].name`), `from_step_id` and
    `output_path` what is referred to; types are those of JSON: `string`, `number | null`.
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
        """Return the wire form, without fields that are None."""
        return to_builtins(self)


class PlanValidationResult(Struct, frozen=True):
    """Whether a plan is valid, and all its errors."""

    valid: bool
    errors: tuple[PlanValidationError, ...]

    def to_json(self) -> dict[str, Json]:
        """Return the wire form."""
        return {"valid": self.valid, "errors": [each.to_json() for each in self.errors]}


def is_valid_plan(steps: Sequence[Step], tools: Iterable[AnyTool]) -> PlanValidationResult:
    """Check `steps` against `tools` and return all errors.

    Errors with a safe fix (`"5"` for a number) are left out, because `execute` applies it.

    Raises:
        ToolObjectError: one of `tools` is not a tool.
    """
    known = toolbox(tools)
    plan = Plan(tuple(step.typed for step in steps))
    context = PlanContext(plan, known)
    errors = tuple(
        _error(each, context)
        for each in fix(plan, known).diagnostics
        if each.blocks or each.code == "output-schema"
    )
    return PlanValidationResult(not errors, errors)


def _error(diagnostic: Diagnostic, context: PlanContext) -> PlanValidationError:
    step = context.steps.get(diagnostic.step or "")
    tool = None if step is None else step.tool
    path, value = _located(context.plan, split_pointer(diagnostic.pointer))
    uses = [each for each in context.uses if each.pointer == diagnostic.pointer]
    uses = [each for each in uses if each.text in diagnostic.message] or uses
    ref = uses[0].ref if uses else None
    message = diagnostic.message
    if diagnostic.code == "unknown-tool":
        message = f'Tool "{tool}" not found'
    elif diagnostic.code == "unknown-step" and ref is not None:
        message = missing_step(ref.step)
    code = _CODES.get(diagnostic.code, diagnostic.code.replace("-", "_"))
    expected = actual = None
    if code == "type_mismatch" and uses:
        expected = _types(uses[0].taken)
        actual = _types(uses[0].given) if uses[0].whole else "string"
    elif code == "type_mismatch":
        known = context.tools.get(tool) if tool is not None and context.tools is not None else None
        is_usable = known is not None and known.unusable is None
        expected = _types(at(known.input, path)) if known is not None and is_usable else None
        actual = _types(Schema.load({"const": value}))
    return PlanValidationError(
        code,
        message,
        diagnostic.step,
        tool,
        output_key(path) or None,
        None if ref is None else ref.step,
        None if ref is None else output_key(ref.path),
        expected,
        actual,
    )


def _located(plan: Plan, tokens: tuple[str, ...]) -> tuple[Path, Json]:
    """Return the path to an argument, and its wire form; no path for another place."""
    if tokens[:1] != ("steps",) or tokens[2:3] != ("args",):
        return (), None
    args = object_(tuple(plan.steps[int(tokens[1])].args.items()))
    path, value = value_inside(args, tokens[3:])
    return path, None if value is None else shown(value)


def _types(schema: Schema | Absent | None) -> str | None:
    if not isinstance(schema, Schema):
        return None
    types = {str(each) for each in types_of(schema)}
    return " | ".join(sorted(types - {"integer"} if "number" in types else types))
