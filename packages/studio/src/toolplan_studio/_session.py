"""Who may use the studio: a one-time token becomes a cookie, and a proxy may name the user."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

from toolplan.render.printable import printable
from toolplan_studio._errors import Refused

COOKIE: Final = "toolplan_studio"
LASTS_S: Final = 7 * 24 * 3600
"""How long a cookie is valid."""
_MOST_NAME: Final = 200
_MINUTES: Final = 900
"""How long the one-time token is valid, in seconds."""


class Sessions:
    """Issues cookies and checks them.

    A cookie is its end and a signature: the server keeps none, so that they are valid when it is
    started again with the same `key`.
    """

    def __init__(
        self, key: bytes, *, token: str | None = None, user_header: str | None = None
    ) -> None:
        """Sign with `key`.

        Args:
            key: the key of signatures.
            token: a token that is valid always, as of the environment; None for none.
            user_header: the header in which a proxy names the user; None where there is one user.
        """
        self._key = key
        self._token = token
        self._user_header = user_header
        self._once = secrets.token_urlsafe(32)
        self._once_until = time.monotonic() + _MINUTES

    def one_time_token(self) -> str:
        """Return the token of the printed address; it is valid once, for 15 minutes."""
        return self._once

    def enter(self, token: str, response: Response, *, is_https: bool) -> None:
        """Set the cookie for a valid token.

        Raises:
            Refused: it is not valid.
        """
        if self._once and _same(token, self._once) and time.monotonic() < self._once_until:
            self._once = ""
        elif not self._is_known(token):
            raise Refused(
                "unauthorised",
                "The token is not valid, or was used before.",
                "Start `toolplan studio` again, and open the address that it prints.",
            )
        end = int(time.time()) + LASTS_S
        response.set_cookie(
            COOKIE,
            f"{end}.{self._signature(end)}",
            max_age=LASTS_S,
            path="/",
            httponly=True,
            samesite="strict",
            secure=is_https,
        )

    def check(self, cookie: str | None, authorization: str | None) -> None:
        """Check what a request came with.

        Raises:
            Refused: neither a valid cookie nor the token.
        """
        kind, _, given = (authorization or "").partition(" ")
        is_bearer = kind.casefold() == "bearer" and self._is_known(given.strip())
        if is_bearer or self._is_valid(cookie or ""):
            return
        raise Refused(
            "unauthorised",
            "This browser has no session, or it has ended.",
            "Open the address that `toolplan studio` prints.",
        )

    def user(self, headers: Mapping[str, str]) -> str:
        """Return who sends a request; empty where there is only one user.

        Raises:
            Refused: the proxy has named nobody.
        """
        if self._user_header is None:
            return ""
        name = printable(headers.get(self._user_header, ""))[:_MOST_NAME]
        if not name:
            raise Refused(
                "no-user",
                f"The header {self._user_header} names no user.",
                "The proxy before the studio must set it for every request.",
            )
        return name

    def _is_valid(self, cookie: str) -> bool:
        end, _, signature = cookie.partition(".")
        if not (end.isascii() and end.isdecimal() and len(end) < 15 and int(end) > time.time()):
            return False
        return _same(signature, self._signature(int(end)))

    def _is_known(self, token: str) -> bool:
        return self._token is not None and _same(token, self._token)

    def _signature(self, end: int) -> str:
        return hmac.new(self._key, f"session {end}".encode(), hashlib.sha256).hexdigest()


def _same(given: str, expected: str) -> bool:
    """Compare in a time that says nothing about `expected`."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())
