"""Safe fixes, applied: what is left is clean, and fixing it again changes nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolplan.compiler import check, fix
from toolplan.compiler.rules import PlanContext
from toolplan.compiler.rules._arguments import argument_violations
from toolplan.compiler.rules._spelling import respelt
from toolplan.plan.canonical import dump, load
from toolplan.plan.diagnostics import Severity, is_misspelt, suggest
from toolplan.plan.model import Array, Literal, Object, Plan, Ref, Step, Value
from toolplan.plan.path import EVERY
from toolplan.schema import Schema
from toolplan.schema.tool import Toolbox

HERE = Path(__file__).parent
TOOLS = Toolbox.from_json(json.loads((HERE / "tools.json").read_text("utf-8")))


def plan_of(case: str) -> Plan:
    parsed = load(json.loads((HERE / f"{case}.json").read_text("utf-8"))["plan"])
    assert parsed.plan is not None
    return parsed.plan


@pytest.mark.parametrize(
    "case",
    [
        "argument-type/respelt",
        "argument-value/respelt",
        "list-into-scalar/list-of-lists",
        "reference-type/one-into-list",
    ],
)
def test_a_plan_with_safe_fixes_alone_is_clean_when_fixed(case: str) -> None:
    corrected = fix(plan_of(case), TOOLS)
    assert all(each.fixed for each in corrected.diagnostics if each.severity is Severity.ERROR)
    left = check(corrected.plan, TOOLS)
    assert not [each for each in left if each.severity is Severity.ERROR]


@pytest.mark.parametrize("case", sorted(HERE.glob("*/*.json")), ids=lambda case: case.parent.name)
def test_fixing_twice_changes_nothing_more(case: Path) -> None:
    once = fix(plan_of(str(case.relative_to(HERE).with_suffix(""))), TOOLS).plan
    again = fix(once, TOOLS)
    assert again.plan == once
    assert not any(each.fixed for each in again.diagnostics)


def test_a_chain_of_lists_into_scalars_becomes_a_chain_of_for_each() -> None:
    schema: dict[str, Any] = {
        "name": "words",
        "input_schema": {"type": "object", "properties": {"of": {"type": "string"}}},
        "output_schema": {"type": "array", "items": {"type": "string"}},
        "annotations": {"readOnlyHint": True},
    }
    plan = Plan(
        (
            Step("a", "words", {"of": Literal("x")}),
            Step("b", "words", {"of": Ref("a")}),
            Step("c", "words", {"of": Ref("b")}),
        )
    )
    corrected = fix(plan, Toolbox.from_json([schema])).plan
    assert [step.for_each for step in corrected.steps] == [None, Ref("a"), Ref("b", (EVERY, EVERY))]
    assert [step.args["of"] for step in corrected.steps[1:]] == [Ref("item"), Ref("item")]


@pytest.mark.parametrize(
    ("value", "schema", "other"),
    [
        ("5", {"type": "integer"}, (5,)),
        ("5.0", {"type": "integer"}, (5,)),
        ("5.5", {"type": "integer"}, None),
        ("1,000", {"type": "integer"}, None),
        ("007", {"type": "integer"}, None),
        ("True", {"type": "boolean"}, (True,)),
        (5, {"type": "string"}, ("5",)),
        (5.0, {"type": "string"}, None),
        (True, {"type": "string"}, None),
        ("5", {"anyOf": [{"type": "integer"}, {"type": "array"}]}, None),
        ("a", {"type": "array", "items": {"enum": ["a"]}}, (["a"],)),
        ("a; b", {"type": "array"}, None),
        ("[1, 2]", {"type": "array"}, ([1, 2],)),
        ("[1, NaN]", {"type": "array"}, None),
        ("[1e400]", {"type": "array"}, None),
        ("[1e-400]", {"type": "array"}, None),
        ("[0.12345678901234567890]", {"type": "array"}, None),
        ("[0e99999999999999999999, 0.10]", {"type": "array"}, ([0.0, 0.1],)),
        ('{"a": 1}', {"type": "object"}, ({"a": 1},)),
        ('{"a": 1, "a": 2}', {"type": "object"}, None),
        ('[{"a": 1, "a": 1}]', {"type": "array"}, None),
        (["a"], {"type": "string"}, ("a",)),
        (["a", "b"], {"type": "string"}, None),
        ("in progress", {"enum": ["in_progress", "done"]}, ("in_progress",)),
        ("A-B", {"enum": ["ab", "a_b"]}, None),
        ("OPEN", {"anyOf": [{"const": "open"}, {"type": "null"}]}, ("open",)),
        (None, {"type": "string"}, None),
        ("99.5", {"type": "number", "maximum": 100}, (99.5,)),
        (5, {"type": "array", "items": {"type": "integer", "maximum": 9}}, ([5],)),
        ("2026/11/03", {"type": "string", "format": "date"}, ("2026-11-03",)),
    ],
)
def test_one_other_spelling_or_none(value: Any, schema: Any, other: Any) -> None:
    assert respelt(value, Schema.load(schema)) == other


@pytest.mark.parametrize(
    ("name", "names", "sure"),
    [
        ("Image to Text", ["Image-to-Text", "Text-to-Image"], "Image-to-Text"),
        ("shipment_list", ["shipments_list", "facilities_list"], "shipments_list"),
        ("custommer", ["customer", "shipment"], "customer"),
        ("citty", ["city", "list"], "city"),
        ("Text Classification", ["Token Classification"], None),
        ("decrypt_file", ["encrypt_file"], None),
        ("get_user", ["set_user"], None),
        ("min_total", ["max_total"], None),
        ("orders_v1", ["orders_v2"], None),
        ("date", ["data"], None),
        ("order", ["orders", "ordder"], None),
    ],
)
def test_a_name_is_put_in_only_where_it_is_the_same_spelt_otherwise(
    name: str, names: list[str], sure: str | None
) -> None:
    assert suggest(name, names).sure == sure


def test_a_very_long_name_is_compared_with_none() -> None:
    assert suggest("x" * 100_000, ["x" * 99_999]).near == ()
    assert not is_misspelt("", "a")


def test_a_plan_wrong_in_very_many_names_is_given_no_more_offers() -> None:
    steps = tuple(Step(f"s{n}", "free", {"x": Ref(f"t{n}")}) for n in range(400))
    context = PlanContext(Plan(steps), TOOLS)
    assert context.suggest("s1_", context.steps).near
    for _ in range(300):
        context.suggest("s1_", context.steps)
    assert context.suggest("s1_", context.steps).near == ()


@pytest.mark.parametrize(
    "args",
    [
        {"customer_id": Ref("c"), "lines": Literal([{"count": "2"}])},
        {"lines": Literal([{"sku": 5}]), "extra": Ref("c")},
        {
            "customer_id": Literal(5),
            "lines": Array((Object((("sku", Ref("c")), ("n", Literal(1)))),)),
        },
        {"lines": Ref("c")},
    ],
)
def test_arguments_beside_references_are_checked_by_one_schema_each(args: dict[str, Value]) -> None:
    step = Step("a", "order_create", args)
    schema = TOOLS["order_create"].input
    assert schema.of_parts is not None
    quick = argument_violations(step, schema)
    one_by_one = Schema.load({**dump_of(schema), "allOf": [{}]}).closed()
    assert one_by_one.of_parts is None
    slow = argument_violations(step, one_by_one)
    assert sorted(map(str, quick)) == sorted(map(str, slow))


def dump_of(schema: Schema) -> dict[str, Any]:
    assert isinstance(schema.node, dict)
    return {key: value for key, value in schema.node.items() if key != "additionalProperties"}


def test_what_the_last_round_finds_is_reported() -> None:
    plan = plan_of("unknown-output/wrapper")
    corrected = fix(plan, TOOLS)
    left = {(each.code, each.pointer) for each in check(corrected.plan, TOOLS)}
    reported = {(each.code, each.pointer) for each in corrected.diagnostics if not each.fixed}
    assert left == reported
    assert dump(corrected.plan) != dump(plan)
