"""What a request over HTTP must be before the MCP server sees it.

A server on loopback is reached by every web page that its user opens and by every name that someone
lets resolve to it. So Host and Origin are looked at whatever address it listens on, and a token,
where one is set, comes in a header and nowhere else.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, unquote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK_NAMES: Final = frozenset(("localhost", "127.0.0.1", "[::1]"))
SHORTEST_TOKEN: Final = 16
MOST_HEADERS: Final = 32_768
MOST_BODY: Final = 4_000_000
"""Bytes of a request."""

BODY_S: Final = 30.0
"""Seconds in which a request must have come in whole."""

_MOST_DRAINED: Final = 16_000_000
_DRAIN_S: Final = 1.0

_SECRET_NAMES: Final = frozenset(
    ("token", "access_token", "api_key", "apikey", "key", "auth", "authorization", "bearer")
)
_HOST: Final = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[^\[\]:/@\s]+)(:(?P<port>[0-9]{1,5}))?")


def is_loopback(host: str) -> bool:
    """Say whether `host`, a name or an address to listen on, is reached from this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.casefold() == "localhost"


class _Refused(Exception):
    """A request is answered with `status`, and goes no further."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


@dataclass(frozen=True)
class Rules:
    """What is let through.

    Attributes:
        hosts: the names, besides those of loopback, under which the server is reached.
        origins: the origins, besides the server's own, whose pages may use it.
        token: what `Authorization: Bearer` must carry; None asks for nothing.
        most_body: bytes of a request.
        body_s: seconds in which a request must have come in whole.
    """

    hosts: Collection[str] = ()
    origins: Collection[str] = ()
    token: str | None = None
    most_body: int = MOST_BODY
    body_s: float = BODY_S


class Guard:
    """An ASGI application that lets to another one only what `Rules` allow."""

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        """Stand in front of `app`."""
        self._app = app
        self._rules = rules
        self._hosts = LOOPBACK_NAMES | {name.casefold() for name in rules.hosts}
        self._origins = {origin.casefold().rstrip("/") for origin in rules.origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or let it through."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        try:
            self._look(scope)
            body = await self._whole(receive)
        except _Refused as refused:
            await _refuse(refused, receive, send)
            return
        except ConnectionResetError:
            return  # whoever asked is gone before all was said
        await self._app(scope, _Replayed(body, receive), send)

    def _look(self, scope: Scope) -> None:
        """See that all but the body is as it must be.

        Raises:
            _Refused: it is not.
        """
        if sum(len(name) + len(value) for name, value in scope["headers"]) > MOST_HEADERS:
            raise _Refused(431, "headers-too-large", f"Headers have at most {MOST_HEADERS} bytes.")
        headers = _headers(scope)
        host = self._check_host(headers.get("host", []))
        self._check_origin(headers.get("origin", []), host)
        self._check_address(scope)
        self._check_token(headers.get("authorization", []))
        if scope["method"] == "OPTIONS":
            raise _Refused(405, "method-not-allowed", "Other origins have nothing to ask here.")
        self._check_length(headers)
        if scope["method"] == "POST":
            self._check_kind(headers)

    def _check_host(self, values: list[str]) -> str:
        matched = _HOST.fullmatch(values[0]) if len(values) == 1 else None
        if matched is None or matched["name"].casefold() not in self._hosts:
            raise _Refused(421, "foreign-host", "This server is not reached under that name.")
        return values[0].casefold()

    def _check_origin(self, values: list[str], host: str) -> None:
        own = {f"http://{host}", f"https://{host}"}
        for value in values:
            if value.casefold() not in own | self._origins:
                raise _Refused(403, "foreign-origin", "Pages of that origin may not use this.")

    def _check_address(self, scope: Scope) -> None:
        query = bytes(scope.get("query_string", b"")).decode("latin-1")
        names = {name.casefold() for name, _ in parse_qsl(query, keep_blank_values=True)}
        token = self._rules.token
        whole = unquote(f"{scope.get('path', '')}?{query}")
        if names & _SECRET_NAMES or (token is not None and token in whole):
            raise _Refused(
                400, "token-in-url", "A token belongs into the header Authorization, not in a URL."
            )

    def _check_token(self, values: list[str]) -> None:
        token = self._rules.token
        if token is None:
            return
        kind, _, given = (values[0] if len(values) == 1 else "").partition(" ")
        # compared in constant time, and also where there is nothing to compare
        fits = hmac.compare_digest(given.strip().encode("latin-1"), token.encode("utf-8"))
        if not (fits and kind.casefold() == "bearer"):
            raise _Refused(401, "unauthorised", "The header Authorization has no valid token.")

    def _check_kind(self, headers: dict[str, list[str]]) -> None:
        kind = headers.get("content-type", [""])[0].partition(";")[0].strip().casefold()
        if kind != "application/json":
            raise _Refused(415, "content-type", "Requests are application/json.")
        if headers.get("content-encoding", ["identity"]) != ["identity"]:
            raise _Refused(415, "content-encoding", "Requests are not compressed.")

    def _check_length(self, headers: dict[str, list[str]]) -> None:
        lengths = headers.get("content-length", [])
        clear = len(set(lengths)) < 2 and all(n.isascii() and n.isdecimal() for n in lengths)
        if not clear or (lengths and "transfer-encoding" in headers):
            raise _Refused(400, "content-length", "The length of the request is not clear.")
        if lengths and int(lengths[0]) > self._rules.most_body:
            raise self._too_large()

    async def _whole(self, receive: Receive) -> bytes:
        """Read the body.

        Raises:
            _Refused: it is too large, or does not come in time.
            ConnectionResetError: the connection ended before.
        """
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._rules.body_s):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise ConnectionResetError
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > self._rules.most_body:
                        raise self._too_large()
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            raise _Refused(408, "too-slow", "The request did not come in whole.") from None

    def _too_large(self) -> _Refused:
        return _Refused(413, "too-large", f"A request has at most {self._rules.most_body} bytes.")


class _Replayed:
    """Gives a body that was read already, and then what else comes."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


def _headers(scope: Scope) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(bytes(name).decode("latin-1").casefold(), []).append(
            bytes(value).decode("latin-1").strip()
        )
    return found


async def _refuse(refused: _Refused, receive: Receive, send: Send) -> None:
    body = json.dumps({"error": {"code": refused.code, "message": str(refused)}}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    if refused.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": True})
    await _drain(receive)
    await send({"type": "http.response.body", "body": b""})


async def _drain(receive: Receive) -> None:
    """Read what is still on its way, within bounds.

    A connection that is closed with something unread is reset, and the answer is lost with it.
    """
    left = _MOST_DRAINED
    try:
        async with asyncio.timeout(_DRAIN_S):
            while left > 0:
                message = await receive()
                if message["type"] != "http.request" or not message.get("more_body", False):
                    return
                left -= len(message.get("body", b""))
    except TimeoutError:
        return
