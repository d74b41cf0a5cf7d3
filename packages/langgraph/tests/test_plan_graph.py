"""A plan as a graph gives what our engine gives."""

import asyncio
import json
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, example, given, settings
from langgraph.checkpoint.memory import InMemorySaver

from packages.langgraph.tests.conversation import Graph
from tests.engines.test_interpreter_agrees import EVERYTHING
from tests.plans_strategy import execution_plan, plans, scripted_tools
from toolplan import Effects, Run, run
from toolplan.plan.model import Literal, Plan, Ref, Step
from toolplan.plan.path import Json
from toolplan.testing import Gives, ScriptedTools
from toolplan_langgraph import to_langgraph


def shown_by_engine(ended: Run) -> Json:
    return {
        "status": ended.status.value,
        "output": ended.output,
        "steps": {
            name: [each.state.value, each.output, each.error and each.error.code]
            for name, each in ended.steps.items()
        },
    }


def shown_by_graph(state: dict[str, Any]) -> Json:
    return {
        "status": state["status"],
        "output": state["output"],
        "steps": {
            name: [each["state"], each["output"], each["error"] and each["error"]["code"]]
            for name, each in state["steps"].items()
        },
    }


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(plans())
@example(EVERYTHING)
def test_results_are_those_of_our_engine(plan: Plan) -> None:
    async def both() -> tuple[Json, Json]:
        checked = execution_plan(plan)
        graph = cast("Graph", to_langgraph(checked, scripted_tools().toolbox))
        state = await graph.ainvoke({"run": "r"}, {})
        ours = await run(checked, scripted_tools().toolbox, backoff_s=0.0)
        return shown_by_graph(state), shown_by_engine(ours)

    theirs, ours = asyncio.run(both())
    assert theirs == ours
    # 1 is not true, and 1 is not 1.0
    assert json.dumps(theirs, sort_keys=True) == json.dumps(ours, sort_keys=True)


def chain() -> Plan:
    echo = Step("result", "echo", {"value": Ref("__start__", ("count",))})
    return Plan((Step("__start__", "rows"), echo))


def test_each_step_is_a_node_and_each_need_an_edge() -> None:
    """Whatever a step is called: not even LangGraph's own names are in the way."""
    graph: Any = to_langgraph(execution_plan(chain()), scripted_tools().toolbox)
    drawn = graph.get_graph()
    assert {"step.__start__", "step.result", "result"} <= set(drawn.nodes)
    assert ("step.__start__", "step.result") in {(e.source, e.target) for e in drawn.edges}


async def test_a_checkpointer_keeps_each_step_and_the_stream_reports_it() -> None:
    plan = execution_plan(chain())
    saver = InMemorySaver()
    graph: Any = to_langgraph(plan, scripted_tools().toolbox, checkpointer=saver)
    config = {"configurable": {"thread_id": "t"}}
    streamed = graph.astream({"run": "r"}, config, stream_mode="custom")
    steps = [part["toolplan"]["event"]["step"] async for part in streamed]
    assert steps == ["__start__", "__start__", "result", "result"]
    assert graph.get_state(config).values["status"] == "succeeded"


def test_a_plan_that_changes_something_is_refused() -> None:
    """A node may be begun again after a crash, and a call with effects is made once."""
    scripted = ScriptedTools()
    scripted.add("write", Gives(1), effects=Effects.WRITE)
    plan = execution_plan(Plan((Step("w", "write", {"x": Literal(1)}),)), scripted.toolbox)
    with pytest.raises(ValueError, match="use toolplan_node"):
        to_langgraph(plan, scripted.toolbox)
    assert scripted.calls == []


@pytest.mark.parametrize("is_kept", [True, False])
async def test_an_output_that_no_checkpointer_keeps_fails_its_step(is_kept: bool) -> None:
    scripted = ScriptedTools()
    scripted.add("large", Gives({"wei": 2**70}))
    plan = execution_plan(Plan((Step("a", "large"),)), scripted.toolbox)
    saver = InMemorySaver() if is_kept else None
    graph = cast("Graph", to_langgraph(plan, scripted.toolbox, checkpointer=saver))
    state = await graph.ainvoke({"run": "r"}, {"configurable": {"thread_id": "t"}})
    assert state["status"] == ("failed" if is_kept else "succeeded")
    assert state["output"] == ({} if is_kept else {"a": {"wei": 2**70}})
