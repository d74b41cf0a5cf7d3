"""The studio: a page on which plans are seen, approved and watched, and the API behind it."""

from toolplan.http_server.serving import CannotServe
from toolplan_studio._page import HOW_TO_BUILD, NOT_BUILT, is_built
from toolplan_studio._serve import DEFAULT_PORT, TOKEN, http_app, serve
from toolplan_studio._server import make_app, openapi_text

__all__ = [
    "DEFAULT_PORT",
    "HOW_TO_BUILD",
    "NOT_BUILT",
    "TOKEN",
    "CannotServe",
    "http_app",
    "is_built",
    "make_app",
    "openapi_text",
    "serve",
]
