"""A service on loopback that sends what a test gives it, byte by byte."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.doubles.listening import stop_listening
from toolplan.plan.path import Json
from toolplan_openapi import (
    Guard,
    HttpLimits,
    HttpTransport,
    OpenApiToolbox,
    Origin,
    openapi_toolbox,
)

NOW = 1_700_000_000.0
"""What the clock says: Tue, 14 Nov 2023 22:13:20 GMT."""


@dataclass(frozen=True, slots=True)
class Stall:
    """The service reads the request, says `text`, and then nothing more."""

    text: bytes = b""


@dataclass(frozen=True, slots=True)
class Drop:
    """The service reads the request, says `text`, and closes; with `reset` it does so rudely."""

    text: bytes = b""
    reset: bool = False


Reply: TypeAlias = bytes | Stall | Drop


def reply(status: int, content: bytes = b"", *headers: str) -> bytes:
    """Return a response of one piece."""
    head = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(content)}", *headers]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + content


def json_reply(text: str, status: int = 200) -> bytes:
    return reply(status, text.encode(), "Content-Type: application/json")


@dataclass
class Wire:
    """Answers one request after the other with `replies`, the last one again and again."""

    replies: list[Reply]
    requests: list[bytes] = field(default_factory=list[bytes])
    connections: int = 0
    port: int = 0
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    pauses: list[float] = field(default_factory=list[float])
    _server: asyncio.Server | None = None
    _writers: list[asyncio.StreamWriter] = field(default_factory=list[asyncio.StreamWriter])

    async def __aenter__(self) -> Wire:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *raised: object) -> None:
        if self._server is not None:
            await stop_listening(self._server)
        for writer in self._writers:
            writer.close()
        while self._writers:
            with suppress(ConnectionError):
                await self._writers.pop().wait_closed()

    @property
    def lines(self) -> list[str]:
        """The first line of each request."""
        return [each.partition(b"\r\n")[0].decode() for each in self.requests]

    def tools(self, document: Json, limits: HttpLimits | None = None) -> OpenApiToolbox:
        """Return the tools of a document over this service; pauses are kept, not made."""

        async def pause(seconds: float) -> None:
            self.pauses.append(seconds)

        url = f"http://127.0.0.1:{self.port}"
        guard = Guard.made([], Origin("http", "127.0.0.1", self.port))
        transport = HttpTransport(guard, limits or HttpLimits(), sleep=pause, clock=lambda: NOW)
        return openapi_toolbox(document, base_url=url, transport=transport)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.append(writer)
        try:
            while await self._answered(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass

    async def _answered(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        stated = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        self.requests.append(head + await reader.readexactly(int(stated[1]) if stated else 0))
        self.asked.set()
        said = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        match said:
            case bytes():
                writer.write(said)
                await writer.drain()
                return True
            case Stall(text):
                writer.write(text)
                await reader.read()
                return False
            case Drop(text, reset):
                writer.write(text)
                await writer.drain()
                if reset:
                    writer.transport.abort()
                else:
                    writer.close()
                return False
