"""Serving an application over HTTP on one address of this machine, and its secret in a file."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from contextlib import closing
from enum import IntEnum
from pathlib import Path
from typing import Final

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from toolplan.base.errors import ToolplanError
from toolplan.mcp_server.http.guard import SHORTEST_TOKEN, Rules, is_loopback

MOST: Final = 256
"""Maximum number of connections of all peers together."""

MOST_OF_PEER: Final = 64
"""Maximum number of connections of one address."""

HEADERS_S: Final = 15.0
"""The interval of checks for incomplete headers; the second failed check closes the connection."""

_TOO_MANY: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\n"
    b"content-length: 0\r\n\r\n"
)
_TOO_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class Use(IntEnum):
    """Uses of a connection; the lowest is closed first."""

    IDLE = 0  # there is no whole request
    LISTENING = 1  # a stream of events, which a client opens again
    BUSY = 2  # a request is being answered; it is never closed


class Connection(H11Protocol):
    """A connection of uvicorn that closes if the headers of a request do not arrive.

    uvicorn itself closes idle connections between two requests only. When there are too many, the
    one that is idle for longest is closed for a new one.
    """

    peer: str = ""
    since: float = 0.0
    _timer: asyncio.TimerHandle | None = None
    _failed_checks: int = 0
    _is_given_up: bool = False

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Find a place for it, and start the checks."""
        others = [each for each in self.connections if isinstance(each, Connection)]
        others = [each for each in others if not each._is_given_up]
        super().connection_made(transport)
        self.peer = self.client[0] if self.client else ""
        self.since = self.loop.time()
        of_peer = sum(each.peer == self.peer for each in others)
        if len(others) >= MOST or of_peer >= MOST_OF_PEER:
            idle = one_to_close(others, self.peer)
            if idle is None:
                self._give_up(_TOO_MANY)
                return
            idle._give_up(b"")
        self._timer = self.loop.call_later(HEADERS_S, self._check)

    @property
    def use(self) -> Use:
        """Its current use."""
        cycle = vars(self).get("cycle")
        if cycle is None or cycle.response_complete or cycle.more_body:
            return Use.IDLE
        return Use.LISTENING if cycle.scope["method"] == "GET" else Use.BUSY

    def _give_up(self, response: bytes) -> None:
        self._is_given_up = True
        if response:
            self.transport.write(response)
            self.transport.close()
        else:  # a client that only listens may not read the rest
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the checks."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Receive data."""
        before = vars(self).get("cycle")
        super().data_received(data)
        if vars(self).get("cycle") is not before:  # bytes that only drip in are of no use
            self.since = self.loop.time()
        if not self._is_incomplete():
            self._failed_checks = 0

    def _check(self) -> None:
        self._failed_checks = self._failed_checks + 1 if self._is_incomplete() else 0
        if self._failed_checks < 2:
            self._timer = self.loop.call_later(HEADERS_S, self._check)
        else:
            self._give_up(_TOO_SLOW)

    def _is_incomplete(self) -> bool:
        """Check whether a request has not begun, or its headers have not ended."""
        no_request = vars(self).get("cycle") is None
        received, _ = self.conn.trailing_data
        return self.conn.their_state is h11.IDLE and (no_request or bool(received))


def one_to_close(connections: Iterable[Connection], peer: str) -> Connection | None:
    """Return the connection to close for one more of `peer`: idle, of the peer with the most.

    None if all of them are busy.
    """
    there = list(connections)
    counts = Counter(each.peer for each in there)
    (largest, most), *_ = counts.most_common(1)
    if counts[peer] < min(MOST_OF_PEER, most):
        peer = largest
    candidates = [each for each in there if each.peer == peer and each.use is not Use.BUSY]
    return min(candidates, key=lambda each: (each.use, each.since), default=None)


def kept_secret(path: Path, new: bytes) -> tuple[bytes, bool]:
    """Return the secret in the file at `path`, else write `new`; and whether that was written.

    The file has mode 600; one that others can read is not used.

    Raises:
        ToolplanError: the file cannot be read or written (`storage`), or others can read it.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_new = False
        if not path.exists():  # written whole at once, unless there is one by now
            written = path.with_name(f"{path.name}-{secrets.token_hex(8)}")
            opened = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(opened, "wb") as file:
                file.write(new)
            try:
                os.link(written, path)
                is_new = True
            except FileExistsError:
                pass
            finally:  # it holds the secret
                written.unlink()
        if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise ToolplanError(
                "storage",
                f"The file {path} can be read by others.",
                f"Delete it: another one is made. Or make it yours alone: chmod 600 {path}",
            )
        return path.read_bytes(), is_new
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ToolplanError("storage", f"The file {path} cannot be used: {reason}.") from None


class CannotServe(ToolplanError):
    """The server cannot start: the address is not safe or not free, or the token is weak.

    `code` is `not-loopback`, `weak-token`, `unknown-address` or `port-in-use`.
    """


def checked_rules(
    host: str, token: str | None, hosts: Collection[str] = (), origins: Collection[str] = ()
) -> Rules:
    """Return the rules for requests to a server that listens on `host`.

    Raises:
        CannotServe: it is not loopback and there is no token, or the token is too short.
    """
    if token is None and not is_loopback(host):
        raise CannotServe(
            "not-loopback",
            f"{host!r} can be reached from other machines, and no token is set.",
            "Set a token, or listen on 127.0.0.1.",
        )
    is_plain = token is None or (token.isascii() and token.isprintable() and " " not in token)
    if token is not None and not (len(token) >= SHORTEST_TOKEN and is_plain):
        raise CannotServe(
            "weak-token",
            f"The token has fewer than {SHORTEST_TOKEN} characters, or some that are not allowed.",
            'Make one: python -c "import secrets; print(secrets.token_urlsafe(32))"',
        )
    return Rules([*hosts, _in_address(host)], origins, token)


async def serve_http(
    app: ASGIApp,
    host: str,
    port: int,
    on_ready: Callable[[str], None] | None,
    *,
    most_head: int = 65_536,
) -> None:
    """Serve `app` until the task is cancelled or the process gets a signal.

    Args:
        app: the application.
        host: the name or address to listen on.
        port: the port to listen on; 0 selects a free one.
        on_ready: called with the URL when the server accepts requests.
        most_head: the maximum size of a request without its body, in bytes.

    Raises:
        CannotServe: the address does not exist, or is in use.
    """
    with closing(_listening(host, port)) as listening:
        config = uvicorn.Config(
            app,
            http=Connection,
            log_level="error",
            access_log=False,  # addresses may hold private data
            server_header=False,
            ws="none",
            proxy_headers=False,  # a peer is who connects, whatever it says
            timeout_graceful_shutdown=1,
            h11_max_incomplete_event_size=most_head,
        )
        http_server = uvicorn.Server(config)
        if on_ready is not None:  # a client that connects now waits until the server accepts it
            address, bound = listening.getsockname()[:2]
            on_ready(f"http://{_in_address(host or address)}:{bound}")
        serving = asyncio.create_task(http_server.serve([listening]))
        try:
            await asyncio.shield(serving)
        except asyncio.CancelledError:  # requests are finished first
            http_server.should_exit = True
            await serving
            raise


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _listening(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        CannotServe: the address does not exist, or is in use.
    """
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError, OverflowError):
        raise CannotServe(
            "unknown-address", f"{host!r} is not an address of this machine.", "Try 127.0.0.1."
        ) from None
    listening = socket.socket(family, kind, number)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise CannotServe(
            "port-in-use",
            f"Cannot listen on port {port} of {host!r}: {error.strerror or error}.",
            "Choose another port; 0 selects a free one.",
        ) from None
    listening.setblocking(False)
    return listening
