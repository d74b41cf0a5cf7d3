"""What a planner proposed, as a command prints it."""

from __future__ import annotations

import json
from dataclasses import replace

from toolplan.app import AskResult
from toolplan.cli._terminal import CommandError, Exit, err, note, out, print_json
from toolplan.compiler import to_text
from toolplan.diagnostics import CannotExpress
from toolplan.dialects import DIALECTS
from toolplan.path import Json
from toolplan.plan import Plan
from toolplan.plan_json import load
from toolplan.planners import Clarification, Draft, Refusal
from toolplan.render.diagnostics import DiagnosticView, Located
from toolplan.render.plan_tree import plan_tree
from toolplan.render.printable import printable
from toolplan.tools import Toolbox


def plan_text(plan: Plan, dialect: str, tools: Toolbox | None = None) -> str:
    """Return `plan` as `dialect` writes it, with a line end behind it.

    Metadata is advice and not run, so a dialect that has no room for it still says the plan; that
    it was left out is told.

    Raises:
        CommandError: the dialect cannot say the plan.
    """
    try:
        text = _without_advice(plan, dialect, tools)
    except CannotExpress as error:
        reasons = "; ".join(each.message for each in error.diagnostics)
        raise CommandError(
            "cannot-express",
            f"The dialect {dialect!r} cannot say this plan: {reasons}",
            "`toolplan` can say every plan: --dialect toolplan, or --to toolplan.",
            Exit.FAILED,
        ) from None
    return text if text.endswith("\n") else text + "\n"


def _without_advice(plan: Plan, dialect: str, tools: Toolbox | None) -> str:
    try:
        return to_text(plan, dialect, tools)
    except CannotExpress as error:
        if not all(each.pointer.startswith("/metadata") for each in error.diagnostics):
            raise
        text = to_text(replace(plan, metadata={}), dialect, tools)
        note(f"The dialect {dialect!r} has no room for metadata; it is left out.")
        return text


def plan_document(plan: Plan, dialect: str, tools: Toolbox | None = None) -> str:
    """Return what `--json` prints of a plan.

    A JSON dialect as it is, another one as text in JSON.
    """
    text = plan_text(plan, dialect, tools)
    if DIALECTS[dialect].json:
        return text
    return json.dumps({"dialect": dialect, "text": text}, indent=2, ensure_ascii=False) + "\n"


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
