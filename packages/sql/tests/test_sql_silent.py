"""Statements that a database answers with something else than they ask: refused, or exact."""

import re

import pytest

from packages.sql.tests.sql_support import check, rows_of, run
from toolplan.plan.path import Json
from toolplan.schema.tool import ToolError


def refused(sql: str, values: list[Json], said: str) -> None:
    with pytest.raises(ToolError, match=re.escape(said)):
        run(sql, {"t": rows_of(values)})


@pytest.mark.parametrize(
    "condition",
    [
        "v = NULL", "v <> NULL", "v < NULL", "NULL >= v", "v IN (5, NULL)", "v NOT IN (1, NULL)",
        "v BETWEEN NULL AND 3", "v NOT BETWEEN 1 AND NULL", "NULL BETWEEN 1 AND v",
        "NOT (v = NULL)", "v = CAST(NULL AS INT)", "v != NULL::BIGINT",
        "(v, n) = (5, NULL)", "v::TEXT LIKE NULL",
        "v::TEXT NOT ILIKE NULL", "CASE v WHEN NULL THEN true ELSE false END",
    ],
)  # fmt: skip
def test_a_comparison_with_null_is_refused_before_it_runs(condition: str) -> None:
    sql = f"SELECT n FROM t WHERE {condition}"
    [(place, said)] = check(sql, {"t": None}).problems
    assert (place, said.partition(";")[0]) == ("/sql", "A comparison with NULL is true for no row")
    refused(sql, [5, None], "write IS NULL")


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("v IS NULL", [1]), ("v IS NOT NULL", [0]), ("v IS DISTINCT FROM NULL", [0]),
        ("v IS NOT DISTINCT FROM NULL", [1]), ("v = coalesce(NULL, 5)", [0]),
        ("v = CASE WHEN n = 0 THEN 5 ELSE NULL END", [0]), ("nullif(v, NULL) = 5", [0]),
    ],
)  # fmt: skip
def test_null_may_stand_where_it_is_not_compared(condition: str, found: list[int]) -> None:
    rows = run(f"SELECT n FROM t WHERE {condition}", {"t": rows_of([5, None])})
    assert [row["n"] for row in rows] == found


def test_an_arrow_takes_no_operator_into_the_name_of_a_field() -> None:
    values: list[Json] = [{"a": 1, "b": "x"}, "s"]
    for taken in ("v->'b' || 'z'", "v->n || 'a'", "upper(v->'b' || 'z')"):
        refused(f"SELECT {taken} AS r FROM t", values, "'->' takes all that follows, also '||'")
    [row] = run(
        "SELECT (v->'a') || 'z' AS r, v->>'b' || 'z' AS q FROM t LIMIT 1", {"t": rows_of(values)}
    )
    assert row == {"r": "1z", "q": "xz"}


def test_a_subquery_that_gives_one_value_may_give_no_more() -> None:
    [row] = run("SELECT (SELECT v FROM t WHERE n = 0) AS r FROM t LIMIT 1", {"t": rows_of([5, 6])})
    assert row == {"r": 5}
    refused("SELECT (SELECT v FROM t) AS r FROM t", [5, 6], "More than one row")
