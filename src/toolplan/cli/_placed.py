"""Runs that workers take, as the commands reach them from anywhere."""

from __future__ import annotations

import getpass
import socket
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from itertools import groupby
from typing import NamedTuple, cast

from toolplan.app._open import open
from toolplan.app._stranded import stranded_texts
from toolplan.app.app import App
from toolplan.app.home import home
from toolplan.app.resume import recorded_tool
from toolplan.app.wait import run_to_end
from toolplan.cli._journal import opened_journal
from toolplan.cli.terminal import CommandError, Exit, note, print_json
from toolplan.path import Json
from toolplan.render.runs_view import SHORT
from toolplan.storage.journal import Store
from toolplan.storage.queue import Dispatch, Held, dispatch_of


class Decisions(NamedTuple):
    """What is decided about the calls of a run, as `Workers.decide` takes it."""

    retry: Sequence[str] = ()
    resolve: Sequence[str] = ()
    abort: Sequence[str] = ()
    allow: Sequence[str] = ()
    deny: Sequence[str] = ()
    reason: str = ""


def placed(journal: Store, run: str) -> Dispatch | None:
    """Return what reaches the workers of `run`; None if it was not given to workers."""
    dispatch = dispatch_of(journal, make=False)
    return None if dispatch is None or dispatch.placement(run) is None else dispatch


@contextmanager
def reached(journal: Store, run: str) -> Generator[App]:
    """Open an app that reaches the workers of `run`; its tools are those of the run, uncallable.

    Raises:
        CommandError: the run was not given to workers.
    """
    if placed(journal, run) is None:
        raise CommandError(
            "not-placed",
            f"Run {run!r} was not given to workers.",
            f"`toolplan resume {run[:SHORT]}` continues it here.",
        )
    kept = cast("list[dict[str, Json]]", journal.record(run).tools)
    tools = [recorded_tool(each) for each in kept]
    with open(tools, journal=journal, planner="offline", on_note=note) as app:
        yield app


def refuse_values(left_out: Sequence[str], *, asked: bool) -> None:
    """Refuse what runs on this terminal only, where workers have the run.

    Raises:
        CommandError: calls are to be left out, or values are to be asked for.
    """
    if left_out:
        raise CommandError(
            "usage",
            "--leave-out runs another plan on this machine, and workers have this run.",
            "--allow and --deny decide about all calls of a step that wait.",
        )
    if asked:
        raise CommandError(
            "usage",
            "--approve-values asks on this terminal, and workers have this run.",
            "`toolplan submit --approve-values` gives workers a run whose calls wait with their"
            " values; --allow and --deny decide about them.",
        )


def send(
    journal: Store,
    run: str,
    decisions: Decisions,
    digest: str | None,
    *,
    as_json: bool,
) -> int:
    """Send decisions, or an approval, to a run that was given to workers."""
    with reached(journal, run) as app:
        if digest is not None:
            run_to_end(app.workers.approve(run, digest, who=user_name()))
        if digest is None or any(decisions):
            run_to_end(app.workers.decide(run, **decisions._asdict(), who=user_name()))
    if as_json:
        print_json({"run": run, "sent": True})
    else:
        note(f"Sent. A worker continues the run: `toolplan show {run[:SHORT]}` shows it.")
        report_placed(journal, [run])
    return Exit.FINE.value


def continue_after_failover(place: str | None, run: str, *, as_json: bool) -> int:
    """Let workers continue `run`, or all runs that were open when the database moved."""
    with closing(opened_journal(place)) as journal:
        dispatch = dispatch_of(journal, make=False)
        names = [] if dispatch is None else [journal.find(run)] if run else dispatch.fenced()
        continued = [each for each in names if dispatch and dispatch.continue_after_failover(each)]
    if as_json:
        print_json({"continued": [*continued]})
    else:
        named = ", ".join(each[:SHORT] for each in continued)
        note(f"Workers continue {named}." if named else "No run was open when the database moved.")
    return Exit.FINE.value


def places_text(waits: Sequence[Held]) -> str:
    """Return which places a run waits for, and who has them; empty if it waits for none."""
    texts: list[str] = []
    for name, held in groupby(waits, key=lambda each: each.name):
        owners = [
            f"{each.owner} since {each.since.astimezone():%Y-%m-%d %H:%M:%S}" for each in held
        ]
        texts.append(f"a place of {name}, held by the worker in {', '.join(owners)}")
    return f"{'; and for '.join(texts)}." if texts else ""


def user_name() -> str:
    """Return who uses this machine, as others know them."""
    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"
    except (KeyError, OSError):
        return socket.gethostname()


def without_worker(journal: Store, runs: Sequence[str]) -> dict[str, str]:
    """Return those of `runs` that were given to workers and have none, with their queues."""
    dispatch = dispatch_of(journal, make=False)
    return {} if dispatch is None else dispatch.without_worker(runs)


def report_placed(journal: Store, runs: Sequence[str], *, others: bool = False) -> None:
    """Report which of `runs` no worker will continue, and why; with `others` of all runs."""
    dispatch = dispatch_of(journal, make=False)
    if dispatch is None:
        return
    found = {**(dispatch.stranded() if others else {}), **dispatch.without_worker(runs)}
    for stranded in stranded_texts(found, dispatch.worked()) if found else ():
        note(stranded.text)
        note(f"{stranded.help} The settings are in {home()}.")
    for run in runs:
        if waits := places_text(dispatch.places.waits(run)):
            note(f"Run {run[:SHORT]} waits for {waits}")
        placement = dispatch.placement(run)
        if placement is not None and placement.parked:
            note(f"Run {run[:SHORT]} is parked: {placement.parked}")
            flag = " --after-failover" if placement.is_fenced else ""
            note(f"`toolplan resume {run[:SHORT]}{flag}` gives it to the workers again.")
