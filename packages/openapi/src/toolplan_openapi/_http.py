"""What is exchanged with a service: requests with their credentials, and responses."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Protocol

from msgspec import Struct, field

from toolplan.path import Json
from toolplan.sources.secrets import Mask
from toolplan_openapi._addresses import Origin


@dataclasses.dataclass(frozen=True, slots=True)
class Credentials:
    """What is added to a request; `secrets` are the texts that may be seen nowhere.

    `tokens` are got before the request is made, and are then in `headers`.
    """

    headers: tuple[tuple[str, str], ...] = dataclasses.field(default=(), repr=False)
    query: tuple[tuple[str, str], ...] = dataclasses.field(default=(), repr=False)
    cookies: tuple[tuple[str, str], ...] = dataclasses.field(default=(), repr=False)
    secrets: frozenset[str] = dataclasses.field(default=frozenset(), repr=False)
    tokens: tuple[Tokens, ...] = dataclasses.field(default=(), repr=False)

    def __bool__(self) -> bool:
        return bool(self.headers or self.query or self.cookies)

    def struck(self, text: str) -> str:
        """Return `text` without the secrets."""
        return Mask(self.secrets)(text)

    def struck_value(self, value: Json) -> Json:
        """Return `value` with no secret in any of its texts, names of fields included."""
        return _struck(value, Mask(self.secrets))


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


class Tokens(Protocol):
    """Tokens that are got for a client, and got anew."""

    async def credentials(self, transport: Transport) -> Credentials:
        """Return what a request carries.

        Raises:
            ToolError: there is no token; the call was not made.
        """
        ...

    def refused(self, credentials: Credentials) -> None:
        """Record that a service does not take the token in `credentials`."""
        ...


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
