"""The methods of LangGraph's graph builder that are used here, fully typed for a strict checker."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.typing import InputT, StateT


class Wiring(Protocol[StateT, InputT]):
    """A graph that is being built."""

    def add_node(self, node: str, action: Callable[..., Awaitable[Any]], /) -> object:
        """Add a node."""
        ...

    def add_edge(self, start_key: str | list[str], end_key: str) -> object:
        """Run the second node after the first, or after all of them."""
        ...

    def add_conditional_edges(self, source: str, path: Callable[[StateT], str]) -> object:
        """Run the node that `path` names after the first."""
        ...

    def compile(
        self, checkpointer: BaseCheckpointSaver[str] | None = None, *, name: str | None = None
    ) -> CompiledStateGraph[StateT, None, InputT, StateT]:
        """Return the graph."""
        ...


def wiring(state: type[StateT], given: type[InputT]) -> Wiring[StateT, InputT]:
    """Return an empty graph with this state and this input."""
    builder: Any = StateGraph
    return cast("Wiring[StateT, InputT]", builder(state, input_schema=given))
