"""The programs of Clear AI's documents, as they are written there (in Python's spelling)."""

import asyncio
from collections.abc import Mapping
from itertools import product
from typing import ClassVar

import pytest

from packages.adapters.tests.doubles import NOW, ONE_STEP, TODAY, Naps, Provider, plan_text
from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments
from toolplan_adapters.clear import (
    BaseTool,
    Executor,
    MCPServer,
    Orchestrator,
    PlannerAgent,
    PlannerError,
    SettingError,
    ToolInfo,
    ToolResult,
    register_all_tools,
)
from toolplan_demo import demo_tools

CONTAMINATED = plan_text({"tool": "shipments_list", "params": {"has_contaminants": True}})


def planner(provider: Provider, tools: object = None, **settings: object) -> PlannerAgent:
    assert tools is None or isinstance(tools, MCPServer)
    return PlannerAgent(
        provider, tools, settings, clock=lambda: NOW, today=lambda: TODAY, sleep=Naps()
    )


async def test_plan_execute_analyze_summarize() -> None:
    """Seed 000, *With Executor*: the plan is run as it was returned, and answered."""
    plan = await planner(Provider(CONTAMINATED)).plan("Get contaminated shipments")
    results = await Executor(demo_tools(TODAY, rows=60)).execute(plan)
    assert [result.success for result in results] == [True]
    assert len(results) == len(plan.steps)
    assert results.answer is not None
    assert any(char.isdigit() for char in results.answer.headline)


class CustomAnalytics(BaseTool):
    """Seed 000, *Custom Tool Registration*: it states no effects, as there."""

    name: ClassVar[str] = "custom_analytics"
    description: ClassVar[str] = "Custom analytics for specific use case"
    schema: ClassVar[Mapping[str, Json]] = {
        "params": {"of": {"type": "string"}},
        "returns": {"type": "object"},
    }

    async def execute(self, params: Arguments) -> ToolResult:
        return self.success({"score": 7}, 1.0)


def test_a_registered_tool_is_planned_with_and_runs_once_its_plan_is_approved() -> None:
    server = MCPServer("my-app", "1.0.0")
    register_all_tools(server)
    server.register_tool(CustomAnalytics("http://localhost:4000/api"))
    provider = Provider(plan_text({"tool": "custom_analytics", "params": {"of": "x"}}))
    orchestrator = Orchestrator(planner(provider, server), Executor(server))

    async def program() -> None:
        asked = await orchestrator.handle_query("Run custom analytics")
        assert asked.status == "approval-required"
        assert asked.plan is not None
        assert asked.plan.steps[0].tool == "custom_analytics"
        done = await orchestrator.handle_query("Run custom analytics", approve=asked.digest)
        assert (done.status, done.data) == ("answered", ({"score": 7},)), done.message

    asyncio.run(program())


def test_tools_may_be_the_names_of_their_parameters() -> None:
    """Seed 003, `initializeAvailableTools`."""
    depots = ToolInfo("depots", "Query depots", ("city", "since"), ("city",))
    provider = Provider(plan_text({"tool": "depots", "params": {"city": "Oslo"}}))
    made = asyncio.run(planner(provider, availableTools={"depots": depots}).plan("depots in Oslo"))
    assert made.steps[0].params == {"city": "Oslo"}
    with pytest.raises(SettingError):
        planner(provider, availableTools={"depots": {"name": "depots"}})


WRONG = {
    "down": OSError("no route"),
    "no JSON": "invalid json",
    "empty": "",
    "invalid": plan_text({"tool": "no_such_tool"}),
    "cyclic": plan_text(
        {"tool": "shipments_list", "params": {}, "depends_on": [1]},
        {"tool": "shipments_list", "params": {}, "depends_on": [0]},
    ),
}


PAIRS = list(product(WRONG, repeat=2))


@pytest.mark.parametrize("retries", [1, 3])
@pytest.mark.parametrize("faults", PAIRS, ids="-".join)
def test_max_retries_is_the_number_of_requests_whatever_goes_wrong(
    faults: tuple[str, ...], retries: int
) -> None:
    """F000-26, F003-20: mixed failures, for ever."""
    replies = [WRONG[faults[n % 2]] for n in range(12)]
    provider = Provider(*replies)
    with pytest.raises(PlannerError):
        asyncio.run(planner(provider, maxRetries=retries).plan("test"))
    assert 1 <= provider.calls <= retries
    if "down" in faults or len(set(faults)) > 1:
        assert provider.calls == retries


@pytest.mark.parametrize("faults", PAIRS, ids="-".join)
def test_the_last_request_that_is_allowed_may_give_the_plan(faults: tuple[str, ...]) -> None:
    provider = Provider(*(WRONG[each] for each in faults), ONE_STEP)
    made = asyncio.run(planner(provider, maxRetries=3).plan("test"))
    assert [step.tool for step in made.steps] == ["shipments_list"]
    assert provider.calls == 3
