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


LARGE = 2**53 + 1


@pytest.mark.parametrize(
    ("expression", "value", "said"),
    [
        ("CAST(v AS DOUBLE)", str(LARGE), "makes 9007199254740992.0 of 9007199254740993"),
        ("sum(v::FLOAT8)", str(LARGE), "The CAST of 'v' to FLOAT8 makes"),
        ("(v::JSON)::DOUBLE", str(LARGE), "makes 9007199254740992.0"),
        ("v.a::DOUBLE", {"a": str(LARGE)}, "The CAST of 'v.a' to DOUBLE"),
        ("CAST(v AS DOUBLE[])", ["1", str(LARGE)], "makes [1.0, 9007199254740992.0]"),
        ("CAST(v AS STRUCT(a DOUBLE))", {"a": str(LARGE)}, "makes {'a': 9007199254740992.0}"),
        ("v::DOUBLE", "0.1000000000000000000000001", "makes 0.1 of 0.1000000000000000000000001"),
        ("v::DOUBLE", "1e400", "makes inf of 1e400"),
        ("list_transform(v, lambda x: x::DOUBLE)", [str(LARGE)], "makes 9007199254740992.0"),
        ("CAST(v AS INTEGER)", 2.5, "write round(…), floor(…) or trunc(…) within it"),
        ("CAST(v AS INTEGER)", "2.5", "makes 3 of 2.5"),
        ("CAST(avg(v) AS BIGINT)", 2.5, "The CAST of avg(…) to BIGINT makes 2 of 2.5"),
        ("DATE '2026-01-01' + v::INT", 2.5, "makes 2 of 2.5"),
        ("v::UTINYINT", 0.4, "makes 0 of 0.4"),
        ("v::INT8", 99.5, "makes 100 of 99.5"),
        ("2.5::INT", 1, "makes 3 of 2.5"),
        ("v::DECIMAL", 0.12345, "makes 0.123 of 0.12345"),
        ("round(v::NUMERIC, 2)", 2.4449, "makes 2.445 of 2.4449"),
        ("power(v, 40)::HUGEINT", 3.5, "The CAST of power(…) to HUGEINT"),
        ("TRY_CAST(v AS DOUBLE)", "n/a", "makes a null of n/a; write nullif("),
        ("sum(TRY_CAST(v AS INTEGER))", "x1", "makes a null of x1"),
        ("TRY_CAST(v AS DATE)", "31.12.2025", "makes a null of 31.12.2025"),
        ("TRY_CAST(v AS DECIMAL(10, 2))", "2,5", "makes a null of 2,5"),
        ("TRY_CAST(v AS DOUBLE)", str(LARGE), "makes 9007199254740992.0"),
        ("TRY(CAST(v AS DOUBLE))", "n/a", "TRY makes a null of each value that CAST"),
        ("try_strptime(v, '%d.%m.%Y')", "2025", "'try_strptime' makes a null of 2025"),
    ],
)
def test_a_cast_keeps_its_value_or_names_it(expression: str, value: Json, said: str) -> None:
    refused(f"SELECT {expression} AS r FROM t", [value], said)


@pytest.mark.parametrize(
    ("expression", "value", "expected"),
    [
        ("v::DOUBLE", "2.50", 2.5), ("v::DOUBLE", "-1e3", -1000.0), ("v::DOUBLE", ".5", 0.5),
        ("v::DOUBLE", " 7 ", 7.0), ("v::DOUBLE", "1.2345678901234567", 1.2345678901234567),
        ("v::DOUBLE", "1e22", 1e22), ("v::DOUBLE", str(2**53), float(2**53)),
        ("v::HUGEINT", str(LARGE), LARGE), ("v::DECIMAL(38, 4)", "2.5", 2.5), ("v::INT", 2.0, 2),
        ("v::INT", "2.0", 2), ("v::INT", "+007", 7), ("v::INT", True, 1), ("v::INT", 1e6, 10**6),
        ("CAST(round(v) AS INT)", 2.5, 3), ("CAST(floor(v) AS INT)", 2.5, 2),
        ("CAST(v AS DECIMAL(10, 1))", 2.25, 2.3), ("v::INT[]", ["1", "20"], [1, 20]),
        ("TRY_CAST(v AS DOUBLE)", "2.5", 2.5), ("TRY_CAST(v AS DOUBLE)", "", None),
        ("TRY_CAST(v AS DOUBLE)", None, None), ("TRY_CAST(v AS DATE)", "2025-12-31", "2025-12-31"),
        ("CAST(nullif(v, 'n/a') AS DOUBLE)", "n/a", None), ("CAST(unnest(v) AS INT)", ["1"], 1),
        ("TRY(1 / v)", 0, None), ("try_strptime(v, '%d.%m.%Y')::DATE", "1.2.2026", "2026-02-01"),
        ("(SELECT max(v) FROM t)::INT", 2.0, 2), ("sum(v::INT) OVER ()", "2", 2),
    ],
)  # fmt: skip
def test_a_cast_that_keeps_its_value_is_made(expression: str, value: Json, expected: Json) -> None:
    [row] = run(f"SELECT {expression} AS r FROM t", {"t": rows_of([value])})
    assert row == {"r": expected}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT CAST(v AS INT), count(*) FROM t GROUP BY CAST(v AS INT) ORDER BY CAST(v AS INT)",
        "SELECT CAST(v AS INT), count(*) FROM t GROUP BY ALL ORDER BY ALL",
        "SELECT CAST(v AS INT), count(*) FROM t GROUP BY 1 HAVING max(v::INT) < 9 ORDER BY 1",
        "SELECT * FROM (SELECT CAST(v AS INT), count(*) FROM t GROUP BY 1) ORDER BY 1",
    ],
)
def test_guards_keep_groups_orders_and_names(sql: str) -> None:
    rows = run(sql, {"t": rows_of(["1", "2.0", "2"])})
    expected = [{"CAST(v AS INTEGER)": 1, "count_star()": 1}]
    assert rows == [*expected, {"CAST(v AS INTEGER)": 2, "count_star()": 2}]


@pytest.mark.parametrize(
    "expression",
    [
        "power(v, 3)", "pow(v, 3)", "v ^ 3", "v ** 3", "v.power(3)",
        "product(v * v * 999)", "product(v * v * 999) OVER ()",
        "list_product([v, v, v])", "list_aggregate([v, v, v], 'product')", "power(v, 3) % 10",
        "fsum(v * v * 1000)", "sumkahan(v * v * 1000)", "avg(v * v * 1000)", "favg(v * v * 1000)",
        "median(v * v * 1000)", "floor(sum(v * v * 1000))", "ceil(sum(v * v * 1000))",
    ],
)  # fmt: skip
def test_a_double_is_not_made_of_whole_numbers_that_it_cannot_hold(expression: str) -> None:
    said = "of whole numbers, which is rounded: beyond 2**53"
    refused(f"SELECT {expression} AS r FROM t", [9007199], said)
    [row] = run(f"SELECT {expression} AS r FROM t", {"t": rows_of([9])})
    assert isinstance(row["r"], float)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("power(1e0 * v, 3)", 7.3075e20), ("v * v * v::HUGEINT", 9007199**3),
        ("sum(v) / 4", 2251799.75), ("exp(v / 2e5)", 3.6217e19), ("var_pop(1e9 * v)", 0.0),
    ],
)  # fmt: skip
def test_what_is_rounded_by_its_nature_is_computed(expression: str, expected: float) -> None:
    [row] = run(f"SELECT {expression} AS r FROM t", {"t": rows_of([9007199])})
    assert row["r"] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    "expression",
    [
        "v[0]", "v[n]", "list_extract(v, 0)", "array_extract(v, n)", "list_element(v, 0)",
        "v.list_extract(0)", "string_split('a-b', '-')[0]", "'abc'[0]", "substring('abc', 0, 2)",
        "substr('abc', n)", "split_part('a-b', '-', 0)", "nth_value(n, 0) OVER ()",
    ],
)  # fmt: skip
def test_lists_and_texts_count_from_1(expression: str) -> None:
    refused(f"SELECT {expression} AS r FROM t", [[10, 20]], "count from 1: there is no place 0")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("v[1]", 10), ("v[-1]", 20), ("v[n + 1]", 10), ("v[9]", None), ("(v::JSON)[0]", 10),
        ("v::JSON->0", 10), ("MAP {0: 5}[0]", 5), ("{'a': 1}['a']", 1), ("v[1:1]", [10]),
        ("substring('abc', 1, 2)", "ab"), ("split_part('a-b', '-', 1)", "a"),
    ],
)  # fmt: skip
def test_what_counts_from_1_or_from_0_is_read(expression: str, expected: Json) -> None:
    [row] = run(f"SELECT {expression} AS r FROM t", {"t": rows_of([[10, 20]])})
    assert row == {"r": expected}


WITH_NULL: dict[str, Json] = {"t": rows_of([5, 6, None]), "u": [{"x": 5}, {"x": None}]}


@pytest.mark.parametrize(
    "condition",
    [
        "v NOT IN (SELECT x FROM u)", "NOT (v IN (SELECT x FROM u))", "v <> ALL (SELECT x FROM u)",
        "NOT v = ANY (SELECT x FROM u)", "v > ALL (SELECT x FROM u)", "v NOT IN (FROM u)",
        "v NOT IN (SELECT * FROM u)", "v NOT IN (SELECT x FROM u UNION SELECT 9 ORDER BY 1)",
        "v NOT IN (WITH c AS (FROM u) SELECT x FROM c)", "NOT v = ANY ([1, NULL])",
        "v NOT IN (SELECT NULL)", "v + 1 NOT IN (SELECT x + 1 FROM u)",
    ],
)  # fmt: skip
def test_rows_without_a_value_do_not_empty_a_result(condition: str) -> None:
    sql = f"SELECT v FROM t WHERE {condition}"
    with pytest.raises(ToolError, match="hold a null, so that no row passes; add WHERE"):
        run(sql, WITH_NULL)


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("v IN (SELECT x FROM u)", [5]), ("v NOT IN (SELECT x FROM u WHERE x IS NOT NULL)", [6]),
        ("v NOT IN (SELECT max(x) FROM u)", [6]), ("NOT EXISTS (FROM u WHERE x = v)", [6, None]),
        ("v NOT IN (SELECT x FROM u WHERE u.x = t.v)", [6, None]), ("v NOT IN (5, 7)", [6]),
        ("v < ALL (SELECT n + 6 FROM t)", [5]),
    ],
)  # fmt: skip
def test_subqueries_with_values_are_compared(condition: str, found: list[Json]) -> None:
    rows = run(f"SELECT v FROM t WHERE {condition}", WITH_NULL)
    assert [row["v"] for row in rows] == found


DAYS: list[Json] = ["31.12.2025", "01.01.2026", "15.06.2025"]
NUMBERS: list[Json] = ["7", "10", "100"]


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        ("SELECT v FROM t WHERE v BETWEEN '5' AND '10'", NUMBERS),
        ("SELECT v FROM t WHERE v > '100'", NUMBERS),
        ("SELECT v FROM t WHERE '9' <= v", NUMBERS),
        ("SELECT max(v) AS r FROM t", NUMBERS),
        ("SELECT min(trim(v)) AS r FROM t", NUMBERS),
        ("SELECT v FROM t ORDER BY v", NUMBERS),
        ("SELECT v FROM t ORDER BY 1 DESC", NUMBERS),
        ("SELECT v AS w FROM t ORDER BY w", NUMBERS),
        ("SELECT n, rank() OVER (ORDER BY v) AS r FROM t", NUMBERS),
        ("SELECT arg_max(n, v) AS r FROM t", NUMBERS),
        ("SELECT list(n ORDER BY v) AS r FROM t", NUMBERS),
        ("SELECT list_sort(list(v)) AS r FROM t", NUMBERS),
        ("SELECT greatest(v, '9') AS r FROM t", NUMBERS),
        ("SELECT a.v FROM t a JOIN t b ON a.v < b.v", NUMBERS),
        ("WITH c AS (SELECT v AS w FROM t) SELECT max(w) AS r FROM c", NUMBERS),
        ("SELECT max(v) AS r FROM (SELECT * FROM t)", NUMBERS),
        ("SELECT max(v) AS r FROM t", DAYS),
        ("SELECT v FROM t ORDER BY v", [*DAYS, None, ""]),
        ("SELECT v FROM t WHERE v > '01.02.2026'", DAYS),
        ("SELECT max(v) AS r FROM t", ["12/31/2025", "01/01/2026"]),
        ("SELECT max(v) AS r FROM t", ["31-12-2025", "01-01-2026"]),
        ("SELECT max(v) AS r FROM t", ["31.12.2025 10:00", "01.01.2026 09:00"]),
        ("SELECT max(v) AS r FROM t", ["2025-9-5", "2025-10-01"]),
        ("SELECT max(v) AS r FROM t", ["12.2025", "01.2026"]),
        ("SELECT max(v) AS r FROM t", ["Dec 2025", "Mar 2025"]),
        ("SELECT max(v) AS r FROM t", ["31 December 2025", "1 January 2026"]),
        ("SELECT max(v) AS r FROM t", ["$9", "$10"]),
        ("SELECT max(v) AS r FROM t", ["9 kg", "10 kg"]),
        ("SELECT max(v) AS r FROM t", ["5%", "10%"]),
        ("SELECT max(v) AS r FROM t", ["1,234", "99"]),
        ("SELECT max(v) AS r FROM t", ["-1", "-2"]),
    ],
)
def test_texts_that_are_numbers_or_dates_are_not_put_in_the_order_of_texts(
    sql: str, values: list[Json]
) -> None:
    refused(sql, values, "The statement orders the column 'v' of 't' as text, where")
    declared: Json = {"t": {"v": "string"}}
    assert isinstance(run(sql, {"t": rows_of(values)}, declared), list)


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        ("SELECT v FROM t ORDER BY v", ["01234", "99999"]),
        ("SELECT v FROM t ORDER BY v", ["S10", "S9"]),
        ("SELECT v FROM t ORDER BY v", ["10", "9", "a"]),
        ("SELECT v FROM t ORDER BY v", ["2025/12/31", "2026/01/01"]),
        ("SELECT v FROM t ORDER BY v", ["10 cm", "9 kg"]),
        ("SELECT v FROM t WHERE v > '05' ORDER BY n", ["07", "99"]),
        ("SELECT v FROM t WHERE v < 'b' ORDER BY n", ["100", "9"]),
        ("SELECT v FROM t WHERE v <> '7' ORDER BY n", ["100", "9"]),
        ("SELECT v FROM t ORDER BY CAST(v AS INT)", ["9", "10"]),
        ("SELECT v, CAST(v AS INT) AS k FROM t ORDER BY k", ["9", "10"]),
        ("SELECT v, length(v) AS k FROM t ORDER BY k", ["9", "10"]),
        ("SELECT v FROM t ORDER BY strptime(v, '%d.%m.%Y')", ["31.12.2025", "01.01.2026"]),
        ("SELECT v, count(*) AS c FROM t GROUP BY v ORDER BY c, min(n)", ["9", "10"]),
        ("SELECT v FROM t WHERE v IN ('9', '10') ORDER BY n", ["9", "10"]),
    ],
)
def test_texts_of_another_kind_or_of_one_order_are_ordered(sql: str, values: list[Json]) -> None:
    assert [row["v"] for row in run(sql, {"t": rows_of(values)})] == values


@pytest.mark.parametrize(
    "expression",
    [
        "concat('x', v)", "'x' || v", "v::VARCHAR", "CAST(v AS TEXT) = '1'", "format('{}', v)",
        "string_agg(v, ',')", "concat_ws(',', v, 'a')", "to_json(v)", "v::JSON", "[v]::VARCHAR",
        "{'a': v}::VARCHAR", "[v]::VARCHAR[]", "json_object('a', v)", "json_group_array(v)",
        "array_to_string([v], ',')", "length(v::VARCHAR)", "max(v) || ' kg'", "md5(v::VARCHAR)",
        "coalesce(v::VARCHAR, '-')", "CASE WHEN n = 0 THEN v::VARCHAR END", "(v || '') || 'x'",
        "first(v)::VARCHAR",
    ],
)  # fmt: skip
def test_a_number_becomes_the_text_that_it_is_written_as_or_is_named(expression: str) -> None:
    sql = f"SELECT {expression} AS r FROM t"
    said = "the column 'v' of 't' holds 1 in row 0, which its type writes as 1.0"
    refused(sql, [1, 2.5], said)
    renamed = re.sub(r"\bv\b", "w", expression)
    refused(f"SELECT {renamed} AS r FROM (SELECT v AS w, n FROM t)", [1, 2.5], said)
    assert run(sql, {"t": rows_of([1, 2])})
    assert run(sql, {"t": rows_of([1.0, 2.5])})


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("format('{:.2f}', v)", "1.00"), ("CAST(v AS DECIMAL(9, 1))::VARCHAR", "1.0"),
        ("v::INT || 'x'", "1x"), ("round(v + 1.5, 1) || ' kg'", "2.5 kg"), ("v || v", None),
        ("typeof(v)", "DOUBLE"), ("(v * 2 + 0.5)::VARCHAR", "2.5"), ("{'v': v}", {"v": 1}),
    ],
)  # fmt: skip
def test_numbers_of_stated_digits_and_computed_ones_become_text(
    expression: str, expected: Json
) -> None:
    sql = f"SELECT {expression} AS r FROM t WHERE n = 0"
    if expected is None:
        refused(sql, [1, 2.5], "turns numbers into text")
        return
    assert run(sql, {"t": rows_of([1, 2.5])}) == [{"r": expected}]


def test_a_column_declared_as_json_keeps_the_texts_of_its_numbers() -> None:
    rows = run("SELECT concat('x', v) AS r FROM t", {"t": rows_of([1, 2.5])}, {"t": {"v": "json"}})
    assert rows == [{"r": "x1"}, {"r": "x2.5"}]


KEYS: dict[str, Json] = {"a": [{"k": "2"}, {"k": "02"}], "b": [{"k": 2}], "c": [{"k": True}]}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a.k FROM a JOIN b ON a.k = b.k", "SELECT a.k FROM a JOIN b USING (k)",
        "SELECT a.k FROM a NATURAL JOIN b", "SELECT k FROM a WHERE k = 2",
        "SELECT k FROM a WHERE k IN (2, 3)", "SELECT k FROM a WHERE k BETWEEN 1 AND 3",
        "SELECT k FROM a WHERE 2.0 = k", "SELECT k FROM a WHERE trim(k) = 2",
        "SELECT k FROM a WHERE coalesce(k, '0') <> 2", "SELECT k FROM a WHERE k > 1",
        "SELECT CASE k WHEN 2 THEN 'two' END AS r FROM a", "SELECT a.k FROM a JOIN c ON a.k = c.k",
        "SELECT x.k FROM (SELECT k FROM a) x JOIN b ON x.k = b.k",
        "SELECT k FROM a WHERE k = (SELECT max(k) FROM b)", "SELECT k FROM a WHERE k = true",
    ],
)  # fmt: skip
def test_texts_that_are_not_written_as_numbers_are_not_compared_with_them(sql: str) -> None:
    with pytest.raises(ToolError, match=r"'k' of 'a' holds '0?2' in row [01], a text that is"):
        run(sql, KEYS)


@pytest.mark.parametrize(
    ("sql", "count"),
    [
        ("SELECT k FROM a WHERE k = '2'", 1), ("SELECT k FROM a WHERE CAST(k AS INT) = 2", 2),
        ("SELECT a.k FROM a JOIN b ON a.k::INT = b.k", 2),
        ("SELECT a.k FROM a JOIN b ON a.k = CAST(b.k AS VARCHAR)", 1),
        ("SELECT k FROM a WHERE k IN (SELECT k::VARCHAR FROM b)", 1),
        ("SELECT k FROM b WHERE k = '2'", 1), ("SELECT k FROM b WHERE k IN ('2', '3')", 1),
        ("SELECT k FROM a WHERE TRY_CAST(k AS INT) > 1", 2),
    ],
)  # fmt: skip
def test_texts_are_compared_with_texts_and_numbers_with_numbers(sql: str, count: int) -> None:
    assert len(run(sql, KEYS)) == count


def test_texts_written_as_numbers_are_compared_with_them() -> None:
    values: list[Json] = ["2", "-3", "0", "10", None]
    assert run("SELECT n FROM t WHERE v = 2", {"t": rows_of(values)}) == [{"n": 0}]
    joined = "SELECT t.n FROM t JOIN u ON t.v = u.v"
    assert run(joined, {"t": rows_of(["2", "7"]), "u": rows_of([2])}) == [{"n": 0}]


TWO_TIMES: list[Json] = [
    {"n": 1, "seen": "2026-01-01T00:00:00Z", "day": "2026-01-01T10:00:00"},
    {"n": 2, "seen": "2026-01-02T00:00:00+01:00", "day": "2026-01-03T10:00:00"},
]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT day::VARCHAR AS r FROM t WHERE seen > '2026-01-01'", "2026-01-03 10:00:00"),
        ("SELECT epoch(day) AS r FROM t WHERE hour(seen) = 0 AND n = 1", 1767261600.0),
        ("SELECT max(day) AS r FROM t WHERE hour(seen) = 0", "2026-01-03T10:00:00"),
        ("SELECT date_trunc('day', day) AS r FROM t WHERE year(seen) = 2026 AND n = 1",
         "2026-01-01T00:00:00"),
        ("SELECT strftime(day, '%H') || n AS r FROM t WHERE day(seen) = 1", "101"),
        ("SELECT to_json(day) AS r FROM t WHERE day(seen) = 1", "2026-01-01 10:00:00"),
    ],
)  # fmt: skip
def test_the_zone_of_one_column_does_not_stop_the_times_of_another(
    sql: str, expected: Json
) -> None:
    assert run(sql, {"t": TWO_TIMES}) == [{"r": expected}]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT seen::VARCHAR AS r FROM t WHERE day > '2026-01-01'",
        "SELECT day::VARCHAR AS d, max(seen) OVER ()::VARCHAR AS r FROM t",
        "SELECT epoch(seen) AS r, epoch(day) AS d FROM t",
        "SELECT epoch(w) AS r FROM (SELECT seen AS w FROM t)",
        "SELECT n FROM t WHERE seen > '2026-01-01T00:00:00Z'",
        "SELECT n FROM t WHERE seen = day",
        "SELECT array_to_string([day], ',') AS r FROM t WHERE hour(seen) = 0",
    ],
)
def test_times_whose_zone_matters_are_refused_beside_others(sql: str) -> None:
    with pytest.raises(ToolError, match=r"zone"):
        run(sql, {"t": TWO_TIMES})


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT n, rank() OVER (PARTITION BY n ORDER BY v::INT) AS r FROM t",
        "SELECT rank() OVER (ORDER BY avg(v::INT) DESC) AS r FROM t GROUP BY n",
        "SELECT n FROM t QUALIFY row_number() OVER (ORDER BY v::INT) = 1",
        "SELECT list(n ORDER BY v::INT) AS r FROM t", "SELECT DISTINCT ON (v::INT) n FROM t",
        "SELECT n FROM t ORDER BY v::INT LIMIT 1", "SELECT arg_max(n, v::INT) AS r FROM t",
        "SELECT count(*) FILTER (WHERE v::INT > 1) AS r FROM t", "SELECT mode(v::INT) AS r FROM t",
        "SELECT a.n FROM t a JOIN t b ON a.v::INT = b.v::INT", "SELECT n FROM t GROUP BY n, v::INT",
        "SELECT a.n FROM t a ASOF JOIN t b ON a.v::INT >= b.v::INT",
        "SELECT sum(n) AS r FROM t GROUP BY ROLLUP (v::INT)",
        "SELECT n FROM t WHERE n NOT IN (SELECT v::INT FROM t)",
        "SELECT (SELECT max(x.v::INT) FROM t x WHERE x.n <= t.n) AS r FROM t",
        "SELECT lag(v::INT) OVER (ORDER BY n) AS r FROM t",
        "SELECT n FROM t UNION SELECT v::INT FROM t",
        "WITH c AS (SELECT v::INT AS w FROM t) SELECT w FROM c WHERE w > 0",
        "FROM (SELECT n, v::INT AS w FROM t) PIVOT (sum(w) FOR n IN (0, 1))",
        "SELECT power(v::INT, 2) AS r FROM t GROUP BY ALL ORDER BY power(v::INT, 2)",
    ],
)  # fmt: skip
def test_a_guard_stands_wherever_an_expression_may(sql: str) -> None:
    assert isinstance(run(sql, {"t": rows_of(["1", "2"])}), list)
    refused(sql, ["1", "2.5"], "The CAST of ")


def test_casts_may_be_nested() -> None:
    casts = "v" + "::DOUBLE::INT" * 5
    assert run(f"SELECT {casts} AS r FROM t", {"t": rows_of(["2"])}) == [{"r": 2}]
    refused(f"SELECT {casts}{'::DOUBLE::INT' * 20} AS r FROM t", ["2"], "name parts of it by WITH")
