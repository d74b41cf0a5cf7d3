"""toolplan as an MCP server: questions become plans, which are checked, and run unchanged."""

from toolplan.http_server.serving import CannotServe
from toolplan.mcp_server._server import DEFAULT_PORT, Backend, http_token, make_server, serve

__all__ = ["DEFAULT_PORT", "Backend", "CannotServe", "http_token", "make_server", "serve"]
