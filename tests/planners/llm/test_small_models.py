"""The form of replies of small models."""

import asyncio
import json
from typing import Any

import pytest

from toolplan import App, AskResult, Tool, Toolbox
from toolplan.plan.path import Json
from toolplan.planners import Clarification, LLMPlanner, Question
from toolplan.planners.llm._plan_schema import plan_schema
from toolplan.schema import Schema
from toolplan.testing.tools import ScriptedModel
from toolplan_demo import TOOLS

GOOD = '{"toolplan": 1, "steps": [{"id": "a", "tool": "facilities_list", "args": {}}]}'
STEP: dict[str, Json] = {"id": "shipments_list", "tool": "shipments_list"}
REFERENCE = "${facilities_list.data[*].id}"


def unbounded(schema: Json) -> list[Json]:
    """Return the lists and texts in a schema of replies that have no end."""
    if isinstance(schema, list):
        return [found for each in schema for found in unbounded(each)]
    if not isinstance(schema, dict):
        return []
    ends = {"array": "maxItems", "string": "maxLength"}.get(str(schema.get("type")))
    endless = ends is not None and ends not in schema and "pattern" not in schema
    return ([schema] if endless else []) + unbounded(list(schema.values()))


@pytest.mark.parametrize(
    ("step", "fits"),
    [
        (STEP | {"args": {"status": "rejected", "limit": 3, "ids": ["a", "b"]}}, True),
        (STEP | {"args": {"ids": REFERENCE}, "for_each": REFERENCE}, True),
        (STEP | {"args": {}, "when": {"value": REFERENCE, "is": {"minimum": 1}}}, False),
        (STEP | {"args": {}, "for_each": ["a"]}, False),
        (
            STEP | {"args": {}, "id": "shipments_list_2", "for_each": "${facilities_list.data}"},
            True,
        ),
        (STEP | {"args": {"limit": "${item.capacity_tons}"}}, True),
        (STEP | {"args": {"limit": "${id[*][*].key}"}}, False),
        (STEP | {"args": {}, "for_each": "${facilities_list.rows}"}, False),
        (STEP | {"args": {}, "id": "a"}, False),
        (STEP | {"args": {}, "on_error": "continue"}, False),
        (STEP | {"args": {"ids": ["a"] * 7}}, False),
        (STEP | {"args": {"carrier": "a" * 101}}, False),
    ],
)
def test_a_reply_of_a_small_model_comes_to_an_end(step: Json, *, fits: bool) -> None:
    model = ScriptedModel(GOOD)
    planner = LLMPlanner(model, small=True)
    asyncio.run(planner.propose(Question("3 rejected shipments", "2025-10-12"), TOOLS, ()))
    schema = model.requests[0].schema
    assert not unbounded(schema)
    loaded = Schema.load(schema)
    assert loaded.is_valid({"toolplan": 1, "steps": [step]}) is fits
    assert not loaded.is_valid({"toolplan": 1, "steps": [step] * 7})
    assert unbounded(plan_schema(TOOLS))
    assert planner.version != LLMPlanner(model).version


def test_a_small_model_asks_back_only_after_two_plans_that_were_refused() -> None:
    """A model of 0.5 billion parameters that may ask back asks instead of planning."""
    wrong = [GOOD.replace("facilities_list", f"facility_{n}") for n in range(2)]
    back = '{"clarification": {"question": "Which?", "options": []}}'
    model = ScriptedModel([*wrong, back])
    asked = asyncio.run(App(TOOLS, LLMPlanner(model, small=True)).plan("x", today="2025-10-12"))
    assert asked.proposal == Clarification("Which?")
    forms = [Schema.load(request.schema) for request in model.requests]
    assert [form.is_valid(json.loads(back)) for form in forms] == [False, False, True]
    told = ["clarification" in str(request.messages) for request in model.requests]
    assert told == [False, False, True]


def own_tools() -> Toolbox:
    """Return tools with optional arguments, which small models fill in."""
    country: Json = {"type": "string"}
    plan: Json = {"enum": ["free", "pro"]}
    day: Json = {"type": "string", "format": "date"}
    most: Json = {"type": "integer"}
    is_open: Json = {"type": "boolean"}
    filters: dict[str, Json] = {
        "country": country, "plan": plan, "since": day, "limit": most, "is_open": is_open,
    }  # fmt: skip
    result: Json = {
        "type": "array",
        "items": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
    }
    orders: Json = {
        "type": "object",
        "properties": {
            "customer_id": country,
            "place": country,
            "status": {"enum": ["late", "returned"]},
        },
        "required": ["customer_id"],
    }
    return Toolbox(
        [
            Tool("list_customers", "", {"type": "object", "properties": filters}, result),
            Tool("list_orders", "", orders, result),
        ]
    )


def drafted(*steps: dict[str, Json]) -> str:
    """Return the reply of a model with a plan of these steps."""
    named: list[Json] = [{"id": str(step["tool"]), **step} for step in steps]
    return json.dumps({"toolplan": 1, "steps": named})


def customers(**args: Json) -> dict[str, Json]:
    return {"tool": "list_customers", "args": args}


def orders(**args: Json) -> dict[str, Json]:
    return {"tool": "list_orders", "args": args}


def asked_of(question: str, *replies: str) -> tuple[AskResult, ScriptedModel]:
    model = ScriptedModel([*replies])
    app = App(own_tools(), LLMPlanner(model, small=True), attempts=len(replies))
    return asyncio.run(app.plan(question, today="2026-11-20")), model


@pytest.mark.parametrize(
    ("question", "filters"),
    [
        ("customers in Norway", {"country"}),
        ("pro customers", {"country", "plan"}),
        ("customers since May", {"country", "since"}),
        ("the first customers", {"country", "limit"}),
        ("three open customers", {"country", "limit", "is_open"}),
    ],
)
def test_the_form_offers_filters_the_question_may_mean(question: str, filters: set[str]) -> None:
    _, model = asked_of(question, drafted(customers()))
    schema: Any = model.requests[0].schema
    step = schema["properties"]["steps"]["items"]["anyOf"][0]
    args = step["properties"]["args"]["properties"]
    assert set(args) == filters
    assert args.get("plan") in (None, {"enum": ["pro"]})


@pytest.mark.parametrize(
    ("question", "step", "place"),
    [
        ("customers", customers(plan="free"), "/steps/0/args/plan"),
        ("customers", customers(country="france"), "/steps/0/args/country"),
        ("customers", customers(since="2026-11-20"), "/steps/0/args/since"),
        ("orders of c2", orders(customer_id="2026-11-20"), "/steps/0/args/customer_id"),
        ("orders of c2 today", orders(customer_id="2026-11-20"), "/steps/0/args/customer_id"),
        ("orders of c2", orders(customer_id="*"), "/steps/0/args/customer_id"),
        ("orders of all customers", orders(customer_id="all"), "/steps/0/args/customer_id"),
    ],
)
def test_a_plan_that_is_not_of_the_question_is_an_error(
    question: str, step: dict[str, Json], place: str
) -> None:
    asked, _ = asked_of(question, drafted(step))
    assert asked.plan is None
    assert place in [each.pointer for each in asked.attempts[0].diagnostics if each.blocks]


@pytest.mark.parametrize(
    ("question", "step"),
    [
        ("returned orders of c2", orders(customer_id="c2", status="returned")),
        (
            "pro customers in Norway since May",
            customers(country="Norway", plan="pro", since="since May"),
        ),
        ("the 5 newest customers", customers(limit=5)),
        ("CUSTOMERS IN NORWAY", customers(country="Norway")),
        ("customers in Norway", customers(country="NO")),
        ("what did c2 buy", orders(customer_id="c2")),
        ("show only what is open", customers(is_open=True)),
        ("the last customer", customers(limit=1)),
    ],
)
def test_the_values_of_the_question_pass(question: str, step: dict[str, Json]) -> None:
    assert asked_of(question, drafted(step))[0].plan is not None


def test_two_calls_of_one_tool_get_ids_of_their_own() -> None:
    both = drafted(customers(country="Norway"), customers(country="Peru"))
    asked, model = asked_of("customers in Norway and Peru", both)
    assert asked.plan is not None
    assert [step.id for step in asked.plan.plan.steps] == ["list_customers", "list_customers_2"]
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("twice", "code"),
    [
        ('"country": "Norway", "country": "Peru"', "duplicate-key"),
        ('"country": "Norway", "limit": 0.12345678901234567890', "bad-number"),
    ],
)
def test_ids_are_not_given_where_a_value_would_be_lost(twice: str, code: str) -> None:
    both = drafted(customers(country="Norway"), customers(country="Peru"))
    asked, _ = asked_of("customers in Norway", both.replace('"country": "Norway"', twice))
    assert asked.plan is None
    assert code in [each.code for each in asked.attempts[0].diagnostics]


def test_a_repeated_id_that_a_step_refers_to_is_an_error() -> None:
    step = orders(customer_id="${list_customers[0].id}")
    both = drafted(customers(country="Norway"), customers(country="Peru"), step)
    asked, _ = asked_of("orders of customers in Norway and Peru", both)
    assert asked.plan is None
    assert "duplicate-id" in [each.code for each in asked.attempts[0].diagnostics]


@pytest.mark.parametrize(
    ("question", "country", "passes"),
    [
        ("orders of c2 in Peru", "Peru", False),
        ("orders of c2 and customers in Peru", "Peru", True),
        ("orders of c2 in Peru and stock in Norway", "Norway", True),
    ],
)
def test_a_step_without_a_word_or_a_value_of_its_own_is_an_error(
    question: str, country: str, *, passes: bool
) -> None:
    both = drafted(orders(customer_id="c2", place="Peru"), customers(country=country))
    asked, _ = asked_of(question, both)
    assert (asked.plan is not None) is passes
    if not passes:
        blocking = [each for each in asked.attempts[0].diagnostics if each.blocks]
        assert [each.pointer for each in blocking] == ["/steps/1"]


def test_the_second_request_has_only_the_faulty_steps_open() -> None:
    first = customers(country="Norway")
    wrong = drafted(first, orders(customer_id="${list_customers[0].id}", status="late"))
    right = drafted(first, orders(customer_id="${list_customers[0].id}"))
    asked, model = asked_of("orders of the first customer in Norway", wrong, right)
    assert asked.plan is not None
    before, after = (Schema.load(each.schema) for each in model.requests)
    other = drafted(customers(), orders(customer_id="${list_customers[0].id}"))
    assert [form.is_valid(json.loads(other)) for form in (before, after)] == [True, False]
    assert [form.is_valid(json.loads(right)) for form in (before, after)] == [True, True]
    assert not after.is_valid(json.loads(wrong))


def test_a_required_value_that_was_invented_comes_from_a_step_in_the_second_request() -> None:
    wrong = drafted(orders(customer_id="12345"))
    each: dict[str, Json] = {"for_each": "${list_customers[*].id}"}
    right = drafted(customers(), orders(customer_id="${item}") | each)
    asked, model = asked_of("orders of all customers", wrong, right)
    assert asked.plan is not None
    form = Schema.load(model.requests[1].schema)
    assert not form.is_valid(json.loads(wrong))
    assert form.is_valid(json.loads(right))


def test_the_third_plan_of_a_small_model_is_checked_as_well() -> None:
    wrong = [drafted(customers(country=each)) for each in ("france", "spain", "peru")]
    asked, _ = asked_of("customers", *wrong)
    assert asked.plan is None


def test_a_step_over_the_items_of_a_list_needs_the_list_in_the_second_request() -> None:
    step = orders(customer_id="${item.id}")
    wrong = drafted(customers(plan="pro"), step)
    right = drafted(customers(plan="pro"), step | {"for_each": "${list_customers}"})
    asked, model = asked_of("orders of pro customers", wrong, right)
    assert asked.plan is not None
    form = Schema.load(model.requests[1].schema)
    assert [form.is_valid(json.loads(each)) for each in (wrong, right)] == [False, True]
