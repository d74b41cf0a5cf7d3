"""Output of commands about a proposed plan, and about a run that has ended."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from msgspec.structs import asdict

from toolplan.app.app import App
from toolplan.app.results import AskResult
from toolplan.cli.plan_file import PlanFile, plan_document, print_diagnostics
from toolplan.cli.terminal import CommandError, Exit, err, note, out, print_json
from toolplan.events import Run, to_json
from toolplan.plan.diagnostics import to_json as diagnostic_to_json
from toolplan.plan.model import Plan
from toolplan.plan.path import Json
from toolplan.planners import Clarification, Draft
from toolplan.policy.consent import effects_of
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.providers import UsageTracker
from toolplan.schema.tool import Toolbox
from toolplan.show.answer import Answer
from toolplan.show.approval_view import EffectsView, by_step, doubt_lines
from toolplan.show.diagnostics import DiagnosticView, Located
from toolplan.show.document import DocumentView, Prose
from toolplan.show.plan_tree import PlanTree
from toolplan.show.printable import count_text, fit_encoding, printable
from toolplan.show.runs_view import SHORT
from toolplan.show.summary import Summary


def print_run(
    run: Run, answer: Answer | None, *, as_json: bool, summary: Summary | None = None,
    strict: bool = False,
) -> int:  # fmt: skip
    """Print the result of a run, and return the exit code.

    With `strict`, do not print an answer over a part of a list, and return the code of a failure.
    """
    refused = strict and bool(run.partial)
    if refused and not as_json:
        parts = "; ".join(printable(each.text) for each in run.partial)
        note(f"Not answered, as --strict asks: it would be over a part only: {parts}.")
    elif as_json:
        document: dict[str, Json] = {
            **to_json(run),
            "answer": None if answer is None else answer.to_json(),
        }
        if summary is not None:
            shown: dict[str, Json] = {"text": summary.text, "format": summary.format}
            claims: Json = [claim.text for claim in summary.unsupported]
            shown |= {"model": summary.model or None, "reason": summary.reason or None}
            document["summary"] = {**shown, "unsupported": claims}
        print_json(document)
    else:
        if answer is not None and summary is not None and summary.format != "plain":
            sys.stdout.write(fit_encoding(summary.beside(answer), out().encoding) + "\n")
        elif answer is not None:
            console = out()
            console.print()
            console.print(DocumentView(answer.document))
            if summary is not None and summary.no_words:  # why they are left out
                note(printable(summary.no_words))
            elif summary is not None and summary.said:
                console.print(f"\nIn the words of {printable(summary.model)}:", soft_wrap=True)
                console.print(Prose(summary.words))
        print_pending(run)
    return (Exit.FINE if run.succeeded and not refused else Exit.FAILED).value


def print_pending(run: Run) -> None:
    """Print the calls that a person has to decide about, and how to decide."""
    if any(step.doubts for step in run.steps.values()):
        for line in doubt_lines(run):
            note(line)
    effects = effects_of(run.waiting)
    if not effects:
        return
    err().print(EffectsView(effects))
    short = run.run[:SHORT]
    for step, calls in by_step(effects):
        name = printable(step)
        note(f"  make it:   toolplan resume {short} --allow {name}")
        note(f"  refuse it: toolplan resume {short} --deny {name} --reason WHY")
        if len(calls) > 1:
            left = f"--allow {name} --leave-out {name}:{calls[0].item}"
            note(f"  leave one out, which is another plan: toolplan resume {short} {left}")


def report_usage(tracker: UsageTracker) -> None:
    """Print the usage of models, where any was asked."""
    usage = tracker.usage
    if not usage.calls:
        return
    calls = count_text(usage.calls, "model call")
    cost = "" if usage.cost_usd is None else f", ${usage.cost_usd:.4f}"
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    note(f"{calls}: {usage.input_tokens:,} tokens in{cached}, {usage.output_tokens:,} out{cost}.")


def report_no_plan(asked: AskResult, *, as_json: bool) -> int:
    """Print why there is no plan, and return the exit code."""
    proposal = asked.proposal
    if isinstance(proposal, Draft):  # a fault of the planner, not of the question
        diagnostics = () if asked.compiled is None else asked.compiled.diagnostics
        err().print(DiagnosticView(tuple(Located(each) for each in diagnostics)))
        refused = "does not pass the check; nothing was run."
        if (fault := asked.fault) is not None:
            message = f"{fault.message} Its best plan {refused}"
            raise CommandError(fault.code, message, fault.help)
        message = f"The planner proposed a plan that {refused}"
        raise CommandError("bad-draft", message, "Ask in other words.")
    if not as_json:
        out().print(asked.reason)
    elif isinstance(proposal, Clarification):
        print_json(clarification_json(proposal))
    else:
        print_json({"refusal": {"reason": proposal.reason}})
    return Exit.FAILED.value


def clarification_json(asked: Clarification) -> Json:
    """Return a clarification, as a command prints it."""
    fields = asdict(asked)
    del fields["plans"]
    return {"clarification": fields}


def print_plan(plan: Plan, tools: Toolbox | None, *, marks: Mapping[str, str]) -> None:
    """Show `plan` as a tree on a terminal; write it as JSON to a file or a pipe."""
    if sys.stdout.isatty():
        out().print(PlanTree(plan, marks))
        return
    sys.stdout.write(plan_document(plan, "toolplan", tools))
    note("The plan is written as JSON, since this is no terminal; `toolplan show FILE` draws it.")


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
            diagnostics=[diagnostic_to_json(each) for each in checked.diagnostics],
        )
    return checked.plan
