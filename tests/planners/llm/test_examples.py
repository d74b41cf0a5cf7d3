"""The plans that a prompt shows as examples: they have no values that a model could copy."""

from __future__ import annotations

import json

import pytest

from toolplan import Effects, Tool, Toolbox, compile_plan
from toolplan.plan.model import Ref
from toolplan.plan.path import Json
from toolplan.planners.llm._prompt import example_plans, own_examples
from toolplan_demo import TOOLS

TEXT: Json = {"type": "string"}
ROWS: Json = {
    "type": "array",
    "items": {"type": "object", "properties": {"id": TEXT}, "required": ["id"]},
}


def tool(name: str, output: Json, **needed: Json) -> Tool:
    schema: Json = {"type": "object", "properties": {**needed, "day": TEXT}, "required": [*needed]}
    return Tool(name, "", schema, output, Effects.READ)


LENT = tool("loans_get", None, book_id=TEXT)
FREE = Toolbox([tool("books_list", ROWS), LENT])
NEEDY = Toolbox([tool("books_list", ROWS, author=TEXT), LENT])
KINDS = Toolbox([tool("books_list", ROWS), tool("loans_get", None, book_id=TEXT, kind=TEXT)])


@pytest.mark.parametrize(
    ("tools", "count"),
    [(TOOLS, 2), (FREE, 2), (KINDS, 1), (NEEDY, 0)],
    ids=["demo", "free", "kinds", "needy"],
)
def test_an_example_passes_its_check_and_has_no_value(tools: Toolbox, count: int) -> None:
    shown = example_plans(tools)
    assert len(shown) == count
    for example in shown:
        compiled = compile_plan(example, tools=tools)
        assert compiled.plan is not None
        assert not compiled.diagnostics
        for step in compiled.plan.plan.steps:
            assert all(isinstance(value, Ref) for value in step.args.values())
        assert all("args" in step for step in json.loads(example)["steps"])


OWN: dict[str, Json] = {
    "question": "Ada's loans",
    "plan": {"toolplan": 1, "steps": [{"id": "a", "tool": "loans_get", "args": {"book_id": "B1"}}]},
}


LISTED: list[tuple[Json, int]] = [
    ([OWN], 1),
    ([OWN, OWN, OWN], 2),
    ([OWN | {"question": "x" * 400}], 0),
    ([{"question": "Loans", "plan": {"toolplan": 1, "steps": []}}], 0),
    ([{"question": "Loans", "plan": {"toolplan": 1, "steps": [{"id": "a", "tool": "no"}]}}], 0),
    (["Loans"], 0),
    ("Loans", 0),
]


@pytest.mark.parametrize(("listed", "shown"), LISTED)
def test_examples_of_a_tool_are_shown_where_their_plans_are_plans(listed: Json, shown: int) -> None:
    lent = Tool("loans_get", "", {"type": "object", "x-examples": listed}, None, Effects.READ)
    assert len(own_examples(Toolbox([lent]))) == shown
