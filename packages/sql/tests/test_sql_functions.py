"""Functions are judged by the overload that a statement calls, not by their names."""

import pytest

from packages.sql.tests.sql_support import ROWS, SHIPMENTS, check, run
from toolplan.plan.path import Json
from toolplan_sql._functions import Call, Overload, functions_of

ROW: Json = {"d": "2026-03-31", "t": "2026-03-31T23:30:15", "n": 7, "x": 2.5, "s": "abc"}

COMPUTED = [
    ("n + 1", 8),
    ("d + INTERVAL 1 DAY > d", True),
    ("n - x", 4.5),
    ("date_diff('day', DATE '2026-01-01', d)", 89),
    ("date_sub('month', DATE '2026-01-01', d)", 2),
    ("date_part('year', d)", 2026),
    ("century(d)", 21),
    ("dayname(d)", "Tuesday"),
    ("monthname(d)", "March"),
    ("quarter(d)", 1),
    ("weekofyear(d)", 14),
    ("hour(t) * 100 + minute(t)", 2330),
    ("CAST(last_day(d) AS VARCHAR)", "2026-03-31"),
    ("strftime(t, '%d.%m.%Y')", "31.03.2026"),
    ("CAST(CAST(time_bucket(INTERVAL 1 MONTH, t) AS DATE) AS VARCHAR)", "2026-03-01"),
    ("CAST(CAST(date_trunc('quarter', d) AS DATE) AS VARCHAR)", "2026-01-01"),
    ("list_sum(range(4))", 6),
    ("len(generate_series(1, 3))", 3),
    ("epoch(t)", 1774999815.0),
    ("yearweek(d)", 202614),
    ("hour(CAST(t AS TIMESTAMPTZ))", 23),
]


@pytest.mark.parametrize(("expression", "expected"), COMPUTED, ids=[each for each, _ in COMPUTED])
def test_an_overload_that_keeps_to_its_arguments_may_be_called(
    expression: str, expected: object
) -> None:
    assert run(f"SELECT {expression} AS r FROM t", {"t": [ROW]}) == [{"r": expected}]


@pytest.mark.parametrize(
    "expression",
    [
        "age(date)",
        "age(CAST(date AS TIMESTAMP))",
        "age(seen_at)",
        "current_schema()",
        "current_database()",
        "current_query()",
        "txid_current()",
        "current_setting('TimeZone')",
        "random()",
        "CAST(now() AS DATE)",
    ],
)
def test_an_overload_that_reads_more_is_refused(expression: str) -> None:
    assert check(f"SELECT {expression} AS r FROM t", {"t": SHIPMENTS}).problems
    with pytest.raises(Exception, match=r"not allowed|clock|each time"):
        run(f"SELECT {expression} AS r FROM t", {"t": ROWS})


CATALOGUE: list[Overload] = [
    ("f", "scalar", "CONSISTENT", ("BIGINT",)),
    ("f", "scalar", "CONSISTENT_WITHIN_QUERY", ("VARCHAR",)),
    ("f", "scalar", "VOLATILE", ("INTEGER[]",)),
    ("f", "scalar", "CONSISTENT", ("BIGINT", "TIMESTAMP")),
    ("f", "scalar", "CONSISTENT_WITHIN_QUERY", ("BIGINT", "TIMESTAMP WITH TIME ZONE")),
    ("f", "scalar", "VOLATILE", ("ANY", "DATE")),
    ("clock", "scalar", "CONSISTENT_WITHIN_QUERY", ()),
    ("agg", "aggregate", "CONSISTENT", ("DECIMAL",)),
    ("getenv", "scalar", "CONSISTENT", ("VARCHAR",)),
    ("__internal_x", "scalar", "CONSISTENT", ("ANY",)),
    ("tables_of", "macro", "", ()),
]


@pytest.mark.parametrize(
    ("name", "types", "is_allowed"),
    [
        ("f", ("BIGINT",), True),
        ("f", ("VARCHAR",), False),
        ("f", ("LIST",), False),
        ("f", ("BIGINT", "TIMESTAMP"), True),
        ("f", ("BIGINT", "TIMESTAMP WITH TIME ZONE"), True),
        ("f", ("BIGINT", "DATE"), False),
        ("f", ("VARCHAR", "DATE"), False),
        ("clock", (), False),
        ("agg", ("DECIMAL",), True),
        ("getenv", ("VARCHAR",), False),
        ("__internal_x", ("BIGINT",), False),
        ("tables_of", (), False),
    ],
)
def test_verdicts_are_of_the_overload(name: str, types: tuple[str, ...], is_allowed: bool) -> None:
    functions = functions_of(CATALOGUE)
    assert (functions.problem([Call(name, types)]) is None) == is_allowed
    assert ("f" in functions.allowed, "clock" in functions.refused) == (True, True)
