"""What differs between two plans is found, and nothing else is."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.plans_strategy import plans
from toolplan.plan.comparison import ABSENT, Change, StepChange, compare_plans
from toolplan.plan.model import Literal, Plan, Ref, Step, rename_steps

F = Step("f", "find", {"place": Literal("Berlin")})
SEND = Step("s", "send", {"to": Ref("f", ("mail",)), "text": Literal("hello")})


@given(plan=plans(), data=st.data())
def test_neither_names_nor_order_nor_thoughts_differ(plan: Plan, data: st.DataObject) -> None:
    names = {step.id: f"n{at}" for at, step in enumerate(plan.steps)}
    steps = data.draw(st.permutations(rename_steps(plan, names).steps))
    other = Plan(
        tuple(replace(step, thought="because") for step in steps),
        rename_steps(plan, names).output,
        {"title": "another"},
    )
    assert compare_plans(plan, other).same
    assert compare_plans(other, plan).same


@given(plan=plans(), data=st.data())
def test_an_argument_more_is_the_one_difference(plan: Plan, data: st.DataObject) -> None:
    if not plan.steps:
        return
    at = data.draw(st.integers(0, len(plan.steps) - 1))
    step = plan.steps[at]
    changed = replace(step, args={**step.args, "no such argument": Literal(1)})
    steps = (*plan.steps[:at], changed, *plan.steps[at + 1 :])
    found = compare_plans(plan, replace(plan, steps=steps))
    assert not found.same
    assert any(Change("/args/no such argument", ABSENT, 1) in each.changes for each in found.steps)


@given(before=plans(), after=plans())
def test_it_is_symmetric(before: Plan, after: Plan) -> None:
    there, back = compare_plans(before, after), compare_plans(after, before)
    assert there.same == back.same
    added = sorted(each.tool for each in there.steps if each.kind == "added")
    assert added == sorted(each.tool for each in back.steps if each.kind == "removed")


@given(before=plans(), after=plans())
def test_plans_that_are_the_same_are_so_up_to_names(before: Plan, after: Plan) -> None:
    found = compare_plans(before, after)
    if found.same:
        renamed = rename_steps(after, dict(found.matched))
        assert {step.id for step in renamed.steps} == {step.id for step in before.steps}


def test_a_changed_argument_is_found_under_a_new_name() -> None:
    before = Plan((F, SEND))
    after = Plan(
        (
            replace(F, id="a"),
            Step("b", "send", {"to": Ref("a", ("mail",)), "text": Literal("goodbye")}),
        )
    )
    assert compare_plans(before, after).steps == (
        StepChange("changed", "s", "b", "send", (Change("/args/text", "hello", "goodbye"),)),
    )


def test_a_value_from_elsewhere_differs() -> None:
    both = (F, replace(F, id="g", args={"place": Literal("Munich")}))
    before = Plan((*both, SEND))
    after = Plan((*both, replace(SEND, args={**SEND.args, "to": Ref("g", ("mail",))})))
    (found,) = compare_plans(before, after).steps
    assert found.changes == (Change("/args/to", "${f.mail}", "${g.mail}"),)


def test_twins_count() -> None:
    twice = Plan((F, replace(F, id="g")))
    assert [each.kind for each in compare_plans(Plan((F,)), twice).steps] == ["added"]
    assert [each.kind for each in compare_plans(twice, Plan((F,))).steps] == ["removed"]


def test_twins_are_told_apart_by_who_uses_them() -> None:
    twins = (F, replace(F, id="g"))
    users = (SEND, Step("t", "mail", {"to": Ref("g", ("mail",))}))
    swapped = (
        replace(SEND, args={**SEND.args, "to": Ref("g", ("mail",))}),
        Step("t", "mail", {"to": Ref("f", ("mail",))}),
    )
    assert compare_plans(Plan((*twins, *users)), Plan((*twins, *swapped))).same
    one_for_both = (SEND, Step("t", "mail", {"to": Ref("f", ("mail",))}))
    assert not compare_plans(Plan((*twins, *users)), Plan((*twins, *one_for_both))).same


def test_numbers_and_truth_values_differ_as_in_json() -> None:
    def plan(value: object) -> Plan:
        return Plan((Step("s", "send", {"n": Literal(value)}),))  # pyright: ignore[reportArgumentType]

    assert not compare_plans(plan(1), plan(True)).same
    assert not compare_plans(plan(0), plan(False)).same
    assert not compare_plans(plan(None), Plan((Step("s", "send"),))).same


def test_conditions_and_repeats_differ() -> None:
    for changed in (
        replace(SEND, retries=2),
        replace(SEND, on_error="continue"),
        replace(SEND, timeout_s=3.0),
        replace(SEND, for_each=Ref("f", ("all",))),
        replace(SEND, after=("f",)),
        replace(SEND, max_items=3),
    ):
        (found,) = compare_plans(Plan((F, SEND)), Plan((F, changed))).steps
        assert [each.before for each in found.changes] == [ABSENT]


def test_the_output_differs() -> None:
    found = compare_plans(Plan((F,), Ref("f")), Plan((replace(F, id="g"),), Ref("g", ("mail",))))
    assert (found.steps, found.output) == ((), (Change("", "${f}", "${g.mail}"),))
    assert compare_plans(Plan((F,)), Plan((F,), Ref("f"))).output[0].before is ABSENT


def test_a_cycle_is_compared_too() -> None:
    one = Step("a", "find", {"place": Ref("b")})
    other = Step("b", "find", {"place": Ref("a")})
    assert compare_plans(Plan((one, other)), Plan((one, other))).same
    assert not compare_plans(Plan((one, other)), Plan((one, F))).same
