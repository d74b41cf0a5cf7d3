"""HTTP under an MCP connection: a request that fails fails alone.

In the SDK an error of the network ends the whole connection, and with it every other call that is
under way. Here it becomes an answer: the JSON-RPC error that says that the connection was lost.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

import httpx2
from mcp.types import (
    CONNECTION_CLOSED,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    JSONRPCError,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)

from toolplan.sources.mcp._answers import (
    answer_to,
    failure_body,
    ids_of,
    own_code,
    to_line,
    words_of,
)
from toolplan.sources.mcp._authorised import Access, Authorised, body_of
from toolplan.sources.mcp._events import PlainEvents
from toolplan.sources.mcp._interceptors import DELIVERY
from toolplan.sources.mcp._oauth import NotAuthorised
from toolplan.sources.replies import read_json

MAX_BODY_BYTES: Final = 200_000_000
CONNECT_TIMEOUT_S: Final = 10.0

NO_ACCESS: Final = -32_090
"""The code of an answer that says that nobody has signed in; the SDK gives it no meaning."""

_SESSION: Final = "mcp-session-id"
_ACCEPTED: Final = 202
_CLIENT_ERROR: Final = 400
_NOT_FOUND: Final = 404
_REQUEST_TIMEOUT: Final = 408
_SERVER_ERROR: Final = 500
_ACCESS: Final = {401: "unauthorised", 403: "forbidden", 407: "proxy asks who we are"}
_NEVER_REACHED: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_GOODBYE_S: Final = 2.0
_GZIP: Final = b"\x1f\x8b"
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
                return _with(response, PlainEvents(response, asked))
            if request.method == "GET":
                # it is for notifications, and optional: what is no stream says nothing else
                await response.aclose()
                return httpx2.Response(response.status_code, headers=_headers(response))
            body = _unpacked(response, await body_of(response, MAX_BODY_BYTES))
        except _NEVER_REACHED as error:
            _mark_as_not_sent()
            return _failure(CONNECTION_CLOSED, f"The server cannot be reached ({_kind(error)}).")
        except NotAuthorised as refused:
            _mark_as_not_sent()
            return _failure(NO_ACCESS, str(refused), 401)
        except httpx2.TransportError as error:
            return _failure(CONNECTION_CLOSED, f"The connection broke ({_kind(error)}).")
        text = body.decode(json.detect_encoding(body), "surrogateescape")
        if (
            request.method == "POST"
            and response.status_code == _NOT_FOUND
            and _SESSION in request.headers
            and not _is_answer(text, asked)
        ):
            # the server did nothing: the call can be made in a session of its own
            _mark_as_not_sent()
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


def _mark_as_not_sent() -> None:
    """Say of the call that the running task makes that its request was never taken."""
    delivery = DELIVERY.get()
    if delivery is not None:
        delivery.begun = False


def _is_stream(response: httpx2.Response) -> bool:
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "text/event-stream"


def _explained(
    response: httpx2.Response, body: bytes, text: str, asked: tuple[RequestId, str] | None
) -> httpx2.Response:
    """Return the answer whole, as JSON-RPC; one that is a failure says which."""
    status = response.status_code
    is_rpc = _is_rpc(text)
    if status in _ACCESS and not is_rpc:
        reason = f"HTTP {status} ({_ACCESS[status]}): see its 'headers'."
        return _failure(INVALID_REQUEST, reason, status)
    if status >= _SERVER_ERROR and not is_rpc:
        return _failure(CONNECTION_CLOSED, f"The server failed: {_status(response, text)}.")
    if status == _REQUEST_TIMEOUT and not is_rpc:
        return _failure(CONNECTION_CLOSED, f"The server gave up: {_status(response, text)}.")
    if asked is None or response.is_redirect or status == _ACCEPTED:
        return httpx2.Response(status, headers=_headers(response), content=body)
    if status >= _CLIENT_ERROR and not is_rpc:
        # no method of a server that speaks another protocol: the SDK falls back to an older one
        code = METHOD_NOT_FOUND if status == _NOT_FOUND else INVALID_REQUEST
        return _failure(code, f"The server refused the request: {_status(response, text)}.", status)
    if _is_plain(text, asked[0]):
        content = text.encode()
    else:
        content = to_line(answer_to(*asked, _data_of(text))).encode()
    headers = {**_headers(response), "content-type": "application/json"}
    return httpx2.Response(status, headers=headers, content=content)


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


def _is_answer(text: str, asked: tuple[RequestId, str] | None) -> bool:
    return asked is not None and _is_plain(text, asked[0])


def _is_rpc(text: str) -> bool:
    try:
        content: object = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return False
    return isinstance(content, dict) and "jsonrpc" in content


def _headers(response: httpx2.Response) -> dict[str, str]:
    return {name: each for name, each in response.headers.items() if name not in _ENCODED}


def _with(response: httpx2.Response, stream: httpx2.AsyncByteStream) -> httpx2.Response:
    return httpx2.Response(response.status_code, headers=_headers(response), stream=stream)


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


def _kind(error: httpx2.TransportError) -> str:
    """Name what went wrong: its text may hold the address, and the address a secret."""
    return type(error).__name__
