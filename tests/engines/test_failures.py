"""What fails, what is skipped for it, and what continues."""

import asyncio
import math
from typing import Any

import pytest

from tests.engines._running import codes, ran, scripted, started, states, zeros
from tests.plans_strategy import execution_plan
from toolplan import Approval, ApprovalRequired, CannotRun, approve, run
from toolplan.events import (
    AttemptFailed,
    Failure,
    RunState,
    StepFailed,
    StepStarted,
    StepState,
    StepSucceeded,
)
from toolplan.plan.model import Array, Limits, Literal, Object, Plan, Ref, Step, When
from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Effects, Tool, Toolbox, ToolError
from toolplan.testing import Computes, Gives, Raises, RecordingSink, ScriptedTools

TYPED: Json = {
    "type": "object",
    "properties": {"id": {"type": "string", "minLength": 2}, "tags": {"type": "array"}},
    "required": ["id"],
}


def test_a_group_of_errors_has_its_reason_and_a_tool_error_nothing_but_its_text() -> None:
    tools = scripted(
        group=Raises(ExceptionGroup("many", [ToolError("the reason")])),
        type=Raises(TypeError("of sorts")),
    )
    done, _ = ran(tools, Step("group", "group"), Step("type", "type"))
    assert [step.error and step.error.message for step in done.steps.values()] == [
        "the reason",
        "TypeError: of sorts",
    ]


def test_dependents_are_skipped_with_the_reason_and_independent_branches_go_on_f002_18() -> None:
    tools = scripted(fail=Raises(ToolError("no")), echo=None)
    done, _ = ran(
        tools,
        Step("a", "fail"),
        Step("by_ref", "echo", {"x": Ref("a")}),
        Step("by_order", "echo", after=("a",)),
        Step("second", "echo", {"x": Ref("by_ref")}),
        Step("third", "echo", after=("by_order",)),
        Step("other", "echo", {"x": Literal(1)}),
        Step("beside", "echo", {"x": Ref("other", ("x",))}),
    )
    assert codes(done) == {
        "a": "tool-error",
        "by_ref": "upstream-failed",
        "by_order": "upstream-failed",
        "second": "upstream-skipped",
        "third": "upstream-skipped",
    }
    reason = done.steps["by_ref"].error
    assert reason is not None
    assert "'a'" in reason.message
    assert done.steps["beside"].output == {"x": 1}
    assert done.status is RunState.FAILED
    assert done.output == {"beside": {"x": 1}}


def test_a_condition_that_does_not_hold_skips_what_refers_to_it_and_satisfies_order() -> None:
    tools = scripted(rows=Gives({"count": 0}), echo=None)
    done, _ = ran(
        tools,
        Step("rows", "rows"),
        Step("if", "echo", when=When(Ref("rows", ("count",)), {"minimum": 1})),
        Step("by_ref", "echo", {"x": Ref("if")}),
        Step("further", "echo", {"x": Ref("by_ref")}),
        Step("by_order", "echo", after=("if", "by_ref")),
        Step(
            "each", "echo", for_each=Literal([1]), when=When(Ref("rows", ("count",)), {"const": 0})
        ),
    )
    assert codes(done) == {
        "if": "when-false",
        "by_ref": "upstream-skipped",
        "further": "upstream-skipped",
    }
    assert states(done)["by_order"] is StepState.SUCCEEDED
    assert done.succeeded
    assert len(tools.calls) == 3


def test_on_error_continue_gives_null_and_keeps_the_failure() -> None:
    tools = scripted(fail=Raises(ToolError("no")), echo=None)
    done, sink = ran(
        tools,
        Step("a", "fail", on_error="continue"),
        Step("whole", "echo", {"x": Ref("a")}),
        Step("part", "echo", {"x": Ref("a", ("id",))}),
    )
    assert done.steps["whole"].output == {"x": None}
    assert codes(done) == {"a": "tool-error", "part": "reference-missing"}
    assert done.steps["part"].error == Failure(
        "reference-missing", "${a.id}: the output is null, not an object.", "/args/x"
    )
    [event] = [e for e in sink.of(StepSucceeded) if e.step == "a"]
    assert event.output is None
    assert event.failure is not None
    assert event.failure.code == "tool-error"


@pytest.mark.parametrize(
    ("args", "code", "pointer"),
    [
        ({"id": ["a", "b"]}, "argument-type", "/args/id"),
        ({"id": "x"}, "argument-value", "/args/id"),
        ({"tags": []}, "missing-argument", "/args"),
        ({"id": "xy", "colour": 1}, "unknown-argument", "/args"),
    ],
)
def test_arguments_are_checked_once_filled(args: Arguments, code: str, pointer: str) -> None:
    tools = scripted(give=Gives(args))
    tools.add("typed", input_schema=TYPED)
    filled = {key: Ref("give", (key,)) for key in args}
    done, _ = ran(tools, Step("give", "give"), Step("typed", "typed", filled))
    failure = done.steps["typed"].error
    assert failure is not None
    assert (failure.code, failure.pointer) == (code, pointer)
    assert tools.args_of("typed") == []
    assert done.steps["typed"].attempts == 0


@pytest.mark.parametrize(
    ("result", "code"),
    [
        ({"count": "many"}, "result-schema"),
        (None, "result-schema"),
        ({"count": math.nan}, "result-type"),
        ({"count": {1}}, "result-type"),
        ("x" * 2_000, "result-too-large"),
    ],
)
def test_a_result_of_the_wrong_shape_fails_the_step(result: object, code: str) -> None:
    tools = ScriptedTools()
    schema: Json = {"type": "object", "properties": {"count": {"type": "integer"}}}
    tools.add("odd", Computes(lambda _: result), output_schema=schema)
    done, _ = ran(tools, Step("odd", "odd"), result_size=1_000)
    assert codes(done) == {"odd": code}


def test_a_result_that_its_tool_changes_later_stays_as_it_was_given() -> None:
    kept: list[dict[str, int]] = []

    def grow(args: Arguments) -> object:
        kept.append({"n": len(kept)})
        kept[0]["n"] = 99 if len(kept) > 1 else 0
        args.clear()
        return kept

    tools = scripted(grow=Computes(grow), spoil=Computes(lambda args: args.popitem()[1]))
    done, _ = ran(
        tools,
        Step("a", "grow"),
        Step("b", "grow", {"x": Ref("a")}, after=("a",)),
        Step("c", "spoil", {"x": Ref("a")}, after=("b",)),
        Step("d", "spoil", {"x": Ref("a")}, after=("c",)),
    )
    assert done.steps["a"].output == [{"n": 0}]
    assert done.steps["b"].output == [{"n": 99}, {"n": 1}]
    assert done.steps["c"].output == done.steps["d"].output == [{"n": 0}]


async def test_a_failed_item_fails_the_step_and_the_first_in_order_is_the_one_reported() -> None:
    gate = asyncio.Event()
    tools = scripted(
        work=(Gives(0), Raises(ToolError("one"), until=gate), Raises(ToolError("two")))
    )
    task, _ = started(tools, Step("s", "work", for_each=zeros(10)), concurrency=3, backoff_s=0.0)
    await tools.started("work", times=3)
    for _ in range(5):
        await asyncio.sleep(0)
    gate.set()
    done = await task
    assert done.steps["s"].error == Failure("tool-error", "Item 1: one", "")
    assert len(tools.calls) <= 4  # nothing starts behind a failure


def test_with_continue_a_failed_item_leaves_null_in_its_place() -> None:
    def work(args: Arguments) -> Json:
        if args["x"] in (2, 3):
            raise ToolError(f"not {args['x']}")
        return args["x"]

    tools = scripted(work=Computes(work))
    step = Step("s", "work", {"x": Ref("item", ("v",))}, on_error="continue")
    items: Json = [{"v": 1}, {"v": 2}, {}, {"v": 3}, {"v": 4}]
    done, _ = ran(tools, Step("s", "work", step.args, for_each=Literal(items), on_error="continue"))
    assert done.steps["s"].output == [1, None, None, None, 4]
    assert done.steps["s"].error == Failure("tool-error", "Item 1: not 2", "")
    assert done.succeeded


@pytest.mark.parametrize(
    ("value", "max_items", "limits", "code"),
    [
        ({"a": 1}, 1000, Limits(), "not-a-list"),
        ("abc", 1000, Limits(), "not-a-list"),
        ([1, 2, 3], 2, Limits(), "too-many-items"),
        ([1, 2, 3], 1000, Limits(items=2), "too-many-items"),
        ([1, 2, 3], 3, Limits(items=3, calls=2), "too-many-calls"),
        ([1, 2, 3], 3, Limits(items=3, calls=3), None),
    ],
)
def test_limits_of_for_each_hold_before_the_first_call(
    value: Json, max_items: int, limits: Limits, code: str | None
) -> None:
    tools = scripted(echo=None)
    step = Step("s", "echo", {"x": Ref("item")}, for_each=Literal(value), max_items=max_items)
    done, _ = ran(tools, step, limits=limits)
    assert codes(done) == ({"s": code} if code else {})
    assert len(tools.calls) == (0 if code else 3)


def test_the_limit_of_calls_holds_over_the_run_and_counts_every_try() -> None:
    tools = scripted(bad=Raises(ToolError("no")), good=Gives(1))
    done, _ = ran(
        tools,
        Step("a", "bad", retries=5),
        Step("b", "good", after=("a",)),
        Step("c", "good"),
        limits=Limits(calls=3),
        concurrency=1,
    )
    assert len(tools.calls) == 3
    assert codes(done) == {"a": "tool-error", "b": "upstream-failed"} or codes(done)["c"]
    done, _ = ran(tools, *[Step(f"s{at}", "good") for at in range(3)], limits=Limits(calls=2))
    assert codes(done) == {"s2": "too-many-calls"}


def test_retries_repeat_read_only_and_idempotent_tools_only() -> None:
    def attempts(
        effects: Effects = Effects.READ, idempotent: bool = False
    ) -> tuple[int, list[int]]:
        tools = ScriptedTools()
        outcomes = (Raises(ToolError("1")), Raises(ToolError("2")), Gives(3))
        tools.add("t", *outcomes, effects=effects, idempotent=idempotent)
        done, sink = ran(tools, Step("s", "t", retries=2))
        return done.steps["s"].attempts, [event.attempt for event in sink.of(AttemptFailed)]

    assert attempts() == (3, [1, 2])
    assert attempts(effects=Effects.WRITE, idempotent=True) == (3, [1, 2])
    assert attempts(effects=Effects.WRITE) == (1, [])


def test_each_try_gets_the_arguments_anew() -> None:
    seen: list[Arguments] = []

    def spoil(args: Arguments) -> Json:
        seen.append(dict(args))
        args.clear()
        if len(seen) < 3:
            raise ToolError("again")
        return 1

    tools = scripted(spoil=Computes(spoil))
    done, _ = ran(tools, Step("s", "spoil", {"x": Literal([1])}, retries=2))
    assert done.succeeded
    assert seen == [{"x": [1]}] * 3


async def test_a_listener_that_fails_does_not_break_the_run() -> None:
    reported: list[str] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _, about: reported.append(str(about["exception"]))
    )
    seen = 0

    def listen(_: object) -> None:
        nonlocal seen
        seen += 1
        if seen == 2:
            raise OSError("the pipe is closed")

    tools = scripted(good=Gives(1))
    plan = execution_plan(Plan((Step("a", "good"), Step("b", "good", after=("a",)))))
    done = await run(plan, tools.toolbox, on_event=listen)
    assert done.succeeded
    assert seen == 2
    assert reported == ["the pipe is closed"]


def test_times_are_those_of_the_clock_that_is_given() -> None:
    times = iter(range(100, 200))
    tools = scripted(good=Gives(1))
    done, _ = ran(tools, Step("s", "good"), clock=lambda: float(next(times)), run_id="r1")
    assert (done.run, done.started_at, done.ended_at) == ("r1", 100.0, 103.0)
    assert (done.steps["s"].started_at, done.steps["s"].ended_at) == (101.0, 102.0)


def _tools_without(call: bool) -> Toolbox:
    tools = scripted(good=Gives(1))
    described = Tool("other", "", {"type": "object"}, effects=Effects.READ)
    return tools.toolbox.with_tools(described) if call else tools.toolbox


@pytest.mark.parametrize("described", [True, False])
def test_a_tool_that_cannot_be_called_keeps_the_whole_plan_from_running(described: bool) -> None:
    sink = RecordingSink()
    plan = execution_plan(Plan((Step("a", "good"), Step("b", "other"))))
    with pytest.raises(CannotRun, match="'other'"):
        asyncio.run(run(plan, _tools_without(described), on_event=sink))
    assert sink.events == []


def test_more_steps_than_allowed_are_refused_and_as_many_as_allowed_are_not() -> None:
    tools = scripted(good=Gives(1))
    steps = [Step(f"s{at}", "good") for at in range(3)]
    assert ran(tools, *steps, limits=Limits(steps=3))[0].succeeded
    with pytest.raises(CannotRun, match="3 steps"):
        ran(tools, *steps, limits=Limits(steps=2))
    with pytest.raises(ValueError, match="At least one"):
        ran(tools, *steps, concurrency=0)


@pytest.mark.parametrize("effects", [Effects.WRITE, Effects.DESTRUCTIVE, Effects.UNKNOWN])
def test_a_plan_with_effects_needs_an_approval_of_this_very_plan(effects: Effects) -> None:
    tools = ScriptedTools()
    tools.add("write", Gives(1), effects=effects)
    plan = execution_plan(Plan((Step("s", "write"),)), tools.toolbox)
    other = execution_plan(Plan((Step("t", "write"),)), tools.toolbox)

    def attempt(approval: Approval | None) -> bool:
        return asyncio.run(run(plan, tools.toolbox, approval=approval)).succeeded

    for approval in (None, approve(other)):
        with pytest.raises(ApprovalRequired) as caught:
            attempt(approval)
        assert caught.value.digest == plan.digest
    assert tools.calls == []
    assert attempt(approve(plan))


def test_a_plan_that_hides_its_effects_does_not_run() -> None:
    tools = ScriptedTools()
    tools.add("write", Gives(1), effects=Effects.WRITE)
    hidden = execution_plan(Plan((Step("s", "write"),)))  # it says that it has none
    for approval in (None, approve(hidden)):
        with pytest.raises(ApprovalRequired):
            asyncio.run(run(hidden, tools.toolbox, approval=approval))
    assert tools.calls == []


def test_the_output_of_the_plan_has_null_where_a_step_failed() -> None:
    tools = scripted(fail=Raises(ToolError("no")), good=Gives({"n": 1}))
    output = Object((("bad", Ref("a")), ("good", Array((Ref("b", ("n",)), Literal(2))))))
    done, _ = ran(tools, Step("a", "fail"), Step("b", "good"), output=output)
    assert done.output == {"bad": None, "good": [1, 2]}
    assert done.status is RunState.FAILED
    done, _ = ran(tools, Step("b", "good"), output=Ref("b", ("x",)))
    assert done.output is None
    assert done.status is RunState.FAILED  # not a null that passes for a result


def test_a_plan_without_steps_is_over_at_once() -> None:
    done, _ = ran(ScriptedTools())
    assert done.succeeded
    assert done.output == {}


def test_a_function_that_cannot_be_awaited_fails_its_step() -> None:
    not_async: Any = dict[str, Json]
    box = Toolbox([Tool("odd", "", {}, effects=Effects.READ, call=not_async)])
    plan = execution_plan(Plan((Step("s", "odd"),)))
    assert codes(asyncio.run(run(plan, box))) == {"s": "tool-error"}


def test_steps_that_never_started_have_no_start() -> None:
    tools = scripted(good=Gives(1))
    done, sink = ran(tools, Step("a", "good"), Step("b", "good", {"x": Ref("a", ("no",))}))
    assert [event.step for event in sink.of(StepStarted)] == ["a"]
    assert [event.step for event in sink.of(StepFailed)] == ["b"]
    assert done.steps["b"].started_at is None
