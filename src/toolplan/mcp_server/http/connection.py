"""HTTP connections: bounded in number, and timed out while they wait for headers."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from enum import IntEnum
from typing import Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

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
