"""The parts of LangGraph's graph builder that are used here, typed in full.

Its own types leave parameters of generic classes open, which no strict checker lets pass.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.typing import InputT, StateT


class Wiring(Protocol[StateT, InputT]):
    """A graph that is being put together."""

    def add_node(self, node: str, action: Callable[[StateT], Awaitable[Any]], /) -> object:
        """Add a node of that name."""
        ...

    def add_edge(self, start_key: str | list[str], end_key: str) -> object:
        """Have the second node follow the first; of several, when all of them are over."""
        ...

    def add_conditional_edges(self, source: str, path: Callable[[StateT], str]) -> object:
        """Have that node follow which `path` names."""
        ...

    def compile(
        self, checkpointer: BaseCheckpointSaver[str] | None = None, *, name: str | None = None
    ) -> CompiledStateGraph[StateT, None, InputT, StateT]:
        """Return the graph, ready to be called."""
        ...


def wiring(state: type[StateT], given: type[InputT]) -> Wiring[StateT, InputT]:
    """Return an empty graph with that state, which is called with `given`."""
    builder: Any = StateGraph
    return cast("Wiring[StateT, InputT]", builder(state, input_schema=given))
