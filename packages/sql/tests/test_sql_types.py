"""Values that no type of a column holds exactly, and values of several types in one column."""

import re

import pytest

from packages.sql.tests.sql_support import EAST, rows_of, run
from toolplan.plan.path import Json
from toolplan.schema.tool import ToolError
from toolplan_sql._types import Scalar
from toolplan_sql._values import misfit


@pytest.mark.parametrize("value", [2**127, 10**400, -(10**400), 1e40, 1.5, float("inf")])
def test_what_no_integer_column_holds_is_named(value: float) -> None:
    assert misfit([1, value], Scalar.INTEGER) == 1


@pytest.mark.parametrize(
    ("sql", "values", "said"),
    [
        (
            "SELECT n FROM t WHERE v = 9007199254740993",
            [float(2**53)],
            "literal '9007199254740993'",
        ),
        ("SELECT n FROM t WHERE v = '9007199254740993'", [0.5], "has more digits"),
        ("SELECT n FROM t WHERE v IN (1, 12345678901234567.25)", [0.5], "'12345678901234567.25'"),
        ("SELECT v * 100000000000000000000000001 AS r FROM t", [0.5], "has more digits"),
        ("SELECT n FROM t WHERE v > '2026-01-01T00:00:00.1234567'", [f"{EAST[:19]}Z"], "literal"),
        ("SELECT v::JSON AS r FROM t", ['{"a": [0.1000000000000000000001]}'], "JSON number keeps"),
        ("SELECT v::JSON AS r FROM t", ["12345678901234567890123456789.5"], "JSON number keeps"),
        ("SELECT v::JSON AS r FROM t", ['{"a": 1, "b": 2, "a": 2}'], "the key 'a' twice"),
        ("SELECT v::TIMESTAMP_NS AS r FROM t", ["2026-01-01T00:00:00"], "JSON cannot say"),
        ("SELECT date_part(['epoch'], v) AS r FROM t", [EAST], "takes times for those of UTC"),
        ("SELECT v::TIMETZ::VARCHAR AS r FROM t", [EAST], "takes times for those of UTC"),
    ],
)
def test_what_types_would_round_or_drop_is_refused(sql: str, values: list[Json], said: str) -> None:
    with pytest.raises(ToolError, match=re.escape(said)):
        run(sql, {"t": rows_of(values)})


@pytest.mark.parametrize(
    ("sql", "value", "expected"),
    [
        ("SELECT n FROM t WHERE v = 9007199254740993", 2**53 + 1, 0),
        ("SELECT n FROM t WHERE v > 0.1 AND v < 9007199254740992", 0.25, 0),
        ("SELECT v * 3.14159265358979323846 > 1.5 AS r FROM t", 0.5, True),
        (
            "SELECT v::JSON AS r FROM t",
            "[0.1, 1e22, 12345678901234567890]",
            [0.1, 1e22, 12345678901234567890],
        ),
        ("SELECT n FROM t WHERE v > '2026-01-01T00:00:00.123456000'", "2026-01-01T00:00:01", 0),
    ],
)
def test_what_is_held_as_it_is_written_is_read(sql: str, value: Json, expected: Json) -> None:
    [row] = run(sql, {"t": rows_of([value])})
    assert [*row.values()] == [expected]


MIXED: list[Json] = [{"n": 1, "v": 9}, {"n": 2, "v": 100}, {"n": 3, "v": "n/a"}]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT v FROM t ORDER BY v DESC",
        "SELECT max(v) AS m FROM t",
        "SELECT n, rank() OVER (ORDER BY v) AS r FROM t",
        "SELECT arg_max(n, v) AS n FROM t",
        "SELECT median(v) AS m FROM t",
        "SELECT greatest(a.v, b.v) AS g FROM t AS a, t AS b",
        "SELECT list_sort(list(v)) AS l FROM t",
        "SELECT list_max(list(v)) AS l FROM t",
        "SELECT string_agg(n, ',' ORDER BY v) AS s FROM t",
        "SELECT a.n FROM t AS a JOIN t AS b ON a.v < b.v",
        "SELECT a.n FROM t AS a, t AS b WHERE a.v >= b.v",
        "SELECT max(o.x) AS m FROM (SELECT {'x': v} AS o FROM t)",
    ],
)
def test_values_of_several_types_have_no_order(sql: str) -> None:
    with pytest.raises(ToolError, match="9 is more than 100"):
        run(sql, {"t": MIXED})


def test_values_of_several_types_are_grouped_joined_and_passed_on() -> None:
    assert run("SELECT v FROM t ORDER BY n", {"t": MIXED}) == [{"v": 9}, {"v": 100}, {"v": "n/a"}]
    same = run("SELECT a.n FROM t AS a JOIN t AS b ON a.v = b.v ORDER BY a.n", {"t": MIXED})
    assert same == [{"n": 1}, {"n": 2}, {"n": 3}]
    named = "SELECT arg_max(v, n) AS v, max(CAST(nullif(v, '\"n/a\"') AS DOUBLE)) AS m FROM t"
    assert run(named, {"t": MIXED}) == [{"v": "n/a", "m": 100.0}]


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT v::FLOAT AS f FROM t", "seven digits"),
        ("SELECT sum(CAST(v AS REAL)) AS f FROM t", "seven digits"),
        ("SELECT try_cast(d AS FLOAT4) AS f FROM t", "seven digits"),
        ("SELECT approx_count_distinct(v) AS n FROM t", "estimate"),
        ("SELECT approx_quantile(v, 0.5) AS n FROM t", "estimate"),
        ("SELECT list_aggregate(list(v), 'approx_count_distinct') AS n FROM t", "estimate"),
        ("SELECT strftime(d, '%H %z') AS z FROM t", "zone"),
        ("SELECT strftime('%Z', d) AS z FROM t", "zone"),
    ],
)
def test_what_rounds_estimates_or_invents_a_zone_is_refused(sql: str, words: str) -> None:
    with pytest.raises(ToolError, match=words):
        run(sql, {"t": [{"v": 1234567.89, "d": "2026-11-24T23:30:00-05:00"}]})


HUGE = 2**127


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT v, n FROM t", "SELECT n, v AS w FROM t ORDER BY n", "SELECT v, n FROM t ORDER BY 2",
        "SELECT * FROM t WHERE n = 0", "SELECT t.v FROM t JOIN u ON t.n = u.n",
        "SELECT x.v FROM t AS x WHERE x.n = 0", "SELECT x.b FROM t AS x(a, b) ORDER BY x.a",
        "SELECT v FROM t LIMIT 1", "SELECT n + 1 AS m, v FROM t ORDER BY m, 1",
    ],
)  # fmt: skip
def test_a_column_that_is_only_passed_on_may_hold_any_number(sql: str) -> None:
    tables: dict[str, Json] = {"t": rows_of([HUGE]), "u": [{"n": 0}]}
    [row] = run(sql, tables)
    assert HUGE in row.values()
    if "*" in sql:
        assert [*row] == ["n", "v"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT v FROM t ORDER BY v", "SELECT v, n FROM t ORDER BY 1",
        "SELECT *, n FROM t ORDER BY 2",
        "SELECT v AS w FROM t ORDER BY w", "SELECT DISTINCT v FROM t", "SELECT DISTINCT * FROM t",
        "SELECT v, count(*) AS n FROM t GROUP BY ALL", "SELECT v, n FROM t GROUP BY 1, 2",
        "SELECT v FROM t UNION SELECT n FROM t", "SELECT t.v FROM t JOIN u USING (v)",
        "SELECT t.v FROM t NATURAL JOIN u", "SELECT n FROM t WHERE v IN (SELECT v FROM u)",
        "SELECT x.b FROM t AS x(a, b) ORDER BY x.b", "SELECT v FROM (SELECT v FROM t) ORDER BY v",
        "WITH c AS (SELECT * FROM t) SELECT v FROM c ORDER BY v", "SELECT v.hash() AS h FROM t",
        "SELECT max(COLUMNS(*)) FROM t", "SELECT n FROM t ORDER BY v DESC", "SELECT t FROM t",
        "SELECT CASE WHEN v > 1 THEN n END AS c FROM t", "SELECT v, n FROM t ORDER BY ALL",
    ],
)  # fmt: skip
def test_a_column_that_is_compared_holds_its_numbers_exactly(sql: str) -> None:
    tables: dict[str, Json] = {"t": rows_of([HUGE]), "u": rows_of([HUGE])}
    with pytest.raises(ToolError, match=r"column 'v' of '[tu]' holds .* beyond 128 bits"):
        run(sql, tables)
