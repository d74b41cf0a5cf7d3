"""Interceptors on the two streams of a connection: what was sent, when it ended, tools as sent.

The SDK keeps of a tool only the fields that it knows, and drops a whole page for one tool that it
cannot read. Pins need every field, and one bad tool may not take the others away; so pages are
read here, before the SDK sees them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from typing import Any, Final, Protocol, TypeAlias, cast

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import (
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)
from msgspec import Struct
from pydantic import ValidationError

from toolplan.tools.mcp._listing import HEADER, name_of
from toolplan.tools.mcp._wire import LISTING, is_unread, messages_in, own_code, read_messages

Incoming: TypeAlias = SessionMessage | Exception


class _Receiving(Protocol):
    """The stream that a transport gives to read from."""

    async def receive(self) -> Incoming: ...
    async def aclose(self) -> None: ...


class _Sending(Protocol):
    """The stream that a transport gives to write to."""

    async def send(self, item: SessionMessage, /) -> None: ...
    async def aclose(self) -> None: ...


Streams: TypeAlias = tuple[_Receiving, _Sending]


class Delivery(Struct):
    """Whether the request of one call may have reached its server, and the result as it came."""

    begun: bool = False
    answer: dict[str, Any] | None = None


DELIVERY: Final[ContextVar[Delivery | None]] = ContextVar("mcp_delivery", default=None)
"""The delivery of the call that the running task makes; the code that sends it marks it."""


def mark_as_not_sent() -> None:
    """Record that the request of the call that the running task makes was never taken."""
    delivery = DELIVERY.get()
    if delivery is not None:
        delivery.begun = False


class Interceptor(ObjectReceiveStream[Incoming], ObjectSendStream[SessionMessage]):
    """Both streams of a connection. Nothing that a server can say makes it raise."""

    def __init__(
        self,
        on_end: Callable[[], None],
        on_request: Callable[[str], None],
        *,
        is_process: bool = False,
    ) -> None:
        """Watch a connection."""
        self.on_end = on_end
        self.page: list[object] | None = None
        self._on_request = on_request
        self._is_process = is_process
        self._streams: Streams
        self._waiting: dict[RequestId, str] = {}
        self._deliveries: dict[RequestId, Delivery] = {}
        self._plain: deque[SessionMessage] = deque()

    @asynccontextmanager
    async def around(
        self, transport: AbstractAsyncContextManager[Streams]
    ) -> AsyncGenerator[tuple[Interceptor, Interceptor], None]:
        """Open `transport`, and see what passes through it."""
        async with transport as self._streams:
            yield self, self

    @property
    def last_context(self) -> object:
        """What the SDK reads of a stream that carries the sender's context variables."""
        return getattr(self._streams[0], "last_context", None)

    async def receive(self) -> Incoming:
        """Return the next message."""
        if not self._plain:
            try:
                item = await self._streams[0].receive()
            except BaseException:  # the end of the stream, or of its reader
                self.on_end()
                raise
            if isinstance(item, SessionMessage):
                self._plain.append(item)
            else:
                self._plain.extend(self.plain(item))
                if not self._plain:
                    return item
        message = self._plain.popleft()
        self.coming_in(message)
        return message

    async def send(self, item: SessionMessage) -> None:
        """Send a message."""
        self.going_out(item)
        try:
            await self._streams[1].send(item)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            mark_as_not_sent()
            raise

    async def aclose(self) -> None:
        """Close the streams."""
        for stream in self._streams:
            await stream.aclose()

    def going_out(self, message: SessionMessage) -> None:
        """Record a message that is about to be sent."""
        match message.message:
            case JSONRPCNotification(method="notifications/cancelled", params=dict(params)):
                self._forget(params.get("requestId"))
            case JSONRPCRequest(id=asked, method=method):
                self._waiting[asked] = method
                delivery = DELIVERY.get() if method == "tools/call" else None
                if delivery is not None:
                    delivery.begun = True
                    self._deliveries[asked] = delivery
            case _:
                pass

    def plain(self, fault: Exception) -> list[SessionMessage]:
        """Return what the server wrote as messages, where the SDK could not read it."""
        sent = fault.object if isinstance(fault, UnicodeEncodeError) else _sent_in(fault)
        if isinstance(sent, str):
            return [SessionMessage(each) for each in read_messages(sent, self._waiting)]
        return [SessionMessage(each) for each in messages_in(sent, self._waiting)]

    def coming_in(self, message: SessionMessage) -> None:
        """Keep the tools of a page, and pass only sound ones on to the SDK."""
        answer = message.message
        if isinstance(answer, JSONRPCRequest):
            self._on_request(answer.method)
        elif isinstance(answer, JSONRPCError):
            if answer.id is None and is_unread(answer.error.code) and len(self._waiting) == 1:
                answer.id = next(iter(self._waiting))
            if self._is_process:
                answer.error.code = own_code(answer.error.code)
            self._forget(answer.id)
        elif isinstance(answer, JSONRPCResponse):
            method, delivery = self._forget(answer.id)
            if delivery is not None:
                delivery.answer = answer.result
                if "structuredContent" in answer.result:  # the content says the same
                    answer.result.setdefault("content", [])
            tools = answer.result.get("tools")
            if method == LISTING and isinstance(tools, list):
                self.page = cast("list[object]", tools)
                answer.result["tools"] = [_bare(each) for each in self.page if name_of(each)]

    def _forget(self, asked: object) -> tuple[str | None, Delivery | None]:
        """Record that a request waits no longer; return its method and its delivery."""
        if isinstance(asked, str) and asked not in self._waiting and asked.isdecimal():
            asked = int(asked)
        if not isinstance(asked, str | int):
            return None, None
        return self._waiting.pop(asked, None), self._deliveries.pop(asked, None)


def _bare(tool: object) -> dict[str, Any]:
    """Return as much of a tool as the SDK needs: the arguments that are sent as headers."""
    sent: object = cast("dict[str, Any]", tool).get("inputSchema")
    if not isinstance(sent, dict) or HEADER not in str(cast("object", sent)):
        sent = {}
    schema = cast("dict[str, Any]", sent)
    named: object = schema.get("properties")
    properties = cast("dict[str, Any]", named) if isinstance(named, dict) else {}
    sound: dict[str, Any] = {
        name: each for name, each in properties.items() if isinstance(each, dict)
    }
    rest = {key: value for key, value in schema.items() if key != "required"}
    return {"name": name_of(tool), "inputSchema": rest | {"type": "object", "properties": sound}}


def _sent_in(fault: Exception) -> object:
    """Return what could not be read: the text, or the JSON in it."""
    errors = fault.errors(include_url=False) if isinstance(fault, ValidationError) else ()
    for error in errors:
        kind, place = error["type"], error["loc"]
        is_whole = kind in ("json_invalid", "string_unicode", "model_type")
        if is_whole or (kind == "missing" and len(place) == 2):
            return error["input"]
    return ""
