"""`toolplan run FILE`."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

from cyclopts import Parameter

from toolplan.app._open import open
from toolplan.app.app import App
from toolplan.app.wait import run_to_end
from toolplan.cli import options
from toolplan.cli._approval import RunGuard
from toolplan.cli._display import Display
from toolplan.cli.outcome import checked_plan, print_run
from toolplan.cli.plan_file import read_plan
from toolplan.cli.terminal import Exit, ask_claim, note, out, print_json
from toolplan.dry_run import dry_view
from toolplan.execution_plan import ExecutionPlan
from toolplan.render.plan_tree import effect_marks, plan_tree

DryFlag = Annotated[bool, Parameter(help="Call no tool; report what would go wrong.")]


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
    dry_run: DryFlag = False,
    strict: options.StrictFlag = False,
    today: options.TodayOption = None,
    as_json: options.JsonFlag = False,
) -> int:
    """Check a plan and run exactly that plan.

    A plan that changes something runs only when a person approves it, or with --yes or --approve.
    With --dry-run no tool is called: it is simulated with sample values.
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
        out().print(dry_view(found))
    return (Exit.FINE if found.succeeded else Exit.FAILED).value
