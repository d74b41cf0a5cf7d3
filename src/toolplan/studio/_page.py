"""The built page, as files of the package."""

from __future__ import annotations

from starlette.routing import BaseRoute


def page_routes() -> list[BaseRoute]:
    """Return the routes of the page."""
    return []
