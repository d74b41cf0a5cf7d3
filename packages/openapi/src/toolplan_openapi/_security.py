"""Credentials: taken from the environment by name, and sent where the document wants them.

They are not arguments, not part of any tool object, and removed from every response.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias
from urllib.parse import quote

from msgspec import Struct
from pydantic import BaseModel, ConfigDict

from toolplan.plan.diagnostics import did_you_mean, near
from toolplan.schema.tool import ToolObjectError
from toolplan.tools.secrets import resolved, sounds_secret
from toolplan_openapi._addresses import origin_of
from toolplan_openapi._document import Place, Unusable, one_of
from toolplan_openapi._http import IN_A_COOKIE, Credentials, TokenSource, together

_SENDABLE: Final = re.compile(r"[\x20-\x7e]+")
_KEY_SPOTS: Final[tuple[Literal["header", "query", "cookie"], ...]] = ("header", "query", "cookie")
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


class Scheme(Struct, frozen=True):
    """How a credential is sent: under the name `field`, or as `Authorization`."""

    kind: Literal["header", "query", "cookie", "bearer", "basic"]
    field: str = "Authorization"


def read_schemes(root: Place) -> dict[str, Scheme]:
    """Read the security schemes of the document; those that cannot be used are left out."""
    declared = root.at("components", "securitySchemes")
    found: dict[str, Scheme] = {}
    for name in declared.node:
        try:
            scheme = _scheme(declared.at(name).followed())
        except Unusable:
            continue
        if scheme is not None:
            found[name] = scheme
    return found


def read_requirements(place: Place) -> tuple[Requirement, ...]:
    """Read `security`: the alternatives in their order; an empty one means that none is needed."""
    return tuple(tuple(each) for each in place.items if isinstance(each, dict))


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


def read_headers(
    given: Mapping[str, str], environment: Mapping[str, str], place: str
) -> Credentials:
    """Return the user's headers of each request, with `${NAME}` of `environment` filled.

    An error has `place`, and no value.
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


def _scheme(place: Place) -> Scheme | None:
    kind, spot, field_name = place.text("type"), place.text("in"), place.text("name")
    match kind, place.text("scheme").lower():
        case "apiKey", _ if field_name:
            found = one_of(spot, _KEY_SPOTS)
            return None if found is None else Scheme(found, field_name)
        case "http", "basic":
            return Scheme("basic")
        case ("http", "bearer") | ("oauth2" | "openIdConnect", _):
            return Scheme("bearer")
        case _:
            return None


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
        scope: what is asked for; "" is what the authorization server gives by itself.
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
