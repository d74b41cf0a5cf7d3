"""The sets of questions, each question with what is right for it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from benchmarks.generated_questions.domains import DOMAINS
from benchmarks.generated_questions.families import generate
from benchmarks.questions.blind.frozen import FOLDER, content, database, tools
from toolplan.schema.tool import Toolbox
from toolplan_demo import demo_tools
from toolplan_demo.database import open_database
from toolplan_sql import sql_tool

TODAY: Final = "2025-10-12"
ROWS: Final = 1_500
"""Shipments of the demo: enough that another plan has other rows."""
_ROOT: Final = Path(__file__).parents[2]
DATA: Final = _ROOT.parent / "shared" / "data"
_TESTS: Final = _ROOT / "tests" / "planners"


@dataclass(frozen=True)
class Domain:
    """Tools, and a database with the same rows."""

    tools: Callable[[], Toolbox]
    database: Callable[[], sqlite3.Connection]


@dataclass(frozen=True)
class Turn:
    """A question and what is right; with none of the three it has to be asked back.

    Attributes:
        question: its text.
        plans: plans that are right, each a list of steps in canonical JSON.
        queries: statements on the database that give right rows.
        ordered: whether rows have to come in the order of the queries.
        reads: what plans have to read below a step of SQL, in the form of `QUESTIONS.md`.
    """

    question: str
    plans: Sequence[Sequence[Mapping[str, Any]]] = ()
    queries: Sequence[str] = ()
    ordered: bool = False
    reads: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Talk:
    """Questions of one conversation; most have one."""

    kind: str
    turns: Sequence[Turn]
    domain: Domain
    today: str = TODAY


@cache
def demo(today: str = TODAY) -> Domain:
    """Return the demo's tools, with the one that computes, and its database."""
    day = date.fromisoformat(today)
    tools = demo_tools(day, rows=ROWS)
    full = tools if "sql" in tools else tools.with_tools(sql_tool())
    return Domain(lambda: full, lambda: open_database(day, ROWS))


def _read(name: str) -> Any:  # noqa: ANN401 — JSON
    return json.loads((_TESTS / name).read_text(encoding="utf-8"))


def _demo() -> Iterator[Talk]:
    for row in _read("questions/demo.json"):
        yield Talk("demo", [Turn(row["question"], plans=[row["steps"]])], demo())


def _traps() -> Iterator[Talk]:
    found = _read("questions/misread.json")
    for question, gold in found["answered"].items():
        queries, plans = ([gold], []) if isinstance(gold, str) else ([], [gold])
        turn = Turn(question, plans, queries, ordered="ORDER BY" in gold)
        yield Talk("misread", [turn], demo())
    for question in found["asked"]:
        yield Talk("to be asked", [Turn(question)], demo())
    for row in _read("questions/unplanned.json"):
        yield Talk("unplanned", [Turn(row["question"])], demo())


def _aggregates() -> Iterator[Talk]:
    document = _read("aggregate_questions.json")
    for name in ("asked", "held_out", "second"):
        for row in document[name]:
            turn = Turn(row["question"], queries=[row["sql"]], ordered=row.get("ordered", False))
            yield Talk(name, [turn], demo(document["today"]), document["today"])


def _dialogues() -> Iterator[Talk]:
    for talk in _read("dialogue/dialogues.json"):
        turns = [
            Turn(turn["ask"], plans=[turn["steps"]] if "steps" in turn else [])
            for turn in talk["turns"]
        ]
        yield Talk(talk["name"], turns, demo())


def published(data: Path = DATA) -> Iterator[Talk]:
    """Yield the blind questions of `data`; none where they are not there."""
    path = data / "questions.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        row = json.loads(line)
        expect = row["expect"]
        if row.get("doubt"):
            continue
        wanted = [*expect.get("plans", ()), *([expect["plan"]] if "plan" in expect else ())]
        reads: dict[str, Any] = expect if expect.get("sql") else {}
        turn = Turn(row["question"], plans=[*map(_canonical, wanted)], reads=reads)
        yield Talk(row["kind"], [turn], demo(row["today"]), row["today"])


def _canonical(steps: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the steps of a plan of `QUESTIONS.md`, which counts them from 0."""
    found: list[dict[str, Any]] = []
    for at, step in enumerate(steps):
        args = dict(step["args"])
        for name, text in step.get("refs", {}).items():
            number, _, path = text.partition(".")
            args[name] = f"${{s{number}.{path}}}"
        found.append({"id": f"s{at}", "tool": step["tool"], "args": args})
    return found


def generated(seeds: Sequence[int], each: int) -> Iterator[Talk]:
    """Yield the generated questions of both domains; `each` is how many of a family."""
    for seed in seeds:
        for name, domain in DOMAINS.items():
            here = Domain(domain.tools, domain.database)
            for found in generate(domain, each, seed):
                turn = Turn(found.question, queries=found.queries, ordered=found.ordered)
                yield Talk(f"{name} {found.family}", [turn], here, domain.today.isoformat())


def _blind(rows: Iterable[Mapping[str, Any]], domain: Domain, today: str) -> Iterator[Talk]:
    for row in rows:
        kind = "answered" if len(row) > 1 else "to be asked"
        yield Talk(kind, [Turn(**row)], domain, today)


def _blind_demo(name: str) -> Iterator[Talk]:
    return _blind(json.loads((FOLDER / f"{name}.json").read_bytes()), demo(), TODAY)


@cache
def _frozen_domain(name: str, *, hints: bool) -> Domain:
    return Domain(partial(tools, name, hints=hints), partial(database, name))


def _frozen(name: str, *, hints: bool) -> Iterator[Talk]:
    kept = content(name)
    return _blind(kept.questions, _frozen_domain(name, hints=hints), kept.today.isoformat())


SETS: Final[Mapping[str, Callable[[], Iterator[Talk]]]] = {
    "open": published,
    "demo": _demo,
    "traps": _traps,
    "aggregates": _aggregates,
    "dialogues": _dialogues,
    "generated": lambda: generated((1,), 12),
    "blind-demo": partial(_blind_demo, "demo"),
    "blind-hinted": partial(_frozen, "vet", hints=True),
    "blind-plain": partial(_frozen, "vet", hints=False),
    "frozen-demo": partial(_blind_demo, "demo_2"),
    "frozen-hinted": partial(_frozen, "digs", hints=True),
    "frozen-plain": partial(_frozen, "digs", hints=False),
}
