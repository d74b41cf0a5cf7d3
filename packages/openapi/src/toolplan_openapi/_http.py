"""What is exchanged with a service: requests with their credentials, and responses."""

from __future__ import annotations

import asyncio
import dataclasses
import re
import time
from collections.abc import Iterable, Mapping
from typing import Final, Protocol
from urllib.parse import urlencode
from weakref import WeakKeyDictionary

from msgspec import Struct, field

from toolplan.plan.path import Json
from toolplan.schema.tool import ToolError
from toolplan.tools.replies import json_object, refusal_code
from toolplan.tools.secrets import Mask
from toolplan_openapi._addresses import Origin

IN_A_COOKIE: Final = re.compile(r"[!#-+\--:<-\[\]-~]*")
_TOKEN: Final = re.compile(r"[\x21-\x7e]+")
_EARLY_S: Final = 30.0
"""A token is renewed as long before its end, in seconds, or in the last tenth of its life."""


@dataclasses.dataclass(frozen=True, slots=True)
class Credentials:
    """What is added to a request; `secrets` are the texts that may be seen nowhere.

    `tokens` are got before the request is made, and are then in `headers`.
    """

    headers: tuple[tuple[str, str], ...] = dataclasses.field(default=(), repr=False)
    query: tuple[tuple[str, str], ...] = dataclasses.field(default=(), repr=False)
    cookies: tuple[tuple[str, str], ...] = dataclasses.field(default=(), repr=False)
    secrets: frozenset[str] = dataclasses.field(default=frozenset(), repr=False)
    tokens: tuple[TokenSource, ...] = dataclasses.field(default=(), repr=False)

    def __bool__(self) -> bool:
        return bool(self.headers or self.query or self.cookies)

    async def ready(self, transport: Transport) -> Credentials:
        """Return the credentials with the tokens that they need."""
        return together((self, *[await each.credentials(transport) for each in self.tokens]))

    def struck(self, text: str) -> str:
        """Return `text` without the secrets."""
        return Mask(self.secrets)(text)

    def struck_value(self, value: Json) -> Json:
        """Return `value` with no secret in any of its texts, names of fields included."""
        return _struck(value, Mask(self.secrets)) if self.secrets else value


class Request(Struct, frozen=True):
    """What is sent: `target` is path and query without `credentials`, which are put in last.

    `may_repeat` says that sending it twice does no harm (GET and HEAD), `has_effects` that a call
    that breaks off leaves it open what it did.
    """

    method: str
    origin: Origin
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    content: bytes | None = None
    cookies: tuple[tuple[str, str], ...] = ()
    credentials: Credentials = field(default_factory=Credentials)
    may_repeat: bool = False
    has_effects: bool = True


class Response(Struct, frozen=True):
    """A response, read to its end. The names of `headers` are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Transport(Protocol):
    """What sends requests; open connections may be kept while it is entered."""

    async def send(self, request: Request) -> Response:
        """Send a request and return the response, whatever its status.

        Raises:
            OutcomeUnknown: it has effects and was sent, and its outcome is unknown.
            ToolError: it was not sent, or nothing came back.
        """
        ...

    async def __aenter__(self) -> object: ...

    async def __aexit__(self, *raised: object) -> None: ...


class TokenSource:
    """Gives the token of one client of OAuth2, and gets a new one where it expires or is refused.

    The token is kept in memory.
    """

    def __init__(self, origin: Origin, target: str, login: Credentials, scope: str) -> None:
        self._origin = origin
        self._target = target
        self._login = login
        self._form = {"grant_type": "client_credentials"} | ({"scope": scope} if scope else {})
        self._token = ""
        self._ends = 0.0
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = (
            WeakKeyDictionary()
        )

    async def credentials(self, transport: Transport) -> Credentials:
        """Return what a request carries."""
        async with self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            if not self._token or time.monotonic() >= self._ends:
                await self._get(transport)
            return Credentials(
                headers=(("Authorization", f"Bearer {self._token}"),),
                secrets=self._login.secrets | {self._token},
            )

    def refused(self, credentials: Credentials) -> None:
        """Record that a service does not take the token in `credentials`."""
        if self._token in credentials.secrets:
            self._token = ""

    async def _get(self, transport: Transport) -> None:
        asked_at = time.monotonic()
        response = await transport.send(
            Request(
                "POST",
                self._origin,
                self._target,
                headers=(("Content-Type", "application/x-www-form-urlencoded"),),
                content=urlencode(self._form).encode(),
                credentials=self._login,
                has_effects=False,
            )
        )
        if not 200 <= response.status < 300:
            code = refusal_code(response.content)
            raise ToolError(
                f"{self._origin} gives no token: HTTP {response.status}{code}. The call was not"
                " made."
            )
        answer = json_object(response.content)
        token, life = answer.get("access_token"), answer.get("expires_in")
        kind = answer.get("token_type", "Bearer")
        is_token = isinstance(token, str) and _TOKEN.fullmatch(token) is not None
        if not is_token or not isinstance(kind, str) or kind.lower() != "bearer":
            raise ToolError(
                f"{self._origin} gives no bearer token that can be used. The call was not made."
            )
        self._token = str(token)
        life_s = float("inf")
        if isinstance(life, int | float) and not isinstance(life, bool):
            life_s = float(life)
        self._ends = asked_at + life_s - min(_EARLY_S, life_s / 10)


def together(credentials: Iterable[Credentials]) -> Credentials:
    """Return all of `credentials` as one."""
    listed = tuple(credentials)
    return Credentials(
        tuple(pair for each in listed for pair in each.headers),
        tuple(pair for each in listed for pair in each.query),
        tuple(pair for each in listed for pair in each.cookies),
        frozenset(secret for each in listed for secret in each.secrets),
        tuple(token for each in listed for token in each.tokens),
    )


def _struck(value: Json, mask: Mask) -> Json:
    match value:
        case str():
            return mask(value)
        case list():
            return [_struck(each, mask) for each in value]
        case dict():
            return {mask(key): _struck(each, mask) for key, each in value.items()}
        case _:
            return value
