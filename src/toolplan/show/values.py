"""The text of any value that prints as the command line shows it (`toolplan.base.shown`)."""

from __future__ import annotations

from typing import cast

from toolplan.events import Run
from toolplan.plan.diagnostics import Diagnostic
from toolplan.plan.model import Plan
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.show.diagnostics import Located, diagnostic_text, diagnostics_text
from toolplan.show.plan_tree import plan_text
from toolplan.show.printable import printable
from toolplan.show.runs_view import duration_text, run_marks, status_text


def text_of(value: object) -> str:
    """Return a plan, a run, or problems, as text."""
    match value:
        case Plan():
            return plan_text(value)
        case ExecutionPlan():
            marks = dict.fromkeys(value.effects, "changes something")
            return f"{plan_text(value.plan, marks=marks)}\ndigest {value.digest}"
        case Diagnostic():
            return diagnostic_text(value)
        case tuple():
            given = cast("tuple[object, ...]", value)
            return diagnostics_text([Located(e) for e in given if isinstance(e, Diagnostic)])
        case Run():
            took = "" if value.took_s is None else f", took {duration_text(value.took_s)}"
            head = f"run {printable(value.run)}: {status_text(value.status, False)}{took}"
            marks = (f"  {printable(step)}: {mark}" for step, mark in run_marks(value).items())
            return "\n".join((head, *marks))
        case _:
            return repr(value)
