"""`toolplan runs`."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from typing import Annotated

from cyclopts import Parameter

from toolplan.app._home import open_journal
from toolplan.cli._options import JsonFlag
from toolplan.cli._terminal import CommandError, Exit, note, out, print_json
from toolplan.render.runs_view import RunLine, RunsView

LimitOption = Annotated[int, Parameter(name="--limit", help="How many runs, the newest first.")]


def runs_command(*, limit: LimitOption = 20, as_json: JsonFlag = False) -> int:
    """List the runs that the journal keeps, the newest first.

    `toolplan show RUN` shows one, `toolplan resume RUN` resumes it.
    """
    if limit < 1:
        raise CommandError("usage", "--limit is less than 1.", "Give a number of runs.")
    with closing(open_journal()) as journal:
        entries = journal.runs(limit)
    if as_json:
        print_json(
            [
                {
                    "run": entry.run,
                    "created_at": datetime.fromtimestamp(entry.created_at, UTC).isoformat(),
                    "status": entry.status.value,
                    "is_left": entry.is_left,
                    "digest": entry.digest,
                    "question": entry.question,
                    "tools": entry.tools,
                }
                for entry in entries
            ]
        )
    elif entries:
        lines = [
            RunLine(
                each.run,
                each.created_at,
                each.status,
                each.question or each.tools,
                each.is_left,
            )
            for each in entries
        ]
        out().print(RunsView(lines))
    else:
        note(f"No run yet; the journal is {journal.path}.")
    return Exit.FINE.value
