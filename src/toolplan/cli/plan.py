"""`toolplan plan QUESTION`."""

from __future__ import annotations

import asyncio
import json
import sys

from toolplan.cli._home import existing_journal, storage
from toolplan.cli._options import (
    DialectOption,
    EffectsOption,
    JsonFlag,
    PlannerOption,
    RowsOption,
    TodayOption,
    ToolsOption,
    WeeksOption,
    day,
    known_dialect,
)
from toolplan.cli._proposal import plan_document, tell_no_plan
from toolplan.cli._terminal import Exit, out
from toolplan.cli._toolbox import open_tools
from toolplan.dialects import DIALECTS
from toolplan.planners import GroundedPlanner
from toolplan.render.plan_tree import effect_marks, plan_tree
from toolplan.session import Session


def plan_command(
    question: str,
    *,
    dialect: DialectOption = "toolplan",
    tools: ToolsOption = None,
    effects: EffectsOption = (),
    today: TodayOption = None,
    weeks: WeeksOption = "rolling",
    planner: PlannerOption = "grounded",
    rows: RowsOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Give the plan for a question, checked, and run nothing.

    Without --json and --dialect the plan is shown as a tree.
    """
    del planner  # there is one so far; the option keeps scripts that name it working
    known_dialect(dialect)
    opened = open_tools(tools, day(today), rows, effects)
    with storage():
        session = Session(opened.tools, GroundedPlanner(weeks=weeks), journal=existing_journal())
        asked = asyncio.run(session.plan(question, today=day(today)))
    if asked.plan is None:
        return tell_no_plan(asked, as_json=as_json)
    document = plan_document(asked.plan.plan, dialect, opened.tools)
    if as_json:
        sys.stdout.write(document)
    elif dialect != "toolplan":
        sys.stdout.write(json.loads(document)["text"] if not DIALECTS[dialect].json else document)
    else:
        out().print(plan_tree(asked.plan.plan, marks=effect_marks(asked.plan)))
    return Exit.FINE.value
