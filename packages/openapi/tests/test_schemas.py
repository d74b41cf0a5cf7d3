"""Schemas of documents as schemas of tools."""

import pytest

from packages.openapi.tests.documents import (
    PETS,
    TEXT,
    TREE,
    Node,
    json_response,
    one_get,
    one_post,
    operations,
    parameter,
    with_paths,
)
from toolplan.plan.path import EVERY, Json
from toolplan.schema import Schema, at, types_of
from toolplan.schema.tool import Tool
from toolplan_openapi import openapi_toolbox, read_openapi


def response(schema: Json, **schemas: Json) -> Tool:
    """Return the tool whose output is `schema`, with `schemas` as components."""
    document: Node = {
        **one_get([], responses=json_response(schema)),
        "components": {"schemas": {**schemas}},
    }
    return openapi_toolbox(document)["get"]


def output(schema: Json, **schemas: Json) -> Schema:
    found = response(schema, **schemas).output
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"enum": ["a"], "nullable": True}, {"enum": ["a", None]}),
        ({"type": ["string"], "nullable": True}, {"type": ["string", "null"]}),
        (
            {"allOf": [TEXT], "nullable": True, "description": "d"},
            {"anyOf": [{"allOf": [TEXT]}, {"type": "null"}], "description": "d"},
        ),
        ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
        ({"maximum": 1, "exclusiveMaximum": False}, {"maximum": 1}),
        ({"exclusiveMaximum": 5}, {"exclusiveMaximum": 5}),
        ({"type": "integer", "example": 5}, {"type": "integer", "examples": [5]}),
        ({"type": "string", "format": "email"}, {"type": "string"}),
        ({"type": "string", "format": "date"}, {"type": "string", "format": "date"}),
        ({"type": "string", "x-unit": "kg", "x-other": 1}, {"type": "string", "x-unit": "kg"}),
        ({"type": "object", "xml": {}, "externalDocs": {}}, {"type": "object"}),
        (
            {"properties": {"$ref": TEXT, "enum": TEXT, "nullable": {"type": "boolean"}}},
            {"properties": {"$ref": TEXT, "enum": TEXT, "nullable": {"type": "boolean"}}},
        ),
        ({"enum": [{"nullable": True}]}, {"enum": [{"nullable": True}]}),
        ({"items": {"type": "string", "nullable": True}}, {"items": {"type": ["string", "null"]}}),
    ],
)
def test_what_openapi_says_is_said_in_json_schema(written: Json, read: Json) -> None:
    """S19: names of properties are plain text, whatever they are."""
    assert response(written).raw_output == read


def test_formats_are_kept_for_arguments() -> None:
    schema: Json = {"type": "string", "format": "email"}
    get = operations(one_get([{"name": "a", "in": "query", "schema": schema}]))["get"]
    assert isinstance(get.raw_input, dict)
    assert get.raw_input["properties"] == {"a": schema}


def test_what_only_one_side_writes_is_not_asked_of_the_other() -> None:
    found = operations(PETS)
    created, got = found["createPet"], found["getPet"]
    assert isinstance(created.raw_input, dict)
    assert isinstance(got.raw_output, dict)
    assert "id" not in str(created.raw_input["properties"])
    assert got.raw_output["required"] == ["id", "name"]
    hidden: Node = {
        "type": "object",
        "properties": {"pin": {"type": "string", "writeOnly": True}},
        "required": ["pin"],
    }
    assert output(hidden).is_valid({})
    odd: Node = {**hidden, "required": [[], "pin", 1]}
    assert response(odd).output_fault is not None


def test_a_discriminator_says_alternatives_apart_that_fit_the_same_value() -> None:
    pet = openapi_toolbox(PETS)["getPet"].output
    assert pet is not None
    both: Node = {"id": 1, "name": "x", "kind": {"type": "cat"}}
    assert pet.is_valid(both)
    assert pet.is_valid({**both, "kind": {"type": "dog", "barks": True}})
    assert not pet.is_valid({**both, "kind": {"type": "dog", "barks": 3}})
    assert not pet.is_valid({**both, "kind": {"type": "cow"}})


def test_a_discriminator_without_mapping_goes_by_the_names_of_the_schemas() -> None:
    schema: Node = {
        "oneOf": [{"$ref": "#/components/schemas/A"}, {"$ref": "#/components/schemas/B"}],
        "discriminator": {"propertyName": "t"},
    }
    found = output(schema, A={"type": "object"}, B={"type": "object"})
    assert found.is_valid({"t": "A"})
    assert not found.is_valid({"t": "C"})


def test_circular_schemas_are_definitions() -> None:
    """S09."""
    node = openapi_toolbox({**TREE, "servers": [{"url": "https://t.example"}]})["get_nodes_id"]
    assert node.output is not None
    tree: Node = {"name": "a", "children": [{"name": "b", "parent": {"name": "a", "parent": None}}]}
    assert node.output.is_valid(tree)
    assert not node.output.is_valid({"name": "a", "children": [{"name": 1}]})
    deep = at(node.output, ("owner", "nodes", EVERY, "children", EVERY, "parent", "name"))
    assert isinstance(deep, Schema)
    assert types_of(deep) == {"array"}


def test_a_ring_of_alternatives_is_cut() -> None:
    """S08: parents that list their children, which are made of their parents."""
    for name in ("shapes", "grow"):
        tool = openapi_toolbox(TREE)[name]
        assert tool.unusable is None
        assert tool.output_fault is None
    shape = openapi_toolbox(TREE)["shapes"].output
    assert shape is not None
    assert shape.is_valid({"kind": "Round", "radius": 1.5})
    assert not shape.is_valid({"kind": "Round", "radius": "wide"})


@pytest.mark.parametrize(
    "schemas",
    [
        {"A": {"$ref": "#/components/schemas/A"}},
        {"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}},
        {"A": {"allOf": [{"$ref": "#/components/schemas/A"}]}},
        {"A": {"not": {"anyOf": [{"$ref": "#/components/schemas/A"}]}}},
        {
            "A": {"oneOf": [{"$ref": "#/components/schemas/B"}, TEXT]},
            "B": {"allOf": [{"$ref": "#/components/schemas/C"}]},
            "C": {"if": {"$ref": "#/components/schemas/A"}, "then": TEXT},
        },
    ],
)
def test_a_schema_that_is_itself_and_nothing_else_says_nothing(schemas: Node) -> None:
    """S08."""
    assert response({"$ref": "#/components/schemas/A"}, **schemas).output_fault is None
    body: Node = {
        **one_post({"items": {"$ref": "#/components/schemas/A"}}),
        "components": {"schemas": schemas},
    }
    assert openapi_toolbox(body)["post"].unusable is None


def test_references_may_lead_anywhere_in_the_document() -> None:
    """S07 where it leads nowhere."""
    way = "#/paths/~1a%20b~1%7Bx%7D/get/responses/200/content/application~1json/schema/items"
    items: dict[str, Json] = {
        "/a b/{x}": {"items": {"type": "integer"}},
        "/b": {"$ref": way},
        "/c": {"items": {"$ref": "#/components/none"}},
        "/d": {"$ref": "#anchor"},
        "/e": {"$ref": 5},
    }
    x: Node = {"parameters": [parameter("x", "path", required=True)]}
    paths: Node = {
        path: {
            "get": {
                **(x if "{" in path else {}),
                "operationId": path[1],
                "responses": json_response(schema),
            }
        }
        for path, schema in items.items()
    }
    read = read_openapi(with_paths(paths))
    outputs = {each.tool.name: each.tool.raw_output for each in read.operations}
    assert outputs["b"] == {"type": "integer"}
    assert [each.message for each in read.faults] == [
        "It refers to '#/components/none', which is not in the document.",
        "Its '$ref' '#anchor' is not a JSON pointer.",
        "Its '$ref' is not text.",
    ]
    place = "/paths/~1c/get/responses/200/content/application~1json/schema/items"
    assert read.faults[0].pointer == place


def test_two_definitions_of_one_name_stay_two() -> None:
    both: Json = {"a": {"$ref": "#/components/schemas/X"}, "b": {"$ref": "#/components/other/X"}}
    document: Node = {
        **one_get([], responses=json_response({"properties": both})),
        "components": {"schemas": {"X": TEXT}, "other": {"X": {"type": "integer"}}},
    }
    found = openapi_toolbox(document)["get"].output
    assert found is not None
    assert found.is_valid({"a": "x", "b": 1})
    assert not found.is_valid({"a": 1})
    assert not found.is_valid({"b": "x"})


def test_what_lies_too_far_is_left_open() -> None:
    """S30: and a chain of definitions without end takes no time."""
    names = [f"N{number}" for number in range(3_000)]
    schemas: Node = {
        name: {
            "type": "object",
            "properties": {"next": {"$ref": f"#/components/schemas/{after}"}, "v": TEXT},
        }
        for name, after in zip(names, [*names[1:], names[0]], strict=True)
    }
    tool = response({"$ref": "#/components/schemas/N0"}, **schemas)
    assert tool.output is not None
    assert types_of(_at(tool.output, ("next",) * 50 + ("v",))) == {"string"}
    assert at(tool.output, ("next",) * 2_500) is None


def test_nesting_without_end_is_left_open() -> None:
    schema: Json = TEXT
    for _ in range(200):
        schema = {"type": "array", "items": schema}
    assert response(schema).output_fault is None


def test_chains_of_alternatives_do_not_overflow() -> None:
    schemas: Node = {
        f"A{n}": {"allOf": [{"$ref": f"#/components/schemas/A{n + 1}"}]} for n in range(5_000)
    }
    document: Node = {
        **one_get([], responses=json_response({"$ref": "#/components/schemas/A0"})),
        "components": {"schemas": {**schemas, "A5000": TEXT}},
    }
    (fault,) = read_openapi(document).faults
    assert fault.message == "It is built of too many parts."


def _at(schema: Schema, path: tuple[str, ...]) -> Schema:
    found = at(schema, path)
    assert isinstance(found, Schema), path
    return found
