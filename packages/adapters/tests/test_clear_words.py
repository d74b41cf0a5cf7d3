"""What words of a query become, where the adapter plans without a model."""

from __future__ import annotations

import asyncio

import pytest

from packages.adapters.tests.doubles import TODAY, Naps, Provider, plan_text
from toolplan.path import Json
from toolplan.testing import Gives, Raises, ScriptedTools
from toolplan_adapters.clear import (
    Executor,
    Orchestrator,
    Plan,
    PlannerAgent,
    Response,
)
from toolplan_demo import demo_tools

TOOLS = demo_tools(TODAY, rows=60)
DOWN = PlannerAgent(Provider(ConnectionError()), today=lambda: TODAY, sleep=Naps())
OFFLINE = Orchestrator(DOWN, Executor(TOOLS), today=lambda: TODAY)


def ask(query: str) -> Response:
    return asyncio.run(OFFLINE.handle_query(query))


def planned(query: str) -> Plan:
    plan = ask(query).plan
    assert plan is not None
    return plan


def test_the_four_tools_are_there_by_default() -> None:
    """F000-5, F003-7: under both names."""
    tools = PlannerAgent(Provider("")).toolbox
    for name in ("shipments", "facilities", "contaminants", "inspections"):
        assert f"{name}_list" in tools
        assert tools.alias(name) == f"{name}_list"
    assert tools.alias("contaminants-detected") == "contaminants_list"


@pytest.mark.parametrize(
    ("query", "tool"),
    [
        ("Show me all shipments", "shipments_list"),
        ("Show me all facilities", "facilities_list"),
        ("Show me all contaminants", "contaminants_list"),
        ("Show me all inspections", "inspections_list"),
    ],
)
def test_a_word_leads_to_its_tool(query: str, tool: str) -> None:
    """F000-7."""
    assert [step.tool for step in planned(query).steps] == [tool]


@pytest.mark.parametrize(
    ("query", "name", "value"),
    [
        ("Get contaminated shipments", "has_contaminants", True),
        ("Get rejected shipments", "status", "rejected"),
        ("Get high-risk contaminants", "risk_level", "high"),
        ("Get facilities in Berlin", "location", "Berlin"),
    ],
)
def test_a_filter_word_leads_to_its_parameter(query: str, name: str, value: Json) -> None:
    """F000-4, F000-8."""
    assert planned(query).steps[0].params[name] == value


@pytest.mark.parametrize(
    ("query", "first", "last"),
    [
        ("Get shipments from last week", "2025-10-05", "2025-10-12"),
        ("Show me contaminants detected today", "2025-10-12", "2025-10-12"),
    ],
)
def test_a_word_for_a_time_leads_to_dates(query: str, first: str, last: str) -> None:
    """F000-4, F000-9, F000-13."""
    params = planned(query).steps[0].params
    assert (params["date_from"], params["date_to"]) == (first, last)


def test_data_of_one_kind_is_fetched_to_find_those_of_another() -> None:
    """F000-6, F000-19: a second tool, because data must flow to it."""
    first, second = planned("Get contaminated shipments from Berlin facilities").steps
    assert (first.tool, first.params) == ("facilities_list", {"location": "Berlin"})
    assert (second.tool, second.depends_on) == ("shipments_list", (0,))
    assert second.params["facility_id"] == "${step[0].data.*.id}"


@pytest.mark.parametrize(
    "query",
    [
        "Count shipments by carrier",
        "Number of shipments by facility",
        "Which carriers have the highest contamination rates?",
    ],
)
def test_words_for_computing_become_a_step_that_computes(query: str) -> None:
    """F000-10, F000-37, C-12: a step of the plan, over all rows and not over the filtered."""
    sql = pytest.importorskip("toolplan_sql", reason="the extra 'sql' is not installed")
    tools = TOOLS.with_tools(sql.sql_tool())
    response = asyncio.run(
        Orchestrator(DOWN, Executor(tools), today=lambda: TODAY).handle_query(query)
    )
    assert response.status == "answered"
    assert response.plan is not None
    first, last = response.plan.steps
    assert (first.tool, last.tool, last.depends_on) == ("shipments_list", "sql", (0,))
    assert "has_contaminants" not in first.params
    assert "GROUP BY" in str(last.params["sql"])


def test_order_alone_is_a_dependency_too() -> None:
    """F000-19: mandatory sequence, and going on only where the step before succeeded."""
    tools = ScriptedTools()
    tools.add("first", Raises(ValueError("no")))
    tools.add("second", Gives({"data": 1}))
    plan = plan_text({"tool": "first"}, {"tool": "second", "depends_on": [0]})
    results = asyncio.run(Executor(tools.toolbox, {"maxRetries": 1}).execute(plan))
    assert [result.success for result in results] == [False, False]
    assert [call.tool for call in tools.calls] == ["first"]
