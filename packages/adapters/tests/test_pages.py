"""The pages for people who come from the seeds name what there is; their snippets run elsewhere."""

from pathlib import Path

import pytest

import toolplan_adapters.clear as clear
import toolplan_adapters.kirha as kirha

DOCS = Path(__file__).parents[3] / "docs"
PAGES = ("coming-from-clear-ai", "coming-from-kirha")


@pytest.mark.parametrize("adapter", [clear, kirha])
def test_an_adapter_offers_what_it_lists(adapter: object) -> None:
    names: list[str] = vars(adapter)["__all__"]
    assert names == sorted(names)
    assert all(hasattr(adapter, name) for name in names)


def test_a_page_names_what_its_adapter_offers() -> None:
    for page, names in [
        (PAGES[0], ["PlannerAgent", "PlannerConfig", "BaseTool", "MCPServer", "Executor"]),
        (PAGES[0], ["Orchestrator", "ClarificationNeeded", "PlanDependencyError"]),
        (PAGES[1], ["Planner", "Plan", "Tool", "is_valid_plan", "StepResult", "parse_plan"]),
    ]:
        text = (DOCS / f"{page}.md").read_text("utf-8")
        assert [name for name in names if f"`{name}" not in text and name not in text] == []
