"""`toolplan ask QUESTION`."""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import redirect_stdout
from typing import Annotated

from cyclopts import Parameter

from toolplan.approval import ApprovalRequired, approve
from toolplan.cli._options import (
    JsonFlag,
    PlannerOption,
    RowsOption,
    TodayOption,
    ToolsOption,
    WeeksOption,
    YesFlag,
    day,
)
from toolplan.cli._outcome import approval_missing, print_run
from toolplan.cli._proposal import plan_document, tell_no_plan
from toolplan.cli._terminal import Exit, err, out
from toolplan.cli._toolbox import open_tools
from toolplan.compiler import Compiled
from toolplan.events import Event
from toolplan.planners import GroundedPlanner
from toolplan.render.diagnostics import DiagnosticView, Located
from toolplan.render.plan_tree import effect_marks, plan_tree
from toolplan.render.run_progress import RunProgress
from toolplan.session import Asked, Session

PlanOnly = Annotated[
    bool, Parameter(name="--plan-only", negative="", help="Show the plan, and run nothing.")
]


def ask_command(
    question: str,
    *,
    plan_only: PlanOnly = False,
    yes: YesFlag = False,
    tools: ToolsOption = None,
    today: TodayOption = None,
    weeks: WeeksOption = "rolling",
    planner: PlannerOption = "grounded",
    rows: RowsOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Answer a question: plan, show the plan, run it, say what was found."""
    del planner  # there is one so far; the option keeps scripts that name it working
    opened = open_tools(tools, day(today), rows)
    session = Session(
        opened.tools,
        GroundedPlanner(weeks=weeks),
        facts=opened.facts,
        approve=approve if yes else None,
    )
    if plan_only:
        return _plan_only(asyncio.run(session.plan(question, today=day(today))), as_json)
    display = _Display(as_json=as_json)
    try:
        with redirect_stdout(sys.stderr):  # what a tool prints is no result of ours
            asked = asyncio.run(
                session.ask(
                    question,
                    today=day(today),
                    on_plan=display.show_plan,
                    on_event=display.show_event,
                )
            )
    except ApprovalRequired as required:
        raise approval_missing(required) from None
    finally:
        display.close()
    if asked.run is None:
        return tell_no_plan(asked, as_json=as_json)
    return print_run(asked.run, asked.answer, as_json=as_json)


def _plan_only(asked: Asked, as_json: bool) -> int:
    if asked.plan is None:
        return tell_no_plan(asked, as_json=as_json)
    if as_json:
        print(plan_document(asked.plan.plan, "toolplan"), end="")
    else:
        out().print(plan_tree(asked.plan.plan, marks=effect_marks(asked.plan)))
    return Exit.FINE.value


class _Display:
    """Shows the plan, then how its run goes on; nothing where only JSON is wanted."""

    def __init__(self, *, as_json: bool) -> None:
        self._silent = as_json
        self._out = out()
        self._progress: RunProgress | None = None

    def show_plan(self, compiled: Compiled) -> None:
        """Show the plan that is about to run, and what was mended in it."""
        self.close()
        if self._silent or compiled.plan is None:
            return
        self._out.print(plan_tree(compiled.plan.plan, marks=effect_marks(compiled.plan)))
        if compiled.diagnostics:
            err().print(DiagnosticView(tuple(Located(each) for each in compiled.diagnostics)))
        self._out.print()
        self._progress = RunProgress(compiled.plan.plan, err(), clock=time.time)
        self._progress.__enter__()

    def show_event(self, event: Event) -> None:
        """Show one thing that happened."""
        if self._progress is not None:
            self._progress(event)

    def close(self) -> None:
        """End the live view, if there is one."""
        if self._progress is not None:
            self._progress.__exit__(None, None, None)
            self._progress = None
