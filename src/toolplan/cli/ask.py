"""`toolplan ask QUESTION`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import closing, nullcontext
from functools import partial
from typing import Annotated, Literal

from cyclopts import Parameter

from toolplan.app._open import open
from toolplan.app.app import App
from toolplan.app.results import AskResult
from toolplan.app.wait import run_to_end
from toolplan.cli import _proposal, _thinking, plan_file
from toolplan.cli._approval import RunGuard
from toolplan.cli._display import Display
from toolplan.cli.options import (
    ApproveOption,
    ApproveValuesFlag,
    BaseUrlOption,
    ConcurrencyOption,
    ContractsOption,
    ConversationOption,
    EffectsOption,
    JournalOption,
    JsonFlag,
    ModelOption,
    PlannerOption,
    PolicyOption,
    StrictFlag,
    TimeoutOption,
    TimesOption,
    TodayOption,
    ToolsOption,
    WeeksOption,
    YesFlag,
    wanted,
)
from toolplan.cli.outcome import print_run, report_comparison, report_forecast, report_usage
from toolplan.cli.terminal import Exit, ask_claim, err, note
from toolplan.compiler import Compiled
from toolplan.deltas import Delta
from toolplan.forecast import Forecast
from toolplan.plan import Step
from toolplan.render import diagnostics as diagnostics_view
from toolplan.render.printable import printable

PlanOnly = Annotated[bool, Parameter(name="--plan-only", help="Show the plan, and run nothing.")]
EagerFlag = Annotated[
    bool,
    Parameter(
        name="--eager",
        help="Start steps that only read while a model still writes the plan.",
    ),
]
ReplanFlag = Annotated[
    bool,
    Parameter(
        name="--replan",
        help="After a failed run with effects continue with another plan; what is done stays done.",
    ),
]
SummaryOption = Annotated[
    Literal["plain", "markdown", "json"] | None,
    Parameter(name="--summary", help="Let the model of --model put the answer into words."),
]


def ask_command(
    question: str,
    *,
    plan_only: PlanOnly = False,
    yes: YesFlag = False,
    approve: ApproveOption = None,
    times: TimesOption = None,
    approve_values: ApproveValuesFlag = False,
    tools: ToolsOption = (),
    base_url: BaseUrlOption = None,
    policy: PolicyOption = None,
    journal: JournalOption = None,
    effects: EffectsOption = (),
    concurrency: ConcurrencyOption = (),
    timeout: TimeoutOption = None,
    today: TodayOption = None,
    weeks: WeeksOption = "rolling",
    planner: PlannerOption = "auto",
    contracts: ContractsOption = (),
    model: ModelOption = (),
    conversation: ConversationOption = None,
    eager: EagerFlag = False,
    replan: ReplanFlag = False,
    summary: SummaryOption = None,
    strict: StrictFlag = False,
    as_json: JsonFlag = False,
) -> int:
    """Answer a question: plan, show the plan, run it, print the answer."""
    approve = wanted(approve, approve_values, times)
    with closing(Display(silent=as_json or summary == "json")) as display:
        guard = RunGuard(display, yes=yes, digest=approve, may_ask=not as_json, times=times)
        with open(
            tools or None, model=model or None, planner=planner, base_url=base_url, policy=policy,
            journal=journal, effects=effects, weeks=weeks, contracts=contracts, on_note=note,
            on_claim=ask_claim, new_id=guard.new_id,
        ) as app:  # fmt: skip
            ask = partial(
                app.ask,
                question,
                today=today,
                plan_only=plan_only,
                yes=yes,
                approve=guard.approve,
                concurrency=concurrency,
                timeout=timeout,
                conversation=conversation,
                eager=eager,
                replan=replan,
                summary=summary,
            )
            asked = _asked(ask, _Watching(app, guard, as_json=as_json))
    return _print(asked, plan_only=plan_only, as_json=as_json, strict=strict)


def _asked(
    ask: Callable[..., Coroutine[object, object, AskResult]], watching: _Watching
) -> AskResult:
    """Ask, and show plans, steps and events meanwhile."""
    display, tracker = watching.guard.display, watching.app.tracker
    thinking = (
        _thinking.thinking_shown(tracker, silent=False, is_hidden=lambda: display.is_live)
        if err().is_terminal and not watching.as_json
        else nullcontext()
    )
    with watching.guard.interruptions_reported(), thinking:
        asked = run_to_end(
            ask(
                on_step=None if watching.as_json else watching.show_step,
                on_plan=watching.show_plan,
                on_delta=watching.show_delta,
                on_event=watching.guard.display.show_event,
            )
        )
    if asked.unapproved is not None:
        watching.guard.report_more(asked.unapproved)
    if not watching.as_json:
        if asked.run is not None:
            report_comparison(watching.expected, asked.run)
        report_usage(watching.app.tracker)
    return asked


def _print(asked: AskResult, *, plan_only: bool, as_json: bool, strict: bool) -> int:
    if asked.run is not None:
        words = asked.summary
        return print_run(asked.run, asked.answer, as_json=as_json, summary=words, strict=strict)
    if not plan_only or asked.plan is None:
        return _proposal.report_no_plan(asked, as_json=as_json)
    if as_json:
        print(plan_file.plan_document(asked.plan.plan, "toolplan"), end="")
    else:
        _proposal.print_plan(asked.plan.plan, None, marks=asked.marks)
    return Exit.FINE.value


class _Watching:
    """Shows plans and steps while a question is answered."""

    def __init__(self, app: App, guard: RunGuard, *, as_json: bool) -> None:
        self.expected: Forecast | None = None
        self.app = app
        self.guard = guard
        self.as_json = as_json
        guard.app = app

    def show_plan(self, compiled: Compiled) -> None:
        """Show the plan that is about to run, and what was fixed in it."""
        if compiled.plan is None:
            return
        self.guard.plan = compiled.plan
        self.guard.display.show_plan(compiled.plan, self.app.tools)
        self.expected = self.app.forecast(compiled.plan)
        if not self.as_json:
            if compiled.diagnostics:
                err().print(
                    diagnostics_view.DiagnosticView(
                        tuple(diagnostics_view.Located(each) for each in compiled.diagnostics)
                    )
                )
            report_forecast(self.expected)
        self.guard.display.open(compiled.plan)

    def show_step(self, step: Step) -> None:
        """Show a step that a model has written."""
        note(f"  {printable(step.id)}: {printable(step.tool)}")

    def show_delta(self, change: Delta) -> None:
        """Show what a further plan keeps of the run before it."""
        if self.as_json:
            return
        self.guard.display.close()
        parts = [("kept", [*change.kept, *change.partly]), ("new", change.added)]
        parts.append(("removed", change.removed))
        listed = "; ".join(f"{word}: {', '.join(names)}" for word, names in parts if names)
        note(printable(f"Another plan. {listed}"))
