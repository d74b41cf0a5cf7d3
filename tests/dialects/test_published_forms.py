"""The plans of the seeds' own documents: each is read as it is written, and says what it should."""

import json

import pytest

from toolplan.compiler import compile_plan, parse
from toolplan.plan.canonical import dump
from toolplan.plan.path import Json
from toolplan_demo import TOOLS

Args = dict[str, Json]
LISTS = ["shipments_list", "facilities_list", "inspections_list"]
CLEAR: dict[str, tuple[list[Args], list[tuple[str, Args]]]] = {
    "1 simple": (
        [{"tool": "shipments_list", "params": {"date_from": "2025-10-05", "limit": 100},
          "depends_on": [], "parallel": False}],
        [("shipments_list", {"date_from": "2025-10-05", "limit": 100})],
    ),
    "2 filtered": (
        [{"tool": "shipments_list", "params": {"has_contaminants": True, "status": "rejected"}}],
        [("shipments_list", {"has_contaminants": True, "status": "rejected"})],
    ),
    "4 dependencies": (
        [{"tool": "shipments_list", "params": {"has_contaminants": True}, "depends_on": []},
         {"tool": "contaminants_list", "params": {"shipment_ids": "${step[0].data.*.id}"},
          "depends_on": [0], "parallel": False}],
        [("shipments_list", {"has_contaminants": True}),
         ("contaminants_list", {"shipment_ids": "${s0.data[*].id}"})],
    ),
    "5 nested data": (
        [{"tool": "facilities_list", "params": {"location": "Hannover"}, "depends_on": []},
         {"tool": "contaminants_list", "depends_on": [0],
          "params": {"facility_id": "${step[0].data.*.id}", "date_from": "2025-10-12"}}],
        [("facilities_list", {"location": "Hannover"}),
         ("contaminants_list", {"facility_id": "${s0.data[*].id}", "date_from": "2025-10-12"})],
    ),
    "6 parallel": (
        [{"tool": tool, "params": {}, "parallel": True} for tool in LISTS],
        [(tool, {}) for tool in LISTS],
    ),
    "7 three steps": (
        [{"tool": "facilities_list", "params": {"location": "Berlin"}, "depends_on": []},
         {"tool": "shipments_list", "params": {"facility_id": "${step[0].data.*.id}"},
          "depends_on": [0]},
         {"tool": "contaminants_list", "params": {"shipment_ids": "${step[1].data.*.id}"},
          "depends_on": [1]}],
        [("facilities_list", {"location": "Berlin"}),
         ("shipments_list", {"facility_id": "${s0.data[*].id}"}),
         ("contaminants_list", {"shipment_ids": "${s1.data[*].id}"})],
    ),
    "one of the first": (
        [{"tool": "shipments_list", "params": {}},
         {"tool": "facilities_get", "params": {"id": "${step[0].data[0].facility_id}"},
          "depends_on": [0]}],
        [("shipments_list", {}), ("facilities_get", {"id": "${s0.data[0].facility_id}"})],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CLEAR)
def test_the_plans_of_clear_ais_pages_pass_the_check(case: str) -> None:
    """Seed 000, *Example Queries* and *Template Syntax*."""
    written, expected = CLEAR[case]
    compiled = compile_plan(json.dumps({"steps": written}), "clear", tools=TOOLS)
    assert compiled.plan is not None, compiled.diagnostics
    steps = dump(compiled.plan.plan)["steps"]
    assert isinstance(steps, list)
    found = [(s["tool"], s.get("args", {})) for s in steps if isinstance(s, dict)]
    assert found == expected


KIRHA: dict[str, tuple[Args, Args]] = {
    "a whole output": ({"x": "{0}"}, {"x": "${s0}"}),
    "a template": ({"city": "{0.location}"}, {"city": "${s0.location}"}),
    "text around": (
        {"message": "Weather in {0.city}: {0.temperature}°C"},
        {"message": "Weather in ${s0.city}: ${s0.temperature}°C"},
    ),
    "an object": (
        {"city": {"fromStep": 0, "outputKey": "location"}}, {"city": "${s0.location}"}
    ),
    "a nested field": ({"x": "{0.data.nested}"}, {"x": "${s0.data.nested}"}),
    "an element": ({"x": "{0.items[0].name}"}, {"x": "${s0.items[0].name}"}),
    "an element by a dot": (
        {"x": {"fromStep": 0, "outputKey": "coins.0.id"}}, {"x": "${s0.coins[0].id}"}
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", KIRHA)
def test_the_references_of_kirhas_page_are_read(case: str) -> None:
    """Seed 002, *Dependency References*, inside of the form that its model writes."""
    arguments, expected = KIRHA[case]
    steps: list[Args] = [
        {"thought": "First", "toolName": "get_location", "arguments": {"userId": "123"}},
        {"thought": "Then", "toolName": "get_weather", "arguments": arguments},
    ]
    text = f"<think>\nI need both.\n</think>\n<plan>\n{json.dumps(steps)}\n</plan>"
    parsed = parse(text, "kirha")
    assert parsed.plan is not None, parsed.diagnostics
    assert [each for each in parsed.diagnostics if each.blocks] == []
    found = dump(parsed.plan)["steps"]
    assert isinstance(found, list)
    assert isinstance(last := found[1], dict)
    assert (last["tool"], last["args"]) == ("get_weather", expected)
