"""Where tools come from: Python, files, MCP servers, OpenAPI documents, and other packages."""

from toolplan.tools._base import OpenedTools as OpenedTools
from toolplan.tools._base import ServerStatus as ServerStatus
from toolplan.tools._base import SourceContext as SourceContext
from toolplan.tools._base import ToolSource as ToolSource
from toolplan.tools._base import plain_name as plain_name
