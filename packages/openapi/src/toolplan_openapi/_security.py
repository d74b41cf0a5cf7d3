"""Credentials: taken from the environment by name, and sent where the document wants them.

They are not arguments, not part of any tool object, and removed from every response. Of OAuth2
client credentials, a token is got with a client's id and secret, and kept in memory.
"""

from __future__ import annotations

import asyncio
import base64
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias
from urllib.parse import quote, urlencode
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ConfigDict

from toolplan.diagnostics import did_you_mean, near
from toolplan.sources.replies import json_object, refusal_code
from toolplan.sources.secrets import resolved, sounds_secret
from toolplan.tools import ToolError, ToolObjectError
from toolplan_openapi._addresses import origin_of
from toolplan_openapi._document import Document, Place, Unusable
from toolplan_openapi._http import Credentials, Request, Transport, together

_SENDABLE: Final = re.compile(r"[\x20-\x7e]+")
_IN_A_COOKIE: Final = re.compile(r"[!#-+\--:<-\[\]-~]+")
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
NEVER_SENT: Final = frozenset({
    "connection", "content-length", "cookie", "expect", "host", "keep-alive",
    "proxy-authorization", "trailer", "transfer-encoding", "upgrade"
})  # fmt: skip
"""Headers that are not for callers to set."""
NOT_TO_BE_SET: Final = NEVER_SENT | {"accept", "accept-encoding", "content-type", "idempotency-key"}
"""Those that each request has of its own."""

Requirement: TypeAlias = tuple[str, ...]
"""The names of the schemes that are needed together; alternatives are a tuple of these."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """How a credential is sent: under the name `field`, or as `Authorization`."""

    name: str
    kind: Literal["header", "query", "cookie", "bearer", "basic"]
    field: str = "Authorization"


def read_schemes(document: Document) -> dict[str, Scheme]:
    """Read the security schemes of the document; those that cannot be used are left out."""
    declared = document.root.at("components", "securitySchemes")
    found: dict[str, Scheme] = {}
    for name in declared.node:
        try:
            scheme = _scheme(name, document.follow(declared.at(name)))
        except Unusable:
            continue
        if scheme is not None:
            found[name] = scheme
    return found


def secret_parameters(schemes: Mapping[str, Scheme]) -> frozenset[tuple[str, str]]:
    """Return spot and name (in lower case) of what schemes fill, for those that are parameters."""
    return frozenset((each.kind, each.field.lower()) for each in schemes.values())


def read_requirements(place: Place) -> tuple[Requirement, ...]:
    """Read `security`: the alternatives in their order; an empty one means that none is needed."""
    return tuple(tuple(each) for each in place.items if isinstance(each, dict))


def read_credentials(
    schemes: Mapping[str, Scheme], auth: Mapping[str, object], environment: Mapping[str, str]
) -> dict[str, Credentials]:
    """Return the credentials of each scheme that `auth` names a variable of `environment` for.

    Of what is no name of a variable, only the scheme is looked at.

    Raises:
        ToolObjectError: there is no such scheme, or its variable is not set, or cannot be sent.
    """
    found: dict[str, Credentials] = {}
    for name, variable in auth.items():
        scheme = schemes.get(name)
        if scheme is None:
            hint = did_you_mean(near(name, schemes)) or f"It has: {', '.join(schemes) or 'none'}."
            raise ToolObjectError(
                f"The document has no security scheme {name!r}. {hint}",
                "`auth` in [openapi.NAME] of the settings names schemes.",
            )
        if not isinstance(variable, str):
            continue
        value = environment.get(variable, "").strip()
        if not value:
            raise ToolObjectError(
                f"The environment variable {variable!r} for the security scheme {name!r} is not "
                "set.",
                f"Set it: export {variable}=…",
            )
        found[name] = _credentials(scheme, variable, value)
    return found


def read_headers(
    given: Mapping[str, str], environment: Mapping[str, str], place: str
) -> Credentials:
    """Return the headers that the user gives each request, with `${NAME}` of `environment` filled.

    Raises:
        ToolObjectError: a name or a value cannot be sent, or a variable is not set. The message has
            `place`, and no value.
    """
    headers: list[tuple[str, str]] = []
    secrets: set[str] = set()
    for name, written in given.items():
        if not _HEADER_NAME.fullmatch(name) or name.lower() in NOT_TO_BE_SET:
            raise ToolObjectError(f"{place}: the header {name!r} is not one that can be set.")
        if name.lower() in {each.lower() for each, _ in headers}:
            raise ToolObjectError(f"{place}: the header {name!r} is there twice.")
        value, found = resolved(written, environment, f"{place}.{name}")
        if not _SENDABLE.fullmatch(value) or value != value.strip():
            raise ToolObjectError(
                f"{place}.{name}: its value cannot be sent; printable ASCII can, with no blank at"
                " either end."
            )
        headers.append((name, value))
        hidden = {value, *found} if found or sounds_secret(name) else set[str]()
        secrets |= {each for text in hidden for each in (text, quote(text, safe=""))}
    return Credentials(headers=tuple(headers), secrets=frozenset(secrets))


def fulfilled(schemes: Mapping[str, Scheme], headers: Credentials) -> dict[str, Credentials]:
    """Return the schemes whose header is one of `headers`: nothing more is needed for them."""
    set_ = {name.lower() for name, _ in headers.headers}
    return {
        name: Credentials()
        for name, scheme in schemes.items()
        if scheme.kind not in ("query", "cookie") and scheme.field.lower() in set_
    }


def chosen(
    requirements: tuple[Requirement, ...],
    known: Mapping[str, Credentials],
    always: Credentials,
) -> Credentials | None:
    """Return `always` with what fulfils the first alternative for which all is known.

    None where no alternative is fulfilled.
    """
    if not requirements:
        return always
    for needed in sorted(requirements, key=lambda each: not each):  # none, only if nothing else
        if needed and all(name in known for name in needed):
            return together((always, *(known[name] for name in needed)))
    return always if () in requirements else None


def _scheme(name: str, place: Place) -> Scheme | None:
    kind, spot, field_name = place.text("type"), place.text("in"), place.text("name")
    match kind, spot, place.text("scheme").lower():
        case "apiKey", "header", _ if field_name:
            return Scheme(name, "header", field_name)
        case "apiKey", "query", _ if field_name:
            return Scheme(name, "query", field_name)
        case "apiKey", "cookie", _ if field_name:
            return Scheme(name, "cookie", field_name)
        case "http", _, "basic":
            return Scheme(name, "basic")
        case ("http", _, "bearer") | ("oauth2" | "openIdConnect", _, _):
            return Scheme(name, "bearer")
        case _:
            return None


def _credentials(scheme: Scheme, variable: str, value: str) -> Credentials:
    if not _SENDABLE.fullmatch(value):
        raise ToolObjectError(
            f"The value of {variable!r} has characters that cannot be sent; printable ASCII can.",
            f"Set {variable} to another value.",
        )
    secrets = {value, quote(value, safe="")}
    match scheme.kind:
        case "bearer":
            token = value.removeprefix("Bearer ")
            headers, secrets = ((scheme.field, f"Bearer {token}"),), {token}
            return Credentials(headers=headers, secrets=frozenset(secrets))
        case "basic":
            name, colon, password = value.partition(":")
            if not colon:
                raise ToolObjectError(
                    f"The value of {variable!r} must read NAME:PASSWORD.",
                    f"Set it: export {variable}=NAME:PASSWORD",
                )
            coded = base64.b64encode(f"{name}:{password}".encode()).decode()
            headers = ((scheme.field, f"Basic {coded}"),)
            return Credentials(headers=headers, secrets=frozenset({value, password, coded}))
        case "header":
            return Credentials(headers=((scheme.field, value),), secrets=frozenset(secrets))
        case "query":
            pair = (quote(scheme.field, safe=""), quote(value, safe=""))
            return Credentials(query=(pair,), secrets=frozenset(secrets))
        case "cookie":
            if not _IN_A_COOKIE.fullmatch(value):
                raise ToolObjectError(
                    f"The value of {variable!r} cannot stand in a cookie.",
                    f"Set {variable} to another value.",
                )
            return Credentials(cookies=((scheme.field, value),), secrets=frozenset(secrets))


EARLY_S: Final = 30.0
"""A token is renewed as long before its end, in seconds, or in the last tenth of its life."""

_TOKEN: Final = re.compile(r"[\x21-\x7e]+")


class ClientCredentials(BaseModel):
    """How a machine gets a token for a security scheme.

    Attributes:
        token_url: where the token is asked for. It is the user's word and not the document's,
            because the secret is sent there.
        client_id: the name of the environment variable that holds the client's id.
        client_secret: the name of the one that holds its secret.
        scope: what is asked for; "" is what the authorization server gives by itself.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    token_url: str
    client_id: str
    client_secret: str
    scope: str = ""


def read_clients(
    schemes: Mapping[str, Scheme],
    auth: Mapping[str, object],
    environment: Mapping[str, str],
) -> dict[str, Credentials]:
    """Return the credentials of each scheme that `auth` has a client for.

    Raises:
        ToolObjectError: the scheme takes no token, or the client cannot be used.
    """
    found: dict[str, Credentials] = {}
    for name, client in auth.items():
        if isinstance(client, ClientCredentials):
            if schemes[name].kind != "bearer":
                raise ToolObjectError(
                    f"The security scheme {name!r} takes no token of OAuth2.",
                    "Give the name of a variable: `auth` in [openapi.NAME] of the settings.",
                )
            found[name] = Credentials(tokens=(TokenSource(name, client, environment),))
    return found


async def with_tokens(credentials: Credentials, transport: Transport) -> Credentials:
    """Return `credentials` with the tokens that they need.

    Raises:
        ToolError: there is none; the call was not made.
    """
    if not credentials.tokens:
        return credentials
    got = [await each.credentials(transport) for each in credentials.tokens]
    return together((credentials, *got))


class TokenSource:
    """Returns the token of one client, and gets a new one where it expires or is refused."""

    def __init__(
        self,
        name: str,
        client: ClientCredentials,
        environment: Mapping[str, str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read the id and the secret.

        Raises:
            ToolObjectError: a variable is not set, or the address cannot be used.
        """
        values = [environment.get(each, "") for each in (client.client_id, client.client_secret)]
        for variable, value in zip((client.client_id, client.client_secret), values, strict=True):
            if not value:
                raise ToolObjectError(
                    f"The environment variable {variable!r} for the security scheme {name!r} is "
                    "not set.",
                    f"Set it: export {variable}=…",
                )
        try:
            self._origin, parts = origin_of(client.token_url)
        except ValueError as error:
            raise ToolObjectError(
                f"The token_url of the security scheme {name!r} cannot be used: {error}."
            ) from None
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        pair = ":".join(quote(each, safe="") for each in values)
        basic = base64.b64encode(pair.encode()).decode()
        self._login = Credentials(
            headers=(("Authorization", f"Basic {basic}"),),
            secrets=frozenset({values[1], quote(values[1], safe=""), basic}),
        )
        self._scope = client.scope
        self._clock = clock
        self._token = ""
        self._ends = 0.0
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = (
            WeakKeyDictionary()
        )

    async def credentials(self, transport: Transport) -> Credentials:
        """Return what a request carries.

        Raises:
            ToolError: there is no token; the call was not made.
        """
        lock = self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())
        async with lock:
            if not self._token or self._clock() >= self._ends:
                await self._get(transport)
            secrets = self._login.secrets | {self._token}
            return Credentials(
                headers=(("Authorization", f"Bearer {self._token}"),), secrets=secrets
            )

    def refused(self, credentials: Credentials) -> None:
        """Record that a service does not take the token in `credentials`."""
        if self._token in credentials.secrets:
            self._token = ""

    async def _get(self, transport: Transport) -> None:
        form = {"grant_type": "client_credentials"}
        if self._scope:
            form["scope"] = self._scope
        asked_at = self._clock()
        response = await transport.send(
            Request(
                "POST",
                self._origin,
                self._target,
                headers=(("Content-Type", "application/x-www-form-urlencoded"),),
                content=urlencode(form).encode(),
                credentials=self._login,
                has_effects=False,
            )
        )
        answer = json_object(response.content)
        token, life = answer.get("access_token"), answer.get("expires_in")
        kind = answer.get("token_type", "Bearer")
        if not 200 <= response.status < 300:
            code = refusal_code(response.content)
            raise ToolError(
                f"{self._origin} gives no token: HTTP {response.status}{code}. The call was not"
                " made."
            )
        is_token = isinstance(token, str) and _TOKEN.fullmatch(token) is not None
        if not is_token or not isinstance(kind, str) or kind.lower() != "bearer":
            raise ToolError(
                f"{self._origin} gives no bearer token that can be used. The call was not made."
            )
        self._token = str(token)
        life_s = float("inf")
        if isinstance(life, int | float) and not isinstance(life, bool):
            life_s = float(life)
        self._ends = asked_at + life_s - min(EARLY_S, life_s / 10)
