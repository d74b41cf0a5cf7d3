"""The demo's tools: names, schemas, hints, gets and reports."""

import datetime
import json
import sqlite3
from pathlib import Path

import jsonschema_rs
import pytest

from packages.demo.tests.conftest import Ask, Rows, function, listed, node
from toolplan.plan.path import Json
from toolplan.schema.tool import Effects, Toolbox, ToolError
from toolplan_demo import TOOLS, demo_tools

RECORDED = Path(__file__).parents[4] / "shared" / "data" / "clearai_recorded_plans.json"
WRITES = {
    "shipments_create": False,
    "shipments_update": True,
    "facilities_create": False,
    "facilities_update": True,
    "inspections_create": False,
}
TOOL_HINTS = {"x-entity", "x-verb", "x-synonyms", "x-aliases", "x-order"}
FIELD_HINTS = {
    "x-synonyms", "x-values", "x-cue", "x-role", "x-field", "x-ref", "x-kind", "x-gazetteer",
    "x-unit", "x-part-of", "x-entity",
}  # fmt: skip


def input_properties(tools: Toolbox, name: str) -> dict[str, Json]:
    return node(node(tools[name].raw_input)["properties"])


def objects_in(value: Json) -> list[dict[str, Json]]:
    found: list[dict[str, Json]] = []
    if isinstance(value, dict):
        found.append(value)
        for inner in value.values():
            found.extend(objects_in(inner))
    elif isinstance(value, list):
        for inner in value:
            found.extend(objects_in(inner))
    return found


def test_there_is_one_tool_for_each_use_and_none_that_deletes(tools: Toolbox) -> None:
    assert set(tools) == {
        *(f"{kind}_list" for kind in ("shipments", "facilities", "contaminants", "inspections")),
        *(f"{kind}_get" for kind in ("shipments", "facilities", "contaminants", "inspections")),
        "shipments_get_with_contaminants",
        "facilities_get_with_activity",
        "analytics_contamination_rate",
        "analytics_facility_performance",
        "analytics_waste_distribution",
        "analytics_risk_trends",
        *WRITES,
    }
    assert all(node(tool.raw_input)["x-verb"] != "delete" for tool in tools.values())


def test_reads_are_reads_and_writes_are_writes(tools: Toolbox) -> None:
    for name, tool in tools.items():
        assert tool.effects is (Effects.WRITE if name in WRITES else Effects.READ)
        assert tool.idempotent is WRITES.get(name, False)


@pytest.mark.parametrize("name", list(TOOLS))
def test_schemas_are_valid_closed_and_described(name: str) -> None:
    tool = TOOLS[name]
    assert tool.unusable is None
    for schema in (tool.raw_input, tool.raw_output):
        jsonschema_rs.meta.validate(node(schema))
        assert json.loads(json.dumps(schema)) == schema
        for each in objects_in(schema):
            if each.get("type") == "object":
                assert each["additionalProperties"] is False
    for argument in node(node(tool.raw_input)["properties"]).values():
        assert node(argument)["description"]


@pytest.mark.parametrize("name", list(TOOLS))
def test_hints_are_those_of_the_vocabulary(name: str) -> None:
    tool = TOOLS[name]
    root = node(tool.raw_input)
    assert {key for key in root if key.startswith("x-")} <= TOOL_HINTS
    assert {"x-entity", "x-verb", "x-synonyms"} <= root.keys()
    fields = [*objects_in(root["properties"]), *objects_in(tool.raw_output)]
    used = {key for each in fields for key in each if key.startswith("x-")}
    assert used <= FIELD_HINTS
    for each in fields:
        values, known = each.get("x-values"), each.get("enum", each.get("x-gazetteer"))
        if isinstance(values, dict) and known is not None:
            assert set(values) <= {str(name) for name in listed(known)}


def test_every_id_argument_and_every_id_column_says_whose_it_is(tools: Toolbox) -> None:
    for tool in tools.values():
        for each in [*objects_in(tool.raw_input), *objects_in(tool.raw_output)]:
            if not isinstance(properties := each.get("properties"), dict):
                continue
            for name, field in properties.items():
                if name in ("id", "ids") or name.endswith(("_id", "_ids")):
                    assert str(node(field)["x-ref"]).endswith(".id")


def test_c02_names_of_the_older_catalogue_are_aliases(tools: Toolbox) -> None:
    """C-02: `shipments`, `facilities`, `contaminants-detected`, `inspections`."""
    assert tools.alias("shipments") == "shipments_list"
    assert tools.alias("facilities") == "facilities_list"
    assert tools.alias("contaminants-detected") == "contaminants_list"
    assert tools.alias("inspections") == "inspections_list"


def test_c13_shipments_know_their_way_and_each_kind_can_be_got(tools: Toolbox) -> None:
    """C-13: `origin` and `destination` on shipments_list, and `*_get`."""
    assert {"origin", "destination"} <= input_properties(tools, "shipments_list").keys()
    assert {f"{kind}_get" for kind in ("shipments", "facilities", "contaminants")} <= set(tools)


def test_f003_7_all_filters_of_the_seed_are_there_and_none_is_required(tools: Toolbox) -> None:
    """F003-7, with `limit` on every list (F000-15)."""
    wanted = {
        "shipments_list": "date_from date_to facility_id status has_contaminants waste_type"
        " carrier",
        "facilities_list": "location type min_capacity ids",
        "contaminants_list": "shipment_ids facility_id date_from date_to type risk_level",
        "inspections_list": "date_from date_to status facility_id shipment_id"
        " has_risk_contaminants",
    }
    for name, arguments in wanted.items():
        assert {*arguments.split(), "limit"} <= input_properties(tools, name).keys()
        assert node(tools[name].raw_input)["required"] == []
        assert node(input_properties(tools, name)["limit"])["minimum"] == 1


def test_enums_take_one_value(tools: Toolbox) -> None:
    """F000-24: what the source said in prose only is an `enum` here."""
    expected = {
        ("shipments_list", "status"): ["pending", "in_transit", "delivered", "rejected"],
        ("contaminants_list", "risk_level"): ["low", "medium", "high", "critical"],
        ("facilities_list", "type"): ["sorting", "processing", "disposal"],
        ("inspections_list", "status"): ["accepted", "rejected", "pending"],
    }
    for (name, argument), options in expected.items():
        assert node(input_properties(tools, name)[argument])["enum"] == options


@pytest.mark.parametrize(
    ("name", "identity", "reported"),
    [
        ("shipments_get", "S999", "Shipment 'S999' not found"),
        ("facilities_get", "F999", "Facility 'F999' not found"),
        ("contaminants_get", "nope", "Contaminant 'nope' not found"),
        ("inspections_get", "nope", "Inspection 'nope' not found"),
        ("shipments_get_with_contaminants", "S999", "Shipment 'S999' not found"),
        ("facilities_get_with_activity", "F999", "Facility 'F999' not found"),
    ],
)
def test_what_is_not_there_is_not_found(name: str, identity: str, reported: str, ask: Ask) -> None:
    with pytest.raises(ToolError, match=reported):
        ask(name, id=identity)


@pytest.mark.parametrize("kind", ["shipments", "facilities", "contaminants", "inspections"])
def test_a_get_gives_the_row_of_the_list(kind: str, rows: Rows, ask: Ask) -> None:
    some = rows(f"{kind}_list", limit=3)
    assert [ask(f"{kind}_get", id=row["id"]) for row in some] == some


def test_a_shipment_comes_with_what_was_found_in_it(ask: Ask, rows: Rows) -> None:
    identity = "S20251012-001"
    data = node(ask("shipments_get_with_contaminants", id=identity))
    assert data["shipment"] == ask("shipments_get", id=identity)
    assert data["contaminants"] == rows("contaminants_list", shipment_ids=identity)
    assert data["contaminant_count"] == len(rows("contaminants_list", shipment_ids=identity)) > 0


def test_a_facility_comes_with_its_last_days(ask: Ask, rows: Rows) -> None:
    data = node(ask("facilities_get_with_activity", id="F1", days=7))
    assert (data["date_from"], data["date_to"]) == ("2025-10-06", "2025-10-12")
    between: dict[str, Json] = {"date_from": "2025-10-06", "date_to": "2025-10-12"}
    assert data["shipments"] == rows("shipments_list", facility_id="F1", **between)
    assert data["inspections"] == rows("inspections_list", facility_id="F1", **between)
    assert data["facility"] == ask("facilities_get", id="F1")


def test_the_contamination_rate_has_its_denominator(ask: Ask, database: sqlite3.Connection) -> None:
    """C-12: contaminated of all shipments, not of the contaminated ones."""
    total, dirty = database.execute(
        "SELECT count(*), sum(has_contaminants) FROM shipments"
        " WHERE date BETWEEN '2025-09-01' AND '2025-09-30'"
    ).fetchone()
    data = node(ask("analytics_contamination_rate", date_from="2025-09-01", date_to="2025-09-30"))
    assert (data["total_shipments"], data["contaminated_shipments"]) == (total, dirty)
    assert data["clean_shipments"] == total - dirty
    assert data["contamination_rate_percent"] == round(100 * dirty / total, 2)


def test_a_rate_of_nothing_is_null_and_no_division_by_zero(ask: Ask) -> None:
    nothing = node(ask("analytics_contamination_rate", date_to="1999-01-02"))
    assert nothing["total_shipments"] == 0
    assert nothing["contamination_rate_percent"] is None
    assert ask("analytics_waste_distribution", date_to="1999-01-01") == []


def test_facility_performance_counts_every_facility(ask: Ask, rows: Rows) -> None:
    found = rows("analytics_facility_performance")
    facilities = [row["id"] for row in rows("facilities_list")]
    assert [row["facility_id"] for row in found] == facilities
    accepted = rows("inspections_list", facility_id="F1", status="accepted")
    rejected = rows("inspections_list", facility_id="F1", status="rejected")
    first = next(row for row in found if row["facility_id"] == "F1")
    share = 100 * len(accepted) / (len(accepted) + len(rejected))
    assert first["acceptance_rate_percent"] == pytest.approx(share, abs=0.005)


def test_waste_distribution_sums_to_all_shipments(rows: Rows, database: sqlite3.Connection) -> None:
    found = rows("analytics_waste_distribution")
    totals = database.execute(
        "SELECT count(*), sum(weight_kg), sum(has_contaminants) FROM shipments"
    ).fetchone()
    columns = ("shipment_count", "total_weight_kg", "contaminated_count")
    added = [sum(n for row in found if isinstance(n := row[name], int)) for name in columns]
    assert added == [*totals]


def test_risk_trends_have_every_day_of_the_period(ask: Ask, database: sqlite3.Connection) -> None:
    data = node(ask("analytics_risk_trends", days=30))
    trends = listed(data["trends"])
    assert (data["period_days"], len(trends)) == (30, 30)
    assert (data["start_date"], data["end_date"]) == ("2025-09-13", "2025-10-12")
    (expected,) = database.execute(
        "SELECT count(*) FROM contaminants WHERE detected_at >= '2025-09-13'"
    ).fetchone()
    assert sum(n for day in trends if isinstance(n := node(day)["total"], int)) == expected
    august = node(ask("analytics_risk_trends", date_from="2025-08-01", date_to="2025-08-31"))
    assert august["period_days"] == 31


@pytest.mark.parametrize(
    "arguments",
    [{"days": 3, "date_from": "2025-10-01"}, {"date_from": "2025-10-02", "date_to": "2025-10-01"}],
)
def test_a_period_that_makes_no_sense_is_refused(arguments: dict[str, Json], ask: Ask) -> None:
    with pytest.raises(ToolError, match="period"):
        ask("analytics_risk_trends", **arguments)


async def test_the_default_toolbox_ends_today() -> None:
    trends = function(demo_tools(rows=731), "analytics_risk_trends")
    before = datetime.date.today()
    ended = node(node(await trends({"days": 1}))["data"])["end_date"]
    assert ended in (before.isoformat(), datetime.date.today().isoformat())


def test_recorded_plans_name_arguments_that_exist() -> None:
    """The arguments that 20 recorded third-party plans use rightly exist, the others do not."""
    if not RECORDED.exists():
        pytest.skip("the recorded plans are not here")
    wrong: set[tuple[str, str]] = set()
    for plan in json.loads(RECORDED.read_text(encoding="utf-8")):
        for step in plan["steps"]:
            if step["tool"] not in TOOLS:
                continue
            known = input_properties(TOOLS, step["tool"])
            wrong |= {(step["tool"], name) for name in step["params"] if name not in known}
    assert wrong == {
        ("shipments_list", "shipment_id"),
        ("shipments_list", "shipment_ids"),
        ("shipments_create", "from_facility_id"),
        ("shipments_create", "to_facility_id"),
        ("shipments_create", "quantity"),
        ("facilities_create", "capacity"),
        ("facilities_update", "load"),
    }
