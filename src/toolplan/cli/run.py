"""`toolplan run FILE`."""

from __future__ import annotations

import asyncio
import sys
import time
import uuid
from contextlib import redirect_stdout
from typing import Annotated

from cyclopts import Parameter

from toolplan.answer import answer
from toolplan.approval import ApprovalRequired, approve
from toolplan.cli._options import (
    DialectOption,
    JsonFlag,
    PlanFileArgument,
    RowsOption,
    TodayOption,
    YesFlag,
    day,
    known_dialect,
)
from toolplan.cli._outcome import approval_missing, print_run
from toolplan.cli._plan_file import print_diagnostics, read_plan
from toolplan.cli._terminal import CommandError, Exit, err, out
from toolplan.cli._toolbox import open_tools
from toolplan.compiler import compile_plan, output_schemas
from toolplan.engines import CannotRun, run
from toolplan.events import Event, Run
from toolplan.execution_plan import ExecutionPlan
from toolplan.render.plan_tree import effect_marks, plan_tree
from toolplan.render.run_progress import RunProgress
from toolplan.tools import Toolbox

NeededTools = Annotated[
    str, Parameter(name="--tools", help="A JSON file of tool objects, or MODULE:ATTRIBUTE.")
]


def run_command(
    file: PlanFileArgument,
    *,
    tools: NeededTools,
    dialect: DialectOption = "toolplan",
    yes: YesFlag = False,
    today: TodayOption = None,
    rows: RowsOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Check a plan and run exactly that plan.

    A plan that changes something runs only with --yes.
    """
    plan_file = read_plan(file, known_dialect(dialect))
    opened = open_tools(tools, day(today), rows)
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
    if not as_json:
        out().print(plan_tree(compiled.plan.plan, marks=effect_marks(compiled.plan)))
    try:
        with redirect_stdout(sys.stderr):  # what a tool prints is no result of ours
            ended = asyncio.run(_run(compiled.plan, opened.tools, yes=yes, quiet=as_json))
    except ApprovalRequired as required:
        raise approval_missing(required) from None
    except CannotRun as error:
        raise CommandError(
            "cannot-run", str(error), "Give tools that can be called: --tools MODULE:ATTRIBUTE."
        ) from None
    schemas = output_schemas(compiled.plan.plan, opened.tools)
    said = answer(compiled.plan, ended, schemas=schemas, facts=opened.facts)
    return print_run(ended, said, as_json=as_json)


async def _run(plan: ExecutionPlan, tools: Toolbox, *, yes: bool, quiet: bool) -> Run:
    approval = approve(plan) if yes else None
    name = uuid.uuid4().hex
    if quiet:
        return await run(plan, tools, approval=approval, run_id=name)
    with RunProgress(plan.plan, err(), clock=time.time) as progress:

        def show(event: Event) -> None:
            progress(event)

        return await run(plan, tools, approval=approval, run_id=name, on_event=show)
