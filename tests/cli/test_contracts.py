"""Planning by contracts from the command line."""

import json
from pathlib import Path

import pytest

import toolplan_adapters.network as network
from tests.cli.calls import Call
from toolplan.app import _open
from toolplan.base.extras import install_command
from toolplan.cli import ask

CONTRACTS = str(Path(network.__file__).parent / "contracts")
TOOLS = ("--tools", "toolplan_adapters.network:NETWORK_TOOLS")


def test_an_assessment_is_planned_by_contracts_and_finds_something(call: Call) -> None:
    question = "Assess HQ against best practices"
    said = call("ask", question, "--contracts", CONTRACTS, *TOOLS, "--json", code=0)
    steps = said.json["steps"]
    assert list(steps) == ["T1", "T2"]
    assert steps["T2"]["output"]["findings"]


def test_what_no_contract_answers_goes_to_the_next_planner(call: Call) -> None:
    said = call("plan", "Get facilities in Berlin", "--contracts", CONTRACTS, "--json", code=0)
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


INTENT = '{"intent": {"intent_class": "security_assessment", "confidence": 0.9}, "input": {"a": 1}}'


def test_a_state_is_planned_and_printed(call: Call, tmp_path: Path) -> None:
    """F001-19: what is not the planner's stays as it is."""
    file = tmp_path / "STATE.json"
    file.write_text(INTENT)
    said = call("plan", "--state", str(file), "--contracts", CONTRACTS, code=0)
    planned = json.loads(said.out)
    assert planned["input"] == {"a": 1}
    assert planned["trace"]["node_run_order"] == ["Planner"]
    assert [task["owner"] for task in planned["plan"]["tasks"]] == planned["plan"]["routing"]


@pytest.mark.parametrize(
    ("intent", "code"),
    [
        ('{"intent": {"intent_class": "nothing_of_ours"}}', 1),
        ('{"intent": {"intent_class": "security_assessment", "confidence": 0.2}}', 1),
        ('{"intent": {"intent_class": "unknown_or_needs_clarification"}}', 1),
        ('{"intent": []}', 2),
        ("{}", 2),
        ("[]", 2),
        ("{", 2),
        ('{"intent": {"intent_class": "security_assessment"}, "plan": 7}', 2),
    ],
)
def test_an_unplannable_state_says_why(call: Call, tmp_path: Path, intent: str, code: int) -> None:
    file = tmp_path / "STATE.json"
    file.write_text(intent)
    said = call("plan", "--state", str(file), "--contracts", CONTRACTS, "--json", code=code)
    if code == 1:
        assert said.json["clarification"]["question"]


def test_a_state_needs_contracts_and_no_question(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "STATE.json"
    file.write_text(INTENT)
    assert call("plan", "--state", str(file)).code == 2
    assert call("plan", "x", "--state", str(file), "--contracts", CONTRACTS).code == 2
    assert call("plan", "--state", str(tmp_path / "no"), "--contracts", CONTRACTS).code == 2
    assert call("plan").code == 2


def test_without_their_distribution_the_command_that_installs_it_is_named(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_open, "PLANNERS", {})
    monkeypatch.setattr(ask, "_STATES", {})
    (tmp_path / "state.json").write_text("{}", "utf-8")
    for words in (("plan", "Assess HQ"), ("plan", "--state", str(tmp_path / "state.json"))):
        said = call(*words, "--contracts", CONTRACTS, code=2)
        assert "The planner 'contract' needs the package toolplan-adapters" in said.err
        assert install_command("adapters") in said.err
