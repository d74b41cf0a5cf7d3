"""The strategy as a compiled graph: plan, orchestrate, call, assess, advance, respond."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START
from langgraph.graph.state import CompiledStateGraph

from toolplan.plan import Limits
from toolplan.providers import ModelError
from toolplan.storage.journal import Store
from toolplan.tools import Toolbox
from toolplan_langgraph._nodes import Nodes, Setup, Update, configured
from toolplan_langgraph._replies import NoUsableReply
from toolplan_langgraph._runs import Running
from toolplan_langgraph._wiring import Wiring, wiring
from toolplan_langgraph.configuration import Configuration, ConfigurationError
from toolplan_langgraph.experts import Experts, NamedExperts
from toolplan_langgraph.models import AnyModel, OpenModels, RoleModels
from toolplan_langgraph.state import InputState, State, progress_of

Strategy: TypeAlias = CompiledStateGraph[State, None, InputState, State]

NODES: Final = {
    "planner": "planner",
    "orchestrate": "orchestrate",
    "human_input": "human_input",
    "call_tool": "call_tool",
    "assess": "assess_task_completion",
    "advance": "advance_to_next_task",
    "respond": "generate_response",
    "give_up": "give_up",
}
"""The name of each node in the graph, by its method."""
_NODES_PER_ROUND = 4


def build_graph(
    configuration: Configuration,
    experts: Experts | Mapping[str, Toolbox],
    models: RoleModels | AnyModel,
    *,
    keys: Mapping[str, str] = MappingProxyType({}),
    state_schema: type[State] = State,
    checkpointer: BaseCheckpointSaver[str] | None = None,
    journal: Store | None = None,
    limits: Limits = Limits(),
    timeout_s: float = 60.0,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
) -> Strategy:
    """Return the graph, to be called with `ainvoke` or `astream`.

    It interrupts when it needs the user: to approve calls with effects, or to answer a question.
    With a checkpointer it continues from there, in any process. `configurable` of a call may hold
    prompts and models (`planner_model`, `orchestrate_system_prompt`, …) for that call.

    Args:
        configuration: prompts and limits; its servers describe the experts.
        experts: the experts (`connected_experts`), or the toolbox of each.
        models: the model of each role, or one for all; see `AnyModel`.
        keys: the key of each provider, for models that are given by name.
        state_schema: `State`, or a class that adds fields to it; the input has them as well.
        checkpointer: keeps the conversation; without one, the graph cannot be resumed.
        journal: keeps the runs of calls, so that no call with effects is repeated after a crash.
        limits: limits for the calls of one message.
        timeout_s: seconds for each call.
        clock: returns the time in UTC, which models see.
        new_id: returns the ids of messages.

    Raises:
        ConfigurationError: there is no expert.
    """
    known = NamedExperts(experts) if isinstance(experts, Mapping) else experts
    if not known.names:
        raise ConfigurationError("There is no expert; name servers in mcp_server_config.")
    roles = models if isinstance(models, RoleModels) else RoleModels.of(models)
    running = Running(journal, limits, timeout_s)
    opened = OpenModels(keys)
    setup = Setup(configuration, known, roles, running, clock, new_id)

    def node(name: str) -> Callable[[State, RunnableConfig], Awaitable[Update]]:
        async def call(state: State, config: RunnableConfig) -> Update:
            nodes = Nodes(configured(setup, config.get("configurable", {}), opened))
            return await getattr(nodes, name)(state)

        return _guarded(call)

    given = InputState if state_schema is State else state_schema
    graph = wiring(state_schema, given)
    for name in NODES:
        graph.add_node(NODES[name], node(name))
    _connect(graph)
    compiled = graph.compile(checkpointer=checkpointer)
    # the limit of LangGraph itself comes after ours, which say why the graph ended
    most = configuration.caps.rounds * _NODES_PER_ROUND + 20
    return compiled.with_config({"recursion_limit": most})


def _connect(graph: Wiring[State, InputState]) -> None:
    graph.add_edge(START, "planner")
    graph.add_conditional_edges("planner", decide_planner_edge)
    graph.add_conditional_edges("orchestrate", decide_orchestrate_edge)
    graph.add_conditional_edges("human_input", decide_human_input_edge)
    graph.add_edge("call_tool", "assess_task_completion")
    graph.add_conditional_edges("assess_task_completion", decide_task_assessment_edge)
    graph.add_conditional_edges("advance_to_next_task", decide_next_task_edge)
    graph.add_conditional_edges("generate_response", decide_response_edge)
    graph.add_edge("give_up", END)


def decide_planner_edge(
    state: State,
) -> Literal["give_up", "human_input", "orchestrate", "__end__"]:
    """Return the node after the planner: a question comes before a plan."""
    result = state.get("planner_result")
    if state.get("stopped") is not None:
        return "give_up"
    if result is None:
        return "__end__"
    if result["clarification"] is not None:
        return "human_input"
    return "orchestrate" if result["plan"] else "__end__"


def decide_orchestrate_edge(
    state: State,
) -> Literal["give_up", "call_tool", "human_input", "planner", "assess_task_completion"]:
    """Return the node after an expert's step; if it cannot do the task, the planner."""
    if state.get("stopped") is not None:
        return "give_up"
    match progress_of(state)["chosen"]:
        case "tool_calls":
            return "call_tool"
        case "ask_human":
            return "human_input"
        case "idk":
            return "planner"
        case "answer":
            return "assess_task_completion"


def decide_human_input_edge(state: State) -> Literal["planner", "orchestrate"]:
    """Return the node after an answer of the user: the one that asked."""
    result = state.get("planner_result")
    asked_by_planner = result is None or result["clarification"] is not None
    return "planner" if asked_by_planner else "orchestrate"


def decide_task_assessment_edge(
    state: State,
) -> Literal["give_up", "advance_to_next_task", "orchestrate"]:
    """Return the node after the assessment."""
    if state.get("stopped") is not None:
        return "give_up"
    return "advance_to_next_task" if state.get("task_completed") else "orchestrate"


def decide_next_task_edge(state: State) -> Literal["orchestrate", "generate_response"]:
    """Return the node for the next task, or for the response."""
    result = state.get("planner_result")
    is_left = result is not None and result["next_task"] < len(result["plan"])
    return "orchestrate" if is_left else "generate_response"


def decide_response_edge(state: State) -> Literal["give_up", "__end__"]:
    """Return the node after the response: if its model failed, the one that says so."""
    return "__end__" if state.get("stopped") is None else "give_up"


def _guarded(
    node: Callable[[State, RunnableConfig], Awaitable[Update]],
) -> Callable[[State, RunnableConfig], Awaitable[Update]]:
    """Return `node`, ending the graph with the reason if a model gives no valid reply, or none."""

    async def guarded(state: State, config: RunnableConfig) -> Update:
        try:
            return await node(state, config)
        except NoUsableReply as error:
            return {"stopped": {"reason": "reply", "message": str(error)}}
        except ModelError as error:
            return {"stopped": {"reason": "model", "message": error.with_help}}

    return guarded
