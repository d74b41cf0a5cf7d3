"""A server over scripted tools, and a client of the SDK that talks to it in this process."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from mcp import Client
from mcp.client import ClientRequestContext
from mcp.server import Server
from mcp.types import (
    CallToolResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    TextContent,
)

from toolplan import App, Effects, Journal, Toolbox
from toolplan.mcp_server import Backend, make_server
from toolplan.mcp_server._runs import Values
from toolplan.plan.path import Json
from toolplan.planners import Planner
from toolplan.policy.approval import Approver
from toolplan.testing import Gives, Outcome, ScriptedPlanner, ScriptedTools

PEOPLE: Json = {
    "type": "object",
    "properties": {"data": {"type": "array", "items": {"type": "string"}}},
    "required": ["data"],
}
TEAM: Json = {"type": "object", "properties": {"team": {"type": "string"}}, "required": ["team"]}
MAIL: Json = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}

READS: Json = {
    "toolplan": 1,
    "steps": [{"id": "people", "tool": "people", "args": {"team": "red"}}],
}
WRITES: Json = {
    "toolplan": 1,
    "steps": [
        {"id": "people", "tool": "people", "args": {"team": "red"}},
        {"id": "mail", "tool": "send", "args": {"to": "${item}"}, "for_each": "${people.data}"},
    ],
}

SAID: Json = {"toolplan": 1, "steps": [{"id": "mail", "tool": "send", "args": {"to": "ann"}}]}
"""A plan with effects whose values stand in it."""

Era = Literal["auto", "legacy"]
Action = Literal["accept", "decline", "cancel"]
T = TypeVar("T")


class Person:
    """What the user of a client says to each form, and what they were shown."""

    def __init__(self, *answers: tuple[Action, Json]) -> None:
        self.shown: list[str] = []
        self._answers = list(answers)

    async def __call__(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        self.shown.append(params.message)
        action, said = self._answers[min(len(self.shown), len(self._answers)) - 1]
        return ElicitResult(action=action, content=said)  # pyright: ignore[reportArgumentType]


def scripted(*outcomes: Outcome) -> ScriptedTools:
    """Return `people` (reads, does `outcomes`) and `send` (writes)."""
    tools = ScriptedTools()
    tools.add(
        "people",
        *(outcomes or (Gives({"data": ["ann", "bob"]}),)),
        input_schema=TEAM,
        output_schema=PEOPLE,
    )
    tools.add("send", input_schema=MAIL, effects=Effects.WRITE)
    return tools


@dataclass
class Served:
    """A server, and what it works with."""

    server: Server[str]
    runs: Backend
    journal: Journal
    toolbox: Toolbox

    async def call(self, tool: str, /, **arguments: Any) -> Any:
        """Call a tool as a client of its own does, and give the structured content."""
        async with Client(self.server) as client:
            return content(await client.call_tool(tool, arguments))

    async def refused(self, tool: str, /, **arguments: Any) -> Any:
        """Call a tool that refuses, and give the structured content with its error."""
        async with Client(self.server) as client:
            return error(await client.call_tool(tool, arguments))


def content(result: CallToolResult) -> Any:
    assert not result.is_error, result.structured_content
    return result.structured_content


def text(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def error(result: CallToolResult) -> Any:
    assert result.is_error, result.structured_content
    return result.structured_content


@asynccontextmanager
async def serving(
    folder: Path,
    toolbox: Toolbox,
    planner: Planner | None = None,
    *,
    approve: Approver | Values | None = None,
    elicit: bool = False,
    studio: str | None = None,
    **options: Any,
) -> AsyncGenerator[Served]:
    """Yield a server whose journal is in `folder`; `options` are those of `App`."""
    with closing(Journal(folder / "runs.sqlite")) as journal:
        app = App(toolbox, planner or ScriptedPlanner("{}"), journal=journal, **options)
        async with Backend(app, approve=approve, elicit=elicit, studio=studio) as backend:
            server = make_server(backend)
            yield Served(server, backend, journal, toolbox)


def in_loop(work: Callable[[], Awaitable[T]]) -> T:
    """Run `work` to its end in a loop of its own, within 30 seconds."""

    async def bounded() -> T:
        async with asyncio.timeout(30):
            return await work()

    return asyncio.run(bounded())
