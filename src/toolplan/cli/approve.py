"""`toolplan approve RUN DIGEST` and `toolplan cancel RUN`."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import Annotated

from cyclopts import Parameter

from toolplan.app.resume import plan_in
from toolplan.app.wait import run_to_end
from toolplan.cli._approval import agreed_to, approved_by_word, new_word
from toolplan.cli.options import JournalOption, JsonFlag, RunArgument, opened_journal
from toolplan.cli.placed import placed, reached, report_placed, user_name
from toolplan.cli.terminal import CommandError, err, note, print_json
from toolplan.engine import cancel
from toolplan.events import RunState
from toolplan.policy.approval import effect_steps
from toolplan.show.approval_view import ApprovalView
from toolplan.show.runs_view import SHORT


def approve_command(
    run: RunArgument,
    digest: Annotated[str, Parameter(help="The digest of its plan, as it was shown.")],
    *,
    yes: Annotated[bool, Parameter(help="Do not ask on the terminal.")] = False,
    journal: JournalOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Approve the plan of a run that waits; a worker then continues it.

    It shows what the plan may change. The digest is that of the plan,
    so another plan is never approved.
    """
    with closing(opened_journal(journal)) as store:
        name = store.find(run)
        word = new_word() if approved_by_word(store, name, yes=yes, approves=True) else ""
        with reached(store, name) as app:
            plan = plan_in(store.record(name), app.tools)
            view = ApprovalView(effect_steps(plan, app.tools), plan.digest)
            if plan.digest != digest:
                raise CommandError(
                    "approval-required",
                    f"The plan of run {name[:SHORT]} has the digest {plan.digest}, not {digest}.",
                    f"`toolplan show {name[:SHORT]}` shows the run.",
                )
            if not as_json:
                err().print(view)
            asks = sys.stdin.isatty() and not yes
            if asks and not run_to_end(agreed_to("approve", word)):
                raise CommandError("approval-required", "The plan was not approved.")
            run_to_end(app.workers.approve(name, digest, who=user_name()))
        if as_json:
            print_json({"run": name, "digest": digest})
        else:
            note(f"Approved. `toolplan show {name[:SHORT]}` shows its progress.")
            report_placed(store, [name])


def cancel_command(
    run: RunArgument, *, journal: JournalOption = None, as_json: JsonFlag = False
) -> None:
    """Cancel a run, whichever worker has it; one without a worker ends here.

    `toolplan resume RUN` can still continue it.
    """
    with closing(opened_journal(journal)) as store:
        name = store.find(run)
        is_sent = placed(store, name) is not None
        if is_sent:
            with reached(store, name) as app:
                run_to_end(app.workers.cancel(name, who=user_name()))
        else:
            run_to_end(cancel(name, journal=store))
        status = store.entry(name).status.value
    if as_json:
        print_json({"run": name, "status": status})
    elif is_sent and status != RunState.CANCELLED.value:
        note(f"The worker of run {name[:SHORT]} cancels it.")
    else:
        note(f"Run {name[:SHORT]} is {status}.")
