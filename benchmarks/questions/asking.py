"""Questions are asked of a planner, and its plans are run and compared."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple

from benchmarks.questions import plans, results
from benchmarks.questions.plans import SQL, Call, calls
from benchmarks.questions.sets import Domain, Talk, Turn
from toolplan.app.app import App
from toolplan.base.errors import ToolplanError
from toolplan.plan.path import Json
from toolplan.planners import Clarification, Draft, Planner, Refusal
from toolplan.storage.memory import SqliteMemory


class Verdict(StrEnum):
    """What came of a question; FAILED: the planner, the check of its plan or the run failed."""

    RIGHT = "right"
    WRONG = "wrong"
    FAILED = "failed"
    ASKED = "asked"


class Checked(NamedTuple):
    """A question and what came of it.

    `turn` counts from 0 within a conversation, `seconds` is the CPU time of the planner, `reason`
    says what was asked or which rows differ, `is_due` whether it has to be asked back.
    """

    kind: str
    turn: int
    question: str
    verdict: Verdict
    seconds: float
    reason: str
    plan: tuple[Call, ...]
    is_due: bool
    flip: bool = False


async def check(talks: Iterable[Talk], planner: Planner) -> AsyncIterator[Checked]:
    """Ask each question of each conversation, and yield what came of it."""
    bench = _Bench(planner)
    for number, talk in enumerate(talks):
        for at, turn in enumerate(talk.turns):
            conversation = f"c{number}" if len(talk.turns) > 1 else None
            yield await bench.asked(talk, at, turn, conversation)


class _Bench:
    """One app for each domain, which keeps its tools and their results."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._apps: dict[int, App] = {}
        self._outputs: dict[str, Json] = {}

    def _app(self, domain: Domain) -> App:
        if id(domain) not in self._apps:
            self._apps[id(domain)] = App(domain.tools(), self._planner, memory=SqliteMemory())
        return self._apps[id(domain)]

    async def asked(self, talk: Talk, at: int, turn: Turn, conversation: str | None) -> Checked:
        """Ask a question, and return what came of it."""
        app = self._app(talk.domain)
        started = time.process_time()
        try:
            found = await app.plan(turn.question, today=talk.today, conversation=conversation)
        except ToolplanError as error:  # the planner itself failed
            found = error
        seconds = time.process_time() - started
        is_due = not (turn.plans or turn.queries or turn.reads)

        def checked(verdict: Verdict, reason: str, plan: Sequence[Call] = ()) -> Checked:
            golds = [calls({"steps": steps}) for steps in turn.plans]
            flip = verdict is Verdict.WRONG and plans.is_flip(plan, golds, app.tools)
            given = (talk.kind, at, turn.question, verdict, seconds, reason, tuple(plan), is_due)
            return Checked(*given, flip)

        if isinstance(found, ToolplanError):
            return checked(Verdict.FAILED, f"{found.message} {found.help}")
        match found.proposal:
            case Clarification(question=reply) | Refusal(reason=reply):
                return checked(Verdict.ASKED, reply)
            case Draft(text=text):
                steps = json.loads(text)["steps"]
                plan = calls({"steps": steps})
        if found.plan is None:
            return checked(Verdict.FAILED, found.reason, plan)
        if is_due:
            return checked(Verdict.WRONG, "it has to be asked back", plan)
        if any(plans.is_same(plan, calls({"steps": gold})) for gold in turn.plans):
            return checked(Verdict.RIGHT, "", plan)
        if turn.reads and plans.is_right(plan, turn.reads):
            return checked(Verdict.RIGHT, "", plan)
        if plans.changes(plan, app.tools):
            return checked(Verdict.WRONG, "it changes something, and is not the same plan", plan)
        try:
            given = await self._output(app, talk, steps)
        except ToolplanError as error:
            return checked(Verdict.FAILED, error.message, plan)
        return checked(*await self._compared(app, talk, turn, given), plan)

    async def _compared(self, app: App, talk: Talk, turn: Turn, given: Json) -> tuple[Verdict, str]:
        tables, shown = results.tables_of(given), ""
        for steps in turn.plans:
            if plans.changes(calls({"steps": steps}), app.tools):
                continue
            wanted = results.tables_of(await self._output(app, talk, steps))
            # a follow-up may show again what it is about, or leave that out
            for each in (wanted, wanted[-1:]) if talk.turns[0] is not turn else (wanted,):
                if results.same_tables(tables, each, _order(turn.question, steps)):
                    return Verdict.RIGHT, ""
            shown = _difference(tables, wanted)
        together = results.one_table(tables)  # those of A and those of B, for one query
        for query in turn.queries:
            rows = _rows(talk.domain, query)
            if results.same_rows(results.rows_of(given), rows, ordered=turn.ordered):
                return Verdict.RIGHT, ""
            if together and results.same_rows(together, rows, ordered=turn.ordered):
                return Verdict.RIGHT, ""
            shown = f"{tables[0][:2] if tables else ''}, not {rows[:2]} of {len(rows)}"
        return Verdict.WRONG, shown or "it reads other rows"

    async def _output(self, app: App, talk: Talk, steps: Sequence[Mapping[str, Any]]) -> Json:
        key = f"{id(talk.domain)} {json.dumps(steps, sort_keys=True)}"
        if key not in self._outputs:
            run = await app.run({"toolplan": 1, "steps": [*steps]}, today=talk.today)
            if not run.succeeded:
                raise ToolplanError("run-failed", f"The run {run.status}.")
            self._outputs[key] = run.output
        return self._outputs[key]


def _order(question: str, steps: Sequence[Mapping[str, Any]]) -> str | None:
    last = steps[-1]
    return results.ordered_by(question, last["args"]["sql"]) if last["tool"] == SQL else None


def _difference(given: Sequence[Sequence[object]], wanted: Sequence[Sequence[object]]) -> str:
    def shown(tables: Sequence[Sequence[object]]) -> str:
        return "; ".join(f"{len(rows)} rows {str(rows[:1])[:150]}" for rows in tables)

    return f"{shown(given)}, not {shown(wanted)}"


@cache
def _database(domain: int, opened: Any) -> sqlite3.Connection:  # noqa: ANN401
    return opened()


def _rows(domain: Domain, query: str) -> list[tuple[results.Cell, ...]]:
    return _database(id(domain), domain.database).execute(query).fetchall()
