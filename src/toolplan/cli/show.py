"""`toolplan show FILE` and `toolplan show RUN`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Annotated, TypeAlias

from cyclopts import Parameter

from toolplan.answer import Answer, answer
from toolplan.app._toolset import DEMO, Toolset, reopening
from toolplan.cli import options
from toolplan.cli._tools import opened_if_given, opened_journal
from toolplan.cli.outcome import print_pending
from toolplan.cli.placed import placed, report_placed, without_worker
from toolplan.cli.plan_file import parsed_whole, plan_or_run
from toolplan.cli.terminal import CommandError, Exit, note, out, print_json
from toolplan.compiler import output_schemas
from toolplan.events import CallIntended, Event, ItemEnded, Run, RunState, StepState, fold, to_json
from toolplan.path import Json
from toolplan.plan import Plan
from toolplan.plan_json import dump, load
from toolplan.render.document import DocumentView
from toolplan.render.drawings import mermaid as as_mermaid
from toolplan.render.drawings import svg as as_svg
from toolplan.render.plan_tree import effect_marks, plan_tree
from toolplan.render.printable import printable
from toolplan.render.run_progress import duration_text
from toolplan.render.runs_view import SHORT, items_text, run_marks, status_text

MermaidFlag = Annotated[bool, Parameter(help="Print a Mermaid flowchart.")]
SvgFlag = Annotated[bool, Parameter(help="Print an SVG drawing.")]

_Items: TypeAlias = dict[str, dict[int, StepState]]


def show_command(
    file: options.FileOrRun,
    *,
    dialect: options.DialectOption = "toolplan",
    tools: options.ToolsOption = (),
    journal: options.JournalOption = None,
    effects: options.EffectsOption = (),
    mermaid: MermaidFlag = False,
    svg: SvgFlag = False,
    as_json: options.JsonFlag = False,
) -> int:
    """Show a plan as a tree: each step, and what it needs.

    With --json the plan is printed in its canonical form. With
    --tools, steps that may change something are marked. A run is shown
    with the states, times and results of its steps, and its answer.
    """
    plan_file = plan_or_run(file, dialect, journal)
    if isinstance(plan_file, str):
        if (mermaid or svg) and not as_json:
            return _draw_run(plan_file, as_mermaid if mermaid else as_svg, journal)
        return _show_run(plan_file, journal, tools, effects, as_json=as_json)
    with opened_if_given(tools, effects) as opened:
        known = None if opened is None else opened.tools
        plan = parsed_whole(plan_file, known)
        marks = effect_marks(plan, known or {})
        if as_json:
            print_json(dump(plan))
        elif mermaid:
            sys.stdout.write(as_mermaid(plan, marks=marks))
        elif svg:
            sys.stdout.write(as_svg(plan, marks=marks))
        else:
            out().print(plan_tree(plan, marks=marks))
        return Exit.FINE.value


def _draw_run(name: str, draw: Callable[..., str], place: str | None) -> int:
    with closing(opened_journal(place)) as journal:
        run, plan = fold(journal.events(name)), load(journal.record(name).plan).plan
    if plan is None:
        raise CommandError("unreadable-plan", f"The plan of run {name[:SHORT]} cannot be read.")
    states = {step: each.state for step, each in run.steps.items()}
    sys.stdout.write(draw(plan, marks=run_marks(run), states=states))
    return Exit.FINE.value


def _show_run(
    name: str, place: str | None, tools: tuple[str, ...], effects: tuple[str, ...], *, as_json: bool
) -> int:
    with closing(opened_journal(place)) as journal:
        events, entry, record = journal.events(name), journal.entry(name), journal.record(name).plan
        is_left = entry.is_left
        unworked = without_worker(journal, [name] if is_left else []).get(name)
        is_placed = is_left and placed(journal, name) is not None
        # a run that a worker has may wait for a place of a limit
        if not as_json and (is_left or entry.status is RunState.RUNNING):
            report_placed(journal, [name])
    run, plan, items = fold(events), load(record).plan, _items(events)
    # tools are started only where they are named; the demo's start nothing
    kept = reopening(record)[0]
    named = tools or (kept if kept == (DEMO,) else ())
    with opened_if_given(named, effects) as opened:
        found = None if plan is None else _answer(plan, run, events, opened)
    if as_json:
        listed: dict[str, Json] = {
            step: [{"item": item, "state": over[item].value} for item in sorted(over)]
            for step, over in items.items()
        }
        document: dict[str, Json] = {
            **to_json(run),
            "items": listed,
            "is_left": is_left,
            "without_worker": unworked,
            "plan": None if plan is None else dump(plan),
            "answer": None if found is None else found.to_json(),
        }
        print_json(document)
        return Exit.FINE.value
    expected = None if plan is None else plan.metadata.get("estimated_duration_ms")
    out().print(heading(run, is_left, expected))
    _print_result(run, plan, found, items)
    if is_left and not run.waiting:  # calls that wait have their own lines
        _print_next(run, is_placed=is_placed, has_worker=unworked is None)
    return Exit.FINE.value


def _answer(plan: Plan, run: Run, events: Sequence[Event], opened: Toolset | None) -> Answer | None:
    """Return the answer of a run that is over or waits for a person."""
    if run.status is RunState.RUNNING:
        return None
    acted = {event.step for event in events if isinstance(event, CallIntended)}
    if opened is None:
        return answer(plan, run, effects=acted)
    schemas = output_schemas(plan, opened.tools)
    return answer(plan, run, schemas=schemas, insights=opened.insights, effects=acted)


def _print_result(run: Run, plan: Plan | None, found: Answer | None, items: _Items) -> None:
    if plan is not None:
        out().print(plan_tree(plan, marks=run_marks(run)))
    for step, over in items.items():
        if run.steps[step].state is not StepState.SUCCEEDED:
            note(f"{printable(step)}: {items_text(over)}.")
    if found is not None:
        out().print()
        out().print(DocumentView(found.document))
    print_pending(run)


def _print_next(run: Run, *, is_placed: bool, has_worker: bool) -> None:
    """Print how to continue a run that no process works on."""
    name = run.run[:SHORT]
    if run.status is RunState.WAITING and is_placed:
        note(f"It waits for an approval: `toolplan approve {name} {run.digest}` gives it.")
    elif run.status is RunState.WAITING:
        note(f"It waits for an approval: `toolplan resume {name}` asks for it.")
    elif run.status is RunState.RUNNING and not is_placed:
        note(f"It was interrupted: `toolplan resume {name}` resumes it.")
    elif run.status is RunState.RUNNING and has_worker:
        note("No worker has it at this moment: one of them continues it.")


def _items(events: Sequence[Event]) -> _Items:
    """Return the states of the items of each step with `for_each`, as far as they have ended."""
    found: dict[str, dict[int, StepState]] = {}
    for event in events:
        if isinstance(event, ItemEnded):
            state = StepState.SUCCEEDED if event.failure is None else StepState.FAILED
            found.setdefault(event.step, {})[event.item] = state
    return found


def heading(run: Run, is_left: bool, expected_ms: Json) -> str:
    """Return the first line of a run: its name, state and times."""
    words = f"run {run.run}: {status_text(run.status, is_left)}"
    if run.started_at is not None:
        started = datetime.fromtimestamp(run.started_at, UTC).astimezone()
        words += f", started {started:%Y-%m-%d %H:%M:%S}"
        if run.took_s is not None:
            words += f", took {duration_text(run.took_s)}"
    if isinstance(expected_ms, int) and not run.is_resumed:
        words += f" (expected: about {duration_text(expected_ms / 1000)})"
    return words
