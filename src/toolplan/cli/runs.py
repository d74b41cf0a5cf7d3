"""Runs of the journal: `toolplan runs`, `approve` and `cancel`, and those that workers take."""

from __future__ import annotations

import getpass
import socket
import sys
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, cast

from cyclopts import Parameter
from rich.filesize import decimal

from toolplan.app._open import open
from toolplan.app.app import App
from toolplan.app.resume import plan_in, recorded_tool
from toolplan.app.settings import home, read_settings, user_journal
from toolplan.app.wait import run_to_end
from toolplan.app.workers import stranded_texts
from toolplan.cli._approval import agreed_to, approved_by_word, new_word
from toolplan.cli.options import (
    Decisions,
    JournalOption,
    JsonFlag,
    RunArgument,
    opened_journal,
    whole,
)
from toolplan.cli.terminal import CommandError, Exit, err, note, out, print_json
from toolplan.engine import cancel
from toolplan.events import RunState
from toolplan.plan.path import Json
from toolplan.policy.approval import effect_steps
from toolplan.show.approval_view import ApprovalView
from toolplan.show.printable import count_text
from toolplan.show.runs_view import SHORT, RunsView
from toolplan.storage.journal import Store
from toolplan.storage.journal import backup as back_up
from toolplan.storage.journal.worker_runs import WorkerRuns


def placed(journal: Store, run: str) -> WorkerRuns | None:
    """Return the workers of `run`; None if it was not given to workers."""
    runs = journal.worker_runs()
    return None if runs is None or runs.placement(run) is None else runs


@contextmanager
def reached(journal: Store, run: str) -> Generator[App]:
    """Open an app that reaches the workers of `run`; its tools are those of the run, uncallable.

    Raises:
        CommandError: the run was not given to workers.
    """
    if placed(journal, run) is None:
        help_ = f"`toolplan resume {run[:SHORT]}` continues it here."
        raise CommandError("not-placed", f"Run {run!r} was not given to workers.", help_)
    kept = cast("list[dict[str, Json]]", journal.record(run).tools)
    tools = [recorded_tool(each) for each in kept]
    with open(tools, journal=journal, planner="offline", on_note=note) as app:
        yield app


def send(
    journal: Store, run: str, decisions: Decisions, digest: str | None, *, here: str, as_json: bool
) -> int:
    """Send decisions, or an approval, to a run that was given to workers.

    Raises:
        CommandError: `here`, an option that works on this terminal only, is given.
    """
    if here:
        message = f"{here} needs a run on this machine, and workers have this run."
        help_ = "--allow and --deny decide about all calls of a step that wait."
        raise CommandError("usage", message, help_)
    with reached(journal, run) as app:
        if digest is not None:
            run_to_end(app.workers.approve(run, digest, who=user_name()))
        if digest is None or decisions != Decisions():
            run_to_end(app.workers.decide(run, **vars(decisions), who=user_name()))
    if as_json:
        print_json({"run": run, "sent": True})
    else:
        note(f"Sent. A worker continues the run: `toolplan show {run[:SHORT]}` shows it.")
        report_placed(journal, [run])
    return Exit.FINE.value


def continue_after_failover(place: str | None, run: str, *, as_json: bool) -> int:
    """Let workers continue `run`, or all runs that were open when the database moved."""
    with closing(opened_journal(place)) as journal:
        runs = journal.worker_runs()
        names = [] if runs is None else [journal.find(run)] if run else runs.fenced()
        continued = [each for each in names if runs and runs.continue_after_failover(each)]
    if as_json:
        print_json({"continued": [*continued]})
    else:
        named = ", ".join(each[:SHORT] for each in continued)
        note(f"Workers continue {named}." if named else "No run was open when the database moved.")
    return Exit.FINE.value


def user_name() -> str:
    """Return the name of the user of this machine."""
    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"
    except (KeyError, OSError):
        return socket.gethostname()


def without_worker(journal: Store, runs: Sequence[str]) -> dict[str, str]:
    """Return the `runs` that were given to workers and have no worker, with their queues."""
    shared = journal.worker_runs()
    return {} if shared is None else shared.without_worker(runs)


def report_placed(journal: Store, runs: Sequence[str], *, others: bool = False) -> None:
    """Report which of `runs` no worker will continue, and why; with `others` of all runs."""
    shared = journal.worker_runs()
    if shared is None:
        return
    found = {**(shared.stranded() if others else {}), **shared.without_worker(runs)}
    for stranded in stranded_texts(found, shared.worked()) if found else ():
        note(stranded.text)
        note(f"{stranded.help} The settings are in {home()}.")
    for run in runs:
        if waits := shared.waits(run):
            note(f"Run {run[:SHORT]} waits for {waits}")
        placement = shared.placement(run)
        if placement is not None and placement.parked:
            note(f"Run {run[:SHORT]} is parked: {placement.parked}")
            flag = " --after-failover" if placement.is_fenced else ""
            note(f"`toolplan resume {run[:SHORT]}{flag}` gives it to the workers again.")


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
