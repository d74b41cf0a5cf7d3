"""Execution in the Kirha adapter: an eager graph, results in plan order, the errors of the SDK."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from toolplan import ApprovalRequired, CannotRun, approve
from toolplan.plan.path import Json
from toolplan_adapters.kirha import Plan, StepResult, Tool, parse_plan

OPEN: Json = {"type": "object", "properties": {}, "additionalProperties": True}


def plan(*items: Json) -> Plan:
    read = parse_plan(f"<plan>{json.dumps(items)}</plan>")
    assert read is not None
    return read


def tool(name: str, handler: Callable[[Any], Any], output: Json = None) -> Tool:
    return Tool(name, "", OPEN, output, handler, effects="read")


def step(name: str, **arguments: Json) -> Json:
    return {"toolName": name, "arguments": arguments}


def execute(made: Plan, *tools: Tool, timeout_s: float = 60) -> list[StepResult]:
    return asyncio.run(made.execute(tools=tools, timeout_s=timeout_s))


def broken(_: Json) -> Json:
    raise ValueError("no power")


def echo(arguments: Json) -> Json:
    return arguments


def test_results_come_in_step_order_with_what_was_called() -> None:
    """F002-16: stepId, toolName, arguments (resolved), output."""

    async def weather(arguments: dict[str, str]) -> dict[str, object]:
        return {"city": arguments["city"], "temperature": 22}

    results = execute(
        plan(step("weather", city="Paris"), step("echo", text="{0.temperature} in {0.city}")),
        tool("weather", weather),
        tool("echo", echo),
    )
    assert [each.to_json() for each in results] == [
        {
            "stepId": "0",
            "toolName": "weather",
            "arguments": {"city": "Paris"},
            "output": {"city": "Paris", "temperature": 22},
        },
        {
            "stepId": "1",
            "toolName": "echo",
            "arguments": {"text": "22 in Paris"},
            "output": {"text": "22 in Paris"},
        },
    ]
    assert [each.status for each in results] == ["done", "done"]


def test_a_dependent_does_not_wait_for_a_slow_step_that_it_does_not_need() -> None:
    """F002-17, C-30: the original waited at the end of each wave."""

    async def main() -> list[StepResult]:
        second_began = asyncio.Event()

        async def slow(_: Json) -> Json:
            await asyncio.wait_for(second_began.wait(), 5)
            return "slow"

        async def second(_: Json) -> Json:
            second_began.set()
            return "second"

        made = plan(step("slow"), step("echo", x=1), step("second", x="{1.x}"))
        tools = [tool("slow", slow), tool("echo", echo), tool("second", second)]
        return await made.execute(tools=tools)

    assert [each.output for each in asyncio.run(main())] == ["slow", {"x": 1}, "second"]


def test_a_reference_keeps_its_type_and_a_template_is_text() -> None:
    """F002-20, C-31."""
    made = plan(
        step("echo", n=5, l=[1, {"a": 2}]),
        step("echo", ref={"fromStep": 0, "outputKey": "n"}, whole="{0.n}", text="n={0.n} {0.l}"),
    )
    assert execute(made, tool("echo", echo))[1].output == {
        "ref": 5,
        "whole": 5,
        "text": 'n=5 [1,{"a":2}]',
    }


def test_output_that_looks_like_a_reference_stays_text() -> None:
    """C-38: the original gave `A=evil SECRET {0}  B={1}`."""
    made = plan(
        step("echo", x="evil {{1}} $& {{0}}"),
        step("echo", x="SECRET"),
        step("echo", text="A={0.x} B={1.x}"),
    )
    output = execute(made, tool("echo", echo))[2].output
    assert output == {"text": "A=evil {1} $& {0} B=SECRET"}


def test_a_missing_tool_is_reported_and_nothing_is_called() -> None:
    """F002-18: `Tool "X" not found`, output null; what is refused made no call."""
    called: list[Json] = []
    results = execute(plan(step("echo"), step("X")), tool("echo", called.append))
    assert [(each.error, each.output, each.status) for each in results] == [
        ("Skipped: dependencies not satisfied", None, "skipped"),
        ('Tool "X" not found', None, "skipped"),
    ]
    assert called == []


def test_an_argument_that_cannot_be_filled_in_skips_its_step() -> None:
    """F002-18: `Failed to resolve arguments: …`."""
    results = execute(plan(step("echo", a=1), step("echo", x="{0.b}")), tool("echo", echo))
    assert (results[1].status, results[1].arguments, results[1].output) == ("skipped", {}, None)
    assert results[1].error is not None
    assert results[1].error.startswith("Failed to resolve arguments: ")
    assert "'b'" in results[1].error


def test_a_handler_that_fails_is_reported_and_its_dependents_are_skipped() -> None:
    """F002-18, F002-19."""
    made = plan(step("broken"), step("echo", x="{0}"), step("echo", y="{1.x}"), step("echo", z=1))
    results = execute(made, tool("broken", broken), tool("echo", echo))
    assert [(each.status, each.error) for each in results] == [
        ("failed", "no power"),
        ("skipped", "Skipped: dependencies not satisfied"),
        ("skipped", "Skipped: dependencies not satisfied"),
        ("done", None),
    ]
    assert results[3].output == {"z": 1}


def test_a_skipped_step_keeps_its_planned_arguments() -> None:
    """F002-16, F002-18: those of a step that waits for one that failed, or that is refused."""
    planned = {"x": {"$fromStep": "0", "$outputKey": "a"}, "n": 1, "t": "{{0}}"}
    shown = {**planned, "t": "{0}"}
    made = plan(step("broken"), step("echo", x="{0.a}", n=1, t="{{0}}"))
    results = execute(made, tool("broken", broken), tool("echo", echo))
    assert (results[1].arguments, results[1].output) == (shown, None)
    assert results[0].arguments == {}
    refused = execute(plan(step("X", y=1), step("echo", x="{0.a}", n=1)), tool("echo", echo))
    assert [each.arguments for each in refused] == [{}, {"x": planned["x"], "n": 1}]


def test_a_call_that_takes_too_long_is_given_up() -> None:
    """F002-19: the SDK had the status `timeout`, and never set it."""

    async def hang(_: Json) -> Json:
        await asyncio.sleep(60)
        return None

    (result,) = execute(plan(step("hang")), tool("hang", hang), timeout_s=0.03)
    assert result.status == "timeout"
    assert result.error is not None


def test_steps_that_wait_for_each_other_are_skipped() -> None:
    """F002-18: unsatisfied dependencies are skipped, and nothing is called."""
    called: list[Json] = []
    made = plan(step("echo", x="{1}"), step("echo", x="{0}"))
    results = execute(made, tool("echo", called.append))
    assert {each.status for each in results} == {"skipped"}
    assert results[1].error == "Skipped: dependencies not satisfied"
    assert called == []


def test_a_plan_whose_tools_may_change_something_needs_approval() -> None:
    silent = Tool("pay", "", OPEN, None, echo)
    made = plan(step("pay", to="me"))
    with pytest.raises(ApprovalRequired):
        execute(made, silent)
    (result,) = asyncio.run(made.execute(tools=[silent], approval=approve))
    assert result.output == {"to": "me"}


def test_a_tool_without_a_handler_cannot_run() -> None:
    with pytest.raises(CannotRun, match="'t'"):
        execute(plan(step("t")), Tool("t", "", OPEN, effects="read"))
