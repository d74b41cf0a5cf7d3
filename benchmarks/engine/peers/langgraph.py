"""LangGraph: a node a step, an edge a reference, the outputs in its state; no checkpointer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import Annotated, Any, Final, TypedDict

from benchmarks.engine.graphs import Work
from benchmarks.engine.peers.peer import Peer, Prepare, always_open, prepared
from toolplan.policy.execution_plan import ExecutionPlan


def _merged(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {**one, **other}


class _State(TypedDict):
    """What the graph passes on: the outputs so far."""

    outputs: Annotated[dict[str, int], _merged]


def _compiled(plan: ExecutionPlan, work: Work) -> Prepare:
    library: Any = import_module("langgraph.graph")
    graph: Any = library.StateGraph(_State)
    for name in plan.order:
        graph.add_node(name, _node(name, work))
    for name in plan.order:
        graph.add_edge(list(plan.needs[name]) or library.START, name)
    compiled: Any = graph.compile()
    bound = {"recursion_limit": 10 * len(plan.order)}
    return prepared(lambda: compiled.ainvoke({"outputs": {}}, config=bound))


def _node(name: str, work: Work) -> Callable[[_State], Awaitable[_State]]:
    async def node(state: _State) -> _State:
        await work({"key": name})
        return {"outputs": {name: 1}}

    return node


LANGGRAPH: Final = Peer(
    "langgraph", always_open(_compiled), "keeps the outputs in memory", ("langgraph",)
)
