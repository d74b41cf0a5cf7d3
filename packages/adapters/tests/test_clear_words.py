"""What words of a query become, where the adapter plans without a model."""

import pytest

from packages.adapters.tests.doubles import TODAY, Naps, Provider, plan_text
from toolplan.plan.path import Json
from toolplan.schema.tool import Toolbox
from toolplan.testing import Gives, Raises, ScriptedTools
from toolplan_adapters.clear import (
    Executor,
    MCPServer,
    Orchestrator,
    PlannerAgent,
    PlanStep,
    register_all_tools,
)
from toolplan_demo import demo_tools

TOOLS = demo_tools(TODAY, rows=60)


async def planned(query: str, tools: Toolbox = TOOLS) -> tuple[PlanStep, ...]:
    server = MCPServer()
    register_all_tools(server, tools.values())
    planner = PlannerAgent(Provider(ConnectionError()), server, today=lambda: TODAY, sleep=Naps())
    response = await Orchestrator(planner, Executor(server)).handle_query(query)
    assert response.plan is not None
    return response.plan.steps


LAST_WEEK: Json = {"date_from": "2025-10-05", "date_to": "2025-10-12"}
QUERIES: list[tuple[str, list[tuple[str, Json]]]] = [
    ("Show me all facilities", [("facilities_list", {})]),
    ("Show me all inspections", [("inspections_list", {})]),
    ("Get contaminated shipments", [("shipments_list", {"has_contaminants": True})]),
    ("Get rejected shipments", [("shipments_list", {"status": "rejected"})]),
    ("Get high-risk contaminants", [("contaminants_list", {"risk_level": "high"})]),
    ("Get shipments from last week", [("shipments_list", LAST_WEEK)]),
    (
        "Get contaminated shipments from Berlin facilities",
        [
            ("facilities_list", {"location": "Berlin"}),
            ("shipments_list", {"has_contaminants": True, "facility_id": "${step[0].data.*.id}"}),
        ],
    ),
]


@pytest.mark.parametrize(("query", "steps"), QUERIES)
async def test_words_lead_to_tools_and_parameters(
    query: str, steps: list[tuple[str, dict[str, Json]]]
) -> None:
    """F000-4, F000-5, F000-6, F000-7, F000-8, F000-9, F000-13, F000-19, F003-7."""
    assert [(step.tool, step.params) for step in await planned(query)] == steps


@pytest.mark.parametrize("query", ["Count shipments by carrier", "Number of shipments by facility"])
async def test_words_for_computing_become_a_step_that_computes(query: str) -> None:
    """F000-10, F000-37, C-12: a step of the plan, over all rows and not over the filtered."""
    sql = pytest.importorskip("toolplan_sql", reason="the extra 'sql' is not installed")
    first, last = await planned(query, TOOLS.with_tools(sql.sql_tool()))
    assert (first.tool, last.tool, last.depends_on) == ("shipments_list", "sql", (0,))
    assert "has_contaminants" not in first.params
    assert "GROUP BY" in str(last.params["sql"])


async def test_order_alone_is_a_dependency_too() -> None:
    """F000-19: mandatory sequence, and going on only where the step before succeeded."""
    tools = ScriptedTools()
    tools.add("first", Raises(ValueError("no")))
    tools.add("second", Gives({"data": 1}))
    plan = plan_text({"tool": "first"}, {"tool": "second", "depends_on": [0]})
    results = await Executor(tools.toolbox, {"maxRetries": 1}).execute(plan)
    assert [result.success for result in results] == [False, False]
    assert [call.tool for call in tools.calls] == ["first"]
