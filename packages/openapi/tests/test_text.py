"""Documents as text: JSON, or YAML without its surprises."""

import json

import pytest

from packages.openapi.tests.documents import PETS, SHOP, TREE, Node
from toolplan.plan.path import Json
from toolplan.schema.tool import ToolObjectError
from toolplan_openapi import openapi_toolbox, read_document

YAML = """
openapi: 3.1.0
info: {title: Countries, version: "1"}
servers: [{url: https://c.example}]
paths:
  /countries/{code}:
    get:
      operationId: country
      parameters:
        - {name: code, in: path, required: true, schema: &code {type: string, enum: [NO, de, on]}}
      responses:
        200:
          description: Done.
          content:
            application/json:
              schema:
                type: object
                properties:
                  code: *code
                  since: {type: string, format: date, default: 1905-06-07}
                  size: {type: number, maximum: 1.5e+3, minimum: +1, multipleOf: 0x10}
"""


@pytest.mark.parametrize("document", [PETS, TREE, SHOP])
def test_json_is_read_as_it_is(document: Node) -> None:
    assert read_document(json.dumps(document)) == document
    assert read_document("\ufeff" + json.dumps(document)) == document


def test_yaml_is_read_as_version_1_2_has_it() -> None:
    tool = openapi_toolbox(read_document(YAML))["country"]
    assert tool.raw_input == {
        "type": "object",
        "properties": {"code": {"type": "string", "enum": ["NO", "de", "on"]}},
        "required": ["code"],
        "additionalProperties": False,
    }
    assert tool.raw_output == {
        "type": "object",
        "properties": {
            "code": {"type": "string", "enum": ["NO", "de", "on"]},
            "since": {"type": "string", "format": "date", "default": "1905-06-07"},
            "size": {"type": "number", "maximum": 1500.0, "minimum": 1, "multipleOf": "0x10"},
        },
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            "x: [true, False, yes, ~, 'true', 012, '<<']",
            {"x": [True, False, "yes", None, "true", "012", "<<"]},
        ),
        ("e:\n'<<': 1", {"e": None, "<<": 1}),
        ("x: {<<: {a: 1, b: 2}, b: 3}", {"x": {"a": 1, "b": 3}}),
        ("a: !!python/object/apply:os.system [echo]", {"a": ["echo"]}),
        ("!!binary aGk=", "aGk="),
        ("", None),
    ],
)
def test_yaml_makes_plain_values_only(text: str, value: Json) -> None:
    assert read_document(text) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": ', "The document is not JSON"),
        ("{" * 100_000, "The document is"),
        ("[" * 100_000, "The document is nested too deep"),
        ("a: [", "It is not YAML"),
        ("a: &a [*a]", "The alias 'a' names nothing before it."),
        ("a: " * 10 + "b", "It is not YAML"),
        ("? [a]\n: 1", "line 1: A key must be text."),
        ("--- 1\n--- 2", "line 2: A second document starts here"),
        ("- " * 1_000 + "a", "It is nested deeper than 200."),
        ("a: {b: 1}\nc: {d: 1,\n d: 2}", "line 3: The key 'd' is there twice."),
        ("paths:\n  /a: {}\n  '/a': {}", "line 3: The key '/a' is there twice."),
        ("a: 1\nb: -1e400", "line 2: The number -1e400 is too large to be stored."),
        (
            "a0: &a0 ["
            + "x," * 10
            + "]\n"
            + "".join(
                f"a{n}: &a{n} [{'*a' + str(n - 1) + ','} {('*a' + str(n - 1) + ',') * 9}]\n"
                for n in range(1, 12)
            ),
            "It has more than 10000000 values.",
        ),
    ],
)
def test_text_that_cannot_be_read_is_refused(text: str, message: str) -> None:
    with pytest.raises(ToolObjectError) as raised:
        read_document(text)
    assert message in str(raised.value)
