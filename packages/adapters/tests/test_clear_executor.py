"""The executor of the Clear adapter: results in plan order, on an engine without waves."""

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import pytest

from packages.adapters.tests.doubles import TODAY, plan_text
from toolplan import Journal, approve, resume
from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Effects, ToolObjectError
from toolplan.testing import Computes, Gives, Hangs, Raises, ScriptedTools
from toolplan_adapters.clear import (
    BaseTool,
    Executor,
    ExecutorConfig,
    MCPServer,
    Plan,
    PlanDependencyError,
    PlannerError,
    PlanValidationError,
    ToolNotFoundError,
    ToolResult,
    register_all_tools,
)
from toolplan_demo import demo_tools

ROWS: list[Json] = [{"id": "S1", "n": 1, "facility": {"id": "F1"}}, {"id": "S2", "n": 2}]


def executor(tools: ScriptedTools, **settings: object) -> Executor:
    return Executor(tools.toolbox, {"retryDelay": 0, "maxRetries": 1, **settings})


def execute(
    tools: ScriptedTools, *steps: Mapping[str, Json], **settings: object
) -> list[ToolResult]:
    return asyncio.run(executor(tools, **settings).execute(plan_text(*steps)))


def echo() -> ScriptedTools:
    """Return a tool `rows` with two rows, and one `echo` that gives back its arguments."""
    tools = ScriptedTools()
    tools.add("rows", Gives({"data": ROWS}))
    tools.add("echo", Computes(lambda args: {"data": args}))
    return tools


def test_results_come_in_the_order_of_the_plan_with_what_was_called() -> None:
    """F000-43, F000-42: the slow step is written first and ends last."""
    tools = ScriptedTools()
    tools.add("slow", Gives({"data": 1}, delay_s=0.05))
    tools.add("fast", Gives({"data": 2}))
    results = execute(tools, {"tool": "slow"}, {"tool": "fast"})
    assert [(each.tool, each.data, each.step_index) for each in results] == [
        ("slow", 1, 0),
        ("fast", 2, 1),
    ]
    assert all(each.success and each.error is None for each in results)
    assert results[0].metadata.execution_time >= 40
    assert results[0].metadata.timestamp.endswith("Z")
    assert tools.most_running == 2


def test_no_more_calls_at_once_than_are_set() -> None:
    """Five by default, as in the original (behaviours 2.8)."""
    assert ExecutorConfig().max_parallel_executions == 5
    for most, settings in [(5, dict[str, object]()), (2, {"maxParallelExecutions": 2})]:
        tools = ScriptedTools()
        for at in range(9):
            tools.add(f"t{at}", Gives({"data": at}, delay_s=0.01))
        execute(tools, *({"tool": f"t{at}"} for at in range(9)), **settings)
        assert tools.most_running == most


def test_a_failed_step_skips_those_that_need_it_and_nothing_else() -> None:
    """The original called them all the same, and they failed with nested messages."""
    tools = echo()
    tools.add("broken", Raises(ValueError("no power")))
    results = execute(
        tools,
        {"tool": "broken"},
        {"tool": "echo", "params": {"x": "${step[0].data}"}},
        {"tool": "rows"},
    )
    assert [each.success for each in results] == [False, False, True]
    assert [each.error.code for each in results if each.error] == ["EXECUTION_FAILED", "SKIPPED"]
    assert results[0].error is not None
    assert "no power" in results[0].error.message
    assert [call.tool for call in tools.calls] == ["broken", "rows"]


def test_a_call_that_takes_too_long_is_cancelled_and_says_so() -> None:
    tools = ScriptedTools()
    tools.add("hangs", Hangs())
    (result,) = execute(tools, {"tool": "hangs"}, toolTimeout=30)
    assert result.error is not None
    assert result.error.code == "TIMEOUT"
    assert tools.cancelled == ["hangs"]


def test_a_plan_that_takes_too_long_is_given_up_with_what_there_is() -> None:
    tools = echo()
    tools.add("hangs", Hangs())
    results = execute(tools, {"tool": "rows"}, {"tool": "hangs"}, totalTimeout=500)
    assert [each.success for each in results] == [True, False]
    assert results[1].error is not None
    assert results[1].error.code == "TIMEOUT"


def flaky(failures: int) -> Callable[[Arguments], Json]:
    left = [failures]

    def answer(args: Arguments) -> Json:
        if left[0]:
            left[0] -= 1
            raise ConnectionError("again")
        return {"data": "done"}

    return answer


def test_a_read_is_tried_again_and_a_write_is_not() -> None:
    """Retries of the original never happened, or happened to creates as well."""
    tools = ScriptedTools()
    tools.add("read", Computes(flaky(2)))
    (result,) = execute(tools, {"tool": "read"}, maxRetries=3)
    assert (result.success, result.metadata.retries) == (True, 2)

    tools = ScriptedTools()
    tools.add("write", Computes(flaky(1)), effects=Effects.WRITE)
    run = Executor(tools.toolbox, {"retryDelay": 0}, approval=approve).execute
    (result,) = asyncio.run(run(plan_text({"tool": "write"})))
    assert result.success is False
    assert len(tools.calls) == 1


@pytest.mark.parametrize(
    ("plan", "kind", "said"),
    [
        (
            plan_text({"tool": "rows", "depends_on": [1]}, {"tool": "rows", "depends_on": [0]}),
            PlanDependencyError,
            "Circular dependency detected in plan",
        ),
        (plan_text({"tool": "rows", "depends_on": [7]}), PlanDependencyError, "index: 7"),
        (plan_text({"tool": "rows"}, {"tool": "x"}), ToolNotFoundError, "Tool not available: x"),
        (
            plan_text({"tool": "scale"}, {"tool": "echo", "params": {"x": "${step[0].date}"}}),
            PlanValidationError,
            "no field 'date'",
        ),
        ("{}", PlanValidationError, "Invalid plan structure"),
        ("nonsense", PlannerError, "Could not extract valid JSON"),
        ({"steps": {1, 2}}, PlanValidationError, "not JSON"),
        (None, PlanValidationError, "Invalid plan structure"),
    ],
)
def test_what_is_no_plan_is_refused(plan: object, kind: type[PlannerError], said: str) -> None:
    """F000-21, F000-28, F003-15: what is refused made no call."""
    tools = echo()
    with pytest.raises(kind, match=said):
        asyncio.run(Executor([Scale(), *tools.toolbox.values()]).execute(plan))
    assert tools.calls == []


def test_one_call_for_each_element_gives_one_list() -> None:
    """C-03: the calls are put together, not counted as one with nine ids in a text."""
    server = MCPServer()
    register_all_tools(server, demo_tools(TODAY, rows=300).values())
    plan = plan_text(
        {"tool": "facilities_list", "params": {}},
        {"tool": "facilities_get", "params": {"id": "${step[0].data.*.id}"}},
    )
    listed, got = asyncio.run(Executor(server).execute(plan))
    assert isinstance(listed.data, list)
    assert len(listed.data) > 1
    assert got.data == listed.data


# Tools as classes


class Scale(BaseTool):
    name = "scale"
    description = "Weighs."
    schema: ClassVar[Mapping[str, Json]] = {
        "params": {"type": "object", "properties": {"what": {"type": "string"}}},
        "returns": {"type": "array", "items": {"type": "object", "properties": {"kg": {}}}},
    }
    effects = "read"

    async def execute(self, params: Arguments) -> ToolResult:
        if params.get("what") == "air":
            return self.failure("Too light.", "TOO_LIGHT", {"kg": 0})
        return self.success([{"kg": 12}, {"kg": 30}], 1.5)


def test_a_result_without_success_fails_its_step_with_its_own_code() -> None:
    """F000-11: in the original a result without success counted as a result."""
    plan = plan_text({"tool": "scale", "params": {"what": "air"}})
    (result,) = asyncio.run(Executor([Scale()], {"maxRetries": 1}).execute(plan))
    assert result.success is False
    assert result.error is not None
    assert result.error.message == 'TOO_LIGHT: Too light. {"kg": 0}'


def test_a_base_url_is_no_list_of_tools() -> None:
    """F000-12: where the original built fixed tools, ours come from the interface's document."""
    with pytest.raises(ToolObjectError, match="openapi_toolbox"):
        register_all_tools(MCPServer(), "http://localhost:4000/api")


def test_a_run_can_be_kept_and_gone_on_with(tmp_path: Path) -> None:
    """The original kept nothing (behaviours 2.8)."""
    tools = echo()
    with closing(Journal(tmp_path / "runs.db")) as journal:
        made = Executor(tools.toolbox, journal=journal)
        execution = asyncio.run(made.execute(plan_text({"tool": "rows"})))
        kept = asyncio.run(resume(execution.run.run, tools.toolbox, journal=journal))
    assert kept.steps["s0"].output == {"data": ROWS}
    assert len(tools.calls) == 1


def test_results_and_plans_are_plain_json() -> None:
    results = execute(echo(), {"tool": "rows"}, {"tool": "echo", "params": {"y": 1, "x": 2}})
    for each in results:
        assert json.loads(json.dumps(each.to_json())) == each.to_json()
    plan = Plan.from_json(plan_text({"tool": "rows"}, {"tool": "echo", "depends_on": [0]}))
    assert Plan.from_json(plan.to_json()).steps == plan.steps
