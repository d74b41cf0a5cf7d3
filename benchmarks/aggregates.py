"""Aggregate questions, without a model: `python -m benchmarks.aggregates [LIST] [--json]`.

Every question has a query of its own against the demo's SQLite database. The grounded planner plans
the question, a app runs the plan with the demo's tools and `sql`, and the numbers are compared.
LIST is `asked` (40 questions, which may be worked for) or one of the two that were written after
that work and asked once before anything was changed for them: `held_out`, `second`. It exits 1
where an answer is wrong, or where fewer than the goal of the first list are answered.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from toolplan.answer.hints import NO_HINTS
from toolplan.answer.shape import Record, Rows, Single, shape_of
from toolplan.app.app import App
from toolplan.app.results import AskResult
from toolplan.demo import demo_tools
from toolplan.demo.database import DEFAULT_ROWS, open_database
from toolplan.path import Json
from toolplan.planners import Clarification, GroundedPlanner
from toolplan.sources.sql import sql_tool
from toolplan.tools import Toolbox

QUESTIONS: Final = Path(__file__).parents[1] / "tests" / "planners" / "aggregate_questions.json"
LISTS: Final = ("asked", "held_out", "second")
GOAL: Final = 32
"""How many of the 40 questions are to be answered; none may be answered wrongly."""

_TOLERANCE: Final = 1e-9
_CENT: Final = 0.0051  # reports round their percentages to two decimals

Cell: TypeAlias = str | float | None


class Verdict(StrEnum):
    """What came of a question."""

    RIGHT = "right"
    WRONG = "wrong"
    ASKED_BACK = "asked back"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Checked:
    """A question, what came of it, and why where it is not right; `seconds` to plan and run."""

    question: str
    verdict: Verdict
    tools: tuple[str, ...]
    seconds: float
    reason: str = ""


def check(which: str = LISTS[0], rows: int = DEFAULT_ROWS) -> tuple[Checked, ...]:
    """Ask the questions of one of `LISTS` over about `rows` shipments, and compare the answers."""
    document = json.loads(QUESTIONS.read_text(encoding="utf-8"))
    return check_all(document[which], date.fromisoformat(document["today"]), rows)


def check_all(
    questions: Sequence[Mapping[str, Any]], today: date, rows: int = DEFAULT_ROWS
) -> tuple[Checked, ...]:
    """Ask `questions`, each with its `sql`, and compare; `ordered` ones in their order as well."""
    app = App(_tools(today, rows), GroundedPlanner())
    with closing(open_database(today, rows)) as database:
        return asyncio.run(_checked(app, database, questions, today))


@cache
def _tools(today: date, rows: int) -> Toolbox:
    return demo_tools(today, rows).with_tools(sql_tool())


async def _checked(
    app: App,
    database: sqlite3.Connection,
    questions: Sequence[Mapping[str, Any]],
    today: date,
) -> tuple[Checked, ...]:
    found: list[Checked] = []
    for each in questions:
        started = time.perf_counter()
        asked = await app.ask(each["question"], today=today)
        seconds = time.perf_counter() - started
        wanted = database.execute(each["sql"]).fetchall()
        verdict, reason = _verdict(asked, wanted, ordered=each.get("ordered", False))
        used = () if asked.plan is None else tuple(step.tool for step in asked.plan.plan.steps)
        found.append(Checked(each["question"], verdict, used, seconds, reason))
    return tuple(found)


def _verdict(
    asked: AskResult, wanted: Sequence[Sequence[Cell]], *, ordered: bool
) -> tuple[Verdict, str]:
    if asked.run is None or asked.plan is None:
        if isinstance(asked.proposal, Clarification):
            return Verdict.ASKED_BACK, asked.proposal.question
        return Verdict.FAILED, str(asked.proposal)
    if not asked.succeeded:
        return Verdict.FAILED, "" if asked.answer is None else asked.answer.headline
    given = rows_of(asked.run.output)
    if same_rows(given, wanted, ordered=ordered):
        return Verdict.RIGHT, ""
    return Verdict.WRONG, f"{given[:3]} of {len(given)}, not {wanted[:3]} of {len(wanted)}"


def rows_of(output: Json) -> list[dict[str, Json]]:
    """Return the rows of a plan's output, of the one step that gives something."""
    inner = output
    if isinstance(output, dict) and len(output) == 1:
        inner = next(iter(output.values()))
    match shape_of(inner, NO_HINTS):
        case Rows(rows=rows):
            return list(rows)
        case Record(fields=fields):
            return [fields]
        case Single(value=value):
            return [{"value": value}]


def same_rows(
    given: Sequence[dict[str, Json]], wanted: Sequence[Sequence[Cell]], *, ordered: bool
) -> bool:
    """Return whether every wanted row is among the `given`, and there are no others.

    A row is the wanted one where each cell of that is in it; the given row may have more columns.
    Shares may be given as percentages, in columns whose name says so.
    """
    if len(given) != len(wanted):
        return False
    if ordered:
        return all(map(_is_row, given, wanted))
    left = list(given)
    for row in wanted:
        at = next((at for at, each in enumerate(left) if _is_row(each, row)), None)
        if at is None:
            return False
        del left[at]
    return True


def _is_row(given: dict[str, Json], wanted: Sequence[Cell]) -> bool:
    return all(any(_is_cell(name, value, cell) for name, value in given.items()) for cell in wanted)


def _is_cell(name: str, given: Json, wanted: Cell) -> bool:
    if isinstance(wanted, str) or wanted is None:
        return given == wanted
    if not isinstance(given, bool | int | float):
        return False
    if name.endswith("percent"):
        return abs(given - 100 * wanted) <= _CENT
    return abs(given - wanted) <= _TOLERANCE * max(1.0, abs(wanted))


def lines(checked: Sequence[Checked]) -> list[str]:
    """Return the table of what came of the questions, and their sum."""
    shown = [
        f"{each.verdict.value:<10}  {1000 * each.seconds:5.0f} ms  {each.question}"
        + (f"\n{'':22}{each.reason}" if each.reason else "")
        for each in checked
    ]
    counted = {v: sum(each.verdict is v for each in checked) for v in Verdict}
    figures = ", ".join(f"{count} {verdict.value}" for verdict, count in counted.items())
    return [*shown, "", f"{len(checked)} questions: {figures}."]


def main() -> None:
    """Ask, compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m benchmarks.aggregates")
    parser.add_argument("list", nargs="?", choices=LISTS, default=LISTS[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse_args()
    checked = check(chosen.list)
    if chosen.json:
        print(json.dumps([_to_json(each) for each in checked], indent=2, ensure_ascii=False))
    else:
        print("\n".join(lines(checked)))
    wrong = any(each.verdict in (Verdict.WRONG, Verdict.FAILED) for each in checked)
    right = sum(each.verdict is Verdict.RIGHT for each in checked)
    sys.exit(1 if wrong or (chosen.list == LISTS[0] and right < GOAL) else 0)


def _to_json(checked: Checked) -> dict[str, Json]:
    return {
        "question": checked.question,
        "verdict": checked.verdict.value,
        "tools": [*checked.tools],
        "seconds": checked.seconds,
        "reason": checked.reason,
    }


if __name__ == "__main__":
    main()
