"""`toolplan plan QUESTION`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeAlias, cast

from toolplan.app._open import open
from toolplan.app.wait import run_to_end
from toolplan.cli import options
from toolplan.cli._display import thinking_shown
from toolplan.cli.outcome import clarification_json, print_plan, report_no_plan, report_usage
from toolplan.cli.plan_file import plan_document, plan_text
from toolplan.cli.terminal import CommandError, Exit, ask_claim, note, print_json
from toolplan.dialects import known_dialect
from toolplan.extensions import Extensions
from toolplan.extras import check_beside
from toolplan.path import Json
from toolplan.planners import Clarification
from toolplan.render.plan_tree import effect_marks

_CONTRACT: Final = "contract"
_PlanState: TypeAlias = Callable[[dict[str, Json], Sequence[str]], dict[str, Json] | Clarification]
_STATES: Final = Extensions[_PlanState]("toolplan.states")
"""What plans the intent of a STATE by contracts; it asks where the intent is not clear."""


def plan_command(
    question: str = "",
    *,
    dialect: options.DialectOption = "toolplan",
    tools: options.ToolsOption = (),
    base_url: options.BaseUrlOption = None,
    policy: options.PolicyOption = None,
    effects: options.EffectsOption = (),
    today: options.TodayOption = None,
    weeks: options.WeeksOption = "rolling",
    planner: options.PlannerOption = "auto",
    contracts: options.ContractsOption = (),
    model: options.ModelOption = (),
    conversation: options.ConversationOption = None,
    state: options.StateOption = None,
    as_json: options.JsonFlag = False,
) -> int:
    """Plan a question, check the plan, and run nothing.

    The plan is shown as a tree on a terminal, and written as JSON to a
    file or a pipe: `toolplan plan QUESTION > plan.json`.
    """
    known_dialect(dialect)
    if (state is None) == (not question):
        raise CommandError("usage", "Give a question, or a STATE with --state.")
    if state is not None:
        return _print_state(state, contracts, as_json=as_json)
    with open(
        tools or None, model=model or None, planner=planner, base_url=base_url, policy=policy,
        effects=effects, weeks=weeks, contracts=contracts, on_note=note, on_claim=ask_claim,
    ) as app:  # fmt: skip
        with thinking_shown(app.tracker, silent=as_json):
            asked = run_to_end(app.plan(question, today=today, conversation=conversation))
        if not as_json:
            report_usage(app.tracker)
        if asked.plan is None:
            return report_no_plan(asked, as_json=as_json)
        plan = asked.plan.plan
        if as_json:
            sys.stdout.write(plan_document(plan, dialect, app.tools))
        elif dialect != "toolplan":
            sys.stdout.write(plan_text(plan, dialect, app.tools))
        else:
            print_plan(plan, app.tools, marks=effect_marks(plan, app.tools))
    return Exit.FINE.value


def _print_state(file: Path, contracts: Sequence[str], *, as_json: bool) -> int:
    """Plan the intent of the STATE in `file`, and print the STATE with its plan."""
    if not contracts:
        raise CommandError("usage", "A STATE is planned by contracts: name them with --contracts.")
    try:
        state = cast("Json", json.loads(file.read_text("utf-8")))
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise CommandError("usage", f"{file}: The STATE cannot be read: {reason}.") from None
    if not isinstance(state, dict):
        raise CommandError("usage", f"{file}: A STATE is a JSON object.")
    if _CONTRACT not in _STATES:
        check_beside("planner", _CONTRACT)
    planned = _STATES[_CONTRACT](state, contracts)
    if isinstance(planned, Clarification):
        if as_json:
            print_json(clarification_json(planned))
        else:
            note(planned.question)
        return Exit.FAILED.value
    sys.stdout.write(json.dumps(planned, ensure_ascii=False, indent=2) + "\n")
    return Exit.FINE.value
