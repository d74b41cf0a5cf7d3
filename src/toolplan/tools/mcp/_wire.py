"""Messages of a connection: as they were sent, JSON-RPC read leniently, texts fit to be shown.

The SDK keeps of a tool only the fields that it knows, and drops a whole page for one tool that it
cannot read. Pins need every field, and one bad tool may not take the others away; so pages are
read here, before the SDK sees them. It also drops a message that is not JSON-RPC 2.0 to the letter,
and the request waits for its time limit. Here such a message becomes a plain one: notifications and
requests keep their meaning, and an answer that cannot be read becomes an error in the server's own
words.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from typing import Any, Final, Protocol, TypeAlias, cast

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp import MCPError
from mcp.shared.message import SessionMessage
from mcp.types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from msgspec import Struct
from pydantic import ValidationError

from toolplan.plan.exact_json import InexactJson, read_json
from toolplan.tools.replies import page_title

Waiting: TypeAlias = Mapping[RequestId, str]
"""The requests that have no answer yet: the method of each, by its id."""
Incoming: TypeAlias = SessionMessage | Exception

LISTING: Final = "tools/list"
HEADER: Final = "x-mcp-header"
"""The keyword of an argument that is sent as a header too."""
UNSOUND: Final = "toolplan/unsound"
"""In place of a tool that cannot be sent on: why."""
LONGEST_MESSAGE: Final = 2_000

_AROUND: Final = "\ufeff \t\r\n\0"
_DEEPEST: Final = 150
"""Levels of nesting of an answer; the SDK reads no more than about 200."""
_LONGEST_WORDS: Final = 500
_ID: Final = re.compile(r'"id"\s*:\s*"?(\d{1,18})"?\s*[,}]')
_OUT: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_KEPT: Final = frozenset("\n\t\u200c\u200d")  # many scripts cannot do without the joiners


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
    """Both streams of a connection. No message of a server makes it raise."""

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
        """The attribute, read by the SDK, of a stream with the sender's context variables."""
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
        """Return the server's text as messages, where the SDK could not read it."""
        sent: object = fault.object if isinstance(fault, UnicodeEncodeError) else ""
        errors = fault.errors(include_url=False) if isinstance(fault, ValidationError) else ()
        for error in errors:
            kind, place = error["type"], error["loc"]
            is_whole = kind in ("json_invalid", "string_unicode", "model_type")
            if is_whole or (kind == "missing" and len(place) == 2):
                sent = error["input"]
                break
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


def name_of(tool: object) -> str:
    """Return the name in a tool's object; empty where it has none."""
    name = cast("dict[str, object]", tool).get("name") if isinstance(tool, dict) else None
    return name if isinstance(name, str) else ""


def read_messages(text: str, waiting: Waiting) -> list[JSONRPCMessage]:
    """Return the messages of one line, one body or one event.

    Text that is no message, and answers to nothing that waits, are left out. Where exactly one
    request waits, an answer without an id is the answer to it, unless it is an error of another
    kind than that a request could not be read.
    """
    text = text.strip(_AROUND)
    if not text.startswith(("{", "[")):
        return []
    try:
        return messages_in(read_json(text), waiting)
    except (ValueError, RecursionError) as error:
        found = _ID.search(text)
        asked = None if found is None else _asked(found[1], waiting)
        why = f"Its answer is {error if isinstance(error, InexactJson) else 'not JSON'}"
        return [] if asked is None else [failure(asked, f"{why}: {words_of(text)}")]


def messages_in(sent: object, waiting: Waiting) -> list[JSONRPCMessage]:
    """Return the messages of one JSON value, as `read_messages` does."""
    batch = cast("list[object]", sent) if isinstance(sent, list) else [sent]
    found = (_message(cast("dict[str, Any]", e), waiting) for e in batch if isinstance(e, dict))
    return [message for message in found if message is not None]


def answer_to(asked: RequestId, method: str, text: str) -> JSONRPCMessage:
    """Return the one answer in `text`, all of which was sent in answer to one request."""
    for message in read_messages(text, {asked: method}):
        if not hasattr(message, "method"):
            return message
    words = words_of(text.strip(_AROUND))
    said = f"does not answer the request: {words}" if words else "is empty."
    return failure(asked, f"Its answer {said}")


def own_code(code: int) -> int:
    """Return the code of a server's own error, apart from the codes that mean a lost connection."""
    return INTERNAL_ERROR if code in (CONNECTION_CLOSED, REQUEST_TIMEOUT) else code


def is_unread(code: object) -> bool:
    """Return whether an error may say that a request was not read, so that its id is unknown."""
    return code in (None, PARSE_ERROR, INVALID_REQUEST)


def failure(
    asked: RequestId | None, words: str, code: int = INTERNAL_ERROR, data: object = None
) -> JSONRPCMessage:
    """Return a JSON-RPC error; half a character in its words cannot be sent on."""
    error: dict[str, object] = {"code": code, "message": words.encode("utf-8", "replace").decode()}
    if data is not None:
        error["data"] = data
    body = {"jsonrpc": "2.0", "id": asked, "error": error}
    return jsonrpc_message_adapter.validate_python(body)


def to_line(message: JSONRPCMessage) -> str:
    """Return a message as one line of JSON."""
    return json.dumps(message.model_dump(mode="json", by_alias=True, exclude_unset=True))


def _message(sent: dict[str, Any], waiting: Waiting) -> JSONRPCMessage | None:
    if isinstance(sent.get("method"), str) and not sent.keys() & {"result", "error"}:
        return _valid({**sent, "jsonrpc": "2.0"})
    error: object = sent.get("error")
    fields: dict[str, Any] = {"message": error}
    if isinstance(error, dict):
        fields = cast("dict[str, Any]", error)
    asked = _asked(sent.get("id"), waiting)
    is_answer = "result" in sent or (error is not None and is_unread(fields.get("code")))
    if sent.get("id") is None and is_answer and len(waiting) == 1:
        asked = next(iter(waiting))
    if asked is None:
        return None
    if error is not None:  # with the server's words, which may have any form
        code, words, data = fields.get("code"), fields.get("message") or fields, fields.get("data")
        text = words if isinstance(words, str) else _shown(words)
        code = own_code(code) if type(code) is int else INTERNAL_ERROR
        return failure(asked, text, code, data if why_unsound(data) is None else None)
    shown: object = sent
    result: object = sent.get("result")
    if "result" not in sent:
        why = "has neither a result nor an error"
    elif sent.get("id") is None:
        why = "does not say to which request"
    elif not isinstance(result, dict):
        why, shown = "has a result that is not an object", result
    else:
        fine, shown = cast("dict[str, Any]", result), cast("object", result)
        if waiting[asked] == LISTING:
            fine = _sound_listing(fine)
        if (why := why_unsound(fine)) is None:
            return _valid({"jsonrpc": "2.0", "id": asked, "result": fine})
    return failure(asked, f"Its answer {why}: {_shown(shown)}")


def _asked(sent: object, waiting: Waiting) -> RequestId | None:
    """Return the waiting request that an id means: servers write 3 as "3" and as 3.0."""
    said = str(sent).strip().removesuffix(".0")
    return next((each for each in waiting if str(each) == said), None)


def _valid(message: dict[str, Any]) -> JSONRPCMessage | None:
    try:
        return jsonrpc_message_adapter.validate_python(message, by_name=False)
    except (ValueError, RecursionError):
        return None


def _sound_listing(result: dict[str, Any]) -> dict[str, Any]:
    """Return a page of tools, with the reason in place of each tool that cannot be sent on."""
    tools: object = result.get("tools")
    if not isinstance(tools, list):
        return result
    sound: list[object] = [
        {"name": ascii(name_of(tool))[1:-1], UNSOUND: why} if (why := why_unsound(tool)) else tool
        for tool in cast("list[object]", tools)
    ]
    return {**result, "tools": sound}


def why_unsound(value: object) -> str | None:
    """Return why a value of a server cannot be kept as it came, or None."""
    if _is_deeper(value, _DEEPEST - 1):
        return f"is nested more than {_DEEPEST} levels deep"
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        return "holds text that is not Unicode (half a character, or bytes that are not UTF-8)"
    except ValueError:
        return "holds a number that JSON does not have (NaN or Infinity)"
    return None


def _is_deeper(value: object, levels: int) -> bool:
    inner: object = cast("dict[str, object]", value).values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list):
        return levels < 0
    return levels < 0 or any(_is_deeper(e, levels - 1) for e in cast("list[object]", inner))


def _shown(value: object) -> str:
    try:
        return words_of(json.dumps(value))
    except (ValueError, RecursionError):
        return type(value).__name__


def words_of(text: str) -> str:
    """Return the text of a server, cut; of a web page its title."""
    words = page_title(text) or " ".join(text[: 4 * _LONGEST_WORDS].split())
    return clean(words, _LONGEST_WORDS)


def clean(text: str, most: int = LONGEST_MESSAGE) -> str:
    r"""Return `text` without control and invisible characters, at most `most` characters of it.

    >>> clean("a\x1b[31mb\u202ec")
    'a[31mbc'
    """
    short = text if len(text) <= most else text[: most - 1] + "…"
    if short.isascii() and short.isprintable():
        return short
    return "".join(c for c in short if c in _KEPT or unicodedata.category(c) not in _OUT)


def reason_of(error: BaseException) -> str:
    """Return why a connection failed; a group of errors is its first one."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    match error:
        case MCPError():
            return clean(error.message) or "The server answered with an error."
        case ValidationError():
            found = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(each) for each in found["loc"])
            return clean(f"{place}: {found['msg']}" if place else found["msg"], 200)
        case FileNotFoundError():
            return f"there is no {error.filename or 'such command'!r} to start"
        case OSError():
            return error.strerror or type(error).__name__
        case TimeoutError():
            return "it did not answer in time"
        case _:
            text = clean(str(error)).partition("\n")[0]
            return f"{type(error).__name__}: {text}" if text else type(error).__name__
