"""Tools as Clear AI knows them: classes with `execute`, results with `success`, and a server."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar, Final, NamedTuple, TypeAlias

from toolplan.demo import TOOLS
from toolplan.integrations.clear.settings import ToolInfo
from toolplan.path import Json, json_type
from toolplan.sources.python import StatedEffects
from toolplan.tools import Arguments, Effects, Tool, Toolbox, ToolError, ToolObjectError

FAILED: Final = "EXECUTION_FAILED"
TIMED_OUT: Final = "TIMEOUT"
DATA: Final = "data"


class ToolProblem(NamedTuple):
    """Why a call failed: `EXECUTION_FAILED`, `TIMEOUT` … with a sentence and what else is known."""

    code: str
    message: str
    details: Json = None


class ResultMetadata(NamedTuple):
    """How a call went: milliseconds, when it ended (ISO 8601), and tries beyond the first."""

    execution_time: float = 0.0
    timestamp: str = ""
    retries: int = 0


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of one step.

    Attributes:
        success: whether `data` is what the tool gives.
        tool: the tool's name.
        data: what it gave, without the envelope.
        error: why there is no data.
        metadata: how long it took.
        step_index: which step of the plan it was, counted from 0.
        resolved_params: what the tool was called with, references filled in; a list of such objects
            where the step made a call for each item of a list.
    """

    success: bool
    tool: str
    data: Json = None
    error: ToolProblem | None = None
    metadata: ResultMetadata = field(default_factory=ResultMetadata)
    step_index: int | None = None
    resolved_params: Json = None

    def to_json(self) -> dict[str, Json]:
        """Return the wire form."""
        told: dict[str, Json] = {"success": self.success, "tool": self.tool}
        if self.error is None:
            told["data"] = self.data
        else:
            code, message, details = self.error
            told["error"] = {"code": code, "message": message, "details": details}
        told["metadata"] = {
            "executionTime": self.metadata.execution_time,
            "timestamp": self.metadata.timestamp,
            "retries": self.metadata.retries,
        }
        if self.step_index is not None:
            told["step_index"] = self.step_index
            told["resolved_params"] = self.resolved_params
        return told


class ToolFailed(ToolError):
    """A tool gave a result without success; `problem` is what it said."""

    def __init__(self, problem: ToolProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class BaseTool(ABC):
    """A tool, as a class: name, description, schema, and an `execute` that gives a `ToolResult`.

    `schema` is `{"params": …, "returns": …}`. `params` is a JSON Schema of an object, or a schema
    for each parameter by its name, `"required": true` among its keywords where the tool cannot do
    without. `returns` is the schema of the data. `effects` says what a call may change, `"read"`,
    `"write"` or `"destructive"`; a tool that does not say is treated as destructive, and plans that
    call it need an approval.
    """

    name: ClassVar[str] = ""
    description: ClassVar[str] = ""
    schema: ClassVar[Mapping[str, Json]] = {}
    effects: ClassVar[StatedEffects | None] = None
    idempotent: ClassVar[bool] = False

    def __init__(self, api_url: str = "") -> None:
        """Keep where the tool's data is."""
        self.api_url = api_url

    @abstractmethod
    async def execute(self, params: Arguments) -> ToolResult:
        """Make the call; `params` fit the schema."""
        ...

    def success(self, data: Json, execution_time: float = 0.0) -> ToolResult:
        """Return the result of a call that took `execution_time` milliseconds."""
        return ToolResult(True, self.name, data, metadata=_metadata(execution_time))

    def failure(
        self, message: str, code: str = FAILED, details: Json = None, execution_time: float = 0.0
    ) -> ToolResult:
        """Return the result of a call that did not succeed."""
        problem = ToolProblem(code, message, details)
        return ToolResult(False, self.name, error=problem, metadata=_metadata(execution_time))

    def tool(self) -> Tool:
        """Return the tool as plans call it; what it gives stands under `data`."""

        async def call(arguments: Arguments) -> Json:
            result = await self.execute(arguments)
            if result.success:
                return {DATA: result.data}
            raise ToolFailed(result.error or ToolProblem(FAILED, f"{self.name} failed."))

        returns = self.schema.get("returns")
        return Tool(
            name=self.name or type(self).__name__,
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
    """The tools that plans may call, under a name. Planners ask it each time they plan."""

    def __init__(self, name: str = "toolplan", version: str = "1.0.0") -> None:
        """Begin without any tool."""
        self.name = name
        self.version = version
        self._tools: dict[str, Tool] = {}
        self._toolbox = Toolbox(())

    def register_tool(self, tool: AnyTool) -> None:
        """Let plans call `tool` from now on; one of the same name gives way."""
        known = as_tool(tool)
        self._tools[known.name] = known
        self._toolbox = Toolbox(self._tools.values())

    def register_all_tools(self, tools: Iterable[AnyTool] | str | None = None) -> None:
        """Do what the function `register_all_tools` does with this server.

        Raises:
            ToolObjectError: a base URL was given in place of tools.
        """
        register_all_tools(self, tools)

    def get_tools(self) -> tuple[str, ...]:
        """Return the names of the tools, in the order in which they were registered."""
        return tuple(self._tools)

    @property
    def toolbox(self) -> Toolbox:
        """The tools as they are now; the same object until another one is registered."""
        return self._toolbox


def register_all_tools(server: MCPServer, tools: Iterable[AnyTool] | str | None = None) -> None:
    """Register `tools` with `server`: by default those of the waste-management domain.

    Of a toolbox give `toolbox.values()`; of a REST interface that of its OpenAPI document:
    `openapi_toolbox(document, base_url="http://localhost:4000/api").values()`.

    Raises:
        ToolObjectError: a base URL was given in place of tools.
    """
    if isinstance(tools, str):
        raise ToolObjectError(
            "A base URL does not say what its tools are: give the tools themselves, of a REST"
            " interface `openapi_toolbox(document, base_url=…).values()`."
        )
    for tool in TOOLS.values() if tools is None else tools:
        server.register_tool(tool)


def as_tool(tool: AnyTool) -> Tool:
    """Return `tool` as plans call it."""
    return tool if isinstance(tool, Tool) else tool.tool()


def unwrapped(output: Json) -> Json:
    """Return the data of an output: what stands under `data`, or all of it where there is none.

    Of a step that made a call for each item the lists are put together, in the order of the items.
    """
    if isinstance(output, dict) and DATA in output:
        return output[DATA]
    if isinstance(output, list) and output and all(map(_is_envelope, output)):
        parts = [each[DATA] for each in output if isinstance(each, dict)]
        if all(isinstance(part, list) for part in parts):
            return [row for part in parts if isinstance(part, list) for row in part]
        return parts
    return output


def iso(seconds: float) -> str:
    """Return a time (seconds since the epoch) as ISO 8601 in UTC, with milliseconds and `Z`."""
    told = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return told.replace("+00:00", "Z")


def _is_envelope(value: Json) -> bool:
    return isinstance(value, dict) and DATA in value


def _metadata(execution_time: float) -> ResultMetadata:
    return ResultMetadata(execution_time, iso(datetime.now(UTC).timestamp()))


def _params(params: Json) -> Json:
    """Return the schema of the arguments, from either form of `params`."""
    if params is None:
        return {"type": "object", "properties": {}, "additionalProperties": False}
    if not isinstance(params, dict):
        raise ToolObjectError(f"'params' of a tool's schema is {json_type(params)}, not an object.")
    if params.get("type") == "object" or isinstance(params.get("properties"), dict):
        return params
    properties: dict[str, Json] = {}
    needed: list[Json] = []
    for name, schema in params.items():
        keywords = dict(schema) if isinstance(schema, dict) else {}
        if keywords.pop("required", False) is True:
            needed.append(name)
        properties[name] = keywords
    return {
        "type": "object",
        "properties": properties,
        "required": needed,
        "additionalProperties": False,
    }
