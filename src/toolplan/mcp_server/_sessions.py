"""Sessions: the longest idle one is closed when there are too many."""

from __future__ import annotations

import asyncio
from typing import Final

from msgspec import Struct
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolplan.mcp_server.http.crowd import BUSY, IDLE, LISTENING, Bounds, is_crowded, one_to_close

_NAME: Final = b"mcp-session-id"


class _Session(Struct):
    """A session that a client opened, and the requests and streams that it has now."""

    name: bytes
    peer: str
    since: float
    requests: int = 0
    streams: int = 0

    @property
    def rank(self) -> int:
        if self.requests:
            return BUSY
        return LISTENING if self.streams else IDLE


class Sessions:
    """An ASGI application that passes requests on, and keeps the number of sessions in bounds.

    A client whose session was closed gets 404, and opens another one.
    """

    def __init__(self, app: ASGIApp, bounds: Bounds, path: str) -> None:
        self._app = app
        self._bounds = bounds
        self._path = path
        self._open: dict[bytes, _Session] = {}
        self._opening = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        name = dict(scope["headers"]).get(_NAME)
        peer = str(scope["client"][0]) if scope.get("client") else ""
        if name is None and scope["method"] == "POST":
            await self._make_room(peer, scope)
        session = self._open.get(name or b"")

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                opened = dict(message.get("headers", ())).get(_NAME)
                if session is None and opened is not None and message["status"] < 400:
                    self._open[opened] = _Session(opened, peer, _now())
                if session is not None and message["status"] == 404:  # it expired
                    self._open.pop(session.name, None)
            await send(message)

        if session is None:
            await self._app(scope, receive, noting)
            return
        is_stream = scope["method"] == "GET"
        session.streams += is_stream
        session.requests += not is_stream
        try:
            await self._app(scope, receive, noting)
        finally:
            session.streams -= is_stream
            session.requests -= not is_stream
            session.since = _now()
        if scope["method"] == "DELETE":
            self._open.pop(session.name, None)

    async def _make_room(self, peer: str, scope: Scope) -> None:
        async with self._opening:
            while is_crowded(self._open.values(), self._bounds, peer):
                session = one_to_close(self._open.values(), self._bounds, peer)
                if session is None:
                    return  # all are busy: the server refuses
                del self._open[session.name]
                await self._close(session.name, scope)

    async def _close(self, name: bytes, scope: Scope) -> None:
        """Close a session by a DELETE request over the connection of `scope`."""
        closing: Scope = {
            **scope,
            "method": "DELETE",
            "path": self._path,
            "raw_path": self._path.encode(),
            "query_string": b"",
            "headers": [(b"host", b"localhost"), (_NAME, name)],
        }

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(_: Message) -> None:
            return

        await self._app(closing, receive, send)


def _now() -> float:
    return asyncio.get_running_loop().time()
