"""Tools as in Clear AI: classes with `execute`, results with `success`, and a server."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, Final, NamedTuple, TypeAlias

from msgspec import Struct, field, to_builtins

from toolplan.plan.path import Json, json_type
from toolplan.schema.tool import Arguments, Effects, Tool, Toolbox, ToolError, ToolObjectError
from toolplan.tools.modules import load_module_tools
from toolplan.tools.python import StatedEffects

FAILED: Final = "EXECUTION_FAILED"
DATA: Final = "data"


class ToolInfo(Struct, frozen=True):
    """A tool with the names of its parameters only: enough to plan with."""

    name: str
    description: str = ""
    params: tuple[str, ...] = ()
    required_params: tuple[str, ...] = ()

    def tool(self) -> Tool:
        """Return the tool, which takes any value for each parameter and cannot be called."""
        return Tool(
            name=self.name,
            description=self.description,
            raw_input={
                "type": "object",
                "properties": {name: {} for name in (*self.params, *self.required_params)},
                "required": [*self.required_params],
                "additionalProperties": False,
            },
        )


class ToolProblem(NamedTuple):
    """Why a call failed: a code (`EXECUTION_FAILED`, `TIMEOUT` …), a sentence and details."""

    code: str
    message: str
    details: Json = None


class ResultMetadata(Struct, frozen=True):
    """Metadata of a call: milliseconds, the time of its end (ISO 8601), and the retries."""

    execution_time: float = field(default=0.0, name="executionTime")
    timestamp: str = ""
    retries: int = 0


class ToolResult(Struct, frozen=True):
    """The result of one step: `data` is the tool's output without the envelope.

    `step_index` is the position of the step in the plan, counted from 0.
    """

    success: bool
    tool: str
    data: Json = None
    error: ToolProblem | None = None
    metadata: ResultMetadata = field(default_factory=ResultMetadata)
    step_index: int | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the wire form."""
        document: dict[str, Json] = {"success": self.success, "tool": self.tool}
        if self.error is None:
            document["data"] = self.data
        else:
            document["error"] = self.error._asdict()
        document["metadata"] = to_builtins(self.metadata)
        if self.step_index is not None:
            document["step_index"] = self.step_index
        return document


class BaseTool(ABC):
    """A tool as a class: name, description, schema, and an `execute` that returns a `ToolResult`.

    `schema` is `{"params": …, "returns": …}`. `params` is a JSON Schema of an object, or a schema
    for each parameter by its name, with `"required": true` if it is required. `returns` is the
    schema of the data. `effects` is `"read"`, `"write"` or `"destructive"`; a tool without it
    counts as destructive, and plans that call it need an approval.
    """

    name: ClassVar[str] = ""
    description: ClassVar[str] = ""
    schema: ClassVar[Mapping[str, Json]] = {}
    effects: ClassVar[StatedEffects | None] = None
    idempotent: ClassVar[bool] = False

    def __init__(self, api_url: str = "") -> None:
        self.api_url = api_url

    @abstractmethod
    async def execute(self, params: Arguments) -> ToolResult:
        """Make the call; `params` are valid."""
        ...

    def success(self, data: Json, execution_time: float = 0.0) -> ToolResult:
        """Return a result with `data`; `execution_time` is in milliseconds."""
        return ToolResult(True, self.name, data, metadata=_metadata(execution_time))

    def failure(
        self, message: str, code: str = FAILED, details: Json = None, execution_time: float = 0.0
    ) -> ToolResult:
        """Return the result of a call that failed."""
        problem = ToolProblem(code, message, details)
        return ToolResult(False, self.name, error=problem, metadata=_metadata(execution_time))

    def tool(self) -> Tool:
        """Return the tool that plans call; its output is `{"data": …}`."""

        async def call(arguments: Arguments) -> Json:
            result = await self.execute(arguments)
            if result.success:
                return {DATA: result.data}
            code, text, details = result.error or ToolProblem(FAILED, f"{name} failed.")
            text = text if code == FAILED else f"{code}: {text}"
            shown = "" if details is None else json.dumps(details, ensure_ascii=False)
            raise ToolError(f"{text} {shown}".rstrip())

        name = self.name or type(self).__name__
        returns = self.schema.get("returns")
        return Tool(
            name=name,
            description=self.description,
            raw_input=_params(self.schema.get("params")),
            raw_output={
                "type": "object",
                "properties": {DATA: {} if returns is None else returns},
                "required": [DATA],
            },
            effects=Effects.UNKNOWN if self.effects is None else Effects(self.effects),
            idempotent=self.idempotent,
            call=call,
            source="clear",
        )


AnyTool: TypeAlias = BaseTool | ToolInfo | Tool


class MCPServer:
    """A named set of tools, which planners read each time they plan."""

    def __init__(self, name: str = "toolplan", version: str = "1.0.0") -> None:
        self.name = name
        self.version = version
        self.toolbox = Toolbox(())
        """The tools; the same object until another one is registered."""

    def register_tool(self, tool: AnyTool) -> None:
        """Add `tool`, or replace the one of the same name."""
        known = as_tool(tool)
        self.toolbox = Toolbox({**self.toolbox, known.name: known}.values())

    def get_tools(self) -> tuple[str, ...]:
        """Return the names of the tools, in the order of their registration."""
        return tuple(self.toolbox)


def register_all_tools(server: MCPServer, tools: Iterable[AnyTool] | str | None = None) -> None:
    """Register `tools` with `server`: by default those of the waste-management domain.

    For a toolbox pass `toolbox.values()`; for a REST interface
    `openapi_toolbox(document, base_url="http://localhost:4000/api").values()`.

    Raises:
        ToolObjectError: a base URL was given in place of tools.
    """
    if isinstance(tools, str):
        raise ToolObjectError(
            "A base URL does not list its tools. Pass the tools themselves, for a REST interface"
            " `openapi_toolbox(document, base_url=…).values()`."
        )
    for tool in demo_tools().values() if tools is None else tools:
        server.register_tool(tool)


def demo_tools() -> Toolbox:
    """Return the tools of the waste-management domain, those of the distribution toolplan-demo.

    Raises:
        ToolObjectError: it is not installed; the help is the command that installs it.
    """
    return load_module_tools("toolplan_demo:TOOLS", Path())


def as_tool(tool: AnyTool) -> Tool:
    """Return `tool` as a `Tool`."""
    return tool if isinstance(tool, Tool) else tool.tool()


def unwrapped(output: Json) -> Json:
    """Return the `data` of an output, or all of it if there is none.

    The lists of a step that made a call for each item are joined, in the order of the items.
    """
    if isinstance(output, dict):
        return output.get(DATA, output)
    if not isinstance(output, list):
        return output
    parts = [each[DATA] for each in output if isinstance(each, dict) and DATA in each]
    if not parts or len(parts) < len(output):
        return output
    lists = [part for part in parts if isinstance(part, list)]
    return [row for part in lists for row in part] if len(lists) == len(parts) else parts


def iso(seconds: float) -> str:
    """Return a time (seconds since the epoch) as ISO 8601 in UTC, with milliseconds and `Z`."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _metadata(execution_time: float) -> ResultMetadata:
    return ResultMetadata(execution_time, iso(datetime.now(UTC).timestamp()))


def _params(params: Json) -> Json:
    """Return the schema of the arguments, from either form of `params`."""
    if not isinstance(params, dict | None):
        raise ToolObjectError(f"'params' of a tool's schema is {json_type(params)}, not an object.")
    if params and (params.get("type") == "object" or isinstance(params.get("properties"), dict)):
        return params
    properties = {
        name: dict(schema) if isinstance(schema, dict) else {}
        for name, schema in (params or {}).items()
    }
    needed: list[Json] = [
        name for name, schema in properties.items() if schema.pop("required", False) is True
    ]
    return {
        "type": "object",
        "properties": {**properties},
        "required": needed,
        "additionalProperties": False,
    }
