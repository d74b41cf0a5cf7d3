"""Every filter of the list tools gives what direct SQL gives."""

import sqlite3

import pytest

from packages.demo.tests.conftest import Ask, Rows
from toolplan.plan.path import Json
from toolplan.schema.tool import ToolError

CASES: list[tuple[str, dict[str, Json], str]] = [
    ("shipments_list", {}, "true"),
    (
        "shipments_list",
        {"date_from": "2025-10-05", "date_to": "2025-10-12", "has_contaminants": True},
        "date BETWEEN '2025-10-05' AND '2025-10-12' AND has_contaminants",
    ),
    (
        "shipments_list",
        {"has_contaminants": False, "status": "rejected"},
        "NOT has_contaminants AND status = 'rejected'",
    ),
    ("shipments_list", {"facility_id": "F1"}, "facility_id = 'F1'"),
    ("shipments_list", {"facility_id": ["F1", "F2", "F1", "F999"]}, "facility_id IN ('F1', 'F2')"),
    (
        "shipments_list",
        {"waste_type": "PLASTIC", "carrier": "ecotrans gmbh"},
        "waste_type = 'plastic' AND carrier = 'EcoTrans'",
    ),
    (
        "shipments_list",
        {"origin": "hamburg", "destination": "Köln"},
        "origin = 'Hamburg' AND destination = 'Cologne'",
    ),
    (
        "shipments_list",
        {"min_weight_kg": 5000, "max_weight_kg": 6000.5},
        "weight_kg BETWEEN 5000 AND 6000.5",
    ),
    (
        "shipments_list",
        {"ids": ["S20251012-001", "S20251012-002"]},
        "id IN ('S20251012-001', 'S20251012-002')",
    ),
    ("shipments_list", {"date_to": "9999-12-31"}, "true"),
    ("facilities_list", {"location": "berlin"}, "location='Berlin'"),
    ("facilities_list", {"location": "MÜNCHEN"}, "location = 'Munich'"),
    ("facilities_list", {"type": "sorting"}, "type = 'sorting'"),
    (
        "facilities_list",
        {"min_capacity": 600, "max_capacity": 960},
        "capacity_tons BETWEEN 600 AND 960",
    ),
    ("facilities_list", {"ids": "F3"}, "id = 'F3'"),
    ("contaminants_list", {"shipment_ids": "S20251012-001"}, "shipment_id = 'S20251012-001'"),
    (
        "contaminants_list",
        {"facility_id": ["F15", "F16"], "risk_level": "high"},
        "facility_id IN ('F15', 'F16') AND risk_level = 'high'",
    ),
    (
        "contaminants_list",
        {"type": "lead", "min_concentration_ppm": 100, "max_concentration_ppm": 200},
        "type = 'Lead' AND concentration_ppm BETWEEN 100 AND 200",
    ),
    (
        "contaminants_list",
        {"date_from": "2025-10-01", "date_to": "2025-10-07"},
        "substr(detected_at, 1, 10) BETWEEN '2025-10-01' AND '2025-10-07'",
    ),
    ("contaminants_list", {"date_to": "9999-12-31"}, "true"),
    (
        "inspections_list",
        {"status": "accepted", "date_from": "2025-10-06", "date_to": "2025-10-12"},
        "status = 'accepted' AND date BETWEEN '2025-10-06' AND '2025-10-12'",
    ),
    (
        "inspections_list",
        {"has_risk_contaminants": True, "passed": True},
        "has_risk_contaminants AND passed",
    ),
    (
        "inspections_list",
        {"has_risk_contaminants": False, "facility_id": ["F1"]},
        "NOT has_risk_contaminants AND facility_id = 'F1'",
    ),
    (
        "inspections_list",
        {"inspector": "anna becker", "follow_up_required": True, "inspection_type": "arrival"},
        "inspector = 'Anna Becker' AND follow_up_required AND inspection_type = 'arrival'",
    ),
    ("inspections_list", {"shipment_id": ["S20251012-001"]}, "shipment_id = 'S20251012-001'"),
]
"""A tool, its arguments, and the condition of the rows that it gives."""


@pytest.mark.parametrize(("name", "arguments", "where"), CASES)
def test_a_filter_equals_direct_sql(
    name: str, arguments: dict[str, Json], where: str, rows: Rows, database: sqlite3.Connection
) -> None:
    sql = " ".join(("SELECT id FROM", name.removesuffix("_list"), "WHERE", where))
    expected = sorted(identity for (identity,) in database.execute(sql))
    assert expected
    assert sorted(str(row["id"]) for row in rows(name, **arguments)) == expected


def test_c07_today_has_contaminants(rows: Rows, database: sqlite3.Connection) -> None:
    """C-07: a date-only `date_to` means the end of that day, though `detected_at` has a time."""
    found = rows("contaminants_list", date_from="2025-10-12", date_to="2025-10-12")
    (expected,) = database.execute(
        "SELECT count(*) FROM contaminants WHERE detected_at LIKE '2025-10-12T%'"
    ).fetchone()
    assert len(found) == expected > 0


def test_c03_a_list_of_facilities_gives_all_that_they_have_alone(rows: Rows) -> None:
    """C-03: `facility_id` takes one id or a list."""
    together = rows("shipments_list", facility_id=["F1", "F2", "F3"])
    alone = [rows("shipments_list", facility_id=each) for each in ("F1", "F2", "F3")]
    assert all(alone)
    assert len(together) == sum(map(len, alone))


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("shipments_list", "facility_id"),
        ("shipments_list", "ids"),
        ("facilities_list", "ids"),
        ("contaminants_list", "shipment_ids"),
        ("contaminants_list", "facility_id"),
        ("inspections_list", "facility_id"),
        ("inspections_list", "shipment_id"),
    ],
)
def test_an_empty_list_means_none_and_one_id_is_as_good_as_a_list(
    name: str, argument: str, rows: Rows
) -> None:
    none: list[Json] = []
    assert rows(name, **{argument: none}) == []
    assert rows(name, **{argument: "invalid_id"}) == []
    some = rows(name, limit=3)
    column = {"ids": "id", "shipment_ids": "shipment_id"}.get(argument, argument)
    identity = some[0][column]
    assert rows(name, **{argument: identity}) == rows(name, **{argument: [identity]}) != []


def test_ten_thousand_ids_are_no_problem(rows: Rows) -> None:
    every = [row["id"] for row in rows("shipments_list")]
    assert len(every) > 10_000
    assert len(rows("contaminants_list", shipment_ids=[*every])) == len(rows("contaminants_list"))


def test_c12_without_a_limit_every_row_comes(rows: Rows, database: sqlite3.Connection) -> None:
    """C-12: a silent cut would falsify every rate that is computed from a list."""
    (count,) = database.execute("SELECT count(*) FROM shipments").fetchone()
    assert len(rows("shipments_list")) == count
    assert len(rows("shipments_list", limit=20)) == 20


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("shipments_list", "date"),
        ("contaminants_list", "detected_at"),
        ("inspections_list", "date"),
    ],
)
def test_lists_come_newest_first(name: str, field: str, rows: Rows) -> None:
    times = [str(row[field]) for row in rows(name)]
    assert times == sorted(times, reverse=True)
    assert rows(name, limit=5) == rows(name)[:5]


@pytest.mark.parametrize(
    ("name", "arguments", "reported"),
    [
        ("shipments_list", {"shipment_id": "S2"}, "no argument 'shipment_id'"),
        ("facilities_list", {"city": "Berlin"}, "no argument 'city'"),
        ("contaminants_list", {"risk_level": "high,critical"}, "risk_level"),
        ("facilities_list", {"type": "sorting,processing,disposal"}, "type"),
        ("shipments_list", {"status": "non_existent_status"}, "status"),
        ("shipments_list", {"date_from": "2025-13-45"}, "date_from"),
        ("contaminants_list", {"date_to": "today"}, "date_to"),
        ("shipments_list", {"limit": 0}, "limit"),
        ("facilities_list", {"ids": ""}, "ids"),
        ("inspections_list", {"has_risk_contaminants": "true"}, "has_risk_contaminants"),
        ("shipments_list", {"carrier": None}, "carrier"),
    ],
)
def test_c36_what_is_no_filter_is_refused(
    name: str, arguments: dict[str, Json], reported: str, ask: Ask
) -> None:
    """C-36: an unknown filter, or an impossible value, is refused and never ignored."""
    with pytest.raises(ToolError, match=reported):
        ask(name, **arguments)


@pytest.mark.parametrize("text", ["%", "Ber%", ".*", "Berlin' OR '1'='1", "_erlin", "Berlin;--"])
def test_text_is_never_a_pattern_nor_sql(text: str, rows: Rows) -> None:
    assert rows("facilities_list", location=text) == []
    assert rows("shipments_list", carrier=text, origin=text) == []


@pytest.mark.parametrize(
    ("location", "city"),
    [("munich", "Munich"), (" München ", "Munich"), ("KÖLN", "Cologne"), ("Hanover", "Hannover")],
)
def test_a_city_is_found_by_its_other_spellings(location: str, city: str, rows: Rows) -> None:
    found = rows("facilities_list", location=location)
    assert found
    assert all(row["location"] == city for row in found)


def test_recorded_ids_of_other_systems_are_simply_not_there(rows: Rows) -> None:
    assert rows("inspections_list", shipment_id="S2") == []
    assert rows("shipments_list", facility_id="invalid_id") == []
