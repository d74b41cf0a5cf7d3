"""Sample values from schemas."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sizes import share_of
from toolplan.plan.path import Json
from toolplan.schema import NoExample, Schema, SchemaError
from toolplan.schema._literals import MAX_STEPS, text_for


def example(raw: Json, seed: int = 0, items: int = 2) -> Any:
    schema = Schema.load(raw)
    value = schema.example(seed, items)
    assert schema.is_valid(value)
    return value


FORMATS = [
    *("date", "date-time", "time", "duration", "email", "idn-email", "hostname", "idn-hostname"),
    *("ipv4", "ipv6", "uri", "uri-reference", "iri", "iri-reference", "uri-template", "uuid"),
    *("json-pointer", "relative-json-pointer", "regex"),
]


@pytest.mark.parametrize("form", FORMATS)
def test_text_of_a_format_has_it(form: str) -> None:
    made = {example({"type": "string", "format": form}, seed) for seed in range(5)}
    assert len(made) == 5


@pytest.mark.parametrize(
    "raw",
    [
        {"type": "string", "minLength": 30},
        {"type": "string", "maxLength": 1},
        {"type": "string", "maxLength": 0},
        {"type": "string", "pattern": "^[A-Z]{2}-\\d{3,}$"},
        {"type": "string", "pattern": "^(?:red|green)[^a-z]\\.?\\w+$", "minLength": 12},
        {"type": "string", "pattern": "^SHP-", "minLength": 8},
        {"type": "integer", "minimum": 7, "maximum": 9, "multipleOf": 4},
        {"type": "integer", "exclusiveMinimum": -3, "exclusiveMaximum": -1},
        {"type": "number", "exclusiveMinimum": 0, "maximum": 0.05, "multipleOf": 0.01},
        {"type": "number", "minimum": 0, "maximum": 1},
        {"type": "number", "minimum": 1e300},
        {"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": True, "minItems": 3},
        {"type": "array", "items": {"type": "boolean"}, "uniqueItems": True, "minItems": 2},
        {"type": "array", "prefixItems": [{"type": "integer"}, {"const": "x"}], "items": False},
        {"type": "array", "contains": {"const": 3}, "items": {"type": "integer"}},
        {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 3},
        {
            "type": "object",
            "patternProperties": {"^x-": {"type": "integer"}},
            "additionalProperties": False,
            "minProperties": 1,
        },
        {"type": "object", "required": ["somewhere"]},
        {"allOf": [{"type": "string"}, {"enum": [1, "x"]}]},
        {"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 3}]},
        {"not": {"type": "string"}},
        {"if": {"type": "string"}, "then": {"minLength": 8}},
        {"type": "string", "enum": ["only"]},
        True,
        {},
    ],
)
def test_an_example_is_valid_whatever_the_schema_asks(raw: Json) -> None:
    for seed in range(3):
        assert example(raw, seed) == example(raw, seed)


@pytest.mark.parametrize(
    "raw",
    [
        False,
        {"type": "string", "minLength": 3, "maxLength": 2},
        {"type": "integer", "minimum": 3, "maximum": 2},
        {"type": "array", "minItems": 1_000_000_000},
        {"type": "string", "minLength": 1_000_000_000},
        {"type": "array", "items": {"type": "boolean"}, "uniqueItems": True, "minItems": 3},
        {"allOf": [{"type": "string"}, {"type": "integer"}]},
        {
            "$ref": "#/$defs/a",
            "$defs": {
                "a": {
                    "type": "object",
                    "required": ["x"],
                    "properties": {"x": {"$ref": "#/$defs/a"}},
                }
            },
        },
    ],
)
def test_where_there_is_no_value_or_none_can_be_found_that_is_said(raw: Json) -> None:
    with pytest.raises(NoExample):
        Schema.load(raw).example()


def test_every_declared_property_is_there_and_nothing_is_null_without_need() -> None:
    made = example(
        {
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "place": {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"x": {}}}]},
                "weight": {"type": ["null", "number"]},
                "note": {"enum": [None, "a"]},
                "gone": {"type": "null"},
            },
            "required": ["id"],
        }
    )
    assert [*made] == ["id", "place", "weight", "note", "gone"]
    assert "x" in made["place"]
    assert isinstance(made["weight"], float)
    assert made["note"] == "a"
    assert made["gone"] is None


def test_lists_have_as_many_items_as_asked_within_their_bounds() -> None:
    assert len(example({"type": "array", "items": {"type": "string"}}, items=5)) == 5
    assert len(example({"type": "array", "maxItems": 1}, items=5)) == 1
    assert len(example({"type": "array", "minItems": 7}, items=5)) == 7


def test_examples_and_defaults_are_used_where_they_are_valid() -> None:
    assert example({"type": "string", "examples": ["HRB 12"]}) == "HRB 12"
    assert example({"type": "integer", "default": 25, "maximum": 100}) == 25
    assert example({"type": "integer", "default": "many", "maximum": 100}) != "many"
    assert example({"type": "array", "items": {"type": "integer"}, "default": []}) != []


def test_what_refers_to_itself_ends() -> None:
    tree: Json = {
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                },
                "required": ["name", "kids"],
            }
        },
    }
    assert example(tree)["kids"][0]["kids"] == []


def test_a_branch_is_chosen_that_fits_the_rest() -> None:
    def branch(name: str) -> Json:
        return {"type": "object", "properties": {name: {"type": "integer"}}, "required": [name]}

    made = example({"anyOf": [branch("a"), branch("b")], "allOf": [branch("b")]})
    assert isinstance(made["b"], int)


def test_an_example_shares_nothing_with_its_schema() -> None:
    schema = Schema.load({"const": {"a": [1]}})
    made: Any = schema.example()
    made["a"].append(2)
    assert schema.example() == {"a": [1]}


def hostile() -> list[Json]:
    names = [f"d{at}" for at in range(12)]
    web: Json = {name: {"$ref": f"#/$defs/{name}"} for name in names}
    node: Json = {"type": "object", "properties": web}
    several: list[Json] = [{"enum": [*range(9_000 * at, 9_000 * (at + 2))]} for at in range(2)]
    large: Json = {"type": "array", "minItems": 900, "items": {"type": "array", "minItems": 900}}
    repeated: list[Json] = [{"minLength": 1}] * 2_000
    larges: list[Json] = [large] * 5
    return [
        {"$ref": "#/$defs/d0", "$defs": dict.fromkeys(names, node)},
        {"allOf": several},
        {"anyOf": larges},
        {"allOf": repeated},
        {"type": "string", "pattern": "(a{900}){900}"},
        {"type": "string", "pattern": "(" * 500 + "a" + ")" * 500},
    ]


@pytest.mark.parametrize("raw", hostile())
def test_hostile_schemas_end_in_an_example_or_in_none(raw: Json) -> None:
    try:
        schema = Schema.load(raw)
    except SchemaError:
        return
    try:
        value = schema.example()
    except NoExample:
        return
    assert schema.is_valid(value)


@given(st.text(st.sampled_from("ab019(|)[^]{,}?*+.\\dw-$:<>P=!"), max_size=30), st.integers(0, 9))
def test_any_text_may_be_read_as_a_pattern(pattern: str, extra: int) -> None:
    text = text_for(pattern, extra, extra)
    assert text is None or len(text) <= MAX_STEPS


@pytest.mark.parametrize(
    "pattern",
    [
        *(r"^(?!x)a$", r"^(a)\1$", r"^[\u0041-\u0043]$", r"^(?<year>\d{4})-(?P<day>\d\d)$"),
        *(r"^\bfoo\b$", r"^[^\s]+@\S+$", r"^\W\D$", r"^a{150,}$", r"^(?:[a-z]+,)*$"),
    ],
)
def test_text_of_a_pattern_matches_it(pattern: str) -> None:
    texts = [text_for(pattern, turn, extra) for turn in range(9) for extra in (0, 2, 20)]
    python = pattern.replace("(?<year>", "(?P<year>")
    assert all(text is not None and re.search(python, text) for text in texts)


@pytest.mark.parametrize(
    "pattern",
    [
        *("[\\0-\U0010ffff]{500}", "[" + "\\0-\U0010ffff" * 400 + "]", "[^\\0-\U0010ffff]"),
        *("(?:a{9999}){9999}", "(a*)*" * 300, "(" * 5_000, "(?:a{0}){2000}" * 200, "x" * 3_000),
        *(r"\p{L}", "[[:alpha:]]", "[a--b]", "a{9,1}", "a{99999999999}", r"\2", "[", "*"),
    ],
)
def test_pattern_that_takes_long_or_is_unknown_gets_no_text(pattern: str) -> None:
    assert text_for(pattern, 1, 8) is None


SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["a", "bc", "def"])
BOUNDS = st.integers(0, 6)
PARTS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "number", "boolean", "null", "object"])
        | st.lists(st.sampled_from(["array", "null", "string", "number"]), min_size=1, unique=True),
        "enum": st.lists(SCALARS, min_size=1, max_size=4, unique_by=repr),
        "minimum": st.integers(-9, 9),
        "maximum": st.integers(-9, 9) | st.floats(-9, 9),
        "multipleOf": st.sampled_from([1, 2, 3, 0.5, 0.1]),
        "minLength": BOUNDS,
        "maxLength": BOUNDS,
        "pattern": st.sampled_from(["^a+$", "[0-9]{2}", "x|y", "^[^b]*$", "(?=q)z"]),
        "format": st.sampled_from(["date", "uuid", "email", "unheard-of"]),
        "minItems": BOUNDS,
        "maxItems": BOUNDS,
        "uniqueItems": st.booleans(),
        "minProperties": BOUNDS,
        "maxProperties": BOUNDS,
        "default": SCALARS,
        "required": st.lists(st.sampled_from(["p", "q"]), unique=True),
    },
)


def deeper(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from(["p", "q", "r"]), inner, max_size=3),
            "additionalProperties": inner,
            "items": inner,
            "prefixItems": several,
            "contains": inner,
            "anyOf": several,
            "oneOf": several,
            "allOf": several,
            "not": inner,
            "if": inner,
            "then": inner,
        },
    ).flatmap(lambda outer: PARTS.map(lambda part: {**part, **outer}))


SCHEMAS = st.recursive(st.booleans() | PARTS, deeper, max_leaves=8)


@settings(max_examples=share_of(150), deadline=None)
@given(SCHEMAS, st.integers(0, 3))
def test_for_any_schema_an_example_is_valid_and_the_same_each_time(raw: Json, seed: int) -> None:
    try:
        schema = Schema.load(raw)
    except SchemaError:
        return
    try:
        value = schema.example(seed)
    except NoExample:
        return
    assert schema.is_valid(value)
    assert json.dumps(value) == json.dumps(schema.example(seed))


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ({}, "text 1"),
        ({"type": ["null", "integer", "string"]}, 1),
        ({"type": ["boolean", "object"]}, True),
        ({"minimum": 5}, 6.5),
        ({"minItems": 1, "items": {"const": 0}}, [0, 0]),
        ({"minItems": 1, "items": {"const": 0}, "minLength": 1, "minimum": 5}, [0, 0]),
        ({"minLength": 1, "minimum": 5}, "text 1"),
        ({"properties": {"a": {"const": 0}}, "minItems": 1}, {"a": 0}),
        ({"required": ["a"]}, {"a": "text 2"}),
        ({"not": {"type": "string"}}, {}),
    ],
)
def test_the_declared_type_comes_first_then_the_likely_ones(raw: Json, value: Json) -> None:
    assert example(raw) == value
