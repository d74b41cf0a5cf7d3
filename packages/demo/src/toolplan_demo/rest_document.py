"""The routes of the demo's REST API, and its OpenAPI document, made of the tools that it serves.

Schemas and hints are those of the tools, so that a plan over the API is the plan over the tools.
"""

from __future__ import annotations

import re
from typing import Any, Final, cast

from msgspec import Struct

from toolplan.plan.path import Json
from toolplan.schema.tool import Tool, Toolbox
from toolplan_demo.domain import Node

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
        # lists with commas between, so that an empty one can be said too
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
