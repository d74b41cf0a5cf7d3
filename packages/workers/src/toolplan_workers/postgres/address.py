"""The address of a database: the form for psycopg, and the form that may be shown."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from toolplan.storage.journal.errors import JournalError

SCHEMA: Final = "toolplan"
"""The schema of the journal's tables, unless the address names another in its `search_path`."""

_SECRETS: Final = ("password", "sslpassword", "oauth_client_secret")
_SHOWN: Final = ("user", "host", "hostaddr", "port", "dbname")

# A dead peer is noticed after some 12 s; a server that hangs, when a connection is opened.
_DEFAULTS: Final = {
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "15000",
    "application_name": "toolplan",
}

# Each commit is on the server's disk when it returns. Locks are short here: a longer wait is
# for a process that hangs, whose transaction the server then ends.
_OPTIONS: Final = (
    "-c synchronous_commit=on -c lock_timeout=5s -c idle_in_transaction_session_timeout=20s"
    " -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3"
    " -c toolplan.session=own"
)
OWN_SESSION: Final = (
    "SELECT coalesce(current_setting('toolplan.session', true), ''), pg_backend_pid()"
)
"""Reads back the last option, which a pool may have dropped, and the process of the server."""


@dataclass(frozen=True)
class Address:
    """The address of a database.

    Attributes:
        conninfo: the address for `psycopg.connect`.
        place: the address for messages, without passwords.
        secrets: the passwords in it.
    """

    conninfo: str = field(repr=False)
    place: str
    secrets: tuple[str, ...] = field(repr=False)

    def reason(self, error: BaseException) -> str:
        """Return the message of `error` in one line, without a password."""
        diagnosis = error.diag.message_primary if isinstance(error, psycopg.Error) else None
        lines = (diagnosis or str(error)).strip().splitlines()
        reason = (lines[0] if lines else "").strip().rstrip(".")
        secrets = (*self.secrets, os.environ.get("PGPASSWORD", ""))
        if any(secret and secret in reason for secret in secrets):
            return type(error).__name__
        return reason or type(error).__name__


def read_address(url: str) -> Address:
    """Return the address in `url`; a JournalError where it cannot be read."""
    try:
        given = {
            name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None
        }
    except psycopg.Error:  # its text shows parts of the address, which may be a password
        given = None
    is_whole = given is not None
    if given is not None:  # a password with a / in it would be read as these
        ports = given.get("port", "").replace(",", "")
        others = "".join(given.get(name, "") for name in ("user", "host", "dbname"))
        is_whole = (not ports or ports.isdecimal()) and "@" not in others
    if given is None or not is_whole:
        raise JournalError(
            "journal-address",
            "The address of the journal cannot be read.",
            "Write postgres://USER:PASSWORD@HOST:PORT/DATABASE; in the password, write characters"
            " other than letters and digits as %XX.",
        )
    options = f"{_OPTIONS} {given.get('options', '')}".strip()
    if "search_path" not in options:
        options += f" -c search_path={SCHEMA}"
    parameters = {**_DEFAULTS, **given, "options": options, "client_encoding": "UTF8"}
    secrets = tuple(given[name] for name in _SECRETS if name in given)
    user, host, address, port, name = (given.get(each, "") for each in _SHOWN)
    user, port = f"{user}@" if user else "", f":{port}" if port else ""
    place = f"postgres://{user}{host or address}{port}/{name}"
    return Address(make_conninfo(**parameters), place, secrets)
