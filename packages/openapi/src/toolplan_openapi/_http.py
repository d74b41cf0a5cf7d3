"""Messages exchanged with a service: requests with their credentials, and responses.

Credentials are taken from the environment by name, and sent where the document wants them. They are
not arguments, not part of any tool object, and removed from every response.
"""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import re
import time
from collections.abc import Iterable, Mapping
from typing import Final, Literal, Protocol, TypeAlias
from urllib.parse import quote, urlencode
from weakref import WeakKeyDictionary

from msgspec import Struct, field
from pydantic import BaseModel, ConfigDict

from toolplan.plan.diagnostics import did_you_mean, near
from toolplan.schema.tool import ToolError, ToolObjectError
from toolplan.tools.replies import json_object, refusal_code
from toolplan.tools.secrets import Mask, resolved, sounds_secret
from toolplan_openapi._addresses import Origin, origin_of
from toolplan_openapi._document import Place, Unusable, one_of

IN_A_COOKIE: Final = re.compile(r"[!#-+\--:<-\[\]-~]*")
_TOKEN: Final = re.compile(r"[\x21-\x7e]+")
_EARLY_S: Final = 30.0
"""A token is renewed as long before its end, in seconds, or in the last tenth of its life."""


@dataclasses.dataclass(frozen=True, slots=True)
class Credentials:
    """Parts added to a request to authenticate it; `secrets` are the texts that are never shown.

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

    @property
    def mask(self) -> Mask:
        """Strikes the secrets out of what a service answers."""
        return Mask(self.secrets)


class Request(Struct, frozen=True):
    """A request: `target` is path and query without `credentials`, which are put in last.

    `may_repeat` says that sending it twice does no harm (GET and HEAD), `has_effects` that a call
    that breaks off has an unknown outcome.
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
    """Sends requests; open connections may be kept while it is entered."""

    async def send(self, request: Request) -> Response:
        """Send a request and return the response, with any status.

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
        """Return the credentials of a request, with a valid token."""
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


_SENDABLE: Final = re.compile(r"[\x20-\x7e]+")
_KEY_SPOTS: Final[tuple[Literal["header", "query", "cookie"], ...]] = ("header", "query", "cookie")
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
NEVER_SENT: Final = frozenset({
    "connection", "content-length", "cookie", "expect", "host", "keep-alive",
    "proxy-authorization", "trailer", "transfer-encoding", "upgrade"
})  # fmt: skip
"""Headers that callers must not set."""
NOT_TO_BE_SET: Final = NEVER_SENT | {"accept", "accept-encoding", "content-type", "idempotency-key"}
"""The headers that each request has of its own, in addition."""

Requirement: TypeAlias = tuple[str, ...]
"""The names of the schemes that are needed together; alternatives are a tuple of these."""


class Scheme(Struct, frozen=True):
    """How a credential is sent: under the name `field`, or as `Authorization`."""

    kind: Literal["header", "query", "cookie", "bearer", "basic"]
    field: str = "Authorization"


def read_schemes(root: Place) -> dict[str, Scheme]:
    """Read the usable security schemes of the document."""
    declared = root.at("components", "securitySchemes")
    found: dict[str, Scheme] = {}
    for name in declared.node:
        try:
            place = declared.at(name).followed()
        except Unusable:
            continue
        kind, field_name = place.text("type"), place.text("name")
        match kind, place.text("scheme").lower():
            case "apiKey", _ if field_name and (spot := one_of(place.text("in"), _KEY_SPOTS)):
                found[name] = Scheme(spot, field_name)
            case "http", "basic":
                found[name] = Scheme("basic")
            case ("http", "bearer") | ("oauth2" | "openIdConnect", _):
                found[name] = Scheme("bearer")
            case _:
                pass
    return found


def read_credentials(
    schemes: Mapping[str, Scheme],
    auth: Mapping[str, str | ClientCredentials],
    environment: Mapping[str, str],
    always: Credentials,
) -> dict[str, Credentials]:
    """Return the credentials of each scheme that `auth` or a header of `always` fulfils."""
    headers = {name.lower() for name, _ in always.headers}
    found = {
        name: Credentials()
        for name, scheme in schemes.items()
        if scheme.kind not in ("query", "cookie") and scheme.field.lower() in headers
    }
    for name, given in auth.items():
        scheme = schemes.get(name)
        if scheme is None:
            hint = did_you_mean(near(name, schemes)) or f"It has: {', '.join(schemes) or 'none'}."
            raise ToolObjectError(
                f"The document has no security scheme {name!r}. {hint}",
                "`auth` in [openapi.NAME] of the settings names schemes.",
            )
        if name in found:
            raise ToolObjectError(
                f"The security scheme {name!r} has its header twice: in auth, and in headers."
            )
        if isinstance(given, str):
            value = _value_of(given, name, environment).strip()
            found[name] = _credentials(scheme, given, value)
        elif scheme.kind == "bearer":
            found[name] = Credentials(tokens=(_token_source(name, given, environment),))
        else:
            raise ToolObjectError(
                f"The security scheme {name!r} takes no token of OAuth2.",
                "Give the name of a variable: `auth` in [openapi.NAME] of the settings.",
            )
    return found


def _value_of(variable: str, scheme: str, environment: Mapping[str, str]) -> str:
    value = environment.get(variable, "")
    if not value.strip():
        raise ToolObjectError(
            f"The environment variable {variable!r} for the security scheme {scheme!r} is not set.",
            f"Set it: export {variable}=…",
        )
    return value


def read_headers(given: Mapping[str, str], environment: Mapping[str, str]) -> Credentials:
    """Return the user's headers of each request, with `${NAME}` of `environment` filled.

    An error has no value.
    """
    headers: list[tuple[str, str]] = []
    secrets: set[str] = set()
    for name, written in given.items():
        if not _HEADER_NAME.fullmatch(name) or name.lower() in NOT_TO_BE_SET:
            raise ToolObjectError(f"headers: the header {name!r} is not one that can be set.")
        if name.lower() in {each.lower() for each, _ in headers}:
            raise ToolObjectError(f"headers: the header {name!r} is there twice.")
        value, found = resolved(written, environment, f"headers.{name}")
        if not _SENDABLE.fullmatch(value) or value != value.strip():
            raise ToolObjectError(
                f"headers.{name}: its value cannot be sent; printable ASCII can, with no blank at"
                " either end."
            )
        headers.append((name, value))
        hidden = {value, *found} if found or sounds_secret(name) else set[str]()
        secrets |= {each for text in hidden for each in (text, quote(text, safe=""))}
    return Credentials(headers=tuple(headers), secrets=frozenset(secrets))


def chosen(
    requirements: tuple[Requirement, ...],
    known: Mapping[str, Credentials],
    always: Credentials,
) -> Credentials | None:
    """Return `always` with the credentials of the first alternative for which all are known.

    None where no alternative is fulfilled.
    """
    if not requirements:
        return always
    for needed in sorted(requirements, key=lambda each: not each):  # none, only if nothing else
        if needed and all(name in known for name in needed):
            return together((always, *(known[name] for name in needed)))
    return always if () in requirements else None


def _credentials(scheme: Scheme, variable: str, value: str) -> Credentials:
    another = f"Set {variable} to another value."
    if not _SENDABLE.fullmatch(value):
        raise ToolObjectError(
            f"The value of {variable!r} has characters that cannot be sent; printable ASCII can.",
            another,
        )
    secrets = {value, quote(value, safe="")}
    match scheme.kind:
        case "bearer":
            token = value.removeprefix("Bearer ")
            value, secrets = f"Bearer {token}", {token}
        case "basic":
            name, colon, password = value.partition(":")
            if not colon:
                raise ToolObjectError(
                    f"The value of {variable!r} must read NAME:PASSWORD.",
                    f"Set it: export {variable}=NAME:PASSWORD",
                )
            coded = base64.b64encode(f"{name}:{password}".encode()).decode()
            value, secrets = f"Basic {coded}", {value, password, coded}
        case "query":
            pair = (quote(scheme.field, safe=""), quote(value, safe=""))
            return Credentials(query=(pair,), secrets=frozenset(secrets))
        case "cookie":
            if not IN_A_COOKIE.fullmatch(value):
                raise ToolObjectError(
                    f"The value of {variable!r} cannot stand in a cookie.", another
                )
            return Credentials(cookies=((scheme.field, value),), secrets=frozenset(secrets))
        case "header":
            pass
    return Credentials(headers=((scheme.field, value),), secrets=frozenset(secrets))


class ClientCredentials(BaseModel):
    """How a machine gets a token for a security scheme.

    Attributes:
        token_url: where the token is asked for. It is the user's word and not the document's,
            because the secret is sent there.
        client_id: the name of the environment variable that holds the client's id.
        client_secret: the name of the one that holds its secret.
        scope: the requested scope; "" is the default of the authorization server.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    token_url: str
    client_id: str
    client_secret: str
    scope: str = ""


def _token_source(
    name: str, client: ClientCredentials, environment: Mapping[str, str]
) -> TokenSource:
    id_, secret = (
        _value_of(each, name, environment) for each in (client.client_id, client.client_secret)
    )
    try:
        origin, parts = origin_of(client.token_url)
    except ValueError as error:
        raise ToolObjectError(
            f"The token_url of the security scheme {name!r} cannot be used: {error}."
        ) from None
    encoded = quote(secret, safe="")
    basic = base64.b64encode(f"{quote(id_, safe='')}:{encoded}".encode()).decode()
    login = Credentials(
        headers=(("Authorization", f"Basic {basic}"),),
        secrets=frozenset({secret, encoded, basic}),
    )
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return TokenSource(origin, target, login, client.scope)
