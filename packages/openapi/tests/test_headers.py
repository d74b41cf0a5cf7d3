"""Headers of the settings: sent with each request to the service, and no arguments."""

import json
from pathlib import Path

import pytest

import toolplan
from packages.openapi.tests.documents import Node, Recorder, call, one_get, parameter, recorded
from toolplan import ToolObjectError, ToolplanError
from toolplan.plan.path import Json
from toolplan_openapi import Request, Response, openapi_toolbox

SECRET = "s3cr3t/+ key"
ENVIRONMENT = {"KEY": SECRET, "TOKEN": "t0ken-value", "LINES": "a\r\nB: c", "EMPTY": ""}


KEY = parameter("x-api-key", "header", required=True)
TENANT = parameter("X-Tenant", "header", required=True)
DOCUMENT = one_get([KEY, TENANT, parameter("x-trace", "header")])


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
    assert set(tool.signature.inputs) == arguments
    assert "s3cr3t" not in json.dumps(tool.to_json())
    call(tools, tool.name, **dict.fromkeys(arguments, "v"))
    request = recorder.requests[0]
    assert dict(request.credentials.headers) == sent
    assert {name for name, _ in request.headers} == arguments
    assert "s3cr3t" not in repr(request)


VALUES = ("${ABSENT}", "${KEY", "${ENV:KEY}", "${LINES}", "${EMPTY}", " padded", "é")
NAMES = ("X Key", "", "Host", "Cookie", "content-type", "Idempotency-Key")


@pytest.mark.parametrize(
    "headers",
    [*({"X-Key": v} for v in VALUES), *({n: "a"} for n in NAMES), {"X-Key": "a", "x-key": "b"}],
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
    document = one_get([KEY], servers=[{"url": "https://elsewhere.example"}])
    headers = {"x-api-key": "${KEY}"}
    tools, recorder = recorded(document, headers=headers, environment=ENVIRONMENT)
    call(tools, next(iter(tools)))
    assert not recorder.requests[0].credentials.headers


@pytest.fixture
def shop(tmp_path: Path) -> str:
    file = tmp_path / "shop.json"
    file.write_text(json.dumps(DOCUMENT))
    return str(file)


@pytest.mark.parametrize(
    "settings",
    [
        {"headers": "X-Key"},
        {"headers": {"X-Key": 1}},
        {"headers": {"X-Key": ["a"]}},
        {"header": {"X-Key": "a"}},
        {"headers": {"X-Key": "${TOOLPLAN_NO_SUCH_VARIABLE}"}},
    ],
)
def test_wrong_settings_are_refused(shop: str, settings: Json) -> None:
    with pytest.raises(ToolplanError):
        toolplan.open(shop, settings={"sources": {"shop": settings}})


def test_the_settings_set_them(shop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_KEY", SECRET)
    headers = {"X-API-KEY": "${SHOP_KEY}"}
    with toolplan.open(shop, settings={"sources": {"shop": {"headers": headers}}}) as app:
        (tool,) = (tool for tool in app.tools.values() if tool.remote)
        assert tool.signature.inputs == ("X-Tenant", "x-trace")
        assert SECRET not in json.dumps(tool.to_json())


def test_headers_of_an_mcp_server_stand_in_its_configuration(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"mail": {"url": "https://192.0.2.1/mcp"}}}))
    with pytest.raises(ToolplanError, match=r"sources\.mail\.headers"):
        toolplan.open(str(file), settings={"sources": {"mail": {"headers": {"X": "a"}}}})
