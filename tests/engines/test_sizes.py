"""What a run may hold: values are bounded before they are built."""

import tracemalloc

import pytest

from tests.engines._running import codes, ran, scripted, zeros
from toolplan.events import RunState, StepStarted, StepSucceeded
from toolplan.plan.model import Array, Literal, Object, Ref, Step, Template, Value, When
from toolplan.plan.path import EVERY, Json
from toolplan.schema.tool import Arguments, Effects
from toolplan.testing import Computes, Gives, ScriptedTools

_MEGABYTE = 1_000_000
_TEXT = "x" * 30_000
_ROWS: list[Json] = [{"a": 1, "b": list[Json]([1, 2])} for _ in range(1_000)]


def _echo(args: Arguments) -> Json:
    return args["value"]


def _tools() -> ScriptedTools:
    return scripted(
        text=Gives(_TEXT), rows=Gives({"rows": _ROWS}), echo=Computes(_echo), nothing=Gives(None)
    )


_SOURCES = (Step("s", "text"), Step("r", "rows"))
_HUGE: dict[str, Value] = {
    "template": Template((Ref("s"),) * 1_000),
    "template with words": Template((Ref("s"), " and ") * 1_000),
    "template of json": Template((Ref("r"),) * 1_000),
    "list": Array((Ref("r", ("rows",)),) * 1_000),
    "list of text": Array((Ref("s"),) * 1_000),
    "every": Array((Ref("r", ("rows", EVERY, "b")),) * 1_000),
    "object": Object(tuple((f"k{at}", Ref("r")) for at in range(1_000))),
}


def _peak(test: object) -> float:
    assert callable(test)
    tracemalloc.start()
    try:
        test()
        return tracemalloc.get_traced_memory()[1] / _MEGABYTE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("value", _HUGE.values(), ids=_HUGE)
@pytest.mark.parametrize("place", ["argument", "item", "for_each", "when", "output"])
def test_a_value_that_would_be_too_large_is_not_built(value: Value, place: str) -> None:
    output: Value | None = None
    step = Step("t", "nothing", {"value": value})
    match place:
        case "item":
            step = Step("t", "nothing", {"value": value}, for_each=Literal([1]))
        case "for_each":
            step = Step("t", "nothing", {"value": Ref("item")}, for_each=Array((value,)))
        case "when":
            step = Step("t", "nothing", when=When(value, {}))
        case "output":
            step, output = Step("t", "nothing"), value
        case _:
            pass

    def run() -> None:
        done, _ = ran(_tools(), *_SOURCES, step, output=output, value_size=2 * _MEGABYTE)
        assert done.status is RunState.FAILED
        error = done.error if place == "output" else done.steps["t"].error
        assert error is not None
        assert error.code == "value-too-large"
        assert "2 MB" in error.message
        assert "Refer to a part" in error.message

    assert _peak(run) < 15


def test_one_whole_result_can_be_passed_on_at_any_size_that_a_result_may_have() -> None:
    done, _ = ran(
        _tools(), *_SOURCES, Step("t", "echo", {"value": Ref("r", ("rows",))}), output=Ref("t")
    )
    assert done.succeeded
    assert done.output == _ROWS
    assert done.error is None


def test_results_that_double_end_at_the_size_of_the_run() -> None:
    steps = [Step("s", "text")]
    for at in range(40):
        last = Ref(steps[-1].id)
        steps.append(Step(f"d{at}", "echo", {"value": Template((last, last))}))

    def run() -> None:
        done, _ = ran(_tools(), *steps, value_size=1 * _MEGABYTE, run_size=2 * _MEGABYTE)
        assert "value-too-large" in codes(done).values()

    assert _peak(run) < 15


def test_the_results_of_a_run_are_bounded_together() -> None:
    steps = [Step(f"t{at}", "text") for at in range(20)]
    done, _ = ran(_tools(), *steps, run_size=100_000)
    assert list(codes(done).values()) == ["result-too-large"] * 17
    assert done.status is RunState.FAILED


def test_an_effect_whose_result_no_longer_fits_is_in_doubt() -> None:
    tools = _tools()
    tools.add("send", Gives(_TEXT), effects=Effects.WRITE)
    steps = [Step(f"t{at}", "send", {"n": Literal(at)}) for at in range(3)]
    done, _ = ran(tools, *steps, run_size=70_000)
    assert done.status is RunState.IN_DOUBT
    assert list(codes(done).values()) == ["result-too-large"]


def test_calls_wait_while_those_in_flight_hold_too_much() -> None:
    tools = _tools()
    tools.add("hold", Gives(None, delay_s=0.001))
    args: dict[str, Value] = {"value": Ref("s")}
    steps = [Step(f"t{at}", "hold", args) for at in range(20)]
    each = Step("e", "hold", args, for_each=zeros(20))
    done, sink = ran(tools, Step("s", "text"), *steps, each, run_size=70_000, concurrency=16)
    assert done.succeeded
    in_flight = most = 0
    for event in sink.events:
        match event:
            case StepStarted(step=name) if name.startswith("t"):
                in_flight += 1
            case StepSucceeded(step=name) if name.startswith("t"):
                in_flight -= 1
            case _:
                pass
        most = max(most, in_flight)
    assert most == 3  # the third passes the bound, and the fourth waits


def test_lists_of_for_each_made_of_parts_are_bounded_together() -> None:
    items = Array((Template((Ref("s"), "!")),) * 3)
    steps = [Step(f"t{at}", "nothing", {"v": Ref("item")}, for_each=items) for at in range(5)]
    done, _ = ran(_tools(), Step("s", "text"), *steps, run_size=300_000)
    assert list(codes(done).values()) == ["value-too-large"] * 2


def test_a_path_that_is_not_in_an_output_is_named() -> None:
    output = Object((("a", Ref("s")), ("b", Array((Ref("r", ("gone",)),)))))
    done, _ = ran(_tools(), *_SOURCES, output=output)
    assert done.status is RunState.FAILED
    assert done.output == {"a": _TEXT, "b": [None]}
    assert done.error is not None
    assert (done.error.code, done.error.pointer) == ("reference-missing", "/output/b/0")
    assert "gone" in done.error.message
