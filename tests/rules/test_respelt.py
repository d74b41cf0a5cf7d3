"""No safe fix gets around a constraint: it denotes the same value, in the branch of its type."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from toolplan import Toolbox, compile_plan
from toolplan.compiler.rules._spelling import respelt
from toolplan.plan.model import Literal
from toolplan.plan.path import Json
from toolplan.schema import Schema

NUMBER: Json = {"type": "number", "maximum": 100}
TEXT: Json = {"type": "string"}


def any_of(*branches: Json) -> dict[str, Json]:
    return {"anyOf": list(branches)}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (any_of(NUMBER, TEXT), 5000),
        (any_of(NUMBER, TEXT), 100.5),
        ({"oneOf": [NUMBER, TEXT]}, 5000),
        (any_of({"type": "integer", "maximum": 9}, TEXT), 10.5),
        (any_of({"type": "number", "multipleOf": 5}, TEXT), 7),
        (any_of({"type": "integer", "exclusiveMinimum": 0}, TEXT, {"type": "null"}), 0),
        (any_of(NUMBER, {"type": "array", "items": TEXT}), "5000"),
        (any_of(NUMBER, {"type": "array"}), 5000),
        (any_of({"type": "array", "items": NUMBER}, TEXT), 5000),
        (any_of({"type": "string", "pattern": "^INV-[0-9]+$"}, {"type": "integer"}), "5000"),
        (any_of({"type": "string", "maxLength": 3}, {"type": "array", "items": TEXT}), "abcd"),
        (any_of({"type": "string", "minLength": 3}, {"type": "boolean"}), "true"[:2]),
        (any_of({"type": "string", "format": "date"}, {"type": "array", "items": TEXT}), "soon"),
        (any_of({"type": "string", "enum": ["a", "b"]}, {"type": "integer"}), "7"),
        (any_of({"type": "boolean", "const": False}, {"type": "array"}), True),
        ({"type": ["number", "string"], "maximum": 100, "maxLength": 2}, 5000),
        ({"$ref": "#/$defs/D", "$defs": {"D": any_of(NUMBER, TEXT)}}, 5000),
        ({"type": "number"}, "0.12345678901234567"),
        (TEXT, 1.1),
        ({"type": "array", "items": TEXT}, ""),
        ({"type": "array", "items": TEXT}, " "),
        ({"type": "string", "enum": ["1.1", "1.10"]}, 1.1),
        ({"type": "array", "items": TEXT}, 1.1),
        ({"type": "object"}, '{"to": "a", "to": "b"}'),
        ({"type": "array"}, '[{"a": {"to": "a", "to": "b"}}]'),
        ({"type": "array"}, "[1e999]"),
        ({"type": "array"}, "[12345678901234567.5]"),
        ({"type": "array"}, "[NaN]"),
    ],
)
def test_a_value_that_a_constraint_refused_gets_no_fix(schema: Json, value: Json) -> None:
    assert respelt(value, Schema.load(schema)) is None


SCALARS = st.integers(-200, 200) | st.floats(-200, 200) | st.sampled_from(["5", "150", "a", "true"])
BRANCHES = st.sampled_from(
    [
        NUMBER, TEXT, {"type": "integer", "minimum": 0}, {"type": "string", "maxLength": 2},
        {"type": "array", "items": TEXT}, {"type": "array", "items": NUMBER}, {"type": "boolean"},
        {"type": "string", "pattern": "^a"}, {"type": "string", "enum": ["A", "b"]},
    ]
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(BRANCHES, min_size=1, max_size=3), SCALARS)
def test_a_fix_denotes_the_same_value_and_no_branch_of_its_type_refused_it(
    branches: list[Json], value: Json
) -> None:
    found = respelt(value, Schema.load(any_of(*branches)))
    assume(found is not None)
    assert found is not None
    (other,) = found
    inner = other[0] if isinstance(other, list) and len(other) == 1 else other
    assert str(inner).casefold().removesuffix(".0") == str(value).casefold().removesuffix(".0")
    if type(other) is not type(value):
        kind = "string" if isinstance(value, str) else "number"
        names = {kind} if kind == "string" else {"number", "integer"}
        assert not any(isinstance(each, dict) and each["type"] in names for each in branches)


def test_the_error_names_the_bound_and_the_plan_is_not_changed() -> None:
    amount: Json = any_of(NUMBER, TEXT)
    tool: Json = {
        "name": "pay",
        "input_schema": {"type": "object", "properties": {"amount": amount}},
    }
    text = '{"toolplan": 1, "steps": [{"id": "a", "tool": "pay", "args": {"amount": 5000}}]}'
    compiled = compile_plan(text, tools=Toolbox.from_json([tool]))
    assert compiled.plan is None
    (found,) = compiled.diagnostics
    assert (found.code, found.fix) == ("argument-value", None)
    assert "maximum of 100" in found.message
    assert "up to 100" in (found.help or "")
    assert compiled.draft is not None
    assert compiled.draft.steps[0].args == {"amount": Literal(5000)}
