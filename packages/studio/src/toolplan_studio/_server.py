"""The FastAPI application: the API, its errors, and the built page."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.responses import Response

from toolplan.app.app import App
from toolplan.errors import ToolplanError
from toolplan.render.printable import printable
from toolplan_studio._active import ActiveRuns
from toolplan_studio._errors import problem_response, status_of
from toolplan_studio._page import STATIC, page_routes
from toolplan_studio._routes import SHOWN_ELSEWHERE, entrance, router
from toolplan_studio._session import Sessions
from toolplan_studio._studio import Studio

logger = logging.getLogger("toolplan")

_MOST_FAULTS: Final = 3


def make_app(
    app: App, sessions: Sessions, page: Path = STATIC, active: ActiveRuns | None = None
) -> FastAPI:
    """Return the application that serves `app`: the API and the page, without its guard."""
    studio = Studio(app, ActiveRuns() if active is None else active)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        yield
        await studio.active.stop()

    served = _api(lifespan)
    served.state.studio = studio
    served.state.sessions = sessions
    served.router.routes.extend(page_routes(page))
    return served


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
    return problem_response(error.code, error.message, status_of(error.code), error.help)


async def _invalid(_: Request, error: RequestValidationError) -> Response:
    found = [_fault(each) for each in error.errors()]
    shown = "; ".join(found[:_MOST_FAULTS])
    more = f"; and {len(found) - _MOST_FAULTS} more" if len(found) > _MOST_FAULTS else ""
    return problem_response("bad-request", f"{shown}{more}.", 422)


def _fault(error: dict[str, Any]) -> str:
    place = ".".join(str(each) for each in error["loc"])
    return printable(f"{place}: {error['msg']}")[:300]


async def _http(_: Request, error: HTTPException) -> Response:
    code = {404: "not-found", 405: "method-not-allowed"}.get(error.status_code, "bad-request")
    detail = "There is nothing at this address." if code == "not-found" else error.detail
    return problem_response(code, detail, error.status_code)


async def _broken(_: Request, error: Exception) -> Response:
    logger.error("The studio failed.", exc_info=error)
    help_ = "This is a fault of the studio; its log has the details."
    return problem_response("internal", f"The studio failed: {type(error).__name__}.", 500, help_)
