"""Arazzo: what it says as a plan, and its workflows run against a service on loopback."""

import asyncio
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask, Response, jsonify, request
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from werkzeug.serving import make_server

import toolplan
from tests.dialects.native_plans import PLAIN_TEXTS, calls
from toolplan import CannotExpress, Effects, Severity, Toolbox, ToolplanError, compile_plan
from toolplan.dialects import DIALECTS, known_dialect
from toolplan.plan.model import (
    Literal,
    Plan,
    Ref,
    Signature,
    Step,
    Template,
    array,
    object_,
    step_refs,
)
from toolplan_openapi import openapi_toolbox, read_document
from toolplan_openapi.arazzo._expressions import read_path

ARAZZO = DIALECTS["arazzo"]
PAIRS = Path(__file__).parents[3] / "tests" / "dialects" / "arazzo"
COUPON = (PAIRS / "coupon.txt").read_text("utf-8")
RENT = (PAIRS / "rent.txt").read_text("utf-8")
ID = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,8}", fullmatch=True)


def in_order(plan: Plan) -> Plan:
    """Return `plan` with each step after the one before it, as Arazzo has it."""
    steps: list[Step] = []
    for step in plan.steps:
        implied = {ref.step for _, ref in step_refs(step)}
        before = steps[-1].id if steps else None
        after = () if before is None or before in implied else (before,)
        steps.append(replace(step, after=after))
    return replace(plan, steps=tuple(steps))


def printed(plan: Plan) -> str | None:
    try:
        return ARAZZO.print(plan)
    except CannotExpress as error:
        codes = {each.code for each in error.diagnostics}
    assert codes == {"cannot-express"}
    return None


@given(calls(PLAIN_TEXTS, st.just(())))
def test_calls_in_order_read_back(plan: Plan) -> None:
    plan = in_order(plan)
    text = printed(plan)
    if text is not None:
        parsed = ARAZZO.parse(text)
        assert parsed.plan == plan
        assert not [each for each in parsed.diagnostics if each.severity is Severity.ERROR]


def test_references_texts_and_outputs_read_back() -> None:
    ref = Ref("a", ("items", 0, "a/b~c"))
    plan = Plan(
        (
            Step("a", "list", {"q": Literal("$5")}, thought="Look."),
            Step("b", "get", {"id": ref, "t": Template(("of ", Ref("a"), "!"))}),
            Step("c", "put", {"all": array((Literal(1), object_((("x", ref),))))}, ("b",)),
        ),
        object_((("first", ref), ("all", Ref("c")))),
    )
    assert ARAZZO.parse(ARAZZO.print(plan)).plan == plan


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        (Plan((Step("a", "t"), Step("b", "t"))), "after the one before it"),
        (Plan((Step("a", "t"), Step("b", "t", {"x": Ref("a", ("0",))}))), "the key '0'"),
        (Plan((Step("a", "t", {"x": Literal("$inputs.x")}),)), "no value"),
        (Plan((Step("a", "t", {"x": Literal("{$inputs.x}")}),)), "no value"),
        (Plan((Step("a", "t", retries=2),)), "no 'retries'"),
        (Plan((Step("a", "t"),), Ref("a")), "outputs of a workflow"),
        (Plan((Step("a", "t"),), metadata={"query": "x"}), "no 'metadata'"),
    ],
)
def test_what_it_cannot_say_is_named(plan: Plan, why: str) -> None:
    with pytest.raises(CannotExpress) as raised:
        ARAZZO.print(plan)
    assert any(why in each.message for each in raised.value.diagnostics)


def test_paths() -> None:
    assert read_path("#/a~1b/0/x~0y") == ("a/b", 0, "x~y")
    assert read_path("[0].id") == (0, "id")
    assert read_path(".a.b[2]") == ("a", "b", 2)
    assert read_path("") == ()
    assert read_path("#a") is None
    assert read_path("..a") is None


def test_an_operation_by_its_path_needs_a_tool() -> None:
    signatures = {"other": Signature((), ())}
    codes = [each.code for each in ARAZZO.parse(COUPON, signatures).diagnostics]
    assert codes == ["unknown-tool"]


@pytest.mark.parametrize(
    ("stated", "code", "said"),
    [
        ("#/paths/~1things/get", "field-type", "cannot be read"),
        ("{$sourceDescriptions.shop.url}#/paths/~1things", "field-type", "cannot be read"),
        ("{$sourceDescriptions.shop.url}#/paths/~1none/get", "unknown-tool", "no tool for"),
    ],
)
def test_an_operation_that_cannot_be_read_says_how(stated: str, code: str, said: str) -> None:
    text = COUPON.replace(
        "'{$sourceDescriptions.shop.url}#/paths/~1things~1{id}~1coupons/get'", f"'{stated}'"
    )
    signatures = {each: Signature((), ()) for each in ("findThings", "placeOrder", "sayThanks")}
    (found,) = ARAZZO.parse(text, signatures).diagnostics
    assert (found.code, bool(found.help)) == (code, True)
    assert said in found.message


@pytest.mark.parametrize(
    ("stated", "known", "name"),
    [
        ("shop.findThings", ("findThings",), "findThings"),
        ("shop.findThings", ("shop.findThings",), "shop.findThings"),
        ("other.findThings", ("findThings",), "other.findThings"),
        ("$sourceDescriptions.shop.findThings", ("findThings",), "findThings"),
    ],
)
def test_an_operation_may_name_its_source(stated: str, known: tuple[str, ...], name: str) -> None:
    text = COUPON.replace("operationId: findThings", f"operationId: {stated}")
    parsed = ARAZZO.parse(text, {each: Signature((), ()) for each in known}).plan
    assert parsed is not None
    assert parsed.steps[0].tool == name


@pytest.mark.parametrize("stated", ["$outputs[0].id", "$first_id", "$response.header.X", "$url"])
def test_an_output_that_is_no_expression_is_not_sent_as_text(stated: str) -> None:
    text = COUPON.replace("thing: $response.body#/0/id", f"thing: {stated}")
    found = ARAZZO.parse(text).diagnostics
    codes = [(each.severity, each.code) for each in found]
    assert (Severity.WARNING, "noise") in codes
    assert (Severity.ERROR, "unknown-output") in codes


def test_a_body_that_is_one_argument_stays_one() -> None:
    text = ARAZZO.print(Plan((Step("a", "t", {"x": Literal(1)}),)))
    known = {"t": Signature(("body",), ())}
    assert ARAZZO.parse(text, known).plan == Plan((Step("a", "t", {"body": Literal({"x": 1})}),))


DOCUMENT = read_document("""
openapi: 3.1.0
info: {title: Shop, version: "1"}
paths:
  /things:
    get:
      operationId: findThings
      parameters:
        - {name: tags, in: query, schema: {type: array}}
        - {name: page, in: query, schema: {type: integer}}
      responses: &json {"200": {description: Done., content: {application/json: {}}}}
  /things/{id}/coupons:
    get:
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      responses: *json
  /orders:
    post:
      operationId: placeOrder
      requestBody:
        required: true
        content:
          application/json:
            schema: {type: object, properties: {thing: {}, lines: {}, quantity: {}, price: {}}}
      responses: *json
  /thanks:
    get: {operationId: sayThanks, responses: *json}
""")


class Shop:
    """A service that remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.price = 9.5
        self.order: Any = None
        self.app = Flask("shop")
        self.app.before_request(self._remember)
        self.app.get("/things")(self._things)
        self.app.get("/things/<int:number>/coupons")(self._coupons)
        self.app.post("/orders")(self._orders)
        self.app.get("/thanks")(self._thanks)

    def _remember(self) -> None:
        self.asked.append(request.full_path.removesuffix("?"))

    def _things(self) -> Response:
        seller = {"name": "Bo"}
        return jsonify([{"id": 7, "state": "for sale", "price": self.price, "seller": seller}])

    def _coupons(self, number: int) -> Response:
        return jsonify({"codes": [f"C{number}"]})

    def _orders(self) -> Response:
        self.order = request.get_json()
        return jsonify({"number": 42})

    def _thanks(self) -> Response:
        return jsonify({})


@pytest.fixture
def shop() -> Generator[tuple[Shop, Toolbox]]:
    service = Shop()
    web = make_server("127.0.0.1", 0, service.app, threaded=True)
    thread = threading.Thread(target=web.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    tools = openapi_toolbox(DOCUMENT, base_url=f"http://127.0.0.1:{web.server_port}")
    try:
        yield service, tools.labelled({"placeOrder": Effects.READ})
    finally:
        web.shutdown()
        web.server_close()
        thread.join(10)


def run(tools: Toolbox, text: str = COUPON, dialect: str = "arazzo") -> Any:
    compiled = compile_plan(text, dialect, tools=tools)
    assert compiled.plan is not None, str(compiled)
    return asyncio.run(toolplan.run(compiled.plan, tools))


def test_a_workflow_is_checked_and_run(shop: tuple[Shop, Toolbox]) -> None:
    service, tools = shop
    ended = run(tools)
    assert ended.status == "succeeded"
    assert ended.output == {"order": 42}
    assert service.asked == [
        "/things?tags=red&tags=small&page=2",
        "/things/7/coupons",
        "/orders",
        "/thanks",
    ]
    assert service.order == {
        "thing": 7,
        "lines": [{"coupon": "C7", "note": "From Bo, for Ada"}],
        "quantity": 2,
        "price": "$5",
    }


def test_a_criterion_that_is_not_met_ends_the_workflow(shop: tuple[Shop, Toolbox]) -> None:
    service, tools = shop
    service.price = 99
    run(tools)
    assert service.asked == ["/things?tags=red&tags=small&page=2"]


FIRST = RENT.replace("who: {type: string}", "who: {default: Bo}")


@pytest.mark.parametrize(
    ("text", "dialect", "output", "asked", "order"),
    [
        (RENT, "arazzo?who=Ada", {"order": 42, "same": 42}, ["/things?tags=red", "/orders"],
         {"thing": 7, "lines": ["for Ada"]}),
        (RENT, "arazzo:order-it?thing=4&quantity=2&label=12", {"order_number": 42}, ["/orders"],
         {"thing": 4, "quantity": 2, "lines": ["12"]}),
        (FIRST, "arazzo:rent-first", {"order": 42},
         ["/things?tags=red", "/orders", "/orders", "/thanks"],
         {"thing": 42, "quantity": 3, "lines": ["none"]}),
    ],
    ids=["calls another", "chosen by its name", "depends on others"],
)  # fmt: skip
def test_workflows_are_called_chosen_and_depended_on(
    shop: tuple[Shop, Toolbox], text: str, dialect: str, output: Any, asked: list[str], order: Any
) -> None:
    service, tools = shop
    ended = run(tools, text, dialect)
    assert ended.status == "succeeded"
    assert (ended.output, service.asked, service.order) == (output, asked, order)


@pytest.mark.parametrize(
    ("dialect", "code", "said"),
    [
        ("arazzo:none", "missing-field", "no workflow 'none'"),
        ("arazzo?who=Ada&age=9", "unknown-argument", "no input 'age'"),
        ("arazzo", "cannot-express", "The input 'who' has no value"),
        ("arazzo:rent-first", "cannot-express", "The input 'who' has no value"),
    ],
)
def test_a_choice_that_cannot_be_made_is_named(dialect: str, code: str, said: str) -> None:
    found = known_dialect(dialect).parse(RENT).diagnostics
    assert [each.code for each in found if each.severity is Severity.ERROR] == [code]
    assert any(said in each.message and each.help for each in found)


BOUNDED = """{"arazzo": "1.0.1", "info": {"title": "t", "version": "1"},
  "components": {"inputs": {"label": {"enum": ["red", "green"]}}},
  "workflows": [
    {"workflowId": "pay", "inputs": {"type": "object", "properties": {
        "amount": {"type": "integer", "maximum": 10},
        "label": {"$ref": "#/components/inputs/label"},
        "rates": {"type": "array", "items": {"$ref": "#/components/inputs/label"}}}},
     "steps": [{"stepId": "a", "operationId": "pay", "parameters": [
        {"name": "amount", "in": "query", "value": "$inputs.amount"}]}]},
    {"workflowId": "pay-much", "steps": [{"stepId": "b", "workflowId": "pay", "parameters": [
        {"name": "amount", "value": 50}]}]}]}"""


@pytest.mark.parametrize(
    ("choice", "code"),
    [
        ("pay?amount=7&label=red", None),
        ('pay?amount=7&rates=["red"]', None),
        ("pay?amount=7&amount=8", "duplicate-key"),
        ("pay?amount=99", "argument-value"),
        ("pay?amount=seven", "argument-value"),
        ("pay?amount=1e400", "argument-value"),
        ("pay?amount=7&label=blue", "argument-value"),
        ('pay?amount=7&rates=["blue"]', "argument-value"),
        ('pay?amount={"a":1,"a":2}', "argument-value"),
        ("pay-much", "argument-value"),
    ],
)
def test_values_of_inputs_fit_their_schemas(choice: str, code: str | None) -> None:
    found = known_dialect(f"arazzo:{choice}").parse(BOUNDED).diagnostics
    errors = [each.code for each in found if each.severity is Severity.ERROR]
    assert errors == ([] if code is None else [code])


def test_only_arazzo_has_choices() -> None:
    with pytest.raises(ToolplanError, match="nothing to choose"):
        known_dialect("clear:main")
    with pytest.raises(ToolplanError, match="no dialect 'arazo'"):
        known_dialect("arazo:main")


def test_a_called_step_is_shown_where_it_is_written() -> None:
    text = RENT.replace("operationId: placeOrder", "operationId: placeOdrer")
    found = known_dialect("arazzo?who=Ada").locate(text, "/steps/1/tool")
    assert found is not None
    assert text[found.start : found.end] == "operationId: placeOdrer"


@pytest.mark.parametrize(
    ("before", "after", "code", "said"),
    [
        ("workflowId: order-it\n        parameters:\n          - {name: thing, value: $steps",
         "workflowId: gone\n        parameters:\n          - {name: thing, value: $steps",
         "cannot-express", "no workflow 'gone'"),
        ("operationId: placeOrder", "workflowId: rent-by-tag", "cycle", "order-it -> rent-by-tag"),
        ("{name: label, value", "{name: tagged, value", "unknown-argument", "no input 'tagged'"),
        ("$outputs.order_number", "$outputs.other", "unknown-output", "no output 'other'"),
        ("number: $outputs.order_number", "number: $workflows.rent-first.outputs.order",
         "unknown-step", "No earlier workflow"),
        ("retryLimit: 2,", "retryLimit: 2, criteria: [],", "cannot-express", "no jumps"),
        ("condition: $statusCode == 200\n        outputs:\n          number",
         "condition: $response.body#/a == 1\n        outputs:\n          number",
         "cannot-express", "no response"),
    ],
)  # fmt: skip
def test_calls_that_a_plan_cannot_have_are_named(
    before: str, after: str, code: str, said: str
) -> None:
    assert before in RENT
    found = known_dialect("arazzo?who=Ada").parse(RENT.replace(before, after)).diagnostics
    named = [each for each in found if each.code == code]
    assert any(said in each.message for each in named), found


def test_workflows_that_call_each_other_without_end_are_bounded() -> None:
    """Each workflow calls the next one twice: 2 to the 40 calls, and not one step."""
    lines = ["arazzo: 1.0.1", "workflows:"]
    for at in range(40):
        lines += [f"  - workflowId: w{at}", "    steps:"]
        lines += [f"      - {{stepId: {step}, workflowId: w{at + 1}}}" for step in "ab"]
    lines += ["  - workflowId: w40", "    steps: []"]
    found = DIALECTS["arazzo"].parse("\n".join(lines)).diagnostics
    assert "too-many-steps" in {each.code for each in found}
