"""The dialect `sealtools`: outputs that are numbered through the plan."""

import json

import pytest

from toolplan.dialects import DIALECTS
from toolplan.plan.diagnostics import CannotExpress
from toolplan.plan.model import Array, Literal, Plan, Ref, Signature, Step, Template
from toolplan.plan.path import Json

SEALTOOLS = DIALECTS["sealtools"]
SIGNATURES = {
    "scan": Signature(("isbn",), ("book", "is_there")),
    "locate": Signature(("book",), ("place",)),
    "show": Signature(("place", "is_there"), ()),
}
BOOK = [
    {"api": "scan", "parameters": {"isbn": "978"}, "responses": ["API_call_0", "API_call_1"]},
    {"api": "locate", "parameters": {"book": "API_call_0"}, "responses": ["API_call_2"]},
    {
        "api": "show",
        "parameters": {"place": "at API_call_2, yes", "is_there": ["API_call_1"]},
        "responses": ["API_call_3"],
    },
]
PLAN = Plan(
    (
        Step("s0", "scan", {"isbn": Literal("978")}),
        Step("s1", "locate", {"book": Ref("s0", ("book",))}),
        Step(
            "s2",
            "show",
            {
                "place": Template(("at ", Ref("s1", ("place",)), ", yes")),
                "is_there": Array((Ref("s0", ("is_there",)),)),
            },
        ),
    )
)


def test_a_response_is_the_field_that_the_tool_declares_at_its_place() -> None:
    parsed = SEALTOOLS.parse(json.dumps(BOOK), SIGNATURES)
    assert (parsed.plan, parsed.diagnostics) == (PLAN, ())


def test_without_responses_outputs_are_numbered_by_what_the_tools_declare() -> None:
    calls = [{key: call[key] for key in ("api", "parameters")} for call in BOOK]
    parsed = SEALTOOLS.parse(json.dumps(calls), SIGNATURES)
    assert (parsed.plan, parsed.diagnostics) == (PLAN, ())


def test_what_is_printed_is_what_was_read() -> None:
    assert json.loads(SEALTOOLS.print(PLAN, SIGNATURES)) == BOOK


def test_without_tools_the_order_is_known_but_no_field() -> None:
    parsed = SEALTOOLS.parse(json.dumps(BOOK))
    assert parsed.plan is not None
    assert parsed.plan.steps[1].args == {"book": Ref("s0", ("API_call_0",))}
    assert [(e.code, e.pointer) for e in parsed.diagnostics] == [
        ("needs-tools", "/steps/1/args/book"),
        ("needs-tools", "/steps/2/args/place"),
        ("needs-tools", "/steps/2/args/is_there/0"),
    ]


def test_without_tools_and_responses_no_reference_is_known() -> None:
    calls: Json = [{"api": "a"}, {"api": "b", "parameters": {"x": "API_call_0"}}]
    parsed = SEALTOOLS.parse(json.dumps(calls))
    assert [each.code for each in parsed.diagnostics] == ["needs-tools"]


def test_the_whole_output_is_meant_where_the_tool_declares_no_fields() -> None:
    calls: Json = [
        {"api": "show", "responses": ["API_call_0"]},
        {"api": "show", "parameters": {"place": "API_call_0"}, "responses": ["API_call_1"]},
    ]
    parsed = SEALTOOLS.parse(json.dumps(calls), SIGNATURES)
    assert parsed.plan is not None
    assert parsed.plan.steps[1].args == {"place": Ref("s0")}
    assert json.loads(SEALTOOLS.print(parsed.plan, SIGNATURES))[1] == calls[1]


def test_an_output_that_no_step_has_and_one_too_many_are_errors() -> None:
    calls: Json = [
        {"api": "locate", "parameters": {"book": "API_call_7"}, "responses": ["API_call_0"]},
        {"api": "locate", "parameters": {"book": "API_call_2"}, "responses": ["API_call_1"]},
        {"api": "locate", "responses": ["API_call_3", "API_call_2"]},
    ]
    parsed = SEALTOOLS.parse(json.dumps(calls), SIGNATURES)
    assert [(e.code, e.step) for e in parsed.diagnostics] == [
        ("unknown-step", "s0"),
        ("unknown-output", "s1"),
    ]


def test_a_reference_to_a_later_step_is_read() -> None:
    calls: Json = [
        {"api": "locate", "parameters": {"book": "API_call_1"}, "responses": ["API_call_0"]},
        {"api": "locate", "parameters": {}, "responses": ["API_call_1"]},
    ]
    parsed = SEALTOOLS.parse(json.dumps(calls), SIGNATURES)
    assert parsed.plan is not None
    assert parsed.plan.steps[0].args == {"book": Ref("s1", ("place",))}


def test_a_name_inside_of_a_word_is_no_reference() -> None:
    calls: Json = [{"api": "scan", "parameters": {"isbn": "myAPI_call_0 API_call_x API_call_0s"}}]
    parsed = SEALTOOLS.parse(json.dumps(calls), SIGNATURES)
    assert parsed.plan is not None
    assert isinstance(parsed.plan.steps[0].args["isbn"], Literal)


@pytest.mark.parametrize(
    ("plan", "pointers"),
    [
        (Plan((Step("a", "scan", {"isbn": Literal("API_call_0")}),)), ["/steps/0/args/isbn"]),
        (Plan((Step("a", "scan"), Step("b", "scan", {"x": Ref("a")}))), ["/steps/1/args/x"]),
        (Plan((Step("a", "no"), Step("b", "no", {"x": Ref("a", ("y",))}))), ["/steps/1/args/x"]),
        (
            Plan((Step("a", "scan"), Step("b", "scan", thought="t", after=("a",))), Ref("a")),
            ["/output", "/steps/1/after", "/steps/1/thought"],
        ),
    ],
)
def test_what_sealtools_cannot_say_is_named(plan: Plan, pointers: list[str]) -> None:
    with pytest.raises(CannotExpress) as caught:
        SEALTOOLS.print(plan, SIGNATURES)
    assert [each.pointer for each in caught.value.diagnostics] == pointers


def test_without_tools_no_reference_can_be_said() -> None:
    with pytest.raises(CannotExpress, match="sealtools"):
        SEALTOOLS.print(PLAN)
    plan = Plan((Step("s0", "scan", {"isbn": Literal("978")}),))
    assert SEALTOOLS.parse(SEALTOOLS.print(plan)).plan == plan
