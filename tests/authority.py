"""An authorization server of authlib on loopback, and an MCP server of the SDK that it guards.

The protocol is theirs: what is ours here is only where clients, codes and tokens are kept, and how
tests make one of the two misbehave.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUntypedBaseClass=false, reportMissingParameterType=false
# pyright: reportUnknownParameterType=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"  # it is on loopback

import anyio
import uvicorn
from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import ClientMixin, TokenMixin, grants
from authlib.oauth2.rfc6750 import BearerTokenGenerator
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7591 import ClientRegistrationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc9207 import IssuerParameter
from flask import Flask, Response, jsonify, request
from mcp.server import MCPServer
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from werkzeug.serving import make_server

MACHINE_ID = "machine-7"
MACHINE_SECRET = "canary-machine-secret-0123456789"

for _name in ("werkzeug", "authlib", "uvicorn.error"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


@dataclass
class Client(ClientMixin):
    """A client that is registered."""

    client_id: str
    secret: str = ""
    redirect_uris: tuple[str, ...] = ()
    grant_types: tuple[str, ...] = ("authorization_code", "refresh_token")
    scope: str = "read write"

    def get_client_id(self) -> str:
        return self.client_id

    def get_default_redirect_uri(self) -> str:
        return self.redirect_uris[0]

    def get_allowed_scope(self, scope: str | None) -> str:
        return " ".join(s for s in (scope or "").split() if s in self.scope.split())

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return redirect_uri in self.redirect_uris

    def check_client_secret(self, client_secret: str) -> bool:
        return secrets.compare_digest(self.secret, client_secret)

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method != "none" if self.secret else method == "none"

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in self.grant_types


@dataclass
class Code:
    """An authorization code."""

    client_id: str
    redirect_uri: str
    scope: str
    code_challenge: str
    code_challenge_method: str
    resource: str

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return self.scope


@dataclass
class Token(TokenMixin):
    """A token that was issued."""

    client_id: str
    access: str
    refresh: str
    scope: str
    resource: str
    ends: float
    revoked: bool = False

    def check_client(self, client: Client) -> bool:
        return client.client_id == self.client_id

    def get_scope(self) -> str:
        return self.scope

    def is_expired(self) -> bool:
        return time.time() > self.ends

    def is_revoked(self) -> bool:
        return self.revoked


@dataclass
class Authority:
    """What the authorization server knows, and how it misbehaves.

    Attributes:
        faults: by path, what answers in its place.
        names: the issuer that its metadata name, where it is not itself.
        audience: what its tokens are for, where it is not what was asked for.
        lifetime_s: of a token.
        denies: nobody may sign in.
        registers: clients may register.
        reads_clients: clients may be addresses of documents.
        asked: the paths that were asked for.
    """

    url: str = ""
    clients: dict[str, Client] = field(default_factory=dict[str, Client])
    codes: dict[str, Code] = field(default_factory=dict[str, Code])
    tokens: list[Token] = field(default_factory=list[Token])
    faults: dict[str, Callable[[dict[str, Any]], Response]] = field(
        default_factory=dict[str, Callable[[dict[str, Any]], Response]]
    )
    names: str = ""
    audience: str = ""
    lifetime_s: int = 3600
    denies: bool = False
    registers: bool = True
    reads_clients: bool = False
    asked: list[str] = field(default_factory=list[str])

    @property
    def secrets(self) -> list[str]:
        """Everything that may be seen nowhere."""
        issued = [text for each in self.tokens for text in (each.access, each.refresh)]
        return [s for s in [*issued, *self.codes, *(c.secret for c in self.clients.values())] if s]

    def token(self, access: str) -> Token | None:
        return next((each for each in self.tokens if each.access == access), None)

    def metadata(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "issuer": self.names or self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "revocation_endpoint": f"{self.url}/revoke",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
            "code_challenge_methods_supported": ["S256"],
            "client_id_metadata_document_supported": self.reads_clients,
            "authorization_response_iss_parameter_supported": True,
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
        }
        if self.registers:
            found["registration_endpoint"] = f"{self.url}/register"
        return found


def echoing(status: int, **more: Any) -> Callable[[dict[str, Any]], Response]:
    """A fault that says back everything it was sent, as careless servers do."""

    def answer(sent: dict[str, Any]) -> Response:
        text = json.dumps({"error": "invalid_grant", "error_description": str(sent), **more})
        return Response(text, status, {"Content-Type": "application/json"})

    return answer


def saying(
    status: int, body: str, kind: str = "application/json"
) -> Callable[[dict[str, Any]], Response]:
    """A fault that says `body`."""

    def answer(_sent: dict[str, Any]) -> Response:
        return Response(body, status, {"Content-Type": kind})

    return answer


_METHODS = ("none", "client_secret_basic", "client_secret_post")


class _Server(AuthorizationServer):
    """The server of authlib, with what it knows."""

    def __init__(self, app: Flask, state: Authority) -> None:
        self.state = state
        super().__init__(app, state.clients.get, self._save)
        self.register_token_generator("default", _generator(state))
        self.register_grant(_ByCode, [CodeChallenge(required=True)])
        self.register_grant(_ByRefresh)
        self.register_grant(grants.ClientCredentialsGrant)
        self.register_endpoint(_Revoking)
        self.register_endpoint(_Registering)
        self.register_extension(_Issuer(state))

    def _save(self, token: dict[str, Any], asked: Any) -> None:
        resource = asked.form.get("resource", "")
        if asked.authorization_code is not None:
            resource = resource or asked.authorization_code.resource
        self.state.tokens.append(
            Token(
                asked.client.client_id,
                token["access_token"],
                token.get("refresh_token", ""),
                token.get("scope", ""),
                self.state.audience or resource,
                time.time() + self.state.lifetime_s,
            )
        )


class _ByCode(grants.AuthorizationCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = _METHODS

    def save_authorization_code(self, code: str, request: Any) -> None:
        data = request.payload.data
        self.server.state.codes[code] = Code(
            request.client.client_id,
            request.payload.redirect_uri,
            request.payload.scope or "",
            data.get("code_challenge", ""),
            data.get("code_challenge_method", ""),
            data.get("resource", ""),
        )

    def query_authorization_code(self, code: str, client: Client) -> Code | None:
        found = self.server.state.codes.get(code)
        return found if found is not None and found.client_id == client.client_id else None

    def delete_authorization_code(self, authorization_code: Code) -> None:
        authorization_code.client_id = "used"

    def authenticate_user(self, authorization_code: Code) -> str:
        return "somebody"


class _ByRefresh(grants.RefreshTokenGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = _METHODS
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, refresh_token: str) -> Token | None:
        tokens = self.server.state.tokens
        found = [t for t in tokens if t.refresh == refresh_token and not t.revoked]
        return found[0] if found else None

    def authenticate_user(self, refresh_token: Token) -> str:
        return "somebody"

    def revoke_old_credential(self, refresh_token: Token) -> None:
        refresh_token.revoked = True


class _Revoking(RevocationEndpoint):
    CLIENT_AUTH_METHODS = _METHODS

    def query_token(self, token_string: str, token_type_hint: str | None) -> Token | None:
        tokens = self.server.state.tokens
        found = [t for t in tokens if token_string in (t.access, t.refresh)]
        return found[0] if found else None

    def revoke_token(self, token: Token, request: Any) -> None:
        token.revoked = True


class _Registering(ClientRegistrationEndpoint):
    def authenticate_token(self, request: Any) -> bool:
        return True

    def get_server_metadata(self) -> dict[str, Any]:
        return self.server.state.metadata()

    def generate_client_secret(self, request: Any) -> str:
        return ""

    def save_client(self, client_info: Any, client_metadata: Any, request: Any) -> Client:
        made = Client(client_info["client_id"], "", tuple(client_metadata["redirect_uris"]))
        self.server.state.clients[made.client_id] = made
        return made


class _Issuer(IssuerParameter):
    def __init__(self, state: Authority) -> None:
        self._state = state

    def get_issuer(self) -> str:
        return self._state.url


def _application(state: Authority) -> Flask:
    app = Flask("authority")
    _routes(app, _Server(app, state), state)
    return app


def _routes(app: Flask, server: Any, state: Authority) -> None:
    @app.before_request
    def _fault() -> Response | None:
        state.asked.append(request.path)
        fault = state.faults.get(request.path)
        if fault is None:
            return None
        sent = {**request.values, **(request.get_json(silent=True) or {})}
        return fault({**sent, "authorization": request.headers.get("Authorization", "")})

    @app.get("/.well-known/oauth-authorization-server")
    def _metadata() -> Response:
        return jsonify(state.metadata())

    @app.get("/authorize")
    def _authorize() -> Any:
        grant = server.get_consent_grant(end_user="somebody")
        user = None if state.denies else "somebody"
        return server.create_authorization_response(grant_user=user, grant=grant)

    @app.post("/token")
    def _token() -> Any:
        return server.create_token_response()

    @app.post("/revoke")
    def _revoke() -> Any:
        return server.create_endpoint_response("revocation")

    @app.post("/register")
    def _register() -> Any:
        return server.create_endpoint_response("client_registration")


def _generator(state: Authority) -> Any:
    def access(**_: object) -> str:
        return f"canary-access-{secrets.token_urlsafe(24)}"

    def refresh(**_: object) -> str:
        return f"canary-refresh-{secrets.token_urlsafe(24)}"

    def lifetime(*_: object) -> int:
        return state.lifetime_s

    return BearerTokenGenerator(access, refresh, lifetime)


@contextmanager
def authority() -> Generator[Authority]:
    """Serve an authorization server on a free port of this machine."""
    state = Authority()
    state.clients[MACHINE_ID] = Client(
        MACHINE_ID, MACHINE_SECRET, grant_types=("client_credentials",)
    )
    web = make_server("127.0.0.1", 0, _application(state), threaded=True)
    state.url = f"http://127.0.0.1:{web.server_port}"
    thread = threading.Thread(target=web.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        web.shutdown()
        web.server_close()
        thread.join(10)


class _Verifier:
    def __init__(self, state: Authority) -> None:
        self._state = state

    async def verify_token(self, token: str) -> AccessToken | None:
        found = self._state.token(token)
        if found is None or found.revoked or found.is_expired():
            return None
        return AccessToken(
            token=token,
            client_id=found.client_id,
            scopes=found.scope.split(),
            expires_at=int(found.ends) + 1,
            resource=found.resource,
        )


@contextmanager
def guarded(state: Authority, *, names: str = "", scope: str = "read") -> Generator[str]:
    """Serve an MCP server that takes the tokens of `state`; give its address.

    `names` is the authorization server that it names, where it is another one.
    """
    listening = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    server = MCPServer(
        "guarded",
        log_level="CRITICAL",
        token_verifier=_Verifier(state),
        auth=AuthSettings.model_validate(
            {
                "issuer_url": names or state.url,
                "resource_server_url": address,
                "required_scopes": [scope],
                "validate_token_resource": True,
            }
        ),
    )
    _tools(server)
    config = uvicorn.Config(
        server.streamable_http_app(), log_level="critical", ws="none", lifespan="on"
    )
    web = uvicorn.Server(config)
    thread = threading.Thread(target=web.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield address
    finally:
        web.should_exit = web.force_exit = True
        thread.join(10)
        listening.close()


def _tools(server: MCPServer[Any]) -> None:
    @server.tool()
    async def add(n: int) -> int:
        return n + 1

    @server.tool()
    async def echo(*, ctx: Context[Any, Any]) -> dict[str, str]:
        """Give back the headers of the request, as careless tools do."""
        return dict(ctx.headers or {})

    @server.tool()
    async def fail(*, ctx: Context[Any, Any]) -> str:
        raise ToolError(f"it broke: {dict(ctx.headers or {})}")

    together: list[anyio.Event] = []

    @server.tool()
    async def meet() -> int:
        """Wait until two calls are here."""
        together.append(anyio.Event())
        if len(together) < 2:
            await together[0].wait()
        together[0].set()
        return len(together)

    assert all(map(callable, (add, echo, fail, meet)))


def browse(url: str) -> None:
    """Go where a person's browser goes, in a thread of its own."""

    def go() -> None:
        with contextlib.suppress(OSError), urlopen(url, timeout=10) as page:
            page.read()

    threading.Thread(target=go, daemon=True).start()


def state_of(url: str) -> str:
    """Return the state in the address of a sign-in."""
    return parse_qs(urlsplit(url).query)["state"][0]
