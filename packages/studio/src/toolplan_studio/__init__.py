"""The studio: a page on which plans are seen, approved and watched, and the API behind it."""

from toolplan.mcp_server.http.serving import CannotServe
from toolplan_studio._page import HOW_TO_BUILD, NOT_BUILT, is_built
from toolplan_studio._server import DEFAULT_PORT, TOKEN, http_app, openapi_text, serve

__all__ = [
    "DEFAULT_PORT",
    "HOW_TO_BUILD",
    "NOT_BUILT",
    "TOKEN",
    "CannotServe",
    "http_app",
    "is_built",
    "openapi_text",
    "serve",
]
