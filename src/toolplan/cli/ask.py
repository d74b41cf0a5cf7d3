"""`toolplan ask` and `toolplan plan`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final, Literal, TypeAlias

from toolplan.app._open import open
from toolplan.app.results import AskResult
from toolplan.app.wait import run_to_end
from toolplan.base.extensions import Extensions
from toolplan.base.extras import check_beside
from toolplan.cli import options, plan_file
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
from toolplan.plan.model import Step
from toolplan.plan.path import Json
from toolplan.planners import Clarification
from toolplan.show.plan_tree import effect_marks
from toolplan.show.printable import printable
from toolplan.tools.replies import read_json


def ask_command(
    question: str,
    *,
    plan_only: bool = False,
    yes: options.YesFlag = False,
    approve: options.ApproveOption = None,
    times: options.TimesOption = None,
    approve_values: options.ApproveValuesFlag = False,
    tools: options.ToolsOption = (),
    base_url: options.BaseUrlOption = None,
    policy: options.PolicyOption = None,
    journal: options.JournalOption = None,
    effects: options.EffectsOption = (),
    concurrency: options.ConcurrencyOption = (),
    timeout: options.TimeoutOption = None,
    today: options.TodayOption = None,
    weeks: options.WeeksOption = "rolling",
    planner: options.PlannerOption = "auto",
    contracts: options.ContractsOption = (),
    model: options.ModelOption = (),
    conversation: options.ConversationOption = None,
    eager: bool = False,
    replan: bool = False,
    summary: Literal["plain", "markdown", "json"] | None = None,
    strict: options.StrictFlag = False,
    as_json: options.JsonFlag = False,
) -> int:
    """Answer a question: plan, show the plan, run it, print the answer.

    Args:
        plan_only: Show the plan, and run nothing.
        eager: Start steps that only read while a model still writes the plan.
        replan: After a failed run with effects continue with another plan; what is done stays done.
        summary: Let the model of --model put the answer into words.
    """
    approve = options.wanted(approve, approve_values, times)
    with closing(Display(silent=as_json or summary == "json")) as display:
        guard = RunGuard(display, yes=yes, digest=approve, may_ask=not as_json, times=times)
        with open(
            tools or None, model=model or None, planner=planner, base_url=base_url, policy=policy,
            journal=journal, effects=effects, weeks=weeks, contracts=contracts, on_note=note,
            on_claim=ask_claim, new_id=guard.new_id,
        ) as app:  # fmt: skip
            guard.app = app
            with guard.interruptions_reported(), thinking_shown(
                app.tracker, silent=as_json, is_hidden=lambda: display.is_live
            ):  # fmt: skip
                asked = run_to_end(app.ask(
                    question, today=today, plan_only=plan_only, yes=yes, approve=guard.approve,
                    concurrency=concurrency, timeout=timeout, conversation=conversation,
                    eager=eager, replan=replan, summary=summary,
                    on_step=None if as_json else _show_step, on_plan=guard.show_compiled,
                    on_delta=None if as_json else partial(_show_delta, display),
                    on_event=display.show_event,
                ))  # fmt: skip
            if asked.unapproved is not None:
                guard.report_more(asked.unapproved)
            guard.report_ended(asked.run)
    return _print(asked, plan_only=plan_only, as_json=as_json, strict=strict)


def _print(asked: AskResult, *, plan_only: bool, as_json: bool, strict: bool) -> int:
    if asked.run is not None:
        words = asked.summary
        return print_run(asked.run, asked.answer, as_json=as_json, summary=words, strict=strict)
    if not plan_only or asked.plan is None:
        return report_no_plan(asked, as_json=as_json)
    if as_json:
        print(plan_file.plan_document(asked.plan.plan, "toolplan"), end="")
    else:
        print_plan(asked.plan.plan, None, marks=asked.marks)
    return Exit.FINE.value


def _show_step(step: Step) -> None:
    """Show a step that a model has written."""
    note(f"  {printable(step.id)}: {printable(step.tool)}")


def _show_delta(display: Display, change: Delta) -> None:
    """Show what a further plan keeps of the run before it."""
    display.close()
    parts = {"kept": [*change.kept, *change.partly], "new": change.added, "removed": change.removed}
    listed = "; ".join(f"{word}: {', '.join(names)}" for word, names in parts.items() if names)
    note(printable(f"Another plan. {listed}"))


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
    state: Path | None = None,
    as_json: options.JsonFlag = False,
) -> int:
    """Plan a question, check the plan, and run nothing.

    The plan is shown as a tree on a terminal, and written as JSON to a
    file or a pipe: `toolplan plan QUESTION > plan.json`.

    Args:
        state: A STATE in JSON (--contracts): its intent is planned, and the STATE is printed.
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
