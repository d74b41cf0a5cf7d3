"""The demo domain as a REST API with its own OpenAPI document at `/openapi.json`.

Answers are `{"success": true, "data": …, "count": …}` or `{"success": false, "error": {"message":
…}}`. An unknown filter, or a value that does not fit its schema, is refused: it would
else silently widen the answer (C-36).
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from http import HTTPStatus
from typing import Any, Final, TypeAlias, cast
from urllib.parse import unquote_plus

from msgspec import Struct
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
from toolplan_demo.domain import Node
from toolplan_demo.tools import wrong_arguments

PREFIX: Final = "/api"
OF_THE_TOOL: Final = ("x-entity", "x-verb", "x-synonyms", "x-aliases", "x-order")
_SCHEMAS: Final = "#/components/schemas/"
_ERROR: Final[Node] = {
    "type": "object",
    "properties": {
        "success": {"const": False},
        "error": {
            "type": "object",
            "properties": {"message": {"type": "string"}},
            "required": ["message"],
        },
    },
    "required": ["success", "error"],
}


class Route(Struct, frozen=True):
    """A method and a path below PREFIX, and the tool that answers."""

    method: str
    path: str
    tool: str

    @property
    def in_path(self) -> tuple[str, ...]:
        """The arguments that stand in the path."""
        return tuple(re.findall(r"\{(\w+)\}", self.path))

    @property
    def has_body(self) -> bool:
        """Whether the other arguments are the body, and not the query."""
        return self.method in ("POST", "PUT")

    def schemas(self, tool: Tool) -> dict[str, Json]:
        """Return the schemas of the arguments that stand in the query or the body, by name."""
        named = cast("dict[str, Any]", tool.raw_input)["properties"]
        return {name: each for name, each in named.items() if name not in self.in_path}


ROUTES: Final = (
    Route("GET", "/shipments", "shipments_list"),
    Route("POST", "/shipments", "shipments_create"),
    Route("GET", "/shipments/{id}", "shipments_get"),
    Route("PUT", "/shipments/{id}", "shipments_update"),
    Route("GET", "/shipments/{id}/contaminants", "shipments_get_with_contaminants"),
    Route("GET", "/facilities", "facilities_list"),
    Route("POST", "/facilities", "facilities_create"),
    Route("GET", "/facilities/{id}", "facilities_get"),
    Route("PUT", "/facilities/{id}", "facilities_update"),
    Route("GET", "/facilities/{id}/activity", "facilities_get_with_activity"),
    Route("GET", "/contaminants-detected", "contaminants_list"),
    Route("GET", "/contaminants-detected/{id}", "contaminants_get"),
    Route("GET", "/inspections", "inspections_list"),
    Route("POST", "/inspections", "inspections_create"),
    Route("GET", "/inspections/{id}", "inspections_get"),
    Route("GET", "/analytics/contamination-rate", "analytics_contamination_rate"),
    Route("GET", "/analytics/facility-performance", "analytics_facility_performance"),
    Route("GET", "/analytics/waste-type-distribution", "analytics_waste_distribution"),
    Route("GET", "/analytics/risk-trends", "analytics_risk_trends"),
)


def routes_of(tools: Toolbox) -> tuple[Route, ...]:
    """Return the routes whose tools are in `tools`."""
    return tuple(route for route in ROUTES if route.tool in tools)


def openapi_document(tools: Toolbox) -> Node:
    """Return the document (OpenAPI 3.1) of the API that serves `tools`."""
    components: Node = {"Error": _ERROR}
    paths: dict[str, Node] = {}
    for route in routes_of(tools):
        item = paths.setdefault(route.path, {})
        item[route.method.lower()] = _operation(route, tools[route.tool], components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Waste management",
            "version": "1",
            "description": "Shipments, facilities, contaminants and inspections; generated data.",
        },
        "servers": [{"url": PREFIX}],
        "paths": {**paths},
        "components": {"schemas": components},
    }


def _operation(route: Route, tool: Tool, components: Node) -> Node:
    schema = cast("dict[str, Any]", tool.raw_input)
    needed: list[str] = schema["required"]
    others = route.schemas(tool)
    parameters: list[Json] = [
        {"name": name, "in": "path", "required": True, "schema": schema["properties"][name]}
        for name in route.in_path
    ]
    made: Node = {
        "operationId": tool.name,
        "summary": tool.description,
        "parameters": parameters,
        "responses": _responses(route, tool, components),
        "x-toolplan-effects": tool.effects.value,
        "x-toolplan-idempotent": tool.may_repeat,
        "x-toolplan-omit": ["success"],
        **{keyword: schema[keyword] for keyword in OF_THE_TOOL if keyword in schema},
    }
    if route.has_body:
        body: Node = {
            "type": "object",
            "properties": others,
            "required": [name for name in needed if name in others],
            "additionalProperties": False,
        }
        made["requestBody"] = {"required": True, "content": _json(body)}
    else:
        # lists with commas between, so that an empty one can be given too
        parameters += [
            {"name": n, "in": "query", "required": n in needed, "schema": each, "explode": False}
            for n, each in others.items()
        ]
    return made


def _responses(route: Route, tool: Tool, components: Node) -> Node:
    output = cast("dict[str, Any]", tool.raw_output)
    success: Node = {"const": True, "description": "Whether the call did what was asked."}
    fields: Node = {name: _shared(node, components) for name, node in output["properties"].items()}
    schema: Node = {
        **output,
        "properties": {"success": success, **fields},
        "required": ["success", *output["required"]],
    }
    return {
        "201" if route.method == "POST" else "200": {
            "description": "Done.",
            "content": _json(schema),
        },
        "default": {"description": "Refused.", "content": _json({"$ref": f"{_SCHEMAS}Error"})},
    }


def _json(schema: Node) -> Node:
    return {"application/json": {"schema": schema}}


def _shared(node: Json, components: Node) -> Json:
    """Return `node` with the schemas of the demo's things referred to, put into `components`."""
    if isinstance(node, list):
        return [_shared(each, components) for each in node]
    if not isinstance(node, dict):
        return node
    entity = node.get("x-entity")
    if not isinstance(entity, str):
        return {name: _shared(each, components) for name, each in node.items()}
    name = entity.capitalize()
    if components.setdefault(name, node) != node:
        return node
    return {"$ref": f"{_SCHEMAS}{name}"}


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
        in_path = request.path_params
        given = await _body(request) if route.has_body else _query(request, schemas)
        if taken := given.keys() & in_path.keys():
            said = f"{min(taken)!r} stands in the path; it cannot be given twice."
            raise HTTPException(400, said)
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
            said = str(error)
            is_missing = any(said.endswith(f"{each!r} not found.") for each in in_path.values())
            # other writes conflict with the data
            status = 404 if is_missing else 409 if route.has_body else 400
            raise HTTPException(status, said) from None
        content: dict[str, Json] = {"success": True}
        content |= output if isinstance(output, dict) else {"data": output}
        return JSONResponse(content, 201 if route.method == "POST" else 200)

    return answer


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
    """Return `text` as a value for `schema`; one that does not fit stays text."""
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
