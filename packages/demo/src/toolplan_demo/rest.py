"""The demo domain as a REST API with its own OpenAPI document at `/openapi.json`.

Answers are `{"success": true, "data": …, "count": …}` or `{"success": false, "error": {"message":
…}}`. A filter that is not known, or a value that is not what it should be, is refused: it would
else silently widen the answer (C-36).
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from http import HTTPStatus
from typing import Final, TypeAlias
from urllib.parse import unquote_plus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route as PathRoute
from starlette.types import ASGIApp

from toolplan.mcp_server.http.guard import Guard, Rules
from toolplan.mcp_server.http.serving import serve_http
from toolplan.plan.path import Json
from toolplan.schema.tool import Tool, Toolbox, ToolError
from toolplan_demo.rest_document import PREFIX, Route, openapi_document, routes_of
from toolplan_demo.tools import wrong_arguments

DOCUMENT_PATH: Final = "/openapi.json"
LOOPBACK: Final = "127.0.0.1"
MAX_BODY: Final = 1_000_000
MAX_HEAD: Final = 1_000_000
"""Bytes of a request without its body: lists of ids stand in the query."""

_BOOLEANS: Final[Mapping[str, Json]] = {"true": True, "false": False}
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?")
_MESSAGES: Final = {404: "There is nothing at this path.", 405: "The method is not allowed here."}
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")

Endpoint: TypeAlias = Callable[[Request], Awaitable[JSONResponse]]


def application(tools: Toolbox, *, allow_hosts: Collection[str] = ()) -> ASGIApp:
    """Return the API over `tools` as an ASGI application.

    It answers requests that name this machine as their host, or one of `allow_hosts`.
    """
    by_path: dict[str, list[Route]] = {}
    for route in routes_of(tools):
        by_path.setdefault(route.path, []).append(route)
    document = openapi_document(tools)

    async def give_document(_request: Request) -> JSONResponse:
        return JSONResponse(document)

    routes = [PathRoute(DOCUMENT_PATH, give_document, methods=["GET"])]
    for path, listed in by_path.items():
        endpoints = {each.method: _endpoint(each, tools[each.tool]) for each in listed}
        routes.append(PathRoute(PREFIX + path, _by_method(endpoints), methods=list(endpoints)))
    served = Starlette(routes=routes, exception_handlers={HTTPException: _refused})
    rules = Rules(hosts=allow_hosts, most_body=MAX_BODY)
    return Guard(served, rules, lambda _status, _code, message: _error(message))


async def serve(tools: Toolbox, port: int, on_ready: Callable[[str], None] | None = None) -> None:
    """Serve the API over `tools` on this machine until the task is cancelled.

    Raises:
        CannotServe: the port is in use.
    """
    await serve_http(application(tools), LOOPBACK, port, on_ready, most_head=MAX_HEAD)


def _by_method(endpoints: Mapping[str, Endpoint]) -> Endpoint:
    async def answer(request: Request) -> JSONResponse:
        # HEAD is served as GET, whose content the server leaves out
        return await endpoints["GET" if request.method == "HEAD" else request.method](request)

    return answer


def _endpoint(route: Route, tool: Tool) -> Endpoint:
    schemas = route.schemas(tool)

    async def answer(request: Request) -> JSONResponse:
        given = await _body(request) if route.has_body else _query(request, schemas)
        return await _answer(route, tool, given, request.path_params)

    return answer


async def _answer(
    route: Route, tool: Tool, given: dict[str, Json], in_path: Mapping[str, str]
) -> JSONResponse:
    if taken := given.keys() & in_path.keys():
        raise HTTPException(400, f"{min(taken)!r} stands in the path; it cannot be given twice.")
    if route.method == "PUT" and not given:
        raise HTTPException(400, "There is nothing to change.")
    arguments: dict[str, Json] = {**in_path, **given}
    if wrong := wrong_arguments(tool, arguments):
        raise HTTPException(400, wrong)
    if tool.call is None:
        raise HTTPException(501, f"The tool {tool.name!r} cannot be called.")
    try:
        output = await tool.call(arguments)
    except ToolError as error:
        raise HTTPException(_status(route, in_path, str(error)), str(error)) from None
    content: dict[str, Json] = {"success": True}
    content |= output if isinstance(output, dict) else {"data": output}
    return JSONResponse(content, 201 if route.method == "POST" else 200)


def _status(route: Route, in_path: Mapping[str, str], message: str) -> int:
    """Return 404 where what the path names is not there; other writes conflict with the data."""
    missing = any(message.endswith(f"{value!r} not found.") for value in in_path.values())
    return 404 if missing else 409 if route.has_body else 400


async def _body(request: Request) -> dict[str, Json]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "The body must be JSON (application/json).")
    if request.headers.get("content-encoding"):
        raise HTTPException(415, "A compressed body is not read.")
    text = await request.body()
    try:
        value: Json = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise HTTPException(400, "The body is not JSON that can be read.") from None
    if not isinstance(value, dict):
        raise HTTPException(400, "The body must be an object.")
    return value


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _query(request: Request, schemas: Mapping[str, Json]) -> dict[str, Json]:
    """Read the query as the schemas have it; split before it is decoded, as it was written."""
    given: dict[str, Json] = {}
    raw = bytes(request.scope["query_string"]).decode("ascii", errors="replace")
    for pair in raw.split("&") if raw else ():
        coded, _, text = pair.partition("=")
        name = _decoded(coded)
        if name not in schemas:
            known = ", ".join(schemas) or "none"
            raise HTTPException(400, f"There is no parameter {name!r}. There are: {known}.")
        if name in given:
            raise HTTPException(400, f"The parameter {name!r} is given twice.")
        given[name] = _read(schemas[name], text)
    return given


def _read(schema: Json, text: str) -> Json:
    """Return what `text` means where `schema` is wanted; what does not fit stays text."""
    node = schema if isinstance(schema, dict) else {}
    options = node.get("anyOf")
    kinds = [node, *(each for each in (options if isinstance(options, list) else []))]
    types = [each.get("type") for each in kinds if isinstance(each, dict)]
    if "array" in types:
        return [_decoded(each) for each in text.split(",")] if text else []
    plain = _decoded(text)
    if "boolean" in types:
        return _BOOLEANS.get(plain, plain)
    if "integer" in types and _INTEGER.fullmatch(plain):
        return int(plain)
    if "number" in types and _NUMBER.fullmatch(plain):
        return json.loads(plain)
    return plain


def _decoded(text: str) -> str:
    try:
        return unquote_plus(text, errors="strict")
    except UnicodeDecodeError:
        raise HTTPException(400, "The query is not UTF-8 text.") from None


async def _refused(_request: Request, error: Exception) -> JSONResponse:
    refused = error if isinstance(error, HTTPException) else HTTPException(500)
    message = refused.detail
    if message == HTTPStatus(refused.status_code).phrase:  # it is the library's
        message = _MESSAGES.get(refused.status_code, "The request cannot be served.")
    return JSONResponse(_error(message), refused.status_code, refused.headers)


def _error(message: str) -> dict[str, Json]:
    return {"success": False, "error": {"message": message}}
