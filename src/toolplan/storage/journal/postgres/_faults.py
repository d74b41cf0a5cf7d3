"""What Postgres says when it fails, as errors of the journal."""

from __future__ import annotations

from typing import Final

import psycopg

from toolplan.storage.database_file import FaultKind
from toolplan.storage.journal._errors import JournalError
from toolplan.storage.journal.postgres._address import Address

_KINDS: Final[dict[str, FaultKind]] = {
    "57P03": "locked",  # it starts, or stops
    "55P03": "locked",
    "40001": "locked",
    "40P01": "locked",
    "53300": "locked",  # too many connections
    "53100": "full",
    "25006": "read-only",
    "55000": "read-only",  # a standby, asked where it writes
    "42501": "read-only",
    "XX001": "damaged",
    "XX002": "damaged",
}
# while a connection is opened there is no code, only words
_BUSY: Final = (
    "the database system is",
    "too many clients",
    "too many connections",
    "remaining connection slots",
)

# what a pool says of options that it does not pass on
OPTIONS_REFUSED: Final = "unsupported startup parameter"

_AGAIN: Final = "and try again; a run that had started can be resumed."
_HELP: Final[dict[FaultKind, str]] = {
    "locked": f"The server is starting, or busy. Wait, {_AGAIN}",
    "full": f"Make room on the server's disk, {_AGAIN}",
    "read-only": "Name a server that can be written, and a user who may create and write tables.",
    "unavailable": f"Check that the server runs, its address and the password, {_AGAIN}",
    "damaged": "Restore the database from a copy.",
}


def kind_of(error: psycopg.Error) -> FaultKind:
    """Return the kind of `error`."""
    if error.sqlstate is not None:
        return _KINDS.get(error.sqlstate, "unavailable")
    return "locked" if any(words in str(error) for words in _BUSY) else "unavailable"


def pooled(address: Address) -> JournalError:
    """Return the error of an address behind which clients share sessions."""
    return JournalError(
        "journal-pooled",
        f"The journal {address.place} is behind a pool that shares sessions between clients, or"
        " drops the options of a session: its tables and locks would be lost or shared.",
        "Name the server itself in the address, without the pool (PgBouncer and the like).",
    )


def all_in_use(address: Address) -> JournalError:
    """Return the error of a process whose connections to `address` are all in use."""
    message = f"The journal {address.place} cannot be used: all connections to it are in use."
    return JournalError("journal-locked", message, _HELP["locked"])


def fault(error: psycopg.Error, address: Address) -> JournalError:
    """Return `error` as an error of the journal at `address`, without a password."""
    if isinstance(error, psycopg.DataError):
        return JournalError("journal-value", f"A value cannot be kept: {address.reason(error)}.")
    kind = kind_of(error)
    message = f"The journal {address.place} cannot be used: {address.reason(error)}."
    return JournalError(f"journal-{kind}", message, _HELP[kind])
