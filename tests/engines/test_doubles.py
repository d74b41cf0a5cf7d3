"""The doubles that ship: they do as scripted, and remember."""

import asyncio

import pytest

from tests.engines._running import ran, scripted
from toolplan.events import StepSucceeded
from toolplan.plan.model import Literal, Step
from toolplan.planners._base import Attempt, Clarification, Draft, Question, Refusal
from toolplan.schema.tool import ToolError
from toolplan.testing import Computes, Gives, Hangs, Raises, ScriptedPlanner, ScriptedTools


async def test_a_scripted_tool_goes_through_its_outcomes_and_stays_at_the_last() -> None:
    tools = ScriptedTools()
    outcomes = (Gives(1), Raises(ToolError("no")), Computes(lambda args: args["x"]))
    call = tools.add("t", *outcomes).call
    assert call is not None
    assert await call({"x": [1]}) == 1
    with pytest.raises(ToolError, match="no"):
        await call({"x": [2]})
    assert [await call({"x": 3}), await call({"x": 4})] == [3, 4]
    assert tools.args_of("t") == [{"x": [1]}, {"x": [2]}, {"x": 3}, {"x": 4}]
    assert (tools.running, tools.most_running) == (0, 1)


def test_the_log_of_calls_is_not_changed_by_what_a_tool_does_to_its_arguments() -> None:
    tools = scripted(spoil=Computes(lambda args: args.clear()))
    ran(tools, Step("s", "spoil", {"x": Literal([1])}))
    assert tools.args_of("spoil") == [{"x": [1]}]


async def test_a_hanging_tool_ends_when_it_is_cancelled_or_let_go() -> None:
    gate = asyncio.Event()
    tools = ScriptedTools()
    call = tools.add("t", Hangs(until=gate)).call
    assert call is not None
    first, second = (asyncio.ensure_future(call({})) for _ in range(2))
    await tools.started("t", times=2)
    first.cancel()
    gate.set()
    await tools.idle()
    assert await second is None
    assert tools.cancelled == ["t"]


async def test_a_scripted_planner_proposes_in_order_and_remembers_what_it_was_asked() -> None:
    question = Question("what?", "2025-10-12")
    planner = ScriptedPlanner('{"steps": []}', Clarification("which?"), Refusal("never"))
    box = ScriptedTools().toolbox
    tried = [Attempt(Draft("x"))]
    proposals = [await planner.propose(question, box, tried) for _ in range(4)]
    assert proposals == [
        Draft('{"steps": []}'),
        Clarification("which?"),
        Refusal("never"),
        Refusal("never"),
    ]
    assert planner.asked[0] == (question, box, (Attempt(Draft("x")),))
    with pytest.raises(ValueError, match="at least one"):
        ScriptedPlanner()


def test_a_recording_sink_keeps_events_and_folds_the_run() -> None:
    done, sink = ran(scripted(t=Gives(1)), Step("s", "t"))
    assert sink.run == done
    assert [event.output for event in sink.of(StepSucceeded)] == [1]
    assert len(sink.events) == 4
