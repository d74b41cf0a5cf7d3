"""`toolplan diff A B`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

from msgspec import Struct

from toolplan.cli import options
from toolplan.cli._tools import opened_if_given, opened_journal
from toolplan.cli.plan_file import parsed_whole, plan_or_run
from toolplan.cli.terminal import CommandError, Exit, out, print_json
from toolplan.comparison import compare_plans
from toolplan.events import RunApproved, fold
from toolplan.path import Json
from toolplan.plan import Plan
from toolplan.plan_json import load
from toolplan.render.comparison_view import ComparisonView
from toolplan.render.plan_tree import effect_marks
from toolplan.storage.journal import Store
from toolplan.tools import Tool, Toolbox


class _Side(Struct, frozen=True):
    """A plan, the tools that it was made for if they are known, and what is known of it."""

    plan: Plan
    tools: Mapping[str, Tool]
    about: dict[str, Json]


def diff_command(
    a: options.FileOrRun,
    b: options.FileOrRun,
    /,
    *,
    dialect: options.DialectOption = "toolplan",
    tools: options.ToolsOption = (),
    journal: options.JournalOption = None,
    effects: options.EffectsOption = (),
    as_json: options.JsonFlag = False,
) -> int:
    """Show what differs between two plans or runs: calls, arguments, conditions, output.

    Ids and order of steps, thoughts and metadata do not count. Of a run its plan is compared, and
    what it was approved for. With --tools, steps that may change something are marked. Exits 1
    where they differ.
    """
    if a == b == "-":
        raise CommandError("usage", "Both plans are standard input.", "Name a file for one.")
    with opened_if_given(tools, effects) as opened:
        known = None if opened is None else opened.tools
        before, after = _side(a, dialect, known, journal), _side(b, dialect, known, journal)
    found = compare_plans(before.plan, after.plan)
    differ = not found.same
    if as_json:
        print_json({**found.to_json(), "before": before.about, "after": after.about})
    else:
        view = ComparisonView(
            found,
            effect_marks(before.plan, before.tools),
            effect_marks(after.plan, after.tools),
        )
        out().print(view)
        for name, side in ((a, before), (b, after)):
            if "approved" in side.about:
                was = "was approved" if side.about["approved"] else "was not approved"
                out().print(f"run {name}: {side.about['status']}, {was}.")
    return (Exit.FAILED if differ else Exit.FINE).value


def _side(name: str, dialect: str, tools: Toolbox | None, journal: str | None) -> _Side:
    """Return the plan of a file, or of a run."""
    found = plan_or_run(name, dialect, journal)
    if isinstance(found, str):
        with closing(opened_journal(journal)) as store:
            return _kept(store, found, tools)
    return _Side(parsed_whole(found, tools), tools or {}, {"file": name})


def _kept(journal: Store, name: str, tools: Toolbox | None) -> _Side:
    record, events = journal.record(name), journal.events(name)
    plan = load(record.plan).plan
    if plan is None:
        raise CommandError("unreadable-plan", f"The plan of run {name} cannot be read.")
    approvals: list[Json] = [each.digest for each in events if isinstance(each, RunApproved)]
    listed = record.tools if isinstance(record.tools, list) else []
    kept = {tool.name: tool for tool in map(Tool.from_json, listed)} if tools is None else tools
    about: dict[str, Json] = {
        "run": name,
        "status": fold(events).status.value,
        "approved": bool(approvals),
        "approvals": approvals,
    }
    return _Side(plan, kept, about)
