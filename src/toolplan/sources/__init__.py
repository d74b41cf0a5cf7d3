"""Where tools come from: Python, files, MCP servers, OpenAPI documents, and other packages."""

from toolplan.sources._base import OpenedTools, SourceContext, ToolSource

__all__ = ["OpenedTools", "SourceContext", "ToolSource"]
