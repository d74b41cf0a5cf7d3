"""HTTP under an MCP connection: a request that fails fails alone.

In the SDK an error of the network ends the whole connection, and with it every other call that is
under way. Here it becomes an answer: the JSON-RPC error that says that the connection was lost.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import AsyncIterator, Callable
from typing import Final

import httpx2
from mcp.types import (
    CONNECTION_CLOSED,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    JSONRPCNotification,
    JSONRPCRequest,
    RequestId,
)

from toolplan.sources.mcp._answers import (
    answer_to,
    failure,
    ids_of,
    is_answer,
    read_message,
    to_line,
    words_of,
)
from toolplan.sources.mcp._authorised import Access, Authorised, body_of
from toolplan.sources.mcp._interceptors import mark_as_not_sent
from toolplan.sources.mcp._oauth import NotAuthorised

MAX_BODY_BYTES: Final = 200_000_000
MAX_EVENT_BYTES: Final = 200_000_000
CONNECT_TIMEOUT_S: Final = 10.0

NO_ACCESS: Final = -32_090
"""The code of an answer for want of a sign-in; the SDK gives it no meaning."""

_SESSION: Final = "mcp-session-id"
_ACCEPTED: Final = 202
_CLIENT_ERROR: Final = 400
_NOT_FOUND: Final = 404
_REQUEST_TIMEOUT: Final = 408
_SERVER_ERROR: Final = 500
_ACCESS: Final = {401: "unauthorised", 403: "forbidden", 407: "proxy asks who we are"}
_NEVER_REACHED: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_GOODBYE_S: Final = 2.0
_ENCODED: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})


class FailuresAsAnswers(httpx2.AsyncBaseTransport):
    """A transport that answers with a JSON-RPC error where the network fails."""

    def __init__(
        self, inner: httpx2.AsyncBaseTransport, on_session_lost: Callable[[], None]
    ) -> None:
        """Call `on_session_lost` when the server no longer knows the session."""
        self._inner = inner
        self._on_session_lost = on_session_lost

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the server's answer, or one that says why there is none."""
        asked = ids_of(request.content) if request.method == "POST" else None
        if request.method == "DELETE":  # a courtesy, which nothing waits for
            request.extensions["timeout"] = httpx2.Timeout(_GOODBYE_S).as_dict()
        try:
            response = await self._inner.handle_async_request(request)
            if _is_stream(response) and response.is_success:
                events = CheckedEvents(response, asked)
                return httpx2.Response(
                    response.status_code, headers=_headers(response), stream=events
                )
            if request.method == "GET":
                # it is for notifications, and optional: what is no stream says nothing else
                await response.aclose()
                return httpx2.Response(response.status_code, headers=_headers(response))
            packed = await body_of(response, MAX_BODY_BYTES)
            body = httpx2.Response(200, headers=response.headers, content=packed).content
        # the text of an error may hold the address, and the address a secret
        except _NEVER_REACHED as error:
            mark_as_not_sent()
            why = f"The server cannot be reached ({type(error).__name__})."
            return _failure(CONNECTION_CLOSED, why)
        except NotAuthorised as refused:
            mark_as_not_sent()
            return _failure(NO_ACCESS, str(refused), 401)
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            return _failure(CONNECTION_CLOSED, f"The connection broke ({type(error).__name__}).")
        text = body.decode(json.detect_encoding(body), "surrogateescape")
        if (
            request.method == "POST"
            and response.status_code == _NOT_FOUND
            and _SESSION in request.headers
            and not (asked is not None and _is_own_answer(text, asked))
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
    timeout = httpx2.Timeout(CONNECT_TIMEOUT_S, read=None)
    inner: httpx2.AsyncBaseTransport = httpx2.AsyncHTTPTransport(retries=0)
    if access is not None and access.provider is not None:
        inner = Authorised(inner, access, access.provider)
    transport = FailuresAsAnswers(inner, on_session_lost)
    return httpx2.AsyncClient(headers=headers, timeout=timeout, transport=transport)


def _is_stream(response: httpx2.Response) -> bool:
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "text/event-stream"


def _explained(
    response: httpx2.Response, body: bytes, text: str, asked: tuple[RequestId, str] | None
) -> httpx2.Response:
    """Return the answer whole, as JSON-RPC; one that is a failure says which."""
    status = response.status_code
    if status >= _CLIENT_ERROR and not _is_rpc(text):
        said = _status(response, text)
        if status in _ACCESS:
            reason = f"HTTP {status} ({_ACCESS[status]}): see its 'headers'."
            return _failure(INVALID_REQUEST, reason, status)
        if status >= _SERVER_ERROR or status == _REQUEST_TIMEOUT:
            what = "gave up" if status == _REQUEST_TIMEOUT else "failed"
            return _failure(CONNECTION_CLOSED, f"The server {what}: {said}.")
        if asked is not None:
            # no method of a server that speaks another protocol: the SDK falls back to an older one
            code = METHOD_NOT_FOUND if status == _NOT_FOUND else INVALID_REQUEST
            return _failure(code, f"The server refused the request: {said}.", status)
    if asked is None or response.is_redirect or status == _ACCEPTED:
        return httpx2.Response(status, headers=_headers(response), content=body)
    headers = {**_headers(response), "content-type": "application/json"}
    content = to_line(answer_to(*asked, text)).encode()
    return httpx2.Response(status, headers=headers, content=content)


def _status(response: httpx2.Response, text: str) -> str:
    """Return the status of a failure with its name, and what the server says of it."""
    name = httpx2.codes.get_reason_phrase(response.status_code)
    status = f"HTTP {response.status_code}" + (f" ({name})" if name else "")
    words = words_of(text).rstrip(".")
    return f"{status}: {words}" if words else status


def _is_own_answer(text: str, asked: tuple[RequestId, str]) -> bool:
    message = read_message(text, waiting := dict([asked]))
    return is_answer(message, waiting) and message.id is not None


def _is_rpc(text: str) -> bool:
    try:
        content: object = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return False
    return isinstance(content, dict) and "jsonrpc" in content


def _headers(response: httpx2.Response) -> dict[str, str]:
    return {name: each for name, each in response.headers.items() if name not in _ENCODED}


def _failure(code: int, message: str, status: int = 503) -> httpx2.Response:
    body = to_line(failure(None, message, code)).encode()
    return httpx2.Response(status, headers={"content-type": "application/json"}, content=body)


class CheckedEvents(httpx2.AsyncByteStream):
    """The events of a response, in UTF-8; an answer that cannot be kept exactly is an error.

    What is no message, or answers another request, is left out.
    """

    def __init__(self, response: httpx2.Response, asked: tuple[RequestId, str] | None) -> None:
        """Take the id and the method of the request, or None where none is answered."""
        self._response = response
        self._waiting = {} if asked is None else dict([asked])

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the events; one that the end of the stream cuts off too."""
        event: list[str] = []
        async for line in _lines(self._response):
            if line:
                event.append(line)
            else:
                yield self._checked(event).encode()
                event = []
        if event:
            yield self._checked(event).encode()

    async def aclose(self) -> None:
        """Close the response."""
        await self._response.aclose()

    def _checked(self, event: list[str]) -> str:
        """Return the lines of an event with what it answers as one line of data."""
        data = [line[5:].removeprefix(" ") for line in event if line.startswith("data:")]
        message = read_message("\n".join(data), self._waiting)
        if self._waiting and data:
            event = [line for line in event if not line.startswith("data:")]
            if is_answer(message, self._waiting) or isinstance(
                message, JSONRPCRequest | JSONRPCNotification
            ):
                event.append(f"data: {to_line(message)}")
        return "".join(f"{_sound(line)}\n" for line in [*event, ""])


async def _lines(response: httpx2.Response) -> AsyncIterator[str]:
    """Yield the lines of a response; bytes that are not UTF-8 become single surrogates.

    Raises:
        ReadError: a line is too long.
    """
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
