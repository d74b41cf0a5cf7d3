"""What `oauth` of a server's entry says: which client signs in, and where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, Self, TypeAlias, cast
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from toolplan.plan.diagnostics import did_you_mean, near
from toolplan.schema.tool import ToolObjectError
from toolplan.tools.secrets import names_a_variable, resolved

Grant: TypeAlias = Literal["authorization_code", "client_credentials"]

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Entry(BaseModel):
    """An object of a configuration, held to the types of its fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @classmethod
    def read(cls, value: object, place: str) -> Self:
        """Return the entry that `value` says; a field that is null is not there."""
        if not isinstance(value, dict):
            raise ToolObjectError(f"{place} must be an object.")
        fields = cast("dict[str, object]", value)
        try:
            return cls(**{name: each for name, each in fields.items() if each is not None})
        except ValidationError as error:
            found: Any = error.errors(include_url=False, include_input=False, include_context=False)
        name = ".".join(map(str, found[0]["loc"]))
        if found[0]["type"] != "extra_forbidden":
            raise ToolObjectError(f"{place}.{name}: {found[0]['msg']}.")
        known = cls.model_fields
        hint = did_you_mean(near(name, known)) or f"Known are {', '.join(known)}."
        raise ToolObjectError(f"{place}: the field {name!r} is not known. {hint}")


class OAuth(Entry):
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

    model_config = ConfigDict(str_strip_whitespace=True)

    grant: Grant = "authorization_code"
    issuer: str = ""
    client_id: str = ""
    client_secret: str = Field(default="", repr=False)
    client_metadata_url: str = ""
    scope: str = ""
    redirect_port: int = Field(default=0, ge=0, le=65_535)


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
    """Return what `value`, the field `oauth`, says; None where it is not there."""
    if value is None:
        return None
    read = OAuth.read(value, place)
    if read.client_secret and not names_a_variable(read.client_secret):
        raise ToolObjectError(
            f"{place}.client_secret must name a variable of the environment, as ${{NAME}}: a secret"
            " does not belong in a file."
        )
    values: dict[str, str] = {}
    for name, text in read:
        if name in ("client_id", "client_secret"):
            values[name], _ = resolved(text, environment, f"{place}.{name}")
            if text and not values[name]:
                raise ToolObjectError(f"{place}.{name} is empty: its variable holds nothing.")
        elif isinstance(text, str) and names_a_variable(text):
            raise ToolObjectError(f"{place}.{name} cannot name a variable.")
    if fault := _fault(read):
        raise ToolObjectError(f"{place}{fault}")
    return read.model_copy(update=values)


def _fault(read: OAuth) -> str:
    """Return what does not go together; empty where all does."""
    address = read.client_metadata_url
    parts = urlsplit(address)
    if read.grant == "client_credentials" and not (read.client_id and read.client_secret):
        return ": client_credentials needs 'client_id' and 'client_secret'."
    if read.client_secret and not read.client_id:
        return ": 'client_secret' needs 'client_id'."
    if read.client_id and not read.issuer:
        return ": 'client_id' needs 'issuer', the one authorization server that it is sent to."
    if address and read.client_id:
        return " takes 'client_id' or 'client_metadata_url', not both."
    if address and (parts.scheme != "https" or parts.path in ("", "/")):
        return ".client_metadata_url must be https, with a path."
    return ""
