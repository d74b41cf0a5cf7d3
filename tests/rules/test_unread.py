"""`unread-reference`: references in the notation of something else."""

from typing import Any

import pytest

from tests.rules.problems import problems
from toolplan.plan.path import Json
from toolplan.schema.tool import Toolbox

DOCUMENTS: list[dict[str, Any]] = [
    {"name": "rows", "input_schema": {"type": "object"}},
    {
        "name": "act",
        "input_schema": {
            "type": "object",
            "properties": {"text": {}, "sql": {"type": "string", "x-literal": True}},
        },
        "output_schema": {
            "type": "object",
            "properties": {"id": {"type": "string"}, "output": {"type": "string"}},
            "additionalProperties": False,
        },
    },
    {
        "name": "bare",
        "input_schema": {"type": "object", "properties": {}},
        "output_schema": {
            "type": "object",
            "properties": {"id": {"type": "string"}},
            "additionalProperties": False,
        },
    },
]
TOOLS = Toolbox.from_json(DOCUMENTS)
WHOLE_ONLY = ("{a}", "$find_user", "<find_user>")


def found(text: Json, *, name: str = "text", for_each: bool = False) -> list[tuple[str, str]]:
    """Return the places and hints of what is reported about an argument."""
    step: dict[str, Json] = {"id": "z", "tool": "act", "args": {name: text}}
    if for_each:
        step |= {"for_each": "${list}"}
    steps: Json = [
        {"id": "list", "tool": "rows", "args": {}},
        {"id": "a", "tool": "bare", "args": {}},
        {"id": "find_user", "tool": "act", "args": {}},
        {"id": "1", "tool": "bare", "args": {}},
        step,
    ]
    return [
        (each.pointer.removeprefix("/steps/4/args/"), (each.help or "").split("`")[1])
        for each in problems("unread-reference", steps, TOOLS)
    ]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("{{a.id}}", "${a.id}"),
        ("Dear {{ find_user.id }}!", "${find_user.id}"),
        ("{{{a.id}}}", "${a.id}"),
        ("{{a}}", "${a}"),
        ("{{ a.id | upper }}", "${a.id}"),
        ("{{ steps.a.id }}", "${a.id}"),
        ("{{ steps['a'].id }}", "${a.id}"),
        ("{{a.output.id}}", "${a.id}"),
        ("{{find_user.output}}", "${find_user.output}"),
        ("{steps.a.output.id}", "${a.id}"),
        ("{a[0].id}", "${a[0].id}"),
        ("{a}", "${a}"),
        ("$a.id", "${a.id}"),
        ("$find_user", "${find_user}"),
        ("mail $find_user.id now", "${find_user.id}"),
        ("$1.id", "${1.id}"),
        ("<a.id>", "${a.id}"),
        ("<find_user>", "${find_user}"),
        ("#a.id", "${a.id}"),
        ("#{a.id}", "${a.id}"),
        ("%{a.id}", "${a.id}"),
        ("@{a.id}", "${a.id}"),
        ("$(a.id)", "${a.id}"),
        ("$[a.id]", "${a.id}"),
        ("%(a)s", "${a}"),
        ("<%= a.id %>", "${a.id}"),
        ("[[a.id]]", "${a.id}"),
        ("{{list['full name']}}", '${list["full name"]}'),
    ],
)
def test_warns_with_the_reference_that_is_meant(text: str, hint: str) -> None:
    assert found(text) == [("text", hint)]
    assert found([{"deep": text}]) == [("text/0/deep", hint)]
    inside = [] if text in WHOLE_ONLY else [("text", hint)]
    assert found(f"${{a.id}} {text} ${{a.id}}") == inside
    assert found(text, name="sql") == []


@pytest.mark.parametrize("text", ["{{item.id}}", "$item", "$item.id", "<item.id>", "{item}"])
def test_an_item_is_one_where_there_are_items(text: str) -> None:
    assert [place for place, _ in found(text, for_each=True)] == ["text"]
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "{{name}}", "Dear {{customer.name}},", "{% for a in list %}", "<b>bold</b>", "see <a> here",
        "<a href='x'>", "$1.50 each", "costs $a", "#a", "#1", "a.id", "{a, b}", '{"a": 1}', "$100",
        "$$a.id", "x@a.id", "{other.id}", "$other.id", "%(other)s", "%a", "100%", "$${a.id}",
        "list[0]", "<a.id", "{{z.id}}", "{a.id", "if a < list.id > 3",
    ],
)  # fmt: skip
def test_says_nothing_of_other_texts(text: str) -> None:
    assert found(text) == []


def test_the_output_of_a_plan_is_looked_at_too() -> None:
    steps: Json = [{"id": "a", "tool": "bare", "args": {}}]
    (found,) = problems("unread-reference", steps, TOOLS, output={"said": "{{a.id}}"})
    assert (found.pointer, found.step) == ("/output/said", None)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"${a.id}": 1}, "/${a.id}"),
        ({"of ${a.id}": "${a.id}"}, "/of ${a.id}"),
        ([{"x": {"${find_user.id}/y": 1}}], "/0/x/${find_user.id}~1y"),
        ({"${b.id}": 1, "$a.id": 2, "{{a}}": 3}, None),
    ],
)
def test_a_reference_in_a_key_is_text(value: Json, place: str | None) -> None:
    steps: Json = [
        {"id": "a", "tool": "bare"},
        {"id": "find_user", "tool": "act"},
        {"id": "z", "tool": "act", "args": {"text": value}},
    ]
    found = problems("unread-reference", steps, TOOLS)
    assert [each.pointer for each in found] == ([f"/steps/2/args/text{place}"] if place else [])
