"""The dialect of Arazzo 1.0 and 1.1: sequences of calls to OpenAPI services, in JSON or YAML.

A workflow is the plan, and its steps run one after the other. An operation is a tool, by its
`operationId` or its `operationPath`; parameters and the payload of the body are its arguments.
Inputs have the values of their `default`. A success criterion on the body is a `when` of every
later step. A plan that is written has its arguments as the payload: it does not know better.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from toolplan.diagnostics import Diagnostic
from toolplan.dialects import _arazzo_expressions as expressions
from toolplan.dialects import _form, _json, _values
from toolplan.dialects._arazzo_places import line_of, native_pointer
from toolplan.dialects._arazzo_workflow import (
    ROOT_FIELDS,
    WORKFLOW_FIELDS,
    WorkflowReader,
    refuse_unknown,
)
from toolplan.dialects._base import has_key
from toolplan.dialects._characters import fits
from toolplan.dialects._steps import bounded
from toolplan.path import Json
from toolplan.plan import (
    Limits,
    Object,
    Plan,
    Ref,
    refs,
    step_refs,
)
from toolplan.plan_json import DEEPEST, Parsed, Report
from toolplan.source import Span
from toolplan.source import locate as locate_json
from toolplan.yaml_text import YamlError, read_yaml

_YAML = re.compile(r"^arazzo[ \t]*:", re.MULTILINE)
_VERSION = re.compile(r"1\.[01](?:\.[0-9]+)?")


def is_plan(document: Json) -> bool:
    """Return whether `document` says that it is Arazzo, and has workflows."""
    return isinstance(document, dict) and "arazzo" in document and "workflows" in document


def load(document: Json, signatures: _form.Signatures | None, limits: Limits) -> Parsed:
    """Return the plan that the first workflow of `document` says. Never raises."""
    report = Report()
    root = document if isinstance(document, dict) else {}
    version = root.get("arazzo")
    if not isinstance(version, str) or _VERSION.fullmatch(version) is None:
        report.error("plan-version", "Arazzo is read in the versions 1.0 and 1.1.", "/arazzo")
    listed = root.get("workflows")
    workflows = listed if isinstance(listed, list) else []
    workflow = workflows[0] if workflows and isinstance(workflows[0], dict) else None
    if workflow is None:
        report.error("field-type", "'workflows' is no list with a workflow in it.", "/workflows")
        return Parsed(None, report.diagnostics)
    if len(workflows) > 1:
        said = f"Only the first of {len(workflows)} workflows is read."
        report.warning("noise", said, "/workflows/1", help="Write the others into other files.")
    refuse_unknown(root, ROOT_FIELDS, "", report)
    refuse_unknown(workflow, WORKFLOW_FIELDS, "/workflows/0", report)
    items = workflow.get("steps")
    if not isinstance(items, list):
        report.error("missing-field", "The workflow has no list 'steps'.", "/workflows/0")
        return Parsed(None, report.diagnostics)
    if bounded(items, document, limits, report) is None:
        return Parsed(None, report.diagnostics)
    return Parsed(
        WorkflowReader(root, workflow, signatures, report).plan(items), report.diagnostics
    )


def _unsaid(plan: Plan, _: _form.Signatures | None) -> list[Diagnostic]:
    found = _form.unsaid(plan, _SAYS, None, [step.id for step in plan.steps])
    for before, at in zip(plan.steps, range(1, len(plan.steps)), strict=False):
        step = plan.steps[at]
        implied = {ref.step for _, ref in step_refs(step)}
        if step.after != (() if before.id in implied else (before.id,)):
            said = "Arazzo runs each step after the one before it, and says no other order."
            found.append(_form.cannot(said, f"/steps/{at}/after", step.id))
    if plan.output is not None:
        fields = dict(plan.output.fields) if isinstance(plan.output, Object) else None
        if fields is None or not all(isinstance(each, Ref) for each in fields.values()):
            said = "The outputs of a workflow are names, each with a reference."
            found.append(_form.cannot(said, "/output"))
    return found


def _write(plan: Plan, _: _form.Signatures | None) -> str:
    every = [ref for step in plan.steps for _, ref in step_refs(step)]
    every += [] if plan.output is None else [*refs(plan.output)]
    names = {ref: f"o{at}" for at, ref in enumerate(dict.fromkeys(every), 1)}
    syntax = _values.Syntax(_values.read_plain, partial(expressions.write_text, names=names))
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
    return _json.write(
        {
            "arazzo": "1.0.1",
            "info": {"title": "A plan", "version": "1"},
            "sourceDescriptions": [{"name": "service", "url": "openapi.json", "type": "openapi"}],
            "workflows": [workflow],
        }
    )


def _is_yaml(text: str) -> bool:
    return not text.lstrip("\ufeff \t\r\n").startswith("{") and _YAML.search(text) is not None


def _read(text: str, signatures: _form.Signatures | None, limits: Limits) -> Parsed:
    if not _is_yaml(text):
        return _FORM.read(text, signatures, limits)
    report = Report()
    if not fits(text, limits, report):
        return Parsed(None, report.diagnostics)
    try:
        document = read_yaml(text, max_depth=min(limits.depth, DEEPEST) + 1).value
    except YamlError as error:
        report.error("syntax", f"Line {error.line}: {error.message}")
        return Parsed(None, report.diagnostics)
    return load(document, signatures, limits)


def _find(text: str, pointer: str, key: bool) -> Span | None:
    if not _is_yaml(text):
        block = _json.read(text, is_plan, _form.NO_LIMITS).block
        if block is None:
            return None
        start, end = block.span
        found = locate_json(text[start:end], native_pointer(block.document, pointer), key=key)
        return found and Span(found.start + start, found.end + start)
    try:
        read = read_yaml(text, max_depth=DEEPEST, with_lines=True)
        line = line_of(read, pointer)
    except YamlError as error:
        line = min(error.line, text.rstrip().count("\n") + 1)
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
    end = text.find("\n", start)
    whole = text[start : len(text) if end < 0 else end]
    if not whole.strip():
        return None
    return Span(start + len(whole) - len(whole.lstrip()), start + len(whole.rstrip()))


_FORM: Final = _form.Form(is_plan, load)
_SAYS: Final = _form.Says("Arazzo", frozenset({"after", "output", "thought"}), expressions.refusal)

DIALECT: Final = _form.FunctionDialect(
    name="arazzo",
    json=True,
    read=_read,
    find=_find,
    unsaid=_unsaid,
    write=_write,
    expected=lambda plan: plan,
    looks_like=lambda text: (
        (has_key(text, "arazzo") and has_key(text, "workflows")) or _is_yaml(text)
    ),
)
"""Says tools, arguments, thoughts, an output of references, and one order: each after the last."""
