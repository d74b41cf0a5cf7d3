"""Questions that third parties published with the tools that answer them: are these shown?"""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from toolplan.schema.tool import Toolbox
from toolplan.tools.search import index_of, relevant

DATA = Path(__file__).parents[3] / "shared" / "data"


def catalogue(name: str) -> Toolbox:
    """Return all tools of a set of data, in one toolbox."""
    path = DATA / f"{name}.tools.json"
    if not path.exists():
        pytest.skip(f"{path} is not there: it belongs to those who develop this, not to the code.")
    sets: dict[str, list[dict[str, Any]]] = json.loads(path.read_text("utf-8"))
    return Toolbox.from_json(
        list({tool["name"]: tool for tools in sets.values() for tool in tools}.values())
    )


def share(toolbox: Toolbox, name: str, every: int, found: Callable[[str], Iterable[str]]) -> float:
    """Return the share of the tools of published plans that are found for their questions."""
    wanted = shown = 0
    for line in (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()[::every]:
        row = json.loads(line)
        tools = {step["tool"] for step in row["steps"]} & set(toolbox)
        wanted += len(tools)
        shown += len(tools & set(found(row["query"])))
    return shown / wanted


@pytest.mark.parametrize(
    ("name", "every", "least"),
    [("sealtools", 8, 0.96), ("tau", 4, 0.96), ("bfcl_multi_turn", 1, 0.95)],
)
def test_the_tools_of_published_plans_are_among_those_that_are_shown(
    name: str, every: int, least: float
) -> None:
    toolbox = catalogue(name)
    assert share(toolbox, name, every, lambda query: relevant(toolbox, query)) >= least


def test_of_four_thousand_tools_nine_in_ten_are_among_the_first_ten() -> None:
    toolbox = catalogue("sealtools")
    assert len(toolbox) > 4_000

    def first(query: str) -> list[str]:
        return [each.tool.name for each in index_of(toolbox).search(query, 10)]

    assert share(toolbox, "sealtools", 8, first) >= 0.9
