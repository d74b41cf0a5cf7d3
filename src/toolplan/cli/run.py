"""`toolplan run FILE`."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

from cyclopts import Parameter

from toolplan.app._open import open
from toolplan.app.app import App
from toolplan.app.wait import run_to_end
from toolplan.cli._approval import RunGuard
from toolplan.cli._display import Display
from toolplan.cli.options import (
    ApproveOption,
    ApproveValuesFlag,
    BaseUrlOption,
    ConcurrencyOption,
    DialectOption,
    EffectsOption,
    JournalOption,
    JsonFlag,
    ModelOption,
    PlanFileArgument,
    PolicyOption,
    StrictFlag,
    TimeoutOption,
    TimesOption,
    TodayOption,
    ToolsOption,
    YesFlag,
    for_given_plans,
    wanted,
)
from toolplan.cli.outcome import print_run, report_comparison, report_forecast, report_usage
from toolplan.cli.plan_file import checked_plan, read_plan
from toolplan.cli.terminal import Exit, ask_claim, note, out, print_json
from toolplan.dry_run import dry_view
from toolplan.events import Run
from toolplan.execution_plan import ExecutionPlan
from toolplan.forecast import Forecast
from toolplan.render.plan_tree import effect_marks, plan_tree

DryFlag = Annotated[
    bool,
    Parameter(name="--dry-run", help="Call no tool; report what would go wrong."),
]


def run_command(
    file: PlanFileArgument,
    *,
    tools: ToolsOption,
    base_url: BaseUrlOption = None,
    policy: PolicyOption = None,
    journal: JournalOption = None,
    dialect: DialectOption = "toolplan",
    yes: YesFlag = False,
    approve: ApproveOption = None,
    times: TimesOption = None,
    approve_values: ApproveValuesFlag = False,
    effects: EffectsOption = (),
    model: ModelOption = (),
    concurrency: ConcurrencyOption = (),
    timeout: TimeoutOption = None,
    dry_run: DryFlag = False,
    strict: StrictFlag = False,
    today: TodayOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Check a plan and run exactly that plan.

    A plan that changes something runs only when a person approves it, or with --yes or --approve.
    With --dry-run no tool is called: it is simulated with sample values.
    """
    plan_file, approve = read_plan(file, dialect), wanted(approve, approve_values, times)
    with closing(Display(silent=as_json)) as display:
        guard = RunGuard(display, yes=yes, digest=approve, may_ask=not as_json, times=times)
        with open(
            tools, **for_given_plans(model), base_url=base_url, policy=policy, journal=journal,
            effects=effects, on_note=note, on_claim=ask_claim, new_id=guard.new_id,
        ) as app:  # fmt: skip
            guard.app = app
            plan = checked_plan(app, plan_file, as_json=as_json)
            if dry_run:
                return _dry_run(app, plan, as_json=as_json)
            watching = _Watching(app, guard, as_json=as_json)
            with guard.interruptions_reported():
                ended = run_to_end(
                    app.run(
                        plan,
                        today=today,
                        yes=yes,
                        approve=guard.approve,
                        concurrency=concurrency,
                        timeout=timeout,
                        on_plan=watching.show_plan,
                        on_event=display.show_event,
                    )
                )
            if not as_json:
                _report(watching.expected, ended, app)
    return print_run(ended, ended.answer, as_json=as_json, strict=strict)


def _report(expected: Forecast | None, ended: Run, app: App) -> None:
    report_comparison(expected, ended)
    report_usage(app.tracker)


class _Watching:
    """Shows the plan that is about to run, and what it is expected to take."""

    def __init__(self, app: App, guard: RunGuard, *, as_json: bool) -> None:
        self.expected: Forecast | None = None
        self._app = app
        self._guard = guard
        self._as_json = as_json

    def show_plan(self, plan: ExecutionPlan) -> None:
        """Show the plan that is about to run."""
        self._guard.plan = plan
        self.expected = self._app.forecast(plan)
        self._guard.display.show_plan(plan, self._app.tools)
        if not self._as_json:
            report_forecast(self.expected)
        self._guard.display.open(plan)


def _dry_run(app: App, plan: ExecutionPlan, *, as_json: bool) -> int:
    found = run_to_end(app.run(plan, dry_run=True))
    if as_json:
        print_json(found.to_json())
    else:
        out().print(plan_tree(plan.plan, marks=effect_marks(plan.plan, app.tools)))
        out().print()
        out().print(dry_view(found))
    return (Exit.FINE if found.succeeded else Exit.FAILED).value
