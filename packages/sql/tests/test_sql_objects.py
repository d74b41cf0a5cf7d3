"""Objects in the tables of the tool `sql`: each keeps its own keys, and keys can be rows."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packages.sql.tests.sql_support import CLOSED, check, columns_of, run, table_of
from toolplan.plan.path import Json
from toolplan.schema import Schema
from toolplan.schema.tool import ToolError

SHARED: list[Json] = [
    {"n": 1, "o": {"shared": {"a@b.c": "r"}}},
    {"n": 2, "o": {"shared": {}}},
    {"n": 3, "o": {"shared": {"B": "w", "b": "x"}}},
]
PRICES: list[Json] = [
    {"n": 1, "o": {"Ritz": 100, "Plaza": 80.5}},
    {"n": 2, "o": {}},
    {"n": 3, "o": None},
]
RECORDS: list[Json] = [
    {"n": 1, "o": {"name": "x", "age": 3}},
    {"n": 2, "o": {"name": "y", "tags": ["a"]}},
    {"n": 3, "o": {"name": None}},
]
DEEP: list[Json] = [
    {"n": 1, "o": [{"a": 1}, {"b": "x", "in": {"k": {"z": 1}}}]},
    {"n": 2, "o": [{"in": {"k": {}}}]},
    {"n": 3, "o": []},
]
TABLES = {"shared": SHARED, "prices": PRICES, "records": RECORDS, "deep": DEEP}


@pytest.mark.parametrize("rows", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM t",
        "SELECT t.* FROM t ORDER BY n",
        "SELECT n, o FROM t",
        "WITH x AS (SELECT * FROM t) SELECT n, o FROM x",
        "SELECT n, any_value(o) AS o FROM t GROUP BY n ORDER BY n",
        "SELECT a.n, b.o FROM t a JOIN t b USING (n) ORDER BY n",
        "SELECT n, o FROM t UNION ALL SELECT n, o FROM t WHERE false",
        "SELECT n, coalesce(o, NULL) AS o FROM t",
        "SELECT n, first_value(o) OVER (PARTITION BY n) AS o FROM t ORDER BY n",
    ],
)
def test_objects_come_back_with_their_own_keys(sql: str, rows: list[Json]) -> None:
    assert run(sql, {"t": rows}) == rows


@pytest.mark.parametrize("rows", TABLES.values(), ids=TABLES)
def test_the_order_of_the_keys_stays(rows: list[Json]) -> None:
    assert str(run("SELECT n, o FROM t", {"t": rows})).replace(".0", "") == str(rows)


def test_keys_are_those_of_each_object() -> None:
    sql = "SELECT json_keys(o) AS k FROM t ORDER BY n"
    assert [row["k"] for row in run(sql, {"t": PRICES})] == [["Ritz", "Plaza"], [], None]
    assert [row["k"] for row in run(sql, {"t": RECORDS})] == [
        ["name", "age"],
        ["name", "tags"],
        ["name"],
    ]


def test_fields_of_objects_with_different_keys_have_their_types() -> None:
    sql = "SELECT o.age + 1 AS age, o FROM t WHERE o.name = 'x'"
    assert run(sql, {"t": RECORDS}) == [{"age": 4, "o": {"name": "x", "age": 3}}]
    sql = "SELECT sum(o['Ritz']) AS s, count(*) AS n FROM t"
    assert run(sql, {"t": PRICES}) == [{"s": 100, "n": 3}]
    sql = "SELECT list(o) AS all FROM t WHERE o.age IS NULL"
    assert run(sql, {"t": RECORDS}) == [{"all": [row["o"] for row in _dicts(RECORDS)[1:]]}]


def test_a_field_that_no_object_has_is_an_error_and_not_null() -> None:
    for name in ("nam", "Name2", "age2"):
        with pytest.raises(ToolError, match=name):
            run(f"SELECT o.{name} AS x FROM t", {"t": RECORDS})


def test_a_changed_field_is_in_the_object_that_comes_back() -> None:
    sql = "SELECT struct_update(o, age := 5) AS o FROM t ORDER BY n"
    assert [row["o"] for row in run(sql, {"t": RECORDS})] == [
        {"name": "x", "age": 5},
        {"name": "y", "age": 5, "tags": ["a"]},
        {"name": None, "age": 5},
    ]


def test_an_object_spread_over_columns_gives_the_columns_alone() -> None:
    for sql in ("SELECT o.* FROM t", "SELECT unnest(o) FROM t"):
        first, *_ = run(sql, {"t": RECORDS})
        assert first == {"name": "x", "age": 3, "tags": None}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT o.name, json_keys(o) AS k FROM t",
        "SELECT o.name, o::JSON AS j FROM t",
        "SELECT o.name, to_json(o) AS j FROM t",
        "SELECT o.name, CAST(o AS VARCHAR) AS j FROM t",
        "SELECT o['name'] AS x, json_array_length(json_keys(o)) AS n FROM t",
    ],
)
def test_fields_and_keys_at_once_are_refused_and_json_is_the_way(sql: str) -> None:
    with pytest.raises(ToolError, match="Declare it as 'json'"):
        run(sql, {"t": RECORDS})
    [(pointer, message)] = check(sql, tables={"t": RECORDS}).problems
    assert pointer == "/sql"
    assert "different keys" in message
    sql = "SELECT o->>'name' AS x, json_keys(o) AS k FROM t ORDER BY n LIMIT 1"
    assert run(sql, {"t": RECORDS}, {"t": {"o": "json"}}) == [{"x": "x", "k": ["name", "age"]}]


def test_declared_objects_keep_their_own_keys_and_lose_none() -> None:
    schema: Json = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "additionalProperties": False,
    }
    rows: list[Json] = [{"o": {"name": "x"}}, {"o": {"age": 1}}]
    assert run("SELECT o, o.age FROM t", {"t": rows}, {"t": {"o": schema}}) == [
        {"o": {"name": "x"}, "age": None},
        {"o": {"age": 1}, "age": 1},
    ]
    with pytest.raises(ToolError, match="declared"):
        run("SELECT o FROM t", {"t": RECORDS}, {"t": {"o": schema}})


ENTRIES = [
    "SELECT n, key, value FROM t, entries(t.o) ORDER BY n, key",
    "SELECT n, key, value FROM t, entries(o) ORDER BY n, key",
    "SELECT n, e.key, e.value FROM t, unnest(entries(o)) AS x(e) ORDER BY n, e.key",
    "SELECT n, e.key, e.value FROM (SELECT n, unnest(entries(o)) AS e FROM t) ORDER BY n, e.key",
    "SELECT n, x.key, x.value FROM t CROSS JOIN LATERAL entries(o) AS x ORDER BY n, x.key",
]


@pytest.mark.parametrize("sql", ENTRIES)
def test_entries_are_rows_of_key_and_value(sql: str) -> None:
    assert run(sql, {"t": PRICES}) == [
        {"n": 1, "key": "Plaza", "value": 80.5},
        {"n": 1, "key": "Ritz", "value": 100},
    ]
    same: list[Json] = [{"n": 1, "o": {"a": 1, "b": 2}}, {"n": 2, "o": {"a": 3, "b": 4}}]
    assert [row["value"] for row in run(sql, {"t": same})] == [1, 2, 3, 4]
    mixed = run(sql, {"t": RECORDS})
    assert {"n": 2, "key": "tags", "value": ["a"]} in mixed
    assert len(mixed) == 5
    assert run(sql, {"t": []}) == []
    assert run(sql, {"t": [{"n": 1, "o": None}]}) == []


def test_values_of_entries_have_their_types() -> None:
    days: list[Json] = [{"o": {"x": "2025-10-01", "y": "2025-10-09"}}, {"o": {"z": "2025-10-11"}}]
    sql = "SELECT key FROM t, entries(o) WHERE value > DATE '2025-10-05' ORDER BY key"
    assert run(sql, {"t": days}) == [{"key": "y"}, {"key": "z"}]
    inner: list[Json] = [{"o": {"x": {"price": 5}, "y": {"price": 7, "stars": 3}}}]
    sql = "SELECT key, value.price + 1 AS p FROM t, entries(o) ORDER BY key"
    assert run(sql, {"t": inner}) == [{"key": "x", "p": 6}, {"key": "y", "p": 8}]
    sql = "SELECT key, value AS v FROM t, entries(o) ORDER BY key"
    assert run(sql, {"t": inner}) == [
        {"key": "x", "v": {"price": 5}},
        {"key": "y", "v": {"price": 7, "stars": 3}},
    ]


def _hotels(value: Json) -> Schema:
    objects: Json = {"type": "object", "additionalProperties": value}
    return table_of({"n": {"type": "integer"}, "o": objects}, **CLOSED)


@pytest.mark.parametrize("sql", ENTRIES)
@pytest.mark.parametrize("word", ["number", "integer", "string", "boolean"])
def test_entries_are_typed_when_they_are_checked(sql: str, word: str) -> None:
    columns: Any = columns_of(check(sql, {"t": _hotels({"type": word})}))
    assert columns["key"] == {"type": ["string", "null"]}
    assert columns["value"] == {"type": [word, "null"]}


def test_entries_of_what_is_no_object_are_a_problem() -> None:
    sql = "SELECT key FROM t, entries(n)"
    [(pointer, message)] = check(sql, {"t": _hotels({"type": "number"})}).problems
    assert pointer == "/sql"
    assert "BIGINT" in message
    with pytest.raises(ToolError):
        run(sql, {"t": PRICES})


def test_a_wrong_use_of_a_value_is_found_when_it_is_checked() -> None:
    sql = "SELECT key FROM t, entries(o) WHERE date_trunc('day', value) = DATE '2025-01-01'"
    assert check(sql, {"t": _hotels({"type": "number"})}).problems
    day: Json = {"type": "string", "format": "date"}
    columns: Json = {"t": {"o": {"type": "object", "additionalProperties": day}}}
    assert not check(sql, {"t": _hotels(day)}, columns=columns).problems


def test_columns_and_tables_may_be_called_entries_or_like_the_hidden_field() -> None:
    rows: list[Json] = [{"entries": 1, "__missing__": 2}]
    assert run("SELECT entries FROM t", {"t": rows}) == [{"entries": 1}]
    assert run("SELECT entries FROM entries", {"entries": rows}) == [{"entries": 1}]
    odd: list[Json] = [{"o": {"__missing__": 1, "a": 2}}, {"o": {"a": 2}}]
    assert run("SELECT o FROM t", {"t": odd}) == odd
    assert run(
        "SELECT o, n FROM t WHERE o->>'a' = '2'", {"t": [{**r, "n": 1} for r in _dicts(odd)]}
    )


def _dicts(rows: list[Json]) -> list[dict[str, Json]]:
    return [row for row in rows if isinstance(row, dict)]


_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4),
)
_KEYS = st.sampled_from(["a", "A", "b", "a@b.c", "x y", "ü", "", "__missing__", "key", "$1"])
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_KEYS, inner, max_size=3)),
    max_leaves=8,
)
_OBJECTS = st.dictionaries(_KEYS, _VALUES, max_size=4)


@given(st.lists(st.fixed_dictionaries({"n": st.just(1), "o": _OBJECTS}), min_size=1, max_size=4))
@settings(deadline=None)
def test_whatever_objects_go_in_come_back(rows: list[Any]) -> None:
    for sql in ("SELECT * FROM t", "SELECT n, o FROM t"):
        assert run(sql, {"t": rows}) == rows


@given(st.lists(st.fixed_dictionaries({"n": st.just(1), "o": _OBJECTS}), min_size=1, max_size=3))
@settings(deadline=None)
def test_entries_are_all_there_is_in_an_object(rows: list[Any]) -> None:
    found = run("SELECT key, value FROM t, entries(o)", {"t": rows})
    there = [(key, value) for row in rows for key, value in row["o"].items()]
    assert sorted(map(repr, ((row["key"], _plain(row["value"])) for row in found))) == sorted(
        map(repr, ((key, _plain(value)) for key, value in there))
    )


def _plain(value: Json) -> Json:
    """Return `value` with numbers as such: 1 and 1.0 are the same in JSON."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return value


OFFERS: list[Json] = [
    {"n": 1, "o": {"a": 99, "b": 7}},
    {"n": 2, "o": {"c": 8}},
    {"n": 3, "o": None},
]
OF_ANY_JSON = [
    "SELECT e.key, e.value FROM t, entries(t.o) AS e ORDER BY e.key",
    "SELECT n, key, value FROM t, entries(t.o) WHERE value < 80",
    "SELECT n, max(value) AS most FROM t, entries(o) GROUP BY n",
    "SELECT n, entries(o) AS pairs FROM t",
    "SELECT n, len(map_keys(o)) AS keys FROM t",
    "SELECT n, cardinality(o) AS keys FROM t",
    "SELECT key, sum(value) AS total FROM t, entries(t.o) GROUP BY key",
    "SELECT key FROM t, entries(t.o) WHERE lower(key) LIKE 'a%'",
    "SELECT key, value + 1 AS more FROM t, entries(t.o)",
    "SELECT list_max(map_values(o)) AS most FROM t",
    "SELECT avg(value) AS mean FROM t, entries(t.o)",
]
OPEN = table_of({"n": {}, "o": {}})
ANY_OBJECT = table_of({"n": {"type": "integer"}, "o": {"type": "object"}}, **CLOSED)


@pytest.mark.parametrize("sql", OF_ANY_JSON)
def test_entries_are_those_of_columns_of_any_json_too(sql: str) -> None:
    declared: Json = {"t": {"n": "integer", "o": "json"}}
    expected = run(sql, {"t": OFFERS})
    assert run(sql, {"t": OFFERS}, declared) == expected
    assert check(sql, tables={"t": OFFERS}, columns=declared).problems == ()
    for schema in (None, OPEN, ANY_OBJECT):
        assert check(sql, {"t": schema}, columns=declared).problems == ()
    assert check(sql, {"t": ANY_OBJECT}).problems == ()


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELECT e.key FROM t, entries(t.o) AS e", "string"),
        ("SELECT map_keys(o) AS k FROM t", "integer"),
        ("SELECT unnest(o) AS x FROM t", "string"),
        ("SELECT o.name FROM t", "integer"),
        ("SELECT list_sum(o) AS x FROM t", "date"),
        ("SELECT sum(o) AS x FROM t", "string"),
        ("SELECT upper(o) AS x FROM t", "boolean"),
        ("SELECT year(o) AS x FROM t", "number"),
        ("SELECT bool_and(o) AS x FROM t", "date"),
        ("SELECT date_trunc('day', o) AS x FROM t", "boolean"),
        ("SELECT o + INTERVAL 1 DAY AS x FROM t", "string"),
        ("SELECT avg(value) AS x FROM t, entries(t.o)", "date-time"),
    ],
)
def test_what_cannot_be_bound_at_run_time_is_a_problem_of_the_plan(sql: str, kind: str) -> None:
    """Also where nothing but the declared column is known of the table."""
    values: dict[str, Json] = {
        "string": "a",
        "integer": 1,
        "date": "2026-01-01",
        "boolean": True,
        "number": 0.5,
        "date-time": "2026-01-01T00:00:00",
    }
    rows: Json = [{"o": values[kind]}]
    declared: Json = {"t": {"o": kind}}
    with pytest.raises(ToolError) as failed:
        run(sql, {"t": rows}, declared)
    for schema in (None, OPEN):
        found = check(sql, {"t": schema}, columns=declared)
        assert [message for _, message in found.problems] == [str(failed.value)]
