"""The strategy as a compiled graph: plan, orchestrate, call, assess, advance, respond."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, TypeAlias

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from toolplan.plan.model import Limits
from toolplan.providers import ModelError
from toolplan.schema.tool import Toolbox
from toolplan.storage.journal import Store
from toolplan_langgraph._nodes import NODES, Goto, Nodes
from toolplan_langgraph.configuration import Configuration, ConfigurationError
from toolplan_langgraph.experts import Experts
from toolplan_langgraph.models import AnyModel, OpenModels, RoleModels
from toolplan_langgraph.state import InputState, State, Stop, Stopped

Strategy: TypeAlias = CompiledStateGraph[State, None, InputState, State]


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
    known = Experts(experts) if isinstance(experts, Mapping) else experts
    if not known.names:
        raise ConfigurationError("There is no expert; name servers in mcp_server_config.")
    roles = models if isinstance(models, RoleModels) else RoleModels(*[models] * 4)
    opened = OpenModels(keys)
    nodes = Nodes(configuration, known, roles, journal, limits, timeout_s, clock, new_id)

    builder: Any = StateGraph
    graph = builder(state_schema, input_schema=InputState if state_schema is State else None)
    graph.add_edge(START, "planner")
    for name, after in NODES.items():
        graph.add_node(name, _node(name, nodes, opened), destinations=after)
    # the limit of LangGraph itself comes after ours, which say why the graph ended: a round has
    # at most 4 nodes
    most = configuration.caps.rounds * 4 + 20
    return graph.compile(checkpointer=checkpointer).with_config({"recursion_limit": most})


def _node(
    name: str, nodes: Nodes, opened: OpenModels
) -> Callable[[State, RunnableConfig], Awaitable[Goto]]:
    """Return the node `name`; where it stops or its model fails, `give_up` follows."""

    async def node(state: State, config: RunnableConfig) -> Goto:
        configured = nodes.configured(config.get("configurable", {}), opened)
        try:
            return await getattr(configured, name)(state)
        except Stop as stop:
            update = {**stop.update, "stopped": stop.stopped}
        except ModelError as error:
            update = {"stopped": Stopped(reason="model", message=error.with_help)}
        return Command(goto="give_up", update=update)

    return node
