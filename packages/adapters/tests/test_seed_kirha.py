"""The programs and forms of the Kirha planner's page, run as they are written there."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Mapping
from typing import Any

import pytest

from packages.adapters.tests.doubles import TODAY
from tests.doubles.model_server import ScriptedModelServer
from tests.seeds.seeds import code
from toolplan import ApprovalRequired, approve
from toolplan.plan.model import needs
from toolplan.plan.path import Json
from toolplan_adapters.kirha import (
    Plan,
    Planner,
    PlanValidationError,
    StepResult,
    Tool,
    is_valid_plan,
    parse_plan,
)


async def weather(arguments: Mapping[str, Json]) -> Json:
    return {"temperature": 22, "condition": "sunny"}


def tool_object(**more: object) -> dict[str, object]:
    """Return the tool of the Quick Start: an object with the SDK's own keys."""
    properties = {"city": {"type": "string", "description": "City name"}}
    given = {"type": "object", "properties": properties, "required": ["city"]}
    gives = {"temperature": {"type": "number"}, "condition": {"type": "string"}}
    return {
        "name": "get_weather",
        "description": "Get current weather for a city",
        "inputSchema": json.dumps(given),
        "outputSchema": json.dumps({"type": "object", "properties": gives}),
        "handler": weather,
        **more,
    }


PARIS = (
    "<think>Look.</think>\n"
    '<plan>[{"thought": "Look", "toolName": "get_weather", "arguments": {"city": "Paris"}}]</plan>'
)


@pytest.mark.parametrize("is_approved", [True, False])
def test_the_quick_start_runs(is_approved: bool) -> None:
    """F002-1, F002-2: approved as it is written, or with one word on what the tool may change."""
    tools = [tool_object() if is_approved else tool_object(effects="read")]

    async def program(url: str) -> list[StepResult]:
        planner = Planner(url, model="kirha/planner")
        plan = await planner.generate_plan("What's the weather in Paris?", tools=tools)
        assert plan is not None
        if is_approved:
            with pytest.raises(ApprovalRequired):
                await plan.execute(tools=tools)
        return await plan.execute(tools=tools, approval=approve if is_approved else None)

    with ScriptedModelServer(PARIS) as server:
        results = asyncio.run(program(server.url))
    assert [each.to_json() for each in results] == [
        {
            "stepId": "0",
            "toolName": "get_weather",
            "arguments": {"city": "Paris"},
            "output": {"temperature": 22, "condition": "sunny"},
        }
    ]
    (request,) = server.requests
    assert isinstance(request.body, dict)
    assert (request.path, request.body["model"]) == ("/v1/chat/completions", "kirha/planner")
    assert ("user", "What's the weather in Paris?") in request.messages


def test_the_options_have_the_defaults_of_the_document() -> None:
    planner = inspect.signature(Planner).parameters
    assert (planner["model"].default, planner["api_key"].default) == ("kirha/planner", None)
    asked = inspect.signature(Planner.generate_plan).parameters
    assert (asked["temperature"].default, asked["max_tokens"].default) == (0, 10_000)
    assert asked["instructions"].default is None
    for function in (Planner.generate_plan, Plan.execute):
        assert inspect.signature(function).parameters["tools"].default is inspect.Parameter.empty


def test_types_have_the_fields_of_the_document() -> None:
    """Each as it leaves in the wire form; a tool as it comes in."""
    assert is_valid_plan([], [tool_object()]).to_json() == {"valid": True, "errors": []}
    assert {"name", "description", "input_schema", "output_schema", "handler"} <= set(
        Tool.__struct_fields__
    )
    plan = parse_plan(PARIS)
    assert plan is not None
    (step,) = plan.to_json()
    assert isinstance(step, dict)
    assert step.keys() >= {"stepId", "toolName", "arguments", "thought"}
    (missing,) = asyncio.run(plan.execute(tools=[]))
    assert missing.to_json() == {
        "stepId": "0",
        "toolName": "get_weather",
        "arguments": {},
        "output": None,
        "error": 'Tool "get_weather" not found',
    }
    error = PlanValidationError("a", "b", "c", "d", "e", "f", "g", "h", "i")
    assert [*error.to_json()] == [
        "code",
        "message",
        "stepId",
        "toolName",
        "argumentPath",
        "fromStepId",
        "outputPath",
        "expectedType",
        "actualType",
    ]


def test_what_the_model_writes_is_read() -> None:
    plan = parse_plan(code("002", 9))
    assert plan is not None
    assert plan.think == "I need to first get the user's location, then fetch the weather."
    assert [(each.tool_name, each.thought, each.arguments) for each in plan.steps] == [
        ("get_location", "Get user location", {"userId": "123"}),
        (
            "get_weather",
            "Get weather for the location",
            {"city": {"$fromStep": "0", "$outputKey": "city"}},
        ),
    ]


def reference_of(template: Json) -> Json:
    """Return a template that is one reference as that reference (C-31); else the template."""
    if isinstance(template, dict) and template.get("$fromTemplateString") == "{0}":
        values = template["$values"]
        assert isinstance(values, list)
        return values[0]
    return template


@pytest.mark.parametrize("number", [11, 12, 13])
def test_references_are_parsed_to_what_the_document_shows(number: int) -> None:
    written, _, parsed = code("002", number).partition("// Parsed to\n")
    steps = [{"toolName": "a"}, {"toolName": "a"}]
    last = {"toolName": "b", "arguments": json.loads(written.partition("\n")[2])}
    plan = parse_plan(f"<plan>{json.dumps([*steps, last])}</plan>")
    assert plan is not None
    expected = {name: reference_of(value) for name, value in json.loads(parsed).items()}
    assert plan.steps[-1].arguments == expected


def test_a_plan_is_validated_as_in_the_document() -> None:
    plan = parse_plan(PARIS)
    assert plan is not None
    assert is_valid_plan(plan.steps, [tool_object()]).valid
    result = is_valid_plan(plan.steps, [])
    assert not result.valid
    assert [each.code for each in result.errors] == ["tool_not_found"]


OUTPUTS: dict[str, Json] = {
    "getChainId": {"chainId": 8453},
    "searchCoin": {"coins": [{"id": "usd-coin"}]},
    "getCoinPlatformInfo": {"contractAddress": "0xc0"},
    "getTokenHolders": {"holders": [{"address": "0xab"}]},
    "getWalletPnL": {"pnl": 12.5},
}
EDGES = {"0": set[str](), "1": set[str](), "2": {"1"}, "3": {"0", "2"}, "4": {"3"}}


def holders_tools(began: list[str], ended: list[str], **failing: str) -> list[Tool]:
    """Return the five tools; without a failure `getChainId` ends when what runs beside it has."""

    looked_up = asyncio.Event()

    def made(name: str) -> Tool:
        async def handler(_: Any) -> Json:
            began.append(name)
            if name == "getChainId" and not failing:
                await looked_up.wait()
            if name in failing:
                raise ValueError(failing[name])
            if name == "getCoinPlatformInfo":
                looked_up.set()
            ended.append(name)
            return OUTPUTS[name]

        schema: Json = {"type": "object", "properties": {}, "additionalProperties": True}
        return Tool(name, "", schema, None, handler, effects="read")

    return [*map(made, OUTPUTS)]


def test_the_graph_runs_as_its_timeline_says() -> None:
    """F002-21: 0 and 1 start together, 2 once 1 has ended and not 0; 3 waits for both, 4 for 3."""
    began, ended = list[str](), list[str]()
    tools = holders_tools(began, ended)

    async def program(url: str) -> tuple[Plan, list[StepResult]]:
        query = "What is the profit and loss of the largest USDC holder on Base?"
        plan = await Planner(url, today=lambda: TODAY).generate_plan(query, tools=tools)
        assert plan is not None
        return plan, await asyncio.wait_for(plan.execute(tools=tools), 60)

    with ScriptedModelServer(f"<plan>{code('002', 17)}</plan>") as server:
        plan, results = asyncio.run(program(server.url))
    assert {each.id: {*needs(each)} for each in plan.typed.steps} == EDGES
    assert began == [*OUTPUTS]
    assert ended == [
        "searchCoin", "getCoinPlatformInfo", "getChainId", "getTokenHolders", "getWalletPnL"
    ]  # fmt: skip
    assert [each.step_id for each in results] == ["0", "1", "2", "3", "4"]
    assert results[3].arguments == {"chainId": 8453, "tokenAddress": "0xc0", "limit": 1}
    assert results[4].output == {"pnl": 12.5}


SKIPPED = "Skipped: dependencies not satisfied"
FAILURES: dict[str, tuple[dict[str, str], list[str], list[str | None]]] = {
    "a tool is not found": (
        {}, ["searchCoin"],
        [SKIPPED, 'Tool "searchCoin" not found', SKIPPED, SKIPPED, SKIPPED],
    ),
    "a tool fails": (
        {"searchCoin": "down"}, [], [None, "down", SKIPPED, SKIPPED, SKIPPED]
    ),
    "a tool fails on whom one branch depends": (
        {"getChainId": "down"}, [], ["down", None, None, SKIPPED, SKIPPED]
    ),
    "the last tool fails": ({"getWalletPnL": "down"}, [], [None, None, None, None, "down"]),
}  # fmt: skip


@pytest.mark.parametrize("case", FAILURES)
def test_errors_are_handled_as_the_document_lists(case: str) -> None:
    """F002-18, *Error Handling*; what does not pass the check makes no call (0025)."""
    failing, without, errors = FAILURES[case]
    tools = [each for each in holders_tools([], [], **failing) if each.name not in without]
    plan = parse_plan(f"<plan>{code('002', 17)}</plan>")
    assert plan is not None
    results = asyncio.run(plan.execute(tools=tools))
    assert [each.error for each in results] == errors
