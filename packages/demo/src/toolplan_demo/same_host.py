"""Requests that name another host, or that pages of other sites send, are refused.

Every web page that a user opens can reach a server on this machine, and any name may resolve to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

THIS_MACHINE: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})

_HOST: Final = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[^\[\]:/@\s]+)(:[0-9]{1,5})?")


class SameHost(Struct, frozen=True):
    """An ASGI application that passes requests on, if they name one of its hosts.

    A request with an `Origin` must come from the very server that it names, port included.

    Attributes:
        inner: what answers.
        refusal: makes the answer of a refusal, from its status and message.
        hosts: names that it answers to besides those of this machine, in small letters.
    """

    inner: ASGIApp
    refusal: Callable[[int, str], JSONResponse]
    hosts: frozenset[str] = frozenset()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on."""
        refused = self._refused(Headers(scope=scope)) if scope["type"] == "http" else None
        if refused is None:
            await self.inner(scope, receive, send)
        else:
            await refused(scope, receive, send)

    def _refused(self, headers: Headers) -> JSONResponse | None:
        hosts = headers.getlist("host")
        named = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if named is None or named["name"].casefold() not in THIS_MACHINE | self.hosts:
            return self.refusal(421, "The request names another host.")
        host = hosts[0].casefold()
        own = (f"http://{host}", f"https://{host}")
        if any(origin.casefold() not in own for origin in headers.getlist("origin")):
            return self.refusal(403, "The request comes from another site.")
        return None
