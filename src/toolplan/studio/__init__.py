"""The studio: a page on which plans are seen, approved and watched, and the API behind it."""

from toolplan.studio._server import make_app, openapi_text

__all__ = ["make_app", "openapi_text"]
