"""LLMCompiler's dialect: what it reads, what it refuses, and that what it writes reads back."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.dialects.numbered_plans import llmcompiler_plans, written
from tests.plans_strategy import plans
from toolplan import CannotExpress, Parsed, Severity
from toolplan.dialects import DIALECTS
from toolplan.plan.model import (
    Limits,
    Literal,
    Plan,
    Ref,
    Signature,
    Step,
    Template,
    Value,
    positional,
    template,
)
from toolplan.plan.path import EVERY, Json

DIALECT = DIALECTS["llmcompiler"]
DATA = Path(__file__).parents[3] / "shared" / "data"
SIGNATURES = {
    "search": Signature(("query", "page"), ()),
    "math": Signature(("problem", "context"), ()),
    "now": Signature((), ()),
}


def codes(parsed: Parsed) -> list[str]:
    return [each.code for each in parsed.diagnostics]


def read(text: str) -> Plan:
    parsed = DIALECT.parse(text, SIGNATURES)
    assert parsed.plan is not None
    assert not [each for each in parsed.diagnostics if each.severity is Severity.ERROR]
    return parsed.plan


def argument(written: str, before: str = "1. now()\n") -> Value:
    """Return what `written` says as an argument of the last step."""
    return read(f"{before}{before.count(chr(10)) + 1}. f(a={written})").steps[-1].args["a"]


@given(llmcompiler_plans())
@example(Plan((Step("a", "t", {"x": template((Ref("a"), "0", Ref("a", ("k",)), "$"))}),)))
@example(Plan((Step("a", "t", {"x": template(("$", Ref("a"), "$", Ref("a")))}),)))
def test_what_is_written_reads_back_as_the_same_plan(plan: Plan) -> None:
    assert DIALECT.parse(DIALECT.print(plan)) == Parsed(positional(plan), ())


@given(plans() | llmcompiler_plans())
def test_a_plan_is_said_or_what_cannot_be_said_is_named(plan: Plan) -> None:
    text, unsaid = written(DIALECT, plan)
    assert unsaid == (set() if text else {"cannot-express"})
    assert text is None or DIALECT.parse(text).plan is not None


@given(llmcompiler_plans(), st.data())
def test_text_that_is_cut_off_is_refused_or_says_whole_steps(
    plan: Plan, data: st.DataObject
) -> None:
    text = DIALECT.print(plan)
    end = data.draw(st.integers(0, len(text)))
    parsed = DIALECT.parse(text[:end])
    if parsed.plan is None:
        assert set(codes(parsed)) == {"syntax"}
    else:
        assert "\n" in text[end - 1 : end + 1] or "join()" in text[:end]
        count = len(parsed.plan.steps)
        assert [s.tool for s in parsed.plan.steps] == [s.tool for s in plan.steps[:count]]


def test_ten_steps_are_distinguished_from_one_with_a_nought_behind_it() -> None:
    steps = "".join(f"{n}. now()\n" for n in range(1, 11))
    value = argument('"$10, $1, ${1}0 and $1 0"', steps)
    assert value == Template(
        (Ref("s9"), ", ", Ref("s0"), ", ", Ref("s0"), "0 and ", Ref("s0"), " 0")
    )


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('"$1"', Ref("s0")),
        ("$1", Ref("s0")),
        ('"${1}"', Ref("s0")),
        ("${1}", Ref("s0")),
        ('"${1.data[*].id}"', Ref("s0", ("data", EVERY, "id"))),
        ("${1.data.0}", Ref("s0", ("data", 0))),
        ('${1["a\'b"]}', Ref("s0", ("a'b",))),
        ('"a $1"', Template(("a ", Ref("s0")))),
        ('"$$1"', Literal("$1")),
        ('"$$$1"', Template(("$", Ref("s0")))),
        ('"$$$$1"', Literal("$$1")),
        ('"$${1.x}"', Literal("${1.x}")),
        ('"$ 5, $, US$ and ${name}"', Literal("$ 5, $, US$ and ${name}")),
        ('"$01"', Literal("$01")),
        ('"$1234567890123"', Literal("$1234567890123")),
        ('{"$1": 1}', Literal({"$1": 1})),
    ],
)
def test_references_are_read_once_and_everything_else_is_text(written: str, value: Value) -> None:
    assert argument(written) == value


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("True", True),
        ("true", True),
        ("None", None),
        ("null", None),
        ("-1", -1),
        ("+1", 1),
        ("1.5e3", 1500.0),
        (".5", 0.5),
        ("9223372036854775808", 2**63),
        ("[]", []),
        ("{}", {}),
        ("()", []),
        ("(1)", 1),
        ("(1,)", [1]),
        ("[1, (2, 3), {'k': [None,],},]", [1, [2, 3], {"k": [None]}]),
        (r"'it\'s \x41\u00e9\U0001F600\n'", "it's Aé😀\n"),
        (r'"\ud83d\ude00"', "😀"),
        (r'r"\d+"', r"\d+"),
        (r'"\d+"', r"\d+"),
        (r'"\101\0a"'.replace(r"\0a", ""), "A"),
        ('"""a "quoted" word"""', 'a "quoted" word'),
        ("'''a\n'b' '''", "a\n'b' "),
        ('"It\'s (a [b" # why )\n', "It's (a [b"),
        ('"a\nb"', "a\nb"),
        ('"Postponed," ""', "Postponed,"),
    ],
)
def test_values_are_read_as_python_writes_them_or_json(written: str, value: Json) -> None:
    assert argument(written) == Literal(value)


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("Sahara Desert", "syntax"),
        ("3PM", "syntax"),
        ("2022-10-14", "syntax"),
        ("007", "syntax"),
        ("1_000", "syntax"),
        ("1j", "syntax"),
        ('f"{x}"', "syntax"),
        ('b"x"', "syntax"),
        ("{1, 2}", "syntax"),
        ("{1: 2}", "syntax"),
        ("__import__('os')", "syntax"),
        ("[x for x in y]", "syntax"),
        ("1 + 1", "syntax"),
        ("lambda: 1", "syntax"),
        ("open", "syntax"),
        ("", "syntax"),
        ("[,]", "syntax"),
        ("NaN", "bad-number"),
        ("-inf", "bad-number"),
        ("1e999", "bad-number"),
        ("9" * 5_000, "bad-number"),
        (r'"\u0000"', "bad-encoding"),
        (r'"\ud800"', "bad-encoding"),
        ('{"a": 1, "a": 2}', "duplicate-key"),
        ("[" * 61 + "]" * 61, "too-deep"),
        ('"${1.x"', "reference-syntax"),
        ('"${1 + 2}"', "reference-syntax"),
        ('"${ 1}"', "reference-syntax"),
        ('"${12345678901}"', "reference-syntax"),
        ("$3", "unknown-step"),
        ('"${3}"', "unknown-step"),
        ('"${3.price}"', "unknown-step"),
    ],
)
def test_what_is_no_value_is_an_error_at_its_step(written: str, code: str) -> None:
    """C-32: what can only be a reference, and refers to nothing, is an error."""
    parsed = DIALECT.parse(f"1. now()\n2. f(a={written})")
    assert [(each.code, each.step) for each in parsed.diagnostics] == [(code, "s1")]
    assert parsed.plan is not None


def test_a_price_inside_of_text_is_text_with_a_warning_and_alone_an_error() -> None:
    parsed = DIALECT.parse('1. f(price="$15", text="for $1500 or $2")\n2. f()')
    assert parsed.plan is not None
    assert parsed.plan.steps[0].args == {
        "price": Literal("$15"),
        "text": Template(("for $1500 or ", Ref("s1"))),
    }
    assert [(e.code, e.severity, e.pointer) for e in parsed.diagnostics] == [
        ("unknown-step", Severity.ERROR, "/steps/0/args/price"),
        ("unknown-step", Severity.WARNING, "/steps/0/args/text"),
    ]


def test_a_reference_to_the_call_that_ends_the_plan_is_an_error() -> None:
    parsed = DIALECT.parse('1. f(a="$2")\n2. join()')
    assert [(e.code, e.severity) for e in parsed.diagnostics] == [("unknown-step", Severity.ERROR)]


def test_a_step_may_refer_to_one_that_is_written_later_and_numbers_may_begin_anywhere() -> None:
    plan = read("7. search(query=$9)\n9. now()\n12. join()")
    assert plan.steps[0].args == {"query": Ref("s1")}


def test_arguments_by_position_are_named_by_the_signature() -> None:
    plan = read('1. search("a", 2)\n2. math("b", context=["$1"])\n3. now()')
    assert [step.args for step in plan.steps[:2]] == [
        {"query": Literal("a"), "page": Literal(2)},
        {"problem": Literal("b"), "context": read('1. now()\n2. f(a=["$1"])').steps[1].args["a"]},
    ]


@pytest.mark.parametrize(
    ("call", "signatures", "code"),
    [
        ('search("a")', None, "needs-tools"),
        ('serach("a")', SIGNATURES, "needs-tools"),
        ('search("a", 1, 2)', SIGNATURES, "unknown-argument"),
        ("now(1)", SIGNATURES, "unknown-argument"),
        ('search("a", query="b")', SIGNATURES, "duplicate-key"),
        ('search(query="b", 1)', SIGNATURES, "syntax"),
    ],
)
def test_arguments_by_position_are_never_guessed(
    call: str, signatures: dict[str, Signature] | None, code: str
) -> None:
    assert codes(DIALECT.parse(f"1. {call}", signatures)) == [code]


def test_thoughts_belong_to_the_step_behind_them() -> None:
    plan = read("Thought: one,\nand more\n1. now()\n2. now()\nThought: a\nThought: b\n3. now()")
    assert [step.thought for step in plan.steps] == ["one,\nand more", None, "a\nb"]


def test_a_line_that_looks_like_a_step_inside_of_thinking_or_text_is_none() -> None:
    plan = read('<think>\n1. bad(x=1)\n</think>\n1. f(a="2. g()")\n2. g(a="</think>")')
    assert [(step.tool, step.args) for step in plan.steps] == [
        ("f", {"a": Literal("2. g()")}),
        ("g", {"a": Literal("</think>")}),
    ]


def test_join_with_arguments_ends_the_plan_and_is_no_step() -> None:
    assert len(read('1. now()\n2. join("$1", a=$1)<END_OF_PLAN>').steps) == 1


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (Plan(()), "/steps"),
        (Plan((Step("a", "t"),), output=Ref("a")), "/output"),
        (Plan((Step("a", "t"),), metadata={"query": "q"}), "/metadata"),
        (Plan((Step("a", "t"), Step("b", "t", after=("a",)))), "/steps/1/after"),
        (Plan((Step("a", "t", for_each=Literal([])),)), "/steps/0/for_each"),
        (Plan((Step("a", "t", retries=1),)), "/steps/0/retries"),
        (Plan((Step("a", "two words"),)), "/steps/0/tool"),
        (Plan((Step("a", "join"),)), "/steps/0/tool"),
        (Plan((Step("a", "t", thought=""),)), "/steps/0/thought"),
        (Plan((Step("a", "t", thought="so\n2. f()"),)), "/steps/0/thought"),
        (Plan((Step("a", "t", thought="so\n```"),)), "/steps/0/thought"),
        (Plan((Step("a", "t", {"x": Ref("b")}),)), "/steps/0/args/x"),
        (Plan((Step("a", "t", {"x": Ref("item")}),)), "/steps/0/args/x"),
        (Plan((Step("a", "t"), Step("a", "t"))), "/steps/1/id"),
        (Plan((Step("a", "t", {"x": Literal(float("nan"))}),)), "/steps/0/args/x"),
        (Plan((Step("a", "t", {"x": Literal(10**6_000)}),)), "/steps/0/args/x"),
        (Plan((Step("a", "t", {"x": Literal("\ud800")}),)), "/steps/0/args/x"),
        (Plan((Step("a", "t", {"x": Ref("a", (-1,))}),)), "/steps/0/args/x"),
    ],
)
def test_what_cannot_be_said_is_named_with_its_place(plan: Plan, said: str) -> None:
    with pytest.raises(CannotExpress) as caught:
        DIALECT.print(plan)
    assert said in {each.pointer for each in caught.value.diagnostics}


def test_order_that_a_reference_shows_is_not_reported_twice() -> None:
    plan = Plan((Step("a", "t"), Step("b", "t", {"x": Ref("a")}, after=("a",))))
    assert read(DIALECT.print(plan)).steps[1] == Step("s1", "t", {"x": Ref("s0")})


def test_limits_are_inclusive() -> None:
    text = "1. f(a=[[1]])\n2. f()"
    assert DIALECT.parse(text, None, Limits(len(text), 2, 6)).diagnostics == ()
    assert codes(DIALECT.parse(text, None, Limits(len(text) - 1, 2, 6))) == ["too-large"]
    assert codes(DIALECT.parse(text, None, Limits(len(text), 1, 6))) == ["too-many-steps"]
    assert codes(DIALECT.parse(text, None, Limits(len(text), 2, 5))) == ["too-deep"]


@pytest.mark.parametrize("text", ["\ufeff1. f()", "1. f(a='\0')", "1. f(a='\udc80')"])
def test_text_that_is_none_is_refused_but_read(text: str) -> None:
    parsed = DIALECT.parse(text)
    assert codes(parsed) == ["bad-encoding"]
    assert parsed.plan is not None


@pytest.mark.parametrize(
    ("pointer", "place"),
    [
        ("/steps/0/tool", "search"),
        ("/steps/0/id", "1"),
        ("/steps/0", '1. search(query="a", where={"b": ["c", "d"]})'),
        ("/steps/0/args/query", '"a"'),
        ("/steps/0/args/where/b/1", '"d"'),
        ("/steps/0/args/where/x", '{"b": ["c", "d"]}'),
        ("/steps/0/args/page", 'query="a", where={"b": ["c", "d"]}'),
        ("", '1. search(query="a", where={"b": ["c", "d"]})'),
    ],
)
def test_pointers_lead_to_places_in_the_text(pointer: str, place: str) -> None:
    text = 'So:\n1. search(query="a", where={"b": ["c", "d"]})\n'
    span = DIALECT.locate(text, pointer)
    assert span is not None
    assert text[span.start : span.end] == place


def test_the_published_plans_read_as_their_steps() -> None:
    """The plans of LLMCompiler and TinyAgent, as text and as steps."""
    if not (DATA / "llmcompiler.jsonl").exists():
        pytest.skip("the published plans are not here")
    tools = json.loads((DATA / "llmcompiler.tools.json").read_text("utf-8"))
    for line in (DATA / "llmcompiler.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        signatures = {
            tool["name"]: Signature(tuple(tool["input_schema"].get("properties", {})), ())
            for tool in tools[row["toolset"]]
        }
        parsed = DIALECT.parse(row["raw"], signatures)
        assert parsed.plan is not None
        assert not [e for e in parsed.diagnostics if e.severity is Severity.ERROR]
        wanted = [step for step in row["steps"] if step["tool"] != "join"]
        assert [(s.tool, list(s.args)) for s in parsed.plan.steps] == [
            (step["tool"], list(step["arguments"])) for step in wanted
        ]
        assert DIALECT.parse(DIALECT.print(parsed.plan)).plan == parsed.plan
