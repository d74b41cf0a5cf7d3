"""Questions that are answered by computing, each compared with a query of its own (issue 5)."""

from __future__ import annotations

import json

import pytest

from benchmarks.aggregates import GOAL, LISTS, QUESTIONS, Checked, Verdict, check, lines, same_rows


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
    checked = check(name, rows=3_000)
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
