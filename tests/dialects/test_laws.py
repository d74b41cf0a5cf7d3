"""Laws of every dialect, on plans and on texts that no person would write."""

import json
from pathlib import Path

import pytest
from hypothesis import given

from tests.dialects.strategies import clear_plans, plans
from toolplan.dialects import DIALECTS, dialect_of
from toolplan.plan.diagnostics import CannotExpress, Severity
from toolplan.plan.model import Literal, Plan, Ref, Step, positional

TOOLPLAN = DIALECTS["toolplan"]
CLEAR = DIALECTS["clear"]


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
