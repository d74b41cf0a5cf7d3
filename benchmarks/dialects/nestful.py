"""The dialect of the NESTFUL data sets.

`[{"name", "arguments", "label"}]`. A label names the step; its leading dollar is not part of the
name. A reference is `$var1.field$`, or `$var1$` for the whole output, as a value or inside of text;
a dollar that opens none is a dollar. A call of `var_result` at the end is not a step: its arguments
are the plan's output.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

from msgspec.structs import replace

from toolplan.dialects import form, has_key, values
from toolplan.dialects.form import JsonSteps, all_steps, read_list
from toolplan.dialects.values import SEGMENTS, is_plain, read_path
from toolplan.plan.canonical import (
    IdCheck,
    Parsed,
    ParsedText,
    Report,
    StepFields,
    Syntax,
    TextProblem,
    Written,
    free_id,
    is_id,
    shown,
)
from toolplan.plan.diagnostics import Diagnostic
from toolplan.plan.model import Limits, Literal, Object, Plan, Ref, Step, Value, rename_steps
from toolplan.plan.path import EVERY, Json, Path, PathSyntaxError

RESULT: Final = "var_result"
"""The name of the call that is not a step, but the plan's output."""

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


def _unsaid(plan: Plan, _: form.Signatures | None) -> list[Diagnostic]:
    labels = _labels(plan)
    found = form.unsaid(plan, _SAYS, _syntax(labels), labels)
    if plan.output is not None and not _is_object(plan.output):
        found.append(form.cannot("NESTFUL has no 'output' that is not an object.", "/output"))
    return found


def is_plan(document: Json) -> bool:
    """Return whether `document` is a list of objects that have a `name`."""
    return form.objects(document, ("name",))


def load(document: Json, _: form.Signatures | None, limits: Limits) -> Parsed:
    """Return the plan that `document` says. Never raises."""
    report = Report()
    items = read_list(document, "NESTFUL", limits, report)
    if items is None:
        return Parsed(None, report.diagnostics)
    calls = items[:-1] if items and _name(items[-1]) == RESULT else items
    reader = _Steps(report, [label for item in calls if (label := _label(item)) is not None])
    steps = all_steps(calls, reader)
    output = None if len(calls) == len(items) else _output(items[-1], reader.syntax, report)
    return Parsed(Plan(steps, output), report.diagnostics)


class _Steps:
    """Reads the steps of a plan. `taken` are labels that are known beforehand."""

    def __init__(self, report: Report, taken: Iterable[str] = ()) -> None:
        self._ids: dict[str, str] = {}  # by label
        self.syntax = Syntax(partial(_read_text, self._ids), values.write_none)
        self._report = report
        self._check = IdCheck(report)
        self._taken = frozenset(taken)
        self._names: list[str] = []

    def declare(self, item: Json) -> None:
        """Use the step's label as its id, or its position if the label cannot be an id."""
        label = _label(item)
        if label is not None and is_id(label):
            name = label
        else:
            name = free_id(len(self._names), self._taken)
        self._names.append(name)
        self._check.take(name)
        if label is not None:
            self._ids[label] = name

    def step(self, item: Json, at: int) -> Step:
        """Return the step at position `at`."""
        fields = StepFields(item, f"/steps/{at}", self._names[at], self._report)
        fields.only(_FIELDS, _OTHER_NAMES)
        fields.text("label", "id")
        tool = fields.tool(("name",))
        return Step(fields.step, tool, fields.args(("arguments",), self.syntax))


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


def _labels(plan: Plan) -> dict[str, str]:
    """Return the label of every step: its id, or `var1`, `var2`, … where an id cannot be one."""
    ids = [step.id for step in plan.steps]
    if all(_LABEL.fullmatch(name) for name in ids):
        return {name: name for name in ids}
    return {name: f"var{at + 1}" for at, name in enumerate(ids)}


def _write(plan: Plan, _: form.Signatures | None) -> str:
    labels = _labels(plan)
    syntax = _syntax(labels)
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
    return form.write_list(calls)


def _is_object(value: Value) -> bool:
    return isinstance(value, Object) or (
        isinstance(value, Literal) and isinstance(value.value, dict)
    )


def _written(path: Path) -> str:
    """Return `path`, each segment of which is plain: `.author[0].full name`."""
    return "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in path)


def _syntax(labels: Mapping[str, str]) -> Syntax:
    """Return the syntax of a plan whose steps have these labels, by id."""
    ids = {label: name for name, label in labels.items()}

    def write(value: Written) -> str:
        return values.write_parts(value, lambda ref: f"${labels[ref.step]}{_written(ref.path)}$")

    return Syntax(partial(_read_text, ids), write)


def _read_text(ids: Mapping[str, str], text: str) -> ParsedText:
    if "$" not in text:
        return ParsedText(Literal(text))
    unended = _UNENDED.fullmatch(text)
    if unended is not None and unended["label"] in ids:
        said = f"The reference {shown(text)} has no '$' at its end."
        return ParsedText(Literal(text), (TextProblem("reference-syntax", said, _HELP),))
    return values.read_parts(text, _REFERENCE, partial(_resolve, ids))


def _resolve(ids: Mapping[str, str], found: re.Match[str]) -> values.Resolved:
    label = found["label"]
    if label not in ids and (_LABEL.fullmatch(label) is None or " " in found["path"]):
        return None  # `$10$`, and prose between two dollars
    try:
        path = read_path(found["path"])
    except PathSyntaxError as error:
        said = f"The reference {shown(found[0])} cannot be read: {error}."
        return TextProblem("reference-syntax", said, _HELP)
    return (Ref(ids.get(label, label), path),)


def _refusal(ref: Ref) -> str | None:
    odd = next((each for each in ref.path if not is_plain(each)), None)
    if odd is None:
        return None
    return "has no '[*]'" if odd is EVERY else f"has no way to write the key {shown(str(odd))}"


def _output_place(document: Json) -> str:
    return f"/{len(document) - 1}/arguments" if isinstance(document, list) else ""


_PLACES: Final = form.Places(
    ("",), {"id": ("label",), "tool": ("name",), "args": ("arguments",)}, output=_output_place
)


def without_after(plan: Plan) -> Plan:
    """Return `plan` with the order that references show, and no other."""
    return replace(plan, steps=tuple(replace(step, after=()) for step in plan.steps))


_FORM: Final = form.Form(is_plan, load, _PLACES)
_SAYS: Final = form.Says("NESTFUL", frozenset({"output"}), _refusal)

DIALECT: Final = form.FunctionDialect(
    name="nestful",
    json=True,
    read=_FORM.read,
    find=_FORM.find,
    unsaid=_unsaid,
    write=_write,
    expected=lambda plan: rename_steps(without_after(plan), _labels(plan)),
    looks_like=lambda text: has_key(text, "label") and has_key(text, "arguments"),
    steps=lambda _, limits: JsonSteps(None, _Steps, limits),
)
"""Says tools, arguments, labels and an output that is an object; no more.

It has no escape: text that reads as a reference cannot be said.
"""
