"""Credentials: from the environment by name, to the service only, and seen nowhere."""

import base64
import json
from collections.abc import Mapping

import pytest

from packages.openapi.tests.documents import PETS, Node, Recorder, call, one_get, recorded
from toolplan.plan.path import Json
from toolplan.schema.tool import ToolError, ToolObjectError
from toolplan_openapi import Request, Response, openapi_toolbox

SECRET = "s3cr3t/+= key"
ENVIRONMENT = {"KEY": SECRET, "TOKEN": "t0ken-value", "LOGIN": "me:p4ssw0rd:x", "EMPTY": " "}


def sent(document: Json, auth: Mapping[str, str]) -> Request:
    tools, recorder = recorded(document, auth=auth, environment=ENVIRONMENT)
    call(tools, next(iter(tools)))
    return recorder.requests[0]


def secured(security: Json, *, scheme: Node | None = None) -> Node:
    document = one_get([], security=security)
    schemes: Node = {
        "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "query": {"type": "apiKey", "in": "query", "name": "api key"},
        "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
        "bearer": {"type": "http", "scheme": "Bearer"},
        "basic": {"type": "http", "scheme": "basic"},
        "oauth": {"type": "oauth2", "flows": {}},
        "tls": {"type": "mutualTLS"},
        "other": scheme or {},
        "referred": {"$ref": "#/components/securitySchemes/bearer"},
    }
    return {**document, "components": {"securitySchemes": schemes}}


LOGIN = f"Basic {base64.b64encode(b'me:p4ssw0rd:x').decode()}"


@pytest.mark.parametrize(
    ("scheme", "variable", "spot", "pair"),
    [
        ("key", "KEY", "headers", ("X-Key", SECRET)),
        ("query", "KEY", "query", ("api%20key", "s3cr3t%2F%2B%3D%20key")),
        ("cookie", "TOKEN", "cookies", ("sid", "t0ken-value")),
        ("bearer", "TOKEN", "headers", ("Authorization", "Bearer t0ken-value")),
        ("oauth", "TOKEN", "headers", ("Authorization", "Bearer t0ken-value")),
        ("referred", "TOKEN", "headers", ("Authorization", "Bearer t0ken-value")),
        ("basic", "LOGIN", "headers", ("Authorization", LOGIN)),
    ],
)
def test_a_credential_goes_where_its_scheme_wants_it(
    scheme: str, variable: str, spot: str, pair: tuple[str, str]
) -> None:
    credentials = sent(secured([{scheme: []}]), {scheme: variable}).credentials
    assert getattr(credentials, spot) == (pair,)


def test_of_alternatives_the_first_that_is_known_is_used() -> None:
    document = secured([{"basic": []}, {"key": [], "query": []}, {"bearer": []}])
    assert sent(document, {"bearer": "TOKEN"}).credentials.headers[0][0] == "Authorization"
    both = sent(document, {"key": "KEY", "query": "KEY", "bearer": "TOKEN"}).credentials
    assert both.headers == (("X-Key", SECRET),)
    assert len(both.query) == 1


def test_none_is_sent_where_none_is_wanted_or_none_is_known() -> None:
    assert not sent(secured([]), {"key": "KEY"}).credentials
    assert not sent(secured([{"bearer": []}, {}]), {"key": "KEY"}).credentials
    assert sent(secured([{}, {"key": []}]), {"key": "KEY"}).credentials


def test_a_call_that_needs_credentials_is_not_made_without() -> None:
    tools, recorder = recorded(secured([{"bearer": []}, {"key": [], "query": []}, {"tls": []}]))
    with pytest.raises(ToolError) as raised:
        call(tools, "get")
    assert str(raised.value) == (
        "GET /x needs credentials for bearer or key+query or tls, and none are given for "
        "https://a.example. Name an environment variable in auth."
    )
    assert recorder.requests == []


@pytest.mark.parametrize(
    ("auth", "message"),
    [
        ({"bearr": "KEY"}, "The document has no security scheme 'bearr'. Did you mean 'bearer'?"),
        ({"key": "NOPE"}, "variable 'NOPE' for the security scheme 'key' is not set."),
        ({"key": "EMPTY"}, "The environment variable 'EMPTY' for the security scheme"),
        ({"basic": "TOKEN"}, "The value of 'TOKEN' must read NAME:PASSWORD."),
        ({"cookie": "KEY"}, "The value of 'KEY' cannot stand in a cookie."),
        ({"key": "LINES"}, "The value of 'LINES' has characters that cannot be sent"),
    ],
)
def test_a_credential_that_is_missing_or_cannot_be_sent_is_reported_without_its_value(
    auth: dict[str, str], message: str
) -> None:
    environment = {**ENVIRONMENT, "LINES": "a\r\nX-Evil: 1"}
    with pytest.raises(ToolObjectError) as raised:
        openapi_toolbox(secured([{"key": []}]), auth=auth, environment=environment)
    assert message in str(raised.value)
    assert SECRET not in str(raised.value)
    assert "Evil" not in str(raised.value)


def test_credentials_stay_with_the_origin_of_the_service() -> None:
    get: Node = {"responses": {}, "security": [{"key": []}]}
    evil: Node = {**get, "operationId": "b", "servers": [{"url": "https://evil.example"}]}
    paths: Node = {"/b": {"get": evil}, "/a": {"get": {**get, "operationId": "a"}}}
    document: Node = {**secured([]), "paths": paths}
    tools, recorder = recorded(document, auth={"key": "KEY"}, environment=ENVIRONMENT)
    call(tools, "a")
    with pytest.raises(ToolError, match=r"none are given for https://evil\.example"):
        call(tools, "b")
    assert [str(each.origin) for each in recorder.requests] == ["https://a.example"]


def test_no_tool_object_and_no_text_of_one_shows_a_secret() -> None:
    tools, recorder = recorded(PETS, auth={"key": "KEY", "login": "LOGIN"}, environment=ENVIRONMENT)
    call(tools, "listPets")
    shown = [repr(tools), repr(recorder.requests)]
    shown += [json.dumps(tool.to_json()) + repr(tool) for tool in tools.values()]
    for text in shown:
        assert "s3cr3t" not in text
        assert "p4ssw0rd" not in text


class Echo(Recorder):
    """A service that repeats what it was sent."""

    def __init__(self, status: int) -> None:
        super().__init__()
        self.status = status

    async def send(self, request: Request) -> Response:
        said = f"got {SECRET!r} and s3cr3t%2F%2B%3D%20key"
        text = json.dumps({"message": said, SECRET: [SECRET]})
        return Response(self.status, {"content-type": "application/json"}, text.encode())


def test_a_secret_that_comes_back_is_struck_from_results_and_from_errors() -> None:
    document = secured([{"key": []}])
    fine, refusing = (
        openapi_toolbox(
            document, auth={"key": "KEY"}, environment=ENVIRONMENT, transport=Echo(status)
        )
        for status in (200, 403)
    )
    assert call(fine, "get") == {"message": "got '***' and ***", "***": ["***"]}
    with pytest.raises(ToolError) as raised:
        call(refusing, "get")
    assert str(raised.value) == "The service answered 403: got '***' and ***"
