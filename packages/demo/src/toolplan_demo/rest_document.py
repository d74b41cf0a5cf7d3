"""The OpenAPI document of the demo's REST API, made of the tools that it serves.

Schemas and hints are those of the tools, so that a plan over the API is the plan over the tools.
"""

from __future__ import annotations

from typing import Final

from toolplan.path import Json
from toolplan.tools import Tool, Toolbox
from toolplan_demo.domain import Node
from toolplan_demo.rest_routes import PREFIX, Route, routes_of

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
    schema = tool.raw_input if isinstance(tool.raw_input, dict) else {}
    required = schema.get("required")
    needed = (
        [each for each in required if isinstance(each, str)] if isinstance(required, list) else []
    )
    declared = schema.get("properties")
    named = declared if isinstance(declared, dict) else {}
    made: Node = {
        "operationId": tool.name,
        "summary": tool.description,
        "parameters": [_parameter("path", name, named[name], True) for name in route.in_path],
        "responses": _responses(route, tool, components),
        "x-toolplan-effects": tool.effects.value,
        "x-toolplan-idempotent": tool.may_repeat,
        "x-toolplan-omit": ["success"],
        **{keyword: schema[keyword] for keyword in OF_THE_TOOL if keyword in schema},
    }
    if route.has_body:
        made["requestBody"] = _body(route, tool, needed)
    else:
        made["parameters"] = [
            *(_parameter("path", name, named[name], True) for name in route.in_path),
            *(_parameter("query", n, s, n in needed) for n, s in route.schemas(tool).items()),
        ]
    return made


def _parameter(spot: str, name: str, schema: Json, required: bool) -> Node:
    made: Node = {"name": name, "in": spot, "required": required, "schema": schema}
    if spot == "query":
        # lists with commas between, so that an empty one can be said too
        made["explode"] = False
    return made


def _body(route: Route, tool: Tool, needed: list[str]) -> Node:
    properties = route.schemas(tool)
    schema: Node = {
        "type": "object",
        "properties": properties,
        "required": [name for name in needed if name in properties],
        "additionalProperties": False,
    }
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def _responses(route: Route, tool: Tool, components: Node) -> Node:
    output = tool.raw_output if isinstance(tool.raw_output, dict) else {}
    fields = output.get("properties")
    required = output.get("required")
    success: Node = {"const": True, "description": "Whether the call did what was asked."}
    schema: Node = {
        **output,
        "properties": {
            "success": success,
            **{
                name: _shared(node, components)
                for name, node in (fields.items() if isinstance(fields, dict) else ())
            },
        },
        "required": ["success", *(required if isinstance(required, list) else [])],
    }
    code = "201" if route.method == "POST" else "200"
    refusal: Node = {"$ref": f"{_SCHEMAS}Error"}
    return {
        code: {"description": "Done.", "content": {"application/json": {"schema": schema}}},
        "default": {
            "description": "Refused.",
            "content": {"application/json": {"schema": refusal}},
        },
    }


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
