"""`toolplan plan QUESTION`."""

from __future__ import annotations

import json
import sys

from toolplan.app._open import open
from toolplan.app._wait import run_to_end
from toolplan.cli._options import (
    BaseUrlOption,
    ContractsOption,
    ConversationOption,
    DialectOption,
    EffectsOption,
    JsonFlag,
    ModelOption,
    PlannerOption,
    PolicyOption,
    TodayOption,
    ToolsOption,
    WeeksOption,
)
from toolplan.cli._outcome import report_usage
from toolplan.cli._plan_file import plan_document
from toolplan.cli._proposal import print_plan, report_no_plan
from toolplan.cli._terminal import Exit, ask_claim, note
from toolplan.cli._thinking import thinking_shown
from toolplan.dialects import known_dialect
from toolplan.render.plan_tree import effect_marks


def plan_command(
    question: str,
    *,
    dialect: DialectOption = "toolplan",
    tools: ToolsOption = None,
    base_url: BaseUrlOption = None,
    policy: PolicyOption = None,
    effects: EffectsOption = (),
    today: TodayOption = None,
    weeks: WeeksOption = "rolling",
    planner: PlannerOption = "auto",
    contracts: ContractsOption = (),
    model: ModelOption = (),
    conversation: ConversationOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Plan a question, check the plan, and run nothing.

    The plan is shown as a tree on a terminal, and written as JSON to a
    file or a pipe: `toolplan plan QUESTION > plan.json`.
    """
    known_dialect(dialect)
    with open(
        tools,
        model=model or None,
        planner=planner,
        base_url=base_url,
        policy=policy,
        effects=effects,
        weeks=weeks,
        contracts=contracts,
        on_note=note,
        on_claim=ask_claim,
    ) as app:
        with thinking_shown(app.tracker, silent=as_json):
            asked = run_to_end(app.plan(question, today=today, conversation=conversation))
        if not as_json:
            report_usage(app.tracker)
        if asked.plan is None:
            return report_no_plan(asked, as_json=as_json)
        plan = asked.plan.plan
        document = plan_document(plan, dialect, app.tools)
        if as_json:
            sys.stdout.write(document)
        elif dialect != "toolplan":
            is_json = known_dialect(dialect).json
            sys.stdout.write(document if is_json else json.loads(document)["text"])
        else:
            print_plan(plan, app.tools, marks=effect_marks(plan, app.tools))
    return Exit.FINE.value
