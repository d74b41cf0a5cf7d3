"""What a planner proposed, as a command prints it."""

from __future__ import annotations

from toolplan.app import AskResult
from toolplan.cli._terminal import CommandError, Exit, err, out, print_json
from toolplan.path import Json
from toolplan.plan_json import load
from toolplan.planners import Clarification, Draft, Refusal
from toolplan.render.diagnostics import DiagnosticView, Located
from toolplan.render.plan_tree import plan_tree
from toolplan.render.printable import printable


def report_no_plan(asked: AskResult, *, as_json: bool) -> int:
    """Print why there is no plan, and give the exit code."""
    proposal = asked.proposal
    match proposal:
        case Clarification():
            document: Json = {
                "clarification": {
                    "question": proposal.question,
                    "options": list(proposal.options),
                    "unexplained": list(proposal.unexplained),
                    "partial_plan": proposal.partial_plan,
                }
            }
        case Refusal(reason=reason):
            document = {"refusal": {"reason": reason}}
        case Draft():
            return _tell_bad_draft(asked)
    if as_json:
        print_json(document)
        return Exit.FAILED.value
    _show(proposal)
    return Exit.FAILED.value


def _show(proposal: Clarification | Refusal) -> None:
    console = out()
    if isinstance(proposal, Refusal):
        console.print(printable(proposal.reason))
        return
    console.print(printable(proposal.question))
    for option in proposal.options:
        console.print(f"  - {printable(option)}")
    if proposal.partial_plan is not None:
        understood = load(proposal.partial_plan).plan
        if understood is not None and understood.steps:
            console.print("What was understood so far:")
            console.print(plan_tree(understood))


def _tell_bad_draft(asked: AskResult) -> int:
    """Say what is wrong with the plan: a fault of the planner, not of the question."""
    diagnostics = () if asked.compiled is None else asked.compiled.diagnostics
    err().print(DiagnosticView(tuple(Located(each) for each in diagnostics)))
    raise CommandError(
        "bad-draft",
        "The planner proposed a plan that does not pass the check; nothing was run.",
        "Ask in other words.",
        Exit.FAILED,
    )
