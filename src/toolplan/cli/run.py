"""`toolplan run FILE`."""

from __future__ import annotations

import asyncio
import uuid
from contextlib import closing
from typing import Annotated

from cyclopts import Parameter

from toolplan.answer import answer
from toolplan.app import estimate, foreseen, noted
from toolplan.cli._approval import ApprovalPrompt
from toolplan.cli._display import Display
from toolplan.cli._forecast import report_comparison, report_forecast
from toolplan.cli._home import existing_journal, open_journal, storage
from toolplan.cli._learning import learn_from
from toolplan.cli._limits import ConcurrencyOption, LimitOptions, TimeoutOption
from toolplan.cli._options import (
    TOOLS_HELP,
    ApproveOption,
    BaseUrlOption,
    DialectOption,
    EffectsOption,
    JsonFlag,
    PlanFileArgument,
    RowsOption,
    TodayOption,
    YesFlag,
    day,
    known_dialect,
)
from toolplan.cli._outcome import print_run
from toolplan.cli._plan_file import print_diagnostics, read_plan
from toolplan.cli._run_guard import RunGuard
from toolplan.cli._terminal import CommandError, Exit, err, out, print_json
from toolplan.cli._toolbox import Toolset, open_tools
from toolplan.compiler import compile_plan, output_schemas
from toolplan.dry_run import dry_view, simulate
from toolplan.engines import CannotRun, RunOptions, run
from toolplan.events import Run
from toolplan.execution_plan import ExecutionPlan
from toolplan.path import Json
from toolplan.render.plan_tree import effect_marks, plan_tree
from toolplan.storage.journal import Journal

NeededTools = Annotated[str, Parameter(name="--tools", help=TOOLS_HELP)]

DryFlag = Annotated[
    bool, Parameter(name="--dry-run", negative="", help="Call no tool; say what would go wrong.")
]


def run_command(
    file: PlanFileArgument,
    *,
    tools: NeededTools,
    base_url: BaseUrlOption = None,
    dialect: DialectOption = "toolplan",
    yes: YesFlag = False,
    approve: ApproveOption = None,
    effects: EffectsOption = (),
    at_once: ConcurrencyOption = (),
    timeout: TimeoutOption = None,
    dry: DryFlag = False,
    today: TodayOption = None,
    rows: RowsOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Check a plan and run exactly that plan.

    A plan that changes something runs only when a person says so: on
    the terminal, or by --yes or --approve DIGEST. With --dry-run no tool
    is called: the plan is driven with made-up values, every condition
    both ways.
    """
    plan_file = read_plan(file, known_dialect(dialect))
    with open_tools(tools, day(today), rows, effects, base_url) as toolset:
        run_options, opened = LimitOptions(at_once, timeout).for_run(toolset)
        compiled = compile_plan(plan_file.text, dialect, tools=opened.tools)
        if compiled.diagnostics and not as_json:
            print_diagnostics(err(), plan_file, compiled.diagnostics)
        if compiled.plan is None:
            raise CommandError(
                "bad-plan",
                "The plan does not pass the check; nothing was run.",
                "`toolplan explain CODE` says more of each problem.",
                Exit.FAILED,
                compiled.diagnostics,
            )
        if dry:
            return _dry(compiled.plan, opened, as_json=as_json)
        with (
            closing(open_journal()) as journal,
            storage(),
            closing(Display(silent=as_json)) as display,
        ):
            expected = foreseen(compiled.plan, journal, opened.tools, run_options)
            # where its tools come from is for whoever resumes it
            plan = noted(compiled.plan, {**opened.advice, **estimate(expected)})
            display.show_plan(plan, opened.tools)
            report_forecast(expected, as_json=as_json)
            leave = ApprovalPrompt(yes, approve, opened.tools, display, may_ask=not as_json)
            ended = _run(plan, opened, leave, journal, run_options)
            report_comparison(expected, ended, as_json=as_json)
        learn_from(plan.plan, ended, opened.tools)
        schemas = output_schemas(plan.plan, opened.tools)
        said = answer(plan, ended, schemas=schemas, insights=opened.insights)
        return print_run(ended, said, as_json=as_json)


def _dry(plan: ExecutionPlan, opened: Toolset, *, as_json: bool) -> int:
    recordings: dict[str, list[Json]] = {}
    journal = existing_journal()
    if journal is not None:
        with closing(journal), storage():
            recordings = journal.recordings({step.tool for step in plan.plan.steps})
    schemas = output_schemas(plan.plan, opened.tools)
    try:
        found = asyncio.run(simulate(plan, opened.tools, recordings=recordings, schemas=schemas))
    except CannotRun as error:
        raise CommandError("cannot-run", str(error), "Give the tools of the plan.") from None
    if as_json:
        print_json(found.to_json())
    else:
        out().print(plan_tree(plan.plan, marks=effect_marks(plan.plan, opened.tools)))
        out().print()
        out().print(dry_view(found))
    return (Exit.FINE if found.succeeded else Exit.FAILED).value


def _run(
    plan: ExecutionPlan,
    opened: Toolset,
    leave: ApprovalPrompt,
    journal: Journal,
    run_options: RunOptions,
) -> Run:
    going = RunGuard(plan, uuid.uuid4().hex)
    approver = leave.approver()
    leave.display.open(plan)
    try:
        with going.told(leave):
            return asyncio.run(
                run(
                    plan,
                    opened.tools,
                    journal=journal,
                    approval=approver,
                    run_id=going.run,
                    on_event=leave.display.show_event,
                    **run_options.arguments(),
                )
            )
    except CannotRun as error:
        raise CommandError(
            "cannot-run", str(error), "Give tools that can be called: --tools MODULE:ATTRIBUTE."
        ) from None
    finally:
        leave.display.close()
