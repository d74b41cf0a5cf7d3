"""Names of functions, words and the clock are names wherever they name something."""

import pytest

from packages.sql.tests.sql_support import CLOSED, check, run, table_of
from toolplan.plan.path import Json
from toolplan.schema import Schema
from toolplan.schema.tool import ToolError

NAMES = [
    *("now", "today", "ago", "random", "version", "uuid", "user", "date", "time", "timestamp"),
    *("year", "month", "day", "hour", "count", "sum", "key", "value", "entries", "data", "rank"),
    *("getenv", "glob", "current_setting", "repeat", "range", "interval_", "row_number", "index"),
    *("get_current_time", "transaction_timestamp", "gen_random_uuid", "setseed", "localtime_"),
]


@pytest.mark.parametrize("name", NAMES)
def test_a_word_may_name_whatever_can_be_named(name: str) -> None:
    rows: list[Json] = [{name: 5, "o": {name: 7}}, {name: 6, "o": {name: 8}}]
    field: dict[str, Json] = {name: {"type": "integer"}}
    inner: Json = {"type": "object", "properties": field, **CLOSED}
    schema = table_of({**field, "o": inner}, **CLOSED)
    statements = {
        f'SELECT t."{name}" AS x FROM t ORDER BY x': [5, 6],
        f'SELECT "{name}" AS x FROM t ORDER BY "{name}"': [5, 6],
        f'SELECT t."{name}" + 0 AS "{name}" FROM t ORDER BY 1': [5, 6],
        f'SELECT o."{name}" AS x FROM t ORDER BY x': [7, 8],
        f"SELECT o['{name}'] AS x FROM t ORDER BY x": [7, 8],
        f'WITH "{name}" AS (SELECT 1 AS x) SELECT x FROM "{name}"': [1],
        f'SELECT "{name}".o."{name}" AS x FROM t AS "{name}" ORDER BY x': [7, 8],
        f'SELECT max(t."{name}") AS x FROM t GROUP BY t."{name}" ORDER BY 1': [5, 6],
        f'SELECT a."{name}" AS x FROM t a JOIN t b USING ("{name}") ORDER BY x': [5, 6],
    }
    for sql, expected in statements.items():
        for known in (schema, None, Schema.load({})):
            assert check(sql, {"t": known}).problems == (), sql
        found = [next(iter(row.values())) for row in run(sql, {"t": rows})]
        assert found == expected, sql


@pytest.mark.parametrize("name", ["now", "today", "ago", "random", "version", "uuid", "getenv"])
def test_without_brackets_a_word_is_a_column_even_unquoted(name: str) -> None:
    rows: list[Json] = [{name: 5}, {name: 6}]
    for sql in (f"SELECT {name} FROM t ORDER BY {name}", f"SELECT max({name}) AS m FROM t"):
        assert check(sql, {"t": None}).problems == ()
        assert run(sql, {"t": rows})
    assert check(f"SELECT {name}() AS x FROM t", {"t": None}).problems


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Orders", "orders"), ("orders", "ORDERS"), ("oRders", "Orders"), ("t", "T"),
        ("Straße", "STRASSE"), ("Ärzte", "ärzte"), ("Ω", "ω"), ("a_1", "A_1"), ("my t", "My T"),
        ("Жук", "жук"), ("K", "\u212a"),
    ],
)  # fmt: skip
def test_tables_that_differ_in_letter_case_only_are_refused(one: str, other: str) -> None:
    sql = f'SELECT count(*) AS n FROM "{one}" UNION ALL SELECT count(*) FROM "{other}"'
    found = check(sql, {one: None, other: None}).problems
    assert "differ in letter case only" in dict(found)["/tables"]
    with pytest.raises(ToolError, match="differ in letter case only"):
        run(sql, {one: [{"a": 1}], other: [{"a": 2}, {"a": 3}]})
