"""Schemas read as types, and hostile ones refused."""

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolplan.plan.path import EVERY, Json, NotThere, Path, parse_path, select
from toolplan.schema import (
    Absent,
    Schema,
    SchemaError,
    Verdict,
    assignable,
    at,
    describe,
    required,
    types_of,
)

STRING: dict[str, Any] = {"type": "string"}
INTEGER: dict[str, Any] = {"type": "integer"}
STRINGS: dict[str, Any] = {"type": "array", "items": STRING}
HAS_A: dict[str, Any] = {"properties": {"a": STRING}}
TREE: dict[str, Any] = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "name": STRING,
                "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
        }
    },
}
ROWS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "data": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": STRING, "kg": {"type": ["number", "null"]}},
                "required": ["id"],
                "additionalProperties": False,
            },
        },
        "count": INTEGER,
    },
    "required": ["data", "count"],
}


loaded: Callable[[dict[str, Any]], Schema] = Schema.load


def found(schema: dict[str, Any], path: str) -> Any:
    part = at(Schema.load(schema), parse_path(path))
    return part.node if isinstance(part, Schema) else part


@pytest.mark.parametrize(
    ("schema", "path", "node"),
    [
        (ROWS, ".count", INTEGER),
        (ROWS, ".data[0].id", STRING),
        (ROWS, ".data[*].id", STRINGS),
        (TREE, ".kids[*].kids[0].name", STRINGS),
        (TREE, ".kids[*].kids[*].name", STRINGS),
        ({"additionalProperties": INTEGER, "type": "object"}, ".x", INTEGER),
        ({"prefixItems": [STRING], "type": "array"}, "[0]", STRING),
        ({"anyOf": [{"type": "null"}, {**HAS_A, "type": "object"}]}, ".a", STRING),
        ({"allOf": [{"type": "object"}, HAS_A]}, ".a", STRING),
        ({"oneOf": [{**HAS_A, "type": "object"}, INTEGER]}, ".a", STRING),
    ],
)
def test_a_path_is_followed_through_a_schema(
    schema: dict[str, Any], path: str, node: dict[str, Any]
) -> None:
    assert found(schema, path) == node


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        (ROWS, ".rows"),
        (ROWS, ".data.id"),
        (ROWS, ".data[*].name"),
        (ROWS, ".count[*]"),
        (ROWS, ".count.x"),
        ({"type": "array", "maxItems": 2}, "[2]"),
        ({"type": "array", "prefixItems": [True], "items": False}, "[1]"),
        ({"anyOf": [{"type": "null"}, STRING]}, ".a"),
    ],
)
def test_a_path_that_does_not_exist_is_reported(schema: dict[str, Any], path: str) -> None:
    assert isinstance(found(schema, path), Absent)


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({}, ".a"),
        ({"type": "object"}, ".a"),
        ({"type": "object", "properties": {}}, ".a"),
        ({"type": "object", "properties": {"b": {}}, "additionalProperties": True}, ".a"),
        ({"type": "array"}, "[*].id"),
        ({"anyOf": [STRING, {}]}, ".a"),
        ({"description": "whatever"}, "[3]"),
    ],
)
def test_nothing_is_said_where_nothing_is_declared(schema: dict[str, Any], path: str) -> None:
    assert found(schema, path) is None


@pytest.mark.parametrize(
    ("producer", "consumer", "verdict"),
    [
        (STRING, STRING, Verdict.YES),
        (INTEGER, {"type": "number"}, Verdict.YES),
        ({"type": "number"}, INTEGER, Verdict.UNKNOWN),
        ({"type": ["string", "null"]}, STRING, Verdict.UNKNOWN),
        (STRING, {"type": "string", "format": "date"}, Verdict.UNKNOWN),
        ({"type": "string", "format": "date"}, STRING, Verdict.YES),
        ({"enum": ["a", "b"]}, {"enum": ["a", "b", "c"]}, Verdict.YES),
        ({"enum": ["a"]}, {"enum": ["b"]}, Verdict.NO),
        (STRING, INTEGER, Verdict.NO),
        ({"type": "object"}, STRING, Verdict.NO),
        (STRINGS, {"type": "array", "items": INTEGER}, Verdict.NO),
        ({"type": "array"}, {"type": "array", "items": INTEGER}, Verdict.UNKNOWN),
        ({}, INTEGER, Verdict.UNKNOWN),
        (INTEGER, {}, Verdict.YES),
        (STRINGS, {"anyOf": [STRING, STRINGS]}, Verdict.YES),
        (None, STRING, Verdict.UNKNOWN),
    ],
)
def test_what_fits_is_sure_or_unknown(
    producer: dict[str, Any] | None, consumer: dict[str, Any], verdict: Verdict
) -> None:
    given = None if producer is None else Schema.load(producer)
    assert assignable(given, Schema.load(consumer)) is verdict


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (5, "must be an object"),
        ({"type": "strin"}, "/type"),
        ({"$ref": "http://example.com/x.json"}, "never fetched"),
        ({"$ref": "file:///etc/passwd"}, "never fetched"),
        ({"properties": {"a": {"$ref": "other.json#/x"}}}, "never fetched"),
        ({"$ref": "#/$defs/gone"}, "not in it"),
        ({"$ref": "#"}, "without end"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}}, "without end"),
        ({"$ref": 5}, "not a string"),
    ],
    ids=str,
)
def test_hostile_schemas_are_refused_with_the_reason(raw: Json, reason: str) -> None:
    """S01, S03, S05, S06, S07, S08."""
    with pytest.raises(SchemaError, match=reason):
        Schema.load(raw)


def test_exponential_work_is_refused() -> None:
    """S10."""
    levels: dict[str, Any] = {
        f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}, {"$ref": f"#/$defs/a{n + 1}"}]}
        for n in range(18)
    }
    with pytest.raises(SchemaError, match="more than 100000"):
        loaded({"$ref": "#/$defs/a0", "$defs": {**levels, "a18": STRING}})


def test_deep_and_large_schemas_are_refused() -> None:
    """S13, S30."""
    deep: dict[str, Any] = STRING
    for _ in range(sys.getrecursionlimit() * 2):
        deep = {"type": "array", "items": deep}
    with pytest.raises(SchemaError, match="deeper"):
        Schema.load(deep)
    with pytest.raises(SchemaError, match="larger"):
        loaded({"enum": [str(n) for n in range(100_000)]})


def test_patterns_run_in_linear_time_and_others_are_not_enforced() -> None:
    """S11, S12."""
    assert not loaded({"type": "string", "pattern": "^(a+)+$"}).is_valid("a" * 50_000 + "!")
    look_around = loaded({"type": "string", "pattern": "^(?=a)b"})
    assert look_around.is_valid("zzz")
    assert not look_around.is_valid(5)


def test_a_property_may_have_any_name() -> None:
    """S19."""
    schema = loaded({"properties": {"$ref": STRING, "__proto__": INTEGER}})
    assert schema.is_valid({"$ref": "x", "__proto__": 1})
    assert not schema.is_valid({"$ref": 1})


def test_a_tree_is_followed_as_deep_as_a_value_goes() -> None:
    """S09."""
    schema = Schema.load(TREE)
    assert (
        schema.violations({"kids": [{"kids": [{"name": 5}]}]})[0].pointer == "/kids/0/kids/0/name"
    )


def test_violations_say_kind_place_and_name() -> None:
    schema = loaded(
        {
            "type": "object",
            "properties": {
                "who": {"anyOf": [STRING, STRINGS]},
                "day": {"type": "string", "format": "date"},
                "in": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 5}}},
            },
            "required": ["day", "in"],
        }
    ).closed()
    found = schema.violations({"who": 5, "in": {"n": 7}, "more": 1})
    assert {(each.kind, each.pointer, each.name) for each in found} == {
        ("type", "/who", None),
        ("value", "/in/n", None),
        ("missing", "", "day"),
        ("unknown", "", "more"),
    }
    assert [each.kind for each in schema.violations({"day": "last week", "in": {}})] == ["value"]
    assert (
        schema.violations({"day": "2025-10-12", "in": {}, "who": ["a", 5]})[0].pointer == "/who/1"
    )


def test_closing_leaves_open_what_opens_itself() -> None:
    assert loaded({"properties": {"a": {}}}).closed().violations({"b": 1})
    assert not loaded({}).closed().violations({"b": 1})
    assert not loaded({"type": "object", "properties": {}}).closed().violations({"b": 1})
    opened: dict[str, Any] = {"properties": {"a": {}}, "additionalProperties": True}
    assert not loaded(opened).closed().violations({"b": 1})
    joined: dict[str, Any] = {"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}
    assert not loaded(joined).closed().violations({"a": 1, "b": 1})
    assert loaded(joined).closed().violations({"c": 1})


def test_required_and_types_look_through_what_is_combined() -> None:
    parts: list[Json] = [{"required": ["a"]}, {"properties": {"a": {}}, "required": ["b"]}]
    assert set(required(loaded({"type": "object", "allOf": parts}))) == {"a", "b"}
    options = [{"type": "object", "required": names} for names in (["a", "b"], ["b"])]
    assert required(loaded({"anyOf": options})) == ("b",)
    assert types_of(loaded({"const": 1})) == {"integer", "number"}
    assert types_of(loaded({"enum": ["a", None]})) == {"string", "null"}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (STRING, "a string"),
        ({"type": "integer", "minimum": 1, "maximum": 9}, "an integer from 1 to 9"),
        ({"type": "string", "format": "date"}, "a date (YYYY-MM-DD)"),
        ({"enum": ["a", "b"]}, "one of 'a', 'b'"),
        ({"type": ["number", "null"]}, "null or a number"),
        ({}, "any value"),
    ],
)
def test_a_schema_is_described_in_words(schema: dict[str, Any], words: str) -> None:
    assert describe(Schema.load(schema)) == words


values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=8,
)
paths: st.SearchStrategy[Path] = st.lists(
    st.sampled_from(["a", "b", "c"]) | st.integers(0, 2) | st.just(EVERY), max_size=4
).map(tuple)


def exact(value: Json) -> dict[str, Json]:
    """Return the schema that declares just what `value` has."""
    match value:
        case dict():
            return {
                "type": "object",
                "properties": {key: exact(inner) for key, inner in value.items()},
                "required": list(value),
                "additionalProperties": False,
            }
        case list():
            return (
                {"type": "array", "prefixItems": [exact(v) for v in value], "items": False}
                if value
                else {"type": "array", "maxItems": 0}
            )
        case _:
            return {"const": value}


@given(values, paths)
def test_what_a_schema_says_is_not_there_is_not_there(value: Json, path: Path) -> None:
    schema = Schema.load(exact(value))
    assert schema.is_valid(value)
    part = at(schema, path)
    try:
        selected = select(value, path)
    except NotThere:
        return
    assert not isinstance(part, Absent) or selected == []
    if isinstance(part, Schema):
        assert part.is_valid(selected)


@given(values)
def test_loading_any_json_gives_a_schema_or_says_why_not(raw: Json) -> None:
    with suppress(SchemaError):
        assert isinstance(Schema.load(raw), Schema)
