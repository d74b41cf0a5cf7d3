"""`toolplan show FILE` and `toolplan show RUN`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from toolplan.app._home import existing_journal
from toolplan.cli._journal import opened_journal
from toolplan.cli._options import (
    DialectOption,
    EffectsOption,
    JsonFlag,
    ToolsOption,
)
from toolplan.cli._outcome import print_doubts
from toolplan.cli._plan_file import print_diagnostics, read_plan, whole_plan
from toolplan.cli._terminal import CommandError, Exit, err, note, out, print_json
from toolplan.cli._tools import opened_if_given
from toolplan.compiler import parse
from toolplan.diagnostics import to_json as diagnostic_to_json
from toolplan.events import Event, ItemEnded, Run, RunState, StepState, fold, to_json
from toolplan.path import Json
from toolplan.plan_json import dump, load
from toolplan.render.mermaid import mermaid as as_mermaid
from toolplan.render.plan_tree import effect_marks, plan_tree
from toolplan.render.printable import printable
from toolplan.render.run_progress import duration_text
from toolplan.render.runs_view import SHORT, items_text, run_marks, status_text
from toolplan.render.svg import svg as as_svg
from toolplan.storage.journal import JournalError

MermaidFlag = Annotated[
    bool, Parameter(name="--mermaid", negative="", help="Print a Mermaid flowchart.")
]
SvgFlag = Annotated[bool, Parameter(name="--svg", negative="", help="Print an SVG drawing.")]

_WAYS: Final = "Name a file, or -, or a run that `toolplan runs` lists."

FileOrRun = Annotated[
    str,
    Parameter(
        allow_leading_hyphen=True,
        help="The file of a plan, - for standard input; or a run, or the beginning of its name.",
    ),
]


def show_command(
    file: FileOrRun,
    *,
    dialect: DialectOption = "toolplan",
    tools: ToolsOption = None,
    effects: EffectsOption = (),
    mermaid: MermaidFlag = False,
    svg: SvgFlag = False,
    as_json: JsonFlag = False,
) -> int:
    """Show a plan as a tree: each step, and what it needs.

    With --json the plan is printed in its canonical form. With
    --tools, steps that may change something are marked. A run is shown
    with the states of its steps.
    """
    try:
        plan_file = read_plan(file, dialect)
    except CommandError as error:
        if error.code != "unreadable-file":
            raise
        return _show_run(_run_named(file, error), as_json=as_json)
    with opened_if_given(tools, effects) as opened:
        known = None if opened is None else opened.tools
        parsed = parse(plan_file.text, dialect, known)
        if parsed.diagnostics:
            print_diagnostics(err(), plan_file, parsed.diagnostics)
        if parsed.plan is None or not whole_plan(parsed.plan, parsed.diagnostics):
            raise CommandError(
                "unreadable-plan",
                f"{file} is not a complete plan in the dialect {dialect!r}.",
                "Fix the errors above, or name its dialect: --dialect.",
                diagnostics=[diagnostic_to_json(each) for each in parsed.diagnostics],
            )
        marks = effect_marks(parsed.plan, known or {})
        if as_json:
            print_json(dump(parsed.plan))
        elif mermaid:
            sys.stdout.write(as_mermaid(parsed.plan, marks=marks))
        elif svg:
            sys.stdout.write(as_svg(parsed.plan, marks=marks))
        else:
            out().print(plan_tree(parsed.plan, marks=marks))
        return Exit.FINE.value


def _run_named(start: str, unreadable: CommandError) -> str:
    """Return the name of the run that begins with `start`, which is not a file that can be read.

    Raises:
        CommandError: there is no such run either, or the journal cannot be used.
    """
    if not start:
        raise CommandError("usage", "The name of a file or a run is empty.", _WAYS)
    journal = existing_journal()
    unknown = f"There is no run {start!r}."
    if journal is not None:
        with closing(journal):
            try:
                return journal.find(start)
            except JournalError as error:
                if error.code != "unknown-run":
                    raise
                unknown = str(error)
    if Path(start).name != start or "." in start:  # written like a file
        raise CommandError(unreadable.code, str(unreadable), _WAYS)
    raise CommandError("unknown-run", f"{unknown} {unreadable}", _WAYS)


def _show_run(name: str, *, as_json: bool) -> int:
    with closing(opened_journal()) as journal:
        events = journal.events(name)
        is_left = journal.entry(name).is_left
        plan = load(journal.record(name).plan).plan
    run, items = fold(events), _items(events)
    if as_json:
        print_json(
            {
                **to_json(run),
                "items": {step: _items_to_json(over) for step, over in items.items()},
                "is_left": is_left,
                "plan": None if plan is None else dump(plan),
            }
        )
        return Exit.FINE.value
    expected = None if plan is None else plan.metadata.get("estimated_duration_ms")
    out().print(_heading(run, is_left, expected))
    if plan is not None:
        out().print(plan_tree(plan, marks=run_marks(run)))
    for step, over in items.items():
        if run.steps[step].state is not StepState.SUCCEEDED:
            note(f"{printable(step)}: {items_text(over)}.")
    print_doubts(run)
    if is_left and run.status is not RunState.IN_DOUBT:
        note(f"It was interrupted: `toolplan resume {name[:SHORT]}` resumes it.")
    return Exit.FINE.value


def _items(events: Sequence[Event]) -> dict[str, dict[int, StepState]]:
    """Return the states of the items of each step with `for_each`, as far as they have ended."""
    found: dict[str, dict[int, StepState]] = {}
    for event in events:
        if isinstance(event, ItemEnded):
            state = StepState.SUCCEEDED if event.failure is None else StepState.FAILED
            found.setdefault(event.step, {})[event.item] = state
    return found


def _items_to_json(over: Mapping[int, StepState]) -> Json:
    return [{"item": item, "state": over[item].value} for item in sorted(over)]


def _heading(run: Run, is_left: bool, expected_ms: Json) -> str:
    words = f"run {run.run}: {status_text(run.status, is_left)}"
    if run.started_at is not None:
        started = datetime.fromtimestamp(run.started_at, UTC).astimezone()
        words += f", started {started:%Y-%m-%d %H:%M:%S}"
        if run.took_s is not None:
            words += f", took {duration_text(run.took_s)}"
    if isinstance(expected_ms, int) and not run.is_resumed:
        words += f" (expected: about {duration_text(expected_ms / 1000)})"
    return words
