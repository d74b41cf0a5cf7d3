"""`toolplan run` and `toolplan resume`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from cyclopts import Parameter

from toolplan.app._open import open
from toolplan.app._toolset import effect_labels, reopening
from toolplan.app.dry_run.report import dry_document
from toolplan.app.resume import consents_of, decisions_of, left_out_items
from toolplan.app.wait import run_to_end
from toolplan.cli import options
from toolplan.cli._approval import RunGuard, approved_by_word
from toolplan.cli._display import Display
from toolplan.cli.outcome import checked_plan, print_run
from toolplan.cli.placed import continue_after_failover, placed, send
from toolplan.cli.plan_file import read_plan
from toolplan.cli.terminal import CommandError, Exit, ask_claim, note, out, print_json
from toolplan.plan.path import Json
from toolplan.show.document import DocumentView
from toolplan.show.plan_tree import PlanTree, effect_marks
from toolplan.show.runs_view import SHORT

LeaveOutOption = Annotated[
    tuple[str, ...],
    Parameter(help="STEP:ITEM: leave this call out; another plan makes the others."),
]
FailoverFlag = Annotated[
    bool,
    Parameter(help="After the database has moved, let workers continue RUN, or all runs."),
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
