"""An agent is added by a file, and no code."""

import asyncio
from importlib.resources import files
from pathlib import Path

import pytest

from packages.adapters.tests.contract.planning import (
    TODAY,
    Row,
    owners,
    required,
    rows,
    state,
    tasks,
)
from toolplan.app.app import App
from toolplan_adapters.contract import ContractPlanner, Contracts, load_contracts
from toolplan_adapters.network import NETWORK_TOOLS, network_tools

SLIC = """\
agent: SLIC Agent
tool: slic_agent
role: data
description: Fetch expert findings for {scope}
produces: [assessment_context.slic_findings]
"""

LIFECYCLE = """\
---
agent: Issue Tracking Agent
tool: issue_tracking_tool
role: domain
produces: [issues]
arguments: {tracking_scope: open, priority: high}
skills:
  - name: issue_tracking
    description: Follow open issues of {scope}
    evidence:
      words: {backlog: 4, overdue: 3}
---

# Issue Tracking Agent

Its work is done by a tool that was there before.
"""

AUDIT = """\
agent: Audit Agent
tool: audit_agent
role: domain
produces: [audit]
skills:
  - name: audit_trail
    intent_classes: [security_assessment]
    description: Audit {scope}
    data_dependencies:
      - {data_path: assessment_context.assets.events, min_count: 1, priority: required}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the contracts of the demo."""
    for each in files("toolplan_adapters.network").joinpath("contracts").iterdir():
        (tmp_path / each.name).write_text(each.read_text("utf-8"), "utf-8")
    return tmp_path


def test_a_slic_agent_takes_a_file(folder: Path) -> None:
    """F001-7, F001-9, C-23: it takes over a part of what the data agent gave."""
    insights = state("cbp_expert_insights", ("site", "HQ"))
    before = ContractPlanner(load_contracts(folder)).plan(insights)
    assert owners(before) == ["Knowledge Agent", "Data Query Agent", "Config Best Practice Agent"]
    (folder / "slic.yaml").write_text(SLIC, "utf-8")
    added = ContractPlanner(load_contracts(folder))
    assert rows(added.plan(insights)) == [
        Row("T1", "Knowledge Agent", ()),
        Row("T2", "SLIC Agent", ("T1",)),
        Row("T3", "Config Best Practice Agent", ("T2",)),
    ]
    assessment = state("cbp_assessment", ("site", "HQ"))
    assert owners(added.plan(assessment)) == ["Data Query Agent", "Config Best Practice Agent"]


def test_a_fourth_domain_agent_takes_a_file(folder: Path) -> None:
    """F001-6, F001-8, C-23: it is planned, read from words and run, over a tool that is there."""
    (folder / "issue-tracking.md").write_text(LIFECYCLE, "utf-8")
    contracts = load_contracts(folder)
    assert "issue_tracking" in contracts.intent_classes
    planner = ContractPlanner(contracts)
    asked = asyncio.run(
        App(NETWORK_TOOLS, planner).ask("Which backlog is overdue at HQ?", today=TODAY)
    )
    assert asked.run is not None
    assert asked.run.succeeded
    output = asked.run.steps["T1"].output
    assert isinstance(output, dict)
    issues = output["issues"]
    assert isinstance(issues, list)
    assert {str(each["severity"]) for each in issues if isinstance(each, dict)} == {"high"}
    text = "Assess HQ against best practices"
    assert asked.plan is not None
    assert [step.tool for step in asked.plan.plan.steps] == ["issue_tracking_tool"]
    same = asyncio.run(App(NETWORK_TOOLS, planner).plan(text, today=TODAY))
    alone = ContractPlanner(
        load_contracts(files("toolplan_adapters.network").joinpath("contracts"))
    )
    old = asyncio.run(App(NETWORK_TOOLS, alone).plan(text, today=TODAY))
    assert same.plan is not None
    assert old.plan is not None
    assert same.plan.digest == old.plan.digest


def test_two_domain_agents_of_one_class_work_side_by_side(folder: Path) -> None:
    """F001-9: both wait for the data, and not for each other."""
    (folder / "audit.yaml").write_text(AUDIT, "utf-8")
    planned = ContractPlanner(load_contracts(folder)).plan(state("security_assessment"))
    assert rows(planned) == [
        Row("T1", "Data Query Agent", ()),
        Row("T2", "Audit Agent", ("T1",)),
        Row("T3", "Security Assessment Agent", ("T1",)),
    ]
    _, audit, security = tasks(planned)
    assert required(audit) == [("assessment_context.assets.events", "audit_trail", 1, "required")]
    assert len(required(security)) == 3


def test_the_schemas_of_tools_follow_the_contracts(folder: Path) -> None:
    """F001-12, F001-22: a count that is changed in the file is held by the engine."""
    file = folder / "security-assessment.md"
    text = file.read_text("utf-8").replace("configs, min_count: 1", "configs, min_count: 9")
    file.write_text(text, "utf-8")
    contracts = load_contracts(folder)
    app = App(network_tools(contracts), ContractPlanner(contracts))
    asked = asyncio.run(app.ask("Assess the security of HQ", today=TODAY))
    assert asked.run is not None
    failure = asked.run.steps["T2"].error
    assert failure is not None
    place = "/args/upstream/data_query_agent/assessment_context/assets/configs"
    assert (failure.code, failure.pointer) == ("argument-value", place)


def test_an_agent_that_nobody_feeds_cannot_be_added(folder: Path) -> None:
    """F001-22: the message names who requires what."""
    (folder / "data-query.yaml").unlink()
    with pytest.raises(ValueError, match=r"'Config Best Practice Agent'\s+requires 'assessment_c"):
        load_contracts(folder)


def test_an_agent_that_produces_for_another_domain_agent_works_before_it(folder: Path) -> None:
    """F001-8, C-20: what produces comes before what needs, also among domain agents."""
    (folder / "plan.yaml").write_text(
        "agent: Remediation Agent\ntool: remediation\nrole: domain\nskills:\n"
        "  - name: remediation\n    data_dependencies: [{data_path: audit}]\n",
        "utf-8",
    )
    (folder / "audit.yaml").write_text(AUDIT, "utf-8")
    planner = ContractPlanner(Contracts(load_contracts(folder)))
    planned = planner.plan(state("remediation"))
    assert rows(planned) == [
        Row("T1", "Data Query Agent", ()),
        Row("T2", "Audit Agent", ("T1",)),
        Row("T3", "Remediation Agent", ("T2",)),
    ]
    assert [each[0] for each in required(tasks(planned)[1])] == ["assessment_context.assets.events"]


def test_knowledge_that_itself_needs_data_makes_no_cycle(folder: Path) -> None:
    """F001-25, C-21: data waits for knowledge only where knowledge does not wait for it."""
    for one, other in (("a", "b"), ("b", "a")):
        (folder / f"data-{one}.yaml").write_text(
            f"agent: D{one}\ntool: d{one}\nrole: data\nproduces: [d{one}]\n", "utf-8"
        )
        (folder / f"knowing-{one}.yaml").write_text(
            f"agent: K{one}\ntool: k{one}\nrole: knowledge\nproduces: [k{one}]\n"
            f"data_dependencies: [{{data_path: d{other}}}]\n",
            "utf-8",
        )
    (folder / "both.yaml").write_text(
        "agent: Both\ntool: both\nrole: domain\nskills:\n  - name: both\n    data_dependencies:\n"
        + "".join(f"      - {{data_path: {path}}}\n" for path in ("ka", "kb", "da", "db")),
        "utf-8",
    )
    planned = ContractPlanner(load_contracts(folder)).plan(state("both"))
    seen: set[str] = set()
    for row in rows(planned):
        assert set(row.depends_on) <= seen
        seen.add(row.id)
    assert sorted(owners(planned)) == ["Both", "Da", "Db", "Ka", "Kb"]
    assert owners(planned)[-1] == "Both"
