"""toolplan as an MCP server: questions become plans, plans are checked, and run as they are."""

from toolplan.mcp_server._options import Options
from toolplan.mcp_server._plans import Plans
from toolplan.mcp_server._refused import CallRefused, CannotServe
from toolplan.mcp_server._runs import Runs
from toolplan.mcp_server._serve import (
    DEFAULT_PORT,
    PATH,
    Transport,
    checked_rules,
    http_app,
    serve,
)
from toolplan.mcp_server._server import Desk, make_server

__all__ = [
    "DEFAULT_PORT",
    "PATH",
    "CallRefused",
    "CannotServe",
    "Desk",
    "Options",
    "Plans",
    "Runs",
    "Transport",
    "checked_rules",
    "http_app",
    "make_server",
    "serve",
]
