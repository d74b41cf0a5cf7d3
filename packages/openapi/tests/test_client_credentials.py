"""OAuth2 client credentials and uploads, against servers of authlib and Flask on loopback."""

import base64
import json
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple

import pytest
from flask import Flask, Response, jsonify, request
from werkzeug.serving import make_server

from packages.openapi.tests.documents import call, node, properties
from tests.authority import MACHINE_ID, MACHINE_SECRET, Authority, authority, echoing, saying
from toolplan.plan.path import Json
from toolplan.schema.tool import OutcomeUnknown, ToolError, ToolObjectError
from toolplan.tools._base import SourceContext
from toolplan_openapi import ClientCredentials, OpenApiToolbox, openapi_toolbox, read_document
from toolplan_openapi.opening import SOURCE

DOCUMENT: Json = read_document("""
openapi: 3.1.0
info: {title: Orders, version: "1"}
security: [{oauth: []}]
paths:
  /orders:
    get: &orders
      operationId: orders
      responses: {"200": {description: Done., content: {application/json: {schema: {}}}}}
  /photos:
    post:
      <<: *orders
      operationId: upload
      security: [{key: []}, {}]
      requestBody:
        required: true
        content:
          multipart/form-data:
            schema:
              type: object
              required: [title]
              properties:
                title: {type: string}
                count: {type: integer}
                photo: {type: string, format: binary, description: The photo.}
                more: {type: array, items: {type: string, contentMediaType: image/png}}
                meta: {type: object}
                tags: {type: array, items: {type: string}}
            encoding: {photo: {contentType: "image/jpeg, image/png"}}
components:
  securitySchemes:
    oauth:
      type: oauth2
      flows: {clientCredentials: {tokenUrl: "https://evil.example/", scopes: {}}}
    key: {type: apiKey, in: header, name: X-Key}
""")


BOTH = {"ID": "x", "SECRET": "y"}


def client_at(token_url: str, scope: str = "") -> ClientCredentials:
    return ClientCredentials(
        token_url=token_url, client_id="ID", client_secret="SECRET", scope=scope
    )


class Service(NamedTuple):
    """An authorization server, and the address of a service that takes its tokens."""

    state: Authority
    url: str

    def tools(self, secret: str = MACHINE_SECRET, scope: str = "read") -> OpenApiToolbox:
        client = client_at(f"{self.state.url}/token", scope)
        return openapi_toolbox(
            DOCUMENT,
            base_url=self.url,
            auth={"oauth": client},
            environment={"ID": MACHINE_ID, "SECRET": secret},
        )


@pytest.fixture
def service() -> Generator[Service]:
    app = Flask("service")
    with authority() as state:

        @app.get("/orders")
        def _orders() -> Response:
            sent = request.headers.get("Authorization", "")
            token = state.token(sent.removeprefix("Bearer "))
            if token is None or token.revoked:
                return Response("no", 401)
            return jsonify({"scope": token.scope, "sent": sent})

        @app.post("/photos")
        def _photos() -> Response:
            files = [
                [name, each.filename, each.content_type, each.read().decode()]
                for name, each in request.files.items(multi=True)
            ]
            return jsonify({"form": request.form.to_dict(flat=False), "files": files})

        assert callable(_orders)
        assert callable(_photos)
        web = make_server("127.0.0.1", 0, app, threaded=True)
        thread = threading.Thread(target=web.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield Service(state, f"http://127.0.0.1:{web.server_port}")
        finally:
            web.shutdown()
            web.server_close()
            thread.join(10)


def test_a_machine_gets_its_token_and_keeps_it(service: Service) -> None:
    tools = service.tools()
    assert call(tools, "orders") == {"scope": "read", "sent": "Bearer ***"}
    assert call(tools, "orders") == {"scope": "read", "sent": "Bearer ***"}
    assert service.state.asked == ["/token"]


@pytest.mark.parametrize("is_revoked", [True, False])
def test_a_token_refused_or_at_its_end_is_renewed_once(service: Service, is_revoked: bool) -> None:
    service.state.lifetime_s = service.state.lifetime_s if is_revoked else 1
    tools = service.tools()
    call(tools, "orders")
    service.state.tokens[0].revoked = is_revoked
    time.sleep(0.0 if is_revoked else 1.0)
    call(tools, "orders")
    assert service.state.asked == ["/token", "/token"]


@pytest.mark.parametrize(
    ("path", "status", "reason"),
    [
        ("echo", 400, "HTTP 400, invalid_grant"),
        ("echo", 401, "HTTP 401, invalid_grant"),
        ("echo", 500, "HTTP 500, invalid_grant"),
        ("echo", 200, "no bearer token"),
        ("page", 200, "no bearer token"),
    ],
)
def test_token_refusals_hide_secrets(service: Service, path: str, status: int, reason: str) -> None:
    fault = echoing(status) if path == "echo" else saying(status, "<html>")
    service.state.faults["/token"] = fault
    with pytest.raises(ToolError, match=reason) as raised:
        call(service.tools(), "orders")
    assert not isinstance(raised.value, OutcomeUnknown)
    basic = base64.b64encode(f"{MACHINE_ID}:{MACHINE_SECRET}".encode()).decode()
    for secret in (MACHINE_SECRET, basic):
        assert secret not in str(raised.value)


def test_a_wrong_secret_is_refused(service: Service) -> None:
    with pytest.raises(ToolError, match="HTTP 401, invalid_client"):
        call(service.tools("wrong-secret"), "orders")


@pytest.mark.parametrize(
    ("scheme", "url", "environment", "reason"),
    [
        ("oauth", "https://auth.example/token", {"ID": "x"}, "'SECRET'"),
        ("key", "https://auth.example/token", BOTH, "takes no token of OAuth2"),
        ("oaut", "https://auth.example/token", BOTH, "no security scheme 'oaut'"),
        ("oauth", "ftp://auth.example", BOTH, "token_url"),
    ],
)
def test_a_client_that_cannot_be_used_is_refused(
    scheme: str, url: str, environment: dict[str, str], reason: str
) -> None:
    with pytest.raises(ToolObjectError, match=reason):
        openapi_toolbox(DOCUMENT, auth={scheme: client_at(url)}, environment=environment)


def test_a_secret_goes_to_no_address_that_is_not_allowed(service: Service) -> None:
    auth = {"oauth": client_at("http://192.0.2.1/token")}
    tools = openapi_toolbox(DOCUMENT, base_url=service.url, auth=auth, environment=BOTH)
    with pytest.raises(ToolError, match="192"):
        call(tools, "orders")


def test_fields_and_files_are_sent_as_parts(service: Service) -> None:
    answer = call(
        service.tools(),
        "upload",
        title='a "title"\n',
        count=3,
        photo={"filename": "p.jpg", "base64": base64.b64encode(b"jpeg").decode()},
        more=[
            {"filename": "1.png", "text": "one"},
            {"filename": "2.txt", "text": "two", "media_type": "text/plain"},
        ],
        meta={"a": [1]},
        tags=["x", "y"],
    )
    form = {"title": ['a "title"\n'], "count": ["3"], "meta": ['{"a": [1]}'], "tags": ["x", "y"]}
    files = [
        ["photo", "p.jpg", "image/jpeg", "jpeg"],
        ["more", "1.png", "application/octet-stream", "one"],
        ["more", "2.txt", "text/plain", "two"],
    ]
    assert answer == {"form": form, "files": files}


def test_a_file_takes_a_name_and_a_content(service: Service) -> None:
    photo = node(properties(service.tools()["upload"])["photo"])
    assert str(photo["description"]).startswith("The photo. A file")
    assert photo["required"] == ["filename"]


def test_a_file_that_is_not_base64_is_not_sent(service: Service) -> None:
    with pytest.raises(ToolError, match="'photo' is not in base64"):
        call(service.tools(), "upload", title="x", photo={"filename": "p", "base64": "%%"})


def test_the_settings_name_a_client(service: Service, tmp_path: Path) -> None:
    (tmp_path / "orders.json").write_text(json.dumps(DOCUMENT))
    client: dict[str, object] = {
        "token_url": f"{service.state.url}/token",
        "client_id": "ID",
        "client_secret": "SECRET",
    }

    def opened(client: dict[str, object]) -> Json:
        table: dict[str, object] = {"base_url": service.url, "auth": {"oauth": client}}
        environment = {"ID": MACHINE_ID, "SECRET": MACHINE_SECRET}
        settings = {"openapi": {"orders": table}}
        context = SourceContext(tmp_path, environment, settings)
        with SOURCE.open("orders.json", context) as found:
            return call(found.tools, "orders")

    assert opened(client) == {"scope": "", "sent": "Bearer ***"}
    with pytest.raises(ToolObjectError, match=r"openapi\.orders\.auth\.oauth.*tokn_url"):
        opened({**client, "tokn_url": "x"})
