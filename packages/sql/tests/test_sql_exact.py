"""Numbers and times cross `sql` unchanged, or the call names the value that cannot."""

import json
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packages.sql.tests.sql_support import EAST, rows_of, run
from toolplan.plan.path import Json
from toolplan.schema.tool import ToolError
from toolplan_sql._times import in_zone

MANY = settings(deadline=None, max_examples=25)

INTEGERS = st.integers(-(10**40), 10**40)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.one_of(
    INTEGERS,
    st.integers(-5, 5),
    st.integers(2**53 - 3, 2**53 + 3),
    FLOATS,
    st.sampled_from([1.0, -0.5, 1e17, 0.1]),
)
TEXTS = st.sampled_from(["a", "", "2026-01-01", "1"])
LEAVES: st.SearchStrategy[Json] = st.one_of(SCALARS, TEXTS, st.booleans(), st.none())


def _nested(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    objects = st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3)
    return st.one_of(st.lists(inner, max_size=3), objects)


NESTED: st.SearchStrategy[Json] = st.recursive(LEAVES, _nested, max_leaves=6)
ZONES = st.sampled_from(["", "Z", "+00:00", "+01:00", "-05:00", "+05:45"])


def _time(day: datetime, fraction: str, zone: str) -> str:
    return day.strftime("%Y-%m-%dT%H:%M:%S") + fraction + zone


TIMES = st.builds(
    _time,
    st.datetimes(datetime(1990, 1, 1), datetime(2040, 1, 1)),
    st.sampled_from(["", ".000", ".5", ".123456"]),
    ZONES,
)


def same(found: Sequence[Json], expected: Sequence[Json]) -> bool:
    return json.dumps(list(found)) == json.dumps(list(expected))


@given(st.lists(NESTED, min_size=1, max_size=6))
@MANY
def test_values_that_are_passed_on_come_out_as_they_went_in(values: list[Json]) -> None:
    rows = rows_of(values)
    for sql in ("SELECT v FROM t", "SELECT * FROM t", "SELECT t.v FROM t WHERE n >= 0 ORDER BY n"):
        found = [row["v"] for row in run(sql, {"t": rows})]
        assert json.dumps(found, sort_keys=True) == json.dumps(values, sort_keys=True)


@given(st.lists(SCALARS, min_size=1, max_size=6))
@MANY
def test_numbers_are_compared_by_their_own_value_or_refused(values: list[float]) -> None:
    found = _compared(rows_of(list[Json](values)))
    if isinstance(found, str):
        assert re.search(r"'v' of 't' holds .* in row \d", found)
        assert any(isinstance(value, int) and abs(value) > 2**53 for value in values)
        return
    most, ordered, groups, joined = found
    assert most == [{"most": max(values), "least": min(values), "n": len(set(values))}]
    assert [row["v"] for row in ordered] == sorted(values)
    assert {json.dumps(row["v"]) for row in ordered} <= set(map(json.dumps, values))
    assert [(row["v"], row["n"]) for row in groups] == [
        (value, values.count(value)) for value in sorted(set(values))
    ]
    assert len(joined) == sum(values.count(value) for value in values)


def _compared(rows: list[Json]) -> list[list[dict[str, Json]]] | str:
    try:
        return [
            run(sql, {"t": rows})
            for sql in (
                "SELECT max(v) AS most, min(v) AS least, count(DISTINCT v) AS n FROM t",
                "SELECT v FROM t ORDER BY v, n",
                "SELECT v, count(*) AS n FROM t GROUP BY v ORDER BY v",
                "SELECT a.n FROM t a JOIN t b ON a.v = b.v",
            )
        ]
    except ToolError as error:
        return str(error)


@given(st.lists(TIMES, min_size=1, max_size=6), st.sampled_from([None, "UTC", "Europe/Berlin"]))
@MANY
def test_times_in_are_times_out_or_refused(values: list[str], zone: str | None) -> None:
    rows = rows_of(list[Json](values))
    assert same([row["v"] for row in run("SELECT v FROM t", {"t": rows})], values)
    if zone is not None:
        values = [str(in_zone(value, ZoneInfo(zone))) for value in values]
    counted = run(
        "SELECT CAST(v AS DATE) AS d, count(*) AS n FROM t GROUP BY 1", {"t": rows}, zone=zone
    )
    listed = [value[:10] for value in values]
    assert {row["d"]: row["n"] for row in counted} == {day: listed.count(day) for day in listed}
    read = [datetime.fromisoformat(value) for value in values]
    offsets = {each.utcoffset() for each in read}
    is_mixed = len(offsets) > 1 and (zone is None or None in offsets)
    sql = "SELECT v FROM t ORDER BY v"
    if is_mixed:
        with pytest.raises(ToolError, match="zone"):
            run(sql, {"t": rows}, zone=zone)
        return
    clocks = [each.replace(tzinfo=None) for each in sorted(read)]
    if clocks == sorted(clocks) and len(set(clocks)) == len(set(read)) == len(set(values)):
        found = [row["v"] for row in run(sql, {"t": rows}, zone=zone)]
        assert found == [text for _, text in sorted(zip(read, values, strict=True))]


NUMBERS = [
    ([10**19 + 1, 10**19 + 2], 10**19 + 2),
    ([-(2**64), -(2**64) - 1], -(2**64)),
    ([2**127 - 1, 0], 2**127 - 1),
    ([1, 2.5], 2.5),
    ([3, 2.5], 3),
    ([3.0, 2.5], 3.0),
    ([2**53, 0.5], 2**53),
    ([2**53 + 1, 0.5], 2**53 + 1),
    ([10**30, 0.25], 10**30),
    ([1e17, 2**53 + 1], 1e17),
    ([0, -0.1], 0),
    ([1e300, 1], 1e300),
    ([5e-324, 0], 5e-324),
    ([True, False], True),
]


@pytest.mark.parametrize(("values", "most"), NUMBERS)
def test_the_largest_number_is_written_as_it_came(values: list[Json], most: Json) -> None:
    [row] = run("SELECT max(v) AS v FROM t", {"t": rows_of(values)})
    assert same([row["v"]], [most])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1, 2**127], "in row 1, which is beyond 128 bits"),
        ([-(10**40), 1], "in row 0, which is beyond 128 bits"),
        ([10**30, 1e-20], "in row 1, which together need more than 38 digits"),
        ([1e300, 2**53 + 1], "more than 38 digits"),
        ([[1, 10**39]], "in row 0, which is beyond 128 bits"),
        ([{"a": 10**39}], "in row 0, which is beyond 128 bits"),
    ],
)
def test_a_number_that_cannot_be_held_is_named(values: list[Json], said: str) -> None:
    rows = rows_of(values)
    with pytest.raises(ToolError, match=said):
        run("SELECT count(DISTINCT v) AS n FROM t", {"t": rows})
    assert same([row["v"] for row in run("SELECT v FROM t", {"t": rows})], values)


def test_large_integers_do_not_join_fractions_that_are_near() -> None:
    left: Json = [{"id": 2**53 + 1}, {"id": 7}]
    right: Json = [{"ref": float(2**53)}, {"ref": 7.0}, {"ref": 0.5}]
    sql = "SELECT a.id FROM a JOIN b ON a.id = b.ref"
    assert run(sql, {"a": left, "b": right}) == [{"id": 7}]
    with pytest.raises(ToolError, match="cannot be compared exactly with 9007199254740993"):
        run(sql, {"a": left, "b": [{"ref": 1e-30}, {"ref": 1e30}]})


WEST = "2026-11-25T01:00:00+01:00"  # earlier, and on the next day

OF_MOMENTS = [
    "SELECT v FROM t ORDER BY v",
    "SELECT max(v) AS v FROM t",
    "SELECT v FROM t WHERE v >= '2026-11-25'",
    "SELECT v FROM t WHERE hour(v) = 23",
    "SELECT date_trunc('hour', v) AS v FROM t",
    "SELECT v + INTERVAL 1 HOUR AS v FROM t",
    "SELECT list(v ORDER BY v) AS v FROM t",
    "SELECT epoch(max(v) - min(v)) AS v FROM t",
    "SELECT CAST(max(v) AS DATE) AS v FROM t",
    "SELECT date_diff('day', min(v), max(v)) AS v FROM t",
    "SELECT epoch(v) AS v FROM t",
    "SELECT CAST(v AS TIMESTAMPTZ) AS v FROM t",
    "SELECT a.v FROM t a JOIN t b ON a.v = b.v",
]


@pytest.mark.parametrize("sql", OF_MOMENTS)
def test_times_of_different_zones_are_refused_and_read_by_the_clocks_of_one(sql: str) -> None:
    rows = rows_of([EAST, WEST])
    with pytest.raises(ToolError, match=r"'v' of 't'.*Give 'zone', as UTC"):
        run(sql, {"t": rows})
    shown = rows_of(["2026-11-25T04:30:00Z", "2026-11-25T00:00:00Z"])
    found = json.dumps(run(sql, {"t": rows}, zone="UTC")).replace("+00:00", "Z")
    assert found == json.dumps(run(sql, {"t": shown}))


def test_days_and_hours_of_times_of_different_zones_are_those_that_they_state() -> None:
    rows = rows_of([EAST, WEST])
    for asked in ("hour(v) = 23", "CAST(v AS DATE) = '2026-11-24'", "v < '2026-11-25'"):
        assert run(f"SELECT n FROM t WHERE {asked}", {"t": rows}) == [{"n": 0}]


@pytest.mark.parametrize(
    "expression", ["epoch(v)", "epoch_ms(v)", "CAST(v AS TIMESTAMPTZ)", "date_part('timezone', v)"]
)
def test_clocks_of_another_zone_are_not_taken_for_those_of_utc(expression: str) -> None:
    sql = f"SELECT {expression} AS r FROM t"
    with pytest.raises(ToolError, match="takes times for those of UTC"):
        run(sql, {"t": rows_of(["2026-01-01T10:20:00-05:00"])})
    assert run(sql, {"t": rows_of(["2026-01-01T10:20:00Z"])})
    assert run(sql, {"t": rows_of(["2026-01-01T10:20:00"])})


TRUNCATED = "date_trunc('day', v)::VARCHAR"
WITH_ZONE = "strftime(v, '%H:%M%z')"
COMPUTED_FORMAT = "strftime(v, '%' || 'z')"


@pytest.mark.parametrize("time", [EAST, "2026-01-01T10:20:00Z", "2026-01-01T10:20:00.5+00:00"])
@pytest.mark.parametrize(
    "expression",
    [
        "CAST(v AS VARCHAR)", "try_cast(v AS VARCHAR)", "v || ''", "concat(v, 'a')", "v::JSON",
        "to_json(v)", "json_object('a', v)", "json_array(v)", "to_json({'a': [v]})",
        "CAST([v] AS VARCHAR)", "CAST({'a': v} AS VARCHAR)", "CAST([v] AS VARCHAR[])",
        "array_to_string([v], ',')", "concat_ws(',', v)", "string_agg(v, ',')",
        TRUNCATED, WITH_ZONE, COMPUTED_FORMAT, "json_group_array(v)",
        "format('{}', v)", "max(v)::VARCHAR", "printf('%s', v)", "MAP {'a': v}::VARCHAR",
    ],
)  # fmt: skip
def test_a_time_that_becomes_text_does_not_lose_its_zone(expression: str, time: str) -> None:
    sql = f"SELECT {expression} AS r FROM t"
    with pytest.raises(ToolError, match=r"says nothing of their zone.*'v' of 't' holds"):
        run(sql, {"t": rows_of([time])})
    assert run(sql, {"t": rows_of([time[:19]])})
    as_text = f"SELECT {expression} AS r FROM (SELECT CAST(v AS VARCHAR) AS v FROM t)"
    if expression not in ("v::JSON", TRUNCATED, WITH_ZONE, COMPUTED_FORMAT):
        assert time in json.dumps(run(as_text, {"t": rows_of([time])}, {"t": {"v": "string"}}))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("strftime(v, '%d.%m. %H:%M')", "24.11. 23:30"),
        ("dayname(v)", "Tuesday"),
        ("CAST(CAST(v AS DATE) AS VARCHAR)", "2026-11-24"),
        ("CAST(hour(v) AS VARCHAR)", "23"),
        ("max_by('a', v)", "a"),
        ("typeof(v)", "TIMESTAMP"),
    ],
)
def test_what_a_clock_shows_may_become_text(expression: str, expected: str) -> None:
    assert run(f"SELECT {expression} AS r FROM t", {"t": rows_of([EAST])}) == [{"r": expected}]


MAX = "SELECT max(v) AS v FROM t"
TRUNC = "SELECT date_trunc('hour', v) AS v FROM t"
TIMED: list[tuple[str, list[str], Json]] = [
    (MAX, ["2026-01-01T00:00:00", "2026-01-02 00:00:00"], ["2026-01-02 00:00:00"]),
    (MAX, ["2026-01-01T00:00:00.000Z"], ["2026-01-01T00:00:00.000Z"]),
    (MAX, ["2026-01-01T00:00:00+00:00"], ["2026-01-01T00:00:00+00:00"]),
    (MAX, ["2026-01-01T00:00:00.1234567Z"] * 2, ["2026-01-01T00:00:00.1234567Z"]),
    (TRUNC, ["2026-01-01T10:20:00Z"], ["2026-01-01T10:00:00Z"]),
    (TRUNC, ["2026-01-01T10:20:00"], ["2026-01-01T10:00:00"]),
    (TRUNC, ["2026-01-01T10:20:00-05:00"], ["2026-01-01T10:00:00-05:00"]),
    ("SELECT hour(CAST(v AS TIMESTAMPTZ)) AS v FROM t", ["2026-01-01T10:20:00Z"], [10]),
]


@pytest.mark.parametrize(("sql", "values", "expected"), TIMED)
def test_a_time_keeps_its_text_and_day(sql: str, values: list[str], expected: list[Json]) -> None:
    found = [row["v"] for row in run(sql, {"t": rows_of(list[Json](values))})]
    assert same(found, expected)


@pytest.mark.parametrize(
    ("sql", "values", "said"),
    [
        (MAX, [EAST, "2026-11-24T10:00:00"], "without one cannot be compared"),
        ("SELECT n FROM t ORDER BY v", ["2026-11-24", EAST], "row 0"),
        (TRUNC, ["2026-11-24", EAST], "made of times of"),
        ("SELECT count(DISTINCT v) AS v FROM t", [EAST, "2026-11-24T10:00:00"], "row 1"),
        (
            "SELECT n FROM t WHERE v < '2026-11-25T00:00:00Z'",
            ["2026-11-24T10:00:00"],
            "states the zone",
        ),
        (MAX, ["2026-11-24T10:00:00Z", "2026-11-24T10:00:00.000Z"], "written in several ways"),
        (
            MAX,
            ["2026-01-01T00:00:00.1234567Z", "2026-01-01T00:00:00Z"],
            "cannot be computed with exactly",
        ),
    ],
)
def test_times_that_have_no_exact_order_are_named(sql: str, values: list[str], said: str) -> None:
    rows = rows_of(list[Json](values))
    with pytest.raises(ToolError, match=said):
        run(sql, {"t": rows})
    assert same([row["v"] for row in run("SELECT v FROM t", {"t": rows})], values)


def test_times_of_two_tables_are_compared_in_one_zone() -> None:
    left: Json = [{"seen": "2026-01-01T00:00:00Z"}]
    right: Json = [{"seen": "2026-01-01T01:00:00+01:00"}, {"seen": "2026-01-01T00:00:00+01:00"}]
    sql = "SELECT a.seen AS x, b.seen AS y FROM a JOIN b ON a.seen = b.seen"
    with pytest.raises(ToolError, match=r"'seen' of 'a'.*'seen' of 'b'.*Give 'zone'"):
        run(sql, {"a": left, "b": right})
    found = run(sql, {"a": left, "b": right}, zone="UTC")
    assert found == [{"x": "2026-01-01T00:00:00+00:00", "y": "2026-01-01T00:00:00+00:00"}]
    for zone in (None, "UTC"):
        with pytest.raises(ToolError, match="without one cannot be compared"):
            run(sql, {"a": left, "b": [{"seen": "2026-01-01T00:00:00"}]}, zone=zone)


def test_a_day_late_in_summer_counts_by_the_clock() -> None:
    start = datetime(2026, 10, 24, 22, 30)
    rows: list[Json] = [
        {"at": f"{(start + timedelta(days=n)).isoformat()}{'+02:00' if n < 1 else '+01:00'}"}
        for n in range(3)
    ]
    found = run(
        'SELECT CAST("at" AS DATE) AS d, count(*) AS n FROM t GROUP BY 1 ORDER BY 1', {"t": rows}
    )
    assert [row["d"] for row in found] == ["2026-10-24", "2026-10-25", "2026-10-26"]


@pytest.mark.parametrize(
    "times",
    [
        ["12026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"], ["+12026-01-01", "2026-01-01"],
        ["-0002-01-01", "-0001-01-01"], ["10:30", "9:15"], ["9:15:00", "10:15:00.5"],
        ["2026-01-01T10:00", "2026-01-01T10:00:00"],
        ["2026-01-01 10:00:00+02", "2026-01-01 09:00:00+01"],
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT max(x) AS m FROM t", "SELECT x FROM t ORDER BY x", "SELECT x FROM t WHERE x > '2'",
        "SELECT count(DISTINCT x) AS n FROM t", "SELECT a.x FROM t a JOIN t b USING (x)",
    ],
)  # fmt: skip
def test_times_that_texts_order_otherwise_are_refused_where_they_are_compared(
    statement: str, times: list[str]
) -> None:
    rows: list[Json] = [{"x": time} for time in times]
    assert run("SELECT x FROM t", {"t": rows}) == rows
    with pytest.raises(ToolError, match=r"column 'x' of 't' holds .* in row"):
        run(statement, {"t": rows})
    assert run(statement, {"t": rows}, {"t": {"x": "string"}}) is not None


def wei(first: float, step: int = 4) -> list[Json]:
    return [{"id": first, "n": 1, "w": 0.5}, {"id": first + step, "n": 2, "w": 1.5}]


WEI = wei(10**30)


@pytest.mark.parametrize("first", [10**30, 2**63 + 1, 2**60, 2**53 + 1, -(2**53) - 7])
@pytest.mark.parametrize(
    "expression",
    [
        "floor(id)", "ceil(id)", "var_pop(id)", "quantile_cont(id, 0.5)", "id::DOUBLE",
        "try_cast(id AS DOUBLE)", "geomean(id)", "product(id)", "corr(id, n)", "sum(id) / 2",
        "avg(id) + avg(n)", "list_avg([id, 1])", "greatest(id, 0.5e0)",
        "sum(CASE WHEN n > 1 THEN id / 3 END)",
        "avg(id)", "id / 2", "stddev(id)", "median(id)", "round(avg(id))", "CAST(id AS DOUBLE)",
        "CAST(avg(id) AS VARCHAR)", "CAST(avg(id) AS HUGEINT)", "id * 0.5e0", "sqrt(id)",
    ],
)  # fmt: skip
def test_large_integers_are_not_rounded_by_a_double(expression: str, first: int) -> None:
    with pytest.raises(ToolError, match=rf"column 'id' of 't' holds {first} in row 0.*would round"):
        run(f"SELECT {expression} AS a FROM t", {"t": wei(first)})


@pytest.mark.parametrize("expression", ["avg(id)", "stddev(id)", "id / 2"])
def test_nor_are_those_beside_fractions(expression: str) -> None:
    rows: list[Json] = [{"id": 10**20 + 1}, {"id": 0.5}]
    with pytest.raises(ToolError, match="would round"):
        run(f"SELECT {expression} AS a FROM t", {"t": rows})


@pytest.mark.parametrize("first", [10**30, 2**60, 2**53 + 1])
@pytest.mark.parametrize(
    "columns",
    [
        "id, avg(n) AS a", "id, sum(n) / count(*) AS a", "id, stddev_pop(n) AS a",
        "id, max(w) AS a", "id, n / 2 AS a", "id, sum(w) AS a",
        "id, 100.0 * sum(n) / sum(sum(n)) OVER () AS a",
    ],
)  # fmt: skip
def test_large_ids_beside_what_is_computed_are_no_matter(columns: str, first: int) -> None:
    grouped = "" if "/ 2" in columns else "GROUP BY id"
    found = run(f"SELECT {columns} FROM t {grouped} ORDER BY id", {"t": wei(first)})
    assert [row["id"] for row in found] == [first, first + 4]
    assert all(row["a"] is not None for row in found)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("sum(id)", 2 * 10**30 + 4),
        ("max(id) - min(id)", 4),
        ("sum(id // 2)", 10**30 + 2),
        ("avg(n)", 1.5),
        ("avg(w) FILTER (WHERE id > 5)", 1.0),
        ("avg(id - (SELECT min(id) FROM t) + 0 * n)", None),
    ],
)
def test_what_needs_no_double_beside_large_integers_is_computed(
    expression: str, expected: float | None
) -> None:
    if expected is None:  # a small difference of large integers has their type
        with pytest.raises(ToolError, match="would round"):
            run(f"SELECT {expression} AS a FROM t", {"t": WEI})
    else:
        assert run(f"SELECT {expression} AS a FROM t", {"t": WEI}) == [{"a": expected}]
