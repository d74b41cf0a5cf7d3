"""Tools from MCP servers, over stdio and HTTP."""

from toolplan.tools.mcp.notices import (
    Notice,
    RequestRefused,
    ServerLost,
    ServerSaid,
    ServerStarted,
    ToolRefused,
    ToolsChanged,
)
from toolplan.tools.mcp.servers import (
    Command,
    HttpServer,
    LocalServer,
    Server,
    StdioServer,
    commands,
    read_servers,
)
from toolplan.tools.mcp.source import McpSource, connected, connected_here

__all__ = [
    "Command",
    "HttpServer",
    "LocalServer",
    "McpSource",
    "Notice",
    "RequestRefused",
    "Server",
    "ServerLost",
    "ServerSaid",
    "ServerStarted",
    "StdioServer",
    "ToolRefused",
    "ToolsChanged",
    "commands",
    "connected",
    "connected_here",
    "read_servers",
]
