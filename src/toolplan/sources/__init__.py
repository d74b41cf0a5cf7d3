"""Where tools come from: Python, files, MCP servers, OpenAPI documents, and other packages."""

from typing import TYPE_CHECKING

from toolplan.lazy import names_of

if TYPE_CHECKING:
    from toolplan.sources._base import OpenedTools, ServerStatus, SourceContext, ToolSource
    from toolplan.sources.learned import (
        Drift,
        LearnedError,
        LearnedSchema,
        LearnedSchemas,
        learn,
        tool_digest,
    )
    from toolplan.sources.members import toolbox_of
    from toolplan.sources.python import tool
else:
    __getattr__ = names_of(
        __name__,
        _base="OpenedTools ServerStatus SourceContext ToolSource",
        learned="Drift LearnedError LearnedSchema LearnedSchemas learn tool_digest",
        members="toolbox_of",
        python="tool",
    )

__all__ = [
    "Drift",
    "LearnedError",
    "LearnedSchema",
    "LearnedSchemas",
    "OpenedTools",
    "ServerStatus",
    "SourceContext",
    "ToolSource",
    "learn",
    "tool",
    "tool_digest",
    "toolbox_of",
]
