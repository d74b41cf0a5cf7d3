"""The argument `zone` of `sql`: times that state a zone are read by the clocks of another."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolplan
from packages.sql.tests.sql_support import SQL
from toolplan.app.settings import Settings
from toolplan.app.setup import User
from toolplan.compiler import check
from toolplan.plan.canonical import load
from toolplan.plan.path import Json
from toolplan.planners import Refusal
from toolplan.schema.tool import Toolbox, ToolError
from toolplan.testing import ScriptedPlanner

BERLIN = "Europe/Berlin"


def selected(sql: str, times: list[Json], zone: str | None = BERLIN) -> Any:
    arguments: dict[str, Json] = {"sql": sql, "tables": {"t": [{"seen": each} for each in times]}}

    async def call() -> Any:
        assert SQL.call is not None
        return await SQL.call(arguments if zone is None else arguments | {"zone": zone})

    return asyncio.run(call())


@pytest.mark.parametrize(
    ("written", "shown", "day"),
    [
        ("2026-11-24T23:30:00Z", "2026-11-25T00:30:00+01:00", "2026-11-25"),
        ("2026-11-24T22:59:59.999Z", "2026-11-24T23:59:59.999+01:00", "2026-11-24"),
        ("2026-07-01T22:00:00Z", "2026-07-02T00:00:00+02:00", "2026-07-02"),
        ("2026-07-01T21:59:59+00:00", "2026-07-01T23:59:59+02:00", "2026-07-01"),
        ("2026-11-24T23:30:00-05:00", "2026-11-25T05:30:00+01:00", "2026-11-25"),
        ("2026-11-25T08:00:00+09:00", "2026-11-25T00:00:00+01:00", "2026-11-25"),
        ("2026-11-25T07:59:59+09:00", "2026-11-24T23:59:59+01:00", "2026-11-24"),
        ("2026-03-29T00:59:59Z", "2026-03-29T01:59:59+01:00", "2026-03-29"),
        ("2026-03-29T01:00:00Z", "2026-03-29T03:00:00+02:00", "2026-03-29"),
        ("2026-10-25T01:30:00Z", "2026-10-25T02:30:00+01:00", "2026-10-25"),
        ("2026-11-24T23:30:00+01:00", "2026-11-24T23:30:00+01:00", "2026-11-24"),
    ],
)
def test_a_time_is_given_and_its_day_read_by_the_clocks_of_the_zone(
    written: str, shown: str, day: str
) -> None:
    assert selected("SELECT seen FROM t", [written])["data"] == [{"seen": shown}]
    found = selected("SELECT CAST(seen AS DATE) AS d FROM t", [written])
    assert found["data"] == [{"d": day}]
    assert found.get("zone") == (None if written == shown else BERLIN)


@pytest.mark.parametrize(
    "value",
    ["2026-11-24T23:30:00", "2026-11-24", "23:30:00Z", "at 10", 7, None, "2026-13-01T00:00:00Z"],
)
def test_what_states_no_zone_stays_as_it_is(value: Json) -> None:
    assert selected("SELECT seen FROM t", [value]) == {"data": [{"seen": value}], "count": 1}


@given(st.datetimes(datetime(1990, 1, 1), datetime(2040, 1, 1)), st.integers(-14 * 60, 14 * 60))
def test_a_time_stays_the_same_moment(clock: datetime, minutes: int) -> None:
    sign, size = "-" if minutes < 0 else "+", abs(minutes)
    text = f"{clock.replace(microsecond=0).isoformat()}{sign}{size // 60:02d}:{size % 60:02d}"
    (row,) = selected("SELECT seen FROM t", [text])["data"]
    found = datetime.fromisoformat(row["seen"])
    assert found == datetime.fromisoformat(text)
    assert found.utcoffset() == found.astimezone(ZoneInfo(BERLIN)).utcoffset()


def test_times_of_the_hour_that_comes_twice_are_refused_where_clocks_misorder_them() -> None:
    twice: list[Json] = ["2026-10-25T00:30:00Z", "2026-10-25T01:15:00Z"]
    with pytest.raises(ToolError, match="cannot be compared by their clocks"):
        selected("SELECT CAST(seen AS DATE) AS d, seen FROM t ORDER BY seen", twice)


@pytest.mark.parametrize("name", ["Europe/Nowhere", "", "../etc/passwd", "CET+1", " "])
def test_a_zone_that_is_none_is_refused_by_the_check_and_by_the_call(name: str) -> None:
    with pytest.raises(ToolError, match="no time zone"):
        selected("SELECT seen FROM t", ["2026-11-24T23:30:00Z"], name)
    args: dict[str, Json] = {"sql": "SELECT 1 AS a", "zone": name}
    plan = load({"toolplan": 1, "steps": [{"id": "a", "tool": "sql", "args": args}]}).plan
    assert plan is not None
    assert any("no time zone" in each.message for each in check(plan, Toolbox([SQL])))


async def test_the_setting_is_the_default_and_the_answer_names_it(tmp_path: Path) -> None:
    @toolplan.tool(effects="read")
    def visits() -> list[dict[str, str]]:
        """List visits."""
        return [{"seen": "2026-11-24T23:30:00Z"}]

    (tmp_path / "toolplan.toml").write_text(f'toolplan_zone = "{BERLIN}"\n', "utf-8")
    steps: list[Json] = [
        {"id": "v", "tool": "visits"},
        {
            "id": "q",
            "tool": "sql",
            "args": {"sql": "SELECT CAST(seen AS DATE) AS d FROM v", "tables": {"v": "${v}"}},
        },
    ]
    async with toolplan.open([visits], settings=tmp_path, journal=tmp_path / "runs") as app:
        run = await app.run({"toolplan": 1, "steps": steps})
    assert run.output == {"q": {"data": [{"d": "2026-11-25"}], "count": 1, "zone": BERLIN}}
    assert f"Times, days and hours are those of {BERLIN}." in str(run)


def test_today_is_that_of_the_zone() -> None:
    late = datetime(2026, 11, 24, 23, 30, tzinfo=UTC)

    def today(zone: str, given: str | None = None) -> str | None:
        user = User(settings=Settings({"toolplan_zone": zone}, environment={}))
        planner = ScriptedPlanner(Refusal("No."))
        app = toolplan.App([], planner, user=user, clock=late.timestamp)
        return app.wait(app.plan("When?", today=given)).question.today

    assert today(BERLIN) == (late.date() + timedelta(1)).isoformat()
    assert today("America/New_York") == late.date().isoformat()
    assert today(BERLIN, "2026-01-01") == "2026-01-01"
