"""Files of contracts: what is read, and what is refused, each fault at its place."""

import re
import shutil
from importlib.resources import files
from pathlib import Path

import pytest

from toolplan_adapters.contract import (
    Contract,
    ContractError,
    Contracts,
    Need,
    Priority,
    Role,
    Skill,
    load_contracts,
    read_text,
)
from toolplan_adapters.contract.contracts import MOST_BYTES
from toolplan_adapters.network import NETWORK_CONTRACTS

HEAD = "agent: A\ntool: a\nrole: domain\n"
SKILL = "skills:\n  - name: x\n"


def test_the_contracts_of_the_demo_say_what_each_skill_needs() -> None:
    """F001-5, F001-6, F001-22: read from YAML and from the head of a Markdown file."""
    assert [(each.agent, each.role.value, each.place) for each in NETWORK_CONTRACTS] == [
        ("Config Best Practice Agent", "domain", "config-best-practice.yaml"),
        ("Data Query Agent", "data", "data-query.yaml"),
        ("Knowledge Agent", "knowledge", "knowledge.yaml"),
        ("Security Assessment Agent", "domain", "security-assessment.md"),
    ]
    needed = {
        skill.name: [
            (each.data_path, each.min_count, each.priority.value) for each in skill.dependencies
        ]
        for contract in NETWORK_CONTRACTS
        for skill in contract.skills
    }
    assert needed == {
        "cbp_assessment": [("assessment_context", 1, "required")],
        "cbp_expert_insights": [
            ("assessment_context.slic_findings", 1, "required"),
            ("enterprise_context.retrieved_chunks", 1, "required"),
        ],
        "cbp_generic": [("enterprise_context.retrieved_chunks", 1, "required")],
        "security_assessment": [
            ("assessment_context.assets.configs", 1, "required"),
            ("assessment_context.assets.inventory", 0, "optional"),
            ("assessment_context.assets.events", 0, "optional"),
        ],
    }


def test_a_contract_may_say_little() -> None:
    contract = read_text("a.yml", HEAD + SKILL + "    data_dependencies: [{data_path: b}]\n")
    skill = Skill("x", dependencies=(Need("b", 1, Priority.REQUIRED),))
    assert contract == Contract("A", "a", Role.DOMAIN, skills=(skill,), place="a.yml")


def test_an_optional_dependency_asks_for_none_unless_it_says_so() -> None:
    """F001-12."""
    text = HEAD + SKILL + "    data_dependencies: [{data_path: b, priority: optional}]\n"
    assert read_text("a.yaml", text).skills[0].dependencies == (Need("b", 0, Priority.OPTIONAL),)


def test_words_of_yaml_stay_words() -> None:
    """A site may be called NO, a version 1.10, a day 2026-01-01."""
    text = "arguments: {a: [NO, yes, on, 1.10, 2026-01-01, 012, '7', 7, true, null, ~, '']}"
    assert read_text("a.yaml", HEAD + SKILL + text).arguments == {
        "a": ["NO", "yes", "on", "1.10", "2026-01-01", "012", "7", 7, True, None, None, ""]
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f.yaml:1: There is nothing in it."),
        ("# nothing", "f.yaml:1: There is nothing in it."),
        ("- A", "f.yaml:1: contract: Expected `object`, got `array`."),
        ("agent: [", "f.yaml:1: It is not YAML: "),
        ("agent: A\n\ttool: a", "f.yaml:2: It is not YAML: "),
        ("agent: \x00", "f.yaml:1: It is not YAML: "),
        ("role: domain", "f.yaml:1: contract: Object missing required field `agent`."),
        ("agent: A\nrole: domain", "f.yaml:1: contract: Object missing required field `tool`."),
        ("agent: A\ntool: a\nrole: date", "f.yaml:3: /role: Invalid enum value 'date'."),
        ("agent: A\nrol: data", "f.yaml:2: /rol: Object contains unknown field `rol`."),
        ("agent: A\nagent: B", "f.yaml:2: The key 'agent' is there twice."),
        ("? [a]\n: b", "f.yaml:1: A key must be text."),
        ("role: x\n---\nrole: y", "f.yaml:2: A second document starts here; one is read."),
        (HEAD.replace("A", "''") + SKILL, "f.yaml:1: /agent: Expected text that is not empty."),
        (HEAD, "f.yaml:1: contract: A domain agent needs at least one skill in 'skills'."),
        (
            "agent: A\ntool: a\nrole: data",
            "f.yaml:1: contract: A data agent needs at least one data path",
        ),
        (
            "agent: A\ntool: a\nrole: data\nproduces: [b]\n" + SKILL,
            "f.yaml:1: contract: A data agent needs at least one data path in 'produces', and no",
        ),
        (
            HEAD + SKILL + "    description: '{city}'",
            "f.yaml:5: /skills/0: Unknown placeholder '{city}';",
        ),
        (
            HEAD + SKILL + "    data_dependencies:\n      - {data_path: a..b}",
            "f.yaml:7: /skills/0/data_dependencies/0/data_path: Expected a data path:",
        ),
        (
            HEAD + SKILL + "    data_dependencies:\n      - {data_path: a, min_count: many}",
            "f.yaml:7: /skills/0/data_dependencies/0/min_count: Expected `int | null`, got ",
        ),
        (
            HEAD + SKILL + "    data_dependencies:\n      - {data_path: a, min_count: -1}",
            "f.yaml:7: /skills/0/data_dependencies/0/min_count: Expected `int` >= 0.",
        ),
        (
            HEAD + SKILL + "    data_dependencies:\n      - {data_path: a, priority: high}",
            "/priority: Invalid enum value 'high'.",
        ),
        (
            HEAD + "entities: {planet: [Mars]}\n" + SKILL,
            "f.yaml:4: /entities: Invalid enum value 'planet'.",
        ),
        (
            HEAD + "produces: findings\n" + SKILL,
            "f.yaml:4: /produces: Expected `array`, got `str`.",
        ),
    ],
)
def test_a_bad_file_is_reported_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ContractError, match="^.*" + re.escape(message)):
        read_text("f.yaml", text)


def test_a_bomb_of_aliases_is_refused_before_it_goes_off() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    with pytest.raises(ContractError, match=r"f\.yaml:2: An alias"):
        read_text("f.yaml", "\n".join(lines))


@pytest.mark.parametrize(
    "tag", ["!!python/object/apply:os.system ['true']", "!!binary aGk=", "!mine {a: 1}", "!!str 7"]
)
def test_a_tag_is_refused(tag: str) -> None:
    with pytest.raises(ContractError, match=r"f\.yaml:2: A tag \("):
        read_text("f.yaml", f"role: data\nagent: {tag}")


def test_size_and_depth_are_bounded() -> None:
    with pytest.raises(ContractError, match="deeper than 16"):
        read_text("f.yaml", "[" * 10_000)
    with pytest.raises(ContractError, match="more than 256,000 bytes"):
        read_text("f.yaml", "#" * (MOST_BYTES + 1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agent: A", "f.md:1: A contract in Markdown must start with YAML"),
        ("---\nagent: A", "f.md:1: A contract in Markdown must start with YAML"),
        ("---\nagent: A\ntool: a\nrole: date\n---\n", "f.md:4: /role: Invalid enum value"),
        ("---\n---\n# A", "f.md:2: There is nothing in it."),
    ],
)
def test_a_markdown_file_counts_its_own_lines(text: str, message: str) -> None:
    with pytest.raises(ContractError, match=re.escape(message)):
        read_text("f.md", text)


def test_files_and_folders_are_read_in_order(tmp_path: Path) -> None:
    source = files("toolplan_adapters.network").joinpath("contracts")
    with pytest.raises(ContractError, match="The folder has no contract"):
        load_contracts(tmp_path)
    for each in source.iterdir():
        (tmp_path / each.name).write_text(each.read_text("utf-8"), "utf-8")
    (tmp_path / "notes.txt").write_text("not a contract")
    assert list(load_contracts(str(tmp_path))) == list(NETWORK_CONTRACTS)
    shutil.copy(tmp_path / "knowledge.yaml", tmp_path / "zz.yaml")
    with pytest.raises(
        ContractError, match=r"zz\.yaml: The agent 'Knowledge Agent' already has a contract"
    ):
        load_contracts(tmp_path)


@pytest.mark.parametrize("name", ["missing.yaml", "notes.txt", "latin.yaml"])
def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path, name: str) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"agent: \xe9")
    with pytest.raises(ContractError, match=re.escape(name)):
        load_contracts(tmp_path / name)


def _domain(agent: str, needs: str, gives: str) -> Contract:
    skill = Skill(agent, (agent,), "Work", (Need(needs),))
    return Contract(
        agent, agent, Role.DOMAIN, produces=(gives,), skills=(skill,), place=f"{agent}.yaml"
    )


def test_agents_that_others_need_have_tools_of_their_own() -> None:
    """F001-13: outputs are passed on by tool."""
    one = Contract("A", "same", Role.DATA, produces=("a",), place="a.yaml")
    two = Contract("B", "same", Role.KNOWLEDGE, produces=("b",), place="b.yaml")
    with pytest.raises(ContractError, match=r"b\.yaml: The tool 'same' is already that of 'A'"):
        Contracts([one, two])
    assert (
        len(Contracts([_domain("a", "x", "y"), Contract("X", "a", Role.DATA, produces=("x",))]))
        == 2
    )


def test_contracts_must_fit_together() -> None:
    """F001-25, C-20: what is required is produced by somebody, and not in a cycle."""
    with pytest.raises(ContractError, match=r"a\.yaml: The agent 'a' requires 'x', which no agent"):
        Contracts([_domain("a", "x", "y")])
    with pytest.raises(ContractError, match=r"in a cycle: .*a → b|in a cycle: .*b → a"):
        Contracts([_domain("a", "x", "y"), _domain("b", "y", "x")])
