"""Comparisons give a figure for each side, and "how long" is the average of what lasts."""

from __future__ import annotations

import pytest

from tests.planners.planned import arguments, propose
from toolplan.path import Json
from toolplan.planners import Clarification


def statement(question: str) -> str:
    tool, given = arguments(question)[-1]
    assert tool == "sql"
    assert isinstance(given, dict)
    return str(given["sql"])


@pytest.mark.parametrize(
    ("question", "measure"),
    [
        ("compare the number of shipments of F1 and F2", "count(*)"),
        ("compare the average weight of shipments of F1 and F2", "avg(weight_kg)"),
    ],
)
def test_identities_are_compared_each_by_itself(question: str, measure: str) -> None:
    reads: Json = {"facility_id": ["F1", "F2"]}
    assert arguments(question)[0] == ("shipments_list", reads)
    assert measure in statement(question)
    assert "GROUP BY facility_id" in statement(question)


@pytest.mark.parametrize(
    "question",
    [
        "compare the shipments of F1 and F2",
        "compare shipments this month and last month",
        "compare the number of shipments of F1",
        "compare the average weight of shipments",
    ],
)
def test_one_list_or_one_total_compares_nothing(question: str) -> None:
    assert isinstance(propose(question), Clarification)


@pytest.mark.parametrize(
    ("question", "read"),
    [
        ("how long do inspections take on average", {}),
        ("How long do inspections at F3 last?", {"facility_id": "F3"}),
        ("how long did inspections with status rejected take", {"status": "rejected"}),
    ],
)
def test_how_long_things_take_is_the_average(question: str, read: Json) -> None:
    assert arguments(question)[0] == ("inspections_list", read)
    assert "avg(duration_minutes)" in statement(question)


@pytest.mark.parametrize("words", ["in total", "altogether", "overall"])
def test_how_long_in_total_is_the_sum(words: str) -> None:
    assert "sum(duration_minutes)" in statement(f"how long did pending inspections last {words}")


def test_records_are_compared_side_by_side() -> None:
    calls = arguments("compare shipments S20251012-003 and S20251012-004")
    assert calls == [("shipments_list", {"ids": ["S20251012-003", "S20251012-004"]})]


@pytest.mark.parametrize(
    "question",
    [
        "how long did inspection I7 take",
        "how long do shipments take",
        "how long ago was the last inspection",
        "how long does an inspection take",
    ],
)
def test_how_long_one_thing_or_what_has_no_duration_took_is_asked_about(question: str) -> None:
    assert isinstance(propose(question), Clarification)
