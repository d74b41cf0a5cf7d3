"""Where tools come from: Python, files, MCP servers, OpenAPI documents, and other packages."""

from toolplan.sources._base import OpenedTools, ServerStatus, SourceContext, ToolSource

__all__ = ["OpenedTools", "ServerStatus", "SourceContext", "ToolSource"]
