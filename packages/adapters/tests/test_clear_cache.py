"""The cache of the Clear adapter, and questions that continue from what was said before."""

import asyncio
import json
from datetime import date, timedelta

import pytest

from packages.adapters.tests.doubles import NOW, ONE_STEP, TODAY, Naps, Provider, plan_text
from toolplan.plan.path import Json
from toolplan_adapters.clear import (
    ClarificationNeeded,
    MCPServer,
    Plan,
    PlannerAgent,
    PlannerError,
    ToolInfo,
    register_all_tools,
)


class Clock:
    """Seconds since the epoch, and the day, both to be moved by hand."""

    def __init__(self) -> None:
        self.now = NOW
        self.day = TODAY

    def __call__(self) -> float:
        return self.now

    def today(self) -> date:
        return self.day


def agent(provider: Provider, clock: Clock | None = None, **settings: object) -> PlannerAgent:
    moved = clock or Clock()
    return PlannerAgent(provider, None, settings, clock=moved, today=moved.today, sleep=Naps())


def plan(planner: PlannerAgent, query: str, context: Json = None) -> Plan:
    return asyncio.run(planner.plan(query, context))


def test_the_same_question_is_planned_once() -> None:
    """F003-2, F003-18: the second call asks no model."""
    provider = Provider(ONE_STEP)
    planner = agent(provider)
    first, second = plan(planner, "test query"), plan(planner, "test query")
    assert provider.calls == 1
    assert second.steps == first.steps
    assert plan(planner, "  Test   QUERY? ").steps == first.steps
    assert provider.calls == 1


def test_the_cache_is_as_large_as_it_is_set() -> None:
    """F003-19: with two places, three questions leave two plans."""
    planner = agent(Provider(ONE_STEP), cacheMaxSize=2)
    for at in (1, 2, 3):
        plan(planner, f"query {at}")
    assert planner.get_cache_stats() == {"size": 2, "maxSize": 2, "utilizationPercent": 100}
    planner.clear_cache()
    assert planner.get_cache_stats() == {"size": 0, "maxSize": 2, "utilizationPercent": 0}


def test_a_plan_grows_old() -> None:
    """F003-18."""
    provider, clock = Provider(ONE_STEP), Clock()
    planner = agent(provider, clock, cacheTTL=60_000)
    plan(planner, "test")
    clock.now += 59
    plan(planner, "test")
    assert provider.calls == 1
    clock.now += 2
    plan(planner, "test")
    assert provider.calls == 2


def test_another_day_another_context_other_tools_are_another_question() -> None:
    """C-17: "last week" was stale after midnight."""
    provider, clock = Provider(ONE_STEP), Clock()
    planner = agent(provider, clock)
    plan(planner, "last week")
    clock.day += timedelta(days=1)
    plan(planner, "last week")
    assert provider.calls == 2
    plan(planner, "last week", {"entities": ["location:Berlin"]})
    assert provider.calls == 3

    server = MCPServer()
    register_all_tools(server)
    planner = PlannerAgent(provider, server, today=lambda: TODAY)
    plan(planner, "x")
    server.register_tool(ToolInfo("new"))
    plan(planner, "x")
    assert provider.calls == 5


def test_what_failed_or_asked_back_is_not_kept() -> None:
    """C-17."""
    asked = json.dumps({"clarification": {"question": "Which?"}})
    provider = Provider("{}", asked, ONE_STEP)
    planner = agent(provider, maxRetries=1)
    with pytest.raises(PlannerError):
        plan(planner, "x")
    with pytest.raises(ClarificationNeeded):
        plan(planner, "x")
    assert planner.get_cache_stats()["size"] == 0
    assert plan(planner, "x").steps
    assert provider.calls == 3


def test_caching_can_be_switched_off() -> None:
    """F003-5."""
    provider = Provider(ONE_STEP)
    planner = agent(provider, enableCaching=False)
    plan(planner, "x")
    plan(planner, "x")
    assert provider.calls == 2
    assert planner.get_cache_stats()["size"] == 0


def test_a_context_without_a_plan_is_given_to_the_model() -> None:
    """F000-13, F000-39, F000-40: as in the seed, whose contexts hold no plans."""
    provider = Provider(plan_text({"tool": "facilities_list", "params": {"location": "Munich"}}))
    context: Json = {
        "semantic": [{"text": "Previous: Berlin facilities", "score": 0.9}],
        "entities": ["location:Berlin"],
    }
    made = plan(agent(provider), "Show me the same for Munich", context)
    assert made.steps[0].params == {"location": "Munich"}
    assert "Previous: Berlin facilities" in provider.prompt()
