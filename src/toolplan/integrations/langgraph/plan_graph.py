"""A plan as a graph of LangGraph: a node for each step, an edge for each need.

Each node has our engine run its one step, so that checks, conditions, items and retries are the
same. What LangGraph adds is its own: a checkpoint behind each round of steps, streams, drawings.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Annotated, NotRequired, TypedDict

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START
from langgraph.graph.state import CompiledStateGraph

from toolplan.engines import run
from toolplan.engines._values import filled_output
from toolplan.events import (
    Event,
    Failure,
    RunState,
    StepEvent,
    StepRun,
    StepStarted,
    StepState,
    StepSucceeded,
    fold,
)
from toolplan.execution_plan import ExecutionPlan
from toolplan.integrations.langgraph._kept import keeps
from toolplan.integrations.langgraph._runs import teller
from toolplan.integrations.langgraph._wiring import wiring
from toolplan.path import Json
from toolplan.plan import Limits, Plan, Step, sinks, step_refs
from toolplan.tools import Tool, Toolbox

RESULT = "result"
"""The node that gives the plan's output."""

_ROUNDS_BESIDE_STEPS = 10
_UNKEPT = Failure(
    "result-type", "It has an integer of more than 64 bits, which no checkpointer can keep."
)


class StepReport(TypedDict):
    """How a step ended: its state, its output and, where there is one, its failure."""

    state: str
    output: Json
    error: dict[str, str] | None


def _joined(before: dict[str, StepReport], after: dict[str, StepReport]) -> dict[str, StepReport]:
    return {**before, **after}


class PlanInput(TypedDict):
    """What the graph is called with: a name for the run."""

    run: str


class PlanState(PlanInput):
    """What the graph gives: its steps as they ended, and the status and output of the whole."""

    steps: NotRequired[Annotated[dict[str, StepReport], _joined]]
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
    `limits.calls` holds for each step. With a checkpointer a step whose output has an integer of
    more than 64 bits fails, for none can keep it.

    Raises:
        ValueError: the plan changes something. LangGraph may begin a node again after a crash, and
            a call with effects is made once: run such a plan with `toolplan_node` or
            `toolplan.run`.
    """
    if plan.effects or any(tools[step.tool].has_effects for step in plan.plan.steps):
        names = ", ".join(map(repr, plan.effects))
        raise ValueError(f"Steps {names} change something; use toolplan_node or toolplan.run.")
    nodes = _Steps(plan, Toolbox(tools.values()), limits, timeout_s, checkpointer is not None)
    graph = wiring(PlanState, PlanInput)
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
    """Return the name of a step's node, which never is one of LangGraph's own.

    >>> node_name("__start__")
    'step.__start__'
    """
    return f"step.{step}"


class _Steps:
    """The work of each node."""

    def __init__(
        self,
        plan: ExecutionPlan,
        tools: Toolbox,
        limits: Limits,
        timeout_s: float,
        is_kept: bool,
    ) -> None:
        self._plan = plan
        self._tools = tools
        self._limits = limits
        self._timeout_s = timeout_s
        self._is_kept = is_kept

    def node(self, step: Step) -> Callable[[PlanState], Awaitable[dict[str, object]]]:
        async def node(state: PlanState) -> dict[str, object]:
            told = state.get("steps", {})
            failure = self._reason_to_skip(step, told)
            if failure is not None:
                return {"steps": {step.id: _told(StepRun(StepState.SKIPPED, error=failure))}}
            return {"steps": {step.id: _told(await self._run(step, state["run"], told))}}

        return node

    async def result(self, state: PlanState) -> dict[str, object]:
        told = state.get("steps", {})
        outputs = {name: each["output"] for name, each in told.items() if _is(each, "succeeded")}
        given: Json
        if self._plan.plan.output is None:
            names = [name for name in sinks(self._plan.plan) if name in outputs]
            given, complete = {name: outputs[name] for name in names}, True
        else:
            given, complete = filled_output(self._plan.plan.output, outputs)
        well = complete and not any(_is(each, "failed") for each in told.values())
        status = RunState.SUCCEEDED if well else RunState.FAILED
        return {"status": status.value, "output": given}

    async def _run(self, step: Step, name: str, told: Mapping[str, StepReport]) -> StepRun:
        """Have the engine run one step, with what the steps before it gave."""
        before = [each for each in self._plan.needs[step.id] if _is(told[each], "succeeded")]
        done: list[Event] = []
        for each in before:
            done.append(StepStarted(each, None, 0.0))
            done.append(StepSucceeded(each, told[each]["output"], 0, None, 0.0))
        events: list[Event] = []
        tell = teller(name)

        def on_event(event: Event) -> None:
            events.append(event)
            if isinstance(event, StepEvent) and event.step == step.id:
                tell(event)

        await run(
            _alone(self._plan, step, before),
            self._tools,
            limits=self._limits,
            on_event=on_event,
            run_id=f"{name}.{step.id}",
            done=done,
            timeout_s=self._timeout_s,
        )
        ended = fold(events).steps[step.id]
        if self._is_kept and not keeps(ended.output):
            return ended._replace(state=StepState.FAILED, output=None, error=_UNKEPT)
        return ended

    def _reason_to_skip(self, step: Step, told: Mapping[str, StepReport]) -> Failure | None:
        needs = self._plan.needs[step.id]
        for each in needs:
            if _is(told[each], "failed"):
                return Failure("upstream-failed", f"Step {each!r} failed.")
        referred = {ref.step for _, ref in step_refs(step)}
        for each in needs:
            if _is(told[each], "skipped") and (each in referred or self._is_behind(each, told)):
                return Failure("upstream-skipped", f"Step {each!r} was skipped.")
        return None

    def _is_behind(self, name: str, told: Mapping[str, StepReport]) -> bool:
        """Say whether a step was skipped because, however far before it, one failed."""
        seen: set[str] = set()
        left = [name]
        while left:
            each = left.pop()
            if _is(told[each], "failed"):
                return True
            if each not in seen and _is(told[each], "skipped"):
                seen.add(each)
                left.extend(self._plan.needs[each])
        return False


def _alone(plan: ExecutionPlan, step: Step, before: list[str]) -> ExecutionPlan:
    """Return the part of a checked plan that is one step, behind steps that are done.

    What the check found of the whole holds for the part; of the steps before it only the outputs
    count, so they stand there without arguments.
    """
    before_it = [Step(each, step.tool) for each in before]
    after = tuple(each for each in step.after if each in before)
    return replace(
        plan,
        plan=Plan((*before_it, replace(step, after=after))),
        order=(*before, step.id),
        needs={**dict.fromkeys(before, ()), step.id: tuple(before)},
    )


def _is(told: StepReport, state: str) -> bool:
    return told["state"] == state


def _told(step: StepRun) -> StepReport:
    error = None if step.error is None else {**step.error._asdict()}
    return StepReport(state=step.state.value, output=step.output, error=error)
