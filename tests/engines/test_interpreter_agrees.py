"""Promise (g): results equal those of the sequential reference interpreter."""

import asyncio

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.plans_strategy import execution_plan, plans, scripted_tools
from tests.sizes import share_of
from toolplan.engine import run
from toolplan.events import Run, apply, fold
from toolplan.plan.model import Limits, Literal, Plan, Ref, Step, Template, When
from toolplan.plan.path import Json
from toolplan.testing import RecordingSink, interpret

EVERYTHING = Plan(
    (
        Step("chain", "echo", {"value": Ref("each", (1, "value"))}),
        Step("rows", "rows", thought="all of them"),
        Step(
            "each",
            "echo",
            {"value": Template(("no. ", Ref("index"), " is ", Ref("item", ("id",))))},
            for_each=Ref("rows", ("data",)),
        ),
        Step("odd", "odd", on_error="continue"),
        Step("after_odd", "echo", {"value": Ref("odd")}),
        Step("no", "rows", when=When(Ref("rows", ("count",)), {"const": 4})),
        Step("behind_no", "echo", {"value": Ref("no")}),
        Step("later", "echo", {"value": Literal(1)}, after=("no",)),
        Step("fails", "fail"),
        Step("behind_fails", "echo", {"value": Ref("fails")}),
        Step("behind_both", "nothing", after=("behind_fails",)),
        Step("again", "flaky", {"key": Literal("again")}, retries=1),
        Step("none", "echo", for_each=Ref("rows", ("empty",))),
        Step(
            "no_call",
            "echo",
            {"value": Ref("item", ("missing",))},
            for_each=Ref("rows", ("data",)),
            on_error="continue",
        ),
    ),
    output=Template(("there are ", Ref("rows", ("count",)))),
)


def comparable(run: Run) -> Json:
    """Return what must be equal: no times, no tries and no wording."""
    return {
        "status": run.status.value,
        "output": run.output,
        "steps": {
            name: {
                "state": step.state.value,
                "output": step.output,
                "error": None if step.error is None else [step.error.code, step.error.pointer],
            }
            for name, step in run.steps.items()
        },
    }


@settings(max_examples=share_of(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(plans(), st.sampled_from((1, 2, 100)))
@example(EVERYTHING, 1)
@example(EVERYTHING, 100)
def test_any_plan_gives_what_the_interpreter_gives(plan: Plan, concurrency: int) -> None:
    sink = RecordingSink()

    async def both() -> tuple[Run, Run]:
        checked = execution_plan(plan)
        ours = await run(
            checked, scripted_tools().toolbox, concurrency=concurrency, backoff_s=0.0, on_event=sink
        )
        return ours, await interpret(checked, scripted_tools().toolbox)

    ours, expected = asyncio.run(both())
    assert comparable(ours) == comparable(expected)
    assert repr(comparable(ours)) == repr(comparable(expected))  # 1 is not true, and 1 is not 1.0
    one_by_one = Run()
    for at, event in enumerate(sink.events):
        one_by_one = apply(one_by_one, event)
        assert fold(sink.events[: at + 1]) == one_by_one
    assert ours == one_by_one


def test_the_example_with_everything_means_what_the_design_says() -> None:
    outcome = asyncio.run(interpret(execution_plan(EVERYTHING), scripted_tools().toolbox, Limits()))
    states = {name: step.state.value for name, step in outcome.steps.items()}
    assert states == {
        "chain": "succeeded",
        "rows": "succeeded",
        "each": "succeeded",
        "odd": "succeeded",
        "after_odd": "succeeded",
        "no": "skipped",
        "behind_no": "skipped",
        "later": "succeeded",
        "fails": "failed",
        "behind_fails": "skipped",
        "behind_both": "skipped",
        "again": "succeeded",
        "none": "succeeded",
        "no_call": "succeeded",
    }
    assert outcome.steps["chain"].output == {"value": "no. 1 is r1"}
    assert outcome.steps["after_odd"].output == {"value": None}
    assert outcome.steps["none"].output == []
    assert outcome.steps["no_call"].output == [None, None, None]
    assert outcome.output == "there are 3"
    assert not outcome.succeeded
