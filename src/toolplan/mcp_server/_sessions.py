"""Sessions: the longest idle one is closed when there are too many."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, MutableMapping
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolplan.http_server.crowd import BUSY, IDLE, LISTENING, Bounds, is_crowded, one_to_close

_NAME: Final = b"mcp-session-id"


class _Session:
    """A session that a client opened, and what it does."""

    def __init__(self, peer: str, since: float) -> None:
        self.peer = peer
        self.since = since
        self.requests = 0
        self.streams = 0

    @property
    def rank(self) -> int:
        """How much it is needed."""
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
        session = None if name is None else self._open.get(name)
        if session is not None:
            await self._serve(session, scope, receive, self._noting(session, send))
            if scope["method"] == "DELETE" and name is not None:
                self._open.pop(name, None)
            return
        peer = _peer(scope)
        if name is None and scope["method"] == "POST":
            await self._make_room(peer)
        await self._app(scope, receive, self._noting(None, send, peer))

    async def _serve(self, session: _Session, scope: Scope, receive: Receive, send: Send) -> None:
        is_stream = scope["method"] == "GET"
        session.streams += is_stream
        session.requests += not is_stream
        try:
            await self._app(scope, receive, send)
        finally:
            session.streams -= is_stream
            session.requests -= not is_stream
            session.since = _now()

    def _noting(
        self, session: _Session | None, send: Send, peer: str = ""
    ) -> Callable[[MutableMapping[str, Any]], Any]:
        """Return `send` that notes the session which a response opens, or says is gone."""

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                name = dict(message.get("headers", ())).get(_NAME)
                if session is None and name is not None and message["status"] < 400:
                    self._open[name] = _Session(peer, _now())
                if session is not None and message["status"] == 404:  # it expired
                    self._forget(session)
            await send(message)

        return noting

    def _forget(self, session: _Session) -> None:
        for name, each in tuple(self._open.items()):
            if each is session:
                del self._open[name]

    async def _make_room(self, peer: str) -> None:
        async with self._opening:
            while is_crowded(self._open.values(), self._bounds, peer):
                session = one_to_close(self._open.values(), self._bounds, peer)
                if session is None:
                    return  # all are busy: the server refuses
                await self._close(session)

    async def _close(self, session: _Session) -> None:
        """Close a session as its client would."""
        name = next(name for name, each in self._open.items() if each is session)
        self._forget(session)
        scope: Scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "DELETE",
            "scheme": "http",
            "path": self._path,
            "raw_path": self._path.encode(),
            "root_path": "",
            "query_string": b"",
            "headers": [(b"host", b"localhost"), (_NAME, name)],
            "server": ("localhost", 80),
            "client": None,
        }

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(_: Message) -> None:
            return

        await self._app(scope, receive, send)


def _peer(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


def _now() -> float:
    return asyncio.get_running_loop().time()
