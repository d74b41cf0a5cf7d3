"""Insights about rows: shares, ranges, outliers, trends."""

import math
from datetime import date, timedelta
from statistics import fmean, pstdev
from typing import Any

import pytest

from toolplan.base.errors import ToolplanError
from toolplan.plan.path import Json
from toolplan.show.answer.insights import (
    MOST_INSIGHTS,
    Direction,
    Kind,
    Thresholds,
    Trend,
    adds_up,
    columns_of,
    day_of,
    evenly_spaced,
    outliers_of,
    row_insights,
    trend,
)
from toolplan.show.answer.shape import NO_HINTS, Row, hints

SAME: Row = {"city": "Rome", "open": True, "n": 4}


def insights(rows: list[Row], schema: Json = None) -> list[str]:
    place = NO_HINTS if schema is None else hints(schema)
    return [insight.text for insight in row_insights("s0", columns_of(rows, place), rows)]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [{}, *({"passed": each} for each in (*[True] * 5, *[False] * 2, None))],
            "passed: true 5 of 9 (56 %), false 2 (22 %), no value 2 (22 %).",
        ),
        (
            [{"c": chr(65 + at % 8) if at < 80 else "A"} for at in range(83)],
            "c: A 13 of 83 (16 %), B 10 (12 %), C 10 (12 %), D 10 (12 %), 4 others 40 (48 %).",
        ),
        (
            [{"a": "x" if at else "y"} for at in range(1000)],
            "a: x 999 of 1000 (> 99 %), y 1 (< 1 %).",
        ),
        ([SAME] * 7, "All 7: city is Rome; open is true; n is 4."),
        ([SAME] * 2, "Both: city is Rome; open is true; n is 4."),
        # the ends of a range are named where one row has them
        ([{"id": f"B{at}", "n": at // 2} for at in range(5)], "n: 0 to 2 (B4), median 1, sum 4."),
    ],
)
def test_rows_are_put_into_a_sentence(rows: list[Row], said: str) -> None:
    assert insights(rows) == [said]


def test_identities_and_free_text_have_no_shares() -> None:
    rows: list[Row] = [
        {"id": at, "owner_id": f"O{at % 2}", "parentId": at % 2, "note": f"text number {at}"}
        for at in range(12)
    ]
    assert insights(rows) == []
    assert {column.kind for column in columns_of(rows, NO_HINTS)} == {Kind.IDENTITIES}


def test_a_reference_of_the_schema_is_an_identity_whatever_its_name() -> None:
    rows: list[Row] = [{"owner": f"O{at % 2}"} for at in range(12)]
    assert insights(rows, {"properties": {"owner": {"x-ref": "person.id"}}}) == []
    assert len(insights(rows)) == 1


def test_sums_are_of_amounts_only() -> None:
    schema: Json = {
        "properties": {
            "mass": {"x-unit": "kg"},
            "level": {"x-unit": "%"},
            "speed": {"x-unit": "km/h"},
        }
    }
    rows: list[Row] = [
        {"mass": 1.5 * at, "level": at, "speed": at, "amount": 2 * at, "rate": at, "x": at}
        for at in range(1, 6)
    ]
    columns = columns_of(rows, hints(schema))
    assert [column.name for column in columns if adds_up(column)] == ["mass", "amount"]
    assert "mass: 1.5 to 7.5 kg, median 4.5 kg, sum 22.5 kg." in insights(rows, schema)


def test_whole_sums_stay_exact() -> None:
    rows: list[Row] = [{"amount": 2**53 + at} for at in range(3)]
    assert f"sum {sum(2**53 + at for at in range(3)):,}" in insights(rows)[0]


def test_an_outlier_is_beyond_the_quartiles_and_two_deviations() -> None:
    values = [10.0, 11, 12, 13, 14, 15, 16, 17, 90]
    found = outliers_of(values)
    assert [(each.number, each.at) for each in found] == [(90, 8)]
    assert found[0].z_score == pytest.approx((90 - fmean(values)) / pstdev(values))


@pytest.mark.parametrize(
    "values",
    [[], [1.0], [5.0] * 20, [1.0, 1, 1, 900], [float(at) for at in range(20)]],
    ids=["none", "one", "all equal", "too few", "even"],
)
def test_no_outliers_where_there_is_nothing_to_compare(values: list[float]) -> None:
    assert outliers_of(values) == ()


def test_the_deviation_of_a_z_score_is_that_of_the_numbers_themselves() -> None:
    """2.9: divided by n, as in Clear AI's statistics."""
    (found,) = outliers_of([10, 12, 11, 13, 12, 100, 11, 13])
    assert (found.number, found.at) == (100, 5)
    assert found.z_score == pytest.approx(2.6443, abs=1e-4)


def test_the_thresholds_of_outliers_can_be_set() -> None:
    """2.9: `anomalyThreshold`, and the multiplier of the fence."""
    few = [1, 2, 1, 2, 30]
    assert outliers_of(few) == ()
    assert [each.number for each in outliers_of(few, Thresholds(fewest=3, z_score=1.5))] == [30]
    assert outliers_of(few, Thresholds(fewest=3, z_score=2.5)) == ()
    many = [10, 11, 12, 13, 14, 15, 16, 17, 21]
    assert outliers_of(many) == ()
    assert [each.number for each in outliers_of(many, Thresholds(fence=1))] == [21]
    rows: list[Row] = [{"n": value} for value in (10, 11, 12, 13, 14, 15, 16, 17, 21)]
    found = row_insights("s0", columns_of(rows, NO_HINTS), rows, thresholds=Thresholds(fence=1))
    assert any("1 of 9 stands out: 21" in each.text for each in found)


@pytest.mark.parametrize(
    "wrong",
    [
        {"z_score": -1},
        {"fewest": 2},
        {"fence": math.nan},
        {"change": math.inf},
        {"correlation": 1.5},
        {"z_score": "2"},
        {"fewest": True},
    ],
)
def test_a_threshold_that_means_nothing_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ToolplanError, match=f"{next(iter(wrong))} is .*, not a number of "):
        Thresholds(**wrong)


def test_equal_quartiles_need_three_deviations() -> None:
    assert [each.at for each in outliers_of([*[5.0] * 30, 6.0])] == [30]
    assert outliers_of([*[5.0] * 7, 6.0]) == ()


def test_an_outlier_is_named_by_the_identity_of_its_row() -> None:
    rows: list[Row] = [{"id": f"B{at}", "n": 10 + at % 5} for at in range(20)]
    rows[7]["n"] = 500
    assert any(
        text.startswith("n: 1 of 20 stands out: 500 (B7, z-score 4.") for text in insights(rows)
    )


def test_rows_that_are_a_series_themselves_have_trends_of_their_numbers() -> None:
    rows: list[Row] = [
        {"month": f"2024-{at:02d}", "n": at * 10, "x": at % 2} for at in range(1, 13)
    ]
    found = insights(list(reversed(rows)))
    assert "n: rising over month, from 10 to 120." in found
    assert "n: 10 (2024-01) to 120 (2024-12), median 65, sum 780." in found


def test_days_are_evenly_spaced_where_each_occurs_once_at_one_distance() -> None:
    weeks = [date(2024, 1, 1) + timedelta(days=7 * at) for at in range(5)]
    assert evenly_spaced(weeks)
    assert evenly_spaced([date(2024, month, 1) for month in range(1, 13)])
    assert not evenly_spaced([*weeks, weeks[0]])
    assert not evenly_spaced([*weeks, date(2024, 1, 2)])
    assert not evenly_spaced([])


@pytest.mark.parametrize(
    ("points", "direction"),
    [
        ([5, 4, 3, 2, 1], Direction.FALLING),
        ([5, 5, 5, 5], Direction.STEADY),
        ([100, 101, 102, 103], Direction.STEADY),
        ([1, 9, 1, 9, 1, 9, 1], Direction.STEADY),
        ([0, 0, 0], Direction.STEADY),
    ],
)
def test_a_direction_needs_a_clear_and_notable_change(
    points: list[float], direction: Direction
) -> None:
    found = trend(points)
    assert found is not None
    assert found.direction is direction


def test_two_points_have_a_trend() -> None:
    """2.9: slope and R², as in Clear AI's statistics."""
    assert trend([]) is trend([1.0]) is None
    assert trend([1.0, 2.0]) == Trend(Direction.RISING, 1.0, 1.5, 1.0)
    assert trend([3, 1]) == Trend(Direction.FALLING, -2.0, 2.0, 1.0)
    assert trend([5, 5]) == Trend(Direction.STEADY, 0.0, 5.0, 1.0)


def test_the_thresholds_of_trends_can_be_set() -> None:
    """2.9: the stability threshold."""
    slight = [5, 5.1, 5.2, 5.1, 5.3]
    found = [trend(slight), trend(slight, Thresholds(change=0.01))]
    assert [each and each.direction for each in found] == [Direction.STEADY, Direction.RISING]
    jumpy = [1, 9, 1, 9, 1, 9, 2]
    found = [trend(jumpy), trend(jumpy, Thresholds(change=0, correlation=0))]
    assert [each and each.direction for each in found] == [Direction.STEADY, Direction.RISING]
    assert found[1] is not None
    assert 0 < found[1].fit < 0.1


def test_dates_and_times_are_dates_and_impossible_ones_are_text() -> None:
    assert day_of("2024-02-29T10:00:00Z") == date(2024, 2, 29)
    assert day_of("2024-02") == date(2024, 2, 1)
    assert day_of("2025-13-45") is None
    assert day_of("20250101") is None
    assert day_of(20250101) is None
    (column,) = columns_of([{"d": "2024-01-01"}, {"d": "2024-01-02 10:00"}], NO_HINTS)
    assert column.kind is Kind.DATES


def test_an_enum_orders_equal_shares_and_decides_that_a_column_is_categorical() -> None:
    schema: Json = {"properties": {"risk": {"enum": ["low", "high"]}}}
    rows: list[Row] = [{"risk": "high"}, {"risk": "low"}, {"risk": "high"}, {"risk": "low"}]
    (column,) = columns_of(rows, hints(schema))
    assert column.counts == (("low", 2), ("high", 2))


def test_there_are_at_most_eight_insights_and_each_kind_has_its_turn() -> None:
    rows: list[Row] = [{"day": f"2024-01-{row + 1:02d}"} for row in range(20)]
    for at, row in enumerate(rows):
        row.update({f"n{column}": at * column + at % 3 for column in range(1, 9)})
        row.update({f"c{column}": "ab"[at % 2] for column in range(8)})
    found = insights(rows)
    assert len(found) == MOST_INSIGHTS
    assert any("median" in text for text in found)
    assert any(text.startswith("c0: a 10 of 20 (50 %)") for text in found)
    assert any("on 20 different days" in text for text in found)
    assert found == insights(rows)


def test_hints_follow_references_and_alternatives_and_survive_cycles() -> None:
    schema: Json = {
        "$defs": {
            "row": {"x-entity": "book", "properties": {"next": {"$ref": "#/$defs/row"}}},
            "cycle": {"$ref": "#/$defs/cycle"},
        },
        "properties": {
            "data": {"type": "array", "items": {"$ref": "#/$defs/row"}},
            "maybe": {"anyOf": [{"type": "null"}, {"x-unit": "kg"}]},
            "round": {"$ref": "#/$defs/cycle"},
            "away": {"$ref": "https://example.invalid/schema"},
        },
    }
    place = hints(schema)
    assert place.inner("data").inner(0).entity == "book"
    assert place.inner("data").inner(0).inner("next").inner("next").entity == "book"
    assert place.inner("maybe").unit == "kg"
    assert place.inner("round").entity == ""
    assert place.inner("away").entity == ""
    assert hints(True).inner("x").inner(0).unit == ""
