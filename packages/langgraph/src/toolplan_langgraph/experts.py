"""Experts: named groups of tools. One group is offered at a time."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from contextlib import ExitStack, contextmanager

from toolplan.base.errors import ToolplanError
from toolplan.schema.tool import Toolbox, ToolObjectError
from toolplan.tools.mcp import McpSource, connected
from toolplan_langgraph.configuration import Configuration


class ExpertUnavailable(ToolplanError):
    """The tools of an expert are not available now."""

    def __init__(self, message: str) -> None:
        super().__init__("expert-unavailable", message)


class Experts:
    """Experts, by `names`, with a toolbox or an MCP server for each."""

    def __init__(self, experts: Mapping[str, Toolbox | McpSource]) -> None:
        self._experts = dict(experts)
        self.names = tuple(self._experts)

    async def tools(self, expert: str) -> Toolbox:
        """Return the tools of one expert; a server lists them now, as `server.tool`.

        Raises:
            ExpertUnavailable: the expert does not exist, or its server cannot be reached.
        """
        known = self._experts.get(expert)
        if known is None:
            raise ExpertUnavailable(f"There is no expert {expert!r}.")
        if isinstance(known, Toolbox):
            return known
        try:
            return await known.tools()
        except ToolObjectError as error:
            raise ExpertUnavailable(str(error)) from None


@contextmanager
def connected_experts(
    configuration: Configuration, environment: Mapping[str, str], trusted: Collection[str] = ()
) -> Generator[Experts, None, None]:
    """Yield the experts of `configuration`, one MCP server each.

    A server is started when its tools are first needed. It keeps its state from one call, task and
    conversation to the next, and ends with this context. `trusted` are the servers that are
    believed when they say that a tool only reads; a person is asked before calls of others.

    Raises:
        ToolObjectError: an entry of the configuration is not valid.
    """
    with ExitStack() as stack:
        yield Experts(
            {
                name: stack.enter_context(connected({name: server}, trusted=trusted))
                for name, server in configuration.servers(environment).items()
            }
        )
