"""What happened on a day is a pure function of seed and day."""

import datetime
import sqlite3
import subprocess
import sys

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import astuple

from toolplan_demo import open_database
from toolplan_demo.database import DEFAULT_ROWS
from toolplan_demo.domain import RISKS
from toolplan_demo.rows import DAYS, deliveries, loads

DAY = datetime.date(2025, 10, 5)


def day_of(connection: sqlite3.Connection, day: datetime.date) -> list[list[tuple[object, ...]]]:
    queries = (
        "SELECT * FROM shipments WHERE date = ? ORDER BY id",
        "SELECT * FROM contaminants WHERE substr(detected_at, 1, 10) = ? ORDER BY id",
        "SELECT * FROM inspections WHERE date = ? ORDER BY id",
    )
    return [connection.execute(query, (day.isoformat(),)).fetchall() for query in queries]


def test_a_day_has_the_same_rows_whatever_the_last_day_is() -> None:
    found: list[list[list[tuple[object, ...]]]] = []
    for last in (DAY, DAY + datetime.timedelta(days=7), DAY + datetime.timedelta(days=400)):
        connection = open_database(last, rows=2_000)
        found.append(day_of(connection, DAY))
        connection.close()
    assert found[0] == found[1] == found[2]
    assert all(found[0])


@given(st.dates(datetime.date(2000, 1, 1), datetime.date(2100, 1, 1)), st.integers(0, 2**40))
@settings(max_examples=60, deadline=None)
def test_each_day_has_shipments_contaminants_and_inspections(day: datetime.date, seed: int) -> None:
    drawn = list(deliveries(seed, day, rows=1_500))
    assert drawn == list(deliveries(seed, day, rows=1_500))
    assert any(each.contaminants for each in drawn)
    assert any(each.inspections for each in drawn)
    assert all(each.shipment.date == day.isoformat() for each in drawn)


@given(st.dates(datetime.date(2000, 1, 1), datetime.date(2100, 1, 1)))
@settings(max_examples=20, deadline=None)
def test_fewer_rows_are_the_first_ones_of_more(day: datetime.date) -> None:
    few, many = list(deliveries(7, day, rows=2_000)), list(deliveries(7, day, rows=20_000))
    assert many[: len(few)] == few
    assert len(many) > len(few)


def test_another_seed_gives_other_rows_and_other_loads() -> None:
    assert list(deliveries(1, DAY, DEFAULT_ROWS)) != list(deliveries(2, DAY, DEFAULT_ROWS))
    first, second = loads(1), loads(2)
    assert first != second
    assert loads(1) == first


def test_a_known_day_stays_as_it_is() -> None:
    first = next(deliveries(2025, datetime.date(2025, 10, 12), DEFAULT_ROWS))
    assert astuple(first.shipment)[:8] == (
        "S20251012-001",
        "F12",
        "2025-10-12",
        "delivered",
        2840,
        True,
        "Hamburg",
        "Stuttgart",
    )


def test_the_data_is_two_years_up_to_the_last_day(database: sqlite3.Connection) -> None:
    first, last, days, count = database.execute(
        "SELECT min(date), max(date), count(DISTINCT date), count(*) FROM shipments"
    ).fetchone()
    assert (first, last, days) == ("2023-10-13", "2025-10-12", DAYS)
    assert 10_000 < count < 12_000


def test_ids_are_unique_and_belong_to_their_day(database: sqlite3.Connection) -> None:
    for table in ("shipments", "inspections"):
        wrong = "SELECT count(*) FROM {} WHERE substr(id, 2, 8) <> replace(date, '-', '')"
        assert database.execute(wrong.replace("{}", table)).fetchone() == (0,)


def test_rows_agree_with_each_other(database: sqlite3.Connection) -> None:
    contradictions = (
        "SELECT count(*) FROM shipments s WHERE has_contaminants <> EXISTS"
        " (SELECT 1 FROM contaminants c WHERE c.shipment_id = s.id)",
        "SELECT count(*) FROM shipments s LEFT JOIN facilities f ON f.id = s.facility_id"
        " WHERE f.id IS NULL OR f.location <> s.destination",
        "SELECT count(*) FROM contaminants c LEFT JOIN shipments s ON s.id = c.shipment_id"
        " WHERE s.id IS NULL OR s.facility_id <> c.facility_id"
        " OR s.date <> substr(c.detected_at, 1, 10)",
        "SELECT count(*) FROM inspections i LEFT JOIN shipments s ON s.id = i.shipment_id"
        " WHERE s.id IS NULL OR s.facility_id <> i.facility_id OR s.date <> i.date",
        "SELECT count(*) FROM inspections i WHERE has_risk_contaminants <> EXISTS"
        " (SELECT 1 FROM contaminants c WHERE c.shipment_id = i.shipment_id"
        " AND c.risk_level IN ('high', 'critical'))",
        "SELECT count(*) FROM inspections WHERE passed IS NOT"
        " CASE status WHEN 'accepted' THEN 1 WHEN 'rejected' THEN 0 END",
        "SELECT count(*) FROM shipments s, facilities f WHERE f.id = s.facility_id"
        " AND instr(f.accepted_waste_types, '\"' || s.waste_type || '\"') = 0",
    )
    for query in contradictions:
        assert database.execute(query).fetchone() == (0,), query


def test_carriers_differ_in_how_often_they_are_contaminated(database: sqlite3.Connection) -> None:
    rates = database.execute(
        "SELECT carrier, avg(has_contaminants) AS rate FROM shipments GROUP BY 1 ORDER BY 2 DESC"
    ).fetchall()
    assert [carrier for carrier, _ in rates[:3]] == ["BulkMovers", "NordWaste", "Alpen Entsorgung"]
    assert rates[0][1] > 0.3 > 0.15 > rates[-1][1]


def test_there_are_seasons_weekdays_and_outliers(database: sqlite3.Connection) -> None:
    def one(query: str) -> float:
        return float(database.execute(query).fetchone()[0])

    organic = "SELECT count(*) FROM shipments WHERE waste_type = 'organic' AND substr(date, 6, 2) "
    assert one(organic + "IN ('06', '07', '08')") > 1.5 * one(organic + "IN ('12', '01', '02')")
    weekday = "SELECT count(*) FROM shipments WHERE strftime('%w', date) = "
    assert one(weekday + "'2'") > 1.5 * one(weekday + "'0'")
    assert one("SELECT count(*) FROM shipments WHERE weight_kg > 10000") > 10
    assert one("SELECT max(concentration_ppm) / avg(concentration_ppm) FROM contaminants") > 5
    risks = database.execute("SELECT DISTINCT risk_level FROM contaminants").fetchall()
    assert {risk for (risk,) in risks} == set(RISKS)


def test_ten_times_the_rows_build_and_answer() -> None:
    connection = open_database(DAY, rows=30_000)
    (count,) = connection.execute("SELECT count(*) FROM shipments").fetchone()
    connection.close()
    assert 28_000 < count < 32_000


def test_importing_builds_nothing() -> None:
    script = (
        "import sqlite3\n"
        "def refuse(*given, **named): raise AssertionError('a database was opened')\n"
        "sqlite3.connect = refuse\n"
        "import toolplan_demo\n"
        "print(len(toolplan_demo.TOOLS))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) >= 18
