"""Scalars of YAML take the type that their schema states, from their source text."""

import pytest

from toolplan.plan.path import Json
from toolplan_openapi import openapi_toolbox, read_document
from toolplan_openapi._document import read_with_faults

DOCUMENT = """
openapi: 3.1
info: {title: 2024, version: 1.0}
paths:
  /x:
    get:
      operationId: 42
      parameters:
        - name: p
          in: query
          schema: {%s}
      responses:
        200: {description: 1.0}
"""


def schema(written: str) -> tuple[dict[str, Json], tuple[str, ...]]:
    document, faults = read_with_faults(DOCUMENT % written)
    tools = openapi_toolbox(document, base_url="https://api.example")
    found = tools["42"].raw_input
    assert isinstance(found, dict)
    properties = found["properties"]
    assert isinstance(properties, dict)
    node = properties["p"]
    assert isinstance(node, dict)
    return node, faults


@pytest.mark.parametrize(
    ("written", "keyword", "value"),
    [
        ("type: string, enum: [1.0, 2]", "enum", ["1.0", "2"]),
        ("type: string, enum: [true]", "enum", ["true"]),
        ("type: string, enum: [yes, no, on, OFF]", "enum", ["yes", "no", "on", "OFF"]),
        ("type: string, enum: [True, FALSE]", "enum", ["True", "FALSE"]),
        ("type: string, enum: [3.10, 3.9]", "enum", ["3.10", "3.9"]),
        ("type: string, enum: [1e3, 1E-2]", "enum", ["1e3", "1E-2"]),
        ("type: string, enum: [0123, 007]", "enum", ["0123", "007"]),
        ("type: string, enum: [12:30, 1:2:3]", "enum", ["12:30", "1:2:3"]),
        ("type: string, enum: [2024-01-02, 2024]", "enum", ["2024-01-02", "2024"]),
        ("type: string, enum: [0x1F, 1_000, +1, .5]", "enum", ["0x1F", "1_000", "+1", ".5"]),
        ("type: string, enum: [null, a]", "enum", ["null", "a"]),
        ("type: string, enum: [NULL, Null]", "enum", ["NULL", "Null"]),
        ("type: [string, 'null'], enum: [null, 1]", "enum", [None, "1"]),
        ("type: string, const: 1.50", "const", "1.50"),
        ("type: string, default: no", "default", "no"),
        ("type: string, default: false", "default", "false"),
        ("type: string, default: 08", "default", "08"),
        ("type: string, default: 123456789012345678901234567890.10", "default",
         "123456789012345678901234567890.10"),
        ("type: string, pattern: 123", "pattern", "123"),
        ("type: string, enum: ['1.0', \"true\"]", "enum", ["1.0", "true"]),
        ("type: [string, integer], enum: [1, a]", "enum", [1, "a"]),
        ("type: [string, integer], enum: [1.5]", "enum", ["1.5"]),
        ("type: boolean, default: true", "default", True),
        ("type: number, default: 3.10", "default", 3.1),
        ("type: integer, default: 1.0", "default", 1.0),
        ("enum: [1.0, true, a]", "enum", [1.0, True, "a"]),
        ("type: array, items: {type: string}, default: [1.0, no]", "default", ["1.0", "no"]),
        ("type: object, properties: {v: {type: string}}, default: {v: 1.0}", "default",
         {"v": "1.0"}),
    ],
)  # fmt: skip
def test_a_plain_scalar_takes_the_type_of_a_schema(written: str, keyword: str, value: Json) -> None:
    node, faults = schema(written)
    assert node[keyword] == value
    assert type(node[keyword]) is type(value)
    assert not faults


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("type: integer, enum: [0123]", "line 11: '0123' is a string"),
        ("type: integer, enum: [1_000]", "'1_000'"),
        ("type: integer, default: 1.5", "'1.5' is a number, and its schema has the type integer"),
        ("type: integer, default: yes", "'yes'"),
        ("type: number, enum: [one]", "'one'"),
        ("type: number, default: 12:30", "'12:30'"),
        ("type: boolean, default: 1", "'1' is a number"),
        ("type: boolean, enum: [maybe]", "'maybe'"),
        ("type: boolean, default: no", "'no'"),
        ("type: number, enum: [.5, 1]", "'.5'"),
        ("type: integer, enum: [0x1F, 2]", "'0x1F'"),
        ("type: number, default: 2024-01-02", "'2024-01-02'"),
        ("type: object, default: 7", "'7'"),
    ],
)
def test_a_plain_scalar_of_no_type_is_a_fault_that_names_its_line(written: str, words: str) -> None:
    document, faults = read_with_faults(DOCUMENT % written)
    assert isinstance(document, dict)
    [fault] = faults
    assert words in fault


def test_what_is_text_by_its_keyword_is_text() -> None:
    document = read_document(DOCUMENT % "type: string")
    assert isinstance(document, dict)
    assert document["openapi"] == "3.1"
    assert document["info"] == {"title": "2024", "version": "1.0"}


def test_properties_with_the_names_of_keywords_are_schemas_like_others() -> None:
    text = """
type: object
required: [no, 1, default]
properties:
  default: {type: string, enum: [1.0], nullable: true, default: null}
  enum: &one {type: string, default: 2.0}
  name: {type: integer, default: 2}
  same: *one
example: {name: 5, default: 1.0}
"""
    read = read_document(text)
    assert read == {
        "type": "object",
        "required": ["no", "1", "default"],
        "properties": {
            "default": {"type": "string", "enum": ["1.0"], "nullable": True, "default": None},
            "enum": {"type": "string", "default": "2.0"},
            "name": {"type": "integer", "default": 2},
            "same": {"type": "string", "default": "2.0"},
        },
        "example": {"name": 5, "default": "1.0"},
    }
