"""Writes: what they demand, what they keep, and who sees them."""

import asyncio
import gc

import pytest

from packages.demo.tests.conftest import TODAY, Ask, asking, function, listed, node
from toolplan.plan.path import Json
from toolplan.schema.tool import Toolbox, ToolError
from toolplan_demo import demo_tools

FACILITY: dict[str, Json] = {
    "name": "Kiel Förde",
    "location": "Kiel",
    "type": "sorting",
    "capacity_tons": 90,
}


def test_a_new_shipment_is_seen_by_every_later_read(ask_writable: Ask) -> None:
    made = node(
        ask_writable(
            "shipments_create",
            facility_id="F1",
            weight_kg=1500.5,
            origin="münchen",
            carrier="ECOTRANS GMBH",
            waste_type="mixed plastic",
        )
    )
    assert made["status"] == "pending"
    assert made["date"] == TODAY.isoformat()
    assert made["destination"] == "Berlin"
    assert (made["origin"], made["carrier"]) == ("Munich", "EcoTrans")
    assert ask_writable("shipments_get", id=made["id"]) == made
    assert ask_writable("shipments_list", carrier="EcoTrans", waste_type="Mixed plastic") == [made]


def test_new_ids_follow_the_last_of_their_day(ask_writable: Ask) -> None:
    def make(date: str) -> str:
        made = ask_writable("shipments_create", facility_id="F2", weight_kg=10, date=date)
        return str(node(made)["id"])

    day = "2025-10-12"
    n = len(listed(ask_writable("shipments_list", date_from=day, date_to=day)))
    assert [make(day), make(day)] == [f"S20251012-{n + 1:03d}", f"S20251012-{n + 2:03d}"]
    assert [make("2031-01-01"), make("2031-01-01")] == ["S20310101-001", "S20310101-002"]


def test_an_update_changes_what_is_given_and_nothing_else(ask_writable: Ask) -> None:
    identity = "S20251012-001"
    before = node(ask_writable("shipments_get", id=identity))
    changed = ask_writable("shipments_update", id=identity, status="in_transit")
    assert changed == before | {"status": "in_transit"}
    assert ask_writable("shipments_update", id=identity, status="in_transit") == changed
    moved = node(ask_writable("shipments_update", id=identity, facility_id="F15"))
    assert (moved["facility_id"], moved["destination"]) == ("F15", "Hannover")


def test_facilities_are_made_and_changed(ask_writable: Ask) -> None:
    made = node(ask_writable("facilities_create", **FACILITY))
    assert made["id"] == "F20"
    assert (made["accepted_waste_types"], made["coordinates"]) == ([], None)
    update: dict[str, Json] = {
        "current_load_tons": 12.5,
        "accepted_waste_types": ["paper", "glass"],
    }
    changed = node(ask_writable("facilities_update", id="F20", **update))
    assert changed == made | update
    assert ask_writable("facilities_list", location="kiel") == [changed]


def test_an_inspection_knows_what_was_found_in_its_shipment(ask_writable: Ask) -> None:
    identity = "S20251012-001"
    made = node(ask_writable("inspections_create", shipment_id=identity, status="rejected"))
    shipment = node(ask_writable("shipments_get", id=identity))
    found = listed(ask_writable("contaminants_list", shipment_ids=identity))
    assert made["facility_id"] == shipment["facility_id"]
    assert (made["passed"], made["date"]) == (False, TODAY.isoformat())
    detected = listed(made["contaminants_detected"])
    assert set(map(str, detected)) == {str(node(each)["type"]) for each in found}
    inspections = listed(ask_writable("inspections_list", shipment_id=identity))
    assert made in inspections
    assert len({str(node(each)["id"]) for each in inspections}) == len(inspections)


@pytest.mark.parametrize(
    ("name", "arguments", "reported"),
    [
        ("shipments_create", {"facility_id": "F1"}, "'weight_kg' is missing"),
        ("shipments_create", {"facility_id": "F1", "weight_kg": 0}, "weight_kg"),
        ("shipments_create", {"facility_id": "F99", "weight_kg": 1}, "Facility 'F99' not found"),
        ("shipments_create", {"facility_id": "F1", "weight_kg": 1, "quantity": 2}, "quantity"),
        ("shipments_update", {"id": "S2", "status": "rejected"}, "Shipment 'S2' not found"),
        ("shipments_update", {"id": "S20251012-001"}, "nothing to change"),
        ("shipments_update", {"id": "S20251012-001", "status": "lost"}, "status"),
        ("facilities_create", {"name": "X", "location": "Y", "type": "sorting"}, "capacity_tons"),
        ("facilities_update", {"id": "F99", "name": "X"}, "Facility 'F99' not found"),
        ("facilities_update", {"id": "F1"}, "nothing to change"),
        ("facilities_update", {"id": "F1", "contact_email": "no mail"}, "contact_email"),
        ("inspections_create", {"shipment_id": "S2"}, "Shipment 'S2' not found"),
        ("inspections_create", {}, "'shipment_id' is missing"),
        (
            "inspections_create",
            {"shipment_id": "S20251012-001", "facility_id": "F999"},
            "goes to facility",
        ),
    ],
)
def test_a_write_that_cannot_be_is_refused_and_writes_nothing(
    name: str, arguments: dict[str, Json], reported: str, ask_writable: Ask
) -> None:
    listing = name.split("_")[0] + "_list"
    before = ask_writable(listing)
    with pytest.raises(ToolError, match=reported):
        ask_writable(name, **arguments)
    assert ask_writable(listing) == before


async def test_concurrent_writes_and_reads_do_not_lose_anything(writable: Toolbox) -> None:
    create, listing = (function(writable, f"shipments_{verb}") for verb in ("create", "list"))
    made = [create({"facility_id": "F1", "weight_kg": n + 1}) for n in range(40)]
    read = [listing({"limit": 5}) for _ in range(40)]
    done = await asyncio.gather(*made, *read)
    seen = await listing({"status": "pending", "date_from": TODAY.isoformat()})
    ids = {str(node(node(each)["data"])["id"]) for each in done[:40]}
    assert len(ids) == 40
    assert ids <= {str(node(row)["id"]) for row in listed(node(seen)["data"])}


def test_toolboxes_do_not_share_their_rows(ask_writable: Ask, ask: Ask) -> None:
    made = node(ask_writable("facilities_create", **FACILITY))
    with pytest.raises(ToolError, match="not found"):
        ask("facilities_get", id=made["id"])


def test_a_toolbox_that_is_dropped_leaves_no_open_database() -> None:
    def use() -> int:
        return len(listed(asking(demo_tools(TODAY, rows=731))("facilities_list")))

    assert use() == 19
    gc.collect()  # a connection left open would be a warning, and so an error
