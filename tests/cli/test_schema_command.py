"""`toolplan schema`."""

from __future__ import annotations

from tests.cli.calls import Call
from toolplan.plan_json import json_schema


def test_the_schema_is_printed(call: Call) -> None:
    assert call("schema").json == json_schema()
    said = call("schema", "--tools", "toolplan_demo:TOOLS", "--json")
    assert "facilities_list" in said.json["$defs"]["step"]["properties"]["tool"]["enum"]
