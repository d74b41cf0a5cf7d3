"""The server of the studio: the API, its errors and the built page, on one address."""

from __future__ import annotations

import hashlib
import json
import logging
import re
import secrets
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp

from toolplan.app.app import App
from toolplan.app.settings import home
from toolplan.base.errors import ToolplanError
from toolplan.mcp_server.http.guard import Guard, Rules
from toolplan.mcp_server.http.serving import CannotServe, checked_rules, kept_secret, serve_http
from toolplan.show.printable import printable
from toolplan_studio._active import ActiveRuns
from toolplan_studio._errors import STATUS, problem, problem_response
from toolplan_studio._page import STATIC, page_routes, safe_headers
from toolplan_studio._routes import SHOWN_ELSEWHERE, entrance, router
from toolplan_studio._session import Sessions
from toolplan_studio._studio import Studio

logger = logging.getLogger("toolplan")
DEFAULT_PORT: Final = 8321
TOKEN: Final = "TOOLPLAN_STUDIO_TOKEN"  # noqa: S105 — the name of a variable
KEY: Final = "studio.key"
_KEY_SIZE: Final = 32
_HEADER: Final = re.compile(r"[A-Za-z0-9-]{1,100}")
_MOST_FAULTS: Final = 3


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
    hosts: list[str] = []
    for origin in origins:
        parts = urlsplit(origin)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
            message = f"{origin!r} is not an address of pages."
            raise CannotServe("usage", message, "As in https://plans.example.")
        hosts.append(f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname)
    rules = checked_rules(host, token, hosts, origins)
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
    """Return the ASGI application that serves the API and the page, behind the guard."""
    studio = Studio(app, ActiveRuns() if active is None else active)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        yield
        await studio.active.stop()

    served = _api(lifespan)
    served.state.studio = studio
    served.state.sessions = sessions
    served.router.routes.extend(page_routes(page))
    # a token is exchanged for a cookie: the guard does not ask for it with each request
    guard = Guard(
        served,
        replace(rules, token=None),
        lambda status, code, message: problem(code, message, None, status),
    )
    return safe_headers(guard)


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


def openapi_text() -> str:
    """Return the OpenAPI document of the API, as it is kept for the page."""
    served = _api(None)
    document = get_openapi(
        title=served.title,
        version="1",
        openapi_version=served.openapi_version,
        description="Plans are made, checked, approved and watched. Errors are problem JSON.",
        routes=served.routes,
    )
    schemas: dict[str, Any] = document["components"]["schemas"]
    for model in SHOWN_ELSEWHERE:
        found = model.model_json_schema(
            mode="serialization", ref_template="#/components/schemas/{model}"
        )
        schemas |= found.pop("$defs", {})
        schemas[model.__name__] = found
    document["components"]["schemas"] = dict(sorted(schemas.items()))
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _api(lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]] | None) -> FastAPI:
    served = FastAPI(
        title="toolplan studio",
        lifespan=lifespan,
        docs_url=None,  # these pages load scripts from other hosts
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
        exception_handlers={
            ToolplanError: _refused,
            RequestValidationError: _invalid,
            HTTPException: _http,
            Exception: _broken,
        },
    )
    served.include_router(entrance)
    served.include_router(router)
    return served


async def _refused(_: Request, error: ToolplanError) -> Response:
    status = STATUS.get(error.code, 502 if error.code.startswith("llm-") else 422)
    return problem_response(error.code, error.message, status, error.help)


async def _invalid(_: Request, error: RequestValidationError) -> Response:
    found = [
        printable(f"{'.'.join(map(str, each['loc']))}: {each['msg']}")[:300]
        for each in error.errors()
    ]
    shown = "; ".join(found[:_MOST_FAULTS])
    more = f"; and {len(found) - _MOST_FAULTS} more" if len(found) > _MOST_FAULTS else ""
    return problem_response("bad-request", f"{shown}{more}.", 422)


async def _http(_: Request, error: HTTPException) -> Response:
    code = {404: "not-found", 405: "method-not-allowed"}.get(error.status_code, "bad-request")
    detail = "There is nothing at this address." if code == "not-found" else error.detail
    return problem_response(code, detail, error.status_code)


async def _broken(_: Request, error: Exception) -> Response:
    logger.error("The studio failed.", exc_info=error)
    help_ = "This is a fault of the studio; its log has the details."
    return problem_response("internal", f"The studio failed: {type(error).__name__}.", 500, help_)
