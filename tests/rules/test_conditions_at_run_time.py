"""Conditions on values of no declared schema: what does not apply to a value fails the step."""

import pytest

import toolplan
from toolplan.events import StepState
from toolplan.plan.path import Json
from toolplan.schema import Schema, undecided
from toolplan.testing import Gives, ScriptedTools

UNDECIDED: list[tuple[Json, Json, str]] = [
    ({"minimum": 1}, "many", "minimum"),
    ({"minLength": 1}, None, "minLength"),
    ({"maximum": 1}, True, "maximum"),
    ({"minItems": 1}, {"data": []}, "minItems"),
    ({"required": ["id"]}, [], "required"),
    ({"pattern": "^a"}, 5, "pattern"),
    ({"allOf": [{"minimum": 1}]}, "x", "minimum"),
    ({"anyOf": [{"minimum": 1}, {"type": "null"}]}, "x", "minimum"),
    ({"properties": {"n": {"maxLength": 1}}}, {"n": 12}, "maxLength"),
    ({"properties": {"state": {"const": "closed"}}}, {"status": "open"}, "properties"),
    ({"items": {"minimum": 1}}, [2, "x"], "minimum"),
    ({"contains": {"minimum": 1}}, ["x"], "minimum"),
    ({"prefixItems": [{"minimum": 1}]}, ["x"], "minimum"),
    ({"prefixItems": [{"minimum": 1}]}, [], "prefixItems"),
    ({"additionalProperties": {"minimum": 1}}, {"a": "x"}, "minimum"),
    ({"patternProperties": {"^a": {"minimum": 1}}}, {"a": "x"}, "minimum"),
    ({"patternProperties": {"^a": {"minimum": 1}}}, {"b": 0}, "patternProperties"),
    ({"propertyNames": {"minimum": 1}}, {"a": 0}, "minimum"),
    ({"$ref": "#/$defs/x", "$defs": {"x": {"minimum": 1}}}, "x", "minimum"),
    ({"not": {"not": {"minimum": 1}}}, "x", "minimum"),
    ({"dependentSchemas": {"a": {"required": ["a"]}}}, {"b": 1}, "dependentSchemas"),
    ({"if": {"minimum": 1}, "then": {"type": "string"}}, "x", "minimum"),
    ({"if": {"type": "string"}, "then": {"minimum": 1}}, "x", "minimum"),
    ({"if": {"type": "null"}, "else": {"minimum": 1}}, "x", "minimum"),
    ({"type": ["object", "null"], "properties": {"n": {"minimum": 1}}}, {"n": "x"}, "minimum"),
]
DECIDED: list[tuple[Json, Json]] = [
    ({"minimum": 1}, 2),
    ({"type": ["integer", "null"], "minimum": 1}, None),
    ({"anyOf": [{"minimum": 1}, {"type": "string"}]}, "x"),
    ({"const": "x"}, "x"),
    ({"enum": [None, 1], "minimum": 1}, None),
    ({"properties": {"n": {"minimum": 1}, "m": {"minimum": 1}}}, {"n": 2}),
    ({"items": {"minimum": 1}}, []),
    ({"not": {"type": "null"}}, 5),
    ({"not": {"minimum": 3}}, 2),
    ({"contains": {"minimum": 1}}, ["x", 2]),
    ({"contains": {"const": 1}, "minContains": 0}, [2]),
    ({"prefixItems": [{"minimum": 1}], "items": {"minLength": 1}}, [2, "x"]),
    ({"properties": {"n": {"minimum": 1}}, "additionalProperties": {"minLength": 1}}, {"n": 2}),
    ({"patternProperties": {"^a": {"minimum": 1}}, "additionalProperties": False}, {}),
    ({"$ref": "#/$defs/x", "$defs": {"x": {"minimum": 1}}}, 2),
    ({"if": {"type": "string"}, "then": {"const": "a"}}, 5),
]


@pytest.mark.parametrize(("condition", "value", "keyword"), UNDECIDED)
async def test_a_keyword_that_says_nothing_about_the_value_fails_the_step(
    condition: Json, value: Json, keyword: str
) -> None:
    tools = ScriptedTools()
    tools.add("look", Gives(value))
    tools.add("send")
    when: Json = {"value": "${look}", "is": condition}
    plan: Json = {
        "toolplan": 1,
        "steps": [{"id": "look", "tool": "look"}, {"id": "send", "tool": "send", "when": when}],
    }
    compiled = toolplan.compile_plan(plan, tools=tools.toolbox)
    assert compiled.plan is not None, compiled.diagnostics
    step = (await toolplan.run(compiled.plan, tools.toolbox)).steps["send"]
    assert step.error is not None
    assert (step.state, step.error.code) == (StepState.FAILED, "when-schema")
    assert repr(keyword) in step.error.message


@pytest.mark.parametrize(("condition", "value"), DECIDED)
def test_a_condition_that_decides_lets_the_value_pass(condition: Json, value: Json) -> None:
    schema = Schema.load(condition)
    assert schema.is_valid(value)
    assert undecided(schema, value) is None
