"""Sign-ins to servers, kept in the system's key ring or in files of mode 600."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import shlex
import stat
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from toolplan.schema.tool import ToolObjectError
from toolplan.storage.shared_file import write_whole
from toolplan.tools.mcp._wire import clean
from toolplan.tools.mcp.servers import HttpServer, Server

FOLDER: Final = "sign-ins"
SERVICE: Final = "toolplan"

_USABLE: Final = 1.0  # backends below it keep nothing, or keep it unencrypted


class SignIn(BaseModel):
    """A sign-in to one server: the tokens, and the data to renew them.

    Attributes:
        tokens: for the server, and for new tokens.
        expires_at: when the access token ends, in seconds since the epoch; None is not known.
        client: the registration at the authorization server.
        metadata: of the authorization server; a token is renewed nowhere else.
        resource: the server's metadata about itself.
        issuer: the authorization server.
    """

    model_config = ConfigDict(frozen=True)

    tokens: OAuthToken = Field(repr=False)
    expires_at: float | None = None
    client: OAuthClientInformationFull = Field(repr=False)
    metadata: OAuthMetadata | None = None
    resource: ProtectedResourceMetadata | None = None
    issuer: str = ""


class Standing(NamedTuple):
    """A sign-in, as it may be shown.

    Attributes:
        issuer: the authorization server.
        scope: the granted scope.
        kept_in: where the sign-in is kept, for a person.
        expires_at: when the access token ends, as "2026-11-22 22:05 UTC"; None is not known.
        renews: whether it is renewed by itself.
    """

    issuer: str
    scope: str
    kept_in: str
    expires_at: str | None
    renews: bool

    @property
    def text(self) -> str:
        """The sign-in as a clause, for a person."""
        scope = f", for {self.scope}" if self.scope else ""
        message = f"signed in at {self.issuer or 'its own address'}{scope}"
        if self.expires_at is not None:
            then = "renewed by itself" if self.renews else "then you sign in again"
            message += f", until {self.expires_at} ({then})"
        return message


class SignIns:
    """The sign-ins of this user. The tokens of one address are used for no other."""

    def __init__(self, data: Path, tools: str = "FILE") -> None:
        """Use the system's key ring, and files below the folder `data` where there is none.

        `tools` is the value of `--tools` for the servers, for commands that are shown to people.
        """
        self._folder = data / FOLDER
        self._tools = tools
        self._ring: Any = _key_ring()

    def login_command(self, name: str) -> str:
        """Return the command that signs in to the server called `name`."""
        return f"toolplan login {name} --tools {shlex.quote(self._tools)}"

    def get(self, server: HttpServer) -> SignIn | None:
        """Return the sign-in to `server`, or None.

        Raises:
            ToolObjectError: it is kept in a file that others may read, or that cannot be read.
        """
        text = self._in_ring("get_password", server) or self._in_file(server)
        try:
            return None if text is None else SignIn.model_validate_json(text)
        except ValidationError:
            return None  # of another version: the user signs in again

    def keep(self, server: HttpServer, sign_in: SignIn) -> None:
        """Keep a sign-in in the place of an earlier one.

        Raises:
            OSError: there is no key ring, and the file cannot be written.
        """
        text, file = sign_in.model_dump_json(exclude_none=True), self._file(server)
        # a ring may be locked, or too small for a long token
        self._in_ring("set_password", server, text)
        if self._in_ring("get_password", server) == text:
            file.unlink(missing_ok=True)
            return
        self._in_ring("delete_password", server)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(file, text)

    def forget(self, server: HttpServer) -> None:
        """Delete the sign-in to `server`, if there is one.

        Raises:
            OSError: the file cannot be deleted.
        """
        self._in_ring("delete_password", server)
        self._file(server).unlink(missing_ok=True)

    def standing(self, server: Server) -> Standing | None:
        """Return the sign-in to `server` as it may be shown, or None."""
        kept = self.get(server) if isinstance(server, HttpServer) else None
        if kept is None or not isinstance(server, HttpServer):
            return None
        issuer = kept.issuer or ("" if kept.metadata is None else str(kept.metadata.issuer))
        file = self._file(server)
        try:
            seconds = timedelta(seconds=kept.expires_at or 0.0)
            end = f"{datetime(1970, 1, 1, tzinfo=UTC) + seconds:%Y-%m-%d %H:%M} UTC"
        except (OverflowError, ValueError):  # an authorization server may say any number
            end = "no year that a date has"
        return Standing(
            clean(issuer, 200),
            clean(kept.tokens.scope or "", 200),
            str(file) if file.exists() else "the system's key ring",
            None if kept.expires_at is None else end,
            kept.tokens.refresh_token is not None,
        )

    def _in_ring(self, method: str, server: HttpServer, *secret: str) -> str | None:
        """Call a method of the key ring; None where there is no ring, or it fails."""
        with suppress(Exception):  # of as many kinds as there are systems
            return getattr(self._ring, method)(SERVICE, _key(server), *secret)
        return None

    def _in_file(self, server: HttpServer) -> str | None:
        file = self._file(server)
        try:
            if os.name == "posix" and stat.S_IMODE(file.stat().st_mode) & 0o077:
                raise ToolObjectError(
                    f"The sign-in in {str(file)!r} is not used: others may read the file.",
                    f"Delete it, and sign in again; or, if nobody has: chmod 600 {file}",
                )
            return file.read_text("utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise ToolObjectError(
                f"The sign-in in {str(file)!r} cannot be read: {reason}."
            ) from None

    def _file(self, server: HttpServer) -> Path:
        return self._folder / f"{_key(server)}.json"


def _key(server: HttpServer) -> str:
    """Return the name that a sign-in is kept under: of the address and the client, not of either.

    The address may hold a secret, and the name is not one.
    """
    oauth = server.oauth
    parts = [server.url, *([] if oauth is None else [oauth.issuer, oauth.client_id, oauth.scope])]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _key_ring() -> object | None:
    """Return the system's key ring, or None without one or without the extra."""
    try:
        ring: Any = importlib.import_module("keyring").get_keyring()
        return ring if ring.priority >= _USABLE else None
    except Exception:  # not installed, or a backend that the system breaks
        return None


def try_key_ring() -> str:
    """Read the system's key ring, if there is one; return the storage in use, as a clause."""
    ring: Any = _key_ring()
    if ring is None:
        return "no key ring here, so sign-ins are kept in files"
    ring.get_password(FOLDER, "doctor")
    return "the key ring can be read"
