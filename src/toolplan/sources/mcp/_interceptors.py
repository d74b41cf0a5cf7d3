"""Interceptors on the two streams of a connection: what was sent, when it ended, tools as sent.

The SDK keeps of a tool only the fields that it knows, and drops a whole page for one tool that it
cannot read. Pins need every field, and one bad tool may not take the others away; so pages are
read here, before the SDK sees them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, Protocol, TypeAlias, cast

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCRequest, JSONRPCResponse, RequestId

from toolplan.sources.mcp._listing import name_of

Incoming: TypeAlias = SessionMessage | Exception


class _Receiving(Protocol):
    """The stream that a transport gives to read from."""

    async def receive(self) -> Incoming: ...
    async def aclose(self) -> None: ...


class _Sending(Protocol):
    """The stream that a transport gives to write to."""

    async def send(self, item: SessionMessage, /) -> None: ...
    async def aclose(self) -> None: ...


class Delivery:
    """Whether the request of one call may have reached its server."""

    __slots__ = ("begun",)

    def __init__(self) -> None:
        self.begun = False


DELIVERY: Final[ContextVar[Delivery | None]] = ContextVar("mcp_delivery", default=None)
"""The delivery of the call that the running task makes; the code that sends it marks it."""


class Interceptor:
    """What passes through a connection."""

    def __init__(self, on_end: Callable[[], None], on_request: Callable[[str], None]) -> None:
        """Set what is called.

        Args:
            on_end: called when the server says nothing more, for whatever reason.
            on_request: called with the method that a server asks for.
        """
        self._on_end = on_end
        self._on_request = on_request
        self._listings: set[RequestId] = set()
        self.page: list[object] | None = None

    def going_out(self, message: SessionMessage) -> None:
        """Record a message that is about to be sent."""
        request = message.message
        if not isinstance(request, JSONRPCRequest):
            return
        if request.method == "tools/call":
            delivery = DELIVERY.get()
            if delivery is not None:
                delivery.begun = True
        elif request.method == "tools/list":
            self._listings.add(request.id)

    def not_gone_out(self) -> None:
        """Record that the connection was closed before the message could be sent."""
        delivery = DELIVERY.get()
        if delivery is not None:
            delivery.begun = False

    def coming_in(self, message: SessionMessage) -> None:
        """Keep the tools of a page, and leave to the SDK what it cannot stumble over.

        Nothing that a server can say may raise here.
        """
        answer = message.message
        if isinstance(answer, JSONRPCRequest):
            self._on_request(answer.method)
        elif isinstance(answer, JSONRPCResponse) and answer.id in self._listings:
            self._listings.discard(answer.id)
            tools = answer.result.get("tools")
            if isinstance(tools, list):
                self.page = cast("list[object]", tools)
                answer.result["tools"] = [_bare(each) for each in self.page if name_of(each)]

    def ended(self) -> None:
        """Record that nothing comes in any more."""
        self._on_end()


class InterceptedReceiving(ObjectReceiveStream[Incoming]):
    """An intercepted stream to read from."""

    def __init__(self, inner: _Receiving, interceptor: Interceptor) -> None:
        self._inner = inner
        self._interceptor = interceptor

    @property
    def last_context(self) -> object:
        """What the SDK reads of a stream that carries the sender's context variables."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Incoming:
        """Return the next message.

        Raises:
            EndOfStream: there is none.
        """
        try:
            item = await self._inner.receive()
        except BaseException:  # the end of the stream, or of its reader
            self._interceptor.ended()
            raise
        if isinstance(item, SessionMessage):
            self._interceptor.coming_in(item)
        return item

    async def aclose(self) -> None:
        """Close the stream."""
        await self._inner.aclose()


class InterceptedSending(ObjectSendStream[SessionMessage]):
    """An intercepted stream to write to."""

    def __init__(self, inner: _Sending, interceptor: Interceptor) -> None:
        self._inner = inner
        self._interceptor = interceptor

    async def send(self, item: SessionMessage) -> None:
        """Send a message."""
        self._interceptor.going_out(item)
        try:
            await self._inner.send(item)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._interceptor.not_gone_out()
            raise

    async def aclose(self) -> None:
        """Close the stream."""
        await self._inner.aclose()


def _bare(tool: object) -> dict[str, Any]:
    """Return as much of a tool as the SDK needs: it looks for header arguments in the schema."""
    schema = cast("dict[str, Any]", tool).get("inputSchema")
    known = cast("dict[str, Any]", schema) if isinstance(schema, dict) else {}
    is_object = known.get("type") == "object"
    return {"name": name_of(tool), "inputSchema": known if is_object else {"type": "object"}}
