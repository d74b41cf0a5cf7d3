"""The pages for people who come from the seeds name what there is; their snippets run elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

import toolplan.integrations.clear as clear
import toolplan.integrations.kirha as kirha

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("coming-from-clear-ai", "coming-from-kirha")


@pytest.mark.parametrize("face", [clear, kirha])
def test_a_face_offers_what_it_lists(face: object) -> None:
    names: list[str] = vars(face)["__all__"]
    assert names == sorted(names)
    assert all(hasattr(face, name) for name in names)


def test_a_page_names_what_its_face_offers() -> None:
    for page, names in [
        (PAGES[0], ["PlannerAgent", "PlannerConfig", "BaseTool", "MCPServer", "Executor"]),
        (PAGES[0], ["Orchestrator", "ClarificationNeeded", "PlanDependencyError", "Summarizer"]),
        (PAGES[1], ["Planner", "Plan", "Tool", "is_valid_plan", "StepResult", "parse_plan"]),
    ]:
        text = (DOCS / f"{page}.md").read_text("utf-8")
        assert [name for name in names if f"`{name}" not in text and name not in text] == []
