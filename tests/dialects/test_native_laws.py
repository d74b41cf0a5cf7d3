"""Laws of the JSON dialects of others: what is printed reads back, and what cannot be is named."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.dialects.native_plans import (
    IDS,
    PLAIN_PATHS,
    PLAIN_TEXTS,
    TEXTS,
    calls,
    json_of,
    with_order,
    with_thoughts,
)
from tests.dialects.strategies import plans
from toolplan.dialects import DIALECTS, Dialect
from toolplan.plan.diagnostics import CannotExpress, Diagnostic, Severity
from toolplan.plan.model import Literal, Plan, Ref, Signature, Step, positional

KIRHA = DIALECTS["kirha"]
NESTFUL = DIALECTS["nestful"]
SEALTOOLS = DIALECTS["sealtools"]
STATE = DIALECTS["state"]
TASKBENCH = DIALECTS["taskbench"]
NATIVE = ("kirha", "nestful", "sealtools", "state", "taskbench")
WHOLE = st.just(())
MANY = settings().max_examples
FEW = MANY if MANY > 100 else MANY // 4
"""So many examples for what runs on every dialect; as many as elsewhere in the long profile."""


def assert_reads_back(dialect: Dialect, text: str, plan: Plan) -> None:
    parsed = dialect.parse(text)
    assert parsed.plan is not None
    assert positional(parsed.plan) == positional(plan)
    assert [each for each in parsed.diagnostics if each.severity is Severity.ERROR] == []


def print_or_refuse(dialect: Dialect, plan: Plan) -> str | tuple[Diagnostic, ...]:
    try:
        return dialect.print(plan)
    except CannotExpress as error:
        return error.diagnostics


@settings(deadline=None)
@given(with_thoughts(calls(), all_or_none=False), st.none() | TEXTS.map(str.strip).filter(bool))
def test_kirha_says_every_plan_of_calls_whatever_its_text(plan: Plan, notes: str | None) -> None:
    if notes is not None and not any(tag in notes for tag in ("<think>", "</plan>")):
        plan = replace(plan, metadata={"notes": notes})
    assert_reads_back(KIRHA, KIRHA.print(plan), plan)


@settings(deadline=None)
@given(calls(PLAIN_TEXTS, PLAIN_PATHS))
def test_nestful_says_every_plan_of_calls_without_dollars(plan: Plan) -> None:
    assert_reads_back(NESTFUL, NESTFUL.print(plan), plan)


@settings(deadline=None)
@given(calls(PLAIN_TEXTS, WHOLE, ids=st.from_regex("[a-z_][a-z_0-9]{0,6}", fullmatch=True)))
def test_nestful_keeps_ids_that_are_labels(plan: Plan) -> None:
    back = NESTFUL.parse(NESTFUL.print(plan)).plan
    assert back is not None
    assert [step.id for step in back.steps] == [step.id for step in plan.steps]


@settings(deadline=None)
@given(with_thoughts(with_order(calls(PLAIN_TEXTS, WHOLE)), all_or_none=True))
def test_taskbench_says_every_plan_of_calls_and_order_without_angles(plan: Plan) -> None:
    assert_reads_back(TASKBENCH, TASKBENCH.print(plan), plan)


@settings(deadline=None)
@given(with_order(calls(PLAIN_TEXTS, WHOLE)))
def test_taskbench_says_a_plan_that_uses_one_tool_for_every_step(plan: Plan) -> None:
    plan = replace(plan, steps=tuple(replace(step, tool="divide") for step in plan.steps))
    assert_reads_back(TASKBENCH, TASKBENCH.print(plan), plan)


@settings(deadline=None)
@given(st.data())
def test_sealtools_says_fields_of_outputs_with_the_tools_at_hand(data: st.DataObject) -> None:
    fields = data.draw(st.lists(PLAIN_TEXTS, min_size=1, max_size=3, unique=True))
    paths = st.sampled_from(fields).map(lambda name: (name,))
    plan = data.draw(calls(PLAIN_TEXTS, paths, separator=" "))
    signatures = {step.tool: Signature((), tuple(fields)) for step in plan.steps}
    text = SEALTOOLS.print(plan, signatures)
    parsed = SEALTOOLS.parse(text, signatures)
    assert parsed.plan == positional(plan)
    assert parsed.diagnostics == ()


@st.composite
def tasks(draw: st.DrawFn) -> Plan:
    names = draw(st.lists(IDS, min_size=1, max_size=4, unique=True))
    order = st.lists(st.sampled_from(names), max_size=2, unique=True).map(tuple)
    args = st.dictionaries(
        st.sampled_from(["required_data", "scope"]), json_of(TEXTS).map(Literal), max_size=2
    )
    return Plan(
        tuple(
            Step(
                name,
                draw(TEXTS.filter(bool)),
                draw(args),
                draw(order),
                thought=draw(st.none() | TEXTS),
            )
            for name in names
        )
    )


@settings(deadline=None)
@given(tasks())
def test_state_says_every_plan_of_tasks_with_their_ids_and_any_text(plan: Plan) -> None:
    parsed = STATE.parse(STATE.print(plan))
    assert parsed.plan == plan
    # two drawn ids may look alike, and that is reported rightly
    assert {each.code for each in parsed.diagnostics} <= {"confusable-id"}


@pytest.mark.parametrize("name", ["clear", *NATIVE])
@settings(deadline=None, max_examples=FEW)
@given(plan=plans() | calls() | with_order(calls()))
@example(plan=Plan((Step("a", "t", {"x": Literal(float("nan"))}),)))
@example(plan=Plan((Step("a", "t", {"x": Literal("\ud800")}),)))
@example(plan=Plan((Step("a", "t", {"x": Ref("b c", (-1,))}),)))
@example(plan=Plan((Step("a", "t", {"x": Literal({"fromStep": 0, "outputKey": "y"})}),)))
@example(plan=Plan((Step("a", "t"), Step("a", "t", after=("a",)))))
@example(plan=Plan(()))
def test_a_plan_is_said_whole_or_what_cannot_be_said_is_named(name: str, plan: Plan) -> None:
    dialect = DIALECTS[name]
    said = print_or_refuse(dialect, plan)
    if not isinstance(said, str):
        assert said
        assert {each.code for each in said} == {"cannot-express"}
        assert all(each.message for each in said)
        return
    parsed = dialect.parse(said)
    assert parsed.plan is not None
    assert len(parsed.plan.steps) == len(plan.steps)
    back, wanted = positional(parsed.plan), positional(plan)
    for step, want in zip(back.steps, wanted.steps, strict=True):
        assert (step.tool, step.args, step.thought) == (want.tool, want.args, want.thought)
    assert (back.output, dict(back.metadata)) == (wanted.output, dict(wanted.metadata))


@pytest.mark.parametrize("name", [*NATIVE, "toolplan"])
@settings(deadline=None, max_examples=FEW)
@given(plan=calls(PLAIN_TEXTS, WHOLE), data=st.data())
def test_a_text_that_is_cut_off_inside_of_the_plan_is_refused(
    name: str, plan: Plan, data: st.DataObject
) -> None:
    if name in ("sealtools", "state"):
        plan = Plan(tuple(Step(step.id, step.tool) for step in plan.steps))
    text = DIALECTS[name].print(plan).removesuffix("</plan>\n").rstrip()
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    parsed = DIALECTS[name].parse(cut)
    assert parsed.plan is None
    assert [each.code for each in parsed.diagnostics] == ["syntax"]


@pytest.mark.parametrize("name", ["nestful", "sealtools", "state", "taskbench", "toolplan"])
@settings(deadline=None, max_examples=FEW)
@given(
    plan=calls(PLAIN_TEXTS, WHOLE),
    before=st.sampled_from(["So:\n", "```json\n", "<think>{\n</think>\n", "// so\n"]),
)
def test_noise_round_a_plan_changes_nothing_but_is_reported(
    name: str, plan: Plan, before: str
) -> None:
    if name in ("sealtools", "state"):
        plan = Plan(tuple(Step(step.id, step.tool) for step in plan.steps))
    text = DIALECTS[name].print(plan)
    after = "\n```\nDone." if before.startswith("```") else "\nDone."
    alone, noisy = DIALECTS[name].parse(text), DIALECTS[name].parse(before + text + after)
    assert noisy.plan == alone.plan
    assert [e.code for e in noisy.diagnostics if e.code != "confusable-id"] == ["noise"]
