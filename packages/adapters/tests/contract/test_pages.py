"""The pages about contracts say what is so. That their snippets run is shown elsewhere."""

import re
from pathlib import Path

import pytest
from msgspec.structs import fields

import toolplan_adapters.contract
import toolplan_adapters.network
from toolplan_adapters.contract import Contract, Skill, read_text

DOCS = Path(__file__).parents[4] / "docs"
PAGE = (DOCS / "contracts.md").read_text("utf-8")
COMING = (DOCS / "coming-from-orchestrator.md").read_text("utf-8")


def test_the_contract_of_the_page_is_one() -> None:
    """F001-12, F001-22."""
    (block,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    contract = read_text("page.yaml", block)
    assert contract.agent == "Security Assessment Agent"
    assert contract.skills[0].classes == ("security_assessment", "sec_assessment")


@pytest.mark.parametrize(
    "name",
    sorted({each.encode_name for kind in (Contract, Skill) for each in fields(kind)} - {"place"}),
)
def test_the_page_names_every_field(name: str) -> None:
    assert re.search(rf"\b{name}\b", PAGE)


def test_the_page_for_orchestrators_names_what_took_the_place_of_theirs() -> None:
    """F001-16: the names of the source's own planner are mapped to ours."""
    for name in ("plan.tasks[]", "plan.routing[]", "required_data[]", "depends_on", "state_of"):
        assert f"`{name}" in COMING


@pytest.mark.parametrize("package", [toolplan_adapters.contract, toolplan_adapters.network])
def test_a_package_offers_what_it_lists(package: object) -> None:
    names: list[str] = vars(package)["__all__"]
    assert names == sorted(names)
    assert all(hasattr(package, name) for name in names)
