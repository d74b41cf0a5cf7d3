"""Where tools come from: Python functions, files and modules, and the built-in tool `sql`."""

from toolplan.sources._base import OpenedTools, SourceContext, ToolSource

__all__ = ["OpenedTools", "SourceContext", "ToolSource"]
