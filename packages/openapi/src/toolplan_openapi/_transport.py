"""How requests reach a service.

Every connection goes to an address that the guard has checked. Nothing is taken from the
environment but which certificates are trusted: no proxy, no `.netrc`. A response is bounded
while it is read.
"""

from __future__ import annotations

import asyncio
import ssl
import time
import zlib
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final, TypeAlias
from urllib.parse import urljoin

import httpx2
from msgspec import Struct, field
from msgspec.structs import replace

from toolplan.schema.tool import OutcomeUnknown, ToolError
from toolplan_openapi._addresses import (
    Guard,
    HostBlocked,
    Origin,
    Resolve,
    origin_of,
    way_to_allow,
)
from toolplan_openapi._addresses import resolve as ask_system
from toolplan_openapi._http import IN_A_COOKIE, Request, Response
from toolplan_openapi._messages import with_query

Sleep: TypeAlias = Callable[[float], Awaitable[None]]
Connect: TypeAlias = Callable[[bool], httpx2.AsyncBaseTransport]
"""Returns the transport to one host; the argument says whether it uses TLS."""

_MOST_HOPS: Final = 5
_MAGIC: Final = b"\x1f\x8b"
_GZIPPED: Final = ("gzip", "x-gzip")
_GZIP: Final = zlib.MAX_WBITS | 16
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_TRY_AGAIN: Final = frozenset({429, 502, 503, 504})
_SENT: Final = (
    httpx2.ReadError,
    httpx2.WriteError,
    httpx2.ReadTimeout,
    httpx2.WriteTimeout,
    httpx2.RemoteProtocolError,
)
"""Errors that occur only after a request was sent, at least in part."""


class HttpLimits(Struct, frozen=True):
    """Bounds on one call.

    Attributes:
        timeout_s: for all of it, tries and pauses included, in seconds.
        connect_s: for one connection, in seconds.
        response_bytes: of a response, decompressed.
        tries: of a GET or HEAD whose connection breaks, or that is answered 429, 502, 503 or 504.
        pause_s: before the second try, in seconds; doubled each time. `Retry-After` goes before it.
        longest_pause_s: a service that asks for a longer one is not asked again.
        connections: at once, to each host.
    """

    timeout_s: float = 30.0
    connect_s: float = 10.0
    response_bytes: int = 10_000_000
    tries: int = 3
    pause_s: float = 0.5
    longest_pause_s: float = 20.0
    connections: int = 20


class _Open(Struct):
    """The connections of one event loop, by origin, and the number of users that hold them open."""

    users: int = 0
    carriers: dict[Origin, httpx2.AsyncBaseTransport] = field(
        default_factory=dict[Origin, httpx2.AsyncBaseTransport]
    )


class _Sending(Struct):
    """A request under way, and whether any byte of it may have reached the service."""

    request: Request
    sent: bool = False

    async def trace(self, event: str, _info: object) -> None:
        """Record progress that the library reports."""
        if event.endswith("send_request_headers.started"):
            self.sent = True

    def broken(self, text: str) -> ToolError:
        """Return the error of a request that broke off."""
        if self.sent and self.request.has_effects:
            return OutcomeUnknown(f"{text} It is not known whether it took effect.")
        return ToolError(text)


class _TryAgain(Exception):
    """A try that may be made again after a pause, and its outcome where it is not."""

    def __init__(self, outcome: ToolError | Response, pause_s: float | None = None) -> None:
        super().__init__()
        self.outcome = outcome
        self.pause_s = pause_s


class HttpTransport:
    """Sends requests over HTTP/1.1.

    Connections are kept as long as a call is under way, or `async with` holds the transport open.
    """

    def __init__(
        self,
        guard: Guard,
        limits: HttpLimits = HttpLimits(),
        *,
        resolve: Resolve = ask_system,
        sleep: Sleep = asyncio.sleep,
        clock: Callable[[], float] = time.time,
        connect: Connect | None = None,
    ) -> None:
        """Send to hosts that `guard` admits, within `limits`.

        Args:
            guard: the addresses that are allowed.
            limits: bounds on one call.
            resolve: gives the addresses of a host.
            sleep: makes the pauses between tries.
            clock: seconds since the epoch, for a `Retry-After` that names a date.
            connect: gives the transport of requests; HTTP by default.
        """
        self._guard = guard
        self._limits = limits
        self._resolve = resolve
        self._sleep = sleep
        self._clock = clock
        self._connect = self._carrier if connect is None else connect
        self._open: dict[asyncio.AbstractEventLoop, _Open] = {}
        self._tls: ssl.SSLContext | None = None

    async def __aenter__(self) -> HttpTransport:
        """Keep connections open from now on."""
        self._open.setdefault(asyncio.get_running_loop(), _Open()).users += 1
        return self

    async def __aexit__(self, *raised: object) -> None:
        """Close them, unless others use them still."""
        loop = asyncio.get_running_loop()
        opened = self._open[loop]
        opened.users -= 1
        if opened.users == 0:
            del self._open[loop]
            for carrier in opened.carriers.values():
                await carrier.aclose()

    async def send(self, request: Request) -> Response:
        """Send `request` as `Transport` says, to a host that the guard admits.

        A GET or HEAD is tried again, and follows redirects that stay on their host.
        """
        sending = _Sending(request)
        try:
            async with asyncio.timeout(self._limits.timeout_s), self:
                return await self._tried(sending)
        except TimeoutError:
            text = f"No answer came from {request.origin} within {self._limits.timeout_s:g} s."
            raise sending.broken(text) from None

    async def _tried(self, sending: _Sending) -> Response:
        left = self._limits.tries if sending.request.may_repeat else 1
        pause = self._limits.pause_s
        while True:
            left -= 1
            try:
                return await self._redirected(sending)
            except _TryAgain as again:
                wait = pause if again.pause_s is None else again.pause_s
                if left <= 0 or wait > self._limits.longest_pause_s:
                    if isinstance(again.outcome, Response):
                        return again.outcome
                    raise again.outcome from None
            await self._sleep(wait)
            pause *= 2

    async def _redirected(self, sending: _Sending) -> Response:
        request = sending.request
        for _ in range(_MOST_HOPS):
            response = await self._sent(request, sending)
            if response.status in _TRY_AGAIN and request.may_repeat:
                raise _TryAgain(response, _retry_after(response, self._clock()))
            location = response.headers.get("location")
            if response.status not in _REDIRECTS or not location or not request.may_repeat:
                return response
            try:
                url = urljoin(f"{request.origin}{request.target}", location)
                origin, parts = origin_of(url)
            except ValueError:
                what = "redirects to something that is not a URL"
                raise HostBlocked(f"{request.origin} {what}.") from None
            upgraded = replace(request.origin, scheme="https", port=443)
            stays = origin == request.origin or (origin == upgraded and request.origin.port == 80)
            if not stays:
                raise HostBlocked(f"{request.origin} redirects to {origin}, which is not followed.")
            query = f"?{parts.query}" if parts.query else ""
            request = replace(request, origin=origin, target=f"{parts.path or '/'}{query}")
        raise ToolError(f"{request.origin} redirects without end.")

    async def _sent(self, request: Request, sending: _Sending) -> Response:
        origin = request.origin
        try:
            found = await self._resolve(origin.host, origin.port)
        except OSError as error:
            text = f"The host {origin.host!r} cannot be found: {error.strerror or error}."
            raise _TryAgain(ToolError(text)) from None
        addresses = self._guard.admit(origin.host, found)
        if request.credentials and origin.scheme == "http" and not self._guard.trusts(origin):
            raise HostBlocked(
                f"Credentials are not sent to {origin} unencrypted. {way_to_allow(origin.host)}"
            )
        carriers = self._open[asyncio.get_running_loop()].carriers
        if origin not in carriers:
            carriers[origin] = self._connect(origin.scheme == "https")
        why = ""
        for address in addresses:
            wire = _wire(request, address, self._limits, sending)
            try:
                response = await carriers[origin].handle_async_request(wire)
                try:
                    return await _read(response, self._limits.response_bytes, request)
                finally:
                    await response.aclose()
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                # the next address may do; nothing was sent, so the library's text may be shown
                why = " ".join(str(error).split())[:200].rstrip(".")
            except _SENT as error:
                sending.sent = True
                text = f"The connection to {origin} broke: {type(error).__name__}."
                raise _TryAgain(sending.broken(text)) from None
            except httpx2.TransportError as error:
                text = f"The request to {origin} failed: {type(error).__name__}."
                raise sending.broken(text) from None
        text = f"{origin} cannot be reached: {why or 'there is no connection'}."
        raise _TryAgain(ToolError(text))

    def _carrier(self, tls: bool) -> httpx2.AsyncBaseTransport:
        # certificates are loaded once, and only where there is TLS
        if tls and self._tls is None:
            self._tls = httpx2.create_ssl_context()
        trusted = self._tls if tls and self._tls else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        bounds = httpx2.Limits(
            max_connections=self._limits.connections,
            max_keepalive_connections=self._limits.connections,
        )
        return httpx2.AsyncHTTPTransport(verify=trusted, trust_env=False, limits=bounds)


def _wire(request: Request, address: str, limits: HttpLimits, sending: _Sending) -> httpx2.Request:
    """Return the request as the library takes it: to `address`, in the name of the host."""
    credentials, origin = request.credentials, request.origin
    host = f"[{address}]" if ":" in address else address
    target = with_query(request.target, credentials.query)
    headers = [
        ("Host", origin.authority),
        ("Accept", "application/json, */*;q=0.5"),
        ("Accept-Encoding", "gzip"),
        ("User-Agent", "toolplan"),
        *request.headers,
        *credentials.headers,
    ]
    if cookies := (*request.cookies, *credentials.cookies):
        if odd := [name for name, value in cookies if not IN_A_COOKIE.fullmatch(value)]:
            raise ToolError(f"The value of the cookie {odd[0]!r} cannot be sent.")
        headers.append(("Cookie", "; ".join(f"{name}={value}" for name, value in cookies)))
    bounds = httpx2.Timeout(limits.timeout_s, connect=limits.connect_s)
    return httpx2.Request(
        request.method,
        f"{origin.scheme}://{host}:{origin.port}/",
        headers=headers,
        content=request.content,
        extensions={
            "sni_hostname": origin.host,
            "target": target.encode("ascii"),  # as it is: the library would rewrite some of it
            "timeout": bounds.as_dict(),
            "trace": sending.trace,
        },
    )


async def _read(response: httpx2.Response, most: int, request: Request) -> Response:
    """Read a response to its end, at most `most` bytes of it."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    packed, content, fault = bytearray(), b"", ""
    async for part in response.aiter_raw():
        packed += part
        if len(packed) > most:
            break
    try:
        content = _unpacked(bytes(packed), headers, most + 1)
    except ValueError as error:
        fault = str(error)
    if len(packed) > most or len(content) > most:
        fault = f"what it sent is larger than {most} bytes"
    if fault and response.status_code < 300:  # a refusal is read in part
        text = f"The service answered {response.status_code}, but {fault}."
        raise OutcomeUnknown(text) if request.has_effects else ToolError(text)
    return Response(response.status_code, headers, content[:most])


def _unpacked(content: bytes, headers: Mapping[str, str], most: int) -> bytes:
    """Return the content, decompressed to at most `most` bytes."""
    encoding = headers.get("content-encoding", "").strip().lower()
    kind = headers.get("content-type", "").lower()
    if encoding in ("", *_GZIPPED) and ("json" in kind or kind.startswith("text/")):
        # no text begins with these bytes, so the content decides and not the header
        encoding = "gzip" if content.startswith(_MAGIC) else ""
    if encoding in ("", "identity") or not content:
        return content
    if encoding not in _GZIPPED:
        raise ValueError(f"it is packed as {encoding!r}, which was not asked for")
    unpacking = zlib.decompressobj(_GZIP)
    try:
        unpacked = unpacking.decompress(content, most)
    except zlib.error:
        raise ValueError("what it sent cannot be decompressed") from None
    if not unpacking.eof and len(unpacked) < most:
        raise ValueError("what it sent is cut off")
    return unpacked


def _retry_after(response: Response, now: float) -> float | None:
    """Return the pause that the service asks for, in seconds; None where it does not."""
    stated = response.headers.get("retry-after", "").strip()
    if stated.isascii() and stated.isdigit():
        return float(stated[:9])
    try:
        when = parsedate_to_datetime(stated)
    except (TypeError, ValueError):
        return None
    when = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    return max(0.0, when.timestamp() - now)
