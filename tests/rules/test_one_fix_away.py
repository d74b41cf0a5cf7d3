"""Fixes for an output that is taken for the list in it, and for a null that means nothing."""

import pytest

from toolplan import Compiled, Toolbox, compile_plan
from toolplan.plan.model import Ref, Step
from toolplan.plan.path import Json

ROW: Json = {"type": "object", "properties": {"id": {"type": "string"}, "x": {"type": "integer"}}}
OUTPUT: Json = {
    "type": "object",
    "properties": {"data": {"type": "array", "items": ROW}, "count": {"type": "integer"}},
}
TWO_LISTS: Json = {"type": "object", "properties": {"a": {"type": "array"}, "b": {"type": "array"}}}
INPUT: Json = {
    "type": "object",
    "properties": {
        "one": {"type": "string"},
        "many": {"type": "array", "items": {"type": "string"}},
        "n": {"type": "integer"},
        "limit": {"type": "integer", "default": 5},
        "state": {"enum": ["open", "closed"]},
        "maybe": {"type": ["string", "null"]},
        "when": {
            "type": "object",
            "properties": {"from": {"type": "string"}, "to": {"type": "string"}},
            "required": ["from"],
        },
        "list": {"type": "array", "items": {"type": "integer"}},
    },
}  # fmt: skip
TOOLS = Toolbox.from_json(
    [
        {"name": "q", "output_schema": OUTPUT, "effects": "read"},
        {"name": "two", "output_schema": TWO_LISTS},
        {"name": "use", "input_schema": INPUT, "effects": "read"},
        {"name": "must", "input_schema": {**INPUT, "required": ["one", "n"]}, "effects": "read"},
    ]
)  # fmt: skip


def compiled(args: Json, tool: str = "use", source: str = "q", for_each: Json = None) -> Compiled:
    step: dict[str, Json] = {"id": "u", "tool": tool, "args": args}
    if for_each is not None:
        step["for_each"] = for_each
    plan: Json = {
        "toolplan": 1,
        "steps": [{"id": "q", "tool": source}, step],
        "output": ["${q}", "${u}"],
    }
    return compile_plan(plan, tools=TOOLS)


def step_of(found: Compiled) -> Step:
    assert found.plan is not None
    return found.plan.plan.steps[1]


@pytest.mark.parametrize(
    ("args", "fixed"),
    [
        ({"one": "${q[0].id}"}, {"one": "${q.data[0].id}"}),
        ({"many": "${q[*].id}"}, {"many": "${q.data[*].id}"}),
        ({"one": "id ${q[0].id}!"}, {"one": "id ${q.data[0].id}!"}),
        ({"n": "${q[1].x}"}, {"n": "${q.data[1].x}"}),
        ({"list": "${q[*].x}"}, {"list": "${q.data[*].x}"}),
        ({"when": {"from": "${q[0].id}"}}, {"when": {"from": "${q.data[0].id}"}}),
    ],
)
def test_an_output_taken_for_its_only_list_is_corrected(args: Json, fixed: Json) -> None:
    found = compiled(args)
    assert any(each.fixed for each in found.diagnostics)
    assert step_of(found).args == step_of(compiled(fixed)).args


def test_for_each_over_an_output_takes_its_only_list() -> None:
    found = compiled({"one": "${item.id}"}, for_each="${q}")
    assert step_of(found).for_each == Ref("q", ("data",))


@pytest.mark.parametrize("args", [{"one": "${q[0].id}"}, {"many": "${q[*].id}"}])
def test_of_two_lists_none_is_chosen(args: Json) -> None:
    assert compiled(args, source="two").plan is None


@pytest.mark.parametrize(
    ("args", "left"),
    [
        ({"one": None}, {}),
        ({"limit": None, "n": 3}, {"n": 3}),
        ({"state": None}, {}),
        ({"many": None}, {}),
        ({"when": None}, {}),
        ({"when": {"from": "a", "to": None}}, {"when": {"from": "a"}}),
        ({"when": {"from": "${q.data[0].id}", "to": None}}, {"when": {"from": "${q.data[0].id}"}}),
        ({"list": None, "limit": None}, {}),
        ({"maybe": None}, {"maybe": None}),
        ({"maybe": None, "one": None}, {"maybe": None}),
    ],
)
def test_null_for_an_optional_argument_is_left_out(args: Json, left: Json) -> None:
    assert step_of(compiled(args)).args == step_of(compiled(left)).args


@pytest.mark.parametrize(
    ("args", "tool"),
    [
        ({"one": None, "n": 1}, "must"),
        ({"one": "a", "n": None}, "must"),
        ({"when": {"from": None}}, "use"),
        ({"when": {"from": None, "to": None}}, "use"),
        ({"list": [1, None]}, "use"),
        ({"many": [None]}, "use"),
    ],
)
def test_null_for_what_is_needed_is_an_error(args: Json, tool: str) -> None:
    assert compiled(args, tool).plan is None
