"""The dialect `nestful`: labels, dollars, and the call that is the output."""

import json

import pytest

from toolplan import CannotExpress, check
from toolplan.dialects import DIALECTS
from toolplan.plan.model import Literal, Object, Plan, Ref, Step, Template, Value, positional
from toolplan.plan.path import EVERY, Json

NESTFUL = DIALECTS["nestful"]


def read(text: Json) -> tuple[Value, list[str]]:
    """Return what `text` says as an argument, in a plan with the labels `var1` and `var_2`."""
    calls: Json = [
        {"name": "a", "arguments": {}, "label": "var1"},
        {"name": "b", "arguments": {}, "label": "$var_2"},
        {"name": "c", "arguments": {"x": text}, "label": "var3"},
    ]
    parsed = NESTFUL.parse(json.dumps(calls))
    assert parsed.plan is not None
    return parsed.plan.steps[2].args["x"], [each.code for each in parsed.diagnostics]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("$var1$", Ref("var1")),
        ("$var1.title$", Ref("var1", ("title",))),
        ("$var_2.result$", Ref("var_2", ("result",))),
        ("$var1.posts[0].id$", Ref("var1", ("posts", 0, "id"))),
        ("$var1.Exchange Rate$", Ref("var1", ("Exchange Rate",))),
        ("5 * $var1.Exchange Rate$", Template(("5 * ", Ref("var1", ("Exchange Rate",))))),
        ("$var1.a$ - $var_2.b$", Template((Ref("var1", ("a",)), " - ", Ref("var_2", ("b",))))),
        ("$100$var1$", Template(("$100", Ref("var1")))),
        ("$var1$$", Template((Ref("var1"), "$"))),
        ("$later.x$", Ref("later", ("x",))),
        ("$var1.all[*].id$", Ref("var1", ("all", EVERY, "id"))),
    ],
)
def test_a_label_between_dollars_is_a_reference(text: str, wanted: Value) -> None:
    assert read(text) == (wanted, [])


@pytest.mark.parametrize(
    "text", ["$50", "$10-$20", "$", "$$", "$AAPL-$MSFT", "$1.50$", "in $AUD. It cost $5", "a$b"]
)
def test_a_dollar_that_opens_no_reference_is_a_dollar(text: str) -> None:
    assert read(text) == (Literal(text), [])


@pytest.mark.parametrize("text", ["$var1", "$var1.x", "$var_2.x[0]"])
def test_a_reference_without_its_end_is_reported_and_not_passed_on(text: str) -> None:
    assert read(text) == (Literal(text), ["reference-syntax"])


def test_labels_become_ids_and_steps_without_one_are_called_by_position() -> None:
    parsed = NESTFUL.parse(
        '[{"name":"a","label":"$var1"},{"name":"b"},{"name":"c","label":"s3"},{"name":"d"},'
        '{"name":"e","label":"item"},{"name":"f","label":"a b"},{"name":"g","label":"x-y"}]'
    )
    assert parsed.plan is not None
    ids = [step.id for step in parsed.plan.steps]
    assert ids == ["var1", "s1", "s3", "s3_", "s4", "s5", "x-y"]
    assert parsed.diagnostics == ()


def test_a_label_that_is_no_id_is_referred_to_all_the_same() -> None:
    parsed = NESTFUL.parse(
        '[{"name":"a","label":"item"},{"name":"b","label":"c","arguments":{"x":"$item.y$"}}]'
    )
    assert parsed.plan is not None
    assert parsed.plan.steps[1].args == {"x": Ref("s0", ("y",))}


def test_two_steps_with_one_label_are_an_error() -> None:
    parsed = NESTFUL.parse('[{"name":"a","label":"$v"},{"name":"b","label":"v"}]')
    assert [(e.code, e.pointer) for e in parsed.diagnostics] == [("duplicate-id", "/steps/1/id")]


def test_a_reference_to_no_label_is_found_by_the_rules() -> None:
    plan = NESTFUL.parse('[{"name":"a","label":"v1","arguments":{"x":"$v9.y$"}}]').plan
    assert plan is not None
    assert [each.code for each in check(plan, None)] == ["unknown-step"]


def test_the_closing_call_is_the_output_and_a_tool_of_that_name_before_it_is_a_step() -> None:
    text = (
        '[{"name":"var_result","label":"v"},'
        '{"name":"var_result","arguments":{"a":"$v$","b":1},"label":"var_result"}]'
    )
    plan = NESTFUL.parse(text).plan
    output = Object((("a", Ref("v")), ("b", Literal(1))))
    assert plan is not None
    assert plan == Plan((Step("v", "var_result"),), output)
    assert NESTFUL.parse(NESTFUL.print(plan)).plan == plan


def test_a_plan_of_nothing_but_its_output_is_empty() -> None:
    parsed = NESTFUL.parse("[]")
    assert [each.code for each in parsed.diagnostics] == ["empty-plan"]


@pytest.mark.parametrize("text", ["$var1$", "$a$", "$a.b$", "$a", "x $a[0]$"])
def test_text_that_reads_as_a_reference_cannot_be_said(text: str) -> None:
    plan = Plan((Step("a", "t"), Step("b", "t", {"x": Literal([{"deep": text}])})))
    with pytest.raises(CannotExpress) as caught:
        NESTFUL.print(plan)
    [found] = caught.value.diagnostics
    assert (found.code, found.pointer, found.step) == (
        "cannot-express",
        "/steps/1/args/x/0/deep",
        "b",
    )


def test_what_nestful_cannot_say_is_named_each_by_itself() -> None:
    plan = Plan(
        (
            Step("a", "t", thought="so"),
            Step("b", "t", {"x": Ref("a", (EVERY,)), "y": Ref("a", ("k.l",))}, after=("a",)),
            Step("c", "t", after=("a",)),
        ),
        Ref("a"),
        {"query": "?"},
    )
    with pytest.raises(CannotExpress) as caught:
        NESTFUL.print(plan)
    assert [each.pointer for each in caught.value.diagnostics] == [
        "/metadata",
        "/steps/0/thought",
        "/steps/1/args/x",
        "/steps/1/args/y",
        "/steps/2/after",
        "/output",
    ]


def test_a_gold_plan_goes_through_every_dialect_that_can_say_it() -> None:
    """nestful → toolplan → kirha → clear → llmcompiler → toolplan."""
    text = json.dumps(
        [
            {"name": "divide", "arguments": {"arg_0": 48, "arg_1": 24.0}, "label": "$var_1"},
            {"name": "say", "arguments": {"t": "{0} $1 ${x} #E1 $50"}, "label": "$var_2"},
            {"name": "add", "arguments": {"b": "$var_1.result$", "a": 2}, "label": "$var_3"},
        ]
    )
    first = NESTFUL.parse(text).plan
    plan = first
    for name in ("toolplan", "kirha", "clear", "llmcompiler", "toolplan"):
        assert plan is not None
        plan = DIALECTS[name].parse(DIALECTS[name].print(plan)).plan
    assert plan is not None
    assert first is not None
    assert positional(plan) == positional(first)
