"""Tools from MCP servers, over stdio and HTTP."""

from toolplan.sources.mcp.notices import (
    Notice,
    RequestRefused,
    ServerLost,
    ServerSaid,
    ServerStarted,
    ToolRefused,
    ToolsChanged,
)
from toolplan.sources.mcp.servers import (
    Command,
    HttpServer,
    LocalServer,
    Server,
    StdioServer,
    commands,
    read_servers,
)
from toolplan.sources.mcp.source import McpSource, connected, connected_here

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
