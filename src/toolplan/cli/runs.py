"""`toolplan runs`."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.filesize import decimal

from toolplan.app.settings import home, read_settings, user_journal
from toolplan.cli.options import JournalOption, JsonFlag, opened_journal, whole
from toolplan.cli.placed import report_placed, without_worker
from toolplan.cli.terminal import CommandError, note, out, print_json
from toolplan.plan.path import Json
from toolplan.show.printable import count_text
from toolplan.show.runs_view import RunsView
from toolplan.storage.journal import backup as back_up


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RunsOptions:
    """The options of `toolplan runs`.

    Attributes:
        limit: How many runs, the newest first.
        after: Only runs after this cursor: `next` of --json.
        prune: Remove older runs: show which, or remove them with --yes.
        older_than: With --prune: only runs older than this, as in 30d.
        keep: With --prune: not the latest N runs.
        yes: With --prune: remove them.
        backup: Copy the journal to this file, and its large results to a folder beside it.
    """

    limit: Annotated[int, Parameter(converter=whole)] = 20
    after: str = ""
    journal: JournalOption = None
    prune: bool = False
    older_than: str | None = None
    keep: Annotated[int | None, Parameter(converter=whole)] = None
    yes: Annotated[bool, Parameter(name=("--yes", "--apply"))] = False
    backup: str | None = None
    as_json: JsonFlag = False

    def check(self) -> None:
        """Refuse options that do not go together."""
        of_prune = self.older_than is not None or self.keep is not None or self.yes
        wrong = {
            "--limit is less than 1.": self.limit < 1,
            "--backup names no file.": self.backup is not None and not Path(self.backup).name,
            "--backup and --prune exclude each other.": self.backup is not None and self.prune,
            "--older-than, --keep and --yes are for --prune.": of_prune and not self.prune,
        }
        for message, applies in wrong.items():
            if applies:
                raise CommandError("usage", message, "See `toolplan runs --help`.")


def runs_command(options: RunsOptions = RunsOptions()) -> None:
    """List the runs that the journal keeps, the newest first; remove older ones, or copy all.

    `toolplan show RUN` shows one, `toolplan resume RUN` resumes it.
    --prune removes runs that are over, never one that waits, is in
    doubt or was interrupted. Without --older-than and --keep the table
    [retention] of the settings says which, else 30d and 100.
    """
    options.check()
    limit, after, as_json = options.limit, options.after, options.as_json
    if options.backup is not None:
        copy, blobs = Path(options.backup), f"{options.backup}-blobs"
        back_up(_existing(options.journal), copy)
        if as_json:
            print_json({"file": str(copy), "folder": blobs})
        else:
            note(f"The journal was copied to {copy} and {blobs}. Keep the two together.")
        return
    if options.prune:
        _prune(options)
        return
    with closing(opened_journal(options.journal)) as store:
        found = store.runs(limit + 1, after)
        entries = found[:limit]
        left = [each.run for each in entries if each.is_left]
        unworked = without_worker(store, left) if as_json else {}
        if not as_json:
            report_placed(store, left, others=True)
    more = len(found) > limit
    if as_json:
        listed: list[Json] = [
            {**each.to_json(), "without_worker": unworked.get(each.run)} for each in entries
        ]
        print_json({"runs": listed, "next": entries[-1].cursor if more else None})
    elif entries:
        out().print(RunsView(entries))
    elif after:
        note("There are no older runs.")
    else:
        note(f"No run yet; the journal is {store.place}.")
    if more:
        note(f"There are older runs: --after {entries[-1].cursor} lists them.")


def _prune(options: RunsOptions) -> None:
    place, apply = options.journal, options.yes
    older_than_s, latest = read_settings(home()).retention(options.older_than, options.keep)
    if isinstance(user_journal(place), Path):
        _existing(place)
    with closing(opened_journal(place)) as store:
        pruning = store.prune(older_than_s=older_than_s, keep=latest, apply=apply)
    count, before = count_text(len(pruning.runs), "run"), decimal(pruning.size)
    if options.as_json:
        print_json({**pruning._asdict(), "runs": [*pruning.runs], "removed": apply})
        return
    sizes = f"{before} before, {decimal(pruning.size_after)} now" if apply else f"{before} now"
    done = "removed" if apply else "would be removed"
    out().print(f"{count} {done}, {pruning.kept} kept; {sizes}.", soft_wrap=True)
    if pruning.runs and not apply:
        out().print("--yes removes them.")


def _existing(place: str | None) -> Path:
    """Return the path of the journal, and print its notes."""
    path = user_journal(place)
    if not isinstance(path, Path):
        message = "--backup is for a journal in a file; this one is a database."
        raise CommandError("usage", message, "pg_dump copies it: docs/workers.md shows how.")
    if not path.exists():
        raise CommandError("unknown-run", f"There is no journal {path}.", "No run was kept yet.")
    opened_journal(place).close()
    return path
