"""Small documents of three kinds, and how the tests make tools of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from toolplan.path import Json
from toolplan.tools import Tool, Toolbox
from toolplan_openapi import (
    OpenApiToolbox,
    Request,
    Response,
    openapi_toolbox,
    read_openapi,
)

Node = dict[str, Json]

TEXT: Final[Node] = {"type": "string"}
PET_ID: Final[Node] = {"name": "petId", "in": "path", "required": True, "schema": TEXT}


def json_response(schema: Json, code: str = "200") -> Node:
    """Return `responses` of one code that is JSON."""
    return {code: {"description": "Done.", "content": {"application/json": {"schema": schema}}}}


def json_body(schema: Json, *, required: bool = True) -> Node:
    return {"required": required, "content": {"application/json": {"schema": schema}}}


PETS: Final[Node] = {
    "openapi": "3.0.3",
    "info": {"title": "Pets", "version": "1"},
    "servers": [
        {"url": "https://pets.example/{edition}", "variables": {"edition": {"default": "v1"}}}
    ],
    "security": [{"key": []}, {}],
    "paths": {
        "/pets": {
            "get": {
                "operationId": "listPets",
                "summary": "Lists pets.",
                "description": "The newest first.",
                "parameters": [
                    {"name": "tags", "in": "query", "schema": {"type": "array", "items": TEXT}},
                    {
                        "name": "weight",
                        "in": "query",
                        "description": "At least so heavy.",
                        "schema": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
                    },
                    {"name": "X-Trace", "in": "header", "schema": TEXT},
                    {"name": "Authorization", "in": "header", "schema": TEXT},
                    {"name": "api_key", "in": "query", "schema": TEXT},
                ],
                "responses": json_response(
                    {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}}
                ),
            },
            "post": {
                "operationId": "createPet",
                "requestBody": json_body({"$ref": "#/components/schemas/Pet"}),
                "responses": json_response({"$ref": "#/components/schemas/Pet"}, "201"),
            },
        },
        "/pets/{petId}": {
            "parameters": [PET_ID],
            "get": {
                "operationId": "getPet",
                "responses": {
                    **json_response({"$ref": "#/components/schemas/Pet"}),
                    "404": {"description": "None."},
                },
            },
            "head": {"responses": {"200": {"description": "There."}}},
            "put": {
                "operationId": "replacePet",
                "requestBody": json_body({"$ref": "#/components/schemas/Pet"}),
                "responses": json_response({"$ref": "#/components/schemas/Pet"}),
            },
            "patch": {
                "operationId": "pets/change",
                "requestBody": json_body({"$ref": "#/components/schemas/Pet"}, required=False),
                "responses": {"204": {"description": "Done."}},
            },
            "delete": {
                "operationId": "deletePet",
                "deprecated": True,
                "summary": "Deletes a pet",
                "responses": {"204": {"description": "Done."}},
            },
        },
    },
    "components": {
        "securitySchemes": {
            "key": {"type": "apiKey", "in": "query", "name": "api_key"},
            "token": {"type": "http", "scheme": "bearer"},
            "login": {"type": "http", "scheme": "basic"},
            "session": {"type": "apiKey", "in": "cookie", "name": "sid"},
        },
        "schemas": {
            "Pet": {
                "type": "object",
                "required": ["id", "name"],
                "properties": {
                    "id": {"type": "integer", "readOnly": True},
                    "name": {"type": "string", "minLength": 1},
                    "nick": {"type": "string", "nullable": True},
                    "size": {"type": "string", "enum": ["small", "big"], "nullable": True},
                    "secret": {"type": "string", "writeOnly": True},
                    "kind": {
                        "oneOf": [
                            {"$ref": "#/components/schemas/Cat"},
                            {"$ref": "#/components/schemas/Dog"},
                        ],
                        "discriminator": {
                            "propertyName": "type",
                            "mapping": {"cat": "#/components/schemas/Cat", "dog": "Dog"},
                        },
                    },
                },
            },
            "Cat": {
                "type": "object",
                "properties": {"type": TEXT, "lives": {"type": "integer"}},
            },
            "Dog": {"type": "object", "properties": {"type": TEXT, "barks": {"type": "boolean"}}},
        },
    },
}
"""OpenAPI 3.0: `nullable`, a boolean `exclusiveMinimum`, a discriminator, security schemes."""

TREE: Final[Node] = {
    "openapi": "3.1.0",
    "info": {"title": "Tree", "version": "1"},
    "servers": [{"url": "/"}],
    "paths": {
        "/nodes/{id}": {
            "get": {
                "parameters": [{"$ref": "#/components/parameters/Id"}],
                "responses": json_response({"$ref": "#/components/schemas/Node"}),
            }
        },
        "/shapes": {
            "get": {
                "operationId": "shapes",
                "responses": json_response({"$ref": "#/components/schemas/Shape"}),
            }
        },
        "/grow": {
            "post": {
                "operationId": "grow",
                "requestBody": json_body({"$ref": "#/components/schemas/Node"}),
                "responses": {"204": {"description": "Done."}},
            }
        },
    },
    "components": {
        "parameters": {
            "Id": {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
        },
        "schemas": {
            "Node": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": TEXT,
                    "parent": {"anyOf": [{"$ref": "#/components/schemas/Node"}, {"type": "null"}]},
                    "children": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}},
                    "owner": {"$ref": "#/components/schemas/Owner"},
                },
            },
            "Owner": {
                "type": "object",
                "properties": {"nodes": {"$ref": "#/components/schemas/Nodes"}},
            },
            "Nodes": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}},
            "Shape": {
                "type": "object",
                "properties": {"kind": TEXT},
                "oneOf": [{"$ref": "#/components/schemas/Round"}],
                "discriminator": {"propertyName": "kind"},
            },
            "Round": {
                "allOf": [
                    {"$ref": "#/components/schemas/Shape"},
                    {"type": "object", "properties": {"radius": {"type": "number"}}},
                ]
            },
        },
    },
}
"""OpenAPI 3.1, circular: through properties and lists, and through the alternatives themselves."""

SHOP: Final[Node] = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "1"},
    "servers": [{"url": "https://shop.example/api"}],
    "paths": {
        "/orders/{id}/{part}": {
            "get": {
                "operationId": "order",
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "schema": TEXT},
                    {
                        "name": "part",
                        "in": "path",
                        "required": True,
                        "style": "matrix",
                        "explode": True,
                        "schema": {"type": "array", "items": TEXT},
                    },
                    {"name": "id", "in": "query", "schema": TEXT},
                    {"name": "id", "in": "header", "schema": TEXT},
                    {"name": "id", "in": "cookie", "schema": TEXT},
                    {
                        "name": "filter",
                        "in": "query",
                        "style": "deepObject",
                        "explode": True,
                        "schema": {"type": "object"},
                    },
                    {
                        "name": "where",
                        "in": "query",
                        "content": {"application/json": {"schema": {"type": "object"}}},
                    },
                ],
                "responses": json_response({"type": "object"}),
            }
        },
        "/payments": {
            "post": {
                "operationId": "pay",
                "parameters": [
                    {"name": "Idempotency-Key", "in": "header", "required": True, "schema": TEXT}
                ],
                "requestBody": {
                    "content": {
                        "application/x-www-form-urlencoded": {
                            "schema": {
                                "type": "object",
                                "required": ["amount"],
                                "properties": {
                                    "amount": {"type": "integer"},
                                    "tags": {"type": "array", "items": TEXT},
                                    "meta": {"type": "object"},
                                    "note": TEXT,
                                },
                            },
                            "encoding": {"tags": {"style": "form", "explode": False}},
                        }
                    }
                },
                "responses": json_response({"type": "object"}),
            }
        },
        "/photos": {
            "post": {
                "operationId": "upload",
                "requestBody": {"content": {"multipart/form-data": {"schema": {}}}},
                "responses": {"204": {"description": "Done."}},
            }
        },
        "/notes": {
            "put": {
                "operationId": "note",
                "x-toolplan-effects": "destructive",
                "x-toolplan-idempotent": False,
                "parameters": [{"name": "text", "in": "query", "schema": TEXT}],
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"properties": {"text": TEXT}}}},
                },
                "responses": {"200": {"description": "Noted.", "content": {"text/plain": {}}}},
            },
            "get": {
                "operationId": "order",
                "responses": {"default": {"description": "Whatever."}},
            },
        },
    },
}
"""Styles, names that collide, forms, hints, and a body that is not written."""


class Recorder:
    """A transport that keeps what it is asked to send, and answers an empty object."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        return Response(200, {"content-type": "application/json"}, b"{}")

    async def __aenter__(self) -> Recorder:
        return self

    async def __aexit__(self, *raised: object) -> None:
        return


def operations(document: Json) -> dict[str, Tool]:
    """Return the operations of a document by name, as tools without calls."""
    return {each.tool.name: each.tool for each in read_openapi(document).operations}


def with_paths(paths: Mapping[str, Json], **more: Json) -> Node:
    """Return a document that has nothing but `paths`, and `more`."""
    return {
        "openapi": "3.1.0",
        "servers": [{"url": "https://a.example"}],
        "paths": {**paths},
        **more,
    }


def one_get(parameters: list[Json], path: str = "/x", **more: Json) -> Node:
    """Return a document of one operation, `get`."""
    operation: Node = {
        "operationId": "get",
        "parameters": parameters,
        "responses": {"200": {"description": "Done."}},
        **more,
    }
    return with_paths({path: {"get": operation}})


def one_post(schema: Json, **more: Json) -> Node:
    """Return a document of one operation, `post`, whose body is JSON of `schema`."""
    operation: Node = {"operationId": "post", "requestBody": json_body(schema), "responses": {}}
    return with_paths({"/x": {"post": {**operation, **more}}})


def recorded(
    document: Json,
    *,
    base_url: str | None = None,
    auth: Mapping[str, str] = MappingProxyType({}),
    environment: Mapping[str, str] = MappingProxyType({}),
    headers: Mapping[str, str] = MappingProxyType({}),
) -> tuple[OpenApiToolbox, Recorder]:
    """Return the tools of a document, and what they will have sent."""
    recorder = Recorder()
    tools = openapi_toolbox(
        document,
        base_url=base_url,
        auth=auth,
        environment=environment,
        headers=headers,
        transport=recorder,
    )
    return tools, recorder


def call(toolbox: Toolbox, name: str, /, **arguments: Json) -> Json:
    """Call a tool with arguments that fit its schema."""
    tool = toolbox[name]
    function = tool.call
    assert function is not None
    assert tool.input.violations(arguments) == []

    async def called() -> Json:
        return await function(arguments)

    return asyncio.run(called())


def properties(tool: Tool) -> Node:
    """Return the schemas of the arguments."""
    schema = tool.raw_input
    assert isinstance(schema, dict)
    found = schema["properties"]
    assert isinstance(found, dict)
    return found
