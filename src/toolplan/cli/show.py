"""`toolplan show`, `toolplan diff` and `toolplan convert`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, NamedTuple

from cyclopts import Parameter

from toolplan.app._toolset import DEMO, reopening
from toolplan.cli import options
from toolplan.cli.ask import print_pending
from toolplan.cli.plan_file import parsed_whole, plan_document, plan_or_run, plan_text, read_plan
from toolplan.cli.runs import placed, report_placed, without_worker
from toolplan.cli.terminal import CommandError, Exit, note, out, print_json
from toolplan.compiler import output_schemas
from toolplan.dialects import DIALECTS, known_dialect
from toolplan.events import (
    CallIntended,
    Event,
    ItemEnded,
    Run,
    RunApproved,
    RunState,
    StepState,
    fold,
    to_json,
)
from toolplan.plan.canonical import dump, load
from toolplan.plan.comparison import compare_plans
from toolplan.plan.model import Plan
from toolplan.plan.path import Json
from toolplan.schema.tool import Tool, Toolbox
from toolplan.show.answer import answer
from toolplan.show.document import DocumentView
from toolplan.show.plan_tree import ComparisonView, PlanTree, effect_marks
from toolplan.show.plan_tree import mermaid as as_mermaid
from toolplan.show.plan_tree import svg as as_svg
from toolplan.show.printable import printable
from toolplan.show.runs_view import SHORT, duration_text, items_text, run_marks, status_text


def show_command(
    file: options.FileOrRun,
    chosen: options.ShowOptions = options.ShowOptions(),
    *,
    mermaid: Annotated[bool, Parameter(help="Print a Mermaid flowchart.")] = False,
    svg: Annotated[bool, Parameter(help="Print an SVG drawing.")] = False,
) -> None:
    """Show a plan as a tree: each step, and what it needs.

    With --json the plan is printed in its canonical form. With
    --tools, steps that may change something are marked. A run is shown
    with the states, times and results of its steps, and its answer.
    """
    draw = as_mermaid if mermaid else as_svg if svg else None
    plan_file = plan_or_run(file, chosen.dialect, chosen.journal)
    if isinstance(plan_file, str):
        if draw is not None and not chosen.as_json:
            _draw_run(plan_file, draw, chosen.journal)
        else:
            _show_run(plan_file, chosen)
        return
    with chosen.opened_if_given() as opened:
        known = None if opened is None else opened.tools
        plan = parsed_whole(plan_file, known)
        marks = effect_marks(plan, known or {})
        if chosen.as_json:
            print_json(dump(plan))
        elif draw is not None:
            sys.stdout.write(draw(plan, marks=marks))
        else:
            out().print(PlanTree(plan, marks))


def _draw_run(name: str, draw: Callable[..., str], place: str | None) -> None:
    with closing(options.opened_journal(place)) as journal:
        run, plan = fold(journal.events(name)), load(journal.record(name).plan).plan
    if plan is None:
        raise CommandError("unreadable-plan", f"The plan of run {name[:SHORT]} cannot be read.")
    states = {step: each.state for step, each in run.steps.items()}
    sys.stdout.write(draw(plan, marks=run_marks(run), states=states))


def _show_run(name: str, chosen: options.ShowOptions) -> None:
    as_json = chosen.as_json
    with closing(options.opened_journal(chosen.journal)) as journal:
        events, entry, record = journal.events(name), journal.entry(name), journal.record(name).plan
        is_left = entry.is_left
        unworked = without_worker(journal, [name] if is_left else []).get(name)
        is_placed = is_left and placed(journal, name) is not None
        # a run that a worker has may wait for a place of a limit
        if not as_json and (is_left or entry.status is RunState.RUNNING):
            report_placed(journal, [name])
    run, plan, items = fold(events), load(record).plan, _items(events)
    # tools are started only where they are named; the demo's start nothing
    kept, found = reopening(record)[0], None
    tools = chosen.tools or (kept if kept == (DEMO,) else None)
    with replace(chosen, tools=tools).opened_if_given() as opened:
        if plan is not None and run.status is not RunState.RUNNING:
            acted = {event.step for event in events if isinstance(event, CallIntended)}
            schemas = {} if opened is None else output_schemas(plan, opened.tools)
            insights = () if opened is None else opened.insights
            found = answer(plan, run, schemas=schemas, insights=insights, effects=acted)
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
        return
    expected = None if plan is None else plan.metadata.get("estimated_duration_ms")
    out().print(heading(run, is_left, expected))
    if plan is not None:
        out().print(PlanTree(plan, run_marks(run)))
    for step, over in items.items():
        if run.steps[step].state is not StepState.SUCCEEDED:
            note(f"{printable(step)}: {items_text(over)}.")
    if found is not None:
        out().print()
        out().print(DocumentView(found.document))
    print_pending(run)
    if is_left and not run.waiting:  # calls that wait have their own lines
        _print_next(run, is_placed=is_placed, has_worker=unworked is None)


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


def _items(events: Sequence[Event]) -> dict[str, dict[int, StepState]]:
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


class _Side(NamedTuple):
    """A plan, the tools that it was made for if they are known, and its details."""

    plan: Plan
    tools: Mapping[str, Tool]
    about: dict[str, Json]


def diff_command(
    a: options.FileOrRun,
    b: options.FileOrRun,
    /,
    chosen: options.ShowOptions = options.ShowOptions(),
) -> int:
    """Show what differs between two plans or runs: calls, arguments, conditions, output.

    Ids and order of steps, thoughts and metadata do not count. Of a run its plan is compared, and
    what it was approved for. With --tools, steps that may change something are marked. Exits 1
    where they differ.
    """
    if a == b == "-":
        raise CommandError("usage", "Both plans are standard input.", "Name a file for one.")
    with chosen.opened_if_given() as opened:
        known = None if opened is None else opened.tools
        before, after = _side(a, chosen, known), _side(b, chosen, known)
    found = compare_plans(before.plan, after.plan)
    if chosen.as_json:
        print_json({**found.to_json(), "before": before.about, "after": after.about})
    else:
        marks = [effect_marks(side.plan, side.tools) for side in (before, after)]
        out().print(ComparisonView(found, *marks))
        for name, side in ((a, before), (b, after)):
            if "approved" in side.about:
                was = "was approved" if side.about["approved"] else "was not approved"
                out().print(f"run {name}: {side.about['status']}, {was}.")
    return (Exit.FINE if found.same else Exit.FAILED).value


def _side(name: str, chosen: options.ShowOptions, tools: Toolbox | None) -> _Side:
    """Return the plan of a file, or of a run."""
    found = plan_or_run(name, chosen.dialect, chosen.journal)
    if not isinstance(found, str):
        return _Side(parsed_whole(found, tools), tools or {}, {"file": name})
    with closing(options.opened_journal(chosen.journal)) as journal:
        record, events = journal.record(found), journal.events(found)
    plan = load(record.plan).plan
    if plan is None:
        raise CommandError("unreadable-plan", f"The plan of run {found} cannot be read.")
    approvals: list[Json] = [each.digest for each in events if isinstance(each, RunApproved)]
    listed = record.tools if isinstance(record.tools, list) else []
    kept = {tool.name: tool for tool in map(Tool.from_json, listed)} if tools is None else tools
    about: dict[str, Json] = {"run": found, "status": fold(events).status.value}
    return _Side(plan, kept, {**about, "approved": bool(approvals), "approvals": approvals})


_NAMES = ", ".join(DIALECTS)
FromOption = Annotated[str, Parameter(name="--from", help=f"The dialect of the file: {_NAMES}.")]
ToOption = Annotated[str, Parameter(help="The dialect to write.")]


def convert_command(
    file: options.PlanFileArgument,
    *,
    from_: FromOption = "toolplan",
    to: ToOption = "toolplan",
    tools: options.ToolsOption = None,
    as_json: options.JsonFlag = False,
) -> None:
    """Convert a plan to another dialect, on standard output.

    A plan that the dialect cannot express as a whole is an error.
    """
    plan_file = read_plan(file, from_)
    known_dialect(to)
    with options.ToolOptions(tools=tools).opened_if_given() as opened:
        known = None if opened is None else opened.tools
        plan = parsed_whole(plan_file, known, "--from")
        write = plan_document if as_json else plan_text
        sys.stdout.write(write(plan, to, known, "--to"))
