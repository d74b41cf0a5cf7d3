"""`toolplan ask QUESTION`."""

from __future__ import annotations

import asyncio
import uuid
from contextlib import closing
from typing import Annotated

from cyclopts import Parameter

from toolplan.cli._display import Display
from toolplan.cli._forecast import tell_comparison, tell_forecast
from toolplan.cli._going import Going
from toolplan.cli._home import open_journal, storage
from toolplan.cli._leave import Leave
from toolplan.cli._options import (
    ApproveOption,
    EffectsOption,
    JsonFlag,
    PlannerOption,
    RowsOption,
    TodayOption,
    ToolsOption,
    WeeksOption,
    YesFlag,
    day,
)
from toolplan.cli._outcome import print_run
from toolplan.cli._proposal import plan_document, tell_no_plan
from toolplan.cli._terminal import Exit, err, out
from toolplan.cli._toolbox import open_tools
from toolplan.compiler import Compiled
from toolplan.forecast import Forecast
from toolplan.journal import Journal
from toolplan.planners import GroundedPlanner
from toolplan.render.diagnostics import DiagnosticView, Located
from toolplan.render.plan_tree import effect_marks, plan_tree
from toolplan.session import Asked, Session, foreseen

PlanOnly = Annotated[
    bool, Parameter(name="--plan-only", negative="", help="Show the plan, and run nothing.")
]


def ask_command(
    question: str,
    *,
    plan_only: PlanOnly = False,
    yes: YesFlag = False,
    approve: ApproveOption = None,
    tools: ToolsOption = None,
    effects: EffectsOption = (),
    today: TodayOption = None,
    weeks: WeeksOption = "rolling",
    planner: PlannerOption = "grounded",
    rows: RowsOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Answer a question: plan, show the plan, run it, say what was found."""
    del planner  # there is one so far; the option keeps scripts that name it working
    opened = open_tools(tools, day(today), rows, effects)
    if plan_only:
        session = Session(opened.tools, GroundedPlanner(weeks=weeks))
        return _plan_only(asyncio.run(session.plan(question, today=day(today))), as_json)
    with closing(open_journal()) as journal, storage(), closing(Display(silent=as_json)) as display:
        latest = _Latest(display, journal, as_json=as_json)
        leave = Leave(yes, approve, opened.tools, display, may_ask=not as_json)
        session = Session(
            opened.tools,
            GroundedPlanner(weeks=weeks),
            facts=opened.facts,
            approve=leave.approve(),
            journal=journal,
            metadata=opened.advice,
            new_id=latest.new_id,
        )
        with latest.told(leave):
            asked = asyncio.run(
                session.ask(
                    question,
                    today=day(today),
                    on_plan=latest.show_plan,
                    on_event=display.show_event,
                )
            )
        if asked.run is not None and latest.expected is not None:
            display.close()
            tell_comparison(latest.expected, asked.run, as_json=as_json)
    if asked.run is None:
        return tell_no_plan(asked, as_json=as_json)
    return print_run(asked.run, asked.answer, as_json=as_json)


class _Latest(Going):
    """The plan that runs, or was shown last, and the name of its run."""

    def __init__(self, display: Display, journal: Journal, *, as_json: bool) -> None:
        super().__init__()
        self.expected: Forecast | None = None
        self._display = display
        self._journal = journal
        self._as_json = as_json

    def new_id(self) -> str:
        """Give a name for a run."""
        self.run = uuid.uuid4().hex
        return self.run

    def show_plan(self, compiled: Compiled) -> None:
        """Show the plan that is about to run, and what was mended in it."""
        if compiled.plan is None:
            return
        self.plan = compiled.plan
        self._display.show_plan(compiled.plan)
        if compiled.diagnostics and not self._as_json:
            err().print(DiagnosticView(tuple(Located(each) for each in compiled.diagnostics)))
        self.expected = foreseen(compiled.plan, self._journal)
        tell_forecast(self.expected, as_json=self._as_json)
        self._display.open(compiled.plan)


def _plan_only(asked: Asked, as_json: bool) -> int:
    if asked.plan is None:
        return tell_no_plan(asked, as_json=as_json)
    if as_json:
        print(plan_document(asked.plan.plan, "toolplan"), end="")
    else:
        out().print(plan_tree(asked.plan.plan, marks=effect_marks(asked.plan)))
    return Exit.FINE.value
