"""HTTP under an MCP connection: a request that fails fails alone.

In the SDK an error of the network ends the whole connection, and with it every other call that is
under way. Here it becomes an answer: the JSON-RPC error that says that the connection was lost.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import httpx2
from mcp.types import CONNECTION_CLOSED, INVALID_REQUEST

from toolplan.sources.mcp._authorised import Access, Authorised
from toolplan.sources.mcp._interceptors import DELIVERY
from toolplan.sources.mcp._oauth import NotAuthorised

MAX_BODY_BYTES: Final = 200_000_000
CONNECT_TIMEOUT_S: Final = 10.0

NO_ACCESS: Final = -32_090
"""The code of an answer that says that nobody has signed in; the SDK gives it no meaning."""

_SESSION: Final = "mcp-session-id"
_NOT_FOUND: Final = 404
_SERVER_ERROR: Final = 500
_REFUSED: Final = {401: "unauthorised", 403: "forbidden", 407: "proxy asks who we are"}
_NEVER_REACHED: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


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
        try:
            response = await self._inner.handle_async_request(request)
            if _is_stream(response):
                return response
            body = await _body(response)
        except _NEVER_REACHED as error:
            _mark_as_not_sent()
            return _failure(CONNECTION_CLOSED, f"The server cannot be reached ({_kind(error)}).")
        except NotAuthorised as refused:
            _mark_as_not_sent()
            return _failure(NO_ACCESS, str(refused), 401)
        except httpx2.TransportError as error:
            return _failure(CONNECTION_CLOSED, f"The connection broke ({_kind(error)}).")
        if response.status_code == _NOT_FOUND and _SESSION in request.headers:
            # the server did nothing: the call can be made in a session of its own
            _mark_as_not_sent()
            self._on_session_lost()
            return _failure(CONNECTION_CLOSED, "The server does not know the session any more.")
        return _explained(response, body)

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


async def _body(response: httpx2.Response) -> bytes:
    parts: list[bytes] = []
    size = 0
    try:
        async for part in response.aiter_raw():
            parts.append(part)
            size += len(part)
            if size > MAX_BODY_BYTES:
                raise httpx2.ReadError(f"More than {MAX_BODY_BYTES} bytes")
    finally:
        await response.aclose()
    return b"".join(parts)


def _explained(response: httpx2.Response, body: bytes) -> httpx2.Response:
    """Return the answer whole; one that is not JSON-RPC and a failure says which."""
    whole = httpx2.Response(response.status_code, headers=response.headers, content=body)
    if response.status_code in _REFUSED and not _is_rpc(whole):
        reason = (
            f"HTTP {response.status_code} ({_REFUSED[response.status_code]}): see its 'headers'."
        )
        return _failure(INVALID_REQUEST, reason, response.status_code)
    if response.status_code >= _SERVER_ERROR and not _is_rpc(whole):
        return _failure(CONNECTION_CLOSED, f"The server failed: HTTP {response.status_code}.")
    return whole


def _is_rpc(response: httpx2.Response) -> bool:
    try:
        content: object = response.json()
    except (ValueError, RecursionError):
        return False
    return isinstance(content, dict) and "jsonrpc" in content


def _failure(code: int, message: str, status: int = 503) -> httpx2.Response:
    error: dict[str, Any] = {"code": code, "message": message}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
    return httpx2.Response(status, headers={"content-type": "application/json"}, content=body)


def _kind(error: httpx2.TransportError) -> str:
    """Name what went wrong: its text may hold the address, and the address a secret."""
    return type(error).__name__
