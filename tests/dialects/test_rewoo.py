"""ReWOO's dialect: what it reads, what it refuses, and that what it writes reads back."""

import json
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.dialects.numbered_plans import REWOO_TOOLS, rewoo_plans, written
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
    array,
    positional,
    template,
)

DIALECT = DIALECTS["rewoo"]
DATA = Path(__file__).parents[3] / "shared" / "data"
TOOLS = {**REWOO_TOOLS, "Clock": Signature((), ())}


def codes(parsed: Parsed) -> list[str]:
    return [each.code for each in parsed.diagnostics]


def argument(written: str, before: str = "#E1 = Clock[]\n") -> Value:
    """Return what `written` says in the brackets of the last step."""
    parsed = DIALECT.parse(f"{before}#E{before.count('#') + 1} = LLM[{written}]", TOOLS)
    assert parsed.plan is not None
    assert parsed.diagnostics == ()
    return parsed.plan.steps[-1].args["input"]


@given(rewoo_plans())
@example(Plan((Step("a", "LLM", {"input": template(("#", Ref("a"), "#", Ref("a"), "#E1"))}),)))
def test_what_is_written_reads_back_as_the_same_plan(plan: Plan) -> None:
    text, unsaid = written(DIALECT, plan)
    if text is None:  # lines inside of a text may look like those of the plan
        assert unsaid == {"cannot-express"}
        assert any("\\n" in repr(step.args) for step in plan.steps)
    else:
        assert DIALECT.parse(text, REWOO_TOOLS) == Parsed(positional(plan), ())


@given(plans())
def test_a_plan_is_said_or_what_cannot_be_said_is_named(plan: Plan) -> None:
    text, unsaid = written(DIALECT, plan)
    assert unsaid == (set() if text else {"cannot-express"})
    assert text is None or DIALECT.parse(text).plan is not None


@given(rewoo_plans(), st.data())
def test_text_that_is_cut_off_is_refused_or_says_whole_steps(
    plan: Plan, data: st.DataObject
) -> None:
    text, _ = written(DIALECT, plan)
    assume(text is not None)
    assert text is not None
    cut = text[: data.draw(st.integers(0, len(text)))]
    parsed = DIALECT.parse(cut, REWOO_TOOLS)
    if parsed.plan is None:
        assert set(codes(parsed)) == {"syntax"}
    else:
        whole = positional(plan).steps
        count = len(parsed.plan.steps)
        assert [(s.tool, s.thought) for s in parsed.plan.steps] == [
            (s.tool, s.thought) for s in whole[:count]
        ]


def test_ten_pieces_of_evidence_and_more_are_read() -> None:
    before = "".join(f"#E{n} = Clock[]\n" for n in range(1, 12))
    assert argument("#E10, #E1 and #E11", before) == Template(
        (Ref("s9"), ", ", Ref("s0"), " and ", Ref("s10"))
    )


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("#E1", Ref("s0")),
        (" #E1", Template((" ", Ref("s0")))),
        ("(2 * #E1 - 10) - 8", Template(("(2 * ", Ref("s0"), " - 10) - 8"))),
        ("##E1", Literal("#E1")),
        ("###E1", Template(("#", Ref("s0")))),
        ("#1, #E, #e1 and #", Literal("#1, #E, #e1 and #")),
        ("f[0] + g[[1]]", Literal("f[0] + g[[1]]")),
        ('Arthur\'s "magazine" \\n', Literal('Arthur\'s "magazine" \\n')),
        ("two\nlines", Literal("two\nlines")),
        ("5", Literal("5")),
        ("</think>", Literal("</think>")),
    ],
)
def test_the_text_in_brackets_is_the_first_argument(written: str, value: Value) -> None:
    assert argument(written) == value


def test_a_reference_to_evidence_that_is_not_there_is_an_error() -> None:
    """C-32: it is not silently text; `##E7` is."""
    parsed = DIALECT.parse("#E1 = LLM[#E7 and ##E8]", TOOLS)
    assert [(e.code, e.severity, e.pointer) for e in parsed.diagnostics] == [
        ("unknown-step", Severity.ERROR, "/steps/0/args/input")
    ]


def test_thoughts_belong_to_the_evidence_behind_them() -> None:
    text = "Plan: One,\nand more.\n#E1 = Clock[]\n#E2 = Clock[]\nPlan: So. #E3 = Clock[]\n"
    parsed = DIALECT.parse(text, TOOLS)
    assert parsed.plan is not None
    assert [step.thought for step in parsed.plan.steps] == ["One,\nand more.", None, "So."]
    assert parsed.diagnostics == ()


@pytest.mark.parametrize(
    ("text", "signatures", "code"),
    [
        ("#E1 = LLM[x]", None, "needs-tools"),
        ("#E1 = Lmm[x]", TOOLS, "needs-tools"),
        ("#E1 = Clock[x]", TOOLS, "unknown-argument"),
        ("#E1 = LLM[x] and more", TOOLS, "syntax"),
        ("#E1 = LLM[a [b]\n#E2 = Clock[]", TOOLS, "syntax"),
        ("#E1 = Clock[]\n#E2 = LLM(x)\nPlan: b\n#E3 = Clock[]", TOOLS, "syntax"),
        ("#E1 = LLM[a\0b]", TOOLS, "bad-encoding"),
        ("#E1 = Clock[]\n#E1 = Clock[]", TOOLS, "duplicate-id"),
    ],
)
def test_what_is_no_plan_is_refused_and_never_guessed(
    text: str, signatures: dict[str, Signature] | None, code: str
) -> None:
    assert codes(DIALECT.parse(text, signatures)) == [code]


@pytest.mark.parametrize(
    "end",
    [
        *("P", "Plan", "Plan:", "Plan: And", "#", "#E", "#E1", "#E2", "#E2 =", "#E2 = LLM"),
        *("#E2 = LLM[", "#E2 = LLM[What is [1]"),
    ],
)
def test_a_line_that_is_cut_off_is_refused(end: str) -> None:
    parsed = DIALECT.parse(f"Plan: a\n#E1 = Clock[]\n{end}", TOOLS)
    assert parsed.plan is None
    assert codes(parsed) == ["syntax"]


@pytest.mark.parametrize(
    ("step", "place"),
    [
        (Step("a", "LLM", {"input": Literal("x"), "more": Literal("y")}), "args"),
        (Step("a", "LLM", {"input": Literal(5)}), "args/input"),
        (Step("a", "LLM", {"input": Literal("")}), "args/input"),
        (Step("a", "LLM", {"input": array((Ref("a"),))}), "args/input"),
        (Step("a", "LLM", {"input": Ref("a", ("k",))}), "args/input"),
        (Step("a", "LLM", {"input": template((Ref("a"), "0"))}), "args/input"),
        (Step("a", "LLM", {"input": Literal("a ] b")}), "args/input"),
        (Step("a", "LLM", {"input": Literal("a [ b")}), "args/input"),
        (Step("a", "LLM", {"input": Literal("a\nPlan: b")}), "args/input"),
        (Step("a", "LLM", {"input": Literal("a\nPlan: [b]")}), "args/input"),
        (Step("a", "LLM", {"": Literal("a")}), "args/"),
        (Step("a", "two words"), "tool"),
        (Step("a", "LLM", thought="x\nPlan: y\n"), "thought"),
        (Step("a", "LLM", thought="x #E1 = LLM[a]"), "thought"),
        (Step("a", "LLM", retries=1), "retries"),
    ],
)
def test_what_cannot_be_said_is_named_with_its_place(step: Step, place: str) -> None:
    with pytest.raises(CannotExpress) as caught:
        DIALECT.print(Plan((step,)))
    assert [each.pointer for each in caught.value.diagnostics] == [f"/steps/0/{place}"]


def test_one_tool_with_two_names_for_its_argument_cannot_be_said() -> None:
    one, other = (Step(n, "LLM", {n: Literal("x")}) for n in "ab")
    with pytest.raises(CannotExpress):
        DIALECT.print(Plan((one, other)))


def test_limits_are_inclusive() -> None:
    text = "#E1 = Clock[]\n#E2 = Clock[]"
    assert DIALECT.parse(text, None, Limits(len(text), 2)).diagnostics == ()
    assert codes(DIALECT.parse(text, None, Limits(len(text) - 1, 2))) == ["too-large"]
    assert codes(DIALECT.parse(text, None, Limits(len(text), 1))) == ["too-many-steps"]


@pytest.mark.parametrize(
    ("pointer", "place"),
    [
        ("/steps/0/tool", "LLM"),
        ("/steps/0/args/input", "a [b]"),
        ("/steps/0/thought", "#E1 = LLM[a [b]]"),
        ("/steps/9", "#E1 = LLM[a [b]]"),
    ],
)
def test_pointers_lead_to_places_in_the_text(pointer: str, place: str) -> None:
    text = "Plan: So.\n#E1 = LLM[a [b]]\n"
    span = DIALECT.locate(text, pointer)
    assert span is not None
    assert text[span.start : span.end] == place


def test_the_published_plans_read_as_their_steps_and_are_written_as_they_were() -> None:
    if not (DATA / "rewoo.jsonl").exists():
        pytest.skip("the published plans are not here")
    tools = json.loads((DATA / "rewoo.tools.json").read_text("utf-8"))["rewoo"]
    signatures = {
        tool["name"]: Signature(tuple(tool["input_schema"]["properties"]), ()) for tool in tools
    }
    for line in (DATA / "rewoo.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        parsed = DIALECT.parse(row["raw"], signatures)
        assert parsed.plan is not None
        assert parsed.diagnostics == ()
        assert [step.tool for step in parsed.plan.steps] == [s["tool"] for s in row["steps"]]
        assert DIALECT.print(parsed.plan).strip() == row["raw"].strip()


SEARCH = {"search": Signature(("query", "limit", "tags"), ()), "body": Signature(("text",), ())}


@pytest.mark.parametrize(
    ("said", "args"),
    [
        ('{"query": "cats"}', {"query": Literal("cats")}),
        ("{'query': 'cats', 'limit': 3}", {"query": Literal("cats"), "limit": Literal(3)}),
        (' { "limit": 3 , } ', {"limit": Literal(3)}),
        ('{"query": "#E1"}', {"query": Ref("s0")}),
        ('{"query": "of #E1 now"}', {"query": template(("of ", Ref("s0"), " now"))}),
        ('{"tags": ["a", "#E1"]}', {"tags": array((Literal("a"), Ref("s0")))}),
        ('{"tags": {"a": [1, 2]}}', {"tags": Literal({"a": [1, 2]})}),
        ('{"query": "##E1"}', {"query": Literal("#E1")}),
        ('{"query": None, "limit": True}', {"query": Literal(None), "limit": Literal(True)}),
        ('{"query": "a", "other": 1}', {"query": Literal("a"), "other": Literal(1)}),
        ('query="cats"', {"query": Literal("cats")}),
        (' query = "#E1", limit=3', {"query": Ref("s0"), "limit": Literal(3)}),
        ("tags=['a', '#E1']", {"tags": array((Literal("a"), Ref("s0")))}),
        ("limit=3, other=1", {"limit": Literal(3), "other": Literal(1)}),
        # texts
        ('other="cats"', {"query": Literal('other="cats"')}),
        ("query == cats", {"query": Literal("query == cats")}),
        ("query: cats", {"query": Literal("query: cats")}),
        ("cats with limit=3", {"query": Literal("cats with limit=3")}),
        ('{"match": {"query": 1}}', {"query": Literal('{"match": {"query": 1}}')}),
        ("{query: cats}", {"query": Literal("{query: cats}")}),
        ('["query", "cats"]', {"query": Literal('["query", "cats"]')}),
        ('say {"query": 1}', {"query": Literal('say {"query": 1}')}),
    ],
)
def test_an_object_naming_arguments_is_the_arguments(said: str, args: dict[str, Value]) -> None:
    text = f"#E1 = body[x]\n#E2 = search[{said}]"
    parsed = DIALECT.parse(text, SEARCH)
    assert parsed.plan is not None
    assert not [each for each in parsed.diagnostics if each.severity is Severity.ERROR]
    assert parsed.plan.steps[1].args == args


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ('{"query": cats}', "field-type"),
        ('{"query": "cats"', "field-type"),
        ('{"query": "cats"} and more', "field-type"),
        ('{"query": "cats" "limit": 3}', "field-type"),
        ('{"query": "a", ...}', "field-type"),
        ('{"query": #E1, "limit": 2}', "field-type"),
        ('{"query": "a", "query": "b"}', "duplicate-key"),
        ('{"limit": 1e999}', "bad-number"),
        ('{"query": "#E7"}', "unknown-step"),
        ("query=cats", "field-type"),
        ('query="cats" and more', "field-type"),
        ('query="a", query="b"', "duplicate-key"),
        ("limit=1e999", "bad-number"),
        ("tags=[1, ...]", "ellipsis"),
        ('query="#E7"', "unknown-step"),
    ],
)
def test_arguments_that_cannot_be_read_are_refused(said: str, code: str) -> None:
    parsed = DIALECT.parse(f"#E1 = search[{said}]", SEARCH)
    assert code in [e.code for e in parsed.diagnostics if e.severity is Severity.ERROR]


def test_the_text_of_an_object_is_not_written() -> None:
    object_text = template(('{"query": ', Ref("a"), "}"))
    for value in (Literal('{"query": "x"}'), object_text, Literal("limit=3")):
        plan = Plan(
            (Step("a", "body", {"text": Literal("x")}), Step("b", "search", {"query": value}))
        )
        with pytest.raises(CannotExpress) as refused:
            DIALECT.print(plan)
        assert [each.pointer for each in refused.value.diagnostics] == ["/steps/1/args/query"]
