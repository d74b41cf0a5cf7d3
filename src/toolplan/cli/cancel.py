"""`toolplan cancel RUN`."""

from __future__ import annotations

from contextlib import closing

from toolplan.app.wait import run_to_end
from toolplan.cli._journal import opened_journal
from toolplan.cli.options import JournalOption, JsonFlag
from toolplan.cli.placed import placed, reached, user_name
from toolplan.cli.resume import RunArgument
from toolplan.cli.terminal import Exit, note, print_json
from toolplan.engines import cancel
from toolplan.events import RunState
from toolplan.render.runs_view import SHORT


def cancel_command(
    run: RunArgument, *, journal: JournalOption = None, as_json: JsonFlag = False
) -> int:
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
    return Exit.FINE.value
