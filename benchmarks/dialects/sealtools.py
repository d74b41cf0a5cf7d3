"""The dialect of the Seal-Tools and NesTools data sets.

`[{"api", "parameters", "responses"}]`. The outputs of all steps are numbered through the plan:
`API_call_0`, `API_call_1`, …, one for each field of a tool's output, in the order in which the tool
declares them. `responses` lists those of its step; such a name, as a value or inside of text, is a
reference to that field. Which field it is, the tools declare. Steps are read as `s0`, `s1`,
… by position.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Final, TypeAlias

from msgspec import Struct

from benchmarks.dialects.nestful import without_after
from toolplan.dialects import form, has_key, values
from toolplan.dialects.form import JsonSteps, all_steps, read_list
from toolplan.plan.canonical import (
    Parsed,
    ParsedText,
    Report,
    StepFields,
    Syntax,
    TextProblem,
    Written,
)
from toolplan.plan.diagnostics import Diagnostic
from toolplan.plan.model import Limits, Literal, Plan, Ref, Signature, Step, positional
from toolplan.plan.path import Json, Path

_FIELDS: Final = ("api", "parameters", "responses")
_OTHER_NAMES: Final = {
    "name": "api",
    "tool": "api",
    "arguments": "parameters",
    "args": "parameters",
    "params": "parameters",
    "outputs": "responses",
    "output": "responses",
}
_PLACES = form.Places(("",), {"tool": ("api",), "args": ("parameters",)})

_PREFIX: Final = "API_call_"
_NAME = re.compile(r"API_call_(?:0|[1-9][0-9]{0,8})")
_REFERENCE = re.compile(r"(?<![A-Za-z0-9_])API_call_[0-9]{1,9}(?![A-Za-z0-9_])")
_HELP: Final = "A reference is the name of an output that `responses` lists: `API_call_0`."
_NO_FIELD: Final = "Give the tools: they declare the fields of an output, in order."

_Number: TypeAlias = Mapping[tuple[str, Path], int]


class _Output(Struct, frozen=True):
    """A numbered output: what refers to it, and why that is not sure, None where it is."""

    ref: Ref
    doubt: TextProblem | None = None


def _numbers(plan: Plan, signatures: form.Signatures | None) -> dict[tuple[str, Path], int]:
    """Return the number of every output, in the order of the steps and of their fields."""
    keys = ((step.id, path) for step in plan.steps for path in _fields(step.tool, signatures))
    return {key: number for number, key in enumerate(keys)}


def _unsaid(plan: Plan, signatures: form.Signatures | None) -> list[Diagnostic]:
    numbers = _numbers(plan, signatures)
    outputs = {f"{_PREFIX}{n}": _Output(Ref(*key)) for key, n in numbers.items()}
    syntax = Syntax(partial(_read_text, outputs, False), partial(_write_value, numbers))
    says = form.Says("Seal-Tools", frozenset(), partial(_refusal, numbers, signatures))
    return form.unsaid(plan, says, syntax, [step.id for step in plan.steps])


def _write(plan: Plan, signatures: form.Signatures | None) -> str:
    numbers = _numbers(plan, signatures)
    syntax = Syntax(values.read_plain, partial(_write_value, numbers))
    return form.write_list(
        {
            "api": step.tool,
            "parameters": {name: syntax.dump(value) for name, value in step.args.items()},
            "responses": [
                f"{_PREFIX}{numbers[step.id, path]}" for path in _fields(step.tool, signatures)
            ],
        }
        for step in plan.steps
    )


def is_plan(document: Json) -> bool:
    """Return whether `document` is a list of objects that have an `api`."""
    return form.objects(document, ("api",))


def load(document: Json, signatures: form.Signatures | None, limits: Limits) -> Parsed:
    """Return the plan that `document` says. Never raises."""
    report = Report()
    items = read_list(document, "Seal-Tools", limits, report)
    if items is None:
        return Parsed(None, report.diagnostics)
    reader = _Steps(signatures, report)
    return Parsed(Plan(all_steps(items, reader)), report.diagnostics)


class _Steps:
    """Reads the steps of a plan, whose outputs are declared one step after another."""

    def __init__(self, signatures: form.Signatures | None, report: Report) -> None:
        self._report = report
        self._outputs = _Outputs(signatures)
        self._fields: list[StepFields] = []
        self._tools: list[str] = []

    def declare(self, item: Json) -> None:
        """Declare the outputs of the next step."""
        at = len(self._fields)
        fields = StepFields(item, f"/steps/{at}", f"s{at}", self._report)
        self._fields.append(fields)
        self._tools.append(fields.tool(("api",)))
        fields.only(_FIELDS, _OTHER_NAMES)
        self._outputs.declare(fields, self._tools[at])

    def step(self, item: Json, at: int) -> Step:
        """Return the step at position `at`."""
        read = partial(_read_text, self._outputs.known, self._outputs.is_partial)
        args = self._fields[at].args(("parameters",), Syntax(read, values.write_none))
        return Step(f"s{at}", self._tools[at], args)


class _Outputs:
    """The outputs of all steps by name, as they are declared one step after another.

    `is_partial` says that some step neither lists its outputs nor has a tool that declares them.
    """

    def __init__(self, signatures: form.Signatures | None) -> None:
        self.known: dict[str, _Output] = {}
        self.is_partial = False
        self._signatures = signatures
        self._next = 0

    def declare(self, fields: StepFields, tool: str) -> None:
        """Declare the outputs of the next step."""
        signature = None if self._signatures is None else self._signatures.get(tool)
        names = _responses(fields)
        if names is None:
            if signature is None:
                self.is_partial = True
                return
            count = max(1, len(signature.outputs))
            names = [f"{_PREFIX}{self._next + at}" for at in range(count)]
        for at, name in enumerate(names):
            self._next = max(self._next, int(name.removeprefix(_PREFIX)) + 1)
            if name in self.known:
                fields.report.error(
                    "duplicate-id",
                    f"The output {name!r} is declared twice.",
                    f"{fields.pointer}/responses",
                    fields.step,
                    "Every output needs a name of its own.",
                )
                continue
            self.known[name] = _output(fields.step, tool, name, at, len(names), signature)


def _output(
    step: str, tool: str, name: str, at: int, count: int, signature: Signature | None
) -> _Output:
    if signature is not None:
        if at < len(signature.outputs):
            return _Output(Ref(step, (signature.outputs[at],)))
        if not signature.outputs and count == 1:
            return _Output(Ref(step))
    if signature is not None and signature.outputs:
        said = f"The output of {tool!r} has {len(signature.outputs)} field(s); {name} is one more."
        doubt = TextProblem("unknown-output", said, "Leave it out.")
    else:
        said = f"Which field of the output of {tool!r} {name} is, cannot be known."
        doubt = TextProblem("needs-tools", said, _NO_FIELD)
    return _Output(Ref(step, (name,)), doubt)


def _responses(fields: StepFields) -> list[str] | None:
    """Return the names that the step gives its outputs, None where it gives none."""
    written = fields.item.get("responses")
    if written is None:
        return None
    place = f"{fields.pointer}/responses"
    if not isinstance(written, list):
        fields.report.wrong_type("responses", written, "a list of names", place, fields.step)
        return None
    good = [each for each in written if isinstance(each, str) and _NAME.fullmatch(each)]
    if len(good) < len(written):
        said = f"'responses' has an element that is not a name such as '{_PREFIX}0'."
        fields.report.error("field-type", said, place, fields.step)
    return good


def _fields(tool: str, signatures: form.Signatures | None) -> list[Path]:
    """Return the paths of the outputs that `tool` declares; one, the whole, where it declares none.

    There are none where the tool is not known.
    """
    signature = None if signatures is None else signatures.get(tool)
    if signature is None:
        return []
    return [(name,) for name in signature.outputs] or [()]


def _read_text(outputs: Mapping[str, _Output], is_partial: bool, text: str) -> ParsedText:
    if _PREFIX not in text:
        return ParsedText(Literal(text))
    read = values.read_parts(text, _REFERENCE, partial(_resolve, outputs, is_partial))
    if read.problems:
        return read
    names = dict.fromkeys(found[0] for found in _REFERENCE.finditer(text))
    doubts = (outputs[name].doubt for name in names)
    return ParsedText(read.value, tuple(doubt for doubt in doubts if doubt is not None))


def _resolve(
    outputs: Mapping[str, _Output], is_partial: bool, found: re.Match[str]
) -> values.Resolved:
    name = found[0]
    if name in outputs:
        return (outputs[name].ref,)
    if is_partial:
        return TextProblem("needs-tools", f"Which output {name} is, cannot be known.", _NO_FIELD)
    return TextProblem("unknown-step", f"No step has the output {name}.", _HELP)


def _write_value(numbers: _Number, value: Written) -> str:
    return values.write_parts(value, lambda ref: f"{_PREFIX}{numbers[ref.step, ref.path]}")


def _refusal(numbers: _Number, signatures: form.Signatures | None, ref: Ref) -> str | None:
    if (ref.step, ref.path) in numbers:
        return None
    if signatures is None:
        return "numbers the outputs of tools, so no reference can be said without the tools"
    return "has references to one declared field of an output, and to nothing else"


_FORM: Final = form.Form(is_plan, load, _PLACES)

DIALECT: Final = form.FunctionDialect(
    name="sealtools",
    json=True,
    read=_FORM.read,
    find=_FORM.find,
    unsaid=_unsaid,
    write=_write,
    expected=lambda plan: positional(without_after(plan)),
    looks_like=lambda text: has_key(text, "api") and has_key(text, "responses", "parameters"),
    steps=lambda signatures, limits: JsonSteps(None, partial(_Steps, signatures), limits),
)
"""Says tools, arguments, and references to one field of an output; no more.

It has no escape: text that reads as a reference cannot be said. Outputs are numbered by what tools
declare. Where that is not known, a reference is reported, and read as one to a field with the
output's own name, so that the order of the steps is known.
"""
