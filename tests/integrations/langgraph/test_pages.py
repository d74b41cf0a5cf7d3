"""The pages about LangGraph: what they show is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import toolplan.integrations.langgraph as face

DOCS = Path(__file__).parents[3] / "docs"
PAGES = ("coming-from-langgraph-mcp", "langgraph")


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run(page: str) -> None:
    """F004-1 to F004-15: each in a namespace of its own."""
    text = (DOCS / f"{page}.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    for at, code in enumerate(blocks):
        run = compile(
            code, f"{page}[{at}]", "exec", dont_inherit=True
        )  # typed as a user's would be
        exec(run, {"__name__": page})


def test_the_package_offers_what_it_lists() -> None:
    assert face.__all__ == sorted(face.__all__)
    assert all(hasattr(face, name) for name in face.__all__)


def test_the_page_names_every_node_of_the_graph() -> None:
    page = (DOCS / f"{PAGES[0]}.md").read_text("utf-8")
    for node in ("planner", "orchestrate", "human_input", "call_tool", "give_up"):
        assert f"| `{node}` |" in page
    for bound in ("attempts", "replans", "rounds", "replies", "calls"):
        assert bound in page
