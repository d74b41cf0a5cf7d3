"""The dialect of the NESTFUL data sets.

`[{"name", "arguments", "label"}]`. A label names the step; its leading dollar is not part of the
name. A reference is `$var1.field$`, or `$var1$` for the whole output, as a value or inside of text;
a dollar that opens none is a dollar. A call of `var_result` at the end is no step: its arguments
are the plan's output.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from toolplan.dialects import _form
from toolplan.dialects._base import StepStream, has_key
from toolplan.dialects._form import Form, Places, Says, Signatures
from toolplan.dialects._paths import SEGMENTS, is_plain, read_path, write_plain
from toolplan.dialects._steps import StepFields, check_ids, free_id, is_id, read_list
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
from toolplan.path import EVERY, Json, PathSyntaxError
from toolplan.plan import (
    Limits,
    Literal,
    Object,
    Plan,
    Ref,
    Step,
    Value,
    rename_steps,
)
from toolplan.plan_json import Parsed, Report, shown
from toolplan.source import Span

RESULT: Final = "var_result"
"""The name of the call that is no step, but the plan's output."""

_FIELDS: Final = ("name", "arguments", "label")
_OTHER_NAMES: Final = {
    "tool": "name",
    "api": "name",
    "function": "name",
    "args": "arguments",
    "parameters": "arguments",
    "params": "arguments",
    "id": "label",
}
# a key may have spaces, `$var1.Exchange Rate$`, but none at its ends
_REFERENCE = re.compile(rf"\$(?P<label>[A-Za-z0-9_]{{1,64}})(?P<path>{SEGMENTS})\$")
_UNENDED = re.compile(rf"\$(?P<label>[A-Za-z0-9_]{{1,64}}){SEGMENTS}")
_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_HELP: Final = "A reference is `$label.field$`, or `$label$` for the whole output."


@dataclass(frozen=True, slots=True)
class NestfulDialect:
    """Says tools, arguments, labels and an output that is an object; no more.

    It has no escape: text that reads as a reference cannot be said.
    """

    name: str = "nestful"
    json: bool = True

    def parse(
        self,
        text: str,
        signatures: Signatures | None = None,
        limits: Limits | None = None,
    ) -> Parsed:
        """Return as much of the plan as can be read, and all that is wrong. Never raises.

        Labels are kept as ids where they are ones; other steps are called `s0`, `s1`, … by
        position.
        """
        return _form.parse(_FORM, text, signatures, limits)

    def print(self, plan: Plan, signatures: Signatures | None = None) -> str:
        """Return the text of `plan`, a step a line.

        Ids become labels; where one of them cannot, the labels are `var1`, `var2`, …

        Raises:
            CannotExpress: the plan holds more than tools, arguments and such an output.
        """
        labels = _labels(plan)
        syntax = _syntax(labels)
        found = _form.unsaid(plan, _SAYS, syntax, labels)
        if plan.output is not None and not _is_object(plan.output):
            found.append(_form.cannot("NESTFUL has no 'output' that is no object.", "/output"))
        _form.refuse("nestful", found)
        text = _form.write_list(_dump(plan, labels, syntax))
        wanted = rename_steps(plan, labels)
        wanted = replace(wanted, steps=tuple(replace(step, after=()) for step in wanted.steps))
        _form.read_back(self.parse(text, None, _form.NO_LIMITS), wanted)
        return text

    def locate(self, text: str, pointer: str) -> Span | None:
        """Return the place of what the canonical `pointer` names, None where there is no plan."""
        return _form.locate(_FORM, text, pointer)

    def recognises(self, text: str) -> bool:
        """Return whether `text`, as a model wrote it, looks like a plan in this dialect."""
        return has_key(text, "label") and has_key(text, "arguments")

    def stream(
        self, signatures: Signatures | None = None, limits: Limits | None = None
    ) -> StepStream | None:
        """Return a reader of one plan's steps."""
        return RereadSteps(
            JsonReader(None),
            lambda count: "]",
            lambda text: self.parse(text, signatures, limits),
        )


def is_plan(document: Json) -> bool:
    """Whether `document` is a list of objects that have a `name`."""
    return _form.objects(document, ("name",))


def load(document: Json, _: Signatures | None, limits: Limits) -> Parsed:
    """Return the plan that `document` says. Never raises."""
    report = Report()
    items = read_list(document, "NESTFUL", limits, report)
    if items is None:
        return Parsed(None, report.diagnostics)
    calls = items[:-1] if items and _name(items[-1]) == RESULT else items
    labels = [_label(item) for item in calls]
    ids = _ids(labels)
    check_ids(ids, report)
    # a label that is taken means the first step that has it
    known = {name: label for name, label in zip(ids, labels, strict=True) if label is not None}
    syntax = _syntax(known)
    steps = tuple(
        _step(item, at, name, syntax, report)
        for at, (item, name) in enumerate(zip(calls, ids, strict=True))
    )
    output = None if len(calls) == len(items) else _output(items[-1], syntax, report)
    return Parsed(Plan(steps, output), report.diagnostics)


def _step(item: Json, at: int, name: str, syntax: Syntax, report: Report) -> Step:
    fields = StepFields(item, f"/steps/{at}", name, report)
    fields.only(_FIELDS, _OTHER_NAMES)
    fields.text("label", "id")
    return Step(name, fields.tool(("name",)), fields.args(("arguments",), syntax))


def _output(item: Json, syntax: Syntax, report: Report) -> Value:
    call = item if isinstance(item, dict) else {}
    report.unknown_fields(call, _FIELDS, "/output", None, _OTHER_NAMES)
    arguments = call.get("arguments", {})
    if not isinstance(arguments, dict):
        report.wrong_type("arguments", arguments, "an object", "/output")
    return syntax.read(arguments, "/output", None, report)


def _name(item: Json) -> Json:
    return item.get("name") if isinstance(item, dict) else None


def _label(item: Json) -> str | None:
    label = item.get("label") if isinstance(item, dict) else None
    if not isinstance(label, str):
        return None
    return label.removeprefix("$").removesuffix("$") or None


def _ids(labels: Sequence[str | None]) -> list[str]:
    """Return every step its label as id, and a name by position to those whose label is none."""
    taken = {label for label in labels if label is not None}
    return [
        label if label is not None and is_id(label) else free_id(at, taken)
        for at, label in enumerate(labels)
    ]


def _labels(plan: Plan) -> dict[str, str]:
    ids = [step.id for step in plan.steps]
    if all(_LABEL.fullmatch(name) for name in ids):
        return {name: name for name in ids}
    return {name: f"var{at + 1}" for at, name in enumerate(ids)}


def _dump(plan: Plan, labels: Mapping[str, str], syntax: Syntax) -> list[Json]:
    calls: list[Json] = [
        {
            "name": step.tool,
            "arguments": {name: syntax.dump(value) for name, value in step.args.items()},
            "label": f"${labels[step.id]}",
        }
        for step in plan.steps
    ]
    if plan.output is not None:
        calls.append({"name": RESULT, "arguments": syntax.dump(plan.output)})
    return calls


def _is_object(value: Value) -> bool:
    return isinstance(value, Object) or (
        isinstance(value, Literal) and isinstance(value.value, dict)
    )


def _syntax(labels: Mapping[str, str]) -> Syntax:
    """Return the syntax of a plan whose steps have these labels, by id."""
    ids = {label: name for name, label in labels.items()}

    def write(value: Written) -> str:
        return write_parts(value, lambda ref: f"${labels[ref.step]}{write_plain(ref.path)}$")

    return Syntax(partial(_read_text, ids), write)


def _read_text(ids: Mapping[str, str], text: str) -> ReadText:
    if "$" not in text:
        return ReadText(Literal(text))
    unended = _UNENDED.fullmatch(text)
    if unended is not None and unended["label"] in ids:
        told = f"The reference {shown(text)} has no '$' at its end."
        return ReadText(Literal(text), (TextProblem("reference-syntax", told, _HELP),))
    return read_parts(text, _REFERENCE, partial(_resolve, ids))


def _resolve(ids: Mapping[str, str], found: re.Match[str]) -> Resolved:
    label = found["label"]
    if label not in ids and (_LABEL.fullmatch(label) is None or " " in found["path"]):
        return None  # `$10$`, and prose between two dollars
    try:
        path = read_path(found["path"])
    except PathSyntaxError as error:
        told = f"The reference {shown(found[0])} cannot be read: {error}."
        return TextProblem("reference-syntax", told, _HELP)
    return (Ref(ids.get(label, label), path),)


def _refusal(ref: Ref) -> str | None:
    odd = next((each for each in ref.path if not is_plain(each)), None)
    if odd is None:
        return None
    return "has no '[*]'" if odd is EVERY else f"has no way to write the key {shown(str(odd))}"


def _output_place(document: Json) -> str:
    return f"/{len(document) - 1}/arguments" if isinstance(document, list) else ""


_PLACES: Final = Places(
    ("",), {"id": ("label",), "tool": ("name",), "args": ("arguments",)}, output=_output_place
)
_FORM: Final = Form(is_plan, load, _PLACES)
_SAYS: Final = Says("NESTFUL", frozenset({"output"}), _refusal)
DIALECT: Final = NestfulDialect()
