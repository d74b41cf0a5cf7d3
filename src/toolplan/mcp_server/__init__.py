"""toolplan as an MCP server: questions become plans, which are checked, and run unchanged."""

from toolplan.mcp_server._server import DEFAULT_PORT, Backend, http_token, make_server, serve
from toolplan.mcp_server.http.serving import CannotServe

__all__ = ["DEFAULT_PORT", "Backend", "CannotServe", "http_token", "make_server", "serve"]
