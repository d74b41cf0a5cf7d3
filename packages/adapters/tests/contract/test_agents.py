"""Agents as tools: what they are given, and what their schemas hold them to."""

import asyncio
from collections.abc import Mapping

import pytest

from packages.adapters.tests.contract.agents import contracts
from toolplan.plan.path import Json
from toolplan.schema import Schema
from toolplan.schema.tool import Tool
from toolplan_adapters.contract import Briefing, Need, Priority, agent_tool, input_schema
from toolplan_adapters.network import NETWORK_CONTRACTS, NETWORK_TOOLS

KNOWN = contracts()
JUDGE = next(each for each in KNOWN if each.agent == "Judge")


def _call(tool: Tool, **arguments: Json) -> Json:
    async def call() -> Json:
        assert tool.call is not None
        return await tool.call(arguments)

    return asyncio.run(call())


def test_what_a_skill_requires_is_in_the_schema_of_its_agent() -> None:
    """F001-12, F001-22: `min_count` is `minItems`, and holds for that skill only."""
    schema = Schema.load(input_schema(JUDGE, KNOWN))

    def accepts(rows: list[Json], skill: str = "judging") -> bool:
        given: Json = {"skill": skill, "upstream": {"fetcher": {"facts": {"rows": rows}}}}
        return schema.is_valid(given)

    assert [accepts([1] * count) for count in (0, 1, 2, 3)] == [False, False, True, True]
    assert accepts([], "another")
    assert not schema.is_valid({"skill": "judging"})
    assert not schema.is_valid({"skill": "judging", "upstream": {"fetcher": None}})
    assert schema.is_valid({"upstream": {"anybody": None}})


@pytest.mark.parametrize("name", [each.tool for each in NETWORK_CONTRACTS])
def test_the_agents_of_the_demo_are_tools_that_only_read(name: str) -> None:
    """F001-2, F001-11: found by the contract's `tool`, or by the agent's own name."""
    tool = NETWORK_TOOLS[name]
    assert not tool.has_effects
    assert tool.unusable is None
    assert tool.output_fault is None
    assert NETWORK_TOOLS.alias(tool.aliases[0]) == name


def test_an_agent_is_given_its_task() -> None:
    """F001-13: scope, skill, what is required, and what earlier tasks gave."""
    briefings: list[Briefing] = []

    def work(briefing: Briefing) -> Mapping[str, Json]:
        briefings.append(briefing)
        return {"verdict": 1}

    tool = agent_tool(JUDGE, work, KNOWN)
    needed: Json = [{"data_path": "facts.extras", "min_count": 1, "priority": "optional"}]
    upstream: Json = {"fetcher": {"facts": {"rows": [1]}}, "librarian": None}
    scope: Json = {"sites": ["HQ"], "targets": [{"type": "severity", "value": "high"}]}
    given = _call(tool, skill="judging", required_data=needed, scope=scope, upstream=upstream)
    (briefing,) = briefings
    assert (briefing.skill, briefing.sites) == ("judging", ["HQ"])
    assert briefing.named("severity") == ["high"]
    assert briefing.required_data == (Need("facts.extras", 1, Priority.OPTIONAL),)
    assert briefing.value("facts.rows") == [1]
    assert briefing.value("facts.extras") is None
    assert given == {
        "verdict": 1,
        "data_gaps": [
            {"upstream": "librarian", "reason": "it returned nothing", "priority": "optional"},
            {
                "data_path": "facts.extras",
                "reason": "there is too little data",
                "priority": "optional",
            },
        ],
    }


@pytest.mark.parametrize(
    ("found", "count", "is_gap"),
    [(None, 1, True), ([], 1, True), ([1], 1, False), ({}, 1, True), ("text", 1, False),
     ([], 0, False), (None, 0, True)],
)  # fmt: skip
def test_too_little_optional_data_is_a_gap(found: Json, count: int, is_gap: bool) -> None:
    """F001-12, F001-24, F001-25: with `min_count` 0 an empty list is none."""
    needed = (Need("a.b", count, Priority.OPTIONAL),)
    assert bool(Briefing("s", needed, {}, {"t": {"a": {"b": found}}}).gaps()) is is_gap


def test_what_several_agents_gave_is_put_together() -> None:
    """F001-13, C-23: a SLIC agent adds to the context that the data agent gave."""
    upstream: dict[str, dict[str, Json] | None] = {
        "data": {"c": {"x": 1, "y": [1]}},
        "slic": {"c": {"z": 2, "y": [2]}},
        "other": None,
    }
    assert Briefing("s", (), {}, upstream).value("c") == {"x": 1, "y": [1], "z": 2}


def test_an_agent_may_be_awaited() -> None:
    async def work(briefing: Briefing) -> Mapping[str, Json]:
        await asyncio.sleep(0)
        return {"sites": [*briefing.sites]}

    assert _call(agent_tool(JUDGE, work, KNOWN), scope={"sites": ["A"]}) == {"sites": ["A"]}
