"""The dialect of the Clear AI planner.

`{"steps": [{"tool", "params", "depends_on", "parallel"}], "metadata": {…}}`. Steps have no ids and
are read as `s0`, `s1`, … by position. A reference is `${step[0].data.*.id}`: what follows `step[N]`
is the path in the tool's output, literally. `parallel` is advice: it is derived when a plan is
printed, and means nothing when one is read.
"""

from __future__ import annotations

import re
from typing import Final

from toolplan.dialects import form, has_key, json_text
from toolplan.dialects.form import JsonSteps, all_steps
from toolplan.dialects.toolplan import is_clear, is_plan
from toolplan.plan.canonical import (
    OPENING,
    Parsed,
    ReferenceSyntaxError,
    Report,
    StepFields,
    Syntax,
    check_depth,
    in_braces,
    read_metadata,
    read_steps,
)
from toolplan.plan.diagnostics import Diagnostic, Severity
from toolplan.plan.model import Limits, Plan, Step, needs, positional, step_refs
from toolplan.plan.path import EVERY, Json, copied, json_type, print_path

_PLAN_FIELDS: Final = ("steps", "metadata")
_DEPENDS_ON: Final = ("depends_on", "dependsOn")
_STEP_FIELDS: Final = ("tool", "params", *_DEPENDS_ON, "parallel")
_OTHER_NAMES: Final = {
    "args": "params",
    "arguments": "params",
    "parameters": "params",
    "input": "params",
    "name": "tool",
    "toolName": "tool",
    "tool_name": "tool",
    "action": "tool",
    "after": "depends_on",
    "dependencies": "depends_on",
}
_STEP = re.compile(r"step\[(0|[1-9][0-9]{0,8})\]")
_NEGATIVE = re.compile(r"step\[\s*-")


def load(document: Json, _: form.Signatures | None, limits: Limits) -> Parsed:
    """Return the plan that `document`, a plan in Clear's form, says. Never raises."""
    report = Report()
    if not isinstance(document, dict):
        report.error("field-type", f"A plan is an object, not {json_type(document)}.")
        return Parsed(None, report.diagnostics)
    report.unknown_fields(document, _PLAN_FIELDS, "")
    items = read_steps(document, limits, report)
    if items is None or not check_depth(document, limits.depth, report):
        return Parsed(None, report.diagnostics)
    steps = all_steps(items, _Steps(report))
    metadata = read_metadata(document, report)
    if "created_at" in metadata:
        report.error(
            "unknown-field",
            "There is no field 'created_at'.",
            "/metadata/created_at",
            help="Did you mean 'timestamp'?",
        )
    metadata = {"created_at" if key == "timestamp" else key: v for key, v in metadata.items()}
    return Parsed(Plan(steps, None, metadata), report.diagnostics)


def dump(plan: Plan) -> dict[str, Json]:
    """Return Clear's form of `plan`, which holds nothing that it cannot say."""
    plan = positional(plan)
    needed = [sorted(set(map(form.number_of, needs(step)))) for step in plan.steps]
    free = sum(not each for each in needed)
    document: dict[str, Json] = {
        "steps": [
            {
                "tool": step.tool,
                "params": {name: _SYNTAX.dump(value) for name, value in step.args.items()},
                "depends_on": [*indexes],
                "parallel": not indexes and free > 1,
            }
            for step, indexes in zip(plan.steps, needed, strict=True)
        ]
    }
    if plan.metadata:
        document["metadata"] = {
            "timestamp" if key == "created_at" else key: copied(value)
            for key, value in plan.metadata.items()
        }
    return document


class _Steps:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._count = 0

    def declare(self, item: Json) -> None:
        self._count += 1

    def step(self, item: Json, at: int) -> Step:
        fields = StepFields(item, f"/steps/{at}", f"s{at}", self._report)
        fields.only(_STEP_FIELDS, _OTHER_NAMES)
        parallel = fields.item.get("parallel", False)
        if not isinstance(parallel, bool):
            place = f"{fields.pointer}/parallel"
            self._report.wrong_type("parallel", parallel, "true or false", place, fields.step)
        step = Step(fields.step, fields.tool(("tool",)), fields.args(("params",), _SYNTAX))
        indexes = self._depends_on(fields, at)
        implied = {ref.step for _, ref in step_refs(step)}
        declared = {f"s{each}" for each in indexes}
        if not fields.item.keys().isdisjoint(_DEPENDS_ON):
            for needed in sorted(map(form.number_of, implied - declared - {step.id})):
                if needed < self._count:  # the order holds anyway (C-15)
                    self._report.add(
                        Diagnostic(
                            "undeclared-dependency",
                            Severity.WARNING,
                            f"Step {at} refers to step {needed}, which is not among its"
                            " 'depends_on'.",
                            step.id,
                            f"/steps/{at}/after",
                            f"Add {needed} to 'depends_on'.",
                            fixed=True,
                        )
                    )
        after = tuple(f"s{each}" for each in sorted(set(indexes)) if f"s{each}" not in implied)
        return Step(step.id, step.tool, step.args, after)

    def _depends_on(self, fields: StepFields, at: int) -> list[int]:
        place = f"{fields.pointer}/after"
        spelling = fields.spelling(_DEPENDS_ON[::-1], "after") or "depends_on"
        written = fields.item.get(spelling, [])
        if not isinstance(written, list):
            self._report.wrong_type(spelling, written, "a list of step numbers", place, fields.step)
            return []
        indexes: list[int] = []
        for each in written:
            if isinstance(each, bool) or not isinstance(each, int):
                message = f"{spelling!r} holds {json_type(each)}, not the number of a step."
                help_ = "Steps are counted from 0."
                self._report.error("field-type", message, place, fields.step, help_)
            elif each == at:
                message = f"Step {at} depends on itself."
                self._report.error("self-reference", message, place, fields.step)
            elif not 0 <= each < self._count:
                message = f"There is no step {each if abs(each) < 10**18 else 'of that number'}."
                help_ = f"The steps are 0 to {self._count - 1}."
                self._report.error("unknown-step", message, place, fields.step, help_)
            else:
                indexes.append(each)
        return indexes


def _unsaid(plan: Plan, _: form.Signatures | None) -> list[Diagnostic]:
    found = form.unsaid(plan, _SAYS, None, [step.id for step in plan.steps])
    if "timestamp" in plan.metadata:
        message = "In Clear, 'timestamp' is when the plan was made."
        found.append(form.cannot(message, "/metadata/timestamp"))
    return [*found, *form.unsaid_after(plan)]


def _read_step(text: str, at: int) -> tuple[str, int]:
    if found := _STEP.match(text, at):
        return f"s{int(found[1])}", found.end()
    if _NEGATIVE.match(text, at):
        raise ReferenceSyntaxError("steps are counted from 0, and none is negative", at)
    if text.startswith("${", at):
        raise ReferenceSyntaxError("a reference cannot stand inside another", at)
    raise ReferenceSyntaxError("'step[N]' was expected", at)


_NOTATION: Final = in_braces(
    _read_step,
    # `item` and `index` are not steps; a plan that uses them is only shown in this form
    lambda step: f"step[{form.number_of(step)}]" if step.removeprefix("s").isdecimal() else step,
    lambda path: "".join(".*" if each is EVERY else print_path((each,)) for each in path),
    "A reference is `${step[N].path}`, as in `${step[0].data.*.id}`. Anything else has to be "
    "written out; `$${` is the text `${`.",
)
_SYNTAX: Final = Syntax(_NOTATION.parse, _NOTATION.print, mark=OPENING)
_FORM: Final = form.Form(
    is_plan,
    load,
    form.Places(
        ("/steps",),
        {"args": ("params",), "after": ("dependsOn", "depends_on", "params")},
        metadata={"/metadata/created_at": "/metadata/timestamp"},
    ),
)
_SAYS: Final = form.Says("Clear", frozenset({"after", "metadata"}))

DIALECT: Final = form.FunctionDialect(
    name="clear",
    json=True,
    read=_FORM.read,
    find=_FORM.find,
    unsaid=_unsaid,
    write=lambda plan, _: json_text.write(dump(plan)),
    expected=form.sorted_by_position,
    is_lenient=True,
    looks_like=lambda text: has_key(text, "steps") and is_clear(text),
    steps=lambda _, limits: JsonSteps("steps", _Steps, limits),
)
"""Says tools, arguments with references, and order; no more."""
