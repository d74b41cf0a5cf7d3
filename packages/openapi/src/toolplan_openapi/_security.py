"""Credentials: taken from the environment by name, and sent where the document wants them.

They are not arguments, not part of any tool object, and removed from every response.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, TypeAlias
from urllib.parse import quote

from toolplan.diagnostics import did_you_mean, near
from toolplan.path import Json
from toolplan.sources.secrets import resolved, sounds_secret
from toolplan.tools import ToolObjectError
from toolplan_openapi._document import Document, Place, Unusable

STRUCK: Final = "***"
_SENDABLE: Final = re.compile(r"[\x20-\x7e]+")
_IN_A_COOKIE: Final = re.compile(r"[!#-+\--:<-\[\]-~]+")
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SHORTEST_STRUCK: Final = 4
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


class Tokens(Protocol):
    """Tokens that are got for a client, and got anew."""

    def refused(self, credentials: Credentials) -> None:
        """Record that a service does not take the token in `credentials`."""
        ...


@dataclass(frozen=True, slots=True)
class Credentials:
    """What is added to a request; `secrets` are the texts that may be seen nowhere.

    `tokens` are got before the request is made, and are then in `headers`.
    """

    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    query: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    cookies: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    tokens: tuple[Tokens, ...] = field(default=(), repr=False)

    def __bool__(self) -> bool:
        return bool(self.headers or self.query or self.cookies)

    def struck(self, text: str) -> str:
        """Return `text` without the secrets."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, STRUCK)
        return text

    def struck_value(self, value: Json) -> Json:
        """Return `value` with no secret in any of its texts."""
        match value:
            case str():
                return self.struck(value)
            case list():
                return [self.struck_value(each) for each in value]
            case dict():
                return {self.struck(k): self.struck_value(each) for k, each in value.items()}
            case _:
                return value


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
    return Credentials(headers=tuple(headers), secrets=_struck(secrets))


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
    always: Credentials = Credentials(),
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
            return Credentials(headers=headers, secrets=_struck(secrets))
        case "basic":
            name, colon, password = value.partition(":")
            if not colon:
                raise ToolObjectError(
                    f"The value of {variable!r} must read NAME:PASSWORD.",
                    f"Set it: export {variable}=NAME:PASSWORD",
                )
            coded = base64.b64encode(f"{name}:{password}".encode()).decode()
            headers = ((scheme.field, f"Basic {coded}"),)
            return Credentials(headers=headers, secrets=_struck({value, password, coded}))
        case "header":
            return Credentials(headers=((scheme.field, value),), secrets=_struck(secrets))
        case "query":
            pair = (quote(scheme.field, safe=""), quote(value, safe=""))
            return Credentials(query=(pair,), secrets=_struck(secrets))
        case "cookie":
            if not _IN_A_COOKIE.fullmatch(value):
                raise ToolObjectError(
                    f"The value of {variable!r} cannot stand in a cookie.",
                    f"Set {variable} to another value.",
                )
            return Credentials(cookies=((scheme.field, value),), secrets=_struck(secrets))


def _struck(secrets: set[str]) -> frozenset[str]:
    # a shorter one would be struck from words that have nothing to do with it
    return frozenset(each for each in secrets if len(each) >= _SHORTEST_STRUCK)


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
