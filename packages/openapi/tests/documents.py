"""Small documents of three kinds, and how the tests make tools of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from toolplan.plan.path import Json
from toolplan.schema.tool import Call, Tool, Toolbox
from toolplan_openapi import (
    OpenApiToolbox,
    Request,
    Response,
    openapi_toolbox,
    read_document,
    read_openapi,
)

Node = dict[str, Json]

DATA: Final = Path(__file__).with_name("data")

TEXT: Final[Node] = {"type": "string"}


def json_response(schema: Json, code: str = "200") -> Node:
    """Return `responses` of one code that is JSON."""
    return {code: {"description": "Done.", "content": {"application/json": {"schema": schema}}}}


def json_body(schema: Json, *, required: bool = True) -> Node:
    return {"required": required, "content": {"application/json": {"schema": schema}}}


def document(name: str) -> Node:
    """Return a document of the folder `data`."""
    read = read_document((DATA / f"{name}.yaml").read_text("utf-8"))
    assert isinstance(read, dict)
    return read


PETS: Final = document("pets")
TREE: Final = document("tree")
SHOP: Final = document("shop")


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


def function(toolbox: Toolbox, name: str) -> Call:
    """Return the call of a tool."""
    found = toolbox[name].call
    assert found is not None
    return found


def call(toolbox: Toolbox, name: str, /, **arguments: Json) -> Json:
    """Call a tool with arguments that fit its schema."""
    assert toolbox[name].input.violations(arguments) == []

    async def called() -> Json:
        return await function(toolbox, name)(arguments)

    return asyncio.run(called())


def properties(tool: Tool) -> Node:
    """Return the schemas of the arguments."""
    return node(node(tool.raw_input)["properties"])


def node(value: Json) -> Node:
    assert isinstance(value, dict)
    return value


def parameter(name: str, spot: str = "query", schema: Json = TEXT, **more: Json) -> Node:
    return {"name": name, "in": spot, "schema": schema, **more}


PET_ID: Final[Node] = parameter("petId", "path", required=True)
