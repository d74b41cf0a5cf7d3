"""`tools`: with it and the form of a plan a client plans that has no model behind the server."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

import pytest
from mcp import Client

from tests.mcp_server.served import content, in_loop, scripted, serving
from toolplan.demo import TOOLS as DEMO
from toolplan.mcp_server._tools import EXAMPLE
from toolplan.path import Json
from toolplan.plan_json import load
from toolplan.planners import Clarification
from toolplan.schema import Schema
from toolplan.testing import ScriptedPlanner
from toolplan.tools import Tool, Toolbox


def the_form(check: Any) -> Schema:
    """Return the schema of plans as it is in the input schema of `check`."""
    schema = check.input_schema
    form = schema["properties"]["plan"]["anyOf"][0]
    return Schema.load({**form, "$defs": schema["$defs"]})


def written(reader: Any, giver: Any, value: str) -> dict[str, Any]:
    """Return a plan in the form of the example: one tool gives what another takes item by item."""
    (argument,) = giver["input_schema"]["required"]
    (taken,) = reader["input_schema"]["required"]
    properties = cast("dict[str, Any]", giver["output_schema"]["properties"])
    (items,) = (key for key, part in properties.items() if part.get("type") == "array")
    return {
        "toolplan": 1,
        "steps": [
            {"id": "found", "tool": giver["name"], "args": {argument: value}},
            {
                "id": "each",
                "tool": reader["name"],
                "for_each": f"${{found.{items}}}",
                "args": {taken: "${item}"},
            },
        ],
        "output": "${each}",
    }


def test_a_client_that_knows_only_what_the_server_says_plans_and_runs(tmp_path: Path) -> None:
    """A8: no model, and no knowledge of toolplan."""
    tools = scripted()
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    tools.add("age_of", input_schema=cast("Any", schema))

    async def work() -> None:
        async with serving(tmp_path, tools.toolbox) as served, Client(served.server) as client:
            offered = {tool.name: tool for tool in (await client.list_tools()).tools}
            example = offered["check"].input_schema["properties"]["plan"]["examples"][0]
            form = the_form(offered["check"])
            assert not form.violations(example)
            found = content(await client.call_tool("tools", {"query": "people"}))["tools"]
            other = content(await client.call_tool("tools", {"query": "age of", "schemas": True}))[
                "tools"
            ]
            plan = written(other[0], found[0], "red")
            assert set(plan) <= set(example)
            assert not form.violations(plan)
            checked = content(await client.call_tool("check", {"plan": plan}))
            assert checked["valid"], checked["diagnostics"]
            ran = content(await client.call_tool("run", {"digest": checked["digest"]}))
            assert ran["status"] == "succeeded"
            assert len(ran["output"]) == 2

    in_loop(work)


def test_the_form_says_what_is_a_plan_and_the_check_still_explains(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path, scripted().toolbox) as served, Client(served.server) as client:
            offered = {tool.name: tool for tool in (await client.list_tools()).tools}
            bad: Json = {"toolplan": 1, "steps": [{"id": "a", "tool": "people", "argz": {}}]}
            assert the_form(offered["check"]).violations(bad)
            found = content(await client.call_tool("check", {"plan": bad}))
            assert "unknown-field" in [each["code"] for each in found["diagnostics"]]
            # the example is text too, for clients that show a model only descriptions
            text = offered["check"].description or ""
            assert json.loads(re.findall(r"\{.*\}", text)[0]) == EXAMPLE
            for tool in offered.values():
                assert len(json.dumps(tool.input_schema)) < 12_000

    in_loop(work)


def test_the_example_is_a_plan() -> None:
    assert load(EXAMPLE).plan is not None
    assert not load(EXAMPLE).diagnostics


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        ({}, "shipments_list"),
        ({"query": "inspections of a facility"}, "inspections_list"),
        ({"query": "facilities_list"}, "facilities_list"),
        ({"query": "FACILITIES"}, "facilities_"),
    ],
)
def test_tools_are_found_with_signatures_and_schemas_on_demand(
    tmp_path: Path, arguments: dict[str, Any], first: str
) -> None:
    async def work() -> None:
        async with serving(tmp_path, DEMO) as served:
            found = await served.call("tools", **arguments, limit=3)
            assert len(found["tools"]) <= 3
            best = found["tools"][0]
            assert best["name"].startswith(first)
            tool = DEMO[best["name"]]
            assert best["signature"].startswith(f"{tool.name}(")
            assert best["effects"] == tool.effects.value
            assert ("input_schema" in best) is (arguments.get("query") == tool.name)
            whole = await served.call("tools", **arguments, limit=3, schemas=True)
            assert whole["tools"][0]["input_schema"] == tool.raw_input
            assert whole["tools"][0]["output_schema"] == tool.raw_output
            if len(found["tools"]) == 3:
                assert 4 * len(json.dumps(found)) < len(json.dumps(whole))
            assert set(found["others"]) <= set(DEMO)
            if not arguments:
                assert len(found["others"]) == len(DEMO) - 3

    in_loop(work)


def test_many_tools_are_bounded_and_wrong_arguments_refused(tmp_path: Path) -> None:
    many = Toolbox(
        Tool(name=f"tool_{at}", description="", raw_input={"type": "object"}) for at in range(1_500)
    )

    async def work() -> None:
        async with serving(tmp_path, many) as served:
            found = await served.call("tools")
            assert len(found["tools"]) == 10
            assert len(found["others"]) == 1_000
            assert found["omitted"] == 490
            nothing = await served.call("tools", query="zzz qqq")
            assert nothing == {"tools": [], "others": [], "omitted": 0}
            for wrong in ({"limit": 0}, {"query": ""}, {"name": "x"}, {"limit": 101}):
                assert (await served.refused("tools", **wrong))["error"]["code"] == "bad-arguments"

    in_loop(work)


def test_words_that_the_planner_does_not_know_are_not_a_question_to_the_user(
    tmp_path: Path,
) -> None:
    unknown = Clarification('I did not understand: "Tokyo".', unexplained=("Tokyo",))
    planner = ScriptedPlanner(unknown, Clarification("Which team?", ("red", "blue")))

    async def work() -> None:
        async with serving(tmp_path, scripted().toolbox, planner=planner) as served:
            asked = await served.call("plan", question="people in Tokyo")
            assert "Write the plan yourself" in asked["help"]
            assert "help" not in await served.call("plan", question="people")

    in_loop(work)
