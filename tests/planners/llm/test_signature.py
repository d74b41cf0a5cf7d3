"""Tools as lines of types."""

from toolplan import Tool
from toolplan.plan.path import Json
from toolplan.planners.llm import signature_text
from toolplan.planners.llm._signature import signatures_text
from toolplan_demo import TOOLS


def text(schema: Json, output: Json = None) -> str:
    return signature_text(Tool("t", "", schema, output))


def test_arguments_stand_in_order_and_say_whether_they_may_be_missing() -> None:
    schema: Json = {
        "type": "object",
        "properties": {"b": {"type": "string"}, "a": {"type": "integer"}},
        "required": ["a"],
    }
    assert text(schema) == "t(b?: str, a: int) -> any"


def test_every_kind_of_type_has_its_spelling() -> None:
    properties: dict[str, Json] = {
        "d": {"type": "string", "format": "date"},
        "e": {"enum": ["x", 1, None]},
        "n": {"type": ["string", "null"]},
        "l": {"type": "array", "items": {"type": "number", "minimum": 0, "maximum": 1}},
        "o": {"type": "object", "properties": {"k": {"type": "boolean"}}, "required": ["k"]},
        "m": {"type": "object", "additionalProperties": {"type": "integer"}},
        "u": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
        "c": {"const": 3},
        "?": {},
    }
    assert text({"type": "object", "properties": properties}) == (
        't(d?: date, e?: "x" | 1 | null, n?: str | null, l?: [number 0..1], o?: {k: bool},'
        ' m?: {*: int}, u?: str | [str], c?: 3, "?"?: any) -> any'
    )


def test_a_schema_that_refers_to_itself_ends() -> None:
    tree: Json = {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}, "name": True},
    }
    found = text({"type": "object", "properties": {"x": {}}}, tree)
    assert found.startswith("t(x?: any) -> {kids?: [")
    assert len(found) < 200


def test_a_tool_that_cannot_be_used_has_a_signature_all_the_same() -> None:
    assert text({"type": 7}) == "t(…) -> any"


def test_what_many_tools_share_is_written_once() -> None:
    shared, lines = signatures_text(TOOLS.values())
    whole = sum(len(signature_text(tool)) for tool in TOOLS.values())
    assert shared
    assert sum(map(len, (*shared.values(), *lines.values()))) < 0.7 * whole
    for part in shared.values():
        assert sum(part in line for line in lines.values()) == 0
    # put back, they are the signatures that the tools have
    for name, line in lines.items():
        for other in reversed(shared):
            line = line.replace(other, shared[other])
        for other in shared:
            line = line.replace(other, shared[other])
        assert line == signature_text(TOOLS[name])


def test_a_choice_that_tools_share_is_written_once() -> None:
    states: Json = {"enum": ["pending", "delivered", '"quoted" | "too"']}
    more: Json = {"enum": ["pending", "delivered", '"quoted" | "too"', "lost"]}
    schema: Json = {"type": "object", "properties": {"a": states, '"': more, "b": {"enum": ["x"]}}}
    shared, lines = signatures_text([Tool(name, "", schema, None) for name in ("s", "t")])
    first, second = shared.values()
    assert first == '"pending" | "delivered" | "\\"quoted\\" | \\"too\\""'
    assert second == f'{first} | "lost"'
    assert lines["t"] == 't(a?: Choice1, "\\""?: Choice2, b?: "x") -> any'


def test_a_result_is_shown_without_the_bounds_of_its_numbers() -> None:
    number: Json = {"type": "integer", "minimum": 0, "maximum": 9}
    schema: Json = {"type": "object", "properties": {"n": number}}
    assert text(schema, schema) == "t(n?: int 0..9) -> {n?: int}"
