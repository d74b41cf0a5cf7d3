"""Questions that are answered by computing, each compared with a query of its own (issue 5)."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest

from benchmarks.aggregates import (
    GOAL,
    LISTS,
    QUESTIONS,
    Checked,
    Verdict,
    check,
    check_all,
    lines,
    same_rows,
)


@pytest.fixture(scope="module")
def asked() -> tuple[Checked, ...]:
    return check("asked")


def test_there_are_forty_questions_and_twice_twenty_written_later() -> None:
    document = json.loads(QUESTIONS.read_text(encoding="utf-8"))
    assert [len(document[name]) for name in LISTS] == [40, 20, 20]
    assert len({each["question"] for name in LISTS for each in document[name]}) == 80


def test_at_least_32_of_40_are_answered_and_none_wrongly(asked: tuple[Checked, ...]) -> None:
    counted = {verdict: [each for each in asked if each.verdict is verdict] for verdict in Verdict}
    assert counted[Verdict.WRONG] == counted[Verdict.FAILED] == []
    assert len(counted[Verdict.RIGHT]) >= GOAL, "\n".join(lines(asked))


@pytest.mark.parametrize("name", LISTS[1:])
def test_no_held_out_question_is_answered_wrongly(name: str) -> None:
    checked = check(name, rows=1_500)
    assert [each for each in checked if each.verdict in (Verdict.WRONG, Verdict.FAILED)] == []
    assert sum(each.verdict is Verdict.RIGHT for each in checked) >= 13


def test_the_highest_rates_are_computed_over_all_rows(asked: tuple[Checked, ...]) -> None:
    """F000-37, C-12."""
    rates = next(each for each in asked if each.question.startswith("Which carriers have the high"))
    assert rates.verdict is Verdict.RIGHT
    assert rates.tools == ("shipments_list", "sql")


@pytest.mark.parametrize(
    ("given", "wanted", "ordered", "same"),
    [
        ([{"a": "x", "n": 1}, {"a": "y", "n": 2}], [("y", 2), ("x", 1)], False, True),
        ([{"a": "x", "n": 1}, {"a": "y", "n": 2}], [("y", 2), ("x", 1)], True, False),
        ([{"a": "x", "n": 1}], [("x", 1), ("x", 1)], False, False),
        ([{"a": "x", "n": 1}, {"a": "x", "n": 1}], [("x", 1)], False, False),
        ([{"a": "x", "n": 1.0000001}], [("x", 1)], False, False),
        ([{"a": "x", "rate_percent": 36.24}], [("x", 0.362416)], False, True),
        ([{"a": "x", "rate": 36.24}], [("x", 0.362416)], False, False),
        ([{"a": None, "n": 1}], [("x", 1)], False, False),
    ],
)
def test_rows_are_compared_strictly(
    given: list[dict[str, str | float | None]],
    wanted: list[tuple[str | float, ...]],
    ordered: bool,
    same: bool,
) -> None:
    assert same_rows([{**row} for row in given], wanted, ordered=ordered) is same


MEASURES = {
    "how many {rows} were there": "count(*)",
    "what is the average weight of {rows}": "avg(weight_kg)",
    "total weight of {rows}": "sum(weight_kg)",
    "contamination rate of {rows}": "avg(has_contaminants)",
    "what share of {rows} was rejected": "avg(status = 'rejected')",
}
ROWS = {
    "shipments": "TRUE",
    "plastic shipments": "waste_type = 'plastic'",
    "non-hazardous shipments to Hamburg": "waste_type <> 'hazardous' AND destination = 'Hamburg'",
    "shipments by EcoTrans": "carrier = 'EcoTrans'",
    "shipments not from Berlin": "origin <> 'Berlin'",
    "shipments over 2000 kg": "weight_kg > 2000",
    "shipments under 2 tonnes": "weight_kg < 2000",
    "plastic or metal shipments": "waste_type IN ('plastic', 'metal')",
}
TIMES = {
    "": "TRUE",
    "last month": "date BETWEEN '2025-09-01' AND '2025-09-30'",
    "in the last 90 days": "date BETWEEN '2025-07-14' AND '2025-10-12'",
    "since July": "date BETWEEN '2025-07-01' AND '2025-10-12'",
}
GROUPS = {
    "": "",
    "by carrier": "carrier",
    "per waste type": "waste_type",
    "for each facility": "facility_id",
    "by month": "date(date, 'start of month')",
    "by destination and carrier": "destination, carrier",
    "by facility type": "(SELECT type FROM facilities AS f WHERE f.id = facility_id)",
}


def crossed(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Yield questions put together from phrases, each with its query."""
    pick = random.Random(seed)
    while count:
        (asks, figure), (rows, where), (time, span), (group, key) = (
            pick.choice([*part.items()]) for part in (MEASURES, ROWS, TIMES, GROUPS)
        )
        if rows.startswith("plastic or") and not key:
            continue  # for each of the two, says the planner
        count -= 1
        grouped = f" GROUP BY {key}" if key else ""
        yield {
            "question": " ".join(f"{asks.format(rows=rows)} {time} {group}".split()),
            "sql": f"SELECT {key + ', ' if key else ''}{figure} FROM shipments"
            f" WHERE {where} AND {span}{grouped}",
        }


def test_questions_put_together_from_phrases_are_never_answered_wrongly() -> None:
    checked = check_all([*crossed(5, 40)], date(2025, 10, 12), rows=1_500)
    assert [each for each in checked if each.verdict in (Verdict.WRONG, Verdict.FAILED)] == []
    assert sum(each.verdict is Verdict.RIGHT for each in checked) >= 36
