"""The built page, as files of the package, and the headers under which browsers show it."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

STATIC: Final = Path(__file__).parent / "static"
"""Where the build of the page writes; it is not in the repository."""

NOT_BUILT: Final = "The page of the studio is not built."
HOW_TO_BUILD: Final = (
    "In a clone, `make studio` builds it (or in web/: npm ci, then npm run build). "
    "A wheel of toolplan-studio contains it."
)

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'{nonce}; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
_ALWAYS: Final = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def is_built(folder: Path = STATIC) -> bool:
    """Return whether there is a page to serve."""
    return (folder / "index.html").is_file()


def page_routes(folder: Path) -> list[BaseRoute]:
    """Return the routes of the page in `folder`."""

    async def index(_: Request) -> Response:
        if not is_built(folder):
            return PlainTextResponse(f"{NOT_BUILT} {HOW_TO_BUILD}\n", 503)
        nonce = secrets.token_urlsafe(16)
        # for style sheets that the editor makes while it runs
        mark = f'<head><meta name="csp-nonce" content="{nonce}" />'
        text = (folder / "index.html").read_text("utf-8").replace("<head>", mark, 1)
        policy = _POLICY.format_map({"nonce": f" 'nonce-{nonce}'"})
        return HTMLResponse(text, headers={"content-security-policy": policy})

    pages = [Route("/", index), Route("/index.html", index)]
    if not folder.is_dir():  # nothing is built: each address says so
        return [*pages, Route("/{path:path}", index)]
    return [*pages, Mount("/", GZipMiddleware(StaticFiles(directory=folder)))]


def safe_headers(app: ASGIApp) -> ASGIApp:
    """Return `app` with the headers for browsers in each response."""

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        path = str(scope.get("path", ""))

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _ALWAYS.items():
                    headers[name] = value
                headers.setdefault("content-security-policy", _POLICY.format_map({"nonce": ""}))
                lasts = path.startswith("/assets/") and message["status"] == 200
                kept = "public, max-age=31536000, immutable"  # their names contain a hash
                headers["cache-control"] = kept if lasts else "no-store"
            await send(message)

        await app(scope, receive, send_with_headers)

    return served
