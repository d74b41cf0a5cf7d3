"""Planning by contracts from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

import toolplan.demo.network as network
from tests.cli.calls import Call

CONTRACTS = str(Path(network.__file__).parent / "contracts")
TOOLS = ("--tools", "toolplan.demo.network:NETWORK_TOOLS")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLPLAN_HOME", str(tmp_path))


def test_an_assessment_is_planned_by_contracts_and_finds_something(call: Call) -> None:
    question = "Assess HQ against best practices"
    said = call("ask", question, "--contracts", CONTRACTS, *TOOLS, "--json")
    assert said.code == 0, said.err
    steps = said.json["steps"]
    assert list(steps) == ["T1", "T2"]
    assert steps["T2"]["output"]["findings"]


def test_what_no_contract_answers_goes_to_the_next_planner(call: Call) -> None:
    said = call("plan", "Get facilities in Berlin", "--contracts", CONTRACTS, "--json")
    assert said.code == 0, said.err
    assert "No plan from contract" in said.err
    assert said.json["metadata"]["planner"] == "offline"
    forced = call(
        "plan", "Get facilities in Berlin", "--contracts", CONTRACTS, "--planner", "contract"
    )
    assert forced.code == 1


def test_a_class_without_evidence_is_known_by_its_name_and_tools_are_asked_for(
    call: Call, tmp_path: Path
) -> None:
    folder = tmp_path / "contracts"
    folder.mkdir()
    (folder / "a.yaml").write_text(
        "agent: A\ntool: a_tool\nrole: domain\nproduces: [x]\nskills:\n"
        "  - {name: security_assessment, description: 'Assess {scope}'}\n"
    )
    question = ("plan", "security_assessment of HQ", "--contracts", str(folder))
    said = call(*question, "--planner", "contract")
    assert "These tools of agents are missing: 'a_tool'." in said.out
    assert "Contracts bring no tools: name those of their agents with --tools." in said.err
    assert "Contracts" not in call("plan", "Facilities in Berlin").err


@pytest.mark.parametrize("words", [("--planner", "contract"), ("--contracts", "/nowhere")])
def test_contracts_that_are_not_there(call: Call, words: tuple[str, ...]) -> None:
    assert call("plan", "x", *words).code == 2
