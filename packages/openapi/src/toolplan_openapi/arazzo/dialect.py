"""The dialect of Arazzo 1.0 and 1.1: sequences of calls to OpenAPI services, in JSON or YAML.

A workflow is the plan, the first one or the one that is chosen (`arazzo:NAME?INPUT=VALUE`), and
its steps run one after the other; the steps of a workflow that it calls stand in the plan. An
operation is a tool, by its `operationId` or its `operationPath`; parameters and the payload of the
body are its arguments. Inputs have the values that are chosen, or those of their `default`. A
success criterion on the body is a `when` of every later step. A plan that is written has its
arguments as the payload: it does not know better.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from toolplan.dialects import form, has_key, json_text, values
from toolplan.dialects.characters import fits
from toolplan.dialects.form import bounded
from toolplan.plan.canonical import DEEPEST, Parsed, Report, Syntax
from toolplan.plan.diagnostics import Diagnostic
from toolplan.plan.model import Limits, Object, Plan, Ref, refs, step_refs
from toolplan.plan.path import Json
from toolplan.plan.text.loose import Span
from toolplan.plan.yaml_text import YamlError, read_yaml
from toolplan_openapi._document import Place
from toolplan_openapi.arazzo import _expressions as expressions
from toolplan_openapi.arazzo._expressions import Choice, Inputs
from toolplan_openapi.arazzo._workflow import ROOT_FIELDS, Reading

_YAML = re.compile(r"^arazzo[ \t]*:", re.MULTILINE)
_MOST_STEPS: Final = 20_000
_VERSION = re.compile(r"1\.[01](?:\.[0-9]+)?")


def _load(
    document: Json, signatures: form.Signatures | None, limits: Limits, choice: Choice
) -> Parsed:
    """Return the plan of a workflow of `document`. Never raises."""
    report = Report()
    root = Place.of(document)
    if _VERSION.fullmatch(root.text("arazzo")) is None:
        report.error("plan-version", "Arazzo is read in the versions 1.0 and 1.1.", "/arazzo")
    reading = Reading(root, signatures, report, limits.steps)
    workflow = _chosen(reading, choice)
    if workflow is None:
        return Parsed(None, report.diagnostics)
    reading.fields(root, ROOT_FIELDS)
    steps = workflow.at("steps")
    if not isinstance(steps.value, list):
        said = "The workflow has no list 'steps'."
        reading.refuse(said, workflow, "missing-field")
        return Parsed(None, report.diagnostics)
    if bounded(steps.items, document, limits, report) is None:
        return Parsed(None, report.diagnostics)
    inputs = Inputs.of(workflow, root)
    names = [name for name, _ in choice.inputs]
    for name in names:
        if name not in inputs.declared:
            said, help_ = f"The workflow has no input {name!r}.", _named([*inputs.declared])
            report.error("unknown-argument", said, f"{workflow.pointer}/inputs", help=help_)
    given = inputs.read(choice.inputs)
    said_twice = [f"The input {name!r} is given twice." for name in given if names.count(name) > 1]
    for code, faults in (("duplicate-key", said_twice), ("argument-value", inputs.unfit(given))):
        for said in faults:
            report.error(code, said, f"{workflow.pointer}/inputs", help="Give one that fits.")
    plan = reading.plan(workflow, inputs.filled(given))
    others = [each for each in _names(reading)[1:] if each not in reading.finished]
    if choice.workflow is None and others:
        said = f"Only the first of {len(reading.workflows)} workflows is the plan."
        help_ = f"Choose another by its name: --dialect arazzo:{others[0]}"
        report.warning("noise", said, workflow.pointer, help=help_)
    return Parsed(plan, report.diagnostics)


def _chosen(reading: Reading, choice: Choice) -> Place | None:
    if not reading.workflows or not reading.workflows[0].node:
        message = "'workflows' is no list with a workflow in it."
        reading.report.error("field-type", message, "/workflows")
        return None
    if choice.workflow is None:
        return reading.workflows[0]
    workflow = reading.workflow(choice.workflow)
    if workflow is None:
        message = f"The document has no workflow {choice.workflow!r}."
        reading.report.error("missing-field", message, "/workflows", help=_named(_names(reading)))
    return workflow


def _names(reading: Reading) -> list[str]:
    return [each.text("workflowId") for each in reading.workflows]


def _named(names: list[str]) -> str:
    return f"There are {', '.join(names[:20])}." if names else "There is none."


class _Places(form.Places, frozen=True, kw_only=True):
    """Places in the document by pointers into the plan."""

    choice: Choice

    def native(self, document: Json, pointer: str) -> str:
        """Return where in `document` the canonical `pointer` is."""
        if not pointer.startswith(("/steps", "/output")):
            return pointer
        reading = Reading(Place.of(document), None, Report(), _MOST_STEPS)
        if (workflow := _chosen(reading, self.choice)) is not None:
            inputs = Inputs.of(workflow, reading.root)
            reading.plan(workflow, inputs.filled(inputs.read(self.choice.inputs)))
        return reading.native(pointer)


def _unsaid(plan: Plan, _: form.Signatures | None) -> list[Diagnostic]:
    found = form.unsaid(plan, _SAYS, None, [step.id for step in plan.steps])
    for before, at in zip(plan.steps, range(1, len(plan.steps)), strict=False):
        step = plan.steps[at]
        implied = {ref.step for _, ref in step_refs(step)}
        if step.after != (() if before.id in implied else (before.id,)):
            message = "Arazzo runs each step after the one before it, and says no other order."
            found.append(form.cannot(message, f"/steps/{at}/after", step.id))
    if plan.output is not None:
        fields = dict(plan.output.fields) if isinstance(plan.output, Object) else None
        if fields is None or not all(isinstance(each, Ref) for each in fields.values()):
            message = "The outputs of a workflow are names, each with a reference."
            found.append(form.cannot(message, "/output"))
    return found


def _write(plan: Plan, _: form.Signatures | None) -> str:
    every = [ref for step in plan.steps for _, ref in step_refs(step)]
    every += [] if plan.output is None else [*refs(plan.output)]
    names = {ref: f"o{at}" for at, ref in enumerate(dict.fromkeys(every), 1)}
    syntax = Syntax(values.read_plain, partial(expressions.write_text, names=names))
    steps: list[Json] = []
    for step in plan.steps:
        item: dict[str, Json] = {"stepId": step.id}
        if step.thought is not None:
            item["description"] = step.thought
        item["operationId"] = step.tool
        if step.args:
            payload: Json = {name: syntax.dump(value) for name, value in step.args.items()}
            item["requestBody"] = {"contentType": "application/json", "payload": payload}
        outputs: dict[str, Json] = {
            name: f"$response.body{expressions.write_path(ref.path)}"
            for ref, name in names.items()
            if ref.step == step.id
        }
        if outputs:
            item["outputs"] = outputs
        steps.append(item)
    workflow: dict[str, Json] = {"workflowId": "plan", "steps": steps}
    if plan.output is not None:
        workflow["outputs"] = syntax.dump(plan.output)
    return json_text.write(
        {
            "arazzo": "1.0.1",
            "info": {"title": "A plan", "version": "1"},
            "sourceDescriptions": [{"name": "service", "url": "openapi.json", "type": "openapi"}],
            "workflows": [workflow],
        }
    )


def _is_yaml(text: str) -> bool:
    return not text.lstrip("\ufeff \t\r\n").startswith("{") and _YAML.search(text) is not None


def _form(choice: Choice) -> form.Form:
    def is_plan(document: Json) -> bool:
        return isinstance(document, dict) and document.keys() >= {"arazzo", "workflows"}

    return form.Form(is_plan, partial(_load, choice=choice), _Places((), {}, choice=choice))


def _read(choice: Choice, text: str, signatures: form.Signatures | None, limits: Limits) -> Parsed:
    if not _is_yaml(text):
        return _form(choice).read(text, signatures, limits)
    report = Report()
    if not fits(text, limits, report):
        return Parsed(None, report.diagnostics)
    try:
        document = read_yaml(text, max_depth=min(limits.depth, DEEPEST) + 1).value
    except YamlError as error:
        report.error("syntax", f"Line {error.line}: {error.message}")
        return Parsed(None, report.diagnostics)
    return _load(document, signatures, limits, choice)


def _find(choice: Choice, text: str, pointer: str, key: bool) -> Span | None:
    if not _is_yaml(text):
        return _form(choice).find(text, pointer, key)
    lines = text.split("\n")
    try:
        read = read_yaml(text, max_depth=DEEPEST, with_lines=True)
        native = _form(choice).places.native(read.value, pointer)
        while native and native not in read.lines:  # the nearest thing around it
            native = native.rpartition("/")[0]
        number = read.lines.get(native, 1)
    except YamlError as error:
        number = min(error.line, text.rstrip().count("\n") + 1)
    start, line = sum(len(each) + 1 for each in lines[: number - 1]), lines[number - 1]
    indent = len(line) - len(line.lstrip())
    return Span(start + indent, start + len(line.rstrip())) if line.strip() else None


_SAYS: Final = form.Says("Arazzo", frozenset({"after", "output", "thought"}), expressions.refusal)


def _dialect(choice: str) -> form.FunctionDialect:
    chosen = Choice.read(choice)
    return form.FunctionDialect(
        name="arazzo",
        json=True,
        read=partial(_read, chosen),
        find=partial(_find, chosen),
        unsaid=_unsaid,
        write=_write,
        expected=lambda plan: plan,
        looks_like=lambda text: (
            (has_key(text, "arazzo") and has_key(text, "workflows")) or _is_yaml(text)
        ),
        choose=_dialect,
    )


DIALECT: Final = _dialect("")
"""Says tools, arguments, thoughts, an output of references, and one order: each after the last."""
