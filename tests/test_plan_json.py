"""The canonical form: loaded, dumped, and all that is wrong with it (P03, P12 … P17, P43)."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dialects.strategies import JSON, PATHS, TEXTS, plans
from tests.sizes import share_of
from toolplan.plan.canonical import Parsed, ParsedText, Report, dump, load, parse_text, print_text
from toolplan.plan.diagnostics import Severity
from toolplan.plan.model import (
    Array,
    Limits,
    Literal,
    Object,
    Plan,
    Ref,
    Step,
    Template,
    Value,
    When,
    template,
)
from toolplan.plan.path import EVERY, Json


def plan_of(*steps: object, **more: object) -> Json:
    return json.loads(json.dumps({"toolplan": 1, "steps": steps, **more}))


def step_of(**fields: object) -> Json:
    return plan_of({"id": "a", "tool": "t", **fields})


def places(parsed: Parsed) -> list[tuple[str, str]]:
    return [(each.code, each.pointer) for each in parsed.diagnostics]


@settings(deadline=None, max_examples=40)
@given(plans())
def test_a_dumped_plan_loads_as_itself(plan: Plan) -> None:
    document = dump(plan)
    assert load(document).plan == plan
    assert load(json.loads(json.dumps(document))).plan == plan


@settings(deadline=None, max_examples=share_of(150))
@given(
    st.lists(TEXTS | st.builds(Ref, st.sampled_from(["a", "0", "item", "x-y"]), PATHS), max_size=5)
)
def test_printed_text_parses_as_itself(parts: list[str | Ref]) -> None:
    value = template(tuple(parts))
    assert isinstance(value, Literal | Ref | Template)
    assert parse_text(print_text(value)) == ParsedText(value)


@settings(deadline=None, max_examples=share_of(150))
@given(st.text("${}a.[]0\"'\\ ", max_size=14))
def test_no_text_makes_parse_text_raise_and_what_it_reads_prints_as_the_same(text: str) -> None:
    found = parse_text(text)
    value, problems = found.value, found.problems
    if problems:
        assert value == Literal(text)
        return
    assert isinstance(value, Literal | Ref | Template)
    assert parse_text(print_text(value)).value == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${a}", Ref("a")),
        ("${0.data[*].id}", Ref("0", ("data", EVERY, "id"))),
        ("${a.0.*}", Ref("a", (0, EVERY))),
        ('${a["}"]}', Ref("a", ("}",))),
        ("${a}${b}", Template((Ref("a"), Ref("b")))),
        ("x ${a.n}!", Template(("x ", Ref("a", ("n",)), "!"))),
        ("$${x}", Literal("${x}")),
        ("$$${x}", Template(("$", Ref("x")))),
        ("$$$${x}", Literal("$${x}")),
        ("$$$$${x}", Template(("$$", Ref("x")))),
        ("$", Literal("$")),
        ("$$ {x} $5 a$", Literal("$$ {x} $5 a$")),
        ("{x}", Literal("{x}")),
        ("${a}$", Template((Ref("a"), "$"))),
        ("${a}$${b}", Template((Ref("a"), "${b}"))),
        ("${a.__class__}", Ref("a", ("__class__",))),
    ],
)
def test_pairs_of_dollars_before_a_brace_are_text(text: str, value: Value) -> None:
    assert parse_text(text) == ParsedText(value)


@pytest.mark.parametrize(
    "text",
    ["${", "${}", "${a", "${a.b", "${ a}", "${a }", "${a.}", "${a[-1]}", "${a[}", "${${a}}",
     "${-a}", "${a..b}", "${a|b}", "${a()}", "${" + "a" * 65 + "}", "ok ${b} and ${",
     "$$${", "${ä}"],
)  # fmt: skip
def test_p31_p33_p34_what_is_no_reference_is_a_problem_with_its_place(text: str) -> None:
    found = parse_text(text)
    value, problems = found.value, found.problems
    assert value == Literal(text)
    assert problems
    assert all(0 <= each.offset <= len(text) for each in problems)
    assert all(each.message and each.help for each in problems)


def test_every_bad_reference_of_a_text_is_reported() -> None:
    assert len(parse_text("${} ${a} ${b[} ${").problems) == 3
    assert len(parse_text("${" * 1000).problems) <= 20


def test_references_are_found_at_any_depth_and_literals_stay_whole() -> None:
    parsed = load(step_of(args={"x": [{"y": "${a.b}", "z": [1]}], "w": [{"v": ["$${"]}]}))
    assert parsed.diagnostics == ()
    assert parsed.plan is not None
    args = parsed.plan.steps[0].args
    assert args["x"] == Array((Object((("y", Ref("a", ("b",))), ("z", Literal([1])))),))
    assert args["w"] == Literal([{"v": ["${"]}])


def test_keys_schemas_and_metadata_are_never_references() -> None:
    plan = load(
        plan_of(
            {
                "id": "a",
                "tool": "${t}",
                "args": {"${k}": {"${l}": 1}},
                "when": {"value": 1, "is": {"const": "${x}"}},
                "thought": "${y}",
            },
            metadata={"note": "${"},
        )
    )
    assert plan.diagnostics == ()
    step = Step(
        "a",
        "${t}",
        {"${k}": Literal({"${l}": 1})},
        when=When(Literal(1), {"const": "${x}"}),
        thought="${y}",
    )
    assert plan.plan == Plan((step,), None, {"note": "${"})


def test_only_what_is_not_default_is_dumped_in_a_fixed_order() -> None:
    assert dump(Plan((Step("a", "t"),))) == {"toolplan": 1, "steps": [{"id": "a", "tool": "t"}]}
    document = step_of(
        args={"x": 1},
        after=["b"],
        for_each="${b}",
        max_items=2,
        when={"value": "${b}", "is": True},
        on_error="continue",
        timeout_s=30,
        retries=1,
        thought="x",
    )
    plan = load(document).plan
    assert plan is not None
    assert json.dumps(dump(plan)) == json.dumps(document)


def test_what_is_dumped_shares_nothing_with_the_plan() -> None:
    document = plan_of({"id": "a", "tool": "t", "args": {"x": [1]}}, metadata={"m": [1]})
    plan = load(document).plan
    assert plan is not None
    for each in (document, dump(plan)):
        assert isinstance(each, dict)
        text = json.dumps(dump(plan))
        _spoil(each)
        assert json.dumps(dump(plan)) == text


def _spoil(value: Json) -> None:
    for each in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        _spoil(each)
    if isinstance(value, dict | list):
        value.clear()


def test_an_output_of_null_is_an_output() -> None:
    plan = load(plan_of({"id": "a", "tool": "t"}, output=None)).plan
    assert plan is not None
    assert plan.output == Literal(None)
    assert dump(plan)["output"] is None


def test_p12_unknown_fields_are_refused_with_what_may_have_been_meant() -> None:
    parsed = load(plan_of({"id": "a", "tool": "t", "params": {}, "retrys": 1, "zzz": 1}, stepz=1))
    assert places(parsed) == [
        ("unknown-field", "/stepz"),
        ("unknown-field", "/steps/0/params"),
        ("unknown-field", "/steps/0/retrys"),
        ("unknown-field", "/steps/0/zzz"),
    ]
    assert [each.help for each in parsed.diagnostics[:3]] == [
        "Did you mean 'steps'?",
        "Did you mean 'args'?",
        "Did you mean 'retries'?",
    ]


def test_p13_missing_fields_have_stand_ins_so_that_reading_goes_on() -> None:
    parsed = load(plan_of({"tool": "t"}, {"id": "s0"}, {"id": "s2", "tool": "t"}, {"tool": "u"}))
    assert places(parsed) == [
        ("missing-field", "/steps/0/id"),
        ("missing-field", "/steps/3/id"),
        ("missing-field", "/steps/1/tool"),
    ]
    assert parsed.plan is not None
    assert [step.id for step in parsed.plan.steps] == ["s0_", "s0", "s2", "s3"]
    assert parsed.plan.steps[1].tool == ""


def test_p14_the_innermost_wrong_part_is_named() -> None:
    assert places(load(step_of(after=["b", 1, None]))) == [
        ("field-type", "/steps/0/after/1"),
        ("field-type", "/steps/0/after/2"),
    ]
    assert places(load(step_of(when={"is": 5, "x": 1}))) == [
        ("unknown-field", "/steps/0/when/x"),
        ("missing-field", "/steps/0/when/value"),
        ("field-type", "/steps/0/when/is"),
    ]
    assert places(load(plan_of(7, {"id": "a", "tool": "t"}))) == [("field-type", "/steps/0")]


@pytest.mark.parametrize("field", ["timeout_s", "retries", "toolplan"])
def test_p08_no_number_is_too_long_to_be_refused(field: str) -> None:
    step: dict[str, Json] = {"id": "a", "tool": "t", field: 10**5000}
    assert len(load({"toolplan": 10**5000, "steps": [step]}).diagnostics) == 2


def test_p47_the_bounds_themselves_are_fine() -> None:
    assert load(step_of(timeout_s=7 * 24 * 3600, retries=100)).diagnostics == ()
    assert load(step_of(timeout_s=0.001, retries=0, max_items=1)).diagnostics == ()


def test_p16_ids_that_look_alike_are_a_warning() -> None:
    steps = [{"id": name, "tool": "t"} for name in ("ab", "AB", "aB", "ﬁ", "FI")]
    parsed = load(plan_of(*steps))
    alike = [each for each in parsed.diagnostics if each.code == "confusable-id"]
    assert [each.pointer for each in alike] == ["/steps/1/id", "/steps/2/id", "/steps/4/id"]
    assert {each.severity for each in alike} == {Severity.WARNING}


@pytest.mark.parametrize("name", ["0", "42", "a", "_", "A-b_9", "a" * 64, "a-"])
def test_p17_plain_ids_and_numbers_are_fine(name: str) -> None:
    assert load(plan_of({"id": name, "tool": "t"})).diagnostics == ()


def test_p36_a_list_of_a_million_items_is_read_and_one_call_for_each_is_for_the_rules() -> None:
    items: list[Json] = [*range(1_000_000)]
    parsed = load({"steps": [{"id": "a", "tool": "t", "for_each": items}]})
    assert parsed.plan is not None
    assert parsed.plan.steps[0].for_each == Literal(items)
    assert parsed.plan.steps[0].max_items == 1000


def test_p37_nesting_is_bounded_wherever_it_stands() -> None:
    deep: Json = 1
    for _ in range(30):
        deep = [deep]
    for document in (
        step_of(args={"x": deep}),
        step_of(for_each=deep),
        step_of(when={"value": 1, "is": {"const": deep}}),
        plan_of({"id": "a", "tool": "t"}, output=deep),
        plan_of({"id": "a", "tool": "t"}, metadata={"x": deep}),
    ):
        assert load(document, Limits(depth=40)).diagnostics == ()
        parsed = load(document, Limits(depth=30))
        assert parsed.plan is None
        assert [each.code for each in parsed.diagnostics] == ["too-deep"]


def test_p43_a_plan_that_says_no_version_is_of_the_first() -> None:
    assert load({"steps": [{"id": "a", "tool": "t"}]}) == Parsed(Plan((Step("a", "t"),)))


@settings(deadline=None, max_examples=share_of(150))
@given(JSON)
def test_no_json_makes_load_raise(value: Json) -> None:
    load(value)
    load({"steps": value, "metadata": value, "output": value})
    fields = ("id", "tool", "args", "after", "for_each", "when", "on_error", "timeout_s", "thought")
    load({"steps": [dict.fromkeys(fields, value)]})


def kept(report: Report) -> dict[Severity, int]:
    return {s: sum(each.severity is s for each in report.diagnostics) for s in Severity}


def test_a_report_keeps_a_thousand_errors_and_a_thousand_warnings() -> None:
    report = Report()
    for at in range(1_500):
        assert report.is_full(Severity.WARNING) == (at >= 1_000)
        report.warning("noise", "A warning.")
    assert not report.is_full()
    for at in range(1_500):
        assert report.is_full() == (at >= 1_000)
        report.error("syntax", "An error.")
    assert kept(report) == {Severity.ERROR: 1_000, Severity.WARNING: 1_000}


def test_a_report_keeps_four_million_characters_of_pointers_and_one_error_at_least() -> None:
    report = Report()
    for _ in range(10):
        report.warning("noise", "A warning.", "/" * 1_500_000)
    assert kept(report) == {Severity.ERROR: 0, Severity.WARNING: 3}
    assert report.is_full(Severity.WARNING)
    assert not report.is_full()
    for _ in range(10):
        report.error("syntax", "An error.", "/a")
    assert kept(report) == {Severity.ERROR: 1, Severity.WARNING: 3}
    exact = Report()
    for _ in range(3):
        exact.error("syntax", "An error.", "/" * 2_000_000)
    assert kept(exact)[Severity.ERROR] == 3  # the budget is used up, and not yet exceeded, at two
