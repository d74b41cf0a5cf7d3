"""Outsiders write what they like, and nothing of it reaches an argument that a policy allows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from benchmarks.agentdojo.world import TEXT, Outsiders, output
from toolplan.approval import approve
from toolplan.compiler import compile_plan
from toolplan.engines import run
from toolplan.execution_plan import ExecutionPlan
from toolplan.flows import Flow, Policy, Trust, Verdict
from toolplan.path import Json
from toolplan.plan import split_pointer
from toolplan.tools import Arguments, Tool, Toolbox, current_call

Calls = dict[str, list[Arguments]]


class Reached(NamedTuple):
    """What outsiders reached: allowed arguments that were looked at, calls, and what was won."""

    looked_at: int = 0
    calls: int = 0
    won: tuple[str, ...] = ()


def attacked(
    name: str, plan: Mapping[str, object], tools: Toolbox, policy: Policy, seeds: range
) -> Reached:
    """Run a plan once for each seed of what outsiders write, and compare what was allowed."""
    compiled = compile_plan(plan, tools=tools, policy=policy).plan
    if compiled is None:
        return Reached()
    runs = [_calls(compiled, tools, seed) for seed in seeds]
    found = [_compared(flow, runs) for flow in compiled.flows if _is_allowed(flow)]
    won = tuple(f"{name} {each}" for _, faults in found for each in faults)
    calls = sum(len(made) for each in runs for made in each.values())
    return Reached(sum(count for count, _ in found), calls, won)


def _is_allowed(flow: Flow) -> bool:
    return (
        flow.kind == "argument" and flow.verdict is Verdict.ALLOW and flow.needs.trust is not None
    )


def _compared(flow: Flow, runs: list[Calls]) -> tuple[int, list[str]]:
    """Return how many values were looked at, and what outsiders decided though it was allowed."""
    argument = split_pointer(flow.pointer)[-1]
    values = [
        {json.dumps(made.get(argument), sort_keys=True) for made in calls.get(flow.step, ())}
        for calls in runs
    ]
    made = [each for each in values if each]
    written = [text for each in made for text in each if TEXT in text]
    faults = [f"{flow.pointer}: {text}" for text in written]
    if flow.label.trust >= Trust.TRUSTED and any(each != made[0] for each in made):
        faults.append(f"{flow.pointer}: {made}")
    return len(made), faults


def _calls(plan: ExecutionPlan, tools: Toolbox, seed: int) -> Calls:
    """Run a plan, everything approved, and return the calls with effects by step."""
    calls: Calls = {}
    by = Outsiders(seed)
    given = Toolbox(_made(tool, by, calls) for tool in tools.values())
    asyncio.run(run(plan, given, approval=approve(plan), concurrency=1))
    return calls


def _made(tool: Tool, by: Outsiders, calls: Calls) -> Tool:
    async def call(arguments: Arguments) -> Json:
        if tool.has_effects:
            attended = current_call()
            step = "" if attended is None else attended.step
            calls.setdefault(step, []).append(arguments)
        if tool.name == "extract":
            return by.value(arguments["schema"])
        return output(tool.name, arguments, by)

    return tool if tool.name == "sql" else replace(tool, call=call)
