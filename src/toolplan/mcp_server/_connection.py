"""HTTP connections that time out while they wait for the headers of a request."""

from __future__ import annotations

import asyncio
from typing import Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_S: Final = 15.0
"""The interval of checks for incomplete headers; the second failed check closes the connection."""

_TOO_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class Connection(H11Protocol):
    """A connection of uvicorn that closes if the headers of a request do not arrive.

    uvicorn itself closes idle connections between two requests only.
    """

    _timer: asyncio.TimerHandle | None = None
    _failed_checks: int = 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Start the checks."""
        super().connection_made(transport)
        self._schedule()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the checks."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Receive data."""
        super().data_received(data)
        if not self._is_incomplete():
            self._failed_checks = 0

    def _schedule(self) -> None:
        self._timer = self.loop.call_later(HEADERS_S, self._check)

    def _check(self) -> None:
        self._failed_checks = self._failed_checks + 1 if self._is_incomplete() else 0
        if self._failed_checks < 2:
            self._schedule()
            return
        self.transport.write(_TOO_SLOW)
        self.transport.close()

    def _is_incomplete(self) -> bool:
        """Check whether a request has not begun, or its headers have not ended."""
        no_request = vars(self).get("cycle") is None
        received, _ = self.conn.trailing_data
        return self.conn.their_state is h11.IDLE and (no_request or bool(received))
