"""Serving the studio on one address of this machine."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from msgspec.structs import replace
from starlette.types import ASGIApp

from toolplan.app.app import App
from toolplan.app.home import home
from toolplan.errors import ToolplanError
from toolplan.http_server.guard import Guard, Rules
from toolplan.http_server.secret_file import kept_secret
from toolplan.http_server.serving import CannotServe, checked_rules, serve_http
from toolplan_studio._active import ActiveRuns
from toolplan_studio._errors import problem
from toolplan_studio._page import STATIC, SafeHeaders
from toolplan_studio._server import make_app
from toolplan_studio._session import Sessions

DEFAULT_PORT: Final = 8321
TOKEN: Final = "TOOLPLAN_STUDIO_TOKEN"  # noqa: S105 — the name of a variable
KEY: Final = "studio.key"

_KEY_SIZE: Final = 32
_HEADER: Final = re.compile(r"[A-Za-z0-9-]{1,100}")


async def serve(
    app: App,
    *,
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    token: str | None = None,
    origins: Collection[str] = (),
    user_header: str | None = None,
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Serve the studio until the task is cancelled or the process gets a signal.

    A signal cancels the active runs; each can be resumed.

    Args:
        app: plans and runs; the studio shows all runs of its journal.
        host: the name or address to listen on; any but loopback needs a token.
        port: the port to listen on; 0 selects a free one.
        token: a token that lets people in, 16 characters or more.
        origins: other addresses of the studio, as `https://plans.example`: those of proxies.
        user_header: the header in which a proxy names the user.
        on_ready: called with the URL that lets one person in, when the server accepts requests.

    Raises:
        CannotServe: the address is not safe or not free, or the token is weak.
        ToolplanError: an option is wrong.
    """
    rules = checked_rules(host, token, [*map(_host_of, origins)], origins)
    if user_header is not None and not _HEADER.fullmatch(user_header):
        raise ToolplanError(
            "usage", f"{user_header!r} is not the name of a header.", "As in X-Forwarded-User."
        )
    sessions = Sessions(session_key(token), token=token, user_header=user_header)

    def ready(url: str) -> None:
        if on_ready is not None:
            on_ready(f"{url}/#token={sessions.one_time_token()}")

    await serve_http(http_app(app, sessions, rules), host, port, ready)


def http_app(
    app: App,
    sessions: Sessions,
    rules: Rules,
    page: Path = STATIC,
    active: ActiveRuns | None = None,
) -> ASGIApp:
    """Return the ASGI application that serves the studio, behind the guard."""
    # a token is exchanged for a cookie: the guard does not ask for it with each request
    guarded = Guard(make_app(app, sessions, page, active), replace(rules, token=None), _refusal)
    return SafeHeaders(guarded)


def session_key(token: str | None, folder: Path | None = None) -> bytes:
    """Return the key of cookies: the same after a restart, so that open pages continue.

    With a token it is made from it, so that another token ends all sessions. Else it is kept in the
    user's data folder.

    Raises:
        ToolplanError: the file cannot be read or written.
    """
    if token is not None:
        return hashlib.sha256(f"toolplan studio {token}".encode()).digest()
    path = (home() if folder is None else folder) / KEY
    key, _ = kept_secret(path, secrets.token_bytes(_KEY_SIZE))
    if len(key) != _KEY_SIZE:
        raise ToolplanError("storage", f"The file {path} is damaged.", "Delete it.")
    return key


def _host_of(origin: str) -> str:
    parts = urlsplit(origin)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
        raise CannotServe(
            "usage", f"{origin!r} is not an address of pages.", "As in https://plans.example."
        )
    return f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname


def _refusal(status: int, code: str, message: str) -> object:
    return problem(code, message, None, status)
