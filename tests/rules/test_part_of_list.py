"""Which conditions and effects over a list may be over a part of it."""

import pytest

from tests.rules.problems import problems
from toolplan.plan.path import Json
from toolplan.schema.tool import Toolbox

ROW: Json = {"type": "object", "properties": {"id": {"type": "integer"}}}
ROWS: Json = {"type": "array", "items": ROW}
LIMIT: Json = {"type": "integer", "default": 50}
TOOLS = Toolbox.from_json(
    [
        {
            "name": "rows",
            "annotations": {"effects": "read"},
            "output_schema": ROWS,
            "input_schema": {"type": "object", "properties": {"limit": LIMIT}},
        },
        {
            "name": "pages",
            "annotations": {"effects": "read"},
            "output_schema": ROWS,
            "input_schema": {"type": "object", "properties": {"page": {"type": "integer"}}},
        },
        {
            "name": "wrapped",
            "annotations": {"effects": "read"},
            "output_schema": {
                "type": "object",
                "properties": {
                    "data": ROWS,
                    "count": {"type": "integer"},
                    "state": {"type": "string"},
                },
            },
            "input_schema": {"type": "object", "properties": {"limit": LIMIT}},
        },
        {"name": "one", "annotations": {"effects": "read"}},
        {"name": "close", "annotations": {"effects": "write"}},
    ]
)


def found(*steps: Json) -> list[str]:
    """Return the messages about parts of lists."""
    return [each.message for each in problems("part-of-list", [*steps], TOOLS)]


@pytest.mark.parametrize(
    ("condition", "is_exact"),
    [
        ({"minItems": 1}, True),
        ({"minItems": 50}, True),
        ({"minItems": 51}, False),
        ({"maxItems": 0}, True),
        ({"maxItems": 49}, True),
        ({"maxItems": 50}, False),
        ({"minItems": 2, "maxItems": 5, "type": "array"}, True),
        ({"minItems": 2, "contains": {"const": 1}}, False),
        ({"contains": {"properties": {"id": {"const": 7}}}}, False),
        ({"not": {"minItems": 1}}, False),
    ],
)
def test_a_condition_that_one_page_does_not_decide_is_named(
    condition: Json, is_exact: bool
) -> None:
    step: Json = {"id": "c", "tool": "one", "when": {"value": "${t}", "is": condition}}
    messages = found({"id": "t", "tool": "rows"}, step)
    text = "The plan computes with 50 rows of 'rows', and the tool may have more."
    assert messages == ([] if is_exact else [text])


@pytest.mark.parametrize(
    ("value", "condition", "is_exact"),
    [
        ("${t.count}", {"minimum": 50}, True),
        ("${t.count}", {"minimum": 51}, False),
        ("${t.count}", {"exclusiveMinimum": 49}, True),
        ("${t.count}", {"exclusiveMinimum": 50}, False),
        ("${t.count}", {"exclusiveMaximum": 50, "type": "integer"}, True),
        ("${t.count}", {"maximum": 50}, False),
        ("${t.count}", {"const": 0}, True),
        ("${t.count}", {"const": 50}, False),
        ("${t.count}", {"multipleOf": 2}, False),
        ("${t.state}", {"const": "open"}, True),
        ("${t.data}", {"minItems": 50}, True),
        ("${t.data}", {"contains": {"const": 1}}, False),
        ("${t.data[*].id}", {"contains": {"const": 1}}, False),
    ],
)
def test_a_field_beside_the_rows_is_not_over_them_and_a_count_is(
    value: str, condition: Json, is_exact: bool
) -> None:
    step: Json = {"id": "c", "tool": "one", "when": {"value": value, "is": condition}}
    assert len(found({"id": "t", "tool": "wrapped"}, step)) == (not is_exact)


@pytest.mark.parametrize("bound", [1, 2])
def test_without_a_limit_one_page_decides_whether_there_are_rows(bound: int) -> None:
    when: Json = {"value": "${t}", "is": {"minItems": bound}}
    messages = found({"id": "t", "tool": "pages"}, {"id": "c", "tool": "one", "when": when})
    assert len(messages) == bound - 1


@pytest.mark.parametrize(
    ("limit", "act", "count"),
    [
        ({}, {"args": {"id": "${item.id}"}, "for_each": "${t}"}, 1),
        ({}, {"args": {"ids": "${t[*].id}"}}, 1),
        ({}, {"args": {"text": "${t}"}}, 1),
        ({}, {"args": {"id": "${t[0].id}"}}, 0),
        ({}, {"after": ["t"]}, 0),
        ({"limit": 5}, {"args": {"id": "${item.id}"}, "for_each": "${t}"}, 0),
    ],
)
def test_effects_over_a_page_that_the_plan_does_not_ask_for_are_named(
    limit: Json, act: dict[str, Json], count: int
) -> None:
    steps: list[Json] = [
        {"id": "t", "tool": "rows", "args": limit},
        {"id": "c", "tool": "close", **act},
    ]
    text = "The plan acts on 50 rows of 'rows', and the tool may have more."
    assert found(*steps) == [text] * count


def test_what_is_changed_is_never_widened() -> None:
    act: Json = {"id": "c", "tool": "close", "args": {"id": "${item.id}"}, "for_each": "${t}"}
    given = problems("part-of-list", [{"id": "t", "tool": "pages"}, act], TOOLS)
    assert [each.fix for each in given] == [None]


def test_effects_on_what_is_read_for_each_row_are_over_the_page() -> None:
    read: Json = {"id": "r", "tool": "one", "args": {"id": "${item.id}"}, "for_each": "${t}"}
    act: Json = {"id": "c", "tool": "close", "args": {"id": "${item.id}"}, "for_each": "${r}"}
    given = problems("part-of-list", [{"id": "t", "tool": "pages"}, read, act], TOOLS)
    text = "The plan acts on one page of 'pages', and the tool may have more."
    assert [(each.message, each.fix) for each in given] == [(text, None)]
