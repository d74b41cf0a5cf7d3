"""`toolplan plan QUESTION`."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace

from toolplan.app import Session
from toolplan.cli._conversation import remembered
from toolplan.cli._home import existing_journal, storage
from toolplan.cli._limits import LimitOptions
from toolplan.cli._options import (
    BaseUrlOption,
    ContractsOption,
    ConversationOption,
    DialectOption,
    EffectsOption,
    JsonFlag,
    ModelOption,
    PlannerOption,
    RowsOption,
    TodayOption,
    ToolsOption,
    WeeksOption,
    day,
    known_dialect,
)
from toolplan.cli._plan_file import plan_document
from toolplan.cli._planning import planning, report_planning_errors, report_usage, talking
from toolplan.cli._proposal import report_no_plan
from toolplan.cli._terminal import Exit, out
from toolplan.cli._toolbox import open_tools
from toolplan.dialects import DIALECTS
from toolplan.render.plan_tree import effect_marks, plan_tree


def plan_command(
    question: str,
    *,
    dialect: DialectOption = "toolplan",
    tools: ToolsOption = None,
    base_url: BaseUrlOption = None,
    effects: EffectsOption = (),
    today: TodayOption = None,
    weeks: WeeksOption = "rolling",
    planner: PlannerOption = "auto",
    contracts: ContractsOption = (),
    llm: ModelOption = (),
    session: ConversationOption = None,
    rows: RowsOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Return the plan for a question, checked, and run nothing.

    Without --json and --dialect the plan is shown as a tree.
    """
    known_dialect(dialect)
    how = planning(planner, llm, weeks, contracts)
    how = replace(how, planner=talking(how.planner, session, weeks))
    with (
        open_tools(tools, day(today), rows, effects, base_url) as opened,
        remembered(session) as memory,
        storage(),
        report_planning_errors(),
    ):
        session_ = Session(
            opened.tools,
            how.planner,
            attempts=how.attempts,
            journal=existing_journal(),
            memory=memory,
            conversation=session or "",
            run_options=LimitOptions().run_options(opened),
        )
        asked = asyncio.run(session_.plan(question, today=day(today)))
    if not as_json:
        report_usage(how.tracker)
    if asked.plan is None:
        return report_no_plan(asked, as_json=as_json)
    document = plan_document(asked.plan.plan, dialect, opened.tools)
    if as_json:
        sys.stdout.write(document)
    elif dialect != "toolplan":
        sys.stdout.write(json.loads(document)["text"] if not DIALECTS[dialect].json else document)
    else:
        out().print(plan_tree(asked.plan.plan, marks=effect_marks(asked.plan.plan, opened.tools)))
    return Exit.FINE.value
