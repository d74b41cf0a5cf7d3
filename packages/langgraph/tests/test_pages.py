"""The page about LangGraph names what there is. That its snippets run is shown elsewhere."""

from pathlib import Path

import toolplan_langgraph as adapter

PAGE = (Path(__file__).parents[3] / "docs/coming-from-langgraph-mcp.md").read_text("utf-8")


def test_the_package_offers_what_it_lists() -> None:
    assert adapter.__all__ == sorted(adapter.__all__)
    assert all(hasattr(adapter, name) for name in adapter.__all__)


def test_the_page_names_every_node_of_the_graph() -> None:
    for node in ("planner", "orchestrate", "human_input", "call_tool", "give_up"):
        assert f"| `{node}` |" in PAGE
    for bound in ("attempts", "replans", "rounds", "replies", "calls"):
        assert bound in PAGE
