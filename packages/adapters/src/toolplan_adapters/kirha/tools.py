"""Tools as the SDK has them: JSON Schemas as text, and a handler."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias, cast, get_args

from msgspec import Struct
from msgspec.structs import asdict, replace

from toolplan.engine.lost import may_have_happened
from toolplan.plan.path import Json
from toolplan.schema.tool import (
    Arguments,
    Call,
    Effects,
    OutcomeUnknown,
    Toolbox,
    ToolError,
    ToolObjectError,
)
from toolplan.schema.tool import Tool as TypedTool
from toolplan.tools.python import StatedEffects
from toolplan_adapters._calls import call_user

Handler: TypeAlias = Callable[[Any], Any]
"""Takes the arguments, an object, and returns the output; it may be a coroutine function."""

_STATED: Final = frozenset(get_args(StatedEffects))


class Tool(Struct, frozen=True):
    """A tool with its handler.

    JSON Schemas are text or objects. A handler is called with the arguments; None is enough to plan
    and to check. A tool that does not say its effects counts as destructive, and plans that call it
    need an approval.
    """

    name: str
    description: str = ""
    input_schema: Json = None
    output_schema: Json = None
    handler: Handler | None = None
    effects: StatedEffects | None = None
    idempotent: bool = False

    def typed(self) -> TypedTool:
        """Return the tool that plans call."""
        fields = asdict(self).items()
        return _of_mapping({name: value for name, value in fields if value is not None})


AnyTool: TypeAlias = Tool | TypedTool | Mapping[str, object]
"""A tool; of a mapping `inputSchema` and `outputSchema` are read as well as `input_schema` …"""


def toolbox(tools: Iterable[AnyTool]) -> Toolbox:
    """Return `tools` as a toolbox.

    Raises:
        ToolObjectError: one of them is not a tool, or two have the same name.
    """
    if isinstance(tools, Toolbox):
        return tools
    return Toolbox(map(_typed, tools))


def _typed(tool: AnyTool) -> TypedTool:
    if isinstance(tool, TypedTool):
        return tool
    return tool.typed() if isinstance(tool, Tool) else _of_mapping(tool)


def _of_mapping(fields: Mapping[str, object]) -> TypedTool:
    known = TypedTool.from_json(dict(fields))
    handler, effects = fields.get("handler"), fields.get("effects")
    if handler is not None and not callable(handler):
        raise ToolObjectError(f"Tool {known.name!r}: its handler is not a function.")
    if effects is not None and effects not in _STATED:
        raise ToolObjectError(
            f"Tool {known.name!r}: its effects are {effects!r}, not 'read', 'write'"
            " or 'destructive'."
        )
    return replace(
        known,
        effects=known.effects if effects is None else Effects(str(effects)),
        idempotent=known.idempotent or fields.get("idempotent") is True,
        call=None if handler is None else _call(known, cast("Handler", handler)),
        source="kirha",
    )


def _call(known: TypedTool, handler: Handler) -> Call:
    async def call(arguments: Arguments) -> Json:
        try:
            return await call_user(handler, arguments)
        except ToolError:
            raise
        except Exception as error:  # a handler may raise anything; the SDK reports its text alone
            kind = OutcomeUnknown if known.has_effects and may_have_happened(error) else ToolError
            raise kind(str(error) or type(error).__name__) from error

    return call
