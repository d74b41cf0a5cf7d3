"""The fault injector: it makes mistakes, knows what they are, and never counts what is none."""

import json
from typing import Any

import pytest

from benchmarks.plans import shapes
from benchmarks.plans.faults import CLASSES, LEGAL, inject
from toolplan import Severity, Toolbox
from toolplan.compiler import examine
from toolplan.plan.canonical import load
from toolplan.plan.model import Literal, Plan, Ref, Step

TOOLS = Toolbox.from_json(
    [
        {
            "name": "books_list",
            "input_schema": {
                "type": "object",
                "properties": {
                    "language": {"type": "string", "enum": ["de", "en"]},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 50},
                    "since": {"type": "string", "format": "date"},
                },
                "required": ["language"],
            },
            "output_schema": {
                "type": "object",
                "properties": {
                    "titles": {"type": "array", "items": {"type": "string"}},
                    "count": {"type": "integer"},
                },
            },
        },
        {
            "name": "book_order",
            "input_schema": {
                "type": "object",
                "properties": {
                    "title": {"type": "string"},
                    "copies": {"type": "integer"},
                    "note": {"type": "string"},
                },
                "required": ["title"],
            },
            "output_schema": {"type": "object", "properties": {"number": {"type": "string"}}},
        },
        {"name": "anything", "input_schema": {"type": "object"}},
    ]
)

PLAN = Plan(
    (
        Step(
            "books",
            "books_list",
            {"language": Literal("de"), "limit": Literal(5), "since": Literal("2025-10-06")},
        ),
        Step(
            "order",
            "book_order",
            {
                "title": Ref("books", ("titles", 0)),
                "copies": Ref("books", ("count",)),
                "note": Literal("please"),
            },
        ),
    )
)


def errors(document: Any) -> list[tuple[str, str | None]]:
    found = examine(json.dumps(document), "toolplan", TOOLS).diagnostics
    return [(each.code, each.step) for each in found if each.severity is Severity.ERROR]


def test_the_plan_is_clean_before() -> None:
    assert errors({"toolplan": 1, "steps": json.loads(as_text(PLAN))["steps"]}) == []


def as_text(plan: Plan) -> str:
    fault = inject(LEGAL, plan, TOOLS, "1")
    assert fault is not None
    return json.dumps(fault.document)


@pytest.mark.parametrize("name", [name for name in CLASSES if name != LEGAL])
def test_each_class_is_reported_by_its_code_at_its_step(name: str) -> None:
    made = [inject(name, PLAN, TOOLS, str(seed)) for seed in range(30)]
    faults = [fault for fault in made if fault is not None]
    assert faults
    for fault in faults:
        said = errors(fault.document)
        assert any(code in fault.codes and step in fault.steps for code, step in said), said


def test_steps_in_the_opposite_order_are_legal() -> None:
    fault = inject(LEGAL, PLAN, TOOLS, "1")
    assert fault is not None
    parsed = load(fault.document)
    assert parsed.plan is not None
    assert [step.id for step in parsed.plan.steps] == ["order", "books"]
    assert errors(fault.document) == []


@pytest.mark.parametrize("name", CLASSES)
def test_one_seed_makes_one_fault(name: str) -> None:
    assert inject(name, PLAN, TOOLS, "7") == inject(name, PLAN, TOOLS, "7")


def test_seeds_make_different_faults() -> None:
    made = {json.dumps(f.document) for n in range(30) if (f := mistyped(n)) is not None}
    assert len(made) > 5


def mistyped(seed: int) -> Any:
    return inject("mistyped argument", PLAN, TOOLS, str(seed))


@pytest.mark.parametrize(
    "name", ["missing argument", "unknown argument", "outside enum", "outside bound", "bad format"]
)
def test_where_nothing_is_declared_nothing_is_wrong(name: str) -> None:
    plan = Plan((Step("a", "anything", {"x": Literal("2025-10-06")}),))
    assert all(inject(name, plan, TOOLS, str(seed)) is None for seed in range(20))


def test_a_plan_of_one_step_has_no_cycle_and_no_second_id() -> None:
    plan = Plan(PLAN.steps[:1])
    for name in ("cycle", "duplicate id", LEGAL, "template where no text fits"):
        assert inject(name, plan, TOOLS, "1") is None


def test_a_plan_without_steps_has_no_faults() -> None:
    assert all(inject(name, Plan(()), TOOLS, "1") is None for name in CLASSES)


def test_combined_schemas_are_not_plain() -> None:
    assert shapes.plain_type({"anyOf": [{"type": "string"}]}) is None
    assert shapes.properties({"$ref": "#/$defs/x", "properties": {"a": {}}}) == {}
    assert not shapes.is_closed({"properties": {"a": {}}, "additionalProperties": True})
    assert shapes.is_closed({"properties": {"a": {}}})
    assert not shapes.is_closed({"type": "object"})


@pytest.mark.parametrize(
    ("given", "taken", "apart"),
    [
        ("string", "integer", True),
        ("integer", "number", False),
        ("number", "integer", False),
        ("object", "string", True),
        ("string", "string", False),
    ],
)
def test_types_are_apart_only_where_no_value_is_of_both(
    given: str, taken: str, apart: bool
) -> None:
    assert shapes.are_apart({"type": given}, {"type": taken}) is apart
    assert not shapes.are_apart({}, {"type": taken})
