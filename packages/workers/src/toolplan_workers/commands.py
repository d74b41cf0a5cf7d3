"""`toolplan worker TOOLBOX` and `toolplan submit FILE TOOLBOX`."""

from __future__ import annotations

import asyncio
import signal
from typing import Annotated, Any

from cyclopts import Parameter

from toolplan import open
from toolplan.app.app import App
from toolplan.app.settings import Settings, home, read_settings
from toolplan.app.setup import limits_everywhere
from toolplan.app.wait import run_to_end
from toolplan.cli import options
from toolplan.cli.ask import checked_plan, print_run
from toolplan.cli.plan_file import read_plan
from toolplan.cli.runs import report_placed
from toolplan.cli.terminal import CommandError, Exit, err, note, out, print_json
from toolplan.engine import Leaving
from toolplan.events import RunState
from toolplan.policy.approval import Approval, approve_digest, effect_steps
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.show.approval_view import ApprovalView, approval_json
from toolplan.show.runs_view import SHORT
from toolplan_workers.worker import DEFAULT_CONCURRENCY, work

ToolboxArgument = Annotated[
    str, Parameter(help="The toolbox: a table [toolboxes.NAME] of the settings.")
]
RunsOption = Annotated[
    int, Parameter(converter=options.whole, help="The most runs at the same time.")
]
GraceOption = Annotated[
    float, Parameter(help="How many seconds calls have to end when the worker leaves.")
]


def worker_command(
    toolbox: ToolboxArgument,
    *,
    concurrency: RunsOption = DEFAULT_CONCURRENCY,
    grace: GraceOption = 20.0,
    journal: options.JournalOption = None,
) -> int:
    """Run plans that others submit, with the tools of a toolbox.

    The journal is in Postgres; any number of workers on any machines
    share it. SIGTERM or Ctrl-C makes the worker leave: it starts no
    more calls, waits for those that run, and others continue its runs.
    """
    if concurrency < 1 or not grace >= 0:  # `nan` is neither
        raise CommandError("usage", "--concurrency is at least 1, and --grace at least 0.")
    settings = read_settings(home())
    with open(
        toolbox=toolbox, journal=journal, settings=settings, planner="offline", on_note=note
    ) as app:
        run_to_end(_work(app, settings, concurrency, grace))
    note("The worker has left.")
    return Exit.FINE.value


async def _work(app: App, settings: Settings, concurrency: int, grace_s: float) -> None:
    leaving, loop = Leaving(grace_s), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, leaving.ask)
    await work(
        app,
        concurrency=concurrency,
        everywhere=limits_everywhere(settings, app.tools),
        leaving=leaving,
        on_ready=lambda queue: note(f"The worker takes runs for {queue}, {concurrency} at once."),
    )


WaitFlag = Annotated[
    bool, Parameter(name="--wait", help="Wait until the run is over, and print its result.")
]


def submit_command(
    file: options.PlanFileArgument,
    toolbox: ToolboxArgument,
    approval: options.ApprovalOptions = options.ApprovalOptions(),
    limits: options.RunLimits = options.RunLimits(),
    *,
    policy: options.PolicyOption = None,
    journal: options.JournalOption = None,
    dialect: options.DialectOption = "toolplan",
    today: options.TodayOption = None,
    wait: WaitFlag = False,
    as_json: options.JsonFlag = False,
) -> int:
    """Check a plan and give it to the workers of a toolbox.

    It prints the name of the run. A plan that changes something waits
    until `toolplan approve RUN DIGEST`, unless --yes or --approve
    DIGEST approves it here; with --approve-values what only reads runs
    at once, and each call with effects waits for `toolplan resume`.
    """
    approve: Approval | str | None = approval.approved
    plan_file = read_plan(file, dialect)
    with open(
        toolbox=toolbox, policy=policy, journal=journal, planner="offline", on_note=note
    ) as app:
        plan = checked_plan(app, plan_file, as_json=as_json)
        if approval.times is not None and approve == plan.digest:  # another one is refused
            approve = approve_digest(plan, approval.times)
        given: dict[str, Any] = {**vars(limits), "yes": approval.yes, "approve": approve}
        run = run_to_end(app.workers.submit(plan, today=today, **given))
        waits = app.needed_journal().entry(run).status is RunState.WAITING
        if not as_json:
            report_placed(app.needed_journal(), [run])
        if wait and not waits:
            run_to_end(_followed(app, run))
            ended = app.result(run)
            return print_run(ended, ended.answer, as_json=as_json)
        _report(app, plan, run, waits=waits, as_json=as_json)
    return Exit.FINE.value


async def _followed(app: App, run: str) -> None:
    async for _ in app.workers.follow(run):
        pass


def _report(app: App, plan: ExecutionPlan, run: str, *, waits: bool, as_json: bool) -> None:
    steps = effect_steps(plan, app.tools)
    if as_json:
        approval = approval_json(steps, plan.digest) if waits else None
        print_json({"run": run, "queue": app.workers.queue, "approval": approval})
        return
    if waits:
        err().print(ApprovalView(steps, plan.digest))
        note(f"The run waits: `toolplan approve {run[:SHORT]} {plan.digest}` approves it.")
    out().print(run)
