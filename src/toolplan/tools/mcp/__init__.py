"""Tools from MCP servers, over stdio and HTTP."""

from toolplan.tools.mcp.notices import Notice as Notice
from toolplan.tools.mcp.notices import RequestRefused as RequestRefused
from toolplan.tools.mcp.notices import ServerLost as ServerLost
from toolplan.tools.mcp.notices import ServerSaid as ServerSaid
from toolplan.tools.mcp.notices import ServerStarted as ServerStarted
from toolplan.tools.mcp.notices import ToolRefused as ToolRefused
from toolplan.tools.mcp.notices import ToolsChanged as ToolsChanged
from toolplan.tools.mcp.servers import Command as Command
from toolplan.tools.mcp.servers import HttpServer as HttpServer
from toolplan.tools.mcp.servers import LocalServer as LocalServer
from toolplan.tools.mcp.servers import Server as Server
from toolplan.tools.mcp.servers import StdioServer as StdioServer
from toolplan.tools.mcp.servers import commands as commands
from toolplan.tools.mcp.servers import read_servers as read_servers
from toolplan.tools.mcp.source import McpSource as McpSource
from toolplan.tools.mcp.source import connected as connected
from toolplan.tools.mcp.source import connected_here as connected_here
