"""Generate, ask, compare and print."""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, TypeAlias

import benchmarks.generated_questions as package
from benchmarks.aggregates import rows_of, same_rows
from benchmarks.generated_questions.domains import DOMAINS, Domain
from benchmarks.generated_questions.families import Generated, generate
from toolplan.app.app import App
from toolplan.app.results import AskResult
from toolplan.planners import Clarification, GroundedPlanner, Refusal

Cell: TypeAlias = str | float | None


class Verdict(StrEnum):
    """What came of a question."""

    RIGHT = "right"
    ASKED_BACK = "asked back"
    REFUSED = "refused"
    WRONG = "wrong"
    FAILED = "failed"


class Checked(NamedTuple):
    """A question and what came of it; `reason` where it is not right."""

    generated: Generated
    verdict: Verdict
    reason: str


def check(
    domain: Domain, questions: Sequence[Generated], on_checked: Callable[[Checked], None]
) -> None:
    """Ask `questions` and compare the answers."""
    asyncio.run(_check(domain, questions, on_checked))


async def _check(
    domain: Domain, questions: Sequence[Generated], on_checked: Callable[[Checked], None]
) -> None:
    app, database = App(domain.tools(), GroundedPlanner()), domain.database()
    for each in questions:
        asked = await app.ask(each.question, today=domain.today)
        on_checked(Checked(each, *_verdict(asked, each, database)))


def _verdict(
    asked: AskResult, generated: Generated, database: sqlite3.Connection
) -> tuple[Verdict, str]:
    if asked.run is None or asked.plan is None:
        match asked.proposal:
            case Clarification(question=question):
                return Verdict.ASKED_BACK, question
            case Refusal(reason=reason):
                return Verdict.REFUSED, reason
            case _:
                return Verdict.FAILED, asked.reason
    if not asked.succeeded:
        return Verdict.FAILED, "" if asked.answer is None else asked.answer.headline
    given = rows_of(asked.run.output)
    wanted: list[tuple[Cell, ...]] = []
    for query in generated.queries:
        wanted = database.execute(query).fetchall()
        if same_rows(given, wanted, ordered=generated.ordered):
            return Verdict.RIGHT, ""
    return Verdict.WRONG, f"{given[:2]} of {len(given)}, not {wanted[:3]} of {len(wanted)}"


def figures(checked: Sequence[Checked]) -> Mapping[Verdict, int]:
    """Return how many questions came to which verdict."""
    counted = Counter(each.verdict for each in checked)
    return {verdict: counted[verdict] for verdict in Verdict}


def table(checked: Sequence[Checked]) -> list[str]:
    """Return the figures by family, and their sum."""
    families = dict.fromkeys(each.generated.family for each in checked)
    rows = {f: figures([c for c in checked if c.generated.family == f]) for f in families}
    rows["all"] = figures(checked)
    heads = "".join(f"{verdict.value:>12}" for verdict in Verdict)
    return [
        f"{'':24}{heads}",
        *(f"{name:24}" + "".join(f"{n:12}" for n in each.values()) for name, each in rows.items()),
    ]


def main() -> None:
    """Generate, ask, compare and print."""
    parser = argparse.ArgumentParser(
        description=package.__doc__, prog="python -m benchmarks.generated_questions"
    )
    parser.add_argument("catalogue", nargs="*", help="demo, shop; both when left out")
    parser.add_argument("--each", type=int, default=12, help="questions of each family")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", nargs="*", default=["wrong", "failed"], help="verdicts to list")
    parser.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse_args()
    checked: list[Checked] = []
    for name in chosen.catalogue or DOMAINS:
        domain = DOMAINS[name]
        check(domain, list(generate(domain, chosen.each, chosen.seed)), checked.append)
    if chosen.json:
        print(json.dumps([_to_json(each) for each in checked], indent=2, ensure_ascii=False))
    else:
        shown = [each for each in checked if each.verdict.value in chosen.show]
        for each in shown:
            print(f"{each.verdict.value:10}  {each.generated.question}\n{'':12}{each.reason}")
        print("\n".join(table(checked)))
    bad = any(each.verdict in (Verdict.WRONG, Verdict.FAILED) for each in checked)
    sys.exit(1 if bad else 0)


def _to_json(checked: Checked) -> dict[str, object]:
    return {
        "family": checked.generated.family,
        "question": checked.generated.question,
        "sql": [*checked.generated.queries],
        "verdict": checked.verdict.value,
        "reason": checked.reason,
    }


if __name__ == "__main__":
    main()
