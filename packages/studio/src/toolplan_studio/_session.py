"""Access to the studio: a one-time token becomes a cookie, and a proxy may name the user.

The server makes a one-time token for the address that it prints. `toolplan studio --link` makes
more of them in another process, signed with the key that both have.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

from toolplan.show.printable import printable
from toolplan_studio._errors import Refused

COOKIE: Final = "toolplan_studio"
LASTS_S: Final = 7 * 24 * 3600
"""Lifetime of a cookie, in seconds."""
_HOW_TO_ENTER: Final = "Open the address that `toolplan studio --link` prints."
_MOST_NAME: Final = 200
_ONCE_S: Final = 900
"""Lifetime of a one-time token, in seconds."""


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
        self._began_ms = _now_ms()
        self._used: set[str] = set()

    def one_time_token(self) -> str:
        """Return a token that lets one browser in, once, within 15 minutes."""
        made = f"{_now_ms()}.{secrets.token_urlsafe(16)}"
        return f"{made}.{self._signature('once', made)}"

    def enter(self, token: str, response: Response, *, is_https: bool) -> None:
        """Set the cookie for a valid token; a Refused where it is not valid."""
        if not (self._is_known(token) or self._is_first_use(token)):
            message = "The token is not valid, or was used before."
            raise Refused("unauthorised", message, _HOW_TO_ENTER)
        end = int(time.time()) + LASTS_S
        response.set_cookie(
            COOKIE,
            f"{end}.{self._signature('session', str(end))}",
            max_age=LASTS_S,
            path="/",
            httponly=True,
            samesite="strict",
            secure=is_https,
        )

    def check(self, cookie: str | None, authorization: str | None) -> None:
        """Check the credentials of a request; a Refused without a valid cookie or the token."""
        kind, _, given = (authorization or "").partition(" ")
        if kind.casefold() == "bearer" and self._is_known(given.strip()):
            return
        end, _, signature = (cookie or "").partition(".")
        is_time = end.isascii() and end.isdecimal() and len(end) < 15
        is_signed = _same(signature, self._signature("session", end))
        if is_time and is_signed and int(end) > time.time():
            return
        message = "This browser has no session, or it has ended."
        raise Refused("unauthorised", message, _HOW_TO_ENTER)

    def user(self, headers: Mapping[str, str]) -> str:
        """Return the user who sends a request; empty where there is only one user.

        Raises:
            Refused: the proxy has named no user.
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

    def _is_known(self, token: str) -> bool:
        return self._token is not None and _same(token, self._token)

    def _is_first_use(self, token: str) -> bool:
        """Return whether `token` is a valid one-time token; from then on it is not."""
        made, _, signature = token.rpartition(".")
        if not _same(signature, self._signature("once", made)) or made in self._used:
            return False
        at = int(made.partition(".")[0])
        # the server before this one may have let a user in with an older token
        if not self._began_ms <= at <= _now_ms() < at + 1_000 * _ONCE_S:
            return False
        self._used.add(made)
        return True

    def _signature(self, kind: str, text: str) -> str:
        signed = f"{kind} {text}".encode("utf-8", "replace")
        return hmac.new(self._key, signed, hashlib.sha256).hexdigest()


def _now_ms() -> int:
    return int(time.time() * 1_000)


def _same(given: str, expected: str) -> bool:
    """Compare in a time that says nothing about `expected`."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())
