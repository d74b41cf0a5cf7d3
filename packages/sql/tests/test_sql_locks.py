"""The tool `sql` reads its tables and nothing else, whatever the statement."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from packages.sql.tests.sql_support import ROWS, SHIPMENTS, SQL, check, run
from toolplan.plan.path import Json
from toolplan.schema import Schema
from toolplan.schema.tool import ToolError
from toolplan_sql import SqlLimits, sql_tool

FOREVER = "SELECT count(*) AS n FROM range(10000000) a, range(10000000) b WHERE a.range*b.range%7=3"

HOSTILE = [
    # other statements
    ("DELETE FROM t", "Only SELECT"),
    ("DROP TABLE t", "Only SELECT"),
    ("INSERT INTO t VALUES (1)", "Only SELECT"),
    ("UPDATE t SET id = 'x'", "Only SELECT"),
    ("CREATE TABLE u AS SELECT 1", "Only SELECT"),
    ("ATTACH 'x.db'", "Only SELECT"),
    ("DETACH memory", "Only SELECT"),
    ("COPY t TO 'out.csv'", "Only SELECT"),
    ("COPY (SELECT 1) TO 'out.csv'", "Only SELECT"),
    ("EXPORT DATABASE 'folder'", ""),
    ("IMPORT DATABASE 'folder'", ""),
    ("INSTALL httpfs", "Only SELECT"),
    ("LOAD httpfs", "Only SELECT"),
    ("PRAGMA version", "Only SELECT"),
    ("PRAGMA table_info('t')", "Only SELECT"),
    ("SET memory_limit = '100GB'", "Only SELECT"),
    ("RESET memory_limit", "Only SELECT"),
    ("SET VARIABLE x = 1", "Only SELECT"),
    ("CALL pragma_version()", "Only SELECT"),
    ("EXPLAIN SELECT 1", "Only SELECT"),
    ("EXPLAIN ANALYZE SELECT 1", "Only SELECT"),
    ("CHECKPOINT", ""),
    ("BEGIN", ""),
    ("USE memory", ""),
    ("PREPARE p AS SELECT 1", ""),
    ("EXECUTE p", ""),
    ("VACUUM", ""),
    ("CREATE SECRET s (TYPE s3)", ""),
    ("CREATE MACRO f(x) AS x", ""),
    ("SELECT 1; SELECT 2", "one statement"),
    ("SELECT 1; DROP VIEW t", "one statement"),
    ("", "one statement"),
    (";;", "one statement"),
    ("-- nothing", "one statement"),
    ("DESCRIBE t", "DESCRIBE"),
    ("SHOW TABLES", "SHOW"),
    ("SUMMARIZE t", "SUMMARIZE"),
    ("SELECT * FROM (DESCRIBE t)", "DESCRIBE"),
    ("WITH x AS (INSERT INTO t VALUES (1) RETURNING *) SELECT * FROM x", "INSERT"),
    ("WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x", ""),
    ("PIVOT t ON carrier USING count(*)", "PIVOT"),
    # files and the network
    ("SELECT * FROM 'data.csv'", "no table"),
    ("SELECT * FROM '/etc/passwd'", "no table"),
    ('SELECT * FROM "data.parquet"', "no table"),
    ("SELECT * FROM 'https://example.org/x.parquet'", "no table"),
    ("SELECT * FROM read_csv('/etc/passwd')", "read_csv"),
    ("SELECT * FROM read_csv_auto('/etc/passwd')", "read_csv_auto"),
    ("SELECT * FROM read_text('/etc/passwd')", "read_text"),
    ("SELECT * FROM read_blob('/etc/passwd')", "read_blob"),
    ("SELECT * FROM read_json('/etc/passwd')", "read_json"),
    ("SELECT * FROM read_parquet('x')", "read_parquet"),
    ("SELECT * FROM parquet_scan('x')", "parquet_scan"),
    ("SELECT * FROM sniff_csv('/etc/passwd')", "sniff_csv"),
    ("SELECT * FROM glob('/*')", "glob"),
    ("SELECT id FROM t WHERE id IN (SELECT file FROM glob('/*'))", "glob"),
    ("WITH x AS (SELECT * FROM glob('/*')) SELECT * FROM x", "glob"),
    # the program and its settings
    ("SELECT * FROM duckdb_settings()", "duckdb_settings"),
    ("SELECT * FROM duckdb_secrets()", "duckdb_secrets"),
    ("SELECT * FROM duckdb_extensions()", "duckdb_extensions"),
    ("SELECT * FROM duckdb_functions()", "duckdb_functions"),
    ("SELECT * FROM information_schema.tables", "no table"),
    ("SELECT * FROM pg_catalog.pg_tables", "no table"),
    ("SELECT * FROM sqlite_master", "no table"),
    ("SELECT * FROM duckdb_tables", "no table"),
    ("SELECT * FROM memory.main.t", "no table"),
    ('SELECT * FROM "rows of t"', "no table"),
    ("SELECT * FROM rows", "no table"),
    ("SELECT current_setting('memory_limit')", "current_setting"),
    ("SELECT getenv('HOME')", "getenv"),
    ("SELECT getvariable('x')", "getvariable"),
    ("SELECT version()", "version"),
    ("SELECT pg_sleep(100)", "pg_sleep"),
    ("SELECT sleep_ms(100000)", "sleep_ms"),
    ("SELECT write_log('x')", "write_log"),
    ("SELECT nextval('s')", "nextval"),
    ("SELECT json_serialize_plan('SELECT 1')", "json_serialize_plan"),
    ("SELECT * FROM json_execute_serialized_sql('{}')", "json_execute_serialized_sql"),
    ("SELECT * FROM query('SELECT 1')", "query"),
    ("SELECT * FROM query_table('t')", "query_table"),
    ("SELECT main.getenv('HOME')", "getenv"),
    ("SELECT system.main.current_setting('threads')", "current_setting"),
    ("SELECT id.current_setting() FROM t", "current_setting"),
    # the clock and chance
    ("SELECT now()", "clock"),
    ("SELECT current_date", "clock"),
    ("SELECT current_timestamp", "clock"),
    ("SELECT today()", "clock"),
    ("SELECT ago(INTERVAL 1 DAY)", "clock"),
    ("SELECT current_localtimestamp()", "clock"),
    ("SELECT random()", "each time"),
    ("SELECT uuid()", "each time"),
    ("SELECT id FROM t USING SAMPLE 1", "sample"),
    ("SELECT id FROM t TABLESAMPLE 10%", "sample"),
    ("SELECT id FROM t WHERE id = ?", "parameters"),
    ("SELECT id FROM t WHERE id = $x", "parameters"),
    # what DuckDB would count from the other end
    ("SELECT quantile_cont(id, -0.05) FROM t", "from 0 to 1"),
    ("SELECT quantile_cont(id, 1.5) FROM t", "from 0 to 1"),
    ("SELECT quantile(id, -1) FROM t", "from 0 to 1"),
    ("SELECT quantile_disc(id, [-0.5, -0.25]) FROM t", "from 0 to 1"),
    ("SELECT quantile_cont(id, 0.1 - 0.5) FROM t", "from 0 to 1"),
    ("SELECT quantile_cont(id, (-0.5)::DOUBLE) FROM t", "from 0 to 1"),
    ("SELECT quantile_cont(id, -5 / 100) FROM t", "from 0 to 1"),
    ("SELECT quantile_cont(id, ln(0.5)) FROM t", "from 0 to 1"),
    ("SELECT quantile_cont(id, 1 - 0.05) FROM t", "from 0 to 1"),
    ("SELECT quantile_cont(id, [0.5, ln(0.5)]) FROM t", "from 0 to 1"),
    ("SELECT percentile_cont(-0.2) WITHIN GROUP (ORDER BY id) FROM t", "from 0 to 1"),
    ("SELECT list_aggregate([1, 2, 3], 'QUANTILE_CONT', -0.5)", "from 0 to 1"),
    ("SELECT " + "(" * 5_000 + "1" + ")" * 5_000, ""),
]


@pytest.mark.parametrize(("sql", "expected"), HOSTILE, ids=[sql[:60] for sql, _ in HOSTILE])
def test_a_hostile_statement_is_a_problem_of_the_plan(sql: str, expected: str) -> None:
    found = check(sql, {"t": SHIPMENTS})
    assert found.schema is None
    assert [pointer for pointer, _ in found.problems] == ["/sql"] * len(found.problems)
    assert any(expected in message for _, message in found.problems)
    assert all("\n" not in message and len(message) < 400 for _, message in found.problems)


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        ("quantile_cont(n, 0.25)", 2.0),
        ("quantile_cont(n, [0, 1])", [1.0, 5.0]),
        ("quantile_cont(n, 0.95)", 4.8),
        ("percentile_cont(0.25) WITHIN GROUP (ORDER BY n DESC)", 4.0),
        ("list_aggregate([1, 2, 3], 'quantile_disc', 0.5)", 2),
    ],
)
def test_a_percentile_has_a_share_from_0_to_1(share: str, expected: Json) -> None:
    """2.9: a percentile below 0 is an error; those that are none give what they say."""
    rows: list[Json] = [{"n": at} for at in range(1, 6)]
    assert run(f"SELECT {share} AS q FROM t LIMIT 1", {"t": rows}) == [{"q": expected}]


@pytest.mark.parametrize(
    ("sql", "expected"), HOSTILE[::6], ids=[sql[:60] for sql, _ in HOSTILE[::6]]
)
def test_a_hostile_statement_that_was_not_checked_fails_its_step(sql: str, expected: str) -> None:
    with pytest.raises(ToolError) as caught:
        run(sql, {"t": ROWS})
    assert expected in str(caught.value)


def test_a_file_beside_the_program_is_out_of_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ToolError):
        run("SELECT * FROM 't.csv'", {})
    assert os.listdir(tmp_path) == ["t.csv"]


def test_python_variables_are_no_tables() -> None:
    rows = [{"a": 1}]
    assert rows
    with pytest.raises(ToolError, match="no table 'rows'"):
        run("SELECT * FROM rows", {})


def test_problems_are_reported_together() -> None:
    assert len(check("SELECT now(), foo(id) FROM t, x", {"t": SHIPMENTS}).problems) == 3


def test_too_many_rows_fail_the_step_and_are_not_cut() -> None:
    tool = sql_tool(SqlLimits(rows=5))
    assert len(run("SELECT id FROM t LIMIT 5", {"t": ROWS}, tool=tool)) == 5
    with pytest.raises(ToolError, match="more than 5 rows"):
        run("SELECT id FROM t", {"t": ROWS}, tool=tool)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT list(range) AS x FROM range(100000000)",
        "SELECT repeat('x', 1000000000) AS x",
        "SELECT len(lpad('x', 1000000000, 'y')) AS x",
        "SELECT printf('%1000000000d', 1) AS x",
        "SELECT format('{:>{}}', 1, 1000000000) AS x",
        "SELECT list_resize([1], 1000000000) AS x",
        "SELECT range(1000000000) AS x",
    ],
)
def test_too_much_memory_fails_the_step(sql: str) -> None:
    with pytest.raises(ToolError, match="more than 64 MB of memory"):
        run(sql, {}, tool=sql_tool(SqlLimits(memory_mb=64)))


@pytest.mark.parametrize(
    "sql",
    [
        FOREVER,
        "WITH RECURSIVE r AS (SELECT 1 a UNION ALL SELECT a + 1 FROM r) SELECT max(a) AS n FROM r",
    ],
)
def test_a_statement_that_never_ends_is_stopped(sql: str) -> None:
    tool = sql_tool(SqlLimits(seconds=0.2))
    started = time.monotonic()
    with pytest.raises(ToolError, match=r"longer than 0\.2 s"):
        run(sql, {}, tool=tool)
    assert time.monotonic() - started < 15


async def test_cancelling_the_call_stops_the_statement() -> None:
    assert SQL.call is not None
    call = asyncio.ensure_future(SQL.call({"sql": FOREVER}))
    await asyncio.sleep(0.3)
    started = time.monotonic()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert time.monotonic() - started < 10


async def test_cancelling_many_calls_stops_those_that_wait_too() -> None:
    assert SQL.call is not None
    calls = [asyncio.ensure_future(SQL.call({"sql": FOREVER})) for _ in range(34)]
    await asyncio.sleep(0.2)
    for call in calls:
        call.cancel()
    found = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(each, asyncio.CancelledError) for each in found)


async def test_calls_do_not_see_each_other() -> None:
    assert SQL.call is not None
    sql = "SELECT sum(n) AS s FROM t"
    calls = [SQL.call({"sql": sql, "tables": {"t": [{"n": n}]}}) for n in range(8)]
    sums = [{"data": [{"s": n}], "count": 1} for n in range(8)]
    assert await asyncio.gather(*calls) == sums


def test_checking_reads_no_rows_and_ends_even_for_statements_that_do_not() -> None:
    found = check(FOREVER)
    assert found.problems == ()
    assert found.schema is not None


def nested(kind: str, depth: int) -> str:
    """Return a statement whose parts stand `depth` levels inside each other."""
    return {
        "case": "SELECT " + "CASE WHEN true THEN " * depth + "1" + " END" * depth + " AS x",
        "from": "SELECT * FROM " + "(SELECT * FROM " * depth + "t" + ")" * depth,
        "scalar": "SELECT " + "(SELECT " * depth + "1" + ")" * depth + " AS x",
        "call": "SELECT " + "abs(" * depth + "1" + ")" * depth + " AS x",
        "list": "SELECT " + "[" * depth + "1" + "]" * depth + " AS x",
        "object": "SELECT " + "{'a':" * depth + "1" + "}" * depth + " AS x",
        "not": "SELECT " + "NOT " * depth + "true AS x",
        "minus": "SELECT " + "- " * depth + "1 AS x",
        "plus": "SELECT 1" + "+1" * depth + " AS x",
        "cast": "SELECT 1" + "::INT" * depth + " AS x",
        "element": "SELECT [1]" + "[1]" * depth + " AS x",
        "union": "SELECT 1 AS x" + " UNION ALL SELECT 1" * depth,
        "join": "SELECT 1 AS x FROM t" + " CROSS JOIN t" * depth,
        "with": "".join(f"WITH c{n} AS (" for n in range(depth)) + "SELECT 1" + ")" * depth,
    }[kind]


@pytest.mark.parametrize("depth", [20, 90, 350, 700, 3_000])
@pytest.mark.parametrize(
    "kind",
    [
        *("case", "from", "scalar", "call", "list", "object", "not"),
        *("minus", "plus", "cast", "element", "union", "join", "with"),
    ],
)
def test_a_statement_that_nests_deep_is_a_problem_and_no_traceback(kind: str, depth: int) -> None:
    sql = nested(kind, depth)
    found = check(sql, {"t": SHIPMENTS})
    assert all(pointer == "/sql" for pointer, _ in found.problems)
    if depth >= 700 and kind not in ("union", "minus", "cast"):
        assert found.problems
        with pytest.raises(ToolError):
            run(sql, {"t": ROWS})


def test_brackets_in_texts_and_comments_do_not_nest() -> None:
    text = "(" * 500
    sql = f"SELECT '{text}' AS a, $${text}$$ AS b /* {text} */ -- {text}"
    assert run(sql, {}) == [{"a": text, "b": text}]
    assert check(sql).problems == ()
    assert check("SELECT 1 AS x -- " + "x" * 20_000).problems


CLOCK_WORDS = ["current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"]


@pytest.mark.parametrize("name", ["today", "now", "ago", "get_current_time", *CLOCK_WORDS])
def test_a_column_may_be_called_like_the_clock(name: str) -> None:
    rows: list[Json] = [{"n": 1}, {name: 5, "n": 2}]
    for each in (f"t.{name}", f't."{name}"', *([] if name in CLOCK_WORDS else [name, f'"{name}"'])):
        sql = f"SELECT {each} AS x FROM t ORDER BY n"
        for schema in (None, Schema.load({}), Schema.load({"type": "array"})):
            assert check(sql, {"t": schema}).problems == ()
        assert run(sql, {"t": rows}) == [{"x": None}, {"x": 5}]
        assert run(sql, {"t": []}) == []


@pytest.mark.parametrize("name", CLOCK_WORDS)
def test_a_word_that_reads_the_clock_is_refused_also_where_a_column_has_its_name(name: str) -> None:
    for each in (name, f'"{name}"', name.upper()):
        sql = f"SELECT {each} AS x FROM t"
        assert (
            f"put its table before it: t.{each.strip(chr(34))}"
            in (check(sql, {"t": None}).problems[0][1])
        )
        with pytest.raises(ToolError, match="reads the clock"):
            run(sql, {"t": [{name: 1}]})
