"""The four agents of the network demo, and the tools that the data agent asks."""

import asyncio
from collections.abc import Mapping

import pytest

from toolplan import App, Tool, Toolbox, ToolError
from toolplan.plan.path import Json
from toolplan.schema import Schema
from toolplan_adapters.contract import Briefing, ContractPlanner, Need
from toolplan_adapters.network import NETWORK_CONTRACTS, NETWORK_TOOLS, SOURCES, network_tools
from toolplan_adapters.network.agents import data_query
from toolplan_adapters.network.sources import DEVICES, ESTATE, RULES

PLANNER = ContractPlanner(NETWORK_CONTRACTS)
ALWAYS = ContractPlanner(NETWORK_CONTRACTS, knowledge="always")


def outputs(text: str, planner: ContractPlanner = PLANNER) -> dict[str, dict[str, Json]]:
    """Return the outputs of the agents that a question leads to, by tool."""
    asked = asyncio.run(App(NETWORK_TOOLS, planner).ask(text, today="2026-11-01"))
    assert asked.plan is not None
    assert asked.run is not None
    assert asked.run.succeeded
    found: dict[str, dict[str, Json]] = {}
    for step in asked.plan.plan.steps:
        output = asked.run.steps[step.id].output
        assert isinstance(output, dict)
        found[step.tool] = output
    return found


def call(name: str, **arguments: Json) -> dict[str, Json]:
    """Return what a tool of the demo says."""

    async def made() -> Json:
        tool = NETWORK_TOOLS[name]
        assert tool.call is not None
        return await tool.call(arguments)

    found = asyncio.run(made())
    assert isinstance(found, dict)
    return found


def objects(value: Json) -> list[dict[str, Json]]:
    """Return a list of objects."""
    assert isinstance(value, list)
    assert all(isinstance(each, dict) for each in value)
    return [each for each in value if isinstance(each, dict)]


def inner(value: Mapping[str, Json], *names: str) -> dict[str, Json]:
    """Return the object at keys."""
    found: Json = dict(value)
    for name in names:
        assert isinstance(found, dict)
        found = found[name]
    assert isinstance(found, dict)
    return found


def test_each_agent_gives_what_it_is_to_give() -> None:
    """F001-23: the outputs of knowledge, data and domain agents, as their schemas say."""
    found = outputs("Does the security posture of DataCenter-1 comply with our security policy?")
    assert list(found) == ["knowledge_agent", "data_query_agent", "security_assessment_agent"]
    for name, output in found.items():
        assert Schema.load(NETWORK_TOOLS[name].raw_output).is_valid(output), name
    context = inner(found["knowledge_agent"], "enterprise_context")
    metadata = inner(objects(context["retrieved_chunks"])[0], "metadata")
    assert metadata.keys() == {"source", "topic", "domain", "relevance_score", "timestamp"}
    assessment = inner(found["data_query_agent"], "assessment_context")
    assert assessment["source_path"] == "mcp"
    assert inner(assessment, "scope").keys() == {"targets", "site", "time_range"}
    assert len(objects(found["security_assessment_agent"]["findings"])) > 0


def test_security_looks_at_configurations_software_and_events() -> None:
    """F001-22, F001-23."""
    found = outputs("Assess the security of HQ")["security_assessment_agent"]
    rules = {str(each["rule"]) for each in objects(found["findings"])}
    assert {"SEC-001", "SEC-002", "SEC-003", "SEC-004", "SEC-101", "SEC-201"} <= rules
    assert found["data_gaps"] == []


def test_knowledge_is_reported_beside_findings() -> None:
    """F001-10, F001-13: what the domain agent reads of the knowledge agent's outputs."""
    text = "Check the SSH and telnet configuration of hq-access-2 against best practices"
    with_policy = outputs(text, ALWAYS)["config_best_practice_agent"]
    found = objects(with_policy["findings"])
    assert {str(each["technology"]) for each in found} == {"SSH", "telnet"}
    assert {str(inner(each, "policy")["source"]) for each in found} == {"network-policy-2026.md"}
    alone = outputs(text)["config_best_practice_agent"]
    assert all("policy" not in each for each in objects(alone["findings"]))


def test_a_trend_marks_findings_as_new_or_persistent() -> None:
    """F001-27: what was resolved is in the summary only."""
    found = outputs("How has configuration compliance at HQ changed since the last assessment?")
    domain = found["config_best_practice_agent"]
    status = {
        (str(each["device"]), str(each["rule"])): each["delta_status"]
        for each in objects(domain["findings"])
    }
    assert status == {
        ("hq-edge-1", "CBP-003"): "persistent",
        ("hq-access-2", "CBP-004"): "persistent",
        ("hq-access-2", "CBP-005"): "persistent",
        ("hq-edge-1", "CBP-007"): "new",
        ("hq-access-1", "CBP-009"): "new",
        ("hq-core-1", "CBP-002"): "persistent",
        ("hq-access-2", "CBP-006"): "new",
    }
    summary = inner(domain, "summary")
    assert summary["trend"] == {"new": 3, "persistent": 4, "resolved": 1}
    assert [each["rule"] for each in objects(summary["resolved_issues"])] == ["CBP-007"]
    plain = outputs("Assess HQ against best practices")["config_best_practice_agent"]
    assert all("delta_status" not in each for each in objects(plain["findings"]))


def test_issues_are_reported_with_the_day_they_were_first_seen() -> None:
    """F001-28."""
    found = outputs("Which best practice issues at Branch-7 are still open?")
    dated = objects(found["config_best_practice_agent"]["findings"])
    assert {(str(each["rule"]), str(each["first_seen"])) for each in dated} == {
        ("CBP-001", "2026-05-31"),
        ("CBP-002", "2026-05-31"),
        ("CBP-005", "2026-10-31"),
        ("CBP-008", "2026-10-31"),
        ("CBP-009", "2026-09-30"),
    }


def test_exceptions_that_were_granted_are_reported_with_the_findings() -> None:
    """F001-28: also that one has run out."""
    found = outputs("Which exceptions to configuration best practices are granted at HQ?")
    granted = [
        each
        for each in objects(found["config_best_practice_agent"]["findings"])
        if "exception" in each
    ]
    assert {str(each["rule"]): inner(each, "exception")["is_valid"] for each in granted} == {
        "CBP-004": False,
        "CBP-009": True,
    }


def test_a_general_question_is_answered_from_what_is_written_down() -> None:
    """F001-7, F001-22: without data, and without findings."""
    found = outputs("What does our policy say about SNMP communities?")
    assert "data_query_agent" not in found
    assert "SNMPv3" in str(inner(found["config_best_practice_agent"], "summary")["text"])
    assert found["config_best_practice_agent"]["findings"] == []


def test_experts_say_why_and_what_to_do() -> None:
    """F001-22, C-23: SLIC findings, fetched by the data agent."""
    found = outputs("What do the experts recommend for the findings at HQ?")
    reported = objects(found["config_best_practice_agent"]["findings"])
    assert [each["device"] for each in reported] == ["hq-edge-1", "hq-access-2"]
    assert all(each["insight"] and each["remediation"] for each in reported)


def test_a_scope_without_expert_findings_fails_with_the_reason() -> None:
    """F001-22, F001-24: at least one is required."""
    app = App(NETWORK_TOOLS, PLANNER)
    asked = asyncio.run(app.ask("Expert insights on NTP for Campus-West", today="2026-11-01"))
    assert asked.run is not None
    failure = asked.run.steps["T3"].error
    assert failure is not None
    assert failure.code == "argument-value"
    assert failure.pointer.endswith("/assessment_context/slic_findings")


def test_an_unknown_scope_is_a_gap_not_a_clean_bill() -> None:
    """F001-24, F001-25: gaps and assumptions are declared, and confidence is lower."""
    found = outputs("Assess site Lisbon and HQ against best practices")
    domain = found["config_best_practice_agent"]
    assert [each["reason"] for each in objects(domain["data_gaps"])] == [
        "No device is known of 'Lisbon'."
    ]
    assert domain["assumptions"]
    assert {str(each["confidence"]) for each in objects(domain["findings"])} == {"0.7"}


def test_a_source_that_fails_is_reported_and_the_rest_is_given() -> None:
    """F001-23, F001-24: `source_path` is `error` where none gave anything."""
    briefing = Briefing(
        "",
        (Need("assessment_context"),),
        {"sites": ["HQ"], "targets": [{"type": "assessment_type", "value": "comparison"}]},
        {},
    )
    context = inner(asyncio.run(_fetch(Toolbox(SOURCES[:1]), briefing)), "assessment_context")
    assert context["source_path"] == "mcp"
    assert [each["tool"] for each in objects(context["errors"])] == ["assessment_comparison_tool"]
    nothing = asyncio.run(_fetch({}, briefing))
    assert inner(nothing, "assessment_context")["source_path"] == "error"


async def _fetch(sources: Mapping[str, Tool], briefing: Briefing) -> Mapping[str, Json]:
    return await data_query(briefing, sources)


@pytest.mark.parametrize(
    "query_type", ["summary", "filtering", "assets", "technology", "exceptions"]
)
def test_an_assessment_is_looked_into_in_five_ways(query_type: str) -> None:
    """F001-28."""
    found = call("assessment_analysis_tool", query_type=query_type, focus_area="NTP")
    assert found["assessment_id"] == "ASM-2026-10"
    narrow = call(
        "assessment_analysis_tool",
        query_type=query_type,
        focus_area="HQ",
        product_filter="router",
        severity_filter="critical",
    )
    assert narrow != found
    assert "DataCenter-1" not in str(narrow)


@pytest.mark.parametrize("focus", ["overall", "changes"])
def test_assessments_are_compared(focus: str) -> None:
    """F001-27, F001-28."""
    found = call(
        "assessment_comparison_tool", current_assessment_id="asm-2026-10", comparison_focus=focus
    )
    assert found["previous_assessment_id"] == "ASM-2026-09"
    details = inner(found, "detailed_findings")
    assert ("persistent_issues" in details) is (focus != "changes")
    assert len(objects(details["resolved_issues"])) == 3


def test_issues_are_followed() -> None:
    """F001-28."""
    counts = {
        scope: len(objects(call("issue_tracking_tool", tracking_scope=scope)["issues"]))
        for scope in ("open", "resolved", "all")
    }
    assert counts["open"] + counts["resolved"] == counts["all"]
    assert counts["resolved"] == 3
    only = call("issue_tracking_tool", rule_filter="CBP-003", priority="critical")
    assert len(objects(only["issues"])) == 2


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("assessment_analysis_tool", {"assessment_id": "ASM-1"}, "There is no assessment 'ASM-1'"),
        (
            "assessment_comparison_tool",
            {"current_assessment_id": "ASM-2026-09"},
            "There is no assessment before 'ASM-2026-09'",
        ),
        ("issue_tracking_tool", {"tracking_scope": "some"}, "tracking_scope"),
    ],
)
def test_what_a_tool_cannot_do_it_says(name: str, arguments: dict[str, Json], message: str) -> None:
    """F001-28."""
    with pytest.raises(ToolError, match=message):
        call(name, **arguments)


def test_the_estate_is_whole() -> None:
    """F001-28: each name that is used is there."""
    used = [*ESTATE["slic_findings"], *ESTATE["exceptions"]]
    used += [issue for each in ESTATE["assessments"] for issue in each["issues"] or ()]
    assert {each["rule"] for each in used} <= RULES.keys()
    assert {each["device"] for each in [*used, *ESTATE["events"]]} <= DEVICES.keys()
    assert {name for link in ESTATE["links"] for name in link.values()} <= DEVICES.keys()
    data = next(each for each in NETWORK_CONTRACTS if each.tool == "data_query_agent")
    assert set(data.entities["device"]) == DEVICES.keys()
    assert set(data.entities["site"]) == {device["site"] for device in DEVICES.values()}


def test_agents_that_no_contract_names_are_left_out() -> None:
    """F001-6."""
    some = [each for each in NETWORK_CONTRACTS if each.tool != "security_assessment_agent"]
    tools = network_tools(type(NETWORK_CONTRACTS)(some))
    assert "security_assessment_agent" not in tools
    assert set(tools) < set(NETWORK_TOOLS)
