"""`toolplan run` and `toolplan resume`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Annotated, Any

from cyclopts import Parameter

from toolplan.app._decisions import consents_of, decisions_of, left_out_items
from toolplan.app._open import open
from toolplan.app._toolset import effect_labels, reopening
from toolplan.app.app import App
from toolplan.app.dry_run.report import dry_document
from toolplan.app.wait import run_to_end
from toolplan.cli import options
from toolplan.cli._approval import RunGuard, approved_by_word
from toolplan.cli._display import Display
from toolplan.cli._tools import opened_journal
from toolplan.cli.outcome import checked_plan, print_run
from toolplan.cli.placed import Decisions, continue_after_failover, placed, send
from toolplan.cli.plan_file import read_plan
from toolplan.cli.terminal import CommandError, Exit, ask_claim, note, out, print_json
from toolplan.plan.path import Json
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.show.document import DocumentView
from toolplan.show.plan_tree import effect_marks, plan_tree
from toolplan.show.runs_view import SHORT


def run_command(
    file: options.PlanFileArgument,
    *,
    tools: options.ToolsOption,
    base_url: options.BaseUrlOption = None,
    policy: options.PolicyOption = None,
    journal: options.JournalOption = None,
    dialect: options.DialectOption = "toolplan",
    yes: options.YesFlag = False,
    approve: options.ApproveOption = None,
    times: options.TimesOption = None,
    approve_values: options.ApproveValuesFlag = False,
    effects: options.EffectsOption = (),
    model: options.ModelOption = (),
    concurrency: options.ConcurrencyOption = (),
    timeout: options.TimeoutOption = None,
    dry_run: bool = False,
    strict: options.StrictFlag = False,
    today: options.TodayOption = None,
    as_json: options.JsonFlag = False,
) -> int:
    """Check a plan and run exactly that plan.

    A plan that changes something runs only when a person approves it, or with --yes or --approve.
    With --dry-run no tool is called: it is simulated with sample values.

    Args:
        dry_run: Call no tool; report what would go wrong.
    """
    plan_file, approve = read_plan(file, dialect), options.wanted(approve, approve_values, times)
    with closing(Display(silent=as_json)) as display:
        guard = RunGuard(display, yes=yes, digest=approve, may_ask=not as_json, times=times)
        with open(
            tools, **options.for_given_plans(model), base_url=base_url, policy=policy,
            journal=journal, effects=effects, on_note=note, on_claim=ask_claim, new_id=guard.new_id,
        ) as app:  # fmt: skip
            guard.app = app
            plan = checked_plan(app, plan_file, as_json=as_json)
            if dry_run:
                return _dry_run(app, plan, as_json=as_json)
            with guard.interruptions_reported():
                ended = run_to_end(app.run(
                    plan, today=today, yes=yes, approve=guard.approve, concurrency=concurrency,
                    timeout=timeout, on_plan=guard.show_plan, on_event=display.show_event,
                ))  # fmt: skip
            guard.report_ended(ended)
    return print_run(ended, ended.answer, as_json=as_json, strict=strict)


def _dry_run(app: App, plan: ExecutionPlan, *, as_json: bool) -> int:
    found = run_to_end(app.run(plan, dry_run=True))
    if as_json:
        print_json(found.to_json())
    else:
        out().print(plan_tree(plan.plan, marks=effect_marks(plan.plan, app.tools)))
        out().print()
        out().print(DocumentView(dry_document(found)))
    return (Exit.FINE if found.succeeded else Exit.FAILED).value


RunArgument = Annotated[str, Parameter(help="The run, or the beginning of its name.")]


def resume_command(
    run: RunArgument = "", *, tools: options.ToolsOption = (),
    journal: options.JournalOption = None, retry: tuple[str, ...] = (),
    resolve: tuple[str, ...] = (), abort: tuple[str, ...] = (), allow: tuple[str, ...] = (),
    deny: tuple[str, ...] = (), leave_out: tuple[str, ...] = (), reason: str = "",
    after_failover: bool = False, yes: options.YesFlag = False,
    approve: options.ApproveOption = None, times: options.TimesOption = None,
    approve_values: options.ApproveValuesFlag = False, effects: options.EffectsOption = (),
    model: options.ModelOption = (), concurrency: options.ConcurrencyOption = (),
    timeout: options.TimeoutOption = None, as_json: options.JsonFlag = False,
) -> int:  # fmt: skip
    """Resume a run that was interrupted, or that waits for a person.

    What is done is not done again. A call in doubt needs --retry, --resolve or --abort; one that
    waits with its values --allow or --deny. --leave-out continues with another plan, without some
    of the calls that wait. `toolplan show RUN` shows both. A run of an MCP client asks for a word.

    Args:
        retry: STEP or STEP:ITEM: make the call again.
        resolve: STEP=JSON or STEP:ITEM=JSON: the call succeeded, with this result.
        abort: STEP or STEP:ITEM: the call failed.
        allow: STEP: make its calls that wait, as shown.
        deny: STEP: its calls that wait are not made.
        leave_out: STEP:ITEM: leave this call out; another plan makes the others.
        reason: Why they are not; it is kept with the run.
        after_failover: After the database has moved, let workers continue RUN, or all runs.
    """
    approve = options.wanted(approve, approve_values, times)
    # a wrong decision is an error before anything is opened
    _ = decisions_of(retry, resolve, abort), consents_of(allow, deny, reason)
    left_out_items(leave_out)
    if after_failover:
        return continue_after_failover(journal, run, as_json=as_json)
    if not run:
        raise CommandError("usage", "RUN is missing.")
    with closing(opened_journal(journal)) as store, closing(Display(silent=as_json)) as display:
        name = store.find(run)
        approves, is_placed = bool(approve or allow or leave_out), placed(store, name) is not None
        by_word = approved_by_word(store, name, yes=yes, approves=approves, here=not is_placed)
        # a run that is approved by a word shows again what waits
        decided = Decisions(retry, resolve, abort, () if by_word else allow, deny, reason)
        if is_placed:
            here = "--leave-out" if leave_out else "--approve-values" if approve_values else ""
            return send(store, name, decided, approve, here=here, as_json=as_json)
        opening = _opening(store.record(name).plan, tools, effects, model)
        guard = RunGuard(display, yes=yes, digest=approve, may_ask=not as_json, run=name,
                         by_word=by_word, times=times)  # fmt: skip
        with open(**opening, journal=store, on_note=note) as app:
            guard.app, before = app, () if as_json else store.events(name)
            with guard.interruptions_reported():
                ended = run_to_end(app.resume(
                    name, **decided._asdict(), leave_out=leave_out, yes=yes, approve=guard.approve,
                    concurrency=concurrency, timeout=timeout,
                    on_plan=lambda plan: guard.go_on(plan, before), on_event=display.show_event,
                ))  # fmt: skip
    if leave_out:
        made = f"digest {ended.digest} and run {ended.run[:SHORT]}"
        note(f"That was another plan, with {made}. Run {name[:SHORT]} is over.")
    return print_run(ended, ended.answer, as_json=as_json)


def _opening(
    plan: Json, tools: Sequence[str], effects: Sequence[str], model: tuple[str, ...]
) -> dict[str, Any]:
    """Return the arguments of `open`: options override those that were kept with the run."""
    spec, kept, base_url = reopening(plan)
    if not (tools or spec):
        said = "--tools is missing: the run does not say where its tools came from."
        raise CommandError("usage", said)
    labels = {**kept, **{tool: label.value for tool, label in effect_labels(effects).items()}}
    given = options.for_given_plans(model)
    return {**given, "tools": tools or spec, "effects": labels, "base_url": base_url}
