"""Where tools come from: Python, files, MCP servers, OpenAPI documents, and other packages."""

from toolplan.tools._base import OpenedTools, ServerStatus, SourceContext, ToolSource, plain_name
from toolplan.tools.learned import (
    LearnedError,
    LearnedSchema,
    LearnedSchemas,
    learn,
    tool_digest,
)
from toolplan.tools.modules import toolbox_of
from toolplan.tools.python import tool

__all__ = [
    "LearnedError",
    "LearnedSchema",
    "LearnedSchemas",
    "OpenedTools",
    "ServerStatus",
    "SourceContext",
    "ToolSource",
    "learn",
    "plain_name",
    "tool",
    "tool_digest",
    "toolbox_of",
]
