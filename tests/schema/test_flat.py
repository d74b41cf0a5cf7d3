"""Schemas in which each value is described in one place."""

import pytest

from toolplan.plan.path import Json
from toolplan.schema import flat

STRING: dict[str, Json] = {"type": "string"}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (
            {"anyOf": [STRING, {"type": "null"}], "default": None},
            {"type": ["string", "null"], "default": None},
        ),
        ({"oneOf": [{**STRING, "enum": ["a"]}]}, {**STRING, "enum": ["a"]}),
        (
            {"anyOf": [STRING, {"type": "array", "items": STRING}]},
            {"type": ["string", "array"], "items": STRING},
        ),
        ({"anyOf": [{"const": "a"}, {"type": "null"}]}, {"const": "a"}),
        (
            {"anyOf": [{"properties": {"a": STRING}}, {"properties": {"b": STRING}}]},
            {"properties": {"a": STRING, "b": STRING}},
        ),
        (
            {"allOf": [{"properties": {"a": STRING}}], "properties": {"b": STRING}},
            {"properties": {"a": STRING, "b": STRING}},
        ),
        ({"$ref": "#/$defs/a", "$defs": {"a": STRING}}, {**STRING, "$defs": {"a": STRING}}),
        ({"items": {"$ref": "https://elsewhere.example/a"}}, {"items": {}}),
        ({"properties": {"a": {"$ref": "#/nowhere"}}}, {"properties": {"a": {}}}),
        (True, {}),
        (None, {}),
    ],
)
def test_each_value_is_described_in_one_place(raw: Json, expected: Json) -> None:
    assert flat(raw) == expected


def test_a_schema_that_repeats_itself_is_bounded() -> None:
    both: Json = {"$ref": "#/$defs/a"}
    raw: Json = {"$defs": {"a": {"properties": {"b": both, "c": both}}}, **both}
    assert isinstance(flat(raw), dict)
