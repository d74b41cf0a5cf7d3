"""The dialect of the Seal-Tools and NesTools data sets.

`[{"api", "parameters", "responses"}]`. The outputs of all steps are numbered through the plan:
`API_call_0`, `API_call_1`, …, one for each field of a tool's output, in the order in which the tool
declares them. `responses` lists those of its step; such a name, as a value or inside of text, is a
reference to that field. Which field it is, the tools alone can tell. Steps are read as `s0`, `s1`,
… by position.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from toolplan.dialects import _form
from toolplan.dialects._base import StepStream, has_key
from toolplan.dialects._form import Form, Places, Says, Signatures
from toolplan.dialects._steps import StepFields, read_list
from toolplan.dialects._stream import JsonReader, RereadSteps
from toolplan.dialects._values import (
    ReadText,
    Resolved,
    Syntax,
    TextProblem,
    Written,
    read_parts,
    write_parts,
)
from toolplan.path import Json, Path
from toolplan.plan import Limits, Literal, Plan, Ref, Signature, Step, positional
from toolplan.plan_json import Parsed, Report
from toolplan.source import Span

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
_PLACES = Places(("",), {"tool": ("api",), "args": ("parameters",)})

_PREFIX: Final = "API_call_"
_NAME = re.compile(r"API_call_(?:0|[1-9][0-9]{0,8})")
_REFERENCE = re.compile(r"(?<![A-Za-z0-9_])API_call_[0-9]{1,9}(?![A-Za-z0-9_])")
_HELP: Final = "A reference is the name of an output that `responses` lists: `API_call_0`."
_NO_FIELD: Final = "Give the tools: they declare the fields of an output, in order."

_Number: TypeAlias = Mapping[tuple[str, Path], int]


class _Output(NamedTuple):
    """A numbered output: what refers to it, and why that is not sure, None where it is."""

    ref: Ref
    doubt: TextProblem | None = None


@dataclass(frozen=True, slots=True)
class SealtoolsDialect:
    """Says tools, arguments, and references to one field of an output; no more.

    It has no escape: text that reads as a reference cannot be said.
    """

    name: str = "sealtools"
    json: bool = True

    def parse(
        self,
        text: str,
        signatures: Signatures | None = None,
        limits: Limits | None = None,
    ) -> Parsed:
        """Return as much of the plan as can be read, and all that is wrong. Never raises.

        Where `signatures` do not tell the field that an output is, the reference is reported, and
        is one to a field with the output's own name: the order of the steps is known all the same.
        """
        return _form.parse(_FORM, text, signatures, limits)

    def print(self, plan: Plan, signatures: Signatures | None = None) -> str:
        """Return the text of `plan`, a step a line; ids become positions.

        Outputs are numbered by `signatures`; without them no reference can be said.

        Raises:
            CannotExpress: the plan holds more than tools, arguments and references to fields.
        """
        fields = [_fields(step.tool, signatures) for step in plan.steps]
        numbers: dict[tuple[str, Path], int] = {}
        for step, paths in zip(plan.steps, fields, strict=True):
            for path in paths:
                numbers[step.id, path] = len(numbers)
        outputs = {f"{_PREFIX}{n}": _Output(Ref(*key)) for key, n in numbers.items()}
        syntax = Syntax(partial(_read_text, outputs, False), partial(_write, numbers))
        says = Says("Seal-Tools", frozenset(), partial(_refusal, numbers, signatures))
        _form.refuse("sealtools", _form.unsaid(plan, says, syntax, [s.id for s in plan.steps]))
        text = _form.write_list(
            {
                "api": step.tool,
                "parameters": {name: syntax.dump(value) for name, value in step.args.items()},
                "responses": [f"{_PREFIX}{numbers[step.id, path]}" for path in paths],
            }
            for step, paths in zip(plan.steps, fields, strict=True)
        )
        wanted = positional(plan)
        wanted = replace(wanted, steps=tuple(replace(step, after=()) for step in wanted.steps))
        _form.read_back(self.parse(text, signatures, _form.NO_LIMITS), wanted)
        return text

    def locate(self, text: str, pointer: str) -> Span | None:
        """Return the place of what the canonical `pointer` names, None where there is no plan."""
        return _form.locate(_FORM, text, pointer)

    def recognises(self, text: str) -> bool:
        """Return whether `text`, as a model wrote it, looks like a plan in this dialect."""
        return has_key(text, "api") and has_key(text, "responses", "parameters")

    def stream(
        self, signatures: Mapping[str, Signature] | None = None, limits: Limits | None = None
    ) -> StepStream | None:
        """Return a reader of one plan's steps."""
        return RereadSteps(
            JsonReader(None),
            lambda count: "]",
            lambda text: self.parse(text, signatures, limits),
        )


def is_plan(document: Json) -> bool:
    """Whether `document` is a list of objects that have an `api`."""
    return _form.objects(document, ("api",))


def load(document: Json, signatures: Signatures | None, limits: Limits) -> Parsed:
    """Return the plan that `document` says. Never raises."""
    report = Report()
    items = read_list(document, "Seal-Tools", limits, report)
    if items is None:
        return Parsed(None, report.diagnostics)
    fields = [StepFields(item, f"/steps/{at}", f"s{at}", report) for at, item in enumerate(items)]
    tools = [each.tool(("api",)) for each in fields]
    outputs = _Outputs(signatures)
    for each, tool in zip(fields, tools, strict=True):
        each.only(_FIELDS, _OTHER_NAMES)
        outputs.declare(each, tool)
    syntax = Syntax(partial(_read_text, outputs.known, outputs.is_partial), partial(_write, {}))
    steps = tuple(
        Step(each.step, tool, each.args(("parameters",), syntax))
        for each, tool in zip(fields, tools, strict=True)
    )
    return Parsed(Plan(steps), report.diagnostics)


class _Outputs:
    """The outputs of all steps by name, as they are declared one step after another.

    `is_partial` says that some step neither lists its outputs nor has a tool that declares them.
    """

    def __init__(self, signatures: Signatures | None) -> None:
        self.known: dict[str, _Output] = {}
        self.is_partial = False
        self._signatures = signatures
        self._next = 0

    def declare(self, fields: StepFields, tool: str) -> None:
        """Take in the outputs of the next step."""
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
        told = f"The output of {tool!r} has {len(signature.outputs)} field(s); {name} is one more."
        doubt = TextProblem("unknown-output", told, "Leave it out.")
    else:
        told = f"Which field of the output of {tool!r} {name} is, cannot be known."
        doubt = TextProblem("needs-tools", told, _NO_FIELD)
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
        told = f"'responses' holds what is no name such as '{_PREFIX}0'."
        fields.report.error("field-type", told, place, fields.step)
    return good


def _fields(tool: str, signatures: Signatures | None) -> list[Path]:
    """Return the paths of the outputs that `tool` declares; one, the whole, where it declares none.

    There are none where the tool is not known.
    """
    signature = None if signatures is None else signatures.get(tool)
    if signature is None:
        return []
    return [(name,) for name in signature.outputs] or [()]


def _read_text(outputs: Mapping[str, _Output], is_partial: bool, text: str) -> ReadText:
    if _PREFIX not in text:
        return ReadText(Literal(text))
    read = read_parts(text, _REFERENCE, partial(_resolve, outputs, is_partial))
    if read.problems:
        return read
    names = dict.fromkeys(found[0] for found in _REFERENCE.finditer(text))
    doubts = (outputs[name].doubt for name in names)
    return ReadText(read.value, tuple(doubt for doubt in doubts if doubt is not None))


def _resolve(outputs: Mapping[str, _Output], is_partial: bool, found: re.Match[str]) -> Resolved:
    name = found[0]
    if name in outputs:
        return (outputs[name].ref,)
    if is_partial:
        return TextProblem("needs-tools", f"Which output {name} is, cannot be known.", _NO_FIELD)
    return TextProblem("unknown-step", f"No step has the output {name}.", _HELP)


def _write(numbers: _Number, value: Written) -> str:
    return write_parts(value, lambda ref: f"{_PREFIX}{numbers[ref.step, ref.path]}")


def _refusal(numbers: _Number, signatures: Signatures | None, ref: Ref) -> str | None:
    if (ref.step, ref.path) in numbers:
        return None
    if signatures is None:
        return "numbers the outputs of tools, so no reference can be said without the tools"
    return "has references to one declared field of an output, and to nothing else"


_FORM: Final = Form(is_plan, load, _PLACES)
DIALECT: Final = SealtoolsDialect()
