"""Experts: named groups of tools. One group is offered at a time."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Protocol

from toolplan.integrations.langgraph.configuration import Configuration
from toolplan.sources.mcp import McpSource, connected
from toolplan.tools import Toolbox, ToolObjectError


class ExpertUnavailable(Exception):
    """An expert's tools cannot be had at the moment; the text says why."""


class Experts(Protocol):
    """Where the tools of experts come from."""

    @property
    def names(self) -> Sequence[str]:
        """The experts that there are."""
        ...

    async def tools(self, expert: str) -> Toolbox:
        """Return the tools of one expert.

        Raises:
            ExpertUnavailable: they cannot be had.
        """
        ...


class FixedExperts:
    """Experts whose tools are known beforehand."""

    def __init__(self, toolboxes: Mapping[str, Toolbox]) -> None:
        """Hold the toolbox of each expert by its name."""
        self._toolboxes = dict(toolboxes)

    @property
    def names(self) -> Sequence[str]:
        """The experts that there are."""
        return tuple(self._toolboxes)

    async def tools(self, expert: str) -> Toolbox:
        """Return the tools of one expert.

        Raises:
            ExpertUnavailable: there is no such expert.
        """
        if expert not in self._toolboxes:
            raise ExpertUnavailable(f"There is no expert {expert!r}.")
        return self._toolboxes[expert]


class McpExperts:
    """Experts that are MCP servers; each connection lasts as long as its source."""

    def __init__(self, sources: Mapping[str, McpSource]) -> None:
        """Hold a source for each expert, so that one that is down holds up no other."""
        self._sources = dict(sources)

    @property
    def names(self) -> Sequence[str]:
        """The experts that there are."""
        return tuple(self._sources)

    async def tools(self, expert: str) -> Toolbox:
        """Return the tools that the server lists now, named `server.tool`.

        Raises:
            ExpertUnavailable: the server cannot be reached, or there is none of that name.
        """
        if expert not in self._sources:
            raise ExpertUnavailable(f"There is no expert {expert!r}.")
        try:
            return await self._sources[expert].tools()
        except ToolObjectError as error:
            raise ExpertUnavailable(str(error)) from None


@contextmanager
def connected_experts(
    configuration: Configuration, environment: Mapping[str, str]
) -> Generator[McpExperts, None, None]:
    """Yield the experts of `configuration`, their servers kept open until this is left.

    A server is started when its tools are first asked for, and keeps its state from one call, one
    task and one conversation to the next.

    Raises:
        ToolObjectError: an entry of the configuration cannot be used.
    """
    with ExitStack() as open_sources:
        yield McpExperts(
            {
                name: open_sources.enter_context(connected({name: server}))
                for name, server in configuration.servers(environment).items()
            }
        )
