"""A condition can be true and can be false: what cannot is an error before anything runs."""

import re

import pytest

from toolplan import Policy, Toolbox, compile_plan
from toolplan.plan.path import Json
from toolplan.policy import PolicyError

OUTPUT: Json = {
    "type": "object",
    "properties": {
        "rows": {
            "type": "array",
            "items": {"type": "object", "properties": {"n": {"type": "integer"}}},
        },
        "count": {"type": "integer", "minimum": 0},
        "name": {"type": "string"},
        "state": {"type": "string", "enum": ["open", "closed"]},
        "done": {"type": "boolean"},
        "due": {"type": ["string", "null"]},
        "color": {"$ref": "#/$defs/color"},
        "rate": {"anyOf": [{"type": "number"}, {"type": "null"}]},
    },
    "required": ["rows", "count", "name", "state", "done"],
    "$defs": {"color": {"enum": ["red", "green"]}},
}
TOOLS = Toolbox.from_json(
    [
        {"name": "typed", "output_schema": OUTPUT, "effects": "read"},
        {"name": "untyped", "effects": "read"},
    ]
)


def said(value: Json, condition: Json, tool: str = "typed") -> list[str]:
    steps: Json = [
        {"id": "a", "tool": tool},
        {"id": "b", "tool": tool, "when": {"value": value, "is": condition}},
    ]
    compiled = compile_plan({"toolplan": 1, "steps": steps, "output": "${b}"}, tools=TOOLS)
    found = [each for each in compiled.diagnostics if each.code == "when-schema"]
    assert all(each.pointer.startswith("/steps/1/when/is") for each in found)
    return [each.message + (each.help or "") for each in found]


@pytest.mark.parametrize(
    ("value", "condition", "part"),
    [
        ("${a.rows}", {"minimum": 1000}, "'minimum' says nothing about a list"),
        ("${a.rows}", {"minItem": 1}, "Did you mean 'minItems'"),
        ("${a.rows}", {"minLength": 1}, "'minLength' says nothing"),
        ("${a.name}", {"minimum": 5}, "'minimum' says nothing about a string"),
        ("${a.name}", {"minItems": 1}, "'minItems' says nothing"),
        ("${a.count}", {"maxLength": 3}, "'maxLength' says nothing about an integer"),
        ("${a.count}", {"pattern": "^1"}, "'pattern' says nothing"),
        ("${a.done}", {"const": "true"}, "compares with 'true'"),
        ("${a.done}", {"enum": [True, 1]}, "compares with 1"),
        ("${a.state}", {"const": "cloesd"}, "compares with 'cloesd'"),
        ("${a.state}", {"enum": ["open", "Closed"]}, "compares with 'Closed'"),
        ("${a.state}", {"not": {"const": "shut"}}, "compares with 'shut'"),
        ("${a.count}", {"minimum": 0}, "always holds"),
        ("${a.count}", {"type": "integer"}, "always holds"),
        ("${a.count}", {}, "always holds"),
        ("${a.count}", {"title": "more than none"}, "always holds"),
        ("${a.count}", {"maximum": -1}, "never holds"),
        ("${a.name}", {"type": "array"}, "never holds"),
        ("${a.state}", {"enum": ["open", "closed"]}, "always holds"),
        ("${a.due}", {"minLength": 1}, "lets null pass"),
        ("${a.rate}", {"exclusiveMinimum": 0.5}, "lets null pass"),
        ("${a.rows[0]}", {"required": ["m"]}, "looks for what cannot be there"),
        ("${a.rows[0]}", {"properties": {"m": {"const": 1}}}, "looks for what cannot be there"),
        ("${a.rows}", {"contains": {"properties": {"n": {"const": "1"}}}}, "compares with '1'"),
        ("${a.name}", {"format": "int32"}, "a format that is not checked"),
        ("${a.name}", {"not": {"const": "${a.state}"}}, "'${a.state}' in it, which is text"),
        ("${a.name}", {"enum": ["x", "${a.state}"]}, "'${a.state}' in it, which is text"),
        ("${a.name}", {"pattern": "^${a.state}"}, "'^${a.state}' in it, which is text"),
        ("${a.name}", {"not": {"const": "{{ a.state }}"}}, "'{{ a.state }}' in it, which is text"),
        ("${a.rows}", {"contains": {"required": ["${a.name}"]}}, "'${a.name}' in it"),
        ("${a.rows}", {"contains": {"properties": {"${a.name}": {}}}}, "'${a.name}' in it"),
        ("${a.count}", {"exclusivMinimum": 3}, "Did you mean 'exclusiveMinimum'"),
        ("${a.name}", {"pattern": ".*"}, "every text fits"),
        ("${a.name}", {"pattern": "^x?"}, "every text fits"),
        ("${a.due}", {"type": "string", "not": {"pattern": "(a|)"}}, "every text fits"),
        ({"a": "${a.count}"}, {"properties": {"b": {"minimum": 1}}}, "cannot be there"),
        ({"a": {"b": "${a.count}"}}, {"properties": {"a": {"required": ["c"]}}}, "cannot be there"),
        ({"a": "${a.count}"}, {"required": ["a"]}, "always holds"),
        ({"a": "${a.color}"}, {"properties": {"a": {"const": "blue"}}}, "compares with 'blue'"),
        (["${a.count}"], {"minItems": 1}, "always holds"),
        (["${a.color}", "${a.state}"], {"contains": {"const": "blue"}}, "compares with 'blue'"),
    ],
)  # fmt: skip
def test_conditions_that_cannot_decide_are_errors(value: Json, condition: Json, part: str) -> None:
    (found,) = said(value, condition)
    assert part in found


DRAFT_7 = "http://json-schema.org/draft-07/schema#"
IDLE: list[tuple[Json, str, str]] = [
    ({"format": "iban"}, "/format", "is not checked: 'iban'"),
    ({"type": "string", "pattern": "$"}, "/pattern", "every text fits"),
    ({"minContains": 3}, "/minContains", "says nothing without 'contains'"),
    ({"items": {"maxContains": 0}}, "/items/maxContains", "says nothing without 'contains'"),
    ({"then": {"const": 1}}, "/then", "says nothing without 'if'"),
    ({"else": {"const": 1}}, "/else", "says nothing without 'if'"),
    ({"$schema": DRAFT_7, "prefixItems": [{"const": 1}]}, "/$schema", "another draft"),
    ({"additionalProperties": {"minItem": 1}}, "/additionalProperties/minItem", "unknown"),
    ({"patternProperties": {"a/b": {"min": 1}}}, "/patternProperties/a~1b/min", "unknown"),
    ({"propertyNames": {"format": "slug"}}, "/propertyNames/format", "is not checked: 'slug'"),
    ({"unevaluatedItems": {"minItem": 1}}, "/unevaluatedItems/minItem", "unknown"),
    ({"dependentSchemas": {"a": {"min": 1}}}, "/dependentSchemas/a/min", "unknown"),
    ({"$ref": "#/$defs/x", "$defs": {"x": {"min": 1}}}, "/$defs/x/min", "unknown"),
]


@pytest.mark.parametrize(("condition", "place", "part"), IDLE)
def test_keywords_that_every_value_passes_are_errors_in_conditions_and_policies(
    condition: Json, place: str, part: str
) -> None:
    plan: Json = {
        "toolplan": 1,
        "steps": [
            {"id": "a", "tool": "untyped"},
            {"id": "b", "tool": "untyped", "when": {"value": "${a}", "is": condition}},
        ],
    }
    (found,) = compile_plan(plan, tools=TOOLS).diagnostics
    assert (found.code, found.pointer) == ("when-schema", f"/steps/1/when/is{place}")
    assert part in found.message
    sink: Json = {"to": {"needs": "trusted", "or": condition}}
    with pytest.raises(PolicyError, match=re.escape(part)):
        Policy.from_json({"sinks": {"send": sink}})


@pytest.mark.parametrize(
    ("value", "condition"),
    [
        ("${a.rows}", {"minItems": 1}),
        ("${a.rows}", {"maxItems": 0}),
        ("${a.rows}", {"contains": {"properties": {"n": {"minimum": 5}}}}),
        ("${a.count}", {"minimum": 1}),
        ("${a.count}", {"not": {"const": 0}}),
        ("${a.name}", {"pattern": "^A"}),
        ("${a.name}", {"const": "${total}"}),
        ("${a.state}", {"const": "open"}),
        ("${a.done}", {"const": True}),
        ("${a.due}", {"type": "string", "minLength": 1}),
        ("${a.due}", {"type": "null"}),
        ("${a.due}", {"not": {"type": "null"}}),
        ("${a.rate}", {"anyOf": [{"type": "null"}, {"minimum": 3}]}),
        ("${a.rate}", {"allOf": [{"type": "number"}, {"minimum": 3}], "type": "number"}),
        ("${a.due}", {"type": "string", "format": "date"}),
        ("${a.name}", {"pattern": "^$"}),
        ("${a.name}", {"pattern": "x?$"}),
        ({"a/b %": "${a.color}", "c": "${a.count}"}, {"properties": {"a/b %": {"const": "red"}}}),
        (["${a.color}", "${a.state}"], {"contains": {"const": "red"}}),
    ],
)
def test_a_condition_that_decides_is_accepted(value: Json, condition: Json) -> None:
    assert said(value, condition) == []


@pytest.mark.parametrize(
    "condition", [{"minimum": 5}, {"minItems": 1}, {"const": "x"}, {"type": "array"}]
)
def test_where_the_output_is_not_declared_only_the_condition_is_checked(condition: Json) -> None:
    assert said("${a.rows}", condition, "untyped") == []
    assert len(said("${a.rows}", {"minItem": 1}, "untyped")) == 1
    assert len(said("${a.rows}", {}, "untyped")) == 1


@pytest.mark.parametrize("tool", ["typed", "untyped"])
def test_a_condition_too_deep_to_be_checked_is_refused(tool: str) -> None:
    condition: Json = {"minItems": 1}
    for _ in range(25):
        condition = {"allOf": [condition]}
    assert "nested too deep" in said("${a.rows}", condition, tool)[0]
