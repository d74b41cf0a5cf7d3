"""`toolplan ask`, `plan`, `run` and `resume`, and what is printed about their plans and runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from cyclopts import Parameter
from msgspec.structs import asdict

from toolplan.app._open import open
from toolplan.app._toolset import effect_labels, reopening
from toolplan.app.app import App
from toolplan.app.dry_run.report import dry_document
from toolplan.app.results import AskResult
from toolplan.app.resume import consents_of, decisions_of, left_out_items
from toolplan.app.wait import run_to_end
from toolplan.base.extensions import Extensions
from toolplan.base.extras import check_beside
from toolplan.cli import options
from toolplan.cli._approval import RunGuard, approved_by_word, report_usage
from toolplan.cli.plan_file import PlanFile, plan_document, plan_text, print_diagnostics, read_plan
from toolplan.cli.runs import continue_after_failover, placed, send
from toolplan.cli.terminal import (
    CommandError,
    Display,
    Exit,
    ask_claim,
    err,
    note,
    out,
    print_json,
    thinking_shown,
)
from toolplan.dialects import known_dialect
from toolplan.engine.deltas import Delta
from toolplan.events import Run, to_json
from toolplan.plan.diagnostics import to_json as diagnostic_to_json
from toolplan.plan.exact_json import read_json
from toolplan.plan.model import Plan, Step
from toolplan.plan.path import Json
from toolplan.planners import Clarification, Draft
from toolplan.policy.consent import effects_of
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Toolbox
from toolplan.show.answer import Answer
from toolplan.show.approval_view import EffectsView, by_step, doubt_lines
from toolplan.show.diagnostics import DiagnosticView, Located
from toolplan.show.document import DocumentView, Prose
from toolplan.show.plan_tree import PlanTree, effect_marks
from toolplan.show.printable import fit_encoding, printable
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


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class AskOptions:
    """How a question is answered.

    Attributes:
        plan_only: Show the plan, and run nothing.
        eager: Start steps that only read while a model still writes the plan.
        replan: After a failed run with effects continue with another plan; what is done stays done.
        summary: Let the model of --model put the answer into words.
    """

    plan_only: bool = False
    today: options.TodayOption = None
    conversation: options.ConversationOption = None
    eager: bool = False
    replan: bool = False
    summary: Literal["plain", "markdown", "json"] | None = None


StateOption = Annotated[
    Path | None,
    Parameter(
        help="A STATE in JSON (--contracts): its intent is planned, and the STATE is printed."
    ),
]


def ask_command(
    question: str,
    opening: options.QuestionOptions = options.QuestionOptions(),
    asking: AskOptions = AskOptions(),
    limits: options.RunLimits = options.RunLimits(),
    approval: options.ApprovalOptions = options.ApprovalOptions(),
    *,
    journal: options.JournalOption = None,
    strict: options.StrictFlag = False,
    as_json: options.JsonFlag = False,
) -> int:
    """Answer a question: plan, show the plan, run it, print the answer."""
    with closing(Display(silent=as_json or asking.summary == "json")) as display:
        guard = RunGuard(display, approval, may_ask=not as_json)
        own: dict[str, Any] = {
            "journal": journal,
            "on_note": note,
            "on_claim": ask_claim,
            "new_id": guard.new_id,
        }
        with (
            open(**vars(opening), **own) as app,
            guard.watching(app),
            thinking_shown(app.tracker, silent=as_json, is_hidden=lambda: display.is_live),
        ):
            watched = guard.arguments(guard.show_plan)
            if not as_json:
                watched |= {"on_step": _show_step, "on_delta": partial(_show_delta, display)}
            given = {**vars(asking), **vars(limits), **watched}
            asked = run_to_end(app.ask(question, **given))
        guard.report_ended(asked.run, asked.unapproved)
    if asked.run is not None:
        words = asked.summary
        return print_run(asked.run, asked.answer, as_json=as_json, summary=words, strict=strict)
    if not asking.plan_only or asked.plan is None:
        return report_no_plan(asked, as_json=as_json)
    if as_json:
        print(plan_document(asked.plan.plan, "toolplan"), end="")
    else:
        print_plan(asked.plan.plan, None, marks=asked.marks)
    return Exit.FINE.value


def _show_step(step: Step) -> None:
    """Show a step that a model has written."""
    note(f"  {printable(step.id)}: {printable(step.tool)}")


def _show_delta(display: Display, change: Delta) -> None:
    """Show the steps that a further plan keeps of the run before it."""
    display.close()
    parts = {"kept": [*change.kept, *change.partly], "new": change.added, "removed": change.removed}
    listed = "; ".join(f"{word}: {', '.join(names)}" for word, names in parts.items() if names)
    note(printable(f"Another plan. {listed}"))


_CONTRACT: Final = "contract"
_PlanState: TypeAlias = Callable[[dict[str, Json], Sequence[str]], dict[str, Json] | Clarification]
_STATES: Final = Extensions[_PlanState]("toolplan.states")
"""The planner of a STATE's intent by contracts; it asks where the intent is not clear."""


def plan_command(
    question: str = "",
    opening: options.QuestionOptions = options.QuestionOptions(),
    *,
    dialect: options.DialectOption = "toolplan",
    today: options.TodayOption = None,
    conversation: options.ConversationOption = None,
    state: StateOption = None,
    as_json: options.JsonFlag = False,
) -> int:
    """Plan a question, check the plan, and run nothing.

    The plan is shown as a tree on a terminal, and written as JSON to a
    file or a pipe: `toolplan plan QUESTION > plan.json`.
    """
    known_dialect(dialect)
    if (state is None) == (not question):
        raise CommandError("usage", "Give a question, or a STATE with --state.")
    if state is not None:
        return _print_state(state, opening.contracts, as_json=as_json)
    with open(**vars(opening), on_note=note, on_claim=ask_claim) as app:
        with thinking_shown(app.tracker, silent=as_json):
            asked = run_to_end(app.plan(question, today=today, conversation=conversation))
        if not as_json:
            report_usage(app.tracker)
        if asked.plan is None:
            return report_no_plan(asked, as_json=as_json)
        plan = asked.plan.plan
        if as_json:
            sys.stdout.write(plan_document(plan, dialect, app.tools))
        elif dialect != "toolplan":
            sys.stdout.write(plan_text(plan, dialect, app.tools))
        else:
            print_plan(plan, app.tools, marks=effect_marks(plan, app.tools))
    return Exit.FINE.value


def _print_state(file: Path, contracts: Sequence[str], *, as_json: bool) -> int:
    """Plan the intent of the STATE in `file`, and print the STATE with its plan."""
    if not contracts:
        raise CommandError("usage", "A STATE is planned by contracts: name them with --contracts.")
    try:
        state = read_json(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise CommandError("usage", f"{file}: The STATE cannot be read: {reason}.") from None
    if not isinstance(state, dict):
        raise CommandError("usage", f"{file}: A STATE is a JSON object.")
    if _CONTRACT not in _STATES:
        check_beside("planner", _CONTRACT)
    planned = _STATES[_CONTRACT](state, contracts)
    if isinstance(planned, Clarification):
        if as_json:
            print_json(clarification_json(planned))
        else:
            note(planned.question)
        return Exit.FAILED.value
    sys.stdout.write(json.dumps(planned, ensure_ascii=False, indent=2) + "\n")
    return Exit.FINE.value


LeaveOutOption = Annotated[
    tuple[str, ...],
    Parameter(help="STEP:ITEM: leave this call out; another plan makes the others."),
]
FailoverFlag = Annotated[
    bool, Parameter(help="After the database has moved, let workers continue RUN, or all runs.")
]


def run_command(
    file: options.PlanFileArgument,
    opening: options.AppOptions = options.AppOptions(),
    limits: options.RunLimits = options.RunLimits(),
    approval: options.ApprovalOptions = options.ApprovalOptions(),
    *,
    journal: options.JournalOption = None,
    dialect: options.DialectOption = "toolplan",
    dry_run: Annotated[bool, Parameter(help="Call no tool; report what would go wrong.")] = False,
    strict: options.StrictFlag = False,
    today: options.TodayOption = None,
    as_json: options.JsonFlag = False,
) -> int:
    """Check a plan and run exactly that plan.

    A plan that changes something runs only when a person approves it, or with --yes or --approve.
    With --dry-run no tool is called: it is simulated with sample values.
    """
    if not opening.tools:
        raise CommandError("usage", "--tools is missing.", "See `toolplan run --help`.")
    plan_file, planner = read_plan(file, dialect), options.for_given_plans(opening.model)
    with closing(Display(silent=as_json)) as display:
        guard = RunGuard(display, approval, may_ask=not as_json)
        own: dict[str, Any] = {"journal": journal, "planner": planner, "new_id": guard.new_id}
        with open(**vars(opening), **own, on_note=note, on_claim=ask_claim) as app:
            plan = checked_plan(app, plan_file, as_json=as_json)
            if dry_run:
                found = run_to_end(app.run(plan, dry_run=True))
                if as_json:
                    print_json(found.to_json())
                else:
                    out().print(PlanTree(plan.plan, effect_marks(plan.plan, app.tools)))
                    out().print()
                    out().print(DocumentView(dry_document(found)))
                return (Exit.FINE if found.succeeded else Exit.FAILED).value
            with guard.watching(app):
                watched = guard.arguments(guard.show_plan)
                ended = run_to_end(app.run(plan, today=today, **vars(limits), **watched))
        guard.report_ended(ended)
    return print_run(ended, ended.answer, as_json=as_json, strict=strict)


def resume_command(
    run: options.RunArgument = "",
    opening: options.ToolOptions = options.ToolOptions(),
    limits: options.RunLimits = options.RunLimits(),
    approval: options.ApprovalOptions = options.ApprovalOptions(),
    decisions: options.Decisions = options.Decisions(),
    *,
    leave_out: LeaveOutOption = (),
    after_failover: FailoverFlag = False,
    model: options.ModelOption = None,
    journal: options.JournalOption = None,
    as_json: options.JsonFlag = False,
) -> int:
    """Resume a run that was interrupted, or that waits for a person.

    What is done is not done again. A call in doubt needs --retry, --resolve or --abort; one that
    waits with its values --allow or --deny. --leave-out continues with another plan, without some
    of the calls that wait. `toolplan show RUN` shows both. A run of an MCP client asks for a word.
    """
    approve = approval.approved
    # a wrong decision is an error before anything is opened
    decisions_of(decisions.retry, decisions.resolve, decisions.abort)
    consents_of(decisions.allow, decisions.deny, decisions.reason)
    left_out_items(leave_out)
    if after_failover:
        return continue_after_failover(journal, run, as_json=as_json)
    if not run:
        raise CommandError("usage", "RUN is missing.")
    with (
        closing(options.opened_journal(journal)) as store,
        closing(Display(silent=as_json)) as display,
    ):
        name = store.find(run)
        approves, is_placed = bool(approve or decisions.allow or leave_out), placed(store, name)
        by_word = approved_by_word(
            store, name, yes=approval.yes, approves=approves, here=is_placed is None
        )
        if by_word:  # what waits is shown again
            decisions = replace(decisions, allow=())
        if is_placed is not None:
            values = "--approve-values" if approval.approve_values else ""
            here = "--leave-out" if leave_out else values
            return send(store, name, decisions, approve, here=here, as_json=as_json)
        guard = RunGuard(display, approval, may_ask=not as_json, run=name, by_word=by_word)
        kept = _opening(store.record(name).plan, opening, model)
        with open(**kept, journal=store, on_note=note) as app, guard.watching(app):
            before = () if as_json else store.events(name)
            watched = guard.arguments(partial(guard.go_on, before=before))
            given = {**vars(decisions), **vars(limits), "leave_out": leave_out}
            ended = run_to_end(app.resume(name, **given, **watched))
    if leave_out:
        made = f"digest {ended.digest} and run {ended.run[:SHORT]}"
        note(f"That was another plan, with {made}. Run {name[:SHORT]} is over.")
    return print_run(ended, ended.answer, as_json=as_json)


def _opening(plan: Json, given: options.ToolOptions, model: Sequence[str] | None) -> dict[str, Any]:
    """Return the arguments of `open`: options override those that were kept with the run."""
    spec, kept, base_url = reopening(plan)
    if not (given.tools or spec):
        message = "--tools is missing: the run does not say where its tools came from."
        raise CommandError("usage", message)
    labels = {**kept, **{tool: label.value for tool, label in effect_labels(given.effects).items()}}
    known = {"tools": given.tools or spec, "effects": labels, "base_url": base_url}
    return {**known, "model": model, "planner": options.for_given_plans(model)}
