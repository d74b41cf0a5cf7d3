"""Whatever refers to whatever, from wherever: a plan is checked, and what is wrong is said."""

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolplan
from toolplan.compiler import check, flows_of, output_schemas
from toolplan.plan.path import Json
from toolplan_demo import TOOLS
from toolplan_sql import sql_tool

_TOOLS = TOOLS.with_tools(sql_tool())
_ARGUMENTS = {
    "shipments_list": ("facility_id", "status"),
    "facilities_get": ("id",),
    "shipments_update": ("id", "status"),
    "sql": ("sql", "a", "item"),
}
_KEYS: Sequence[str] = ("data", "id")
_NAMES = ("a", "b", "item", "index", "input", "nobody")
_PATHS = ("", ".data", ".data[*].id", "[*]", "[0].id", "[*].data[*]")
_TEXTS = st.sampled_from(
    [f"${{{name}{path}}}" for name, path in itertools.product(_NAMES, _PATHS)]
    + ["x ${item} ${a}", "SELECT * FROM a", "SELECT item FROM item", "Berlin"]
)


def _holders(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    named = st.dictionaries(st.sampled_from(_KEYS), inner, max_size=2)
    return st.one_of(st.lists(inner, max_size=2), named)


_VALUES: st.SearchStrategy[Json] = st.recursive(_TEXTS, _holders, max_leaves=4)


@st.composite
def _plans(draw: st.DrawFn) -> dict[str, Json]:
    steps: list[Json] = []
    for name in draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=3)):
        tool = draw(st.sampled_from(sorted(_ARGUMENTS)))
        step: dict[str, Json] = {
            "id": name,
            "tool": tool,
            "args": {each: draw(_VALUES) for each in _ARGUMENTS[tool]},
        }
        for key in draw(st.sets(st.sampled_from(("for_each", "when")))):
            step[key] = draw(_VALUES)
        if draw(st.booleans()):
            step["on_error"] = "continue"
        steps.append(step)
    return {"toolplan": 1, "steps": steps, "output": draw(_VALUES)}


@given(_plans())
def test_a_plan_is_checked_whatever_refers_to_whatever(plan: dict[str, Json]) -> None:
    found = toolplan.compile_plan(plan, tools=_TOOLS)
    assert (found.plan is None) == any(each.blocks for each in found.diagnostics)
    if found.draft is not None:
        check(found.draft, _TOOLS)
        output_schemas(found.draft, _TOOLS)
        flows_of(found.draft, _TOOLS)


@pytest.mark.parametrize(
    "listed", ["${item}", "${item.data[*].id}", ["${item}"], {"k": "${item.k}"}, "x${item}"]
)
def test_a_list_of_its_own_items_is_refused(listed: Json) -> None:
    """An item is one of the list, and there is none before there is the list."""
    step: Json = {
        "id": "a",
        "tool": "shipments_update",
        "args": {"id": "${item}", "status": "delivered"},
        "for_each": listed,
    }
    found = toolplan.compile_plan({"toolplan": 1, "steps": [step]}, tools=_TOOLS)
    assert found.plan is None
    assert "item-outside-for-each" in {each.code for each in found.diagnostics}
