"""What the tool `sql` says of a statement before it runs."""

import pytest

from packages.sql.tests.sql_support import ROWS, SHIPMENTS, check, columns_of, run, table_of
from toolplan.plan.path import Json
from toolplan.schema import Schema
from toolplan.schema.tool import ToolError

OPEN = table_of({"a": {"type": "integer"}}, additionalProperties=True)
NO_COLUMNS = Schema.load({"type": "array", "items": {"type": "object"}})


def test_the_result_has_the_types_of_its_columns() -> None:
    found = check(
        "SELECT id, date, seen_at, carrier, state, weight_kg, pieces, bad, tags, place FROM t",
        {"t": SHIPMENTS},
    )
    assert columns_of(found) == {
        "id": {"type": ["string", "null"]},
        "date": {"type": ["string", "null"], "format": "date"},
        "seen_at": {"type": ["string", "null"], "format": "date-time"},
        "carrier": {"type": ["string", "null"]},
        "state": {"type": ["string", "null"]},
        "weight_kg": {"type": ["number", "null"]},
        "pieces": {"type": ["integer", "null"]},
        "bad": {"type": ["boolean", "null"]},
        "tags": {"type": ["array", "null"], "items": {"type": ["string", "null"]}},
        "place": {
            "type": ["object", "null"],
            "properties": {
                "city": {"type": ["string", "null"]},
                "zip": {"type": ["string", "null"]},
            },
            "additionalProperties": False,
        },
    }


def test_computed_columns_are_typed_and_counts_are_never_null() -> None:
    found = check(
        "SELECT carrier, count(*) AS n, count(id) AS m, sum(pieces) AS s, avg(weight_kg) AS a,"
        " max(date) AS d, date_trunc('week', date) AS w, weight_kg > 3 AS heavy,"
        " round(100.0 * count(*) FILTER (WHERE bad) / count(*), 1) AS rate"
        " FROM t GROUP BY ALL ORDER BY n DESC",
        {"t": SHIPMENTS},
    )
    columns = columns_of(found)
    assert columns["n"] == columns["m"] == {"type": "integer"}
    assert columns["s"] == {"type": ["integer", "null"]}
    assert columns["a"] == columns["rate"] == {"type": ["number", "null"]}
    assert columns["d"] == {"type": ["string", "null"], "format": "date"}
    assert columns["w"] == {"type": ["string", "null"], "format": "date-time"}
    assert columns["heavy"] == {"type": ["boolean", "null"]}


def test_what_cannot_be_reported_has_no_type_but_a_name() -> None:
    columns = columns_of(check("SELECT extra, mixed FROM t", {"t": SHIPMENTS}))
    assert columns == {"extra": {}, "mixed": {}}


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT carier FROM t", "no column 'carier'. The nearest are: 'carrier'"),
        ("SELECT t.carier FROM t", "no column 'carier' in 't'"),
        ("SELECT upper(carier) AS carier FROM t", "no column 'carier'"),
        ("SELECT CAST(carier AS VARCHAR) AS Carier FROM t", "no column 'carier'"),
        ("SELECT carrier AS who FROM t WHERE upper(who) = 'A' AND who > wo", "no column"),
        ("SELECT x.id FROM t", "'x'"),
        ("SELECT avg(carrier) FROM t", "avg(VARCHAR)"),
        ("SELECT carrier + 1 AS n FROM t", "VARCHAR"),
        ("SELECT year(carrier) AS y FROM t", "year"),
        ("SELECT date LIKE '2025%' AS y FROM t", "DATE"),
        ("SELECT carrier, id FROM t GROUP BY carrier", "GROUP BY"),
        ("SELECT id FROM shipment", "no table 'shipment'"),
        ("SELECT id FROM T1", "no table 'T1'"),
        ("SELECT roun(weight_kg) FROM t", "Did you mean 'round'"),
        ("SELECT id FROM t WHERE", "not SQL"),
        ("SELEC id FROM t", "not SQL"),
        ("SELECT id, id FROM t", "Two columns of the result are named 'id'"),
        ("SELECT seen_at - seen_at AS gap FROM t", "INTERVAL"),
        ("SELECT place.town FROM t", "town"),
        ("SELECT tags.x FROM t", ""),
        ("SELECT id FROM t WHERE date >= 'last week'", "'last week' is no date"),
        ("SELECT id FROM t WHERE t.pieces IN ('1', 'two')", "'two' is no integer"),
        ("SELECT id FROM t WHERE seen_at BETWEEN '2025-10-01' AND 'now'", "'now' is no date-time"),
    ],
)
def test_a_wrong_statement_is_one_problem_in_one_line(sql: str, expected: str) -> None:
    found = check(sql, {"t": SHIPMENTS})
    assert found.schema is None
    [(pointer, message)] = found.problems
    assert pointer == "/sql"
    assert expected in message
    assert "\n" not in message
    assert "^" not in message


def test_names_of_tables_and_columns_may_be_in_any_case() -> None:
    assert columns_of(check("SELECT Carrier FROM T", {"t": SHIPMENTS}))


@pytest.mark.parametrize(
    "schema", [None, NO_COLUMNS, Schema.load({}), Schema.load({"type": "array"})]
)
def test_an_unknown_table_gives_names_at_most_and_no_complaint(schema: Schema | None) -> None:
    assert columns_of(check("SELECT a, count(*) AS n FROM t GROUP BY a", {"t": schema})) == {
        "a": {},
        "n": {"type": "integer"},
    }
    for sql in ("SELECT * FROM t", "SELECT t.x.y.z + date_trunc('week', a) FROM t"):
        assert check(sql, {"t": schema}).problems == ()


def test_an_unknown_table_does_not_excuse_a_wrong_statement() -> None:
    for sql in ("DELETE FROM t", "SELECT foo(a) FROM t", "SELECT a FROM u", "SELECT FROM FROM"):
        assert check(sql, {"t": None}).problems


def test_an_open_table_may_have_more_columns() -> None:
    assert columns_of(check("SELECT a FROM t", {"t": OPEN})) == {"a": {"type": ["integer", "null"]}}
    assert check("SELECT b FROM t", {"t": OPEN}).problems == ()
    assert check("SELECT * FROM t", {"t": OPEN}).schema is None


def test_a_whole_argument_that_is_a_reference_leaves_only_the_statement_to_check() -> None:
    from_reference = {"/tables": SHIPMENTS}
    from_sql = {"/sql": Schema.load({"type": "string"})}
    compute = check.__globals__["SQL"].compute_output
    assert compute({"sql": "SELECT id FROM t"}, from_reference).problems == ()
    assert compute({"sql": "DROP TABLE t"}, from_reference).problems
    assert compute({}, from_sql).problems == ()
    assert compute({"sql": "SELECT a FROM t"}, {"/tables/t/0/a": None}).problems == ()


def test_literal_tables_are_typed_by_their_values() -> None:
    tables: Json = {"t": [{"day": "2025-10-12", "n": 1}, {"day": None, "n": 2.5}]}
    assert columns_of(check("SELECT * FROM t", tables=tables)) == {
        "day": {"type": ["string", "null"], "format": "date"},
        "n": {"type": ["number", "null"]},
    }
    assert check("SELECT m FROM t", tables=tables).problems
    assert columns_of(
        check("SELECT s.id, t.n FROM s JOIN t ON s.date = t.day", {"s": SHIPMENTS}, tables)
    )


def test_declared_columns_are_held_against_the_schema() -> None:
    good: Json = {"t": {"date": "string", "pieces": "number", "extra": "integer", "id": "string"}}
    assert columns_of(check("SELECT date, extra FROM t", {"t": SHIPMENTS}, columns=good)) == {
        "date": {"type": ["string", "null"]},
        "extra": {"type": ["integer", "null"]},
    }
    bad: Json = {
        "t": {"carrier": "integer", "cariers": "string", "id": "text", "bad": {"type": 3}},
        "u": {},
    }
    problems = dict(check("SELECT id FROM t", {"t": SHIPMENTS}, columns=bad).problems)
    assert set(problems) == {
        "/columns/t/carrier",
        "/columns/t/cariers",
        "/columns/t/id",
        "/columns/t/bad",
        "/columns/u",
    }
    assert "Did you mean 'carrier'" in problems["/columns/t/cariers"]


def test_declared_columns_make_an_unknown_table_known() -> None:
    columns: Json = {"t": {"day": "date", "tags": {"type": "array", "items": {"type": "string"}}}}
    found = check("SELECT day, unnest(tags) AS tag FROM t", {"t": None}, columns=columns)
    assert columns_of(found) == {
        "day": {"type": ["string", "null"], "format": "date"},
        "tag": {"type": ["string", "null"]},
    }


def test_declared_columns_are_held_against_literal_rows() -> None:
    found = check(
        "SELECT a FROM t", tables={"t": [{"a": 1}, {"a": "x"}]}, columns={"t": {"a": "integer"}}
    )
    assert [pointer for pointer, _ in found.problems] == ["/columns/t/a"]


def test_columns_that_differ_in_case_only_are_a_problem() -> None:
    found = check("SELECT a FROM t", tables={"t": [{"a": 1, "A": 2}]})
    assert found.problems[0][0] == "/tables/t"
    with pytest.raises(ToolError, match="letter case"):
        run("SELECT a FROM t", {"t": [{"a": 1, "A": 2}]})


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT carrier, avg(weight_kg) AS w FROM t GROUP BY carrier",
        "SELECT date_trunc('month', date) AS m, count(*) AS n FROM t GROUP BY m ORDER BY m",
        "SELECT year(date) AS y, dayname(date) AS d, sum(pieces) AS s FROM t GROUP BY ALL",
        "SELECT regr_slope(weight_kg, epoch(date)) AS slope FROM t",
        "SELECT date_diff('day', date, CAST(seen_at AS DATE)) AS lag FROM t",
        "SELECT date - INTERVAL 7 DAY AS before, hour(seen_at) AS h FROM t",
        "SELECT place.city, count(*) AS n FROM t GROUP BY ALL",
        "SELECT unnest(tags) AS tag, count(*) AS n FROM t GROUP BY tag",
        "SELECT len(tags) AS n, list_contains(tags, 'a') AS has FROM t",
        "SELECT upper(carrier) AS c, round(weight_kg, 1) AS w, carrier || '!' AS x FROM t",
        "SELECT carrier, row_number() OVER (PARTITION BY carrier ORDER BY date DESC) AS k FROM t",
        "SELECT *, weight_kg / sum(weight_kg) OVER () AS share FROM t",
        "SELECT a.carrier FROM t a JOIN t b USING (id) WHERE a.date > b.date",
        "WITH w AS (SELECT carrier, sum(weight_kg) AS kg FROM t GROUP BY 1)"
        " SELECT carrier, kg FROM w WHERE kg > (SELECT avg(kg) FROM w)",
        "SELECT strftime(date, '%Y-%m') AS m, median(weight_kg) AS w FROM t GROUP BY 1",
        "SELECT extra->>'n' AS n FROM t",
        "SELECT carrier FROM t WHERE date BETWEEN DATE '2025-10-01' AND DATE '2025-10-07'",
        "SELECT count(*) AS n FROM t WHERE bad AND state = 'open'",
        "SELECT id FROM t WHERE date >= '2025-10-01' AND seen_at < '2025-10-05' AND pieces = '1'",
        "SELECT carrier.upper() AS c, #1 FROM t",
    ],
)
def test_what_checks_well_also_runs_with_rows_and_without(sql: str) -> None:
    found = check(sql, {"t": SHIPMENTS})
    assert found.problems == ()
    assert found.schema is not None
    for rows in (ROWS, ROWS[:1], list[Json]()):
        if len(rows) == 1 and ("regr_slope" in sql or "/ sum" in sql):
            with pytest.raises(ToolError, match=r"A number of the result is nan|Division by zero"):
                run(sql, {"t": rows})
            continue
        data: list[Json] = [*run(sql, {"t": rows})]
        assert found.schema.violations({"data": data, "count": len(data)}) == []


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT rating AS rating FROM t",
        "SELECT CAST(rating AS VARCHAR) AS rating FROM t",
        "SELECT try_cast(regexp_extract(CAST(rating AS VARCHAR), '1') AS DOUBLE) AS rating FROM t",
        "SELECT upper(rating) AS rating, price AS price FROM t",
        "SELECT rating || '' AS Rating FROM t",
        "SELECT length(rating) AS rating FROM t ORDER BY rating",
        "SELECT max(rating) AS rating FROM t",
        "SELECT rating AS rating, count(*) AS n FROM t GROUP BY ALL",
        "SELECT coalesce(rating, '') AS rating FROM t WHERE rating IS NOT NULL",
        "SELECT u.rating AS rating FROM (SELECT trim(rating) AS rating FROM t) u",
        "SELECT (SELECT max(rating) FROM t) AS rating FROM t",
    ],
)
def test_a_column_that_is_not_known_yet_may_have_the_name_of_what_is_made_of_it(sql: str) -> None:
    """A result cannot be refused for a column that a run may find in the rows."""
    assert not check(sql, {"t": Schema.load({"type": "array"})}).problems
    assert not check(sql, {"t": table_of({})}).problems
