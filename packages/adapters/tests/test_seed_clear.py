"""The plans and programs of Clear AI's two documents, run as they are written there."""

import asyncio
import json
import re
from datetime import date
from functools import cache
from typing import Any

import pytest

from packages.adapters.tests.doubles import NOW, Naps, Provider, plan_text
from tests.seeds.seeds import code
from toolplan import compile_plan, run
from toolplan.plan.path import Json
from toolplan.testing import Gives, ScriptedTools
from toolplan_adapters.clear import (
    Executor,
    MCPServer,
    PlannerAgent,
    PlannerError,
    register_all_tools,
)
from toolplan_demo import demo_tools

DAYS = {"000": date(2025, 10, 12), "003": date(2025, 10, 11)}
NAMES = {
    "shipments": "shipments_list",
    "facilities": "facilities_list",
    "contaminants-detected": "contaminants_list",
    "inspections": "inspections_list",
}


@cache
def server(document: str) -> MCPServer:
    made = MCPServer("my-app", "1.0.0")
    register_all_tools(made, demo_tools(DAYS[document], rows=120).values())
    return made


def planner(provider: Provider, document: str = "000", /, **settings: object) -> PlannerAgent:
    return PlannerAgent(
        provider,
        server(document),
        settings,
        clock=lambda: NOW,
        today=lambda: DAYS[document],
        sleep=Naps(),
    )


@pytest.mark.parametrize(
    ("document", "number"), [("000", n) for n in range(7, 14)] + [("003", n) for n in range(5, 9)]
)
def test_the_plans_are_planned_and_run_as_they_are_written(document: str, number: int) -> None:
    """F000-29 to F000-35, F003-23 to F003-26; names of tools by C-02."""
    text = code(document, number)
    written: dict[str, Any] = json.loads(text)
    query: str = written.get("metadata", {}).get("query", "q")
    provider = Provider(f"```json\n{text}```")
    made = asyncio.run(planner(provider, document).plan(query))
    assert provider.calls == 1
    assert [(step.tool, step.params, [*step.depends_on]) for step in made.steps] == [
        (NAMES.get(step["tool"], step["tool"]), step["params"], step.get("depends_on", []))
        for step in written["steps"]
    ]
    assert all(step.more == {} for step in made.steps)
    assert made.metadata.query == query
    if "metadata" in written:
        estimated = made.to_json()["metadata"]
        assert isinstance(estimated, dict)
        assert estimated["estimated_duration_ms"] == written["metadata"]["estimated_duration_ms"]
    results = asyncio.run(Executor(server(document)).execute(made))
    assert [each.error for each in results] == [None] * len(written["steps"])


IDS = "${step[0].data.*.id}"
IN_TYPESCRIPT: list[tuple[int, list[list[tuple[str, Json, list[int]]]]]] = [
    (
        6,
        [
            [("contaminants_list", {"shipment_ids": IDS}, [0])],
            [("facilities_get", {"id": "${step[0].data[0].facility_id}"}, [0])],
        ],
    ),
    (
        24,
        [
            [
                ("facilities_list", {"location": "Berlin"}, []),
                ("shipments_list", {"facility_id": IDS, "has_contaminants": True}, [0]),
            ]
        ],
    ),
    (25, [[(f"{name}_list", {}, []) for name in ("shipments", "facilities", "inspections")]]),
    (
        26,
        [
            [
                (
                    "shipments_list",
                    {"date_from": "2025-10-01", "date_to": "2025-10-10", "destination": "Hannover"},
                    [],
                )
            ]
        ],
    ),
]


@pytest.mark.parametrize(("number", "expected"), IN_TYPESCRIPT)
def test_the_plans_in_typescript_are_planned_as_they_are_written(
    number: int, expected: list[list[tuple[str, Json, list[int]]]]
) -> None:
    """F000-14, F000-18, F000-36: with comments; a step shown alone gets one before it."""
    text = code("000", number)
    plans = [text]
    if "steps:" not in text:
        steps = re.findall(r"^\{.*?^\}", text, re.MULTILINE | re.DOTALL)
        plans = [f'{{steps: [{{tool: "shipments_list", params: {{}}}}, {each}]}}' for each in steps]
    for reply, wanted in zip(plans, expected, strict=True):
        made = asyncio.run(planner(Provider(reply)).plan("q"))
        found = [(each.tool, each.params, [*each.depends_on]) for each in made.steps]
        assert found[-len(wanted) :] == wanted
        results = asyncio.run(Executor(server("000")).execute(made))
        assert [each.error for each in results] == [None] * len(found)


ROWS: list[Json] = [
    {"id": "S1", "field": 1, "facility": {"id": "F1", "name": "Nord"}},
    {"id": "S2", "field": 2, "facility": {"id": "F2", "name": "Ost"}},
    {"id": "S3", "field": 3, "facility": {"id": "F1", "name": "Nord"}},
]
FILLED_IN: list[tuple[Json, Json]] = [
    ({"field": 7}, 7),
    (ROWS, 1),
    (ROWS, "Nord"),
    (ROWS, ["S1", "S2", "S3"]),
    (ROWS, ["F1", "F2", "F1"]),
]


def test_each_template_is_filled_in() -> None:
    """F000-16, F000-17: what the arrows of the document say."""
    templates = re.findall(r'^"(\$\{[^"]+\})"$', code("000", 4) + code("000", 5), re.MULTILINE)
    for template, (data, expected) in zip(templates, FILLED_IN, strict=True):
        tools = ScriptedTools()
        tools.add("first", Gives({"data": data}))
        tools.add("second", Gives({}))
        text = plan_text({"tool": "first"}, {"tool": "second", "params": {"x": template}})
        compiled = compile_plan(text, "clear", tools=tools.toolbox)
        assert compiled.plan is not None, compiled.diagnostics
        asyncio.run(run(compiled.plan, tools.toolbox))
        assert tools.calls[-1].args == {"x": expected}


OF_000 = {"temperature": 0.1, "maxRetries": 3, "validateToolAvailability": True}
CREATIVE = {"temperature": 0.5, "maxRetries": 5, "validateToolAvailability": True}
OF_003 = {
    **OF_000,
    "maxTokens": 1000,
    "strictValidation": True,
    "enableCaching": True,
    "cacheMaxSize": 100,
    "cacheTTL": 3_600_000,
}


@pytest.mark.parametrize("settings", [OF_000, CREATIVE, OF_003])
def test_a_planner_with_each_setting_of_the_document(settings: dict[str, object]) -> None:
    """F000-25, F003-5: temperature and tokens reach the provider."""
    provider = Provider("no plan")
    with pytest.raises(PlannerError):
        asyncio.run(planner(provider, **settings).plan("Find interesting patterns in the data"))
    asked = provider.requests[0]["config"]
    assert isinstance(asked, dict)
    assert asked["temperature"] == settings["temperature"]
    assert asked["max_tokens"] == settings.get("maxTokens", 1000)
    assert provider.calls <= int(str(settings["maxRetries"]))


def test_basic_usage() -> None:
    """A planner of a provider alone, and what `console.log` shows of its plan."""
    provider = Provider(plan_text({"tool": "shipments_list", "params": {}}))
    shown = asyncio.run(PlannerAgent(provider, clock=lambda: NOW).plan("Get shipments")).to_json()
    assert shown["steps"] == [
        {"tool": "shipments_list", "params": {}, "depends_on": [], "parallel": False}
    ]
    metadata = shown["metadata"]
    assert isinstance(metadata, dict)
    assert metadata["query"] == "Get shipments"
    assert metadata["timestamp"] == "2025-10-12T06:00:00.000Z"


WRONG = {
    "Failed to generate valid plan after 3 attempts": "no plan",
    "Could not extract valid JSON from response": "no plan",
    "Tool not available: shipment": plan_text({"tool": "shipment"}),
    "Invalid dependency index: 5": plan_text({"tool": "shipments_list", "depends_on": [5]}),
    "Circular dependency": plan_text(
        {"tool": "shipments_list", "depends_on": [1]}, {"tool": "shipments_list", "depends_on": [0]}
    ),
}


@pytest.mark.parametrize("message", WRONG)
def test_the_branches_of_error_handling_are_reached(message: str) -> None:
    """F000-28: each text that the documents' `catch` looks for, and each that they list."""
    with pytest.raises(PlannerError, match=re.escape(message)) as raised:
        asyncio.run(planner(Provider(WRONG[message])).plan("q"))
    assert "Failed to generate valid plan" in str(raised.value)


def test_the_context_of_the_document_reaches_the_model() -> None:
    context: Json = {
        "semantic": [{"text": "User previously asked about Berlin facilities", "score": 0.95}],
        "episodic": [{"query": "Get facilities in Berlin", "timestamp": "..."}],
        "entities": ["location:Berlin", "facility:F1"],
    }
    provider = Provider(code("000", 24))
    made = asyncio.run(planner(provider).plan("Show me their shipments", context))
    assert [each.tool for each in made.steps] == ["facilities_list", "shipments_list"]
    for words in ("User previously asked about Berlin facilities", "Get facilities in Berlin"):
        assert words in provider.prompt()
