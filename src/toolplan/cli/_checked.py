"""The check of a plan in a file, before it runs."""

from __future__ import annotations

from toolplan.app.app import App
from toolplan.cli._plan_file import PlanFile, print_diagnostics
from toolplan.cli._terminal import CommandError, err
from toolplan.diagnostics import to_json
from toolplan.execution_plan import ExecutionPlan


def checked_plan(app: App, file: PlanFile, *, as_json: bool) -> ExecutionPlan:
    """Return the plan in `file`, and report its problems.

    Raises:
        CommandError: it does not pass the check.
    """
    checked = app.check(file.text, dialect=file.dialect)
    if checked.diagnostics and not as_json:
        print_diagnostics(err(), file, checked.diagnostics)
    if checked.plan is None:
        raise CommandError(
            "bad-plan",
            "The plan does not pass the check; nothing was run.",
            "`toolplan explain CODE` explains each problem.",
            diagnostics=[to_json(each) for each in checked.diagnostics],
        )
    return checked.plan
