"""Errors of the studio, as a page gets them: problem JSON with code, message and help."""

from __future__ import annotations

from typing import Final

from starlette.responses import JSONResponse, Response

from toolplan.base.errors import ToolplanError
from toolplan.show.printable import printable

STATUS: Final = {
    "unknown-run": 404,
    "unknown-tool": 404,
    "unknown-step": 404,
    "not-found": 404,
    "unauthorised": 401,
    "no-user": 401,
    "foreign-site": 403,
    "has-effects": 403,
    "run-exists": 409,
    "run-over": 409,
    "journal-taken": 409,
    "journal-failover": 409,
    "approval-used": 409,
    "approval-required": 409,
    "digest-changed": 409,
    "not-allowed-now": 409,
    "cannot-run": 409,
    "busy": 429,
    "journal-damaged": 500,
    "journal-unavailable": 503,
    "journal-locked": 503,
    "journal-full": 503,
    "storage": 503,
    "planner-failed": 502,
}
"""The status of the response by the code of the error."""
PROBLEM: Final = "application/problem+json"


class Refused(ToolplanError):
    """A request that cannot be done now; `code` decides the status."""


def problem(code: str, detail: str, help_: str | None, status: int) -> dict[str, object]:
    """Return the body of a response with an error."""
    title = code.replace("-", " ").capitalize()
    return {"code": code, "title": title, "status": status, "detail": detail, "help": help_}


def problem_response(code: str, detail: str, status: int, help_: str | None = None) -> Response:
    """Return a response with an error."""
    shown = None if help_ is None else printable(help_)
    return JSONResponse(problem(code, printable(detail), shown, status), status, media_type=PROBLEM)
