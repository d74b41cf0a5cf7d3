"""Validation in the Kirha adapter: six codes, all errors, each with its place."""

import json

import pytest

from toolplan.plan.path import Json
from toolplan.schema.tool import ToolObjectError
from toolplan_adapters.kirha import Plan, Tool, is_valid_plan, parse_plan
from toolplan_adapters.kirha.validation import PlanValidationError


def schema(**properties: Json) -> str:
    return json.dumps({"type": "object", "properties": properties})


STRING: Json = {"type": "string"}
NUMBER: Json = {"type": "number"}
PLACES = Tool(
    "places",
    "Finds places",
    schema(query=STRING, limit={"type": "integer"}),
    schema(city=STRING, degrees=NUMBER, tags={"type": "array", "items": STRING}),
)
SHOW = Tool(
    "show",
    "Shows text",
    json.dumps(
        {
            "type": "object",
            "properties": {
                "text": STRING,
                "size": NUMBER,
                "style": {"type": "object", "properties": {"colour": STRING}},
            },
            "required": ["text"],
        }
    ),
    schema(),
)
TOOLS = [PLACES, SHOW]


def plan(*items: Json) -> Plan:
    read = parse_plan(f"<plan>{json.dumps(items)}</plan>")
    assert read is not None
    return read


def errors(*items: Json, tools: list[Tool] | None = None) -> tuple[PlanValidationError, ...]:
    result = is_valid_plan(plan(*items).steps, TOOLS if tools is None else tools)
    assert result.valid is not bool(result.errors)
    return result.errors


def show(**arguments: Json) -> Json:
    return {"toolName": "show", "arguments": {"text": "x", **arguments}}


FIRST: Json = {"toolName": "places", "arguments": {"query": "Paris"}}


def test_a_plan_that_fits_its_tools_is_valid() -> None:
    """F002-12."""
    result = is_valid_plan(plan(FIRST, show(text="{0.city}", size="{0.degrees}")).steps, TOOLS)
    assert result.to_json() == {"valid": True, "errors": []}


def test_all_errors_are_collected() -> None:
    """F002-12, F002-13."""
    found = errors(
        FIRST, {"toolName": "nothing"}, show(text="{0.town}", size="{0.city}"), show(color="red")
    )
    assert {(each.step_id, each.code) for each in found} == {
        ("1", "tool_not_found"),
        ("2", "output_key_missing"),
        ("2", "type_mismatch"),
        ("3", "input_key_missing"),
    }


ONE: dict[str, tuple[list[Json], dict[str, Json]]] = {
    "a tool that is not there": (
        [{"toolName": "nothing"}],
        {"code": "tool_not_found", "stepId": "0", "toolName": "nothing"},
    ),
    "an argument that the tool has not": (
        [show(color="red")],
        {"code": "input_key_missing", "stepId": "0", "toolName": "show", "argumentPath": "color"},
    ),
    "an argument that the tool needs": (
        [{"toolName": "show", "arguments": {}}],
        {"code": "input_key_missing", "stepId": "0", "toolName": "show"},
    ),
    "a path that the output has not": (
        [FIRST, show(text="in {0.town}")],
        {
            "code": "output_key_missing", "stepId": "1", "toolName": "show",
            "argumentPath": "text", "fromStepId": "0", "outputPath": "town",
        },
    ),
    "a reference of another type": (
        [FIRST, show(size={"fromStep": 0, "outputKey": "city"})],
        {
            "code": "type_mismatch", "stepId": "1", "toolName": "show",
            "argumentPath": "size", "fromStepId": "0", "outputPath": "city",
            "expectedType": "number", "actualType": "string",
        },
    ),
    "a reference of another type in an object": (
        [FIRST, show(style={"colour": "{0.tags}"})],
        {
            "code": "type_mismatch", "stepId": "1", "toolName": "show",
            "argumentPath": "style.colour", "fromStepId": "0", "outputPath": "tags",
            "expectedType": "string", "actualType": "array",
        },
    ),
    "text with references where a number is taken": (
        [FIRST, show(size="about {0.degrees}")],
        {
            "code": "type_mismatch", "stepId": "1", "toolName": "show",
            "argumentPath": "size", "fromStepId": "0", "outputPath": "degrees",
            "expectedType": "number", "actualType": "string",
        },
    ),
    "a literal of another type, which the SDK let pass": (
        [show(style=[1])],
        {
            "code": "type_mismatch", "stepId": "0", "toolName": "show",
            "argumentPath": "style", "expectedType": "object", "actualType": "array",
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ONE)
def test_each_error_has_its_code_places_and_types(case: str) -> None:
    """F002-12, F002-13, F002-15."""
    items, fields = ONE[case]
    (error,) = errors(*items)
    assert error.to_json() == {"message": error.message, **fields}


def test_the_message_names_the_tool_or_the_argument() -> None:
    """F002-13."""
    assert errors({"toolName": "nothing"})[0].message == 'Tool "nothing" not found'
    assert "'color'" in errors(show(color="red"))[0].message


@pytest.mark.parametrize("which", ["input_schema", "output_schema"])
def test_a_schema_that_cannot_be_read(which: str) -> None:
    """F002-13: `schema_parse_error`, of either schema."""
    schemas: dict[str, Json] = {"input_schema": "{}", "output_schema": "{}", which: "{not json"}
    broken = Tool("t", "", schemas["input_schema"], schemas["output_schema"])
    (error,) = errors({"toolName": "t"}, tools=[broken])
    assert (error.code, error.step_id, error.tool_name) == ("schema_parse_error", "0", "t")


def test_what_fits_or_can_be_fixed_without_a_doubt_is_no_error() -> None:
    """F002-15: values in a text may be of any type."""
    assert errors(FIRST, show(text="{0.degrees} in {0.city}: {0.tags} {0}")) == ()
    assert errors(show(size="5")) == ()


@pytest.mark.parametrize(
    "items",
    [
        [{"toolName": "places", "arguments": {"query": "{0.city}"}}],
        [
            {"toolName": "places", "arguments": {"query": "{1.city}"}},
            {"toolName": "places", "arguments": {"query": "{0.city}"}},
        ],
    ],
    ids=["itself", "cycle"],
)
def test_steps_that_wait_for_themselves_can_never_start(items: list[Json]) -> None:
    """F002-13: `dependency_step_missing`; in the SDK cycles were valid."""
    assert {each.code for each in errors(*items)} == {"dependency_step_missing"}


def test_a_step_that_is_not_there() -> None:
    """F002-9, F002-13: `dependency_step_missing`."""
    steps = plan(FIRST, show(text="{0.city}")).steps
    (error,) = is_valid_plan(steps[1:], TOOLS).errors
    assert error.code == "dependency_step_missing"
    assert error.message == "Invalid dependency reference: step 0 not found"
    assert (error.from_step_id, error.output_path, error.argument_path) == ("0", "city", "text")


DEEP = Tool(
    "deep",
    "",
    schema(
        style={
            "type": "object",
            "properties": {
                "parts": {"type": "array", "items": json.loads(schema(name=STRING, size=NUMBER))},
                "0": STRING,
            },
            "additionalProperties": False,
        }
    ),
)


@pytest.mark.parametrize(
    ("style", "place", "actual"),
    [
        ({"parts": [{"name": "x"}, {"name": [1]}]}, "style.parts[1].name", "array"),
        ({"extra": [1]}, "style.extra", None),
        ({"parts": {"a": 1}}, "style.parts", "object"),
        ({"0": [[1]]}, 'style["0"]', "array"),
        ({"parts": [{"size": {"fromStep": 0, "outputKey": "city"}}]}, 0, "string"),
        ({"parts": [{"size": {"fromStep": 0, "outputKey": "town"}}]}, 0, None),
    ],
)
def test_the_place_of_a_nested_argument_is_the_whole_path(
    style: Json, place: str | int, actual: str | None
) -> None:
    """F002-12: the path has the form of an `$outputKey`, with `[0]` for the first of a list."""
    deep: Json = {"toolName": "deep", "arguments": {"style": style}}
    (error,) = errors(FIRST, deep, tools=[PLACES, DEEP])
    assert error.argument_path == (place or "style.parts[0].size")
    assert (error.tool_name, error.actual_type) == ("deep", actual)


@pytest.mark.parametrize(
    ("given", "path", "taken", "is_fine"),
    [
        ({"anyOf": [schema(a=STRING), schema(b=STRING)]}, "a", STRING, True),
        ({"type": ["object", "null"], "properties": {"a": STRING}}, "a", STRING, True),
        ({"type": "object", "properties": {"a": {"enum": ["x"]}}}, "a", STRING, True),
        ({"type": "object", "properties": {"a": {"const": 5}}}, "a", NUMBER, True),
        ({"type": "object", "properties": {"a": {"const": 5}}}, "a", STRING, False),
        ({"type": "object", "properties": {}}, "any.key", STRING, True),
        ({"type": "object", "additionalProperties": NUMBER}, "any", NUMBER, True),
        ({"type": "object", "additionalProperties": NUMBER}, "any", STRING, False),
        ({"type": "object", "properties": {"a": NUMBER}}, "b", NUMBER, False),
    ],
)
def test_schemas_are_read_as_types(given: Json, path: str, taken: Json, is_fine: bool) -> None:
    """F002-14."""
    if isinstance(given, dict) and isinstance(given.get("anyOf"), list):
        given = {"anyOf": [json.loads(schema(a=STRING)), json.loads(schema(b=STRING))]}
    tools = [
        Tool("a", "", "{}", given),
        Tool("b", "", {"type": "object", "properties": {"x": {} if taken is None else taken}}),
    ]
    found = errors(
        {"toolName": "a"},
        {"toolName": "b", "arguments": {"x": {"fromStep": 0, "outputKey": path}}},
        tools=tools,
    )
    assert (found == ()) is bool(is_fine)


def test_tools_may_be_mappings() -> None:
    """F002-2."""
    tools = [
        {"name": "t", "description": "", "inputSchema": schema(x=STRING), "handler": None},
        {"name": "u", "description": "", "inputSchema": {"type": "object"}, "effects": "read"},
    ]
    assert is_valid_plan(plan({"toolName": "t", "arguments": {"x": "a"}}).steps, tools).valid
    for wrong in ({"name": "t", "handler": 5}, {"name": "t", "effects": "none"}):
        with pytest.raises(ToolObjectError, match="'t'"):
            is_valid_plan([], [wrong])
