"""`toolplan ask` and `toolplan plan`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from cyclopts import Parameter

from toolplan.app._open import open
from toolplan.app.wait import run_to_end
from toolplan.base.extensions import Extensions
from toolplan.base.extras import check_beside
from toolplan.cli import options
from toolplan.cli._approval import RunGuard
from toolplan.cli._display import Display, thinking_shown
from toolplan.cli.outcome import (
    clarification_json,
    print_plan,
    print_run,
    report_no_plan,
    report_usage,
)
from toolplan.cli.plan_file import plan_document, plan_text
from toolplan.cli.terminal import CommandError, Exit, ask_claim, note, print_json
from toolplan.dialects import known_dialect
from toolplan.engine.deltas import Delta
from toolplan.plan.exact_json import read_json
from toolplan.plan.model import Step
from toolplan.plan.path import Json
from toolplan.planners import Clarification
from toolplan.show.plan_tree import effect_marks
from toolplan.show.printable import printable


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class AskOptions:
    """How a question is answered.

    Attributes:
        plan_only: Show the plan, and run nothing.
        eager: Start steps that only read while a model still writes the plan.
        replan: After a failed run with effects continue with another plan; what is done stays done.
        summary: Let the model of --model put the answer into words.
    """

    plan_only: bool = False
    today: options.TodayOption = None
    conversation: options.ConversationOption = None
    eager: bool = False
    replan: bool = False
    summary: Literal["plain", "markdown", "json"] | None = None


StateOption = Annotated[
    Path | None,
    Parameter(
        help="A STATE in JSON (--contracts): its intent is planned, and the STATE is printed."
    ),
]


def ask_command(
    question: str,
    opening: options.QuestionOptions = options.QuestionOptions(),
    asking: AskOptions = AskOptions(),
    limits: options.RunLimits = options.RunLimits(),
    approval: options.ApprovalOptions = options.ApprovalOptions(),
    *,
    journal: options.JournalOption = None,
    strict: options.StrictFlag = False,
    as_json: options.JsonFlag = False,
) -> int:
    """Answer a question: plan, show the plan, run it, print the answer."""
    with closing(Display(silent=as_json or asking.summary == "json")) as display:
        guard = RunGuard(display, approval, may_ask=not as_json)
        own: dict[str, Any] = {
            "journal": journal,
            "on_note": note,
            "on_claim": ask_claim,
            "new_id": guard.new_id,
        }
        with (
            open(**vars(opening), **own) as app,
            guard.watching(app),
            thinking_shown(app.tracker, silent=as_json, is_hidden=lambda: display.is_live),
        ):
            watched = guard.arguments(guard.show_plan)
            if not as_json:
                watched |= {"on_step": _show_step, "on_delta": partial(_show_delta, display)}
            given = {**vars(asking), **vars(limits), **watched}
            asked = run_to_end(app.ask(question, **given))
        guard.report_ended(asked.run, asked.unapproved)
    if asked.run is not None:
        words = asked.summary
        return print_run(asked.run, asked.answer, as_json=as_json, summary=words, strict=strict)
    if not asking.plan_only or asked.plan is None:
        return report_no_plan(asked, as_json=as_json)
    if as_json:
        print(plan_document(asked.plan.plan, "toolplan"), end="")
    else:
        print_plan(asked.plan.plan, None, marks=asked.marks)
    return Exit.FINE.value


def _show_step(step: Step) -> None:
    """Show a step that a model has written."""
    note(f"  {printable(step.id)}: {printable(step.tool)}")


def _show_delta(display: Display, change: Delta) -> None:
    """Show the steps that a further plan keeps of the run before it."""
    display.close()
    parts = {"kept": [*change.kept, *change.partly], "new": change.added, "removed": change.removed}
    listed = "; ".join(f"{word}: {', '.join(names)}" for word, names in parts.items() if names)
    note(printable(f"Another plan. {listed}"))


_CONTRACT: Final = "contract"
_PlanState: TypeAlias = Callable[[dict[str, Json], Sequence[str]], dict[str, Json] | Clarification]
_STATES: Final = Extensions[_PlanState]("toolplan.states")
"""The planner of a STATE's intent by contracts; it asks where the intent is not clear."""


def plan_command(
    question: str = "",
    opening: options.QuestionOptions = options.QuestionOptions(),
    *,
    dialect: options.DialectOption = "toolplan",
    today: options.TodayOption = None,
    conversation: options.ConversationOption = None,
    state: StateOption = None,
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
        return _print_state(state, opening.contracts, as_json=as_json)
    with open(**vars(opening), on_note=note, on_claim=ask_claim) as app:
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
        state = read_json(file.read_text("utf-8"))
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
