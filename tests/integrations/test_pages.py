"""The pages for people who come from the seeds: what they show is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import toolplan.integrations.clear as clear
import toolplan.integrations.kirha as kirha

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("coming-from-clear-ai", "coming-from-kirha")


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run(page: str) -> None:
    """F000-11, F000-43, F002-2: each in a namespace of its own."""
    text = (DOCS / f"{page}.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 2
    for at, code in enumerate(blocks):
        exec(compile(code, f"{page}[{at}]", "exec"), {"__name__": page})


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
