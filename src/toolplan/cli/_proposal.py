"""What a planner proposed, as a command prints it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import NoReturn

from toolplan.app.results import AskResult
from toolplan.cli.plan_file import plan_document
from toolplan.cli.terminal import CommandError, Exit, err, note, out, print_json
from toolplan.path import Json
from toolplan.plan import Plan
from toolplan.planners import Clarification, Draft, Refusal
from toolplan.render.diagnostics import DiagnosticView, Located
from toolplan.render.plan_tree import plan_tree
from toolplan.tools import Toolbox


def report_no_plan(asked: AskResult, *, as_json: bool) -> int:
    """Print why there is no plan, and return the exit code."""
    proposal = asked.proposal
    document: Json
    match proposal:
        case Clarification():
            document = clarification_json(proposal)
        case Refusal(reason=reason):
            document = {"refusal": {"reason": reason}}
        case Draft():
            _refuse_draft(asked)
    if as_json:
        print_json(document)
        return Exit.FAILED.value
    out().print(asked.reason)
    return Exit.FAILED.value


def clarification_json(asked: Clarification) -> Json:
    """Return a question back, as a command prints it."""
    return {
        "clarification": {
            "question": asked.question,
            "options": list(asked.options),
            "unexplained": list(asked.unexplained),
            "partial_plan": asked.partial_plan,
            "examples": list(asked.examples),
        }
    }


def _refuse_draft(asked: AskResult) -> NoReturn:
    """Report the problems of the draft: a fault of the planner, not of the question."""
    diagnostics = () if asked.compiled is None else asked.compiled.diagnostics
    err().print(DiagnosticView(tuple(Located(each) for each in diagnostics)))
    if (fault := asked.fault) is not None:
        said = f"{fault.message} Its best plan does not pass the check; nothing was run."
        raise CommandError(fault.code, said, fault.help)
    raise CommandError(
        "bad-draft",
        "The planner proposed a plan that does not pass the check; nothing was run.",
        "Ask in other words.",
    )


def print_plan(plan: Plan, tools: Toolbox | None, *, marks: Mapping[str, str]) -> None:
    """Show `plan` as a tree on a terminal; write it as JSON to a file or a pipe."""
    if sys.stdout.isatty():
        out().print(plan_tree(plan, marks=marks))
        return
    sys.stdout.write(plan_document(plan, "toolplan", tools))
    note("The plan is written as JSON, since this is no terminal; `toolplan show FILE` draws it.")
