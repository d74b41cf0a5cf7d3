"""The canonical dialect: the JSON of `toolplan.plan.canonical`, `${step.path}` for references."""

from __future__ import annotations

from typing import Final

from toolplan.dialects import json_text
from toolplan.dialects._base import has_key
from toolplan.dialects.form import Form, FunctionDialect, JsonSteps, Signatures
from toolplan.plan.canonical import Parsed, Report, dump, load
from toolplan.plan.model import Limits, Step
from toolplan.plan.path import Json


class _Steps:
    """Reads steps that do not depend on each other."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def declare(self, item: Json) -> None:
        """Do nothing: any step may refer to any id."""

    def step(self, item: Json, at: int) -> Step:
        """Return the step that `item` is."""
        parsed = load({"steps": [item]})
        for each in parsed.diagnostics:
            self._report.add(each)
        return Step("", "") if parsed.plan is None else parsed.plan.steps[0]


def is_plan(document: Json) -> bool:
    """Return whether `document` is an object with a list of steps, each of them an object."""
    if not isinstance(document, dict):
        return False
    steps = document.get("steps")
    return isinstance(steps, list) and bool(steps) and all(isinstance(s, dict) for s in steps)


def is_clear(text: str) -> bool:
    """Return whether the steps in `text` have the fields of the dialect `clear`."""
    return has_key(text, "params", "depends_on", "dependsOn") and not has_key(text, "args")


def _load(document: Json, _: Signatures | None, limits: Limits) -> Parsed:
    return load(document, limits)


_FORM: Final = Form(is_plan, _load)

DIALECT: Final = FunctionDialect(
    name="toolplan",
    json=True,
    read=_FORM.read,
    find=_FORM.find,
    unsaid=lambda plan, _: [],
    write=lambda plan, _: json_text.write(dump(plan)),
    expected=lambda plan: plan,
    is_lenient=True,
    looks_like=lambda text: (
        has_key(text, "steps") and not is_clear(text) and not has_key(text, "arazzo")
    ),
    steps=lambda _, limits: JsonSteps("steps", _Steps, limits),
)
"""Says every plan that is made of JSON, with well-formed ids and paths."""
