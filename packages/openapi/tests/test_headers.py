"""Headers of the settings: sent with each request to the service, and no arguments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import toolplan
from packages.openapi.tests.documents import Node, Recorder, call, one_get, recorded
from toolplan.errors import ToolplanError
from toolplan.path import Json
from toolplan.tools import ToolObjectError
from toolplan_openapi import Request, Response, openapi_toolbox

SECRET = "s3cr3t/+ key"
ENVIRONMENT = {"KEY": SECRET, "TOKEN": "t0ken-value", "LINES": "a\r\nB: c", "EMPTY": ""}


def _header(name: str, *, required: bool = True) -> Node:
    return {"name": name, "in": "header", "required": required, "schema": {"type": "string"}}


DOCUMENT = one_get([_header("x-api-key"), _header("X-Tenant"), _header("x-trace", required=False)])


@pytest.mark.parametrize(
    ("headers", "sent", "arguments"),
    [
        ({"X-API-Key": "${KEY}"}, {"X-API-Key": SECRET}, {"X-Tenant", "x-trace"}),
        ({"x-api-key": "${KEY}", "x-tenant": "acme"},
         {"x-api-key": SECRET, "x-tenant": "acme"}, {"x-trace"}),
        ({"X-Other": "a ${TOKEN} b"}, {"X-Other": "a t0ken-value b"},
         {"x-api-key", "X-Tenant", "x-trace"}),
        ({"Authorization": "Bearer ${TOKEN}"}, {"Authorization": "Bearer t0ken-value"},
         {"x-api-key", "X-Tenant", "x-trace"}),
        ({}, {}, {"x-api-key", "X-Tenant", "x-trace"}),
    ],
)  # fmt: skip
def test_what_is_set_is_sent_and_not_asked_for(
    headers: dict[str, str], sent: dict[str, str], arguments: set[str]
) -> None:
    tools, recorder = recorded(DOCUMENT, headers=headers, environment=ENVIRONMENT)
    tool = next(iter(tools.values()))
    assert isinstance(tool.raw_input, dict)
    assert set(tool.signature.inputs) == arguments
    assert "s3cr3t" not in json.dumps(tool.to_json())
    call(tools, tool.name, **dict.fromkeys(arguments, "v"))
    request = recorder.requests[0]
    assert dict(request.credentials.headers) == sent
    assert {name for name, _ in request.headers} == arguments
    assert "s3cr3t" not in repr(request)


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Key": "${ABSENT}"},
        {"X-Key": "${KEY"},
        {"X-Key": "${ENV:KEY}"},
        {"X-Key": "${LINES}"},
        {"X-Key": "${EMPTY}"},
        {"X-Key": " padded"},
        {"X-Key": "é"},
        {"X Key": "a"},
        {"": "a"},
        {"Host": "other.example"},
        {"Cookie": "a=b"},
        {"content-type": "text/plain"},
        {"Idempotency-Key": "1"},
        {"X-Key": "a", "x-key": "b"},
    ],
)
def test_what_cannot_be_sent_is_refused_without_a_value(headers: dict[str, str]) -> None:
    with pytest.raises(ToolObjectError, match="headers") as error:
        recorded(DOCUMENT, headers=headers, environment=ENVIRONMENT)
    assert not any(value and value in str(error.value) for value in ENVIRONMENT.values())


def test_a_value_of_the_environment_is_struck_and_a_written_one_is_not() -> None:
    class Echo(Recorder):
        async def send(self, request: Request) -> Response:
            text = json.dumps(dict(request.credentials.headers))
            return Response(200, {"content-type": "application/json"}, text.encode())

    headers = {"key": "${KEY}", "tenant": "acme"}
    tools = openapi_toolbox(DOCUMENT, headers=headers, environment=ENVIRONMENT, transport=Echo())
    arguments = {"x-api-key": "a", "X-Tenant": "b"}
    assert call(tools, next(iter(tools)), **arguments) == {"key": "***", "tenant": "acme"}


def _secured() -> Node:
    schemes: Node = {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
    return {**one_get([], security=[{"key": []}]), "components": {"securitySchemes": schemes}}


def test_a_security_scheme_whose_header_is_set_needs_nothing_more() -> None:
    tools, recorder = recorded(_secured(), headers={"x-key": "${KEY}"}, environment=ENVIRONMENT)
    call(tools, next(iter(tools)))
    assert recorder.requests[0].credentials.headers == (("x-key", SECRET),)


def test_a_header_of_both_is_refused() -> None:
    with pytest.raises(ToolObjectError, match="twice"):
        recorded(_secured(), auth={"key": "KEY"}, headers={"X-Key": "a"}, environment=ENVIRONMENT)


def test_another_server_gets_no_header() -> None:
    document = one_get([_header("x-api-key")])
    paths = document["paths"]
    assert isinstance(paths, dict)
    (item,) = paths.values()
    assert isinstance(item, dict)
    item["servers"] = [{"url": "https://elsewhere.example"}]
    tools, recorder = recorded(
        {**document, "servers": [{"url": "https://home.example"}]},
        headers={"x-api-key": "${KEY}"},
        environment=ENVIRONMENT,
    )
    call(tools, next(iter(tools)))
    assert not recorder.requests[0].credentials.headers


SETTINGS: dict[str, Json] = {
    "not a table": {"headers": "X-Key"},
    "no text": {"headers": {"X-Key": 1}},
    "a list": {"headers": {"X-Key": ["a"]}},
    "unknown": {"header": {"X-Key": "a"}},
    "unset": {"headers": {"X-Key": "${TOOLPLAN_NO_SUCH_VARIABLE}"}},
}


@pytest.mark.parametrize("case", SETTINGS)
def test_wrong_settings_are_refused(tmp_path: Path, case: str) -> None:
    file = tmp_path / "shop.json"
    file.write_text(json.dumps(DOCUMENT))
    with pytest.raises(ToolplanError):
        toolplan.open(str(file), settings={"sources": {"shop": SETTINGS[case]}})


def test_the_settings_set_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_KEY", SECRET)
    file = tmp_path / "shop.json"
    file.write_text(json.dumps(DOCUMENT))
    headers = {"X-API-KEY": "${SHOP_KEY}"}
    with toolplan.open(str(file), settings={"sources": {"shop": {"headers": headers}}}) as app:
        (tool,) = (tool for tool in app.tools.values() if tool.remote)
        assert tool.signature.inputs == ("X-Tenant", "x-trace")
        assert SECRET not in json.dumps(tool.to_json())


def test_headers_of_an_mcp_server_stand_in_its_configuration(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"mail": {"url": "https://192.0.2.1/mcp"}}}))
    with pytest.raises(ToolplanError, match=r"sources\.mail\.headers"):
        toolplan.open(str(file), settings={"sources": {"mail": {"headers": {"X": "a"}}}})
