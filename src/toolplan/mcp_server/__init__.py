"""toolplan as an MCP server: questions become plans, which are checked, and run unchanged."""

from toolplan.http_server.serving import CannotServe
from toolplan.mcp_server._errors import CallRefused
from toolplan.mcp_server._serve import (
    DEFAULT_PORT,
    PATH,
    Transport,
    checked_rules,
    http_app,
    http_token,
    serve,
)
from toolplan.mcp_server._server import Backend, make_server

__all__ = [
    "DEFAULT_PORT",
    "PATH",
    "Backend",
    "CallRefused",
    "CannotServe",
    "Transport",
    "checked_rules",
    "http_app",
    "http_token",
    "make_server",
    "serve",
]
