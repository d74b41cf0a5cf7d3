"""What `oauth` of a server's entry says: which client signs in, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, cast
from urllib.parse import urlsplit

from toolplan.diagnostics import did_you_mean, near
from toolplan.sources.secrets import names_a_variable, resolved
from toolplan.tools import ToolObjectError

Grant: TypeAlias = Literal["authorization_code", "client_credentials"]

_FIELDS: Final = (
    "grant",
    "issuer",
    "client_id",
    "client_secret",
    "client_metadata_url",
    "scope",
    "redirect_port",
)
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class OAuth:
    """How a token for a server is got.

    Attributes:
        grant: a person signs in (`authorization_code`), or a machine does (`client_credentials`).
        issuer: the authorization server that the client is known to; "" is the one that the
            server names.
        client_id: of a client that the authorization server knows; "" for none.
        client_secret: of that client; "" for none.
        client_metadata_url: an https address that describes the client, and is its id; "" for none.
        scope: what is asked for, in words with spaces between; "" is what the server asks for.
        redirect_port: where the browser comes back to, on 127.0.0.1; 0 is any free port.
    """

    grant: Grant = "authorization_code"
    issuer: str = ""
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    client_metadata_url: str = ""
    scope: str = ""
    redirect_port: int = 0


def is_safe(url: str, *, near_loopback: bool) -> bool:
    """Return whether a token may be sent to `url`: over TLS, or on this machine.

    An address on this machine is fine only for a server that is on it too (`near_loopback`): a
    server elsewhere may not have this machine asked.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    if host in _LOOPBACK:
        return near_loopback and parts.scheme in ("http", "https")
    return parts.scheme == "https" and bool(host)


def is_loopback(url: str) -> bool:
    """Return whether `url` is on this machine."""
    return is_safe(url, near_loopback=True) and not is_safe(url, near_loopback=False)


def read_oauth(value: object, environment: Mapping[str, str], place: str) -> OAuth | None:
    """Return what `value`, the field `oauth`, says; None where it is not there.

    Raises:
        ToolObjectError: it cannot be read; the message has `place`, and no secret.
    """
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ToolObjectError(f"{place} must be an object.")
    fields = cast("dict[str, object]", value)
    for name in fields:
        if name not in _FIELDS:
            hint = did_you_mean(near(name, _FIELDS)) or f"Known are {', '.join(_FIELDS)}."
            raise ToolObjectError(f"{place}: the field {name!r} is not known. {hint}")
    grant = fields.get("grant", "authorization_code")
    if grant not in ("authorization_code", "client_credentials"):
        raise ToolObjectError(f"{place}.grant must be authorization_code or client_credentials.")
    secret = _text(fields, "client_secret", place)
    if secret and not names_a_variable(secret):
        raise ToolObjectError(
            f"{place}.client_secret must name a variable of the environment, as ${{NAME}}: a secret"
            " does not belong in a file."
        )
    port = fields.get("redirect_port", 0)
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65_535:
        raise ToolObjectError(f"{place}.redirect_port must be a number from 1 to 65535.")
    read = OAuth(
        grant,
        _text(fields, "issuer", place),
        resolved(_text(fields, "client_id", place), environment, f"{place}.client_id")[0],
        resolved(secret, environment, f"{place}.client_secret")[0],
        _text(fields, "client_metadata_url", place),
        _text(fields, "scope", place),
        port,
    )
    _check(read, fields, place)
    return read


def _check(read: OAuth, fields: Mapping[str, object], place: str) -> None:
    """Refuse what does not go together.

    Raises:
        ToolObjectError: something is missing, or too much.
    """
    for name in ("client_id", "client_secret"):
        if fields.get(name) and not getattr(read, name):
            raise ToolObjectError(f"{place}.{name} is empty: its variable holds nothing.")
    needed = {"client_id": read.client_id, "client_secret": read.client_secret}
    if read.grant == "client_credentials" and not all(needed.values()):
        missing = next(name for name, text in needed.items() if not text)
        raise ToolObjectError(f"{place}: client_credentials needs {missing!r}.")
    if read.client_secret and not read.client_id:
        raise ToolObjectError(f"{place}: 'client_secret' needs 'client_id'.")
    if read.client_id and not read.issuer:
        raise ToolObjectError(
            f"{place}: 'client_id' needs 'issuer', the address of the authorization server that"
            " knows it; it is sent nowhere else."
        )
    if read.client_metadata_url:
        parts = urlsplit(read.client_metadata_url)
        if read.client_id:
            raise ToolObjectError(f"{place} takes 'client_id' or 'client_metadata_url', not both.")
        if parts.scheme != "https" or parts.path in ("", "/"):
            raise ToolObjectError(f"{place}.client_metadata_url must be https, with a path.")


def _text(fields: Mapping[str, object], name: str, place: str) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise ToolObjectError(f"{place}.{name} must be a text.")
    if name not in ("client_id", "client_secret") and names_a_variable(value):
        raise ToolObjectError(f"{place}.{name} cannot name a variable.")
    return value.strip()
