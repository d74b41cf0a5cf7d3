"""What the tool `sql` gives."""

import asyncio
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from packages.sql.tests.sql_support import CLOSED, ROWS, SQL, awaited, check, run, table_of
from toolplan.plan.path import Json
from toolplan.schema import Schema
from toolplan.schema.tool import Effects, Toolbox, ToolError


def test_the_tool_object_is_read_only_and_sound() -> None:
    assert SQL.name == "sql"
    assert SQL.effects is Effects.READ
    assert SQL.unusable is None
    assert SQL.signature.inputs == ("sql", "tables", "columns", "zone")
    assert Toolbox([SQL])["sql"] is SQL
    arguments: Json = {
        "sql": "SELECT 1",
        "tables": {"t": [{}]},
        "columns": {"t": {"a": "date", "b": {"type": "array"}}},
    }
    assert SQL.input.is_valid(arguments)
    wrong: list[Json] = [{"t x": []}, {'t"': []}, {"1t": []}, {"t": [1]}, {"t": {}}]
    for tables in wrong:
        assert not SQL.input.is_valid({"sql": "SELECT 1", "tables": tables})


def test_rows_come_back_as_they_went_in() -> None:
    assert run("SELECT * FROM t", {"t": ROWS}) == ROWS


def test_groups_joins_and_order() -> None:
    rates = run(
        "SELECT carrier, count(*) AS n, 100.0 * count(*) FILTER (WHERE bad) / count(*) AS rate"
        " FROM t GROUP BY carrier ORDER BY carrier DESC",
        {"t": ROWS},
    )
    assert rates == [
        {"carrier": "Bode", "n": 3, "rate": pytest.approx(100 / 3)},
        {"carrier": "Aller", "n": 3, "rate": pytest.approx(100 / 3)},
    ]
    towns: Json = [{"carrier": "Bode", "town": "Kiel"}]
    joined = run(
        "SELECT t.id, u.town FROM t LEFT JOIN u USING (carrier) WHERE t.pieces < 2 ORDER BY id",
        {"t": ROWS, "u": towns},
    )
    assert joined == [{"id": "S0", "town": None}, {"id": "S1", "town": "Kiel"}]


def test_a_statement_needs_no_table() -> None:
    assert run("SELECT 1 AS one, 'x' AS x", {}) == [{"one": 1, "x": "x"}]
    assert run("SELECT sum(range) AS s FROM range(5)", {}) == [{"s": 10}]


def test_names_that_are_words_or_have_quotes_work_when_quoted() -> None:
    rows: Json = [{"at": 1, 'a"b': 2, "ä ö": 3, "select": 4}]
    assert run('SELECT "at", "a""b", "ä ö", "select" FROM "order"', {"order": rows}) == rows


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1.50 AS x", 1.5),
        (
            "SELECT 170141183460469231731687303715884105727 AS x",
            170141183460469231731687303715884105727,
        ),
        ("SELECT DATE '2025-10-12' AS x", "2025-10-12"),
        ("SELECT TIMESTAMP '2025-10-12 10:30:00' AS x", "2025-10-12T10:30:00"),
        ("SELECT TIME '10:30:00' AS x", "10:30:00"),
        ("SELECT [1.5, NULL] AS x", [1.5, None]),
        ("SELECT {'a': DATE '2025-10-12', 'b': [TRUE]} AS x", {"a": "2025-10-12", "b": [True]}),
        ("SELECT CAST('{\"a\": [1, null]}' AS JSON) AS x", {"a": [1, None]}),
        ("SELECT MAP {'a': 1, 'B c': NULL} AS x", {"a": 1, "B c": None}),
        ("SELECT NULL AS x", None),
    ],
)
def test_results_are_json(sql: str, expected: Json) -> None:
    [row] = run(sql, {})
    assert row == {"x": expected}
    found = check(sql)
    assert found.schema is not None
    assert found.schema.is_valid({"data": [row], "count": 1})


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT {} AS x", "SELECT [1.5, {}] AS x", "SELECT {{'a': [{}]}} AS x",
        "SELECT MAP {{'a': {}}} AS x", "SELECT max(x) AS x FROM (SELECT {} AS x)",
    ],
)  # fmt: skip
def test_a_number_that_json_cannot_say_fails_the_step(sql: str, number: str) -> None:
    value = f"CAST('{number}' AS DOUBLE)"
    with pytest.raises(ToolError, match=rf"A number of the result is {number}, which JSON"):
        run(sql.format(value), {})
    assert run(f"SELECT CAST({value} AS VARCHAR) AS x", {}) == [{"x": number}]
    assert run(f"SELECT CASE WHEN isfinite({value}) THEN {value} END AS x", {}) == [{"x": None}]


@pytest.mark.parametrize(
    "divided",
    [
        "n / n", "x / x", "1 / n", "-1.5 / x", "n // n", "n % n", "x % x", "fmod(x, x)",
        "x / sum(n) OVER ()",
    ],
)  # fmt: skip
def test_a_division_by_zero_fails_the_step_unless_it_is_tried(divided: str) -> None:
    rows: list[Json] = [{"n": 0, "x": 0.0, "f": 0.5}, {"n": 0, "x": 0.0, "f": 0.25}]
    with pytest.raises(
        ToolError, match=r"Division by zero.* to return NULL for this expression\.$"
    ):
        run(f"SELECT {divided} AS r FROM t", {"t": rows})
    if "OVER" not in divided:
        assert run(f"SELECT TRY({divided}) AS r FROM t LIMIT 1", {"t": rows}) == [{"r": None}]
    assert run("SELECT f / nullif(n, 0) AS r FROM t LIMIT 1", {"t": rows}) == [{"r": None}]


@pytest.mark.parametrize(
    "sql", ["SELECT 1e300::DOUBLE * 1e300 AS x", "SELECT stddev(x) AS x FROM t"]
)
def test_a_number_beyond_doubles_is_never_null(sql: str) -> None:
    with pytest.raises(ToolError, match=r"JSON cannot say|[Oo]ut of [Rr]ange"):
        run(sql, {"t": [{"x": 1e300}, {"x": -1e300}]})


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT INTERVAL 1 DAY AS x",
        "SELECT CAST('x' AS BLOB) AS x",
        "SELECT MAP {1: 'a'} AS x",
        "SELECT [INTERVAL 1 DAY] AS x",
    ],
)
def test_a_result_that_json_cannot_say_is_reported_at_check_and_run(sql: str) -> None:
    [(_, message)] = check(sql).problems
    assert "CAST" in message
    with pytest.raises(ToolError, match="JSON cannot say"):
        run(sql, {})


def test_a_day_outside_of_the_calendar_fails_the_step() -> None:
    with pytest.raises(ToolError, match="years 1 to 9999"):
        run("SELECT DATE '9999-12-31' + 1 AS d", {})


def test_a_failing_computation_is_reported_in_one_line() -> None:
    with pytest.raises(ToolError) as caught:
        run("SELECT CAST(carrier AS INTEGER) AS n FROM t", {"t": ROWS})
    assert "Aller" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_empty_tables_give_empty_groups_and_a_count_of_zero() -> None:
    empty: dict[str, Json] = {"t": []}
    assert run("SELECT carrier, avg(weight_kg) AS w FROM t GROUP BY carrier", empty) == []
    assert run("SELECT count(*) AS n FROM t", empty) == [{"n": 0}]
    assert run("SELECT count(*) AS n, sum(pieces) AS s FROM t", empty) == [{"n": 0, "s": None}]
    assert run("SELECT * FROM t", empty) == []
    assert run("SELECT * FROM t ORDER BY date_trunc('week', date), year(seen_at)", empty) == []
    assert run("SELECT date_trunc('week', date) AS w, count(*) AS n FROM t GROUP BY w", empty) == []


def test_an_empty_table_may_stand_on_either_side_of_a_join() -> None:
    sql = "SELECT a.id, b.town FROM a LEFT JOIN b USING (carrier) ORDER BY a.id LIMIT 1"
    assert run(sql, {"a": ROWS, "b": []}) == [{"id": "S0", "town": None}]
    assert run(sql, {"a": [], "b": [{"carrier": "Bode", "town": "Kiel"}]}) == []
    sql = "SELECT a.*, b.town FROM a LEFT JOIN b USING (carrier) LIMIT 1"
    assert run(sql, {"a": [{"id": "x", "carrier": "y"}], "b": []}) == [
        {"id": "x", "carrier": "y", "town": None}
    ]
    assert run("SELECT * FROM a LEFT JOIN b ON TRUE", {"a": [{"n": 1}], "b": []}) == [{"n": 1}]


def test_a_column_that_is_null_in_every_row_is_what_the_statement_needs() -> None:
    rows: Json = [{"a": None, "d": None, "n": 1}, {"a": None, "d": None, "n": 2}]
    sql = "SELECT sum(a) AS a, max(date_trunc('day', d)) AS d, lower(a) IS NULL AS l, sum(n) AS n"
    assert run(f"{sql} FROM t GROUP BY ALL", {"t": rows}) == [
        {"a": None, "d": None, "l": True, "n": 3}
    ]


def test_text_that_looks_like_dates_is_text_where_the_statement_needs_text() -> None:
    rows: Json = [{"code": "2025-10-01", "n": 1}, {"code": "2025-10-02", "n": 2}]
    assert run("SELECT code FROM t WHERE code LIKE '%-02'", {"t": rows}) == [{"code": "2025-10-02"}]
    assert run("SELECT max(code) AS c FROM t", {"t": rows}) == [{"c": "2025-10-02"}]
    assert run("SELECT code + 1 AS c FROM t LIMIT 1", {"t": rows}) == [{"c": "2025-10-02"}]


def test_objects_and_mixed_values_can_be_read_as_json() -> None:
    rows: Json = [{"o": {"a": 1, "b": {"c": "x"}}, "m": 1}, {"o": {"a": 2}, "m": "two"}]
    assert run("SELECT o.a, o.b.c FROM t", {"t": rows}) == [{"a": 1, "c": "x"}, {"a": 2, "c": None}]
    assert run("SELECT o->>'a' AS a, m FROM t", {"t": rows}) == [
        {"a": "1", "m": 1},
        {"a": "2", "m": "two"},
    ]


def test_a_column_that_no_row_has_is_reported_with_help() -> None:
    rows: Json = [{"carrier": "Aller"}]
    with pytest.raises(ToolError, match=r"No row has a column 'carier'\. Did you mean 'carrier'"):
        run("SELECT carier FROM t", {"t": rows})
    with pytest.raises(ToolError, match="declare its type in 'columns'"):
        run("SELECT notes FROM t", {"t": rows})
    assert run("SELECT notes FROM t", {"t": rows}, {"t": {"notes": "string"}}) == [{"notes": None}]


def test_declared_columns_have_their_type_in_every_run() -> None:
    columns: Json = {"t": {"n": "number", "day": "string", "at": "date-time"}}
    sql = 'SELECT typeof(n) AS n, typeof(day) AS day, typeof("at") AS x FROM t'
    rows: Json = [{"n": 1, "day": "2025-10-01", "at": "2025-10-01"}]
    assert run(sql, {"t": rows}, columns) == [{"n": "BIGINT", "day": "VARCHAR", "x": "TIMESTAMP"}]
    assert run(sql, {"t": []}, columns) == []


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ("integer", "1"),
        ("integer", 1.5),
        ("integer", True),
        ("integer", 2**127),
        ("number", "1"),
        ("boolean", 1),
        ("string", 1),
        ("date", "2025-13-01"),
        ("date", "yesterday"),
        ("date-time", "10:30"),
        ({"type": "array", "items": {"type": "integer"}}, ["x"]),
    ],
)
def test_a_value_unfit_for_its_declared_column_fails_the_step(declared: Json, value: Json) -> None:
    with pytest.raises(ToolError, match="its row 1 holds"):
        run("SELECT a FROM t", {"t": [{"a": None}, {"a": value}]}, {"t": {"a": declared}})


def test_large_numbers_and_odd_text_survive() -> None:
    rows: Json = [
        {"i": 2**63 - 1, "big": 2**70, "x": 0.1, "s": 'a"b\\c\u0000d\n€😀'},
        {"i": -(2**63), "big": 1, "x": 5e-324, "s": ""},
    ]
    assert run("SELECT i, x, s FROM t", {"t": rows}) == [
        {key: row[key] for key in ("i", "x", "s")} for row in rows if isinstance(row, dict)
    ]
    assert run("SELECT max(big) AS b FROM t", {"t": rows}) == [{"b": 2**70}]


def test_half_a_character_is_an_error_of_the_tool() -> None:
    with pytest.raises(ToolError):
        run("SELECT s FROM t", {"t": [{"s": "\ud800"}]})


def test_many_rows_are_loaded_in_parts() -> None:
    rows: list[Json] = [{"n": n, "g": f"g{n % 7}", "x": n / 2} for n in range(45_000)]
    [row] = run("SELECT count(*) AS c, sum(n) AS n, count(DISTINCT g) AS g FROM t", {"t": rows})
    assert row == {"c": 45_000, "n": 45_000 * 44_999 // 2, "g": 7}
    assert run("SELECT n FROM t", {"t": rows})[-1] == {"n": 44_999}


SCALARS: dict[str, tuple[dict[str, Json], st.SearchStrategy[Any]]] = {
    "text": ({"type": "string"}, st.text(st.characters(exclude_categories=["Cs"]), max_size=8)),
    "whole": ({"type": "integer"}, st.integers(-(2**63), 2**63 - 1)),
    "number": ({"type": "number"}, st.floats(-1e100, 1e100) | st.integers(-(2**53), 2**53)),
    "flag": ({"type": "boolean"}, st.booleans()),
    "day": ({"type": "string", "format": "date"}, st.dates().map(lambda d: d.isoformat())),
    "moment": (
        {"type": "string", "format": "date-time"},
        st.datetimes().map(lambda d: d.isoformat() + "Z"),
    ),
    "kind": ({"enum": ["a", "b"]}, st.sampled_from(["a", "b"])),
    "list": (
        {"type": "array", "items": {"type": "integer"}},
        st.lists(st.integers(-(2**31), 2**31), max_size=3),
    ),
    "object": (
        {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "number"}},
            "required": ["a"],
            "additionalProperties": False,
        },
        st.fixed_dictionaries(
            {"a": st.text("xyz", max_size=3)}, optional={"b": st.integers(-9, 9)}
        ),
    ),
    "anything": ({}, st.none() | st.integers(0, 9) | st.text("xyz", max_size=2)),
}
TABLE = table_of(
    {name: {"anyOf": [schema, {"type": "null"}]} for name, (schema, _) in SCALARS.items()},
    required=list(SCALARS),
    **CLOSED,
)
STATEMENTS = [
    "SELECT * FROM t",
    "SELECT count(*) AS n, count(day) AS m, min(text) AS a, max(day) AS b, min(moment) AS c,"
    " sum(whole) AS d, avg(number) AS e, bool_or(flag) AS f FROM t",
    "SELECT kind, sum(number) AS s, list(day) AS days, any_value(object) AS o FROM t GROUP BY kind",
    "SELECT object.a, object.b, list[1] AS first, len(list) AS n, anything FROM t WHERE flag",
    "SELECT date_trunc('month', day) AS m, stddev(number) AS s, number / whole AS q"
    " FROM t GROUP BY ALL",
]


def divides_by_what_doubles_round(rows: list[Json], sql: str) -> bool:
    """Return whether `sql` makes doubles of integers beyond 2^53 that are in `rows`."""
    wholes = [row["whole"] for row in rows if isinstance(row, dict)]
    large = any(isinstance(whole, int) and abs(whole) > 2**53 for whole in wholes)
    return large and "number / whole" in sql


EMPTY: dict[str, Json] = dict.fromkeys(SCALARS)


@settings(max_examples=20, deadline=None)
@example(
    [{**EMPTY, "number": 8.367968407042482e-169}, {**EMPTY, "whole": 2**53 + 1}],
    STATEMENTS[-1],
    True,
)
@given(
    st.lists(
        st.fixed_dictionaries({name: st.none() | value for name, (_, value) in SCALARS.items()}),
        max_size=4,
    ),
    st.sampled_from(STATEMENTS),
    st.booleans(),
)
def test_what_is_given_is_valid_against_what_was_computed(
    rows: list[Json], sql: str, declared: bool
) -> None:
    assert TABLE.is_valid(rows)
    columns: Json = (
        {"t": {name: schema for name, (schema, _) in SCALARS.items() if schema}}
        if declared
        else None
    )
    found = check(sql, {"t": TABLE}, columns=columns)
    assert found.problems == ()
    assert found.schema is not None
    if divides_by_what_doubles_round(rows, sql):
        with pytest.raises(ToolError, match=r"would round|cannot be compared exactly with"):
            run(sql, {"t": rows}, columns)
        return
    data: list[Json] = [*run(sql, {"t": rows}, columns)]
    assert found.schema.violations({"data": data, "count": len(data)}) == []


def test_texts_are_tables_of_text_and_index() -> None:
    commits = "SELECT unnest(regexp_extract_all(text, 'commit (\\w+)', 1)) AS id FROM log"
    assert run(commits, {"log": "commit a1\ncommit b2\n"}) == [{"id": "a1"}, {"id": "b2"}]
    lines: Json = ["one", "two"]
    assert run("SELECT * FROM t WHERE index = 1", {"t": lines}) == [{"text": "two", "index": 1}]
    texts = Schema.load({"type": ["array"], "items": {"type": "string"}})
    found = check("SELECT text, index FROM t", {"t": texts})
    assert found.problems == ()
    assert found.schema is not None
    assert found.schema.is_valid({"data": [{"text": "a", "index": 0}], "count": 1})
    (problem,) = check("SELECT size FROM t", {"t": texts}).problems
    assert "size" in problem[1]
    assert check("SELECT text FROM t", {"t": Schema.load({"type": "string"})}).problems == ()


def test_rows_that_are_null_are_left_out_and_counted() -> None:
    tables: Json = {"t": [None, {"n": 1}, None], "u": [None, "a"]}
    sql = "SELECT n, text, index FROM t, u"
    found = asyncio.run(awaited(SQL, {"sql": sql, "tables": tables}))
    row: Json = {"n": 1, "text": "a", "index": 1}
    assert found == {"data": [row], "count": 1, "skipped": {"t": 2, "u": 1}}
    assert SQL.output is not None
    assert SQL.output.is_valid(found)
    with pytest.raises(ToolError, match="no list of objects, no list of texts and no text"):
        run("SELECT 1 FROM t", {"t": [1]})
