"""Laws of every dialect, on plans and on texts that no person would write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.dialects.strategies import clear_plans, plans
from toolplan.diagnostics import CannotExpress, Severity
from toolplan.dialects import DIALECTS, dialect_of
from toolplan.plan import Literal, Plan, Ref, Step, positional

TOOLPLAN = DIALECTS["toolplan"]
CLEAR = DIALECTS["clear"]

MANY = settings().max_examples
FEW = MANY if MANY > 100 else MANY // 2
MORE = MANY if MANY > 100 else MANY * 4
"""So many examples for laws that are slow to look at, and for one that is quick."""

PIECES = st.sampled_from(
    [
        '{"steps": [', '{"tool": "t"', ', "params": {', '"a": "${step[0].b}"', "}", "]", "{", "[",
        "```json\n", "```", "<think>", "</think>", "'", '"', "\\", ",", ":", "//", "/*", "*/", "\n",
        "NaN", "1e999", "9" * 30, "\ufeff", "\0", "\ud800", "\\ud800", "\\u0000", "${", "$", "id",
        '{"toolplan": 1, "steps": [{"id": "a", "tool": "t"}]}', '"depends_on": [', "-1", "steps",
        '"when": {"value": 1, "is": 2}', "null", "True", "#",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES | st.text(max_size=5), max_size=25).map("".join)


@given(plans())
def test_the_canonical_text_of_a_plan_reads_back_as_that_plan(plan: Plan) -> None:
    parsed = TOOLPLAN.parse(TOOLPLAN.print(plan))
    assert parsed.plan == plan
    assert not [each for each in parsed.diagnostics if each.severity is Severity.ERROR]


@given(clear_plans())
def test_the_clear_text_of_a_plan_reads_back_as_that_plan_by_position(plan: Plan) -> None:
    parsed = CLEAR.parse(CLEAR.print(plan))
    back, wanted = parsed.plan, positional(plan)
    assert back is not None
    assert [(s.tool, s.args, set(s.after)) for s in back.steps] == [
        (s.tool, s.args, set(s.after)) for s in wanted.steps
    ]
    assert back.metadata == wanted.metadata


@settings(max_examples=FEW)
@given(plans())
def test_clear_says_a_plan_or_names_what_it_cannot_say(plan: Plan) -> None:
    try:
        text = CLEAR.print(plan)
    except CannotExpress as error:
        codes = {each.code for each in error.diagnostics}
    else:
        codes = {"cannot-express"} if CLEAR.parse(text).plan is not None else set[str]()
    assert codes == {"cannot-express"}


@pytest.mark.parametrize("name", sorted(DIALECTS))
@settings(max_examples=MORE)
@given(text=TEXTS)
@example(text="")
@example(text='{"steps": [{"depends_on": [1e400, {}, null, true, -1, 99999999999999999999]}]}')
@example(text='{"steps": [[], 1, null, "x", {"tool": [], "params": 1, "id": {}, "args": []}]}')
def test_no_text_makes_parse_or_locate_raise(name: str, text: str) -> None:
    dialect = DIALECTS[name]
    parsed = dialect.parse(text)
    assert parsed.plan is not None or parsed.diagnostics
    for each in parsed.diagnostics:
        dialect.locate(text, each.pointer)


@settings(max_examples=FEW)
@given(plans(), st.data())
def test_a_plan_that_is_cut_off_is_refused(plan: Plan, data: st.DataObject) -> None:
    text = TOOLPLAN.print(plan).rstrip()
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    parsed = TOOLPLAN.parse(cut)
    assert parsed.plan is None
    assert [each.code for each in parsed.diagnostics] == ["syntax"]


@settings(max_examples=FEW)
@given(plans(), st.sampled_from(["Here it is:\n", "```json\n", "<think>{\n</think>\n", "// so\n"]))
def test_noise_round_a_plan_changes_nothing_but_is_reported(plan: Plan, before: str) -> None:
    after = "\n```\nDone." if before.startswith("```") else "\nDone."
    parsed = TOOLPLAN.parse(before + TOOLPLAN.print(plan) + after)
    assert parsed.plan == plan
    assert [e.code for e in parsed.diagnostics if e.code != "confusable-id"] == ["noise"]


@pytest.mark.parametrize(
    "plan",
    [
        Plan((Step("a", "t", {"x": Literal(float("nan"))}),)),
        Plan((Step("a", "t", {"x": Literal("\ud800")}),)),
        Plan((Step("a", "t", {"x": Ref("b c")}),)),
        Plan((Step("a", "t", {"x": Ref("a", (-1,))}),)),
        Plan((Step("a", "t", retries=-1),)),
    ],
)
def test_what_canonical_json_cannot_say_is_refused_and_named(plan: Plan) -> None:
    with pytest.raises(CannotExpress) as caught:
        TOOLPLAN.print(plan)
    assert caught.value.diagnostics
    assert all(each.code == "cannot-express" for each in caught.value.diagnostics)


def test_every_dialect_says_its_own_name_and_whether_it_is_json() -> None:
    plan = Plan((Step("a", "t"),))
    for name, dialect in DIALECTS.items():
        assert dialect.name == name
        if dialect.json:
            json.loads(dialect.print(plan))


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_a_dialect_recognises_its_own_text_and_no_other_does_before_it(name: str) -> None:
    def is_good(text: str) -> bool:
        return all(e.code == "needs-tools" for e in DIALECTS[name].parse(text)[1] if e.blocks)

    texts = [path.read_text("utf-8") for path in (Path(__file__).parent / name).glob("*.txt")]
    good = [text for text in texts if is_good(text)]
    assert good
    assert [dialect_of(text) for text in good] == [name] * len(good)
