"""Checks of HTTP requests before they reach a server.

A server on loopback can be reached by every web page that its user opens, and by every name that
resolves to it. So Host and Origin are checked on every address, and a token is accepted in a header
only.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import re
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Final
from urllib.parse import parse_qsl, unquote

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK_NAMES: Final = frozenset(("localhost", "127.0.0.1", "[::1]"))
SHORTEST_TOKEN: Final = 16
MOST_HEADERS: Final = 32_768
MOST_BODY: Final = 4_000_000
"""The maximum size of a request, in bytes."""

BODY_S: Final = 30.0
"""The time limit for receiving a request, in seconds."""

_MOST_DRAINED: Final = 16_000_000
_DRAIN_S: Final = 1.0

_SECRET_NAMES: Final = frozenset(
    ["token", "access_token", "api_key", "apikey", "key", "auth", "authorization", "bearer"]
)
_HOST: Final = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[^\[\]:/@\s]+)(:(?P<port>[0-9]{1,5}))?")


def is_loopback(host: str) -> bool:
    """Check whether `host`, a name or an address, can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.casefold() == "localhost"


class _Refused(Exception):
    """A request that is answered with `status`."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Rules(Struct, frozen=True):
    """The rules for requests.

    Attributes:
        hosts: the server's names, besides those of loopback.
        origins: the origins whose pages may use the server, besides its own.
        token: the required `Authorization: Bearer` token; None requires none.
        most_body: the maximum size of a request, in bytes.
        body_s: the time limit for receiving a request, in seconds.
    """

    hosts: Collection[str] = ()
    origins: Collection[str] = ()
    token: str | None = None
    most_body: int = MOST_BODY
    body_s: float = BODY_S


def error_json(status: int, code: str, message: str) -> object:
    """Return the body of a refusal for a program."""
    return {"error": {"code": code, "message": message}}


class Guard:
    """An ASGI application that passes the requests that `Rules` allow to another one."""

    def __init__(
        self, app: ASGIApp, rules: Rules, to_json: Callable[[int, str, str], object] = error_json
    ) -> None:
        """Guard `app`; `to_json` returns the body of a refusal by status, code and message."""
        self._app = app
        self._to_json = to_json
        self._rules = rules
        self._hosts = LOOPBACK_NAMES | {name.casefold() for name in rules.hosts}
        self._origins = {origin.casefold().rstrip("/") for origin in rules.origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        try:
            self._check(scope, Headers(scope=scope))
            body = await self._body(receive)
        except _Refused as refused:
            said = json.dumps(self._to_json(refused.status, refused.code, str(refused)))
            await _refuse(refused.status, said.encode(), receive, send)
            return
        except ConnectionResetError:
            return  # the client disconnected
        messages = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def replayed() -> Message:
            return next(messages, None) or await receive()

        await self._app(scope, replayed, send)

    def _check(self, scope: Scope, headers: Headers) -> None:
        """Check everything but the body."""
        if sum(len(name) + len(value) for name, value in headers.raw) > MOST_HEADERS:
            message = f"The limit of headers is {MOST_HEADERS} bytes."
            raise _Refused(431, "headers-too-large", message)
        self._check_sender(headers)
        self._check_token(scope, headers)
        if scope["method"] == "OPTIONS":
            raise _Refused(405, "method-not-allowed", "Cross-origin requests are not supported.")
        lengths = headers.getlist("content-length")
        clear = len(set(lengths)) < 2 and all(n.isascii() and n.isdecimal() for n in lengths)
        if not clear or (lengths and "transfer-encoding" in headers):
            raise _Refused(400, "content-length", "The length of the request is ambiguous.")
        if lengths and int(lengths[0]) > self._rules.most_body:
            raise self._too_large()
        if scope["method"] == "POST":
            kind = headers.get("content-type", "").partition(";")[0].strip().casefold()
            if kind != "application/json":
                raise _Refused(415, "content-type", "Requests must be application/json.")
            if headers.getlist("content-encoding") not in ([], ["identity"]):
                raise _Refused(415, "content-encoding", "Requests must not be compressed.")

    def _check_sender(self, headers: Headers) -> None:
        hosts = headers.getlist("host")
        matched = _HOST.fullmatch(hosts[0].strip()) if len(hosts) == 1 else None
        if matched is None or matched["name"].casefold() not in self._hosts:
            raise _Refused(421, "foreign-host", "This is not a name of this server.")
        host = matched[0].casefold()
        known = self._origins | {f"http://{host}", f"https://{host}"}
        if any(origin.strip().casefold() not in known for origin in headers.getlist("origin")):
            raise _Refused(403, "foreign-origin", "Pages of that origin may not use this server.")

    def _check_token(self, scope: Scope, headers: Headers) -> None:
        query = bytes(scope.get("query_string", b"")).decode("latin-1")
        names = {name.casefold() for name, _ in parse_qsl(query, keep_blank_values=True)}
        token = self._rules.token
        whole = unquote(f"{scope.get('path', '')}?{query}")
        if names & _SECRET_NAMES or (token is not None and token in whole):
            message = "Send the token in the header Authorization, not in the URL."
            raise _Refused(400, "token-in-url", message)
        if token is None:
            return
        values = headers.getlist("authorization")
        kind, _, given = (values[0].strip() if len(values) == 1 else "").partition(" ")
        # compared in constant time, even if there is no token in the request
        fits = hmac.compare_digest(given.strip().encode("latin-1"), token.encode("utf-8"))
        if not (fits and kind.casefold() == "bearer"):
            raise _Refused(401, "unauthorised", "The header Authorization has no valid token.")

    async def _body(self, receive: Receive) -> bytes:
        """Read the body.

        Raises:
            _Refused: it is too large, or too slow.
            ConnectionResetError: the client disconnected.
        """
        body = bytearray()
        try:
            async with asyncio.timeout(self._rules.body_s):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise ConnectionResetError
                    body += message.get("body", b"")
                    if len(body) > self._rules.most_body:
                        raise self._too_large()
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            raise _Refused(408, "too-slow", "The request was not received in time.") from None

    def _too_large(self) -> _Refused:
        message = f"The limit of a request is {self._rules.most_body} bytes."
        return _Refused(413, "too-large", message)


async def _refuse(status: int, body: bytes, receive: Receive, send: Send) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": True})
    # a connection that is closed with unread data is reset, and the response is lost
    left = _MOST_DRAINED
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_S):
            while left > 0:
                message = await receive()
                if message["type"] != "http.request" or not message.get("more_body", False):
                    break
                left -= len(message.get("body", b""))
    await send({"type": "http.response.body", "body": b""})
