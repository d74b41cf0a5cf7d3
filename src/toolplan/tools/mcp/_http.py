"""HTTP under an MCP connection: a request that fails fails alone.

In the SDK an error of the network ends the whole connection, and with it every other call that is
under way. Here it becomes an answer: the JSON-RPC error that says that the connection was lost.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Final

import httpx2
from mcp.types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    JSONRPCError,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)

from toolplan.tools.mcp._answers import (
    answer_to,
    failure_body,
    ids_of,
    own_code,
    read_messages,
    to_line,
    words_of,
)
from toolplan.tools.mcp._authorised import Access, body_of
from toolplan.tools.mcp._interceptors import mark_as_not_sent
from toolplan.tools.mcp._oauth import NotAuthorised
from toolplan.tools.replies import json_object, read_json

MAX_BODY_BYTES: Final = 200_000_000
MAX_EVENT_BYTES: Final = 200_000_000
CONNECT_TIMEOUT_S: Final = 10.0

NO_ACCESS: Final = -32_090
"""The code of an answer for want of a sign-in; the SDK gives it no meaning."""

_SESSION: Final = "mcp-session-id"
_ACCESS: Final = {401: "unauthorised", 403: "forbidden", 407: "proxy asks who we are"}
_NEVER_REACHED: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_GOODBYE_S: Final = 2.0
_GZIP: Final = b"\x1f\x8b"
_ENCODED: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})


class FailuresAsAnswers(httpx2.AsyncBaseTransport):
    """A transport that answers with a JSON-RPC error where the network fails."""

    def __init__(
        self,
        inner: httpx2.AsyncBaseTransport,
        on_session_lost: Callable[[], None],
        access: Access | None = None,
    ) -> None:
        """Call `on_session_lost` when the server no longer knows the session."""
        self._inner = inner
        self._on_session_lost = on_session_lost
        self._send = inner.handle_async_request
        if access is not None:
            self._send = partial(access.send, inner=inner)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the server's answer, or one that says why there is none."""
        asked = ids_of(request.content) if request.method == "POST" else None
        if request.method == "DELETE":  # a courtesy, which nothing waits for
            request.extensions["timeout"] = httpx2.Timeout(_GOODBYE_S).as_dict()
        try:
            response = await self._send(request)
            if _is_stream(response) and response.is_success:
                events = PlainEvents(response, asked)
                return httpx2.Response(
                    response.status_code, headers=_headers(response), stream=events
                )
            if request.method == "GET":
                # it is for notifications, and optional: what is no stream says nothing else
                await response.aclose()
                return httpx2.Response(response.status_code, headers=_headers(response))
            body = _unpacked(response, await body_of(response, MAX_BODY_BYTES))
        # the text of an error may hold the address, and the address a secret
        except _NEVER_REACHED as error:
            mark_as_not_sent()
            why = f"The server cannot be reached ({type(error).__name__})."
            return _failure(CONNECTION_CLOSED, why)
        except NotAuthorised as refused:
            mark_as_not_sent()
            return _failure(NO_ACCESS, str(refused), 401)
        except httpx2.TransportError as error:
            return _failure(CONNECTION_CLOSED, f"The connection broke ({type(error).__name__}).")
        text = body.decode(json.detect_encoding(body), "surrogateescape")
        if (
            request.method == "POST"
            and response.status_code == 404
            and _SESSION in request.headers
            and not (asked is not None and _is_plain(text, asked[0]))
        ):
            # the server did nothing: the call can be made in a session of its own
            mark_as_not_sent()
            self._on_session_lost()
            return _failure(CONNECTION_CLOSED, "The server does not know the session any more.")
        return _explained(response, body, text, asked)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()


def http_client(
    headers: dict[str, str], on_session_lost: Callable[[], None], access: Access | None = None
) -> httpx2.AsyncClient:
    """Return a client for one server. It follows no redirect itself, and never sends twice.

    What the server refused, and did nothing for, is sent once more with a token of `access`.

    Reading has no time limit of its own: calls have one each, and streams of notifications last.
    """
    inner = httpx2.AsyncHTTPTransport(retries=0)
    return httpx2.AsyncClient(
        headers=headers,
        timeout=httpx2.Timeout(CONNECT_TIMEOUT_S, read=None),
        transport=FailuresAsAnswers(inner, on_session_lost, access),
    )


def _is_stream(response: httpx2.Response) -> bool:
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "text/event-stream"


def _explained(
    response: httpx2.Response, body: bytes, text: str, asked: tuple[RequestId, str] | None
) -> httpx2.Response:
    """Return the answer whole, as JSON-RPC; one that is a failure says which."""
    status = response.status_code
    if status >= 400 and "jsonrpc" not in json_object(text.lstrip("\ufeff")):
        said = _status(response, text)
        if status in _ACCESS:
            reason = f"HTTP {status} ({_ACCESS[status]}): see its 'headers'."
            return _failure(INVALID_REQUEST, reason, status)
        if status >= 500 or status == 408:
            what = "gave up" if status == 408 else "failed"
            return _failure(CONNECTION_CLOSED, f"The server {what}: {said}.")
        if asked is not None:
            # no method of a server that speaks another protocol: the SDK falls back to an older one
            code = METHOD_NOT_FOUND if status == 404 else INVALID_REQUEST
            return _failure(code, f"The server refused the request: {said}.", status)
    if asked is None or response.is_redirect or status == 202:
        return httpx2.Response(status, headers=_headers(response), content=body)
    if not _is_plain(text, asked[0]):
        text = to_line(answer_to(*asked, _data_of(text)))
    headers = {**_headers(response), "content-type": "application/json"}
    return httpx2.Response(status, headers=headers, content=text.encode())


def _status(response: httpx2.Response, text: str) -> str:
    """Return the status of a failure with its name, and what the server says of it."""
    name = httpx2.codes.get_reason_phrase(response.status_code)
    status = f"HTTP {response.status_code}" + (f" ({name})" if name else "")
    words = words_of(text).rstrip(".")
    return f"{status}: {words}" if words else status


def _is_plain(text: str, asked: RequestId) -> bool:
    """Return whether the SDK reads an answer as the server means it."""
    try:
        read_json(text)  # the SDK takes infinities, and of a key that is there twice the last one
        message = jsonrpc_message_adapter.validate_json(text, by_name=False)
    except (ValueError, RecursionError):
        return False
    match message:
        case JSONRPCResponse():
            return message.id == asked
        case JSONRPCError():
            return message.id == asked and own_code(message.error.code) == message.error.code
        case _:
            return False


def _data_of(text: str) -> str:
    """Return the data of events that were sent as something else; other text as it is."""
    lines = text.lstrip("\ufeff").splitlines()
    data = [line.partition(":")[2] for line in lines if line.startswith("data:")]
    return "\n".join(data) if data and not text.lstrip().startswith(("{", "[")) else text


def _headers(response: httpx2.Response) -> dict[str, str]:
    return {name: each for name, each in response.headers.items() if name not in _ENCODED}


def _unpacked(response: httpx2.Response, body: bytes) -> bytes:
    """Return a body as it was before it was compressed, whatever its headers say of that."""
    encoding = response.headers.get("content-encoding", "gzip" if body[:2] == _GZIP else "")
    try:
        return httpx2.Response(200, headers={"content-encoding": encoding}, content=body).content
    except httpx2.DecodingError:
        return body


def _failure(code: int, message: str, status: int = 503) -> httpx2.Response:
    body = to_line(failure_body(None, code, message)).encode()
    return httpx2.Response(status, headers={"content-type": "application/json"}, content=body)


class PlainEvents(httpx2.AsyncByteStream):
    """The events of a response: without a byte order mark, in UTF-8, answers as JSON-RPC 2.0."""

    def __init__(self, response: httpx2.Response, asked: tuple[RequestId, str] | None) -> None:
        """Take the id and the method of the request, or None where none is answered."""
        self._response = response
        self._asked = asked
        self._is_answered = False
        self._words = ""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the events; an error behind the last one, where text came in place of an answer."""
        data, others, kind, has_id = list[str](), list[str](), "", False
        async for line in _lines(self._response):
            field, _, value = line.partition(":")
            if field == "data":
                data.append(value.removeprefix(" "))
            elif field == "event":
                kind = value.strip()
            elif not line or line.startswith(("{", "[")):
                if line:  # a message that is not in a field
                    data.append(line)
                yield self._event("".join(others), kind, data).encode()
                data, others, kind = [], [], ""
            elif field:  # no comment
                has_id = has_id or field == "id"
                others.append(f"{_sound(line)}\n")
        if data:
            yield self._event("".join(others), kind, data).encode()
        if self._asked is not None and self._words and not (self._is_answered or has_id):
            why = f"The stream ended without an answer; it said: {self._words}"
            yield self._failure(CONNECTION_CLOSED, why).encode()

    async def aclose(self) -> None:
        """Close the response."""
        await self._response.aclose()

    def _event(self, head: str, kind: str, lines: list[str]) -> str:
        """Return an event: its other fields, its kind and the lines of its data."""
        if self._asked is None:
            name = f"event: {kind}\n" if kind else ""
            content = "".join(f"data: {_sound(line)}\n" for line in lines)
            return f"{head}{name}{content}\n"
        data = "\n".join(lines)
        messages = read_messages(data, dict([self._asked]))
        if not messages and kind == "error":
            self._is_answered = True
            return self._failure(INTERNAL_ERROR, words_of(data) or "An error, without words.")
        if not messages:
            self._words = words_of(data) or self._words
            return f"{head}data:\n\n"
        self._is_answered |= not all(hasattr(message, "method") for message in messages)
        return "".join(f"{head}data: {to_line(message)}\n\n" for message in messages)

    def _failure(self, code: int, words: str) -> str:
        asked = None if self._asked is None else self._asked[0]
        return f"data: {to_line(failure_body(asked, code, _sound(words)))}\n\n"


async def _lines(response: httpx2.Response) -> AsyncIterator[str]:
    """Yield the lines of a response; bytes that are not UTF-8 become single surrogates."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")
    parts: list[str] = []
    size, has_return = 0, False
    async for chunk in response.aiter_bytes():
        text = decoder.decode(chunk)
        if has_return and text.startswith("\n"):  # of the line that a return has ended
            text = text[1:]
        has_return = text.endswith("\r")
        first, *rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        parts.append(first)
        size += len(first)
        if size > MAX_EVENT_BYTES:
            raise httpx2.ReadError(f"A line has more than {MAX_EVENT_BYTES} characters")
        if rest:
            yield "".join(parts)
            for line in rest[:-1]:
                yield line
            parts, size = [rest[-1]], len(rest[-1])
    if last := "".join([*parts, decoder.decode(b"", final=True)]):
        yield last


def _sound(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
