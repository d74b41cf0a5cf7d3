"""The dialect of the contract planner's STATE.

`{"plan": {"tasks": [{"id", "description", "owner", "depends_on", "required_data", …}], "routing":
[…]}}`, or what is in it alone. A task is a step, its owner the tool, its description the thought.
A task that is planned is pending and has no outputs: what a run has done is not part of a plan.
`routing` repeats the owners in order; `routing_detail`, beside the plan, says whose task is which.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from toolplan.dialects import form, has_key, json_text, values
from toolplan.dialects.form import bounded
from toolplan.plan.canonical import (
    Parsed,
    ParsedText,
    Report,
    StepFields,
    Syntax,
    read_ids,
    shown,
)
from toolplan.plan.diagnostics import Diagnostic
from toolplan.plan.model import Limits, Literal, Plan, Ref, Step, escape_pointer
from toolplan.plan.path import Json, copied, json_type

ARGS: Final = ("required_data", "scope")
"""The fields of a task that are arguments of its step."""

STATUSES: Final = ("pending", "in_progress", "completed", "failed", "skipped")
"""What the status of a task may be; `skipped` is an extension of the source's own."""

_ID: Final = ("id", "task_id")
_TASK_FIELDS: Final = (
    *_ID, "description", "owner", "depends_on", *ARGS, "status", "outputs",
)  # fmt: skip
_OTHER_NAMES: Final = {
    "tool": "owner",
    "agent": "owner",
    "thought": "description",
    "after": "depends_on",
    "dependsOn": "depends_on",
    "state": "status",
    "output": "outputs",
}
_PLAN_FIELDS: Final = ("tasks", "routing", "routing_detail")
_STATE_FIELDS: Final = (
    "plan", "input", "intent", "routing", "schema", "ontology", "trace", "conversation",
    "routing_detail",
)  # fmt: skip


def _unsaid(plan: Plan, _: form.Signatures | None) -> list[Diagnostic]:
    return form.unsaid(plan, _SAYS, _SYNTAX, [step.id for step in plan.steps]) + [
        form.cannot(f"A task has no {name!r}.", f"/steps/{at}/args/{escape_pointer(name)}", step.id)
        for at, step in enumerate(plan.steps)
        for name in step.args
        if name not in ARGS
    ]


def is_plan(document: Json) -> bool:
    """Return whether `document` is a list of tasks, at most two objects deep."""
    inner = document.get("plan", document) if isinstance(document, dict) else None
    return isinstance(inner, dict) and form.objects(inner.get("tasks"), ("owner", *_ID))


def dump(plan: Plan, skills: Mapping[str, str | None] | None = None) -> dict[str, Json]:
    """Return the STATE of `plan`, which holds nothing that it cannot say, and its routing.

    `skills` are those of the tasks; by default the skill that all data of a task is required for.
    """
    known = {step.id: _skill(step) for step in plan.steps} if skills is None else skills
    tasks: list[Json] = [_dump(step) for step in plan.steps]
    routing: list[Json] = [step.tool for step in plan.steps]
    detail: list[Json] = [
        {"task_id": step.id, "agent": step.tool, "skill": known[step.id]} for step in plan.steps
    ]
    return {"plan": {"tasks": tasks, "routing": routing}, "routing_detail": detail}


def load(document: Json, _: form.Signatures | None, limits: Limits) -> Parsed:
    """Return the plan that `document` says. Never raises."""
    report = Report()
    inner = _inner(document, report)
    if inner is None:
        return Parsed(None, report.diagnostics)
    report.unknown_fields(inner, _PLAN_FIELDS, "", None, {"steps": "tasks"})
    items = inner.get("tasks")
    if not isinstance(items, list):
        if items is None:
            report.error("missing-field", "The plan has no 'tasks'.", "/steps")
        else:
            report.wrong_type("tasks", items, "a list", "/steps")
        return Parsed(None, report.diagnostics)
    if bounded(items, document, limits, report) is None:
        return Parsed(None, report.diagnostics)
    ids = read_ids(items, report, _ID, "task")
    steps = tuple(
        _step(StepFields(item, f"/steps/{at}", name, report))
        for at, (item, name) in enumerate(zip(items, ids, strict=True))
    )
    owners, routing = [step.tool for step in steps], inner.get("routing")
    if routing is not None and "" not in owners and routing != owners:
        report.error(
            "contradiction",
            "'routing' is not the owners of the tasks in order.",
            "/routing",
            help=f"By the tasks it is {shown(', '.join(owners))}.",
        )
    return Parsed(Plan(steps), report.diagnostics)


def _inner(document: Json, report: Report) -> Mapping[str, Json] | None:
    if not isinstance(document, dict):
        report.error("field-type", f"A plan is an object, not {json_type(document)}.")
        return None
    if "plan" not in document:
        return document
    report.unknown_fields(document, _STATE_FIELDS, "", None, {})
    inner = document["plan"]
    if not isinstance(inner, dict):
        report.wrong_type("plan", inner, "an object", "")
        return None
    others = [name for name in document if name in _STATE_FIELDS[1:-1]]
    if others:
        message = f"The plan was read without the rest of the STATE: {', '.join(others)}."
        report.warning("noise", message, help="Write the plan alone.")
    return inner


def _step(task: StepFields) -> Step:
    task.only(_TASK_FIELDS, _OTHER_NAMES)
    task.spelling(_ID, "id")
    # the state of a run is not part of the plan
    status, outputs = task.item.get("status", "pending"), task.item.get("outputs", {})
    if not isinstance(status, str) or status not in STATUSES:
        said = shown(status) if isinstance(status, str) else json_type(status)
        said = f"'status' is {said}, not one of {', '.join(STATUSES)}."
        task.report.error("field-type", said, f"{task.pointer}/status", task.step)
    elif status != "pending" or outputs != {}:
        said = "The task is read as one that is still to do; it has been worked on."
        place = f"{task.pointer}/status"
        task.report.warning("noise", said, place, task.step, "A plan has no state of a run.")
    owner, after, place = task.tool(("owner",)), list[str](), f"{task.pointer}/after"
    written = task.item.get("depends_on", [])
    if not isinstance(written, list):
        task.report.wrong_type("depends_on", written, "a list of task ids", place, task.step)
        written = []
    for at, each in enumerate(written):
        if isinstance(each, str):
            after.append(each)
        else:
            message = f"'depends_on' holds {json_type(each)}, not the id of a task."
            task.report.error("field-type", message, f"{place}/{at}", task.step)
    args = {name: Literal(copied(task.item[name])) for name in ARGS if name in task.item}
    thought = task.text("description", "thought")
    return Step(task.step, owner, args, tuple(after), thought=thought)


def _dump(step: Step) -> Json:
    task: dict[str, Json] = {"id": step.id}
    if step.thought is not None:
        task["description"] = step.thought
    task["owner"] = step.tool
    depends_on: list[Json] = [*step.after]
    task["depends_on"] = depends_on
    for name in ARGS:
        value = step.args.get(name)
        if isinstance(value, Literal):
            task[name] = copied(value.value)
    task["status"] = STATUSES[0]
    task["outputs"] = {}
    return task


def _skill(step: Step) -> Json:
    """Return the skill that all data of the step is required for, None where there is no such."""
    required = step.args.get("required_data")
    items = required.value if isinstance(required, Literal) else None
    listed = items if isinstance(items, list) else []
    skills = [each.get("skill") for each in listed if isinstance(each, dict)]
    return skills[0] if skills and all(each == skills[0] for each in skills) else None


def _no_reference(_: Ref) -> str:
    raise TypeError("a task has no references")


_SYNTAX: Final = Syntax(
    lambda text: ParsedText(Literal(text)), partial(values.write_parts, write_ref=_no_reference)
)
_PLACES: Final = form.Places(
    ("/plan/tasks", "/tasks"),
    {
        "id": _ID,
        "tool": ("owner",),
        "after": ("depends_on",),
        "thought": ("description",),
        "args": ("",),  # the arguments stand in the task itself
        **{f"args/{name}": (name,) for name in ARGS},
    },
)
_FORM: Final = form.Form(is_plan, load, _PLACES)
_NO_REFERENCE: Final = "has order by task, and no reference to an output"
_SAYS: Final = form.Says("STATE", frozenset({"after", "thought"}), lambda _: _NO_REFERENCE)
DIALECT: Final = form.FunctionDialect(
    name="state",
    json=True,
    read=_FORM.read,
    find=_FORM.find,
    unsaid=_unsaid,
    write=lambda plan, _: json_text.write(dump(plan)),
    expected=lambda plan: plan,
    looks_like=lambda text: has_key(text, "tasks") and has_key(text, "owner"),
)
"""Says tools, thoughts, order, and the arguments `required_data` and `scope`."""
