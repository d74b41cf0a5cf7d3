"""HTTP under an MCP connection: a request that fails fails alone.

In the SDK an error of the network ends the whole connection, and with it every other call that is
under way. Here it becomes an answer: the JSON-RPC error that says that the connection was lost.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from encodings.utf_8_sig import IncrementalDecoder
from functools import partial
from io import IncrementalNewlineDecoder
from typing import Final, TypeAlias

import httpx2
from mcp.types import CONNECTION_CLOSED, INVALID_REQUEST, METHOD_NOT_FOUND, RequestId

from toolplan.tools.mcp._oauth import Access, NotAuthorised, plain_headers, whole
from toolplan.tools.mcp._wire import (
    answer_to,
    failure,
    mark_as_not_sent,
    read_messages,
    to_line,
    words_of,
)
from toolplan.tools.replies import json_object

MAX_BODY_BYTES: Final = 200_000_000
MAX_EVENT_BYTES: Final = 200_000_000
CONNECT_TIMEOUT_S: Final = 10.0

NO_ACCESS: Final = -32_090
"""The code of an answer for want of a sign-in; the SDK gives it no meaning."""

Asked: TypeAlias = tuple[RequestId, str] | None
"""The id and the method of a request; None for a notification."""

_SESSION: Final = "mcp-session-id"
_ANSWERS: Final = frozenset(("error", "result"))
_NEVER_REACHED: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_GOODBYE_S: Final = 2.0


class FailuresAsAnswers(httpx2.AsyncBaseTransport):
    """A transport that answers with a JSON-RPC error where the network fails.

    It never sends twice, but what the server refused, and did nothing for, is sent once more with a
    token of `access`.
    """

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
        asked = _asked(request)
        if request.method == "DELETE":  # a courtesy, which nothing waits for
            request.extensions["timeout"] = httpx2.Timeout(_GOODBYE_S).as_dict()
        try:
            response = await self._send(request)
            kind = response.headers.get("content-type", "").lower()
            if kind.startswith("text/event-stream") and response.is_success:
                stream = Events(response, asked)
                return httpx2.Response(
                    response.status_code, headers=plain_headers(response), stream=stream
                )
            if request.method == "GET":
                # the stream of notifications is optional: another answer means that there is none
                await response.aclose()
                return httpx2.Response(response.status_code, headers=plain_headers(response))
            response = await whole(response, request, MAX_BODY_BYTES)
        # the text of an error may hold the address, and the address a secret
        except _NEVER_REACHED as error:
            mark_as_not_sent()
            why = f"The server cannot be reached ({type(error).__name__})."
            return _failed(CONNECTION_CLOSED, why)
        except NotAuthorised as refused:
            mark_as_not_sent()
            return _failed(NO_ACCESS, str(refused), 401)
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            return _failed(CONNECTION_CLOSED, f"The connection broke ({type(error).__name__}).")
        is_gone = request.method == "POST" and response.status_code == 404
        sent = json_object(response.content) if is_gone else {}
        is_answer = asked is not None and sent.get("id") == asked[0] and sent.keys() & _ANSWERS
        if is_gone and _SESSION in request.headers and not is_answer:
            # the server did nothing: the call can be made in a session of its own
            mark_as_not_sent()
            self._on_session_lost()
            return _failed(CONNECTION_CLOSED, "The server does not know the session any more.")
        return _explained(response, asked)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()


def http_client(
    headers: dict[str, str], on_session_lost: Callable[[], None], access: Access | None
) -> httpx2.AsyncClient:
    """Return a client for one server; it follows no redirect itself."""
    return httpx2.AsyncClient(
        headers=headers,
        # calls have a time limit each, and streams of notifications last
        timeout=httpx2.Timeout(CONNECT_TIMEOUT_S, read=None),
        transport=FailuresAsAnswers(httpx2.AsyncHTTPTransport(retries=0), on_session_lost, access),
    )


def _asked(request: httpx2.Request) -> Asked:
    match json_object(request.content) if request.method == "POST" else None:
        case {"id": int() | str() as asked, "method": str(method)}:
            return asked, method
        case _:
            return None


def _explained(response: httpx2.Response, asked: Asked) -> httpx2.Response:
    """Return an answer as JSON-RPC; one that is a failure says which."""
    status = response.status_code
    if asked is None or response.is_redirect or status == 202:
        return response
    encoding = json.detect_encoding(response.content)
    text = response.content.decode(encoding, "surrogateescape").lstrip("\ufeff")
    if status >= 400 and "jsonrpc" not in json_object(text):
        message = f"HTTP {status} ({httpx2.codes.get_reason_phrase(status)})"
        if words := words_of(text).rstrip("."):
            message = f"{message}: {words}"
        if status >= 500 or status == 408:
            what = "gave up" if status == 408 else "failed"
            return _failed(CONNECTION_CLOSED, f"The server {what}: {message}.")
        # no method of a server that speaks another protocol: the SDK falls back to an older one
        code = METHOD_NOT_FOUND if status == 404 else INVALID_REQUEST
        place = "; see its 'headers'" if status in (401, 403, 407) else ""
        return _failed(code, f"The server refused the request: {message}{place}.", status)
    line = to_line(answer_to(*asked, text))
    headers = plain_headers(response) | {"content-type": "application/json"}
    return httpx2.Response(status, headers=headers, content=line.encode())


def _failed(code: int, message: str, status: int = 503) -> httpx2.Response:
    body = to_line(failure(None, message, code)).encode()
    return httpx2.Response(status, headers={"content-type": "application/json"}, content=body)


class Events(httpx2.AsyncByteStream):
    """The events of a response, in UTF-8; those that answer a request as JSON-RPC 2.0."""

    def __init__(self, response: httpx2.Response, asked: Asked) -> None:
        self._response = response
        self._asked = asked

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the events; an error behind the last one, where text came in place of an answer."""
        fields, data, words, is_resumable, is_answered = list[str](), list[str](), "", False, False
        async for line in _lines(self._response):
            name, _, value = line.partition(":")
            if name == "data":
                data.append(value.removeprefix(" "))
            elif line.startswith(("{", "[")):  # a message that is not in a field
                data.append(line)
            elif line and (self._asked is None or name != "event"):
                fields.append(f"{line}\n")
                is_resumable |= name == "id"
            elif not line and self._asked is None:
                yield _sound("".join([*fields, *(f"data: {each}\n" for each in data), "\n"]))
                fields, data = [], []
            elif not line and self._asked is not None:
                text, head = "\n".join(data), "".join(fields)
                found = read_messages(text, dict([self._asked]))
                words = words if found else words_of(text) or words
                is_answered |= not all(hasattr(each, "method") for each in found)
                events = "".join(f"{head}data: {to_line(each)}\n\n" for each in found)
                yield _sound(events or f"{head}\n")
                fields, data = [], []
        if self._asked is not None and words and not is_answered and not is_resumable:
            why = f"The stream ended without an answer; it said: {words}"
            yield _sound(f"data: {to_line(failure(self._asked[0], why, CONNECTION_CLOSED))}\n\n")

    async def aclose(self) -> None:
        """Close the response."""
        await self._response.aclose()


async def _lines(response: httpx2.Response) -> AsyncIterator[str]:
    """Yield the lines of a response, an empty one at its end; single surrogates are no UTF-8.

    Raises:
        ReadError: an event, which ends with an empty line, is too long.
    """
    decoder = IncrementalNewlineDecoder(IncrementalDecoder("surrogateescape"), translate=True)
    parts: list[str] = []
    size = 0
    async for chunk in response.aiter_bytes():
        *lines, rest = decoder.decode(chunk).split("\n")
        for part in lines:
            line = "".join([*parts, part])
            size = size + len(part) if line else 0
            parts = []
            yield line
        parts.append(rest)
        size += len(rest)
        if size > MAX_EVENT_BYTES:
            raise httpx2.ReadError(f"An event has more than {MAX_EVENT_BYTES} characters")
    for line in "".join([*parts, decoder.decode(b"", final=True)]).split("\n"):
        yield line
    yield ""


def _sound(text: str) -> bytes:
    """Return `text` in UTF-8; invalid bytes become an escape that the SDK refuses."""
    return text.encode("utf-8", "backslashreplace")
