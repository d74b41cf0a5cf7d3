"""A plan as a graph of LangGraph: a node for each step, an edge for each dependency.

Our engine runs the step of each node, so checks, conditions, items and retries are the same.
LangGraph adds a checkpoint after each round of steps, streams and drawings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, NotRequired, TypeAlias, TypedDict

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from msgspec import Struct
from msgspec.structs import asdict, replace

from toolplan.compiler import compile_plan
from toolplan.engine import filled_output, run
from toolplan.events import (
    Event,
    Failure,
    RunState,
    StepEvent,
    StepRun,
    StepStarted,
    StepState,
    StepSucceeded,
)
from toolplan.plan.model import Limits, Plan, Step, sinks, step_refs
from toolplan.plan.path import Json
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Tool, Toolbox
from toolplan.tools.python import tool
from toolplan_langgraph._runs import reporter
from toolplan_langgraph.approval import is_storable

RESULT = "result"
"""The node of the plan's output."""

_ROUNDS_BESIDE_STEPS = 10
_NOT_STORABLE = Failure(
    "result-type", "It has an integer of more than 64 bits, which no checkpointer can store."
)


class StepResult(TypedDict):
    """The result of a step: its state, its output and its failure, if there is one."""

    state: str
    output: Json
    error: dict[str, str] | None


Results: TypeAlias = dict[str, StepResult]


def _joined(before: Results, after: Results) -> Results:
    return {**before, **after}


class PlanInput(TypedDict):
    """The input of the graph: a name for the run."""

    run: str


class PlanState(PlanInput):
    """The output of the graph: the results of its steps, and the status and output of the plan."""

    steps: NotRequired[Annotated[Results, _joined]]
    status: NotRequired[str]
    output: NotRequired[Json]


def to_langgraph(
    plan: ExecutionPlan,
    tools: Mapping[str, Tool],
    *,
    checkpointer: BaseCheckpointSaver[str] | None = None,
    limits: Limits = Limits(),
    timeout_s: float = 60.0,
) -> CompiledStateGraph[PlanState, None, PlanInput, PlanState]:
    """Return `plan` as a graph, to be called with `ainvoke({"run": name})`.

    Results are those of our own engine. Steps start in rounds, as all nodes of LangGraph do, and
    `limits.calls` is for each step. With a checkpointer a step fails if its output has an integer
    of more than 64 bits, which cannot be stored.

    Raises:
        ValueError: the plan has effects. LangGraph may run a node again after a crash, so use
            `toolplan_node` or `toolplan.run`, which make a call with effects once.
    """
    if plan.effects or any(tools[step.tool].has_effects for step in plan.plan.steps):
        names = ", ".join(map(repr, plan.effects))
        raise ValueError(f"Steps {names} change something; use toolplan_node or toolplan.run.")
    nodes = _Steps(plan, Toolbox(tools.values()), limits, timeout_s, checkpointer is not None)
    builder: Any = StateGraph
    graph = builder(PlanState, input_schema=PlanInput)
    needed = {each for needs in plan.needs.values() for each in needs}
    for step in plan.plan.steps:
        graph.add_node(node_name(step.id), nodes.node(step))
    graph.add_node(RESULT, nodes.result)
    for step in plan.plan.steps:
        needs = [node_name(each) for each in plan.needs[step.id]]
        graph.add_edge(needs or START, node_name(step.id))
    ends = [node_name(step.id) for step in plan.plan.steps if step.id not in needed]
    graph.add_edge(ends, RESULT)
    graph.add_edge(RESULT, END)
    most = len(plan.plan.steps) + _ROUNDS_BESIDE_STEPS
    return graph.compile(checkpointer).with_config({"recursion_limit": most})


def node_name(step: str) -> str:
    """Return the name of a step's node, which is never one of LangGraph's own.

    >>> node_name("__start__")
    'step.__start__'
    """
    return f"step.{step}"


class _Steps(Struct):
    plan: ExecutionPlan
    tools: Toolbox
    limits: Limits
    timeout_s: float
    is_stored: bool

    def node(self, step: Step) -> Callable[[PlanState], Awaitable[dict[str, object]]]:
        async def node(state: PlanState) -> dict[str, object]:
            results = state.get("steps", {})
            failure = self._reason_to_skip(step, results)
            if failure is None:
                ended = await self._run(step, state["run"], results)
            else:
                ended = StepRun(StepState.SKIPPED, error=failure)
            error = None if ended.error is None else asdict(ended.error)
            result = StepResult(state=ended.state.value, output=ended.output, error=error)
            return {"steps": {step.id: result}}

        return node

    async def result(self, state: PlanState) -> dict[str, object]:
        results, plan = state.get("steps", {}).items(), self.plan.plan
        outputs = {name: each["output"] for name, each in results if each["state"] == "succeeded"}
        output: Json = {name: outputs[name] for name in sinks(plan) if name in outputs}
        wrong = None
        if plan.output is not None:
            output, wrong = filled_output(plan.output, outputs)
        succeeded = wrong is None and not any(each["state"] == "failed" for _, each in results)
        status = RunState.SUCCEEDED if succeeded else RunState.FAILED
        return {"status": status.value, "output": output}

    async def _run(self, step: Step, name: str, results: Results) -> StepRun:
        """Run one step with our engine, after the steps that are done.

        This part of a checked plan needs no check of its own. Only the outputs of the steps before
        it are used, so these have no arguments.
        """
        needed = self.plan.needs[step.id]
        before = tuple(each for each in needed if results[each]["state"] == "succeeded")
        after = tuple(each for each in step.after if each in before)
        part = replace(
            self.plan,
            plan=Plan((*(Step(each, step.tool) for each in before), replace(step, after=after))),
            order=(*before, step.id),
            needs={**dict.fromkeys(before, ()), step.id: before},
        )
        done: list[Event] = []
        for each in before:
            done.append(StepStarted(each, None, 0.0))
            done.append(StepSucceeded(each, results[each]["output"], 0, None, 0.0))
        report = reporter(name)

        def on_event(event: Event) -> None:
            if isinstance(event, StepEvent) and event.step == step.id:
                report(event)

        ran = await run(
            part,
            self.tools,
            limits=self.limits,
            on_event=on_event,
            run_id=f"{name}.{step.id}",
            done=done,
            timeout_s=self.timeout_s,
        )
        ended = ran.steps[step.id]
        if self.is_stored and not is_storable(ended.output):
            return replace(ended, state=StepState.FAILED, output=None, error=_NOT_STORABLE)
        return ended

    def _reason_to_skip(self, step: Step, results: Results) -> Failure | None:
        """Return why the engine would skip a step whose needed steps are over."""
        states = {name: each["state"] for name, each in results.items()}
        behind_failure: set[str] = set()  # at any distance
        for name in self.plan.order:
            is_behind = not behind_failure.isdisjoint(self.plan.needs[name])
            if states.get(name) == "failed" or (states.get(name) == "skipped" and is_behind):
                behind_failure.add(name)
        needs = self.plan.needs[step.id]
        for each in needs:
            if states[each] == "failed":
                return Failure("upstream-failed", f"Step {each!r} failed.")
        stops = behind_failure.union(ref.step for _, ref in step_refs(step))
        for each in needs:
            if states[each] == "skipped" and each in stops:
                return Failure("upstream-skipped", f"Step {each!r} was skipped.")
        return None


def try_graph() -> str:
    """Run a plan as a graph; return a statement about LangGraph.

    Raises:
        RuntimeError: the graph gives something else than the plan must.
    """

    @tool(name="one", effects="read")
    def one() -> dict[str, int]:
        """Return a number."""
        return {"n": 1}

    tools = Toolbox([one])
    text = '{"toolplan": 1, "steps": [{"id": "a", "tool": "one"}]}'
    plan = compile_plan(text, tools=tools).plan
    if plan is None:
        raise RuntimeError("the plan was refused")
    graph: Any = to_langgraph(plan, tools)
    found = asyncio.run(graph.ainvoke({"run": "r"}))
    if found["steps"]["a"]["output"] != {"n": 1}:
        raise RuntimeError(f"the graph gave {found}")
    return "a graph ran"
