"""`maybe-null`: references whose schema accepts null, in arguments that take none."""

import pytest

from tests.rules.problems import problems
from toolplan.plan.path import Json
from toolplan.schema.tool import Toolbox
from toolplan_sql import sql_tool

TEXT: Json = {"type": "string"}
MAYBE: Json = {"type": ["string", "null"]}
TICKET: Json = {
    "type": "object",
    "properties": {
        "id": TEXT,
        "assignee": MAYBE,
        "team": {"anyOf": [TEXT, {"type": "null"}]},
        "level": {"enum": ["low", "high", None]},
        "score": {"oneOf": [{"type": "number"}, {"type": "null"}]},
        "due": {"$ref": "#/$defs/Due"},
        "watchers": {"type": "array", "items": MAYBE},
        "links": {"type": ["array", "null"], "items": TEXT},
        "owner": {"type": "object", "properties": {"mail": MAYBE}},
        "never": {"type": "null"},
        "any": {},
    },
    "$defs": {"Due": {"type": ["string", "null"]}},
}
ROW: Json = {"type": "object", "properties": {"to": MAYBE}}
TOOLS = Toolbox.from_json(
    [
        {"name": "get", "input_schema": {"type": "object"}, "output_schema": TICKET},
        {
            "name": "all",
            "input_schema": {"type": "object"},
            "output_schema": {"type": "array", "items": ROW},
        },
        {
            "name": "act",
            "input_schema": {
                "type": "object",
                "properties": {
                    "to": TEXT,
                    "level": {"enum": ["low", "high"]},
                    "score": {"type": "number"},
                    "many": {"type": "array", "items": TEXT},
                    "maybe": MAYBE,
                    "any": {},
                    "form": {"type": "object", "properties": {"to": TEXT, "cc": MAYBE}},
                },
                "required": ["to"],
            },
        },
    ]
)  # fmt: skip


def found(args: dict[str, Json], extra: dict[str, Json] | None = None, **get: Json) -> list[str]:
    """Return the pointers, inside of the arguments, that are reported."""
    steps: Json = [
        {"id": "t", "tool": "get", "args": {}, **get},
        {"id": "rows", "tool": "all", "args": {}},
        {"id": "z", "tool": "act", "args": {"to": "x", **args}, **(extra or {})},
    ]
    reported = problems("maybe-null", steps, TOOLS)
    return [each.pointer.removeprefix("/steps/2/args/") for each in reported]


@pytest.mark.parametrize(
    ("args", "place"),
    [
        ({"to": "${t.assignee}"}, "to"),
        ({"to": "${t.team}"}, "to"),
        ({"to": "${t.due}"}, "to"),
        ({"to": "${t.owner.mail}"}, "to"),
        ({"level": "${t.level}"}, "level"),
        ({"score": "${t.score}"}, "score"),
        ({"many": "${t.watchers}"}, "many"),
        ({"many": "${t.links}"}, "many"),
        ({"many": ["x", "${t.assignee}"]}, "many/1"),
        ({"many": "${rows[*].to}"}, "many"),
        ({"form": {"to": "${t.assignee}"}}, "form/to"),
        ({"to": "Dear ${t.assignee}"}, "to"),
        ({"form": {"cc": "for ${t.team}"}}, "form/cc"),
        ({"any": "for ${t.team}"}, "any"),
    ],
)
def test_warns_of_null(args: dict[str, Json], place: str) -> None:
    assert found(args) == [place]


@pytest.mark.parametrize(
    "args",
    [
        {"to": "${t.id}"},
        {"maybe": "${t.assignee}"},
        {"any": "${t.assignee}"},
        {"form": {"cc": "${t.team}"}},
        {"to": "${t.any}"},
        {"to": "${t.never}"},
        {"undeclared": "${t.assignee}"},
        {"to": "Dear ${t.id}, ${t.any}"},
    ],
)
def test_says_nothing_where_null_is_taken_or_not_declared(args: dict[str, Json]) -> None:
    assert found(args) == []


def test_items_may_be_null_too() -> None:
    each: dict[str, Json] = {"for_each": "${rows}"}
    assert found({"to": "${item.to}"}, each) == ["to"]
    assert found({"to": "${item}"}, {"for_each": "${t.watchers}"}) == ["to"]


def test_a_condition_that_refuses_null_is_an_answer() -> None:
    refusing: list[Json] = [TEXT, {"not": {"type": "null"}}, {"minLength": 1, "type": "string"}]
    for text in refusing:
        when: Json = {"value": "${t.assignee}", "is": text}
        assert found({"to": "${t.assignee}"}, {"when": when}) == []
    when = {"value": "${t.id}", "is": {"minLength": 2}}
    assert found({"to": "${t.assignee}"}, {"when": when}) == ["to"]


def test_a_failure_that_the_plan_goes_on_without_is_meant() -> None:
    assert found({"form": "${t.owner}"}, on_error="continue") == []
    assert found({"to": "${t.assignee}"}, on_error="continue") == ["to"]


def test_columns_of_sql_are_not_declared_by_anyone() -> None:
    tools = Toolbox([*TOOLS.values(), sql_tool()])
    steps: Json = [
        {"id": "q", "tool": "sql", "args": {"sql": "SELECT 'x' AS id", "tables": {}}},
        {"id": "z", "tool": "act", "args": {"to": "${q.data[0].id}"}},
    ]
    assert problems("maybe-null", steps, tools) == []
