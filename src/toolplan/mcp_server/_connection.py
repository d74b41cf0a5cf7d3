"""HTTP connections that do not wait for ever for a request to begin."""

from __future__ import annotations

import asyncio
from typing import Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_S: Final = 15.0
"""How often it is looked whether the headers of a request have come: at the second look in vain the
connection is closed."""

_TOO_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class Connection(H11Protocol):
    """uvicorn's connection, closed where half a request stays half a request.

    uvicorn itself closes only what is silent between two requests, and each connection that stays
    open takes the place of another.
    """

    _look: asyncio.TimerHandle | None = None
    _halves: int = 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin to look at the connection."""
        super().connection_made(transport)
        self._look_later()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop to look at it."""
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take more of what the client says."""
        super().data_received(data)
        if not self._is_half():
            self._halves = 0

    def _look_later(self) -> None:
        self._look = self.loop.call_later(HEADERS_S, self._looked)

    def _looked(self) -> None:
        self._halves = self._halves + 1 if self._is_half() else 0
        if self._halves < 2:
            self._look_later()
            return
        self.transport.write(_TOO_SLOW)
        self.transport.close()

    def _is_half(self) -> bool:
        """Whether a request has not begun, or its headers have not ended."""
        asked_nothing = vars(self).get("cycle") is None
        said, _ = self.conn.trailing_data
        return self.conn.their_state is h11.IDLE and (asked_nothing or bool(said))
