"""`toolplan ask QUESTION`."""

from __future__ import annotations

import asyncio
import uuid
from contextlib import closing
from dataclasses import replace
from datetime import date
from typing import Annotated, NamedTuple

from cyclopts import Parameter

from toolplan.app import AskResult, Session, foreseen
from toolplan.cli._approval import ApprovalPrompt
from toolplan.cli._conversation import remembered
from toolplan.cli._display import Display
from toolplan.cli._forecast import report_comparison, report_forecast
from toolplan.cli._home import open_journal, storage
from toolplan.cli._learning import learn_from
from toolplan.cli._limits import ConcurrencyOption, LimitOptions, TimeoutOption
from toolplan.cli._options import (
    ApproveOption,
    BaseUrlOption,
    ContractsOption,
    ConversationOption,
    EffectsOption,
    JsonFlag,
    ModelOption,
    PlannerOption,
    RowsOption,
    TodayOption,
    ToolsOption,
    WeeksOption,
    YesFlag,
    day,
)
from toolplan.cli._outcome import print_run
from toolplan.cli._plan_file import plan_document
from toolplan.cli._planning import Planning, planning, report_planning_errors, report_usage, talking
from toolplan.cli._proposal import report_no_plan
from toolplan.cli._run_guard import RunGuard
from toolplan.cli._summary import SummaryOption, print_summary
from toolplan.cli._terminal import Exit, err, note, out
from toolplan.cli._toolbox import Toolset, open_tools
from toolplan.compiler import Compiled
from toolplan.deltas import Delta
from toolplan.engines import RunOptions
from toolplan.forecast import Forecast
from toolplan.plan import Step
from toolplan.render.diagnostics import DiagnosticView, Located
from toolplan.render.plan_tree import effect_marks, plan_tree
from toolplan.render.printable import printable
from toolplan.storage.journal import Journal, JournalError
from toolplan.storage.memory import Memory

PlanOnly = Annotated[
    bool, Parameter(name="--plan-only", negative="", help="Show the plan, and run nothing.")
]
EagerFlag = Annotated[
    bool,
    Parameter(
        name="--eager",
        negative="",
        help="Start steps that only read while a model still writes the plan.",
    ),
]
ReplanFlag = Annotated[
    bool,
    Parameter(
        name="--replan",
        negative="",
        help="After a failed run with effects go on with another plan; what is done stays done.",
    ),
]


def ask_command(
    question: str,
    *,
    plan_only: PlanOnly = False,
    yes: YesFlag = False,
    approve: ApproveOption = None,
    tools: ToolsOption = None,
    base_url: BaseUrlOption = None,
    effects: EffectsOption = (),
    at_once: ConcurrencyOption = (),
    timeout: TimeoutOption = None,
    today: TodayOption = None,
    weeks: WeeksOption = "rolling",
    planner: PlannerOption = "auto",
    contracts: ContractsOption = (),
    llm: ModelOption = (),
    session: ConversationOption = None,
    early: EagerFlag = False,
    loop: ReplanFlag = False,
    summary: SummaryOption = None,
    rows: RowsOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Answer a question: plan, show the plan, run it, say what was found."""
    how = planning(planner, llm, weeks, contracts)
    how = replace(how, planner=talking(how.planner, session, weeks))
    with (
        open_tools(tools, day(today), rows, effects, base_url) as toolset,
        remembered(session) as memory,
    ):
        run_options, opened = LimitOptions(at_once, timeout).for_run(toolset)
        kept = _Kept(memory, session or "")
        asking = _Asking(question, day(today), how, opened, kept, as_json=as_json)
        if plan_only:
            return asking.plan_only()
        with (
            closing(open_journal()) as journal,
            storage(),
            closing(Display(silent=as_json or summary == "json")) as display,
        ):
            leave = ApprovalPrompt(yes, approve, opened.tools, display, may_ask=not as_json)
            latest = _Latest(leave, journal, run_options, as_json=as_json)
            # the view ends first: it puts back the output that it found as it began
            with report_planning_errors(), latest.told(leave), closing(display):
                asked = asking.ask(latest, leave, early=early, loop=loop)
            if asked.unapproved is not None:
                leave.report_more(asked.unapproved)
            if asked.run is not None and latest.expected is not None:
                report_comparison(latest.expected, asked.run, as_json=as_json)
        if asked.run is None:
            report_usage(None if as_json else how.tracker)
            return report_no_plan(asked, as_json=as_json)
        if asked.plan is not None:
            learn_from(asked.plan.plan, asked.run, opened.tools)
        if summary is not None:
            return print_summary(asked, how.model, summary, how.tracker, as_json=as_json)
        report_usage(None if as_json else how.tracker)
        return print_run(asked.run, asked.answer, as_json=as_json)


class _Kept(NamedTuple):
    """Where turns are kept, and the name of the conversation."""

    memory: Memory | None
    conversation: str


class _Asking:
    """A question, and what it is answered with."""

    def __init__(
        self,
        question: str,
        today: date,
        how: Planning,
        opened: Toolset,
        kept: _Kept,
        *,
        as_json: bool,
    ) -> None:
        self._question = question
        self._today = today
        self._how = how
        self._opened = opened
        self._kept = kept
        self._as_json = as_json

    def plan_only(self) -> int:
        """Show the plan, and run nothing."""
        session = Session(
            self._opened.tools,
            self._how.planner,
            attempts=self._how.attempts,
            memory=self._kept.memory,
            conversation=self._kept.conversation,
        )
        with report_planning_errors():
            asked = asyncio.run(session.plan(self._question, today=self._today))
        report_usage(None if self._as_json else self._how.tracker)
        if asked.plan is None:
            return report_no_plan(asked, as_json=self._as_json)
        if self._as_json:
            print(plan_document(asked.plan.plan, "toolplan"), end="")
        else:
            out().print(
                plan_tree(asked.plan.plan, marks=effect_marks(asked.plan.plan, self._opened.tools))
            )
        return Exit.FINE.value

    def ask(self, latest: _Latest, leave: ApprovalPrompt, *, early: bool, loop: bool) -> AskResult:
        """Plan, run, and give what came of it."""
        session = Session(
            self._opened.tools,
            self._how.planner,
            insights=self._opened.insights,
            run_options=latest.run_options,
            attempts=self._how.attempts,
            approval=leave.approver(),
            loop=loop,
            journal=latest.journal,
            memory=self._kept.memory,
            conversation=self._kept.conversation,
            metadata=self._opened.advice,
            new_id=latest.new_id,
        )
        return asyncio.run(
            session.ask(
                self._question,
                today=self._today,
                early=early,
                on_step=None if self._as_json else latest.show_step,
                on_plan=latest.show_plan,
                on_delta=latest.show_delta,
                on_event=latest.show_event,
            )
        )


class _Latest(RunGuard):
    """The plan that runs, or was shown last, and the name of its run."""

    def __init__(
        self, leave: ApprovalPrompt, journal: Journal, run_options: RunOptions, *, as_json: bool
    ) -> None:
        super().__init__()
        self.expected: Forecast | None = None
        self.journal = journal
        self.run_options = run_options
        self.show_event = leave.display.show_event
        self._leave = leave
        self._as_json = as_json

    def new_id(self) -> str:
        """Return a name for a run."""
        self.run = uuid.uuid4().hex
        return self.run

    def is_kept(self) -> bool:
        """Whether the journal has the run: one of a plan that is still written is not there yet."""
        try:
            return bool(self.run) and bool(self.journal.find(self.run))
        except JournalError:
            return False

    def show_plan(self, compiled: Compiled) -> None:
        """Show the plan that is about to run, and what was mended in it.

        Raises:
            ApprovalRequired: leave was given to another one, and no run has begun.
        """
        if compiled.plan is None:
            return
        self.plan = compiled.plan
        self._leave.display.show_plan(compiled.plan, self._leave.tools)
        if compiled.diagnostics and not self._as_json:
            err().print(DiagnosticView(tuple(Located(each) for each in compiled.diagnostics)))
        self.expected = foreseen(compiled.plan, self.journal, self._leave.tools, self.run_options)
        report_forecast(self.expected, as_json=self._as_json)
        if not self.is_kept():  # of a plan that goes on with a run the engine knows what it asks
            self._leave.check(compiled.plan)
        self._leave.display.open(compiled.plan)

    def show_step(self, step: Step) -> None:
        """Show a step that a model has written."""
        note(f"  {printable(step.id)}: {printable(step.tool)}")

    def show_delta(self, change: Delta) -> None:
        """Show what becomes of a run that goes on with another plan."""
        if self._as_json:
            return
        self._leave.display.close()
        parts = [("kept", [*change.kept, *change.partly]), ("new", change.added)]
        parts.append(("dropped", change.dropped))
        told = "; ".join(f"{word}: {', '.join(names)}" for word, names in parts if names)
        note(printable(f"Another plan. {told}"))
